//! Bedrock with AWS credentials, against a server that checks each signature.

mod chain;
mod credentials;
mod frames;
mod signatures;
mod streams;

use crate::aws::signatures::{Account, refusal};
use crate::server::{Answer, Request, Server};
use crate::support::{quick, session};
use aws_credential_types::Credentials;
use serde_json::json;
use std::collections::VecDeque;
use std::time::{Duration, SystemTime};
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::transport::http::{AwsBedrock, HttpModel, Recording};
use tool_core::ErrorKind;
use tool_core::session::Reply;

const REGION: &str = "eu-west-1";
const MODEL: &str = "eu.amazon.nova-pro-v1:0";

/// Credentials of a user.
const ANN: Account = Account {
    id: "AKIAANNANNANNANNANNA",
    secret: "wJalr/canary+ann",
    token: None,
};

/// Temporary credentials of a role.
const ROLE: Account = Account {
    id: "ASIAROLEROLEROLEROLE",
    secret: "wJalr/canary+role",
    token: Some("IQoJ/canary+token=="),
};

fn credentials(account: Account) -> Credentials {
    let token = account.token.map(str::to_owned);
    Credentials::new(account.id, account.secret, token, None, "test")
}

fn expiring(account: Account, after: Duration) -> Credentials {
    let token = account.token.map(str::to_owned);
    let expiry = SystemTime::now() + after;
    Credentials::new(account.id, account.secret, token, Some(expiry), "test")
}

fn refuses(kind: &str, message: &str) -> Answer {
    let headers = [
        ("content-type", "application/json"),
        ("x-amzn-errortype", kind),
    ];
    Answer::new(403, &headers, &json!({"message": message}).to_string())
}

/// Plays the answers to requests with a valid signature of one of the accounts, and refuses others.
async fn strict_server(accounts: &'static [Account], answers: Vec<Answer>) -> Server {
    let mut answers = VecDeque::from(answers);
    Server::answering(move |request| match refusal(request, accounts, REGION) {
        Some((kind, reason)) => refuses(kind, &reason),
        None => answers
            .pop_front()
            .unwrap_or_else(|| Answer::new(418, &[], "the script is over")),
    })
    .await
}

fn bedrock(server: &Server, account: Account) -> AwsBedrock {
    AwsBedrock::with_credentials(credentials(account))
        .region(REGION)
        .base_url(&server.url)
}

fn hello() -> Answer {
    frames::stream(frames::text("Hello"))
}

async fn prompt(model: HttpModel) -> Reply {
    let (session, _) = session().await;
    AgentLoop::new(session, model.retry(quick()))
        .prompt("Hi")
        .await
}

fn sent_path(request: &Request) -> &str {
    request.sent_head.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test]
async fn signed_request_streams_an_answer() {
    let server = strict_server(&[ANN], vec![hello()]).await;
    let reply = prompt(bedrock(&server, ANN).converse(MODEL)).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    assert_eq!(reply.usage.input, 10);
    let requests = server.requests();
    assert_eq!(
        sent_path(&requests[0]),
        "/model/eu.amazon.nova-pro-v1%3A0/converse-stream"
    );
}

#[tokio::test]
async fn recorded_request_is_replayed_without_credentials() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("signed.json");
    let server = strict_server(&[ANN], vec![hello()]).await;
    let recording = Recording::record(&path);
    let model = bedrock(&server, ANN).converse(MODEL).recording(&recording);
    let recorded = prompt(model).await;
    assert_eq!(recorded.text.as_deref(), Some("Hello"), "{recorded:?}");
    recording.finish().expect("is written");

    let recording = Recording::open(&path).expect("a recording");
    let model = bedrock(&server, ROLE).converse(MODEL).recording(&recording);
    let replayed = prompt(model).await;
    assert_eq!(replayed.text.as_deref(), Some("Hello"), "{replayed:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn signed_request_has_a_whole_answer() {
    let message = json!({"role": "assistant", "content": [{"text": "Hello"}]});
    let body = json!({"output": {"message": message}, "stopReason": "end_turn"});
    let answer = Answer::new(
        200,
        &[("content-type", "application/json")],
        &body.to_string(),
    );
    let server = strict_server(&[ANN], vec![answer]).await;
    let reply = prompt(bedrock(&server, ANN).converse(MODEL).stream(false)).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    let requests = server.requests();
    assert_eq!(
        sent_path(&requests[0]),
        "/model/eu.amazon.nova-pro-v1%3A0/converse"
    );
}

#[tokio::test]
async fn session_token_is_sent_and_signed() {
    let server = strict_server(&[ROLE], vec![hello()]).await;
    let reply = prompt(bedrock(&server, ROLE).converse(MODEL)).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
}

#[tokio::test]
async fn arn_of_a_model_is_one_escaped_segment() {
    let arn = "arn:aws:bedrock:eu-west-1:111122223333:inference-profile/eu.amazon.nova-pro-v1:0";
    let server = strict_server(&[ANN], vec![hello()]).await;
    let reply = prompt(bedrock(&server, ANN).converse(arn)).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    let requests = server.requests();
    assert_eq!(
        sent_path(&requests[0]),
        "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A111122223333%3Ainference-profile%2Feu.amazon.nova-pro-v1%3A0/converse-stream"
    );
}

#[tokio::test]
async fn body_with_any_text_is_signed_as_sent() {
    let server = strict_server(&[ANN], vec![hello()]).await;
    let (session, _) = session().await;
    let model = bedrock(&server, ANN).converse(MODEL);
    let mut agent = AgentLoop::new(session, model);
    let reply = agent.prompt("Grüße \u{1f600}\r\n\u{7} \"quoted\"").await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
}

#[tokio::test]
async fn header_of_the_program_may_be_beside_the_signature() {
    let server = strict_server(&[ANN], vec![hello()]).await;
    let model = bedrock(&server, ANN).converse(MODEL);
    let model = model
        .header("x-amzn-bedrock-trace", "ENABLED")
        .header("x-amz-security-token", "another");
    let reply = prompt(model).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
}

#[tokio::test]
async fn tokens_are_counted_by_a_signed_request() {
    use tool_adapters::transport::http::TokenCount;
    use tool_core::session::{Message, ModelRequest, ToolChoice};

    let counted = Answer::new(
        200,
        &[("content-type", "application/json")],
        r#"{"inputTokens": 403}"#,
    );
    let server = strict_server(&[ROLE], vec![counted]).await;
    let mut model = bedrock(&server, ROLE).converse(MODEL);
    let request = ModelRequest {
        instructions: "",
        history: &[Message::User("Hi".into())],
        tools: &[],
        searchable: &[],
        provider_tools: &[],
        tool_choice: ToolChoice::Auto,
        events: None,
    };
    let count = model.count_tokens(request).await;
    assert_eq!(count, Ok(TokenCount::Counted(403)));
}

#[tokio::test]
async fn each_attempt_is_signed_at_its_own_time() {
    let busy = Answer::new(503, &[("retry-after", "2")], "{}");
    let server = strict_server(&[ANN], vec![busy, hello()]).await;
    let model = bedrock(&server, ANN).converse(MODEL);
    let reply = prompt(model).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");

    let requests = server.requests();
    let line = |request: &Request, name: &str| {
        let mut lines = request.sent_head.lines();
        lines.find(|line| line.starts_with(name)).map(str::to_owned)
    };
    assert_eq!(requests.len(), 2);
    for name in ["x-amz-date", "authorization"] {
        let first = line(&requests[0], name);
        assert!(
            first.is_some() && first != line(&requests[1], name),
            "{name}"
        );
    }
}

#[tokio::test]
async fn signature_is_not_sent_unencrypted_to_others() {
    let bedrock = AwsBedrock::with_credentials(credentials(ROLE)).region(REGION);
    let model = bedrock.base_url("http://bedrock.example").converse(MODEL);
    let error = prompt(model).await.error.expect("refused");
    assert!(error.message.contains("`allow_unencrypted`"), "{error}");
}

#[tokio::test]
async fn wrong_clock_is_named() {
    let refused = || {
        let headers = [
            ("x-amzn-errortype", "InvalidSignatureException"),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ];
        Answer::new(403, &headers, r#"{"message": "Signature not yet current"}"#)
    };
    let server = Server::start([refused(), refused()]).await;
    let error = prompt(bedrock(&server, ANN).converse(MODEL)).await.error;
    let error = error.expect("refused");
    assert_eq!(error.kind, ErrorKind::Auth);
    let clock = "ahead of that of the server, and AWS refuses signatures from another time";
    assert!(error.message.contains(clock), "{error}");
}

#[tokio::test]
async fn text_that_is_no_region_is_refused() {
    let bedrock = AwsBedrock::with_credentials(credentials(ANN)).region("evil.example/");
    let error = prompt(bedrock.converse(MODEL)).await.error;
    assert_eq!(
        error.expect("refused").message,
        "expected a region such as `eu-west-1`, found `evil.example/`"
    );
}

#[tokio::test]
async fn key_replaces_the_credentials() {
    let server = Server::start([hello()]).await;
    let model = bedrock(&server, ANN).converse(MODEL).api_key("bearer-key");
    let reply = prompt(model.retry(RetryPolicy::never())).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    let head = &server.requests()[0].head;
    assert!(head.contains("authorization: bearer bearer-key"), "{head}");
}
