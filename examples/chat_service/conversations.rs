//! The conversations of all users.

use crate::chat_model::ChatModel;
use crate::tools::Restaurant;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tool_adapters::agent::AgentLoop;
use tool_core::session::{Message, StoreError};
use tool_core::{Mode, Policy, Runtime, ToolContext};

const INSTRUCTIONS: &str = "You are the host of a restaurant. Answer in one or two sentences.";

/// A user's agent. A second request of the user waits until the first has been answered.
pub(crate) type LockedAgent = OwnedMutexGuard<AgentLoop<ChatModel>>;

/// The conversations of all users. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Conversations {
    runtime: Runtime,
    agents: Arc<Mutex<HashMap<String, Arc<Mutex<AgentLoop<ChatModel>>>>>>,
}

impl Conversations {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let tools = ToolContext::builder().with(Restaurant::default()).build()?;
        let runtime = Runtime::builder(tools).policy(Policy::text()).build()?;
        Ok(Self {
            runtime,
            agents: Arc::default(),
        })
    }

    /// Returns the agent of a user, once no other request uses it.
    pub(crate) async fn agent(
        &self,
        user: &str,
    ) -> Result<LockedAgent, Box<dyn Error + Send + Sync>> {
        let mut agents = self.agents.lock().await;
        let agent = match agents.get(user) {
            Some(agent) => Arc::clone(agent),
            None => {
                let agent = Arc::new(Mutex::new(self.open(user).await?));
                agents.insert(user.to_owned(), Arc::clone(&agent));
                agent
            }
        };
        drop(agents);
        Ok(agent.lock_owned().await)
    }

    async fn open(&self, user: &str) -> Result<AgentLoop<ChatModel>, Box<dyn Error + Send + Sync>> {
        let session = self.runtime.session(format!("chat-{user}"), Mode::Text);
        let session = session.principal(format!("user:{user}")).await?;
        Ok(AgentLoop::new(session, ChatModel::from_env()).instructions(INSTRUCTIONS))
    }

    /// Returns the calls of a user that wait for a decision.
    pub(crate) async fn waiting(&self, user: &str) -> Result<Vec<Value>, StoreError> {
        let principal = format!("user:{user}");
        let waiting = self.runtime.waiting_calls().await?;
        let own = waiting
            .iter()
            .filter(|waiting| waiting.call.principal == principal);
        let shown = own.map(|waiting| {
            json!({
                "type": "approval_wanted",
                "callId": waiting.call.call_id,
                "token": waiting.token,
                "payload": waiting.call.payload(),
            })
        });
        Ok(shown.collect())
    }
}

/// Returns what a page shows of a conversation: the texts of the user and of the model.
pub(crate) fn shown(messages: &[Message]) -> Vec<Value> {
    let shown = messages.iter().filter_map(|message| match message {
        // The application's own notes are for the model.
        Message::User(said) if said.text().contains("[Note by the application") => None,
        Message::User(said) => Some(json!({"role": "user", "text": said.text()})),
        Message::Assistant { text, .. } => {
            let text = text.as_deref()?;
            Some(json!({"role": "assistant", "text": text}))
        }
        _ => None,
    });
    shown.collect()
}
