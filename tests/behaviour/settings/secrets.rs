//! Validation of secrets.

use super::toolsets::{DoorSecrets, DriveSecrets, PostSecrets};
use super::{agents, kind, lines};
use serde_json::{Value, json};
use tool_core::agents::AgentErrorKind;
use tool_core::tool::{SecretDocument, ToolsetMetadata};

fn wrong(tool: &str, secrets: &SecretDocument) -> Vec<String> {
    let (agents, _) = agents();
    let form = agents.form(tool).expect("a form");
    form.check_secrets(secrets)
        .map_or_else(|problems| lines(&problems), |()| Vec::new())
}

fn post() -> ToolsetMetadata {
    agents().0.form("settings_post").expect("a form").clone()
}

// C3, T1
#[test]
fn problems_of_secrets_give_place_and_kind_only() {
    let secrets =
        json!({"password": "hunter2", "api_key": 12345, "pasword": "hunter2", "keys": ["hunter2"]});
    assert_eq!(
        wrong("settings_post", &secrets.into()),
        [
            "`/api_key`: expected a string or `null`, got a number",
            "`/keys`: unknown secret, known: `password`, `api_key`",
            "`/password`: expected at least 8 characters, got fewer",
            "`/pasword`: unknown secret, did you mean `password`?",
        ]
    );
    let missing = wrong("settings_post", &json!({}).into());
    assert_eq!(
        missing,
        ["`/password`: missing, expected a string (\"The password of the mailbox\")"]
    );
}

// T4
#[test]
fn secrets_must_be_a_json_object() {
    let no_json = SecretDocument::from_json("hunter2".to_owned());
    assert_eq!(
        wrong("settings_post", &no_json),
        ["arguments: expected an object, got a text that is not JSON"]
    );
    assert_eq!(
        wrong("settings_post", &json!("hunter2").into()),
        ["arguments: expected an object, got a string"]
    );
    assert!(post().read_secrets::<PostSecrets>(&no_json).is_err());
}

// C3
#[test]
fn toolset_without_secrets_refuses_secrets() {
    assert!(wrong("settings_plain", &SecretDocument::none()).is_empty());
    let some = wrong("settings_plain", &json!({"password": "hunter2"}).into());
    assert_eq!(some, ["`/password`: unknown secret, there are none"]);
}

// T1
#[test]
fn type_error_about_a_secret_is_not_shown() {
    let (agents, _) = agents();
    let form = agents.form("settings_door").expect("a form");
    let secrets =
        json!({"master": "no digits", "login": {"username": "u", "password": "p"}}).into();
    let problems = form
        .read_secrets::<DoorSecrets>(&secrets)
        .err()
        .expect("refused");
    assert_eq!(
        lines(&problems),
        ["`/master`: refused: it is not what the toolset takes"]
    );
}

// C5
#[test]
fn tokens_of_a_grant_are_optional_secrets() {
    assert!(wrong("settings_drive", &json!({"folder_key": "f"}).into()).is_empty());
    let tokens = json!({
        "access_token": "a", "refresh_token": "r", "expires_at": "2026-01-01T00:00:00Z", "scope": "read", "folder_key": "f",
    });
    assert!(wrong("settings_drive", &tokens.clone().into()).is_empty());
    // `deny_unknown_fields` applies to values that a person writes.
    let (agents, _) = agents();
    let form = agents.form("settings_drive").expect("a form");
    assert!(form.read_secrets::<DriveSecrets>(&tokens.into()).is_ok());
    let other = wrong("settings_drive", &json!({"refesh_token": "r"}).into());
    assert_eq!(other.len(), 1, "{other:?}");
    // Elsewhere these are ordinary names.
    assert_eq!(
        wrong("settings_plain", &json!({"scope": "read"}).into()).len(),
        1
    );
}

// C6
#[tokio::test]
async fn enabled_record_needs_the_required_secrets() {
    let (agents, store) = agents();
    let config = json!({"server": "mx"});
    let draft = || agents.add("alice", "settings_post").config(config.clone());
    let missing = |kind| matches!(kind, AgentErrorKind::InvalidSecrets(problems) if problems[0].pointer == "/password");
    assert!(missing(kind(draft().save().await)));
    assert!(missing(kind(draft().secrets(json!({})).save().await)));
    assert!(super::writes::is_empty(&store).await);

    // The tokens may follow later.
    let record = draft()
        .enabled(false)
        .save()
        .await
        .expect("a record that waits");
    assert!(missing(kind(agents.enable("alice", "settings_post").await)));
    let record = agents
        .edit(&record)
        .secrets(json!({"password": "longenough"}))
        .enabled(true)
        .save()
        .await
        .expect("sound");
    assert!(missing(kind(
        agents.edit(&record).secrets(json!({})).save().await
    )));
    assert!(
        agents
            .record("alice", "settings_post")
            .await
            .expect("there")
            .secrets
            .is_some()
    );
}

// C5: the person agrees after the record was added
#[tokio::test]
async fn grant_can_follow_the_record() {
    let (agents, _) = agents();
    let record = agents
        .add("alice", "settings_drive")
        .save()
        .await
        .expect("a record without a grant");
    assert_eq!((record.enabled, record.secrets.is_none()), (true, true));
    let given: Value = json!({"folder_key": 7});
    assert!(matches!(
        kind(agents.edit(&record).secrets(given).save().await),
        AgentErrorKind::InvalidSecrets(_)
    ));
}
