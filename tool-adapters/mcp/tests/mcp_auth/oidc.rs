//! The server and the client with npm's `oidc-provider`, where `OIDC_ISSUER` names one.

use crate::browser::Browser;
use crate::client::{connect, sum};
use crate::support::{call, refusal, serve_at};
use serde_json::{Value, json};
use std::env;
use tool_adapters::mcp::{LoginRequest, LoginStore, MemoryLoginStore, OAuthLogin};
use tool_core::RunContext;

const SECRET: &str = "the secret of the client, 32 bytes";
const THREE: &str = r#"{"result":3}"#;

/// Returns the server's address. Skips the test without one.
fn issuer() -> Option<String> {
    let issuer = env::var("OIDC_ISSUER")
        .ok()
        .filter(|issuer| !issuer.is_empty());
    if issuer.is_none() {
        tool_core::testing::skip("OIDC_ISSUER names no authorisation server");
    }
    issuer
}

/// A person who signs in and agrees in a browser.
fn person() -> OAuthLogin {
    OAuthLogin::browser(|request: LoginRequest| async move {
        let callback = Browser::new().agree(&request.url).await;
        reqwest::get(callback).await.map(drop)
    })
}

async fn protected(issuer: &str, path: &str) -> String {
    serve_at(path, |server, resource| {
        let resource = match path {
            "/opaque" => resource.introspected_issuer(issuer, "resource", SECRET),
            _ => resource.issuer(issuer),
        };
        server.oauth(
            resource
                .scopes(["mcp.read"])
                .tool_scopes("delete", ["mcp.write"]),
        )
    })
    .await
}

#[tokio::test]
async fn a_token_of_oidc_provider_is_good_for_one_server() {
    let Some(issuer) = issuer() else { return };
    let (url, other) = (
        protected(&issuer, "/mcp").await,
        protected(&issuer, "/mcp").await,
    );
    let store = MemoryLoginStore::default();
    let tools = connect(&url, person().store(store.clone()))
        .await
        .expect("a connection");
    assert_eq!(sum(&tools).await, THREE);
    // The person grants the scope of one more tool.
    let deleted = tools
        .call("delete", json!({}), &RunContext::detached())
        .await
        .into_text();
    assert_eq!(deleted, "deleted");
    let stored = store.load(&url).await.expect("a store").expect("a login");
    let stored = serde_json::from_str::<Value>(stored.expose()).expect("JSON");
    let token = stored["access_token"].as_str().expect("a token");
    assert!(
        stored["registration"]["client_id"]
            .as_str()
            .is_some_and(|id| id.len() > 10),
        "{}",
        stored["registration"]
    );
    let (code, challenge) = refusal(call(&other, "add").bearer_auth(token)).await;
    assert!(
        code == 401 && challenge.contains("another resource"),
        "{code} {challenge}"
    );
}

#[tokio::test]
async fn tokens_of_oidc_provider_are_refreshed() {
    let Some(issuer) = issuer() else { return };
    let url = protected(&issuer, "/short").await;
    let store = MemoryLoginStore::default();
    let tools = connect(&url, person().store(store.clone()))
        .await
        .expect("a connection");
    let refresh = async || {
        let stored = store.load(&url).await.expect("a store").expect("a login");
        serde_json::from_str::<Value>(stored.expose()).expect("JSON")["refresh_token"].clone()
    };
    let mut seen = vec![refresh().await];
    for _ in 0..5 {
        assert_eq!(sum(&tools).await, THREE);
        let next = refresh().await;
        assert!(
            next.is_string() && !seen.contains(&next),
            "each is good once"
        );
        seen.push(next);
    }
}

#[tokio::test]
async fn opaque_tokens_of_oidc_provider_are_introspected() {
    let Some(issuer) = issuer() else { return };
    let url = protected(&issuer, "/opaque").await;
    assert_eq!(
        sum(&connect(&url, person()).await.expect("a connection")).await,
        THREE
    );
}

#[tokio::test]
async fn oidc_provider_serves_machines() {
    let Some(issuer) = issuer() else { return };
    for path in ["/mcp", "/opaque"] {
        let url = protected(&issuer, path).await;
        let login = OAuthLogin::machine(&issuer, "machine", SECRET);
        assert_eq!(
            sum(&connect(&url, login).await.expect("a connection")).await,
            THREE,
            "{path}"
        );
    }
}
