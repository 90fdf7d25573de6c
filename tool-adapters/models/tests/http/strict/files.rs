//! Messages of the user with images and files, to each server. The servers answer 400 to a part in another form.

use crate::scripts::text;
use crate::server::{Answer, Request, Server};
use crate::settings::key as idempotency_key;
use crate::strict::loops::{ROWS, Row, model, start};
use crate::support::{self, session};
use serde_json::json;
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::providers::AcceptedParts;
use tool_adapters::transport::http::HttpModel;
use tool_core::call::ModelResult;
use tool_core::session::{History, Message, Reply, ReplyFinish, UserMessage};
use tool_core::{Content, ErrorKind, ToolCall, ToolContext, tool};

const DATA: &str = "aW1hZ2UgZGF0YQ==";

fn image() -> UserMessage {
    UserMessage::new("What is this?").image(DATA, "image/png")
}

/// Returns a message with the parts that a model takes, of each kind from bytes and by URL.
fn message_for(model: &HttpModel) -> UserMessage {
    let file = |mime_type: &str| Content::Resource {
        uri: format!("data:{mime_type};base64,{DATA}"),
        mime_type: Some(mime_type.to_owned()),
        text: None,
        name: Some("a_plan.x".to_owned()),
    };
    let by_url = |name: &str, mime_type: &str| {
        let url = format!("https://example.com/{name}");
        UserMessage::default().with_url(url, mime_type)
    };
    let messages = [
        UserMessage::new("Compare these."),
        UserMessage::default().image(DATA, "image/png"),
        UserMessage::default().audio(DATA, "audio/wav"),
        UserMessage::from(file("video/mp4")),
        UserMessage::from(file("application/pdf")),
        UserMessage::from(file("application/pdf")),
        UserMessage::from(file("text/csv")),
        by_url("a.png", "image/png"),
        by_url("a.mp3", "audio/mpeg"),
        by_url("a.pdf", "application/pdf"),
    ];
    let taken = messages
        .into_iter()
        .filter(|message| model.check_message(message).is_ok());
    taken.flat_map(UserMessage::into_parts).collect()
}

/// Returns the servers whose models see images.
fn seeing_rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| row.name != "DeepSeek")
}

// M14
#[tokio::test]
async fn each_server_gets_an_image_in_its_own_form() {
    for row in seeing_rows() {
        let server = start(row).await;
        let mut agent = AgentLoop::new(session().await.0, model(row, &server));
        let reply = agent.prompt(image()).await;
        assert_eq!(reply.error, None, "{}", row.name);
        for request in server.requests() {
            assert!(
                request.body.to_string().contains(DATA),
                "{}: {}",
                row.name,
                request.body
            );
        }
    }
}

// M14
#[tokio::test]
async fn each_server_gets_all_that_it_takes() {
    for row in ROWS {
        let server = start(row).await;
        let model = model(row, &server);
        let message = message_for(&model);
        let mut agent = AgentLoop::new(session().await.0, model);
        let reply = agent.prompt(message).await;
        assert_eq!(reply.error, None, "{}", row.name);
        let first = server.requests()[0].body.to_string();
        assert!(!first.contains("left out"), "{}: {first}", row.name);
    }
}

// M14
#[tokio::test]
async fn a_refused_message_is_not_sent_and_does_not_stop_the_conversation() {
    for row in ROWS {
        let server = start(row).await;
        let model = model(row, &server).accept_parts(AcceptedParts::TEXT);
        let mut agent = AgentLoop::new(session().await.0, model);
        let message = image().with_url("https://example.com/a.pdf", "application/pdf");
        let reply = agent.prompt(message).await;
        assert_eq!(reply.finish, ReplyFinish::Failed, "{}", row.name);
        let error = reply.error.expect("an error");
        assert_eq!(error.kind, ErrorKind::Permanent, "{}", row.name);
        for problem in [
            "does not take part 2 of the message (image/png): it takes no images",
            "nor part 3 of the message (application/pdf by URL): it takes no documents",
        ] {
            assert!(
                error.message.contains(problem),
                "{}: {}",
                row.name,
                error.message
            );
        }
        assert_eq!(server.requests().len(), 0, "{}", row.name);

        assert_eq!(
            agent.prompt("Never mind.").await.error,
            None,
            "{}",
            row.name
        );
        let first = server.requests()[0].body.to_string();
        assert!(
            first.contains("[image image/png left out]"),
            "{}: {first}",
            row.name
        );
    }
}

// M14
#[tokio::test]
async fn a_conversation_goes_on_with_a_model_that_sees_nothing() {
    for row in ROWS {
        let server = start(row).await;
        let mut history = History::new();
        history.extend([
            Message::user(image()),
            Message::Assistant {
                text: Some("A harbour.".into()),
                calls: Vec::new(),
                native: None,
            },
        ]);
        let model = model(row, &server).accept_parts(AcceptedParts::TEXT);
        let mut agent = AgentLoop::with_history(session().await.0, model, history);
        assert_eq!(agent.prompt("Add.").await.error, None, "{}", row.name);
        let first = server.requests()[0].body.to_string();
        assert!(!first.contains(DATA), "{}: {first}", row.name);
        assert!(
            first.contains("[image image/png left out]"),
            "{}: {first}",
            row.name
        );
    }
}

// M14
#[tokio::test]
async fn a_url_does_not_go_to_a_server_that_is_not_known() {
    let server = Server::start([]).await;
    let model = HttpModel::new(Provider::OpenAiChat, "the-model").base_url(&server.url);
    let mut agent = AgentLoop::new(session().await.0, model);
    let url = "http://169.254.169.254/latest/meta-data";
    let message = UserMessage::new("Read this.").with_url(url, "image/png");
    let reply = agent.prompt(message).await;
    let error = reply.error.expect("an error").message;
    assert!(error.contains("it loads no URLs of images"), "{error}");
    assert!(!error.contains("meta-data"), "{error}");
    assert_eq!(server.requests().len(), 0);
}

/// A server whose model reads text only, and which refuses a request with an image.
async fn blind_server() -> Server {
    Server::answering(|request| {
        let json = &[("content-type", "application/json")];
        if request.body.to_string().contains(DATA) {
            let error = json!({"error": "this model does not support images"});
            return Answer::new(400, json, &error.to_string());
        }
        let answer = json!({"message": {"role": "assistant", "content": "Yes."}, "done": true});
        Answer::new(200, json, &answer.to_string())
    })
    .await
}

async fn blind_agent(server: &Server) -> AgentLoop<HttpModel> {
    let model = HttpModel::new(Provider::Ollama, "the-model").base_url(&server.url);
    AgentLoop::new(session().await.0, model.stream(false))
}

// M14
#[tokio::test]
async fn an_image_that_the_server_refuses_does_not_stop_the_conversation() {
    let server = blind_server().await;
    let mut agent = blind_agent(&server).await;
    let error = agent.prompt(image()).await.error.expect("is refused");
    assert!(
        error.message.contains("does not support images"),
        "{}",
        error.message
    );
    assert_eq!(
        server.requests().len(),
        1,
        "the user's own message is not changed"
    );

    for prompt in ["Never mind.", "Are you there?"] {
        assert_eq!(agent.prompt(prompt).await.error, None);
    }
    // The first of them is sent twice.
    assert_eq!(server.requests().len(), 4);
    let last = server.requests()[3].body.to_string();
    assert!(last.contains("[image image/png left out]"), "{last}");
}

// M14
#[tokio::test]
async fn an_image_that_is_refused_within_a_stream_is_left_out() {
    let server = Server::answering(|request| {
        if !request.body.to_string().contains(DATA) {
            return Answer::events(&text(Provider::OpenAiResponses, "Yes."));
        }
        let error = json!({"code": "invalid_image", "message": "The image is broken."});
        let response = json!({"id": "resp_1", "status": "failed", "error": error, "output": []});
        let failed = json!({"type": "response.failed", "response": response});
        Answer::events(&format!("data: {failed}\n\n"))
    })
    .await;
    let model = support::model(Provider::OpenAiResponses, &server);
    let mut agent = AgentLoop::new(session().await.0, model);
    assert!(agent.prompt(image()).await.error.is_some());
    assert_eq!(agent.prompt("Never mind.").await.error, None);
    let last = server.requests()[2].body.to_string();
    assert!(last.contains("[image image/png left out]"), "{last}");
}

// M14
#[tokio::test]
async fn an_image_of_a_tool_that_the_server_refuses_is_left_out() {
    let server = Server::answering(|request| {
        let json = &[("content-type", "application/json")];
        let body = request.body.to_string();
        if body.contains(DATA) {
            let error = json!({"error": "this model does not support images"});
            return Answer::new(400, json, &error.to_string());
        }
        let call = json!({"function": {"name": "add", "arguments": {"a": 1, "b": 2}}});
        let message = if body.contains("left out") {
            json!({"role": "assistant", "content": "I cannot see it."})
        } else {
            json!({"role": "assistant", "content": "", "tool_calls": [call]})
        };
        let answer = json!({"message": message, "done": true});
        Answer::new(200, json, &answer.to_string())
    })
    .await;
    let tools = ToolContext::builder().with(add).build().expect("builds");
    let model = HttpModel::new(Provider::Ollama, "the-model").base_url(&server.url);
    let agent = AgentLoop::with_tools(tools, model.stream(false)).await;
    let reply = agent.expect("opens").prompt("Show it.").await;
    assert_eq!(reply.error, None);
    assert_eq!(reply.text.as_deref(), Some("I cannot see it."));
}

/// The image of the user, and that of the tool `show`.
const USERS: &str = "dGhlIHVzZXIncw==";

/// A conversation in which a tool has shown an image after the user has, and the requests of its next prompt.
async fn after_images_of_both(refuses: fn(&str) -> bool) -> (Vec<Request>, Reply) {
    let server = Server::answering(move |request| {
        let json = &[("content-type", "application/json")];
        let body = request.body.to_string();
        if refuses(&body) {
            return Answer::new(400, json, r#"{"error": "this image is not supported"}"#);
        }
        let answer = json!({"message": {"role": "assistant", "content": "Yes."}, "done": true});
        Answer::new(200, json, &answer.to_string())
    })
    .await;
    let shown = vec![Content::image(DATA, "image/png")];
    let result = ModelResult {
        text: serde_json::to_string(&shown).expect("JSON"),
        is_error: false,
        reply: true,
        parts: true,
        is_text: false,
        goes_on: false,
    };
    let mut history = History::new();
    history.extend([
        Message::user(UserMessage::new("Look.").image(USERS, "image/png")),
        Message::Assistant {
            text: None,
            calls: vec![ToolCall::new("call_1", "show", "{}")],
            native: None,
        },
        Message::Result {
            call_id: "call_1".to_owned(),
            tool: "show".to_owned(),
            result,
        },
        Message::Assistant {
            text: Some("I see.".to_owned()),
            calls: Vec::new(),
            native: None,
        },
    ]);
    let model = HttpModel::new(Provider::Ollama, "the-model").base_url(&server.url);
    let mut agent = AgentLoop::with_history(session().await.0, model.stream(false), history);
    _ = agent.prompt("And?").await;
    let reply = agent.prompt("Go on.").await;
    (server.requests(), reply)
}

/// Returns which of the two images each request has.
fn images_of(requests: &[Request]) -> Vec<[bool; 2]> {
    let bodies = requests.iter().map(|request| request.body.to_string());
    let images = bodies.map(|body| [USERS, DATA].map(|image| body.contains(image)));
    images.collect()
}

// M14
#[tokio::test]
async fn the_users_images_stay_if_those_of_results_are_refused() {
    let (requests, reply) = after_images_of_both(|body| body.contains(DATA)).await;
    assert_eq!(reply.error, None);
    // The second prompt leaves out what the first one had to.
    let expected = [[true, true], [true, false], [true, false]];
    assert_eq!(images_of(&requests), expected);
}

// M14
#[tokio::test]
async fn all_images_are_left_out_if_the_users_are_refused() {
    let (requests, reply) = after_images_of_both(|body| body.contains(USERS)).await;
    assert_eq!(reply.error, None);
    let expected = [[true, true], [true, false], [false, false], [false, false]];
    assert_eq!(images_of(&requests), expected);
}

// M14
#[tokio::test]
async fn images_stay_if_a_request_is_refused_for_another_reason() {
    let (requests, reply) = after_images_of_both(|_| true).await;
    assert!(reply.error.is_some());
    let expected = [[true, true], [true, false], [false, false]];
    assert_eq!(images_of(&requests), [expected, expected].concat());
}

// M14
#[tokio::test]
async fn a_new_image_is_sent_after_one_was_refused() {
    let server = blind_server().await;
    let mut agent = blind_agent(&server).await;
    let refused = agent.prompt(image()).await;
    assert!(refused.error.is_some());
    assert_eq!(agent.prompt("Never mind.").await.error, None);

    let error = agent.prompt(image()).await.error.expect("is refused");
    assert!(
        error.message.contains("does not support images"),
        "{}",
        error.message
    );
    let last = server
        .requests()
        .last()
        .expect("a request")
        .body
        .to_string();
    assert_eq!(last.matches(DATA).count(), 1, "{last}");
}

/// A server that refuses the image of the first message in both messages of the user, and answers the second without it.
async fn refusing_server(answers: impl IntoIterator<Item = Answer>) -> Server {
    let refusal = || Answer::new(400, &[], r#"{"error": {"message": "no images"}}"#);
    let refusals = [refusal(), refusal()].into_iter();
    Server::start(refusals.chain(answers)).await
}

/// Returns the requests after a message with an image, and the reply to the next one.
async fn after_a_refused_image(server: &Server) -> (Vec<Request>, Reply) {
    let model = support::model(Provider::OpenAiChat, server).on_event(|_| {});
    let mut agent = AgentLoop::new(session().await.0, model);
    assert!(agent.prompt(image()).await.error.is_some());
    let reply = agent.prompt("Never mind.").await;
    (server.requests().split_off(1), reply)
}

// M11, M14
#[tokio::test]
async fn a_request_without_the_refused_files_has_its_own_key() {
    let busy = Answer::new(503, &[], "{}");
    let says = Answer::events(&text(Provider::OpenAiChat, "Yes."));
    let server = refusing_server([busy, says]).await;
    let (requests, reply) = after_a_refused_image(&server).await;
    assert_eq!(reply.error, None);

    let keys = requests.iter().map(idempotency_key).collect::<Vec<_>>();
    assert_eq!(keys.len(), 3);
    assert!(keys[0].is_some() && keys[1].is_some(), "{keys:?}");
    assert_ne!(keys[0], keys[1]);
    assert_eq!(keys[1], keys[2]);
}

// M14
#[tokio::test]
async fn an_answer_that_was_shown_is_not_begun_again_without_files() {
    let says = text(Provider::OpenAiChat, "Yes.");
    let (shown, _) = says.split_once("\n\n").expect("an event");
    let server = refusing_server([Answer::events(&format!("{shown}\n\n"))]).await;
    let (requests, reply) = after_a_refused_image(&server).await;
    let error = reply.error.expect("an error");
    assert!(!error.message.contains("no images"), "{}", error.message);
    assert_eq!(requests.len(), 2);
}

/// Show the floor plan.
#[tool]
fn add(a: i64, b: i64) -> Vec<Content> {
    vec![
        Content::text(format!("Floor {a}, room {b}.")),
        Content::image(DATA, "image/png"),
    ]
}

// M14
#[tokio::test]
async fn an_image_of_a_tool_reaches_each_model_that_sees() {
    for row in seeing_rows() {
        let server = start(row).await;
        let tools = ToolContext::builder().with(add).build().expect("builds");
        let agent = AgentLoop::with_tools(tools, model(row, &server)).await;
        let mut agent = agent.expect("opens");
        assert_eq!(agent.prompt("Show it.").await.error, None, "{}", row.name);
        let second = server.requests()[1].body.to_string();
        assert!(second.contains(DATA), "{}: {second}", row.name);
    }
}

// M14
#[tokio::test]
async fn a_file_with_its_text_is_text_for_every_model() {
    let server = Server::start([Answer::new(
        200,
        &[("content-type", "application/json")],
        &json!({"message": {"role": "assistant", "content": "Two."}, "done": true}).to_string(),
    )])
    .await;
    let model = HttpModel::new(Provider::Ollama, "the-model").base_url(&server.url);
    let mut agent = AgentLoop::new(session().await.0, model.stream(false));
    let message = UserMessage::new("How many guests?")
        .with_upload("guests.csv", "name,seats\nAda,2")
        .expect("a text");
    assert_eq!(agent.prompt(message).await.error, None);
    let content = &server.requests()[0].body["messages"][0]["content"];
    let expected = "How many guests?\nFile `guests.csv` (text/csv):\nname,seats\nAda,2";
    assert_eq!(content, expected);
}
