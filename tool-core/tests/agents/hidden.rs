//! No secret, key or token of an agent is in an error, a `Debug` or the log.

use crate::support::{Plan, Probe, agents};
use crate::support_log::logged;
use serde_json::json;
use tracing::Level;

const CANARIES: [&str; 3] = ["canary-\"quoted\"", "canary p%20c", "canary-number-two"];

const PLANS: [Plan; 7] = [
    Plan::RefusesSettings,
    Plan::PanicsWhileConfigured,
    Plan::HangsWhileConfigured,
    Plan::DoesNotOpen,
    Plan::PanicsWhileOpened,
    Plan::HangsWhileOpened,
    Plan::DoesNotClose,
];

// Every way to fail quotes the whole of the secrets.
#[test]
fn whatever_a_toolset_says_of_its_secrets_nobody_reads_them() {
    for plan in PLANS {
        let mut shown = String::new();
        let lines = logged(Level::TRACE, async {
            let mail = Probe::new("mail", ["send"]).metadata_with(|metadata| {
                metadata
                    .configured_by::<(), std::collections::BTreeMap<String, tool_core::Secret>>()
            });
            mail.plan(plan);
            let agents = agents([&mail]);
            let secrets = json!({"a": CANARIES[0], "b": CANARIES[1], "c": CANARIES[2]});
            agents
                .add("alice", "mail")
                .secrets(secrets)
                .save()
                .await
                .expect("written");
            let alice = agents.executor("alice");
            let loaded = alice.load().await.expect("loaded");
            let ran = alice.run_tool_action("mail", "send", "{}").await;
            let records = agents.list("alice").await.expect("a list");
            shown = format!("{loaded:?} {ran:?} {agents:?} {alice:?} {records:?}");
            shown.extend(loaded.failures().iter().map(ToString::to_string));
            shown.push_str(&serde_json::to_string(&records.tools).expect("data"));
            drop(loaded);
            agents.close().await;
        });
        assert_eq!(
            plan == Plan::DoesNotClose,
            !shown.contains("failures: [AgentError"),
            "{plan:?}: {shown}"
        );
        let logged = format!("{lines:?}");
        assert!(logged.contains("alice"), "{plan:?} is in the log");
        for canary in ["canary", "quoted", "number-two"] {
            assert!(!shown.contains(canary), "{plan:?}: {shown}");
            assert!(!logged.contains(canary), "{plan:?}: {logged}");
        }
    }
}
