//! The catalogue of configurable toolsets.

use serde_json::{Value, json};
use std::pin::Pin;
use tool_core::agents::{Agents, MemoryAgentToolStore};
use tool_core::describe::Action;
use tool_core::tool::{
    ConfigureError, Configured, SecretDocument, ToolsetFactory, ToolsetMetadata,
};
use tool_core::{Auth, RegistryErrors, ToolError};

/// A toolset that is known at run time.
struct ByHand(ToolsetMetadata);

impl ToolsetFactory for ByHand {
    fn metadata(&self) -> &ToolsetMetadata {
        &self.0
    }

    fn actions(&self) -> Vec<Action> {
        Vec::new()
    }

    fn configure(
        &self,
        _: Value,
        _: SecretDocument,
    ) -> Pin<Box<dyn Future<Output = Configured> + Send + '_>> {
        Box::pin(async { Err(ConfigureError::Failed(ToolError::permanent("not today"))) })
    }
}

fn built(forms: impl IntoIterator<Item = ToolsetMetadata>) -> Result<Agents, RegistryErrors> {
    let builder = Agents::builder(MemoryAgentToolStore::new());
    forms
        .into_iter()
        .fold(builder, |builder, form| builder.factory(ByHand(form)))
        .build()
}

fn problems(forms: impl IntoIterator<Item = ToolsetMetadata>) -> Vec<String> {
    built(forms)
        .expect_err("refused")
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn with_config(name: &str, schema: Value) -> ToolsetMetadata {
    let mut form = ToolsetMetadata::new(name, "By hand.");
    form.config_schema = Some(schema);
    form
}

// C10
#[tokio::test]
async fn toolset_known_at_run_time_is_configured_like_others() {
    let form = with_config(
        "by_hand",
        json!({"type": "object", "properties": {"host": {"type": "string"}}}),
    );
    let agents = built([form]).expect("sound");
    assert_eq!(agents.form("by_hand").expect("a form").title, "By Hand");
    let wrong = agents
        .add("alice", "by_hand")
        .config(json!({"hots": "h"}))
        .save()
        .await
        .expect_err("refused");
    assert!(
        wrong.to_string().contains("did you mean `host`?"),
        "{wrong}"
    );
    // Its actions are known at run time only, so any action can be disabled.
    let record = agents
        .add("alice", "by_hand")
        .config(json!({"host": "h"}))
        .disable_action("any")
        .save()
        .await;
    assert_eq!(record.expect("sound").disabled_actions.len(), 1);
}

// C10
#[test]
fn all_problems_of_the_toolsets_are_reported_at_once() {
    let unproven = ToolsetMetadata::new("unproven", "").authorized_by(Auth::ApiKey);
    let problems = problems([
        unproven,
        ToolsetMetadata::new("a\nb", ""),
        with_config("listed", json!({"type": "array"})),
        with_config(
            "broken",
            json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
        ),
        with_config(
            "wrong",
            json!({"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}),
        ),
    ]);
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(
        problems[0].starts_with("toolset `unproven`: `auth` requires secrets"),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("toolset `a\\nb`: expected a name"),
        "{problems:?}"
    );
    assert!(
        problems[2].contains("the schema of the settings is not one of an object"),
        "{problems:?}"
    );
    assert!(
        problems[3].contains("the schema of the settings does not compile"),
        "{problems:?}"
    );
    assert!(
        problems[4].contains("`/properties/a` has the default \"x\", which is not accepted there"),
        "{problems:?}"
    );
}

// C10
#[test]
fn duplicate_toolset_names_are_reported_with_places() {
    let again = || ToolsetMetadata::new("again", "");
    let problems = problems([
        ToolsetMetadata::new("settings_plain", ""),
        again(),
        again(),
        again(),
    ]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(
        problems[0],
        "duplicate toolset name: again; give one of them another `name`"
    );
    assert!(
        problems[1].starts_with("duplicate toolset name: settings_plain; "),
        "{problems:?}"
    );
    assert!(
        problems[1].contains("settings/toolsets.rs:"),
        "{problems:?}"
    );
}

// C4
#[tokio::test]
async fn schema_that_accepts_other_names_receives_them() {
    let open = [
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"anyOf": [{"type": "object", "properties": {"x": {}}}, {"type": "object", "additionalProperties": true}]}),
        json!({}),
        json!(true),
    ];
    for (number, schema) in open.into_iter().enumerate() {
        let agents = built([with_config("open", schema)]).expect("sound");
        let saved = agents
            .add("alice", "open")
            .config(json!({"anything": 7}))
            .save()
            .await;
        assert!(saved.is_ok(), "{number}: {saved:?}");
    }
    let closed = built([with_config("closed", json!({"type": "object"}))]).expect("sound");
    assert!(
        closed
            .add("alice", "closed")
            .config(json!({"anything": 7}))
            .save()
            .await
            .is_err()
    );
}

#[test]
fn debug_of_agents_shows_names_only() {
    let agents = built([ToolsetMetadata::new("by_hand", "")]).expect("sound");
    let shown = format!("{agents:?}");
    assert!(
        shown.contains("by_hand") && shown.contains("Agents"),
        "{shown}"
    );
}
