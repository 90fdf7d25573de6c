//! What the workers have in common, whatever the engine: the bank, its model, and the person.

use crate::bank::{Bank, Clerk};
use crate::engine::Failure;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tool_adapters::agent::{AgentLoop, Decision, OpenAgentError};
use tool_core::session::{DurableSteps, DynHistoryStore, RuntimeBuilder, SessionStore};
use tool_core::{Mode, Runtime, ToolContext};

/// The lease of the journal. It is short, so that a killed worker is known to be gone after a second.
pub(crate) const LEASE: Duration = Duration::from_secs(1);

/// Returns the user to whom a conversation belongs. A real program takes them from the id too, or from a table.
fn user_of(conversation: &str) -> String {
    format!("user of {conversation}")
}

/// Begins the runtime of a process. All processes share the store, the journal and the key.
pub(crate) fn runtime(folder: &Path, store: impl SessionStore) -> Result<RuntimeBuilder, Failure> {
    let bank = Bank {
        folder: folder.to_owned(),
    };
    let tools = ToolContext::builder().with(bank).build()?;
    // A real key is 32 random bytes, the same in all processes.
    Ok(Runtime::builder(tools).store(store).signing_key([7; 32]))
}

/// Opens a conversation in a function that an engine runs.
pub(crate) async fn open(
    folder: &Path,
    runtime: Runtime,
    store: impl DynHistoryStore + 'static,
    steps: Arc<dyn DurableSteps>,
    conversation: String,
) -> Result<AgentLoop<Clerk>, OpenAgentError> {
    let model = Clerk {
        folder: folder.to_owned(),
    };
    let id = conversation.clone();
    let session = move || runtime.session(&*id, Mode::Text).principal(user_of(&id));
    AgentLoop::open_durable(steps, store, conversation, session, model).await
}

/// Waits until a call of a conversation waits for a person, and returns the decision of that person.
pub(crate) async fn approval(runtime: &Runtime, conversation: &str) -> Result<Decision, Failure> {
    let user = user_of(conversation);
    loop {
        let page = runtime.pending_approvals(&user, None, 1).await?;
        if let Some(waiting) = page.calls.into_iter().next() {
            return Ok(Decision::approve(waiting.token).by("staff:eve"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
