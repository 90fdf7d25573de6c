//! Authentication of toolsets.

use super::agents;
use super::toolsets::{DoorSecrets, DriveSecrets};
use serde_json::json;
use std::pin::Pin;
use std::sync::Arc;
use tool_core::tool::{AccessToken, BasicAuth, SecretDocument, TokenSource};
use tool_core::{Auth, ErrorKind, Secret, ToolError};

struct Source;

impl TokenSource for Source {
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + '_>> {
        Box::pin(std::future::ready(Ok(Secret::from("fresh"))))
    }
}

// C9
#[test]
fn each_kind_of_authentication_serialises() {
    let (agents, _) = agents();
    let auth =
        |tool: &str| serde_json::to_value(&agents.form(tool).expect("a form").auth).expect("JSON");
    assert_eq!(auth("settings_post"), json!({"type": "api_key"}));
    assert_eq!(auth("settings_door"), json!({"type": "basic"}));
    assert_eq!(auth("settings_plain"), json!({"type": "none"}));
    assert_eq!(auth("settings_drive")["type"], "oauth2");
    assert_eq!(
        serde_json::from_value::<Auth>(auth("settings_post")).expect("the same"),
        Auth::ApiKey
    );
}

// RFC 7617
#[test]
fn basic_credentials_make_a_header() {
    let header = |name: &str, password: &str| {
        BasicAuth::new(name, password)
            .authorization()
            .expose()
            .to_owned()
    };
    assert_eq!(
        header("Aladdin", "open sesame"),
        "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    );
    assert_eq!(header("test", "123£"), "Basic dGVzdDoxMjPCow==");
    assert_eq!(header("", ""), "Basic Og==");
    assert_eq!(header("a", "b"), "Basic YTpi");
    assert_eq!(header("a", "bc"), "Basic YTpiYw==");
}

// RFC 7617: a colon separates user name and password
#[test]
fn user_name_with_a_colon_is_refused() {
    let (agents, _) = agents();
    let form = agents.form("settings_door").expect("a form");
    let secrets =
        |name: &str| json!({"master": "1", "login": {"username": name, "password": "p"}}).into();
    assert!(
        form.read_secrets::<DoorSecrets>(&secrets("user@host"))
            .is_ok()
    );
    let problems = form
        .check_secrets(&secrets("hunter2:x"))
        .expect_err("refused");
    assert_eq!(problems[0].pointer, "/login/username");
    assert!(
        !problems[0].to_string().contains("hunter2"),
        "{}",
        problems[0]
    );
}

/// Returns the token that a toolset reads from secrets, with or without a grant.
async fn token(secrets: serde_json::Value, granted: bool) -> Result<String, ToolError> {
    #[derive(serde::Deserialize)]
    struct Optional {
        #[serde(default)]
        access_token: AccessToken,
    }
    #[derive(serde::Deserialize)]
    struct Required {
        access_token: AccessToken,
    }
    let (agents, _) = agents();
    let form = agents.form("settings_drive").expect("a form");
    let document = SecretDocument::from(secrets);
    let document = if granted {
        document.with_grant(Arc::new(Source))
    } else {
        document
    };
    let optional = form.read_secrets::<Optional>(&document);
    let required = form.read_secrets::<Required>(&document);
    let (optional, required) = match (optional, required) {
        (Ok(optional), Ok(required)) => (optional.access_token, required.access_token),
        (optional, required) => {
            assert!(optional.is_err() && required.is_err());
            return Err(ToolError::permanent("refused"));
        }
    };
    assert_eq!(
        optional.get().await.map(|token| token.expose().to_owned()),
        required.get().await.map(|token| token.expose().to_owned())
    );
    Ok(optional.get().await?.expose().to_owned())
}

// C5
#[tokio::test]
async fn access_token_comes_from_its_grant() {
    assert_eq!(
        token(json!({"access_token": "old"}), true).await.as_deref(),
        Ok("fresh")
    );
    assert_eq!(
        token(json!({"refresh_token": "r"}), true).await.as_deref(),
        Ok("fresh")
    );
    assert_eq!(
        token(json!({"access_token": "old"}), false)
            .await
            .as_deref(),
        Ok("old")
    );
    assert_eq!(
        token(json!({"access_token": ""}), false)
            .await
            .expect_err("none")
            .kind(),
        ErrorKind::Auth
    );
    // Without a grant the secrets need what the schema requires.
    assert_eq!(
        token(json!({}), false).await.expect_err("refused").kind(),
        ErrorKind::Permanent
    );
}

// C5
#[test]
fn any_value_is_replaced_by_the_token_of_the_grant() {
    let read = |json: &str| serde_json::from_str::<AccessToken>(json);
    assert!(read("null").is_ok() && read("\"t\"").is_ok() && read("7").is_err());
    let (agents, _) = agents();
    let form = agents.form("settings_drive").expect("a form");
    let document = SecretDocument::from(json!({"folder_key": null})).with_grant(Arc::new(Source));
    assert!(form.read_secrets::<DriveSecrets>(&document).is_ok());
}
