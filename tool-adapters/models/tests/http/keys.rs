//! API keys from a callback.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{model, quick, session};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::ProvidedKey;
use tool_adapters::transport::http::{HttpModel, Timeouts};
use tool_core::{ErrorKind, ToolError};

/// A model whose callback provides `key-1`, `key-2` and so on, each for so long.
fn rotating(server: &Server, valid_for: Duration) -> HttpModel {
    let asked = Arc::new(AtomicUsize::new(0));
    model(Provider::OpenAiChat, server).api_key_with(move || {
        let n = asked.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(ProvidedKey::new(format!("key-{n}")).valid_for(valid_for)) }
    })
}

fn hello() -> Answer {
    Answer::events(&text(Provider::OpenAiChat, "Hello"))
}

/// Prompts so often, and returns the keys that the server received and the kind of the last error.
async fn keys(
    answers: Vec<Answer>,
    valid_for: Duration,
    prompts: usize,
) -> (Vec<String>, Option<ErrorKind>) {
    let server = Server::start(answers).await;
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(session, rotating(&server, valid_for));
    let mut error = None;
    for _ in 0..prompts {
        error = agent.prompt("Hi").await.error.map(|error| error.kind);
    }
    let key = |head: &str| {
        head.split("bearer ")
            .nth(1)?
            .split_whitespace()
            .next()
            .map(str::to_owned)
    };
    (
        server
            .requests()
            .iter()
            .filter_map(|request| key(&request.head))
            .collect(),
        error,
    )
}

#[tokio::test]
async fn callback_is_asked_for_each_request() {
    let (keys, error) = keys(vec![hello(), hello(), hello()], Duration::ZERO, 3).await;
    assert_eq!(
        (keys, error),
        (vec!["key-1".into(), "key-2".into(), "key-3".into()], None)
    );
}

#[tokio::test]
async fn valid_key_is_used_again() {
    let (keys, error) = keys(vec![hello(), hello()], Duration::from_secs(3_600), 2).await;
    assert_eq!((keys, error), (vec!["key-1".into(), "key-1".into()], None));
}

#[tokio::test]
async fn valid_key_outlives_a_failed_attempt() {
    let answers = vec![Answer::new(500, &[], "{}"), hello()];
    let (keys, error) = keys(answers, Duration::from_secs(3_600), 1).await;
    assert_eq!((keys, error), (vec!["key-1".into(), "key-1".into()], None));
}

#[tokio::test]
async fn refused_key_is_replaced_once() {
    let refused = || Answer::new(401, &[], "{}");
    let valid_for = Duration::from_secs(3_600);
    let (one, error) = keys(vec![refused(), hello()], valid_for, 1).await;
    assert_eq!((one, error), (vec!["key-1".into(), "key-2".into()], None));
    let (all, error) = keys((0..9).map(|_| refused()).collect(), valid_for, 1).await;
    assert_eq!(
        (all, error),
        (vec!["key-1".into(), "key-2".into()], Some(ErrorKind::Auth))
    );
}

#[tokio::test]
async fn failure_of_the_callback_is_the_answer() {
    let server = Server::start([hello()]).await;
    let (session, _) = session().await;
    let model = model(Provider::OpenAiChat, &server)
        .api_key_with(|| async { Err(ToolError::auth("no credentials")) });
    let error = AgentLoop::new(session, model)
        .prompt("Hi")
        .await
        .error
        .expect("fails");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Auth, "no credentials")
    );
    assert!(server.requests().is_empty());
}

// B8
#[tokio::test(start_paused = true)]
async fn hanging_callback_ends_with_the_time_of_the_request() {
    let (session, _) = session().await;
    let timeouts = Timeouts {
        total: Duration::from_secs(5),
        ..Timeouts::default()
    };
    let model = HttpModel::new(Provider::OpenAiChat, "m")
        .base_url("http://127.0.0.1:9")
        .timeouts(timeouts);
    let model = model.api_key_with(std::future::pending);
    let began = tokio::time::Instant::now();
    let error = AgentLoop::new(session, model)
        .prompt("Hi")
        .await
        .error
        .expect("late");
    assert_eq!(
        (error.kind, began.elapsed().as_secs()),
        (ErrorKind::Transient, 5),
        "{error}"
    );
}

// B8
#[tokio::test]
async fn panic_of_the_callback_is_an_error() {
    let server = Server::start([hello()]).await;
    let (session, _) = session().await;
    let asked = AtomicUsize::new(0);
    let model = model(Provider::OpenAiChat, &server).api_key_with(move || {
        assert!(asked.fetch_add(1, Ordering::SeqCst) > 0, "canary");
        std::future::ready(Ok(ProvidedKey::new("key")))
    });
    let mut agent = AgentLoop::new(session, model);
    let error = agent.prompt("Hi").await.error.expect("panics");
    assert!(
        error.kind == ErrorKind::Internal && !error.message.contains("canary"),
        "{error}"
    );
    assert!(
        agent.prompt("Hi").await.error.is_none(),
        "the next request asks again"
    );
}

const REQUESTS: usize = 1_000;

/// Sends keys to servers on this machine, in a process whose environment names proxies.
#[tokio::test]
#[ignore = "another test runs it in a process of its own"]
async fn requests_of_a_process_with_proxies() {
    assert!(
        std::env::var("http_proxy").is_ok(),
        "the other test runs this one"
    );
    let server = Server::start((0..REQUESTS).map(|_| hello())).await;
    let port = server.url.rsplit(':').next().expect("a port");
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"] {
        for scheme in ["http://", ""] {
            let model = HttpModel::new(Provider::OpenAiChat, "m")
                .base_url(format!("{scheme}{host}:{port}/v1"));
            let mut agent = AgentLoop::new(session().await.0, model.api_key("key").retry(quick()));
            for n in 0..REQUESTS / 8 {
                let error = agent.prompt("Hi").await.error;
                assert!(error.is_none(), "{n}: {error:?}");
            }
        }
    }
    assert_eq!(server.requests().len(), REQUESTS);
}

// B8
#[tokio::test]
async fn keys_for_this_machine_reach_no_proxy() {
    let proxy = Server::start([]).await;
    let mut child = Command::new(std::env::current_exe().expect("a program"));
    child.args([
        "--exact",
        "keys::requests_of_a_process_with_proxies",
        "--ignored",
    ]);
    for name in [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ] {
        child.env(name, &proxy.url);
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = tokio::task::spawn_blocking(move || child.output())
        .await
        .expect("runs")
        .expect("starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
    assert!(proxy.requests().is_empty(), "{:?}", proxy.requests());
}
