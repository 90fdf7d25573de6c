//! `ReActAgent` of AutoAgents, direct. Without a memory it forgets the results of its tools, so it has one, which is cleared
//! before each conversation. Nothing reads its events.

use async_trait::async_trait;
use autoagents::core::agent::memory::SlidingWindowMemory;
use autoagents::core::agent::prebuilt::executor::ReActAgent;
use autoagents::core::agent::task::Task;
use autoagents::core::agent::{
    AgentBuilder, AgentDeriveT, AgentHooks, BaseAgent, DirectAgent, DirectAgentHandle,
};
use autoagents::core::tool::{ToolCallError, ToolRuntime, ToolT, shared_tools_to_boxes};
use autoagents::llm::chat::{
    ChatMessage, ChatProvider, ChatResponse, MessageType, StructuredOutputFormat, Tool,
};
use autoagents::llm::completion::{CompletionProvider, CompletionRequest, CompletionResponse};
use autoagents::llm::embedding::EmbeddingProvider;
use autoagents::llm::error::LLMError;
use autoagents::llm::models::ModelsProvider;
use autoagents::llm::{FunctionCall, LLMProvider, ToolCall};
use autoagents_derive::{ToolInput, tool};
use script::{Contestant, INSTRUCTIONS, Player, QUESTION, Said, Sent, Tools, tools};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Serialize, Deserialize, ToolInput, Debug)]
struct AddArgs {
    #[input(description = "The first number")]
    a: i64,
    #[input(description = "The second number")]
    b: i64,
}

#[tool(name = "add", description = "Add two numbers.", input = AddArgs)]
struct Add;

#[async_trait]
impl ToolRuntime for Add {
    async fn execute(&self, args: Value) -> Result<Value, ToolCallError> {
        let args = serde_json::from_value::<AddArgs>(args)?;
        Ok(json!(tools::add(args.a, args.b)))
    }
}

#[derive(Serialize, Deserialize, ToolInput, Debug)]
struct EventArgs {
    #[input(description = "The title")]
    title: String,
    #[input(description = "The start")]
    start_time: String,
    #[input(description = "The minutes")]
    duration_minutes: u32,
    #[input(description = "The attendees")]
    attendees: Vec<String>,
    #[input(description = "The description")]
    description: Option<String>,
}

static IDS: AtomicU64 = AtomicU64::new(100);

#[tool(name = "create_event", description = "Create a calendar event.", input = EventArgs)]
struct CreateEvent;

#[async_trait]
impl ToolRuntime for CreateEvent {
    async fn execute(&self, args: Value) -> Result<Value, ToolCallError> {
        let args = serde_json::from_value::<EventArgs>(args)?;
        let end = tools::create_event(
            &args.start_time,
            args.duration_minutes,
            args.attendees.len(),
            args.description.as_deref(),
        );
        let id = IDS.fetch_add(1, Relaxed);
        Ok(json!({"id": id, "title": args.title, "end": end}))
    }
}

#[derive(Serialize, Deserialize, Debug)]
#[serde(untagged)]
enum Place {
    Number(u32),
    Name(String),
    Point { lat: f64, lon: f64 },
}

#[derive(Serialize, Deserialize, ToolInput, Debug)]
struct LocateArgs {
    #[input(description = "The place")]
    place: Place,
}

#[tool(name = "locate", description = "Locate a place.", input = LocateArgs)]
struct Locate;

#[async_trait]
impl ToolRuntime for Locate {
    async fn execute(&self, args: Value) -> Result<Value, ToolCallError> {
        let _args = serde_json::from_value::<LocateArgs>(args)?;
        tools::runs();
        Ok(json!("found"))
    }
}

#[derive(Serialize, Deserialize, Debug)]
struct Address {
    street: String,
    town: String,
}

#[derive(Serialize, Deserialize, Debug)]
struct Parcel {
    weight: u32,
    to: Address,
}

#[derive(Serialize, Deserialize, ToolInput, Debug)]
struct ShipArgs {
    #[input(description = "The parcel")]
    parcel: Parcel,
}

#[tool(name = "ship", description = "Ship a parcel.", input = ShipArgs)]
struct Ship;

#[async_trait]
impl ToolRuntime for Ship {
    async fn execute(&self, args: Value) -> Result<Value, ToolCallError> {
        let _args = serde_json::from_value::<ShipArgs>(args)?;
        tools::runs();
        Ok(json!("shipped"))
    }
}

/// The derive has no option for a range: `description` and `choice` are all that it takes.
#[derive(Serialize, Deserialize, ToolInput, Debug)]
struct RateArgs {
    #[input(description = "The stars, 1 to 100")]
    stars: u32,
}

#[tool(name = "rate", description = "Rate a stay.", input = RateArgs)]
struct Rate;

#[async_trait]
impl ToolRuntime for Rate {
    async fn execute(&self, args: Value) -> Result<Value, ToolCallError> {
        let args = serde_json::from_value::<RateArgs>(args)?;
        tools::runs();
        Ok(json!(args.stars))
    }
}

#[derive(Serialize, Deserialize, ToolInput, Debug)]
struct BookArgs {
    #[input(description = "The guest")]
    guest: String,
    #[input(description = "The nights")]
    nights: u32,
    #[input(description = "The rooms")]
    rooms: u32,
    #[input(description = "The e-mail address")]
    email: String,
}

#[tool(name = "book", description = "Book rooms.", input = BookArgs)]
struct Book;

#[async_trait]
impl ToolRuntime for Book {
    async fn execute(&self, args: Value) -> Result<Value, ToolCallError> {
        let _args = serde_json::from_value::<BookArgs>(args)?;
        tools::runs();
        Ok(json!("booked"))
    }
}

#[derive(Serialize, Deserialize, ToolInput, Debug)]
struct NoArgs {}

#[tool(name = "hang", description = "Wait for something that never comes.", input = NoArgs)]
struct Hang;

#[async_trait]
impl ToolRuntime for Hang {
    async fn execute(&self, _: Value) -> Result<Value, ToolCallError> {
        tools::hang().await;
        Ok(json!("late"))
    }
}

#[tool(name = "break_down", description = "Break down.", input = NoArgs)]
struct BreakDown;

#[async_trait]
impl ToolRuntime for BreakDown {
    async fn execute(&self, _: Value) -> Result<Value, ToolCallError> {
        tools::break_down();
        Ok(json!("whole"))
    }
}

#[tool(name = "read_log", description = "Read the log.", input = NoArgs)]
struct ReadLog;

#[async_trait]
impl ToolRuntime for ReadLog {
    async fn execute(&self, _: Value) -> Result<Value, ToolCallError> {
        Ok(json!(tools::read_log()))
    }
}

#[derive(Debug)]
struct ScriptResponse {
    text: Option<String>,
    call: Option<ToolCall>,
}

impl fmt::Display for ScriptResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl ChatResponse for ScriptResponse {
    fn text(&self) -> Option<String> {
        self.text.clone()
    }

    fn tool_calls(&self) -> Option<Vec<ToolCall>> {
        self.call.clone().map(|call| vec![call])
    }
}

struct ScriptModel(Arc<Player>);

#[async_trait]
impl ChatProvider for ScriptModel {
    async fn chat_with_tools(
        &self,
        messages: &[ChatMessage],
        tools: Option<&[Tool]>,
        _: Option<StructuredOutputFormat>,
    ) -> Result<Box<dyn ChatResponse>, LLMError> {
        self.0.record(|| sent(messages, tools));
        Ok(Box::new(match self.0.next() {
            Said::Call(call) => ScriptResponse {
                text: None,
                call: Some(ToolCall {
                    id: call.id.clone(),
                    call_type: "function".to_owned(),
                    function: FunctionCall {
                        name: call.name.to_owned(),
                        arguments: call.arguments.clone(),
                    },
                }),
            },
            Said::Text(text) => ScriptResponse {
                text: Some(text.to_owned()),
                call: None,
            },
        }))
    }
}

#[async_trait]
impl CompletionProvider for ScriptModel {
    async fn complete(
        &self,
        _: &CompletionRequest,
        _: Option<StructuredOutputFormat>,
    ) -> Result<CompletionResponse, LLMError> {
        Err(LLMError::Generic("the script has chats only".to_owned()))
    }
}

#[async_trait]
impl EmbeddingProvider for ScriptModel {
    async fn embed(&self, _: Vec<String>) -> Result<Vec<Vec<f32>>, LLMError> {
        Err(LLMError::Generic("the script has chats only".to_owned()))
    }
}

impl ModelsProvider for ScriptModel {}

impl LLMProvider for ScriptModel {}

fn sent(messages: &[ChatMessage], tools: Option<&[Tool]>) -> Sent {
    let mut results = Vec::new();
    for message in messages {
        if let MessageType::ToolResult(calls) = &message.message_type {
            results.extend(calls.iter().map(|call| call.function.arguments.clone()));
        }
    }
    let declared = tools.unwrap_or_default().iter();
    Sent {
        results,
        tools: declared
            .map(|tool| (tool.function.name.clone(), tool.function.parameters.clone()))
            .collect(),
    }
}

#[derive(Clone, Debug)]
struct Assistant(Vec<Arc<dyn ToolT>>);

impl AgentDeriveT for Assistant {
    type Output = String;

    fn description(&self) -> &str {
        INSTRUCTIONS
    }

    fn output_schema(&self) -> Option<Value> {
        None
    }

    fn name(&self) -> &str {
        "assistant"
    }

    fn tools(&self) -> Vec<Box<dyn ToolT>> {
        shared_tools_to_boxes(&self.0)
    }
}

#[async_trait]
impl AgentHooks for Assistant {}

struct AutoAgents(BaseAgent<ReActAgent<Assistant>, DirectAgent>);

impl Contestant for AutoAgents {
    const NAME: &'static str = "autoagents";

    async fn open(player: Arc<Player>, tools: Tools) -> Self {
        let tools: Vec<Arc<dyn ToolT>> = match tools {
            Tools::Counted => vec![Arc::new(Add), Arc::new(CreateEvent)],
            Tools::Checked => vec![
                Arc::new(Locate),
                Arc::new(Ship),
                Arc::new(Rate),
                Arc::new(Book),
                Arc::new(Hang),
                Arc::new(BreakDown),
                Arc::new(ReadLog),
            ],
        };
        let agent = ReActAgent::with_max_turns(Assistant(tools), 20);
        let handle = AgentBuilder::<_, DirectAgent>::new(agent)
            .llm(Arc::new(ScriptModel(player)))
            .memory(Box::new(SlidingWindowMemory::new(100)))
            .build()
            .await
            .expect("an agent");
        let DirectAgentHandle { agent, .. } = handle;
        Self(agent)
    }

    async fn converse(&self) -> Result<String, String> {
        let memory = self.0.memory().expect("it has a memory");
        memory
            .lock()
            .await
            .clear()
            .await
            .map_err(|error| error.to_string())?;
        let answer = self.0.run(Task::new(QUESTION)).await;
        answer.map_err(|error| error.to_string())
    }
}

script::main!(AutoAgents);
