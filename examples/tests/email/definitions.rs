//! The definitions of the tools, and the settings form.

use crate::support::{Mail, configured};
use serde_json::json;
use tool_core::tool::ToolsetMetadata;
use tool_core::{Auth, ToolContext};

fn metadata() -> ToolsetMetadata {
    let tools = ToolContext::discover().unwrap();
    tools
        .unconfigured()
        .iter()
        .find(|toolset| toolset.name == "email")
        .unwrap()
        .clone()
}

// A5
#[test]
fn form_asks_for_server_and_address() {
    let metadata = metadata();
    assert_eq!(
        (
            metadata.title.as_str(),
            metadata.requires_auth,
            &metadata.auth
        ),
        ("E-mail", true, &Auth::Basic)
    );
    let schema = metadata.config_schema.unwrap();
    assert_eq!(schema["required"], json!(["smtp_server", "from_email"]));
    assert_eq!(schema["properties"]["smtp_port"]["default"], 587);
    assert_eq!(schema["properties"]["from_email"]["format"], "email");
    assert_eq!(schema["properties"]["security"]["default"], "starttls");
    assert_eq!(schema["properties"]["imap_port"]["default"], 993);
    assert_eq!(schema["properties"]["imap_security"]["default"], "tls");
    // Whoever changes the settings alone cannot have another server trusted.
    assert!(schema["properties"]["certificate"].is_null());
    let secrets = metadata.secrets_schema.unwrap();
    assert!(secrets["properties"]["certificate"].is_object());
    for secret in ["password", "api_key"] {
        assert_eq!(
            secrets["properties"][secret]["writeOnly"], true,
            "{secrets}"
        );
    }
}

// A8
#[tokio::test]
async fn schemas_contain_neither_settings_nor_secrets() {
    let config = json!({"smtp_server": "smtp.example.com", "from_email": "office@example.com"});
    let tools = ToolContext::builder()
        .with(configured(config, json!({"password": "x"})).await.unwrap())
        .build()
        .unwrap();
    for tool in tools.definitions() {
        let told = format!("{} {}", tool.description(), tool.parameters_json());
        assert!(
            !["smtp", "password", "from_email", "office"]
                .iter()
                .any(|word| told.contains(word)),
            "{told}"
        );
    }
    let schema = tools
        .function_tool("schedule_draft")
        .unwrap()
        .definition()
        .parameters();
    assert_eq!(
        schema["required"],
        json!(["to", "subject", "body", "send_at"])
    );
    assert_eq!(schema["properties"]["send_at"]["format"], "date-time");
}

#[tokio::test]
async fn invalid_settings_are_refused_with_a_message() {
    let config = json!({"smtp_server": "smtp.example.com", "from_email": "office@example.com"});
    let with = |member: &str, value: &str| {
        let mut config = config.clone();
        config[member] = value.into();
        config
    };
    for (config, secrets, words) in [
        (
            config.clone(),
            json!({"password": "x", "api_key": "y"}),
            "not both",
        ),
        (
            with("from_email", "office"),
            json!({}),
            "from_email: `office` is no e-mail address",
        ),
        (
            config.clone(),
            json!({"certificate": "no pem"}),
            "certificate",
        ),
    ] {
        let error = configured(config, secrets).await.err().unwrap();
        assert!(error.message().contains(words), "{error}");
    }
}

#[tokio::test]
async fn invalid_arguments_are_reported_at_once() {
    let config = json!({"smtp_server": "smtp.example.com", "from_email": "office@example.com"});
    let mail = Mail::new(config, json!({})).await;
    let response = mail
        .call("send_email", json!({"to": "ada", "subject": ""}))
        .await;
    let message = &response.error().unwrap().message;
    for place in ["/to", "/subject", "/body"] {
        assert!(message.contains(place), "{message}");
    }
}
