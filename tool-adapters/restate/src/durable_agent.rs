//! A conversation as a virtual object.

use crate::earlier_runs::EarlierRuns;
use crate::steps::{RUNNING, RunningFunction, with_steps};
use restate_sdk::prelude::{
    ContextClient, ContextReadState, HandlerError, HandlerResult, Json, ObjectContext,
    SharedObjectContext, TerminalError,
};
use std::sync::Arc;
use tool_adapters_models::agent::{AgentLoop, OpenAgentError};
use tool_adapters_models::engines::{DurableFunction, DurableReply};
use tool_core::session::{Decision, DurableSteps, Model};

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
#[derive(Debug)]
pub struct DurableAgent {
    function: DurableFunction,
    earlier: EarlierRuns,
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
        Self {
            function: DurableFunction::new(open),
            earlier: EarlierRuns::default(),
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
        let answer = |steps| self.function.reply(steps, conversation, message);
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
        let running = ctx.get::<Json<RunningFunction>>(RUNNING).await?;
        let Some(Json(running)) = running else {
            let message =
                "this conversation answers no message, so no call of it waits for a decision";
            return Err(TerminalError::new_with_code(404, message).into());
        };
        let name = Decision::signal_name(decision.token());
        let value = serde_json::to_string(&decision).map_err(HandlerError::from)?;
        ctx.invocation_handle(running.invocation)
            .signal(&name)
            .resolve(value);
        Ok(())
    }
}
