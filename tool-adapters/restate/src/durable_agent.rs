//! A conversation as a virtual object.

use crate::earlier_runs::EarlierRuns;
use crate::steps::{WAITING, WaitingSignal, with_steps};
use futures_util::future::BoxFuture;
use restate_sdk::prelude::{
    ContextClient, ContextReadState, HandlerError, HandlerResult, Json, ObjectContext,
    SharedObjectContext, TerminalError,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use tool_adapters_models::agent::{AgentLoop, OpenAgentError};
use tool_core::call::ErrorBody;
use tool_core::session::{Decision, DurableSteps, Model, Reply, ReplyFinish};

/// The agent of conversations that Restate runs: a virtual object whose key is the conversation, so that one message of a
/// conversation is answered at a time.
///
/// | handler | what it does |
/// |---|---|
/// | `message` | answers a message, and waits for persons where calls need approval. Its input is a text |
/// | `decide` | takes a person's [`Decision`] to the conversation. It can be called while `message` waits |
///
/// Restate calls it `DurableAgent`, unless you bind it with another name in its
/// [`ServiceOptions`](restate_sdk::prelude::ServiceOptions).
///
/// ```
/// use tool_adapters::agent::AgentLoop;
/// use tool_adapters::restate::DurableAgent;
/// use tool_adapters::restate::sdk::prelude::{Endpoint, HttpServer};
/// use tool_adapters::stores::SqliteStore;
/// use tool_core::testing::ScriptedModel;
/// use tool_core::{Mode, Runtime, ToolContext};
///
/// async fn serve(key: [u8; 32]) -> Result<(), Box<dyn std::error::Error>> {
///     let store = SqliteStore::open("concierge.db").await?;
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
///     let server = HttpServer::new(Endpoint::builder().bind(agent).build());
///     server.listen_and_serve("127.0.0.1:9080".parse()?).await;
///     Ok(())
/// }
/// ```
pub struct DurableAgent {
    reply: Box<ReplyFn>,
    earlier: EarlierRuns,
}

/// Opens a conversation and answers a message.
type ReplyFn = dyn Fn(Arc<dyn DurableSteps>, String, String) -> BoxFuture<'static, Result<Reply, OpenAgentError>>
    + Send
    + Sync;

impl fmt::Debug for DurableAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableAgent").finish_non_exhaustive()
    }
}

impl DurableAgent {
    /// Creates the object. `open` opens a conversation with [`AgentLoop::open_durable`]; it gets the steps and the key of the
    /// object.
    ///
    /// If `open` fails, Restate tries it again.
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
            earlier: EarlierRuns::default(),
        }
    }
}

/// The answer of the handler `message`: the reply as a user may read it.
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

#[restate_sdk::object]
impl DurableAgent {
    /// Answers a message of the user.
    #[handler]
    async fn message(
        &self,
        ctx: ObjectContext<'_>,
        message: String,
    ) -> HandlerResult<Json<DurableReply>> {
        let conversation = ctx.key().to_owned();
        let answer = |steps| (self.reply)(steps, conversation, message);
        let reply = with_steps(&ctx, &self.earlier, answer).await?;
        Ok(Json(reply.into()))
    }

    /// Takes the decision of a person to the conversation.
    #[handler]
    async fn decide(
        &self,
        ctx: SharedObjectContext<'_>,
        decision: Json<Decision>,
    ) -> HandlerResult<()> {
        let Json(decision) = decision;
        let waiting = ctx.get::<Json<WaitingSignal>>(WAITING).await?;
        let Some(Json(waiting)) = waiting else {
            let message =
                "this conversation answers no message, so no call of it waits for a decision";
            return Err(TerminalError::new_with_code(404, message).into());
        };
        let name = signal_for(&decision, &waiting);
        let value = serde_json::to_string(&decision).map_err(HandlerError::from)?;
        ctx.invocation_handle(waiting.invocation)
            .signal(&name)
            .resolve(value);
        Ok(())
    }
}

/// Returns the name of the signal that takes a decision to its call. A call that waits on after a wrong decision waits for a
/// further signal; the others of a step wait for their first.
fn signal_for(decision: &Decision, waiting: &WaitingSignal) -> String {
    let name = Decision::signal_name(decision.token());
    if waiting.signal.starts_with(&name) {
        waiting.signal.clone()
    } else {
        name
    }
}
