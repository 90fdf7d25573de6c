//! The conversations of all users.

use crate::chat_model::ChatModel;
use crate::tools::Restaurant;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};
use tool_adapters::agent::{AgentLoop, OpenAgentError};
use tool_adapters::stores::SqliteStore;
use tool_core::session::{Message, StoreError, is_note};
use tool_core::{ErrorKind, Mode, Policy, Runtime, ToolContext};

const INSTRUCTIONS: &str = "You are the host of a restaurant. Answer in one or two sentences.";

/// The time for which a request waits for a conversation to open, and the pause between two attempts.
const OPEN_LIMIT: Duration = Duration::from_secs(15);
const OPEN_PAUSE: Duration = Duration::from_millis(500);

type Failure = Box<dyn Error + Send + Sync>;
pub(crate) type Agent = AgentLoop<ChatModel>;
/// The agent of a user, once its conversation is open.
type OpenedAgent = Arc<OnceCell<Arc<Mutex<Agent>>>>;

/// The conversations of all users. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Conversations {
    runtime: Runtime,
    store: SqliteStore,
    /// The conversations that this process has opened. A service of many users drops those that are not used.
    agents: Arc<StdMutex<HashMap<String, OpenedAgent>>>,
}

impl Conversations {
    /// Opens the store that the environment names, and otherwise one in memory.
    pub(crate) async fn from_env() -> Result<Self, Failure> {
        let store = match env::var_os("CHAT_DB") {
            Some(file) => SqliteStore::open(file).await?,
            None => SqliteStore::open_in_memory().await?,
        };
        let tools = ToolContext::builder().with(Restaurant::default()).build()?;
        let mut runtime = Runtime::builder(tools)
            .policy(Policy::text())
            .journal(store.journal())
            .store(store.clone());
        // An approval waits for a process with the same key, and the journal's records are signed with it.
        if let Ok(key) = env::var("CHAT_SIGNING_KEY") {
            let key = <[u8; 32]>::try_from(key.as_bytes());
            runtime = runtime.signing_key(key.map_err(|_| "CHAT_SIGNING_KEY needs 32 bytes")?);
        }
        Ok(Self {
            runtime: runtime.build()?,
            store,
            agents: Arc::default(),
        })
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Returns the agent of a user, once no other request of the user uses it.
    pub(crate) async fn agent(&self, user: &str) -> Result<OwnedMutexGuard<Agent>, Failure> {
        loop {
            // The map is not locked while a conversation opens, so that other users do not wait for it.
            let opened = Arc::clone(self.agents().entry(user.to_owned()).or_default());
            let opening = || async { self.open(user).await.map(Mutex::new).map(Arc::new) };
            let agent = Arc::clone(opened.get_or_try_init(opening).await?);
            let locked = Arc::clone(&agent).lock_owned().await;
            // The reply before this one may have failed, so that the conversation has to be opened again.
            if self.has(user, &agent) {
                return Ok(locked);
            }
        }
    }

    /// Returns true if this is the agent of a user now.
    fn has(&self, user: &str, agent: &Arc<Mutex<Agent>>) -> bool {
        let agents = self.agents();
        let known = agents.get(user).and_then(|opened| opened.get());
        known.is_some_and(|known| Arc::ptr_eq(known, agent))
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<String, OpenedAgent>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the error of a reply. If another process goes on with the conversation, or the store does not take what was
    /// said, the next request opens the conversation again. Meanwhile another request may have done so.
    pub(crate) fn note_error(&self, user: &str, kind: &str, agent: &Arc<Mutex<Agent>>) {
        let kinds = [ErrorKind::Conflict, ErrorKind::Permanent];
        let is_lost = kinds.iter().any(|known| known.as_str() == kind);
        if is_lost && self.has(user, agent) {
            self.agents().remove(user);
        }
    }

    /// Opens the conversation of a user where it was left, perhaps by another process. A process that was killed in a call
    /// counts as running it for some seconds, for which the user waits.
    async fn open(&self, user: &str) -> Result<Agent, Failure> {
        let limit = Instant::now() + OPEN_LIMIT;
        loop {
            match self.open_once(user).await {
                Err(OpenAgentError::Running(_)) if Instant::now() < limit => {
                    tokio::time::sleep(OPEN_PAUSE).await;
                }
                Err(error) => return Err(error.into()),
                Ok(agent) => return Ok(agent),
            }
        }
    }

    async fn open_once(&self, user: &str) -> Result<Agent, OpenAgentError> {
        let runtime = self.runtime.clone();
        let id = format!("chat-{user}");
        let principal = principal(user);
        let session_id = id.clone();
        let session = move || {
            let session = runtime.session(session_id.clone(), Mode::Text);
            session.principal(principal.clone())
        };
        let agent = AgentLoop::open(self.store.clone(), id, session, ChatModel::from_env()).await?;
        Ok(agent.instructions(INSTRUCTIONS))
    }

    /// Returns the calls of a user that wait for a decision, also those from before a restart.
    pub(crate) async fn waiting(&self, user: &str) -> Result<Vec<Value>, StoreError> {
        // A user has one conversation here, whose calls fit on a page.
        let page = self
            .runtime
            .pending_approvals(&principal(user), None, 100)
            .await?;
        let shown = page.calls.iter().map(|waiting| {
            json!({
                "type": "approval_wanted",
                "callId": waiting.call.call_id,
                "token": waiting.token,
                "tool": waiting.call.tool,
                "payload": waiting.call.payload(),
                "arguments": waiting.call.argument_lines(),
                "reasons": waiting.call.reasons,
            })
        });
        Ok(shown.collect())
    }
}

fn principal(user: &str) -> String {
    format!("user:{user}")
}

/// Returns the texts of a conversation that its page shows.
pub(crate) fn shown(messages: &[Message]) -> Vec<Value> {
    let shown = messages.iter().filter_map(|message| match message {
        // The application's own notes are for the model.
        Message::User(said) if is_note(&said.text()) => None,
        Message::User(said) => Some(json!({"role": "user", "text": said.text()})),
        Message::Assistant { text, .. } => {
            let text = text.as_deref()?;
            Some(json!({"role": "assistant", "text": text}))
        }
        _ => None,
    });
    shown.collect()
}
