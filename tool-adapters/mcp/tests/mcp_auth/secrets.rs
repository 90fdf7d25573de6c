//! Secrets of logins, and the places where they must not be.

use crate::client::{connect, sum};
use crate::issuer::{Issuer, form};
use crate::support::{call, protected, refusal};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Arc, Mutex};
use tool_adapters::mcp::{
    LoginRequest, LoginStore, McpClient, MemoryLoginStore, OAuthLogin, OAuthResource,
};
use tool_core::RunContext;
use tracing::instrument::WithSubscriber;
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logs {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn logins_show_no_secret() {
    // In a process of its own, as a subscriber makes the tests beside it record spans.
    let mut process = std::process::Command::new(std::env::current_exe().expect("this program"));
    let output = process.args([
        "--ignored",
        "--exact",
        "secrets::secrets_of_logins_are_in_no_log",
        "--test-threads=1",
    ]);
    let output = output.output().expect("a process");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
}

#[tokio::test]
#[ignore = "the other test runs it in a process of its own"]
async fn secrets_of_logins_are_in_no_log() {
    let logs = Logs::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(logs.clone())
        .with_max_level(tracing::Level::TRACE);
    let _guard = tracing::subscriber::set_default(subscriber.with_ansi(false).finish());
    let (issuer, store) = (Issuer::start().await, MemoryLoginStore::default());
    issuer.behaviour().lifetime = Some(1);
    let url = protected(&issuer).await;
    let shown = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&shown);
    let login = OAuthLogin::browser(move |request: LoginRequest| {
        note.lock()
            .expect("no panic")
            .push(format!("{request:?} {request:#?}"));
        // The browser is another program.
        async move { reqwest::get(request.url).await.map(drop) }
            .with_subscriber(tracing::Dispatch::none())
    });
    let login = login
        .client(&issuer.url, "planner")
        .client_secret("secret-canary-1")
        .store(store.clone());
    let client = McpClient::url(&url).oauth(login.clone());
    shown
        .lock()
        .expect("no panic")
        .push(format!("{login:?} {client:?} {store:?}"));
    drop(client);
    let tools = connect(&url, login).await.expect("a connection");
    issuer.behaviour().grants = Some("read".to_owned());
    let mut answers = vec![sum(&tools).await];
    answers.push(
        tools
            .call("delete", json!({}), &RunContext::detached())
            .await
            .into_text(),
    );
    issuer.behaviour().refuses_refresh = true;
    issuer.behaviour().callback = [(
        "error".to_owned(),
        "access_denied secret-canary-1".to_owned(),
    )]
    .into();
    answers.push(sum(&tools).await);
    issuer.behaviour().is_down = true;
    answers.push(sum(&tools).await);
    issuer.behaviour().is_down = false;
    let resource =
        OAuthResource::new(&url).introspected_issuer(&issuer.url, "resource", "secret-canary-2");
    shown
        .lock()
        .expect("no panic")
        .push(format!("{resource:?}"));
    let forged = format!("{}x", issuer.token(&url));
    let (_, challenge) = refusal(call(&url, "add").bearer_auth(&forged)).await;
    answers.push(challenge);
    // All that the authorization server has seen and said.
    let mut canaries = vec![
        "secret-canary".to_owned(),
        "refresh-canary".to_owned(),
        "code-canary".to_owned(),
        forged,
    ];
    for kept in issuer.requests("/token") {
        let asked = form(&kept.body);
        canaries.extend(
            ["code", "code_verifier", "refresh_token", "client_secret"]
                .iter()
                .filter_map(|name| asked.get(*name).cloned()),
        );
    }
    for kept in issuer.requests("/authorize") {
        canaries.push(form(kept.target.split_once('?').expect("a query").1)["state"].clone());
    }
    let stored = store.load(&url).await.expect("a store");
    let stored = stored
        .map(|stored| serde_json::from_str::<Value>(stored.expose()).expect("JSON"))
        .unwrap_or_default();
    canaries.extend(stored["access_token"].as_str().map(str::to_owned));
    let sent = issuer.requests("/token").len();
    assert!(
        canaries.len() >= 8 && sent >= 3,
        "{sent} {}",
        canaries.len()
    );
    let logged = String::from_utf8_lossy(&logs.0.lock().expect("no panic")).into_owned();
    assert!(
        logged.contains("refused a request") && logged.len() > 1_000,
        "{logged}"
    );
    let shown = shown.lock().expect("no panic").join(" ");
    for canary in canaries {
        for (place, text) in [
            ("the log", &logged),
            ("Debug", &shown),
            ("an answer", &answers.join(" ")),
        ] {
            let at = text.find(&canary).map(|at| {
                text[at.saturating_sub(200)..]
                    .chars()
                    .take(400)
                    .collect::<String>()
            });
            assert_eq!(at, None, "{canary} in {place}");
        }
        assert!(!logged.contains("eyJ"), "no token, and no part of one");
    }
}
