//! Settings forms.

use super::agents;
use serde_json::json;
use tool_core::tool::ToolsetMetadata;

// C1
#[test]
fn every_configurable_toolset_has_a_form() {
    let (agents, _) = agents();
    let names = agents
        .forms()
        .map(|form| form.name.as_str())
        .collect::<Vec<_>>();
    assert!(
        names.is_sorted() && names.contains(&"settings_post") && names.contains(&"settings_plain"),
        "{names:?}"
    );
    let plain = agents.form("settings_plain").expect("a form");
    assert_eq!(
        (
            &plain.config_schema,
            &plain.secrets_schema,
            plain.requires_auth
        ),
        (&None, &None, false)
    );
    assert!(agents.form("nobody").is_none() && agents.actions("nobody").is_none());
}

// C1
#[test]
fn form_has_titles_defaults_limits_and_secret_marks() {
    let (agents, _) = agents();
    let form = agents.form("settings_post").expect("a form");
    assert_eq!(
        (form.title.as_str(), form.description.as_str()),
        ("Post", "Send letters.")
    );
    let config = form.config_schema.as_ref().expect("settings");
    assert_eq!(
        config["properties"]["server"],
        json!({"type": "string", "description": "The address of the post office", "x-binds-secret": true})
    );
    let port = &config["properties"]["port"];
    assert_eq!(
        (&port["default"], &port["minimum"], &port["maximum"]),
        (&json!(587), &json!(1), &json!(65535))
    );
    assert_eq!(config["required"], json!(["server"]));
    let secrets = form.secrets_schema.as_ref().expect("secrets");
    let password = &secrets["properties"]["password"];
    assert_eq!(
        (&password["format"], &password["writeOnly"]),
        (&json!("password"), &json!(true))
    );
}

// C1
#[test]
fn form_survives_a_round_trip_through_json() {
    let (agents, _) = agents();
    let form = agents.form("settings_drive").expect("a form");
    let json = serde_json::to_value(form).expect("JSON");
    assert_eq!(
        (&json["requires_auth"], &json["auth"]["type"]),
        (&json!(true), &json!("oauth2"))
    );
    assert_eq!(json["config_schema"], json!(null));
    let back = serde_json::from_value::<ToolsetMetadata>(json).expect("the same");
    assert_eq!(&back, form);
    assert!(back.check_config(&json!({})).is_ok());
}

// A1, A3
#[test]
fn actions_are_listed_before_configuration() {
    let (agents, _) = agents();
    let actions = agents.actions("settings_post").expect("actions");
    let names = actions
        .iter()
        .map(|action| action.name.as_str())
        .collect::<Vec<_>>();
    assert_eq!(names, ["post_settings", "post_send"]);
    assert_eq!(actions[1].parameters[0].name, "to");
}
