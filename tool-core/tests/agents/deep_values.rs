//! Settings and secrets that nest 100,000 deep, on threads whose stack is too small to follow them.

use crate::support::{Probe, agents};
use crate::support_deep::{deep, deep_value, on_small_stack};
use serde_json::Value;
use tool_core::agents::{AgentErrorKind, RecordWrite};

fn member(value: Value) -> Value {
    // `json!` would follow the value.
    Value::Object([("deep".to_owned(), value)].into_iter().collect())
}

// T9
#[test]
fn deep_settings_are_refused() {
    on_small_stack(async || {
        let agents = agents([&Probe::new("mail", ["send"])]);
        for config in [deep(), member(deep()), member(deep_value(100))] {
            let refused = agents
                .add("alice", "mail")
                .config(config)
                .save()
                .await
                .expect_err("refused");
            let AgentErrorKind::InvalidConfig(problems) = refused.kind else {
                panic!("{refused:?}")
            };
            assert_eq!(problems[0].expected, "at most 100 nested levels");
        }
        let record = agents
            .add("alice", "mail")
            .config(deep())
            .config(member(deep_value(99)))
            .save()
            .await
            .expect("saved");
        assert_eq!(record.config, member(deep_value(99)));
    });
}

// T9
#[test]
fn deep_settings_are_no_record_of_a_store() {
    on_small_stack(async || {
        assert!(
            RecordWrite::new("alice", "mail", member(deep()))
                .check()
                .is_err()
        );
        assert!(
            RecordWrite::new("alice", "mail", member(deep_value(99)))
                .check()
                .is_ok()
        );
    });
}

// T9
#[test]
fn deep_secrets_are_refused() {
    on_small_stack(async || {
        let agents = agents([&Probe::new("mail", ["send"])]);
        let refused = agents
            .add("alice", "mail")
            .secrets(member(deep()))
            .save()
            .await
            .expect_err("refused");
        assert!(
            matches!(refused.kind, AgentErrorKind::InvalidSecrets(_)),
            "{refused:?}"
        );
    });
}

// T9
#[test]
fn deep_settings_do_not_fit_a_form() {
    on_small_stack(async || {
        let agents = agents([&Probe::new("mail", ["send"])]);
        let form = agents.form("mail").expect("a form");
        let config = member(deep());
        assert!(form.check_config(&config).is_err() && form.read_config::<Value>(&config).is_err());
        // The caller's own value recurses when it is dropped.
        std::mem::forget(config);
    });
}
