//! Changes of agents that a store tells, and agents that follow them.

use crate::server::Schema;
use std::time::Duration;
use tokio::time::timeout;
use tool_core::agents::{AgentStoreError, AgentToolStore, Agents, Precondition, RecordWrite};
use tool_core::serde_json::json;
use tool_core::session::StoreChange;

const SOON: Duration = Duration::from_secs(20);

fn of(agent: &str) -> StoreChange {
    StoreChange::Agent {
        agent: agent.into(),
    }
}

/// A record that no toolset has to be there for.
fn record(agent: &str) -> RecordWrite {
    let mut write = RecordWrite::new(agent, "email", json!({}));
    write.enabled = false;
    write
}

#[tokio::test]
async fn agents_changed_by_a_process_or_by_hand_are_told() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let reader = schema.store().await;
    let mut changes = reader.changes();
    let mut next = async || {
        let change = timeout(SOON, changes.next()).await;
        change.expect("in time").expect("it is open")
    };
    assert_eq!(next().await, StoreChange::Unknown, "at first");
    assert_eq!(next().await, StoreChange::Unknown, "it listens");

    let writer = schema.store().await;
    for agent in ["alice", "bob"] {
        writer.write(&record(agent)).await.expect("written");
        assert_eq!(next().await, of(agent));
    }
    let by_hand = format!(
        "SET search_path = public; UPDATE {0}.tool_agent_records SET enabled = true WHERE agent_id = 'bob'",
        schema.name()
    );
    schema.by_hand(&by_hand).await.expect("changed");
    assert_eq!(next().await, of("bob"));
    writer.remove("alice", "email", 1).await.expect("removed");
    assert_eq!(next().await, of("alice"));
    schema
        .by_hand("TRUNCATE tool_agent_records")
        .await
        .expect("truncated");
    let mut both = [next().await, next().await];
    both.sort_by_key(|change| format!("{change:?}"));
    assert_eq!(both, [of("alice"), of("bob")]);
}

#[tokio::test]
async fn agents_that_follow_a_store_are_not_outdated() -> Result<(), AgentStoreError> {
    let Some(schema) = Schema::on_server().await else {
        return Ok(());
    };
    let reader = schema.store().await;
    let agents = Agents::builder(reader.clone())
        .recheck_after(Duration::from_secs(3_600))
        .build()
        .expect("sound");
    tokio::spawn(agents.follow(reader.changes()));
    let writer = schema.store().await;
    let mut write = record("alice");
    for version in 1..=3 {
        assert_eq!(writer.write(&write).await?, version);
        write.expected = Precondition::Version(version);
        let is_loaded = async {
            while agents
                .executor("alice")
                .load()
                .await
                .expect("loads")
                .version()
                != version
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, is_loaded).await.expect("the change is told");
    }
    Ok(())
}
