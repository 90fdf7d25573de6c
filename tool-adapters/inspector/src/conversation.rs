//! Conversations of the page with a model: the host's, or a script.

use crate::sessions::PageSession;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::Mutex;
use tool_core::session::{History, Message, Model, ModelInfo, ModelRequest, ModelStep, Reply};
use tool_core::trace::{SpanHandle, SpanKind, TokenUsage};
use tool_core::{ToolCall, ToolError};

/// The messages of a conversation that the page shows.
const MAX_MESSAGES: usize = 200;

/// A model of any type.
trait DynModel: Send {
    fn step<'a>(
        &'a mut self,
        request: ModelRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<ModelStep, ToolError>> + Send + 'a>>;

    fn prepare<'a>(
        &'a mut self,
        history: &'a mut History,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

    fn take_failed_usage(&mut self) -> TokenUsage;

    fn has_shown_output(&self) -> bool;

    fn about(&self) -> ModelInfo;
}

impl<M: Model> DynModel for M {
    fn step<'a>(
        &'a mut self,
        request: ModelRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<ModelStep, ToolError>> + Send + 'a>> {
        Box::pin(Model::step(self, request))
    }

    fn prepare<'a>(
        &'a mut self,
        history: &'a mut History,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(Model::prepare(self, history))
    }

    fn take_failed_usage(&mut self) -> TokenUsage {
        Model::take_failed_usage(self)
    }

    fn has_shown_output(&self) -> bool {
        Model::has_shown_output(self)
    }

    fn about(&self) -> ModelInfo {
        Model::about(self)
    }
}

struct BoxedModel(Box<dyn DynModel>);

impl Model for BoxedModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.0.step(request).await
    }

    async fn prepare(&mut self, history: &mut History) {
        self.0.prepare(history).await;
    }

    fn take_failed_usage(&mut self) -> TokenUsage {
        self.0.take_failed_usage()
    }

    fn has_shown_output(&self) -> bool {
        self.0.has_shown_output()
    }

    fn about(&self) -> ModelInfo {
        self.0.about()
    }
}

/// The host's model, which answers one message after another.
#[derive(Clone)]
pub(crate) struct SharedModel {
    model: Arc<Mutex<BoxedModel>>,
    pub(crate) name: String,
}

impl SharedModel {
    pub(crate) fn new(model: impl Model + 'static) -> Self {
        let name = Model::about(&model).model.into_owned();
        Self {
            model: Arc::new(Mutex::new(BoxedModel(Box::new(model)))),
            name,
        }
    }
}

/// A message of the page to a model.
#[derive(Deserialize)]
pub(crate) struct SayRequest {
    text: String,
    /// The steps of a model that follows a script. Without them the host's model answers.
    script: Option<Vec<ScriptStep>>,
}

/// A step of a script: a text, calls, or both.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptStep {
    says: Option<String>,
    #[serde(default)]
    calls: Vec<ScriptCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    name: String,
    arguments: Box<RawValue>,
}

/// A model that plays a script.
struct Script(VecDeque<ModelStep>);

impl Script {
    fn new(steps: Vec<ScriptStep>) -> Self {
        Self(steps.into_iter().map(ModelStep::from).collect())
    }
}

impl From<ScriptStep> for ModelStep {
    fn from(step: ScriptStep) -> Self {
        // An empty id is replaced by a new one.
        let calls = step
            .calls
            .into_iter()
            .map(|call| ToolCall::new("", call.name, call.arguments.get()));
        Self {
            text: step.says,
            ..Self::calls(calls)
        }
    }
}

impl Model for Script {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.0.pop_front().ok_or_else(|| {
            ToolError::permanent("expected another step of the script, got its end; add one")
        })
    }

    fn about(&self) -> ModelInfo {
        ModelInfo {
            model: "script".into(),
            provider: None,
        }
    }
}

/// Lets the model of a request reply, in one trace: the spans of its model and of its tools are
/// inside of one span. Returns `None` if the request has no script and the host gave no model.
pub(crate) async fn say(
    open: &PageSession,
    model: Option<&SharedModel>,
    request: SayRequest,
) -> Option<Reply> {
    let mut history = open.history.lock().await;
    let SayRequest { text, script } = request;
    if let Some(steps) = script {
        return Some(reply(open, &mut Script::new(steps), &mut history, text).await);
    }
    let mut model = model?.model.lock().await;
    Some(reply(open, &mut *model, &mut history, text).await)
}

async fn reply<M: Model>(
    open: &PageSession,
    model: &mut M,
    history: &mut History,
    text: String,
) -> Reply {
    let span = SpanHandle::open(SpanKind::Agent, "conversation");
    span.attribute("gen_ai.conversation.id", open.session.id().as_str());
    let reply = span.inside(open.session.reply(model, history, text)).await;
    match &reply.error {
        Some(error) => span.fail_with(error),
        None => span.end(),
    }
    reply
}

/// Returns the end of a conversation.
pub(crate) fn messages_json(history: &History) -> Value {
    let messages = history.messages();
    let newest = &messages[messages.len().saturating_sub(MAX_MESSAGES)..];
    newest.iter().map(message_json).collect::<Vec<_>>().into()
}

fn message_json(message: &Message) -> Value {
    match message {
        Message::User(said) => json!({"from": "user", "text": said.text()}),
        Message::Assistant { text, calls, .. } => {
            let call = |call: &ToolCall| json!({"id": call.id(), "name": call.name(), "arguments": call.arguments()});
            json!({"from": "model", "text": text, "calls": calls.iter().map(call).collect::<Vec<_>>()})
        }
        Message::Result {
            call_id,
            tool,
            result,
        } => {
            let mut message = json!({"from": "tool", "callId": call_id, "tool": tool, "text": result.text, "isError": result.is_error});
            if let Some(parts) = result.content() {
                message["content"] = json!(parts);
            }
            message
        }
        _ => json!({"from": "other"}),
    }
}
