//! Conversations as other processes see them.

use crate::DurableReply;
use crate::durable_agent::{UserMessage, WORKFLOW, queue_of};
use crate::retries::put_back;
use dbos::sysdb::types::{WorkflowFilter, WorkflowStatus};
use dbos::{Client, ClientConfig, Enqueue, EnqueueOptions, Error, SendOptions};
use std::fmt;
use tool_core::session::Decision;

/// The conversations of a [`DurableAgent`](crate::DurableAgent), from any process: it sends messages and decisions, and waits
/// for replies. It needs the database, and none of the agent's tools.
///
/// A clone shares the connection.
///
/// ```
/// use tool_adapters::agent::Decision;
/// use tool_adapters::dbos::Conversations;
/// use tool_adapters::dbos::sdk::{self as dbos, ClientConfig};
///
/// async fn ask(url: String) -> dbos::Result<()> {
///     let config = ClientConfig { app_name: Some("concierge".to_owned()), ..ClientConfig::new(url) };
///     let conversations = Conversations::connect(config).await?;
///
///     conversations.send("chat-42", "message-1", "Cancel my booking 12").await?;
///     let reply = conversations.reply("chat-42", "message-1").await?;
///     println!("{}", reply.text.unwrap_or_default());
///     Ok(())
/// }
///
/// /// In another process, perhaps days later, while `reply` waits.
/// async fn approve(conversations: &Conversations, conversation: &str, token: &str) -> dbos::Result<()> {
///     conversations.decide(conversation, &Decision::approve(token).by("staff:eve")).await
/// }
/// # let _ = (ask, approve);
/// ```
#[derive(Clone)]
pub struct Conversations {
    client: Client,
    app: String,
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations")
            .field("app", &self.app)
            .finish_non_exhaustive()
    }
}

impl Conversations {
    /// Connects to the database of the agent. The `app_name` and the schema are those of the agent's instance, which has
    /// created the tables.
    ///
    /// # Errors
    ///
    /// The configuration has no `app_name`, the database does not answer, or it has no tables of DBOS.
    pub async fn connect(config: ClientConfig) -> dbos::Result<Self> {
        let Some(app) = config.app_name.clone() else {
            let message = "set `app_name` to that of the agent's instance";
            return Err(Error::Config(message.to_owned()));
        };
        let client = Client::connect(config).await?;
        Ok(Self { client, app })
    }

    /// Sends a message to a conversation. It is answered after those that were sent earlier, by any worker.
    ///
    /// `id` is the message's id in its conversation. A message that is sent again with the same id is not answered again, so you
    /// can repeat a request whose outcome you do not know.
    ///
    /// # Errors
    ///
    /// The database does not answer.
    pub async fn send(&self, conversation: &str, id: &str, text: &str) -> dbos::Result<()> {
        let queue = queue_of(&self.app);
        let workflow = self.workflow_id(conversation, id);
        let options = EnqueueOptions {
            workflow_id: Some(&workflow),
            ..EnqueueOptions::on(Enqueue {
                partition_key: Some(conversation),
                ..Enqueue::new(&queue)
            })
        };
        let message = UserMessage {
            conversation: conversation.to_owned(),
            text: text.to_owned(),
        };
        self.client
            .enqueue_with::<_, DurableReply, dbos::EngineOnly>(WORKFLOW, message, options)
            .await?;
        Ok(())
    }

    /// Waits for the reply to a message, which may take days. You can drop the future, and ask again later, from any process.
    ///
    /// # Errors
    ///
    /// The message was cancelled, or the database does not answer.
    pub async fn reply(&self, conversation: &str, id: &str) -> dbos::Result<DurableReply> {
        let workflow = self.workflow_id(conversation, id);
        let handle = self
            .client
            .retrieve_workflow::<_, dbos::EngineOnly>(&workflow);
        handle.result().await
    }

    /// Takes a person's decision to the call that waits for it. A decision without the token of the call does nothing.
    ///
    /// # Errors
    ///
    /// The conversation answers no message now, or the database does not answer.
    pub async fn decide(&self, conversation: &str, decision: &Decision) -> dbos::Result<()> {
        let Some(workflow) = self.answering(conversation).await? else {
            return Err(Error::InvalidArgument {
                operation: "decide".into(),
                detail:
                    "this conversation answers no message, so no call of it waits for a decision"
                        .to_owned(),
            });
        };
        let topic = Decision::signal_name(decision.token());
        let value = serde_json::to_string(decision).map_err(|error| Error::InvalidArgument {
            operation: "decide".into(),
            detail: error.to_string(),
        })?;
        let options = SendOptions {
            topic: Some(&topic),
            ..Default::default()
        };
        self.client.send_with(&workflow, &value, options).await
    }

    /// Gives the messages that a worker has left to the other workers, and returns how many there were. Call it once the worker
    /// is gone for good, with the `executor_id` of its instance: a worker that starts again with the same id takes its own
    /// messages.
    ///
    /// Never call it for a worker that lives, which would answer the message a second time at once.
    ///
    /// # Errors
    ///
    /// The database does not answer.
    pub async fn take_over(&self, executor_id: &str) -> dbos::Result<usize> {
        let queue = queue_of(&self.app);
        let left = WorkflowFilter {
            executor_ids: vec![executor_id],
            queue_names: vec![&queue],
            ..Default::default()
        };
        Ok(put_back(&self.client, left).await?.len())
    }

    /// Returns the workflow of the message that is answered now, which is the oldest one that has no reply.
    async fn answering(&self, conversation: &str) -> dbos::Result<Option<String>> {
        let prefix = self.workflow_id(conversation, "");
        let open = WorkflowFilter {
            workflow_id_prefixes: vec![&prefix],
            status: vec![WorkflowStatus::Pending, WorkflowStatus::Enqueued],
            limit: Some(1),
            load_input: false,
            load_output: false,
            ..Default::default()
        };
        let found = self.client.list_workflows(&open).await?;
        Ok(found
            .into_iter()
            .next()
            .map(|workflow| workflow.workflow_id))
    }

    /// Returns the id of the workflow of a message. With the length, no two conversations share the beginning of an id.
    fn workflow_id(&self, conversation: &str, id: &str) -> String {
        let length = conversation.len();
        format!("{}/{length}:{conversation}/{id}", self.app)
    }
}
