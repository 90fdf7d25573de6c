//! Changes that a store reports.

use crate::agents::builder::Agents;
use crate::agents::memory::MemoryAgentToolStore;
use crate::agents::store::{AgentToolStore, RecordWrite};
use crate::session::{StoreChange, StoreChanges};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{Sender, channel};

/// Agents that ask the store once an hour, and the changes that it reports.
struct FollowedAgents {
    store: Arc<MemoryAgentToolStore>,
    agents: Agents,
    told: Sender<StoreChange>,
}

impl FollowedAgents {
    /// Adds a record to the agents `alice` and `bob`, loads both, and changes both records.
    async fn with_changed_records() -> Self {
        let store = Arc::new(MemoryAgentToolStore::new());
        let agents = Agents::builder(Arc::clone(&store))
            .recheck_after(Duration::from_secs(3_600))
            .build()
            .expect("sound");
        let (told, receiver) = channel(100);
        tokio::spawn(agents.follow(StoreChanges::new(receiver)));
        let followed = Self {
            store,
            agents,
            told,
        };
        followed.settle().await;
        for tool in ["calendar", "email"] {
            for agent in ["alice", "bob"] {
                let mut write = RecordWrite::new(agent, tool, json!({}));
                // No toolset is linked in, and one that is missing would be tried again.
                write.enabled = false;
                followed.store.write(&write).await.expect("written");
                followed.version(agent).await;
            }
        }
        assert_eq!(followed.versions().await, [1, 1], "within the hour");
        followed
    }

    async fn version(&self, agent: &str) -> u64 {
        let loaded = self.agents.executor(agent).load().await;
        loaded.expect("loads").version()
    }

    async fn versions(&self) -> [u64; 2] {
        [self.version("alice").await, self.version("bob").await]
    }

    async fn tell(&self, change: StoreChange) {
        self.told.send(change).expect("it is followed");
        self.settle().await;
    }

    /// Lets the task that follows run.
    async fn settle(&self) {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_changed_agent_that_is_followed_is_loaded_again() {
    let followed = FollowedAgents::with_changed_records().await;
    let agent = "alice".to_owned();
    followed.tell(StoreChange::Agent { agent }).await;
    assert_eq!(followed.versions().await, [2, 1]);
}

#[tokio::test]
async fn missed_changes_let_every_agent_ask_again() {
    let followed = FollowedAgents::with_changed_records().await;
    followed.tell(StoreChange::Unknown).await;
    assert_eq!(followed.versions().await, [2, 2]);
}

#[tokio::test]
async fn following_ends_with_the_last_handle() {
    let FollowedAgents { agents, told, .. } = FollowedAgents::with_changed_records().await;
    drop(agents);
    told.send(StoreChange::Unknown).expect("it is followed");
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(told.receiver_count(), 0);
}
