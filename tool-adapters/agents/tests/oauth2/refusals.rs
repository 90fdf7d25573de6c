//! Clients that are set up wrongly.

use crate::misbehaving;
use tool_adapters::oauth2::{OAuth2Client, OAuth2Clients};
use tool_core::Secret;
use tool_core::agents::{RefreshError, TokenRefresher};
use tool_core::tool::OAuth2;

async fn refused(client: OAuth2Client, change: impl FnOnce(&mut OAuth2)) -> String {
    let (auth_url, token_url) = (misbehaving::auth_url(), misbehaving::token_url());
    let mut grant = OAuth2 {
        provider: "p".into(),
        scopes: Vec::new(),
        auth_url,
        token_url,
    };
    change(&mut grant);
    let clients = OAuth2Clients::new().client("p", client);
    match clients.refresh(&grant, &Secret::from("good")).await {
        Err(RefreshError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn tokens_go_over_https_only_unless_it_is_this_machine() {
    for (url, why) in [
        (
            "http://example.com/token",
            "the token URL `http://example.com/token` is not encrypted; use https",
        ),
        ("http://127.0.0.1.example.com/", "is not encrypted"),
        ("http://localhost.example.com/", "is not encrypted"),
        ("http://10.0.0.1/token", "is not encrypted"),
        ("ftp://example.com/token", "is not https"),
        ("token", "is not a URL"),
        ("", "is not a URL"),
        (
            "https://name:hunter2@example.com/token",
            "the token URL contains a user name or a password",
        ),
        ("https://example.com/token#here", "has a fragment"),
    ] {
        let told = refused(OAuth2Client::new("id", "https://app.example/cb"), |grant| {
            grant.token_url = url.into();
        })
        .await;
        assert!(
            told.contains(why) && !told.contains("hunter2"),
            "{url}: {told}"
        );
        let told = refused(OAuth2Client::new("id", "https://app.example/cb"), |grant| {
            grant.auth_url = url.into();
        })
        .await;
        assert!(
            told.contains(&why.replace("token URL", "authorisation URL")),
            "{url}: {told}"
        );
    }
}

#[tokio::test]
async fn a_clients_own_settings_are_checked() {
    for (client, why) in [
        (
            OAuth2Client::new("", "https://app.example/cb"),
            "its id is empty",
        ),
        (
            OAuth2Client::new("id", "http://app.example/cb"),
            "the redirect URL `http://app.example/cb` is not encrypted",
        ),
        (
            OAuth2Client::new("id", "https://app.example/cb").param("state", "x"),
            "the parameter `state` is reserved",
        ),
    ] {
        let told = refused(client, |_| ()).await;
        assert!(
            told.starts_with("invalid OAuth 2 client: ") && told.contains(why),
            "{told}"
        );
    }
}

#[tokio::test]
async fn the_token_url_counts_before_the_providers_name() {
    let (right, wrong) = (
        OAuth2Client::new("id", "https://app.example/cb"),
        OAuth2Client::new("", ""),
    );
    let clients = OAuth2Clients::new()
        .client("p", wrong)
        .client(misbehaving::token_url(), right);
    let grant = OAuth2 {
        provider: "p".into(),
        auth_url: misbehaving::auth_url(),
        token_url: misbehaving::token_url(),
        ..OAuth2::default()
    };
    assert!(clients.refresh(&grant, &Secret::from("good")).await.is_ok());
    let unknown = OAuth2 {
        provider: "q".into(),
        token_url: "https://q.example/token".into(),
        ..OAuth2::default()
    };
    let error = clients
        .refresh(&unknown, &Secret::from("good"))
        .await
        .map(|_| ())
        .expect_err("no client");
    assert!(
        error
            .to_string()
            .contains("no OAuth 2 client is registered for `q`"),
        "{error}"
    );
}
