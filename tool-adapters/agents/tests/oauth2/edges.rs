//! Token endpoints that do what they should not: slow, broken, malformed, huge, elsewhere.

use crate::misbehaving::{self, STOLEN};
use std::sync::atomic::Ordering;
use tool_adapters::oauth2::{OAuth2Client, OAuth2Clients};
use tool_core::Secret;
use tool_core::agents::{RefreshError, TokenRefresher, Tokens};
use tool_core::tool::OAuth2;

const REDIRECT: &str = "http://127.0.0.1:9/callback";

fn grant() -> OAuth2 {
    OAuth2 {
        provider: "misbehaving".into(),
        scopes: Vec::new(),
        auth_url: misbehaving::auth_url(),
        token_url: misbehaving::token_url(),
    }
}

async fn refresh(behaviour: &str) -> Result<Tokens, RefreshError> {
    let client = OAuth2Client::new("id", REDIRECT).secret("client-secret-canary");
    let clients = OAuth2Clients::new().client("misbehaving", client);
    let answer = clients.refresh(&grant(), &Secret::from(behaviour)).await;
    let shown = format!(
        "{answer:?} {}",
        answer
            .as_ref()
            .err()
            .map(ToString::to_string)
            .unwrap_or_default()
    );
    for secret in [
        "secret-canary",
        "fine",
        "<h1>",
        "Sign in",
        "12345678",
        "\u{1b}",
    ] {
        assert!(!shown.contains(secret), "{behaviour}: {shown}");
    }
    answer
}

async fn error(behaviour: &str) -> RefreshError {
    refresh(behaviour).await.map(|_| ()).expect_err(behaviour)
}

#[tokio::test]
async fn a_query_in_the_token_url_stays() {
    let tokens = refresh("good").await.expect("tokens");
    assert_eq!(tokens.access.expose(), "fine");
    assert_eq!(
        tokens
            .refresh
            .map(|token| token.expose().to_owned())
            .as_deref(),
        Some("next")
    );
}

#[tokio::test]
async fn servers_that_fail_are_asked_again_later() {
    for behaviour in ["500", "503-json", "429", "busy"] {
        assert!(
            matches!(error(behaviour).await, RefreshError::Transient(_)),
            "{behaviour}"
        );
    }
    assert_eq!(
        error("500").await,
        RefreshError::Transient("the token endpoint answered with status 500".into())
    );
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    assert_eq!(
        error("slow").await,
        RefreshError::Transient("the token endpoint did not answer in time".into())
    );
}

#[tokio::test]
async fn nobody_there_is_a_failure_for_now() {
    let clients = OAuth2Clients::new().client("nobody", OAuth2Client::new("id", REDIRECT));
    // A port that was just free.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|at| at.local_addr())
        .expect("a port")
        .port();
    let token_url = format!("http://127.0.0.1:{port}/token");
    let grant = OAuth2 {
        provider: "nobody".into(),
        auth_url: token_url.clone(),
        token_url,
        ..OAuth2::default()
    };
    let error = clients
        .refresh(&grant, &Secret::from("r"))
        .await
        .map(|_| ())
        .expect_err("nobody");
    assert_eq!(
        error,
        RefreshError::Transient("failed to connect to the token endpoint".into())
    );
}

#[tokio::test]
async fn answers_that_are_none_are_refused_and_not_repeated() {
    for behaviour in [
        "malformed",
        "html",
        "html-400",
        "list",
        "number",
        "nothing",
        "empty",
    ] {
        assert!(
            matches!(error(behaviour).await, RefreshError::Refused(_)),
            "{behaviour}"
        );
    }
}

#[tokio::test]
async fn answers_have_a_longest_length() {
    for behaviour in ["huge", "endless"] {
        assert_eq!(
            error(behaviour).await,
            RefreshError::Refused(
                "expected an answer of at most 262144 bytes from the token endpoint, got a longer one".into()
            )
        );
    }
}

#[tokio::test]
async fn no_redirect_takes_a_token_elsewhere() {
    for behaviour in ["redirect", "redirect-get"] {
        let RefreshError::Refused(why) = error(behaviour).await else {
            panic!("{behaviour}")
        };
        assert!(
            why.starts_with("the token endpoint redirects, which is not followed"),
            "{why}"
        );
    }
    assert_eq!(STOLEN.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_providers_do_in_their_own_way_is_understood() {
    let RefreshError::Revoked(why) = error("github").await else {
        panic!("an error with status 200")
    };
    assert!(why.starts_with("bad_refresh_token"), "{why}");
    let tokens = refresh("lax")
        .await
        .expect("status 201, no type, a lifetime as text, null");
    assert_eq!(
        (
            tokens.access.expose(),
            tokens.refresh.is_none(),
            tokens.scope.as_deref()
        ),
        ("lax", true, Some("a b"))
    );
    assert!(tokens.expires_at.is_some());
    assert!(
        refresh("forever")
            .await
            .expect("tokens")
            .expires_at
            .is_none()
    );
    assert!(
        refresh("fraction")
            .await
            .expect("tokens")
            .expires_at
            .is_some()
    );
}

#[tokio::test]
async fn a_provider_that_repeats_the_token_is_not_quoted() {
    let RefreshError::Refused(why) = error("echo").await else {
        panic!("refused")
    };
    assert_eq!(why, "invalid_request (no [secret] here\\u{1b}[2J)");
    let RefreshError::Revoked(why) = error("echo-secret-9f8e7d").await else {
        panic!("revoked")
    };
    assert_eq!(why, "invalid_grant (bad [secret])");
}
