//! The parts that the packages of engines for durable execution share: the function that an engine runs for a message, and its
//! steps.
//!
//! You need this module for an engine that has no package. Implement [`DurableSteps`], run a [`DurableFunction`] with it, and
//! send decisions as signals with the name of [`Decision::signal_name`](tool_core::session::Decision::signal_name).

use crate::agent::{AgentLoop, OpenAgentError};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;
use tool_core::call::ErrorBody;
use tool_core::session::{DurableSteps, Model, Reply, ReplyFinish};

/// The function that an engine runs for a message: it opens the conversation, answers the message, and waits for persons where
/// calls need approval.
///
/// ```
/// use std::sync::Arc;
/// use tool_adapters_models::agent::AgentLoop;
/// use tool_adapters_models::engines::{DurableFunction, DurableReply};
/// use tool_core::session::{MemoryStore, PlainSteps};
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Arc::new(MemoryStore::new());
/// let tools = ToolContext::builder().build()?; // or `ToolContext::discover()?`
/// let runtime = Runtime::builder(tools).store(store.clone()).build()?;
/// let function = DurableFunction::new(move |steps, conversation| {
///     let runtime = runtime.clone();
///     let store = store.clone();
///     async move {
///         let id = conversation.clone();
///         let session = move || runtime.session(&*id, Mode::Text).principal("user:7");
///         AgentLoop::open_durable(steps, store, conversation, session, ScriptedModel::new().says("Hello")).await
///     }
/// });
/// let steps = Arc::new(PlainSteps::new()); // or those of your engine
/// let reply: DurableReply = function.reply(steps, "chat-42".to_owned(), "Hi".to_owned()).await?.into();
/// assert_eq!(reply.text.as_deref(), Some("Hello"));
/// # Ok(())
/// # }
/// ```
pub struct DurableFunction {
    reply: Box<ReplyFn>,
}

/// Opens a conversation and answers a message.
type ReplyFn = dyn Fn(Arc<dyn DurableSteps>, String, String) -> BoxFuture<'static, Result<Reply, OpenAgentError>>
    + Send
    + Sync;

impl fmt::Debug for DurableFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableFunction").finish_non_exhaustive()
    }
}

impl DurableFunction {
    /// Creates the function. `open` opens a conversation with [`AgentLoop::open_durable`]; it gets the steps and the id of the
    /// conversation.
    pub fn new<M, F, R>(open: F) -> Self
    where
        M: Model + 'static,
        F: Fn(Arc<dyn DurableSteps>, String) -> R + Send + Sync + 'static,
        R: Future<Output = Result<AgentLoop<M>, OpenAgentError>> + Send + 'static,
    {
        let reply = move |steps, conversation, message: String| {
            let opening = open(steps, conversation);
            let replying = async move {
                let mut agent = opening.await?;
                let reply = agent.prompt(message).await;
                Ok(agent.decided(reply).await)
            };
            Box::pin(replying) as BoxFuture<'static, Result<Reply, OpenAgentError>>
        };
        Self {
            reply: Box::new(reply),
        }
    }

    /// Answers a message of a conversation. An engine may drop the future and call this again, with the same arguments and with
    /// steps that answer from its log.
    ///
    /// # Errors
    ///
    /// The conversation could not be opened. The engine tries it again.
    pub fn reply(
        &self,
        steps: Arc<dyn DurableSteps>,
        conversation: String,
        message: String,
    ) -> BoxFuture<'static, Result<Reply, OpenAgentError>> {
        (self.reply)(steps, conversation, message)
    }
}

/// The reply to a message, as a user may read it and an engine records it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DurableReply {
    /// The last text of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The reason for which the reply ended.
    pub finish: ReplyFinish,
    /// The error of a reply that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

impl From<Reply> for DurableReply {
    fn from(reply: Reply) -> Self {
        Self {
            error: reply.error_for_user(),
            text: reply.text,
            finish: reply.finish,
        }
    }
}

/// The number of steps that run now, so that a function which is given up ends its steps first.
#[derive(Debug)]
pub struct RunningSteps(watch::Sender<usize>);

impl Default for RunningSteps {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl RunningSteps {
    /// Counts a step until the value is dropped.
    pub fn begin(&self) -> RunningStep<'_> {
        self.0.send_modify(|steps| *steps += 1);
        RunningStep(&self.0)
    }

    /// Waits until no step runs.
    pub async fn ended(&self) {
        // It fails if the sender is gone, which is this value.
        let _ = self.0.subscribe().wait_for(|steps| *steps == 0).await;
    }
}

/// A step that is running. See [`RunningSteps`].
#[derive(Debug)]
pub struct RunningStep<'a>(&'a watch::Sender<usize>);

impl Drop for RunningStep<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|steps| *steps -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn steps_have_ended_once_each_is_dropped() {
        let steps = RunningSteps::default();
        let first = steps.begin();
        let second = steps.begin();
        drop(first);
        let soon = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, steps.ended()).await.is_err());
        drop(second);
        steps.ended().await;
    }
}
