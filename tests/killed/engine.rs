//! What a trial needs of an engine for durable execution.

use crate::places::SharedStore;
use crate::script::Script;
use crate::setting::Setting;
use crate::worker::{OPENS, say};
use futures_util::future::BoxFuture;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use tool_adapters::agent::{AgentLoop, Decision, OpenAgentError};
use tool_core::session::DurableSteps;

pub type Failure = Box<dyn Error + Send + Sync>;

/// A running engine, whose worker is a process of its own.
pub trait TestedEngine: Sized + 'static {
    /// The name of the engine, by which the other process knows it.
    const NAME: &'static str;

    /// Starts the engine. Skips the test if it is not there.
    async fn start(folder: &Path) -> Option<Self>;

    /// Returns where the worker finds the engine, or the engine its worker.
    fn place(&self) -> &str;

    /// Waits until a worker that was started takes messages, and makes it known to the engine.
    async fn worker_serves(&self) -> Result<(), Failure>;

    /// Sends a message. The future waits for its reply.
    fn message(
        &self,
        conversation: &str,
        turn: usize,
        text: &str,
    ) -> impl Future<Output = Result<(), Failure>> + Send + use<Self>;

    /// Takes the decision of a person to a conversation.
    async fn decide(&self, conversation: &str, decision: &Decision) -> Result<(), Failure>;

    /// Serves the conversations of a worker until it is killed.
    async fn serve(place: &str, setting: Setting, store: impl SharedStore) -> Result<(), Failure>;
}

/// Opens a conversation in a function that an engine runs.
type Opening = BoxFuture<'static, Result<AgentLoop<Script>, OpenAgentError>>;

/// Returns what opens the conversation of a worker.
pub fn opening<S: SharedStore>(
    setting: Setting,
    store: S,
) -> impl Fn(Arc<dyn DurableSteps>, String) -> Opening + Send + Sync + 'static {
    let runtime = setting.runtime(store.clone());
    move |steps, conversation| {
        let setting = setting.clone();
        let runtime = runtime.clone();
        let store = store.clone();
        Box::pin(async move {
            assert_eq!(conversation, setting.id, "the worker has one conversation");
            say(OPENS);
            let session = move || setting.session(&runtime);
            AgentLoop::open_durable(steps, store, conversation, session, Script).await
        })
    }
}
