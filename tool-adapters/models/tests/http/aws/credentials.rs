//! Credentials that expire, are refused, or do not come, and that no text shows.

use super::{ANN, MODEL, REGION, ROLE, bedrock, expiring, hello, prompt, refuses, strict_server};
use crate::aws::signatures::Account;
use crate::server::{Answer, Server};
use crate::spans_support::collector;
use crate::support::{quick, session};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, future};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::AwsBedrock;
use tool_core::ErrorKind;

/// Answers each question with a function of its number, from 0.
#[derive(Clone)]
struct Vault {
    asked: Arc<AtomicUsize>,
    provide: fn(usize) -> provider::Result,
}

impl Vault {
    fn new(provide: fn(usize) -> provider::Result) -> Self {
        Self {
            asked: Arc::default(),
            provide,
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn bedrock(&self, server: &Server) -> AwsBedrock {
        AwsBedrock::with_credentials(self.clone())
            .region(REGION)
            .base_url(&server.url)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

impl ProvideCredentials for Vault {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        future::ProvideCredentials::ready((self.provide)(number))
    }
}

fn in_an_hour(account: Account) -> Credentials {
    expiring(account, Duration::from_secs(3_600))
}

/// Prompts so often, and returns the texts of the replies.
async fn prompts(bedrock: &AwsBedrock, count: usize) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    for _ in 0..count {
        texts.push(prompt(bedrock.converse(MODEL)).await.text);
    }
    texts
}

#[tokio::test]
async fn valid_credentials_are_asked_for_once() {
    let vault = Vault::new(|_| Ok(in_an_hour(ROLE)));
    let server = strict_server(&[ROLE], vec![hello(), hello(), hello()]).await;
    let texts = prompts(&vault.bedrock(&server), 3).await;
    assert_eq!(texts, vec![Some("Hello".to_owned()); 3]);
    assert_eq!(vault.asked(), 1);
}

#[tokio::test]
async fn credentials_near_their_end_are_renewed() {
    let vault = Vault::new(|number| match number {
        0 => Ok(expiring(ANN, Duration::from_secs(30))),
        _ => Ok(in_an_hour(ROLE)),
    });
    let server = strict_server(&[ANN, ROLE], vec![hello(), hello(), hello()]).await;
    let texts = prompts(&vault.bedrock(&server), 3).await;
    assert_eq!(texts, vec![Some("Hello".to_owned()); 3]);
    assert_eq!(vault.asked(), 2);
    let requests = server.requests();
    let ids = requests
        .iter()
        .map(|request| request.sent_head.contains(ROLE.id));
    assert_eq!(ids.collect::<Vec<_>>(), [false, true, true]);
}

#[tokio::test]
async fn unexpired_credentials_outlast_a_failed_renewal() {
    let vault = Vault::new(|number| match number {
        0 => Ok(expiring(ANN, Duration::from_secs(30))),
        _ => Err(CredentialsError::provider_error("the vault is closed")),
    });
    let server = strict_server(&[ANN], vec![hello(), hello()]).await;
    let texts = prompts(&vault.bedrock(&server), 2).await;
    assert_eq!(texts, vec![Some("Hello".to_owned()); 2]);
    assert_eq!(vault.asked(), 2);
}

#[tokio::test]
async fn refused_credentials_are_replaced_once() {
    let vault = Vault::new(|number| match number {
        0 => Ok(in_an_hour(ANN)),
        _ => Ok(in_an_hour(ROLE)),
    });
    let server = strict_server(&[ROLE], vec![hello()]).await;
    let reply = prompt(vault.bedrock(&server).converse(MODEL)).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn wrong_secret_is_refused_and_named() {
    const WRONG: Account = Account {
        secret: "wJalr/canary+wrong",
        ..ANN
    };
    let server = strict_server(&[ANN], vec![hello()]).await;
    let reply = prompt(bedrock(&server, WRONG).converse(MODEL)).await;
    let error = reply.error.expect("refused");
    assert_eq!(error.kind, ErrorKind::Auth);
    let start = "the provider answered 403: InvalidSignatureException: The request signature we calculated does not match";
    assert!(error.message.starts_with(start), "{error}");
    // The answer of the server names the key's id.
    assert!(error.message.ends_with("of [key]"), "{error}");
}

#[tokio::test]
async fn missing_rights_are_asked_for_once() {
    let denied = || refuses("AccessDeniedException", "no access to the model");
    let server = Server::start([denied(), denied()]).await;
    let reply = prompt(bedrock(&server, ANN).converse(MODEL)).await;
    let error = reply.error.expect("denied");
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(
        error.message.contains("AccessDeniedException: no access"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn failing_provider_is_an_error_before_any_request() {
    let vault = Vault::new(|_| {
        let key = "password=hunter2-canary";
        Err(CredentialsError::provider_error(format!(
            "the vault is closed to {key}"
        )))
    });
    let server = Server::start([]).await;
    let error = prompt(vault.bedrock(&server).converse(MODEL)).await.error;
    let error = error.expect("no credentials");
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.message.contains("the vault is closed"), "{error}");
    assert!(!error.message.contains("canary"), "{error}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn missing_credentials_are_explained() {
    let vault = Vault::new(|_| Err(CredentialsError::not_loaded("none of five")));
    let server = Server::start([]).await;
    let error = prompt(vault.bedrock(&server).converse(MODEL)).await.error;
    let error = error.expect("no credentials");
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.message.contains("set AWS_ACCESS_KEY_ID"), "{error}");
    assert!(error.message.contains("none of five"), "{error}");
}

#[tokio::test]
async fn requests_at_the_same_time_ask_once() {
    let vault = Vault::new(|_| Ok(in_an_hour(ROLE)));
    let server = strict_server(&[ROLE], (0..50).map(|_| hello()).collect()).await;
    let bedrock = vault.bedrock(&server);
    let prompts = (0..50).map(|_| prompt(bedrock.converse(MODEL)));
    let replies = futures_util::future::join_all(prompts).await;
    assert!(replies.iter().all(|reply| reply.error.is_none()));
    assert_eq!(vault.asked(), 1);
}

// T1
#[tokio::test]
async fn no_debug_form_and_no_span_shows_credentials() {
    let collector = collector();
    let error = Answer::new(
        400,
        &[],
        &format!(
            r#"{{"message": "bad {} {}"}}"#,
            ROLE.secret,
            ROLE.token.unwrap_or_default()
        ),
    );
    let server = strict_server(&[ROLE], vec![hello(), error]).await;
    let bedrock = bedrock(&server, ROLE);
    let (session, _) = session().await;
    let model = bedrock.converse(MODEL).retry(quick());
    let mut agent = AgentLoop::new(session, model).named("canary-free");
    let replies = collector
        .run(async { [agent.prompt("Hi").await, agent.prompt("Hi").await] })
        .await;
    let spans = collector.report().to_json();
    let model = agent.model_mut();
    let shown = format!("{bedrock:?} {model:?} {replies:?} {spans}");
    assert!(replies[0].error.is_none() && replies[1].error.is_some());
    assert!(spans.contains(MODEL), "{spans}");
    for secret in ["wJalr", "IQoJ", ROLE.id] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}
