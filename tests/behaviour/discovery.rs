//! Discovery of linked tools.

use crate::support::data;
use serde_json::json;
use tool_core::schemars::JsonSchema;
use tool_core::serde::Deserialize;
use tool_core::{Auth, Configure, Registry, ToolContext, ToolError, tool, toolset};

/// Found by itself.
#[tool(name = "discovered_fn")]
fn discovered() -> u8 {
    1
}

#[derive(Default)]
struct Found;

#[toolset(name = "found")]
impl Found {
    /// Found with its type.
    #[tool]
    fn discovered_method(&self) -> u8 {
        2
    }
}

/// The second block of the same type.
#[toolset(part)]
impl Found {
    /// Found in another block.
    #[tool]
    fn discovered_part(&self) -> u8 {
        3
    }
}

#[derive(Default)]
struct OptedOut;

#[toolset(discover = false)]
impl OptedOut {
    /// Not found.
    #[tool]
    fn opted_out(&self) -> u8 {
        4
    }
}

struct NeedsHand;

#[toolset(discover = false)]
impl NeedsHand {
    /// Not discovered: it has no constructor, and says so.
    #[tool]
    fn needs_hand(&self) -> u8 {
        5
    }
}

/// Talks to a mail server.
#[derive(Default)]
struct Mailer {
    from: String,
}

#[derive(Deserialize, JsonSchema)]
struct MailerConfig {
    /// The sender's address
    from_email: String,
}

#[derive(Deserialize, JsonSchema)]
struct MailerSecrets {
    password: String,
}

impl Configure for Mailer {
    type Config = MailerConfig;
    type Secrets = MailerSecrets;

    async fn configure(config: MailerConfig, secrets: MailerSecrets) -> Result<Self, ToolError> {
        if secrets.password.is_empty() {
            return Err(ToolError::auth("the password is empty"));
        }
        Ok(Self {
            from: config.from_email,
        })
    }
}

/// Send mail.
#[toolset(
    name = "mailer",
    title = "E-mail",
    auth = Auth::oauth2("acme", ["mail.send"], "https://acme.example/auth", "https://acme.example/token")
)]
impl Mailer {
    /// Tell who sends.
    #[tool]
    fn sender(&self) -> String {
        self.from.clone()
    }
}

// L35, A9
#[test]
fn discovers_functions_and_default_toolsets_with_parts() {
    let tools = ToolContext::discover().expect("sound");
    let found = |name: &str| tools.has_tool(name);
    assert!(found("discovered_fn") && found("discovered_method") && found("discovered_part"));
    assert!(!found("opted_out") && !found("needs_hand") && !found("sender"));
    assert_eq!(data(&tools, "discovered_part", "{}"), json!(3));
}

// L35
#[test]
fn discovery_order_is_stable() {
    let names = || {
        let tools = ToolContext::discover().expect("sound");
        tools
            .definitions()
            .map(|tool| tool.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(), names());
    let tools = Registry::discover().expect("sound").context();
    assert_eq!(
        tools
            .definitions()
            .map(|tool| tool.name().to_owned())
            .collect::<Vec<_>>(),
        names()
    );
}

// L35, A8, C1
#[test]
fn configurable_toolset_is_listed_with_its_form() {
    let tools = ToolContext::discover().expect("sound");
    let mailer = tools
        .unconfigured()
        .iter()
        .find(|toolset| toolset.name == "mailer")
        .expect("listed");
    assert_eq!(
        (mailer.title.as_str(), mailer.description.as_str()),
        ("E-mail", "Send mail.")
    );
    assert!(mailer.requires_auth);
    let auth = serde_json::to_value(&mailer.auth).expect("JSON");
    assert_eq!(
        (&auth["type"], &auth["provider"], &auth["scopes"]),
        (&json!("oauth2"), &json!("acme"), &json!(["mail.send"]))
    );
    let config = mailer.config_schema.as_ref().expect("a form");
    assert_eq!(config["title"], json!("MailerConfig"));
    assert_eq!(
        config["properties"]["from_email"]["description"],
        json!("The sender's address")
    );
    assert!(
        mailer
            .secrets_schema
            .as_ref()
            .is_some_and(|schema| schema["properties"]["password"].is_object())
    );
}

// A8
#[test]
fn settings_reach_a_method_through_self() {
    let config = || MailerConfig {
        from_email: "me@example.com".into(),
    };
    let made = crate::support::block_on(Mailer::configure(
        config(),
        MailerSecrets {
            password: "x".into(),
        },
    ));
    let tools = crate::support::tools(made.expect("configured"));
    assert_eq!(data(&tools, "sender", "{}"), json!("me@example.com"));
    let failed = crate::support::block_on(Mailer::configure(
        config(),
        MailerSecrets {
            password: String::new(),
        },
    ));
    assert!(failed.is_err());
}

// L35
#[test]
fn registry_lists_every_linked_toolset() {
    let registry = Registry::discover().expect("sound");
    let names = registry
        .toolsets()
        .iter()
        .map(|toolset| toolset.name.as_str())
        .collect::<Vec<_>>();
    assert!(
        ["found", "mailer", "opted_out", "needs_hand"]
            .iter()
            .all(|name| names.contains(name)),
        "{names:?}"
    );
    assert!(names.is_sorted());
}

// L14
#[test]
fn definition_gives_source_location_and_path() {
    let tools = crate::support::tools(discovered);
    let definition = tools.definitions().next().expect("one");
    assert!(
        definition
            .source()
            .to_string()
            .contains("behaviour/discovery.rs:"),
        "{}",
        definition.source()
    );
    assert!(
        definition.path().ends_with("discovery::discovered"),
        "{}",
        definition.path()
    );
    let line = include_str!("discovery.rs")
        .lines()
        .position(|line| line.starts_with("fn discovered()"))
        .expect("here");
    assert_eq!(definition.source().line as usize, line + 1);
}

fn plain() -> u8 {
    6
}

// L7
#[test]
fn function_without_attribute_is_an_error_at_build() {
    let errors = ToolContext::builder()
        .with(plain)
        .build()
        .expect_err("no tool");
    assert!(
        errors
            .to_string()
            .contains("is not a tool; add `#[tool]` to it"),
        "{errors}"
    );
}
