//! `goose_agent::machine::StateMachine` of two steps, tools and inference. The conversations are in memory.

use anyhow::Result;
use async_trait::async_trait;
use goose_agent::inference::{InferenceEffect, InferenceRunner};
use goose_agent::machine::{EffectHandler, MachineSession, SessionLoader, StateMachine, Step};
use goose_agent::operation::{Emitter, MachineEffect, Operation};
use goose_agent::tool::ToolOperation;
use goose_provider_types::base::{MessageStream, ModelInfo, Provider};
use goose_provider_types::conversation::Conversation;
use goose_provider_types::conversation::message::{Message, MessageContent};
use goose_provider_types::conversation::token_usage::ProviderUsage;
use goose_provider_types::errors::ProviderError;
use goose_provider_types::model::ModelConfig;
use rmcp::handler::server::router::tool::{AsyncTool, ToolBase};
use rmcp::model::{CallToolRequestParams, ErrorData, Tool};
use schemars::JsonSchema;
use script::{Contestant, INSTRUCTIONS, Player, QUESTION, Said, Sent, Tools, tools};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Declares a tool: its type, name, description, arguments, and what it does with them.
macro_rules! tool {
    ($tool:ident, $name:literal, $text:literal, $args:ty, $output:ty, |$given:ident| $run:expr) => {
        struct $tool;

        impl ToolBase for $tool {
            type Parameter = $args;
            type Output = $output;
            type Error = ErrorData;

            fn name() -> Cow<'static, str> {
                $name.into()
            }

            fn description() -> Option<Cow<'static, str>> {
                Some($text.into())
            }
        }

        impl AsyncTool<Stored> for $tool {
            async fn invoke(_: &Stored, $given: $args) -> Result<$output, ErrorData> {
                Ok($run)
            }
        }
    };
}

/// rmcp wants an object as the result.
#[derive(Serialize, JsonSchema)]
struct Answer<T> {
    result: T,
}

fn answer<T>(result: T) -> Answer<T> {
    Answer { result }
}

#[derive(Default, Deserialize, JsonSchema)]
struct AddArgs {
    a: i64,
    b: i64,
}

#[derive(Default, Deserialize, JsonSchema)]
struct EventArgs {
    title: String,
    start_time: String,
    duration_minutes: u32,
    attendees: Vec<String>,
    description: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Created {
    id: u64,
    title: String,
    end: String,
}

static IDS: AtomicU64 = AtomicU64::new(100);

fn create_event(given: EventArgs) -> Created {
    let end = tools::create_event(
        &given.start_time,
        given.duration_minutes,
        given.attendees.len(),
        given.description.as_deref(),
    );
    Created {
        id: IDS.fetch_add(1, Relaxed),
        title: given.title,
        end,
    }
}

tool!(
    Add,
    "add",
    "Add two numbers.",
    AddArgs,
    Answer<i64>,
    |given| answer(tools::add(given.a, given.b))
);
tool!(
    CreateEvent,
    "create_event",
    "Create a calendar event.",
    EventArgs,
    Created,
    |given| create_event(given)
);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Place {
    Number(u32),
    Name(String),
    Point { lat: f64, lon: f64 },
}

impl Default for Place {
    fn default() -> Self {
        Self::Number(0)
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct LocateArgs {
    place: Place,
}

#[derive(Default, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Address {
    street: String,
    town: String,
}

#[derive(Default, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Parcel {
    weight: u32,
    to: Address,
}

#[derive(Default, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct ShipArgs {
    parcel: Parcel,
}

#[derive(Default, Deserialize, JsonSchema)]
struct RateArgs {
    #[schemars(range(min = 1, max = 100))]
    stars: u32,
}

#[derive(Default, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct BookArgs {
    guest: String,
    nights: u32,
    rooms: u32,
    email: String,
}

#[derive(Default, Deserialize, JsonSchema)]
struct NoArgs {}

type Text = Answer<&'static str>;

tool!(
    Locate,
    "locate",
    "Locate a place.",
    LocateArgs,
    Text,
    |given| {
        let _ = given;
        tools::runs();
        answer("found")
    }
);
tool!(Ship, "ship", "Ship a parcel.", ShipArgs, Text, |given| {
    let _ = given;
    tools::runs();
    answer("shipped")
});
tool!(
    Rate,
    "rate",
    "Rate a stay.",
    RateArgs,
    Answer<u32>,
    |given| {
        tools::runs();
        answer(given.stars)
    }
);
tool!(Book, "book", "Book rooms.", BookArgs, Text, |given| {
    let _ = given;
    tools::runs();
    answer("booked")
});
tool!(
    Hang,
    "hang",
    "Wait for something that never comes.",
    NoArgs,
    Text,
    |given| {
        let _ = given;
        tools::hang().await;
        answer("late")
    }
);
tool!(
    BreakDown,
    "break_down",
    "Break down.",
    NoArgs,
    Text,
    |given| {
        let _ = given;
        tools::break_down();
        answer("whole")
    }
);
tool!(
    ReadLog,
    "read_log",
    "Read the log.",
    NoArgs,
    Answer<String>,
    |given| {
        let _ = given;
        answer(tools::read_log())
    }
);

struct ScriptModel(Arc<Player>);

#[async_trait]
impl Provider for ScriptModel {
    fn get_name(&self) -> &str {
        "script"
    }

    async fn stream(
        &self,
        _: &ModelConfig,
        _: &str,
        messages: &[Message],
        tools: &[Tool],
    ) -> Result<MessageStream, ProviderError> {
        self.0.record(|| sent(messages, tools));
        let message = match self.0.next() {
            Said::Call(call) => {
                let request = CallToolRequestParams::new(call.name);
                let parsed = serde_json::from_str(&call.arguments);
                let request = parsed
                    .map(|arguments| request.with_arguments(arguments))
                    .map_err(|error| {
                        ErrorData::invalid_params(
                            format!("Could not interpret tool use parameters: {error}"),
                            None,
                        )
                    });
                Message::assistant().with_tool_request(call.id.as_str(), request)
            }
            Said::Text(text) => Message::assistant().with_text(text),
        };
        Ok(Box::pin(futures_util::stream::once(async {
            Ok((Some(message), None))
        })))
    }

    /// The default looks the model up in the list of all models, which a script is not in.
    async fn fetch_model_info(&self, name: &str) -> Result<ModelInfo, ProviderError> {
        Err(ProviderError::ExecutionError(format!(
            "{name} is not known"
        )))
    }
}

fn sent(messages: &[Message], tools: &[Tool]) -> Sent {
    let content = messages.iter().flat_map(|message| &message.content);
    let mut results = Vec::new();
    for part in content {
        if let MessageContent::ToolResponse(response) = part {
            results.push(match &response.tool_result {
                Ok(result) => {
                    let texts = result.content.iter().filter_map(|part| part.as_text());
                    texts.map(|text| text.text.as_str()).collect::<String>()
                }
                Err(error) => error.to_string(),
            });
        }
    }
    let schema = |tool: &Tool| serde_json::Value::Object((*tool.input_schema).clone());
    Sent {
        results,
        tools: tools
            .iter()
            .map(|tool| (tool.name.to_string(), schema(tool)))
            .collect(),
    }
}

/// What the steps do to a conversation.
enum Effect {
    Append(Box<Message>),
    Usage,
}

impl From<Message> for Effect {
    fn from(message: Message) -> Self {
        Self::Append(Box::new(message))
    }
}

impl InferenceEffect for Effect {
    fn record_usage(_: ProviderUsage) -> Self {
        Self::Usage
    }
}

impl MachineEffect for Effect {
    fn ensure_message_ids(&mut self) {
        if let Self::Append(message) = self
            && message.id.is_none()
        {
            **message =
                std::mem::replace(&mut **message, Message::user()).with_generated_id_if_missing();
        }
    }
}

/// A conversation, as it is loaded.
#[derive(Clone)]
struct Stored {
    id: String,
    conversation: Conversation,
}

impl MachineSession for Stored {
    fn id(&self) -> &str {
        &self.id
    }

    fn conversation(&self) -> Option<&Conversation> {
        Some(&self.conversation)
    }
}

/// The conversations of the host.
#[derive(Default)]
struct Host(Mutex<HashMap<String, Conversation>>);

#[async_trait]
impl SessionLoader<Stored> for Host {
    async fn load(&self, id: &str) -> Result<Stored> {
        let conversations = self.0.lock().expect("no host panics");
        let conversation = conversations.get(id).cloned();
        Ok(Stored {
            id: id.to_owned(),
            conversation: conversation.ok_or_else(|| anyhow::anyhow!("no conversation {id}"))?,
        })
    }
}

#[async_trait]
impl EffectHandler<Stored, Effect> for Host {
    async fn apply_effects(
        &self,
        session: &Stored,
        effects: &mut [Effect],
        _: &Emitter,
    ) -> Result<()> {
        let mut conversations = self.0.lock().expect("no host panics");
        let conversation = conversations
            .entry(session.id.clone())
            .or_insert_with(Conversation::empty);
        for effect in effects {
            if let Effect::Append(message) = effect {
                conversation.push((**message).clone());
            }
        }
        Ok(())
    }
}

/// Adds the system prompt.
struct Instructions;

#[async_trait]
impl Operation<Stored, Effect> for Instructions {
    fn name(&self) -> &'static str {
        "instructions"
    }

    async fn prompt_parts(&self, _: &Stored, _: &Conversation) -> Result<Vec<(String, String)>> {
        Ok(vec![("instructions".to_owned(), INSTRUCTIONS.to_owned())])
    }
}

struct Goose {
    machine: StateMachine<'static, Stored, Effect>,
    host: Host,
    conversations: AtomicU64,
}

impl Contestant for Goose {
    const NAME: &'static str = "goose-agent";

    async fn open(player: Arc<Player>, tools: Tools) -> Self {
        let tools = match tools {
            Tools::Counted => ToolOperation::new()
                .with_async_tool::<Add>()
                .with_async_tool::<CreateEvent>(),
            Tools::Checked => ToolOperation::new()
                .with_async_tool::<Locate>()
                .with_async_tool::<Ship>()
                .with_async_tool::<Rate>()
                .with_async_tool::<Book>()
                .with_async_tool::<Hang>()
                .with_async_tool::<BreakDown>()
                .with_async_tool::<ReadLog>(),
        };
        let inference =
            InferenceRunner::new(Arc::new(ScriptModel(player)), ModelConfig::new("script"));
        let steps = vec![
            Step::Operation(Arc::new(Instructions) as Arc<dyn Operation<Stored, Effect>>),
            Step::Operation(Arc::new(tools)),
            Step::Inference(Arc::new(inference)),
        ];
        Self {
            machine: StateMachine::new(steps, CancellationToken::new()),
            host: Host::default(),
            conversations: AtomicU64::new(0),
        }
    }

    async fn converse(&self) -> Result<String, String> {
        let id = format!("c-{}", self.conversations.fetch_add(1, Relaxed));
        let question = Conversation::new_unvalidated([Message::user().with_text(QUESTION)]);
        let stored = self.host.0.lock();
        stored.expect("no host panics").insert(id.clone(), question);
        let (events, listener) = tokio::sync::mpsc::unbounded_channel();
        // Nobody reads the events.
        drop(listener);
        let emitter = Emitter::new(events, CancellationToken::new());
        let session = self
            .machine
            .run(&self.host, &id, &emitter)
            .await
            .map_err(|error| error.to_string())?;
        self.host.0.lock().expect("no host panics").remove(&id);
        let last = session.conversation.messages().last();
        Ok(last.map(Message::as_concat_text).unwrap_or_default())
    }
}

script::main!(Goose);
