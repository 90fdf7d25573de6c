//! `adk_runner::Runner` with an `LlmAgent` and sessions in memory. The tools are declared in both ways: with `#[tool]`, and as
//! `FunctionTool`, which keeps its schema.

use adk_agent::{LlmAgent, LlmAgentBuilder};
use adk_core::{
    AdkError, Content, FinishReason, Llm, LlmRequest, LlmResponse, LlmResponseStream, Part, Tool,
};
use adk_runner::Runner;
use adk_session::{CreateRequest, DeleteRequest, InMemorySessionService, SessionService};
use adk_tool::{FunctionTool, tool};
use async_trait::async_trait;
use futures_util::StreamExt;
use schemars::JsonSchema;
use script::{Contestant, INSTRUCTIONS, Player, QUESTION, Said, Sent, Tools, tools};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

type ToolResult = Result<Value, AdkError>;

#[derive(Serialize, Deserialize, JsonSchema)]
struct AddArgs {
    a: i64,
    b: i64,
}

/// Add two numbers.
#[tool]
async fn add(args: AddArgs) -> ToolResult {
    Ok(json!(tools::add(args.a, args.b)))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct EventArgs {
    title: String,
    start_time: String,
    duration_minutes: u32,
    attendees: Vec<String>,
    description: Option<String>,
}

static IDS: AtomicU64 = AtomicU64::new(100);

/// Create a calendar event.
#[tool]
async fn create_event(args: EventArgs) -> ToolResult {
    let end = tools::create_event(
        &args.start_time,
        args.duration_minutes,
        args.attendees.len(),
        args.description.as_deref(),
    );
    let id = IDS.fetch_add(1, Relaxed);
    Ok(json!({"id": id, "title": args.title, "end": end}))
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Place {
    Number(u32),
    Name(String),
    Point { lat: f64, lon: f64 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct LocateArgs {
    place: Place,
}

/// Locate a place.
#[tool]
async fn locate(args: LocateArgs) -> ToolResult {
    let _ = args.place;
    tools::runs();
    Ok(json!("found"))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Address {
    street: String,
    town: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Parcel {
    weight: u32,
    to: Address,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct ShipArgs {
    parcel: Parcel,
}

/// Ship a parcel.
#[tool]
async fn ship(args: ShipArgs) -> ToolResult {
    let _ = args.parcel;
    tools::runs();
    Ok(json!("shipped"))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct RateArgs {
    #[schemars(range(min = 1, max = 100))]
    stars: u32,
}

/// Rate a stay.
#[tool]
async fn rate(args: RateArgs) -> ToolResult {
    tools::runs();
    Ok(json!(args.stars))
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct BookArgs {
    guest: String,
    nights: u32,
    rooms: u32,
    email: String,
}

/// Book rooms.
#[tool]
async fn book(args: BookArgs) -> ToolResult {
    let _ = args;
    tools::runs();
    Ok(json!("booked"))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct NoArgs {}

/// Wait for something that never comes.
#[tool]
async fn hang(args: NoArgs) -> ToolResult {
    let _ = args;
    tools::hang().await;
    Ok(json!("late"))
}

/// Break down.
#[tool]
async fn break_down(args: NoArgs) -> ToolResult {
    let _ = args;
    tools::break_down();
    Ok(json!("whole"))
}

/// Read the log.
#[tool]
async fn read_log(args: NoArgs) -> ToolResult {
    let _ = args;
    Ok(json!(tools::read_log()))
}

/// Declares a function as a `FunctionTool`, which gets the arguments as a value.
fn function<A, R>(
    name: &'static str,
    text: &'static str,
    run: impl Fn(A) -> R + Clone + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    A: DeserializeOwned + JsonSchema + Serialize + Send + 'static,
    R: Future<Output = ToolResult> + Send + 'static,
{
    let handler = move |_, arguments: Value| {
        let run = run.clone();
        async move {
            let arguments = serde_json::from_value::<A>(arguments)
                .map_err(|error| AdkError::tool(format!("invalid arguments: {error}")))?;
            run(arguments).await
        }
    };
    Arc::new(FunctionTool::new(name, text, handler).with_parameters_schema::<A>())
}

fn with_macro(tools: Tools) -> Vec<Arc<dyn Tool>> {
    match tools {
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
    }
}

fn as_functions(tools: Tools) -> Vec<Arc<dyn Tool>> {
    match tools {
        Tools::Counted => vec![
            function("add", "Add two numbers.", add),
            function("create_event", "Create a calendar event.", create_event),
        ],
        Tools::Checked => vec![
            function("locate", "Locate a place.", locate),
            function("ship", "Ship a parcel.", ship),
            function("rate", "Rate a stay.", rate),
            function("book", "Book rooms.", book),
            function("hang", "Wait for something that never comes.", hang),
            function("break_down", "Break down.", break_down),
            function("read_log", "Read the log.", read_log),
        ],
    }
}

struct ScriptModel(Arc<Player>);

#[async_trait]
impl Llm for ScriptModel {
    fn name(&self) -> &str {
        "script"
    }

    async fn generate_content(
        &self,
        request: LlmRequest,
        _stream: bool,
    ) -> Result<LlmResponseStream, AdkError> {
        self.0.record(|| sent(&request));
        let part = match self.0.next() {
            Said::Call(call) => Part::FunctionCall {
                name: call.name.to_owned(),
                args: serde_json::from_str(&call.arguments)
                    .unwrap_or_else(|_| Value::String(call.arguments.clone())),
                id: Some(call.id.clone()),
                thought_signature: None,
            },
            Said::Text(text) => Part::Text {
                text: text.to_owned(),
            },
        };
        let response = LlmResponse {
            content: Some(Content {
                role: "model".to_owned(),
                parts: vec![part],
            }),
            finish_reason: Some(FinishReason::Stop),
            turn_complete: true,
            ..LlmResponse::default()
        };
        Ok(Box::pin(futures_util::stream::once(async { Ok(response) })))
    }
}

fn sent(request: &LlmRequest) -> Sent {
    let parts = request.contents.iter().flat_map(|content| &content.parts);
    let results = parts.filter_map(|part| match part {
        Part::FunctionResponse {
            function_response, ..
        } => Some(function_response.response.to_string()),
        _ => None,
    });
    let declared = request.tools.iter();
    Sent {
        results: results.collect(),
        tools: declared
            .map(|(name, tool)| (name.clone(), tool["parameters"].clone()))
            .collect(),
    }
}

const APP: &str = "script";
const USER: &str = "user";

struct Adk {
    runner: Runner,
    sessions: Arc<InMemorySessionService>,
    conversations: AtomicU64,
}

impl Adk {
    fn open(player: Arc<Player>, tools: Vec<Arc<dyn Tool>>) -> Self {
        let mut agent: LlmAgentBuilder = LlmAgentBuilder::new("assistant")
            .model(Arc::new(ScriptModel(player)))
            .instruction(INSTRUCTIONS);
        for tool in tools {
            agent = agent.tool(tool);
        }
        let agent: LlmAgent = agent.build().expect("an agent");
        let sessions = Arc::new(InMemorySessionService::new());
        let runner = Runner::builder()
            .app_name(APP)
            .agent(Arc::new(agent))
            .session_service(sessions.clone())
            .build()
            .expect("a runner");
        Self {
            runner,
            sessions,
            conversations: AtomicU64::new(0),
        }
    }

    async fn converse(&self) -> Result<String, AdkError> {
        let id = format!("c-{}", self.conversations.fetch_add(1, Relaxed));
        let session = CreateRequest {
            app_name: APP.to_owned(),
            user_id: USER.to_owned(),
            session_id: Some(id.clone()),
            state: HashMap::new(),
        };
        self.sessions.create(session).await?;
        let question = Content::new("user").with_text(QUESTION);
        let mut events = self.runner.run_str(USER, &id, question).await?;
        let mut answer = String::new();
        while let Some(event) = events.next().await {
            let event = event?;
            let parts = event
                .llm_response
                .content
                .iter()
                .flat_map(|content| &content.parts);
            for part in parts {
                if let Part::Text { text } = part {
                    answer.clone_from(text);
                }
            }
        }
        let ended = DeleteRequest {
            app_name: APP.to_owned(),
            user_id: USER.to_owned(),
            session_id: id,
        };
        self.sessions.delete(ended).await?;
        Ok(answer)
    }
}

struct Macro(Adk);

impl Contestant for Macro {
    const NAME: &'static str = "adk-rust, #[tool]";

    async fn open(player: Arc<Player>, tools: Tools) -> Self {
        Self(Adk::open(player, with_macro(tools)))
    }

    async fn converse(&self) -> Result<String, String> {
        self.0.converse().await.map_err(|error| error.to_string())
    }
}

struct Functions(Adk);

impl Contestant for Functions {
    const NAME: &'static str = "adk-rust, FunctionTool";

    async fn open(player: Arc<Player>, tools: Tools) -> Self {
        Self(Adk::open(player, as_functions(tools)))
    }

    async fn converse(&self) -> Result<String, String> {
        self.0.converse().await.map_err(|error| error.to_string())
    }
}

script::main!(Macro, Functions);
