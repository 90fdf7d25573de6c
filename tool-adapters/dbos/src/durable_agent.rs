//! A message as a workflow.

use crate::retries::Retries;
use crate::steps::with_steps;
use dbos::{DBOS, Error, QueueConflict, QueueOptions};
use std::sync::Arc;
use std::time::Duration;
use tool_adapters_models::agent::{AgentLoop, OpenAgentError};
use tool_adapters_models::engines::{DurableFunction, DurableReply};
use tool_core::session::{DurableSteps, Model};

/// The name of the workflow that answers a message.
pub(crate) const WORKFLOW: &str = "DurableAgent";
/// The time between two looks for messages. A worker looks less often while others look at the same moment.
const POLLING: Duration = Duration::from_millis(200);

/// Returns the queue of the messages of an application. Two applications in one database have two queues.
pub(crate) fn queue_of(app: &str) -> String {
    format!("{app}-conversations")
}

/// The agent of conversations that DBOS runs: each message is a workflow. A queue with a partition for each conversation
/// starts them, so that one message of a conversation is answered at a time.
///
/// Other processes send messages and decisions with [`Conversations`](crate::Conversations).
///
/// ```
/// use tool_adapters::agent::AgentLoop;
/// use tool_adapters::dbos::DurableAgent;
/// use tool_adapters::dbos::sdk::{Config, DBOS};
/// use tool_adapters::stores::PostgresStore;
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolContext};
///
/// async fn serve(url: &str, key: [u8; 32]) -> Result<DBOS, Box<dyn std::error::Error>> {
///     let store = PostgresStore::connect(url).await?;
///     let runtime = Runtime::builder(ToolContext::discover()?)
///         .store(store.clone())
///         .journal(store.journal())
///         .signing_key(key)
///         .build()?;
///     let agent = DurableAgent::new(move |steps, conversation: String| {
///         let runtime = runtime.clone();
///         let store = store.clone();
///         async move {
///             let id = conversation.clone();
///             let session = move || runtime.session(&*id, Mode::Text).principal("user:7");
///             // A real model is `HttpModel::new(Provider::Anthropic, "claude-sonnet-5")`.
///             AgentLoop::open_durable(steps, store, conversation, session, ScriptedModel::new().says("Hello")).await
///         }
///     });
///     let engine = DBOS::new(Config {
///         // A version is one of this application: another one in the same database has other names.
///         app_version: Some("concierge-1".to_owned()),
///         // The same each time that this worker starts, and another one in each worker.
///         executor_id: Some("worker-1".to_owned()),
///         ..Config::new("concierge", url)
///     });
///     agent.launch(&engine).await?;
///     Ok(engine)
/// }
/// # let _ = serve;
/// ```
#[derive(Debug)]
pub struct DurableAgent {
    function: DurableFunction,
}

impl DurableAgent {
    /// Creates the agent. `open` opens a conversation with [`AgentLoop::open_durable`]; it gets the steps and the id of the
    /// conversation.
    ///
    /// If `open` fails, the message is tried again.
    pub fn new<M, F, R>(open: F) -> Self
    where
        M: Model + 'static,
        F: Fn(Arc<dyn DurableSteps>, String) -> R + Send + Sync + 'static,
        R: Future<Output = Result<AgentLoop<M>, OpenAgentError>> + Send + 'static,
    {
        Self {
            function: DurableFunction::new(open),
        }
    }

    /// Launches an instance of DBOS that answers messages, until it is shut down. It takes up what the worker with the same
    /// `executor_id` and `app_version` has left. Register workflows of your own before.
    ///
    /// # Errors
    ///
    /// The configuration cannot be used, the instance was launched already, or the database does not answer.
    pub async fn launch(self, engine: &DBOS) -> dbos::Result<()> {
        let config = engine.config();
        let queue = queue_of(&config.app_name);
        let retries = Retries::new(config);
        let function = Arc::new(self.function);
        engine.register_workflow(WORKFLOW, move |message: UserMessage| {
            answer(Arc::clone(&function), retries.clone(), message)
        })?;
        engine.launch().await?;
        let options = QueueOptions {
            partition_concurrency: Some(1),
            polling_interval: POLLING,
            ..Default::default()
        };
        engine
            .register_queue(&queue, options, QueueConflict::NeverUpdate)
            .await?;
        Ok(())
    }
}

/// Answers a message in its workflow.
async fn answer(
    function: Arc<DurableFunction>,
    retries: Retries,
    message: UserMessage,
) -> dbos::Result<DurableReply> {
    let UserMessage { conversation, text } = message;
    let reply = |steps| async move {
        let reply = function.reply(steps, conversation, text).await;
        reply
            .map(DurableReply::from)
            .map_err(|error| not_opened(&error))
    };
    with_steps(&retries, reply).await
}

/// Returns the error with which the workflow runs again.
fn not_opened(error: &OpenAgentError) -> Error {
    tracing::warn!(%error, "a conversation does not open, and DBOS runs the workflow again");
    Error::Interrupted {
        workflow_id: dbos::workflow_id().unwrap_or_default(),
    }
}

/// The argument of the workflow of a message.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct UserMessage {
    pub(crate) conversation: String,
    pub(crate) text: String,
}
