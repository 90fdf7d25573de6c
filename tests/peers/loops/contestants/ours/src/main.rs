//! `AgentLoop` in a session with the limits of `Policy::text()`, the default.

use schemars::JsonSchema;
use script::{Contestant, INSTRUCTIONS, Player, QUESTION, Said, Sent, Tools, tools};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tool_adapters::agent::AgentLoop;
use tool_core::session::{Message, Model, ModelRequest, ModelStep};
use tool_core::{Mode, Runtime, ToolCall, ToolContext, ToolError, toolset};

#[derive(Serialize)]
struct Created {
    id: u64,
    title: String,
    end: String,
}

struct Counted(AtomicU64);

#[toolset]
impl Counted {
    /// Add two numbers.
    #[tool]
    async fn add(&self, a: i64, b: i64) -> i64 {
        tools::add(a, b)
    }

    /// Create a calendar event.
    #[tool(category = "action")]
    async fn create_event(
        &self,
        title: String,
        start_time: String,
        duration_minutes: u32,
        attendees: Vec<String>,
        description: Option<String>,
    ) -> Created {
        let end = tools::create_event(
            &start_time,
            duration_minutes,
            attendees.len(),
            description.as_deref(),
        );
        Created {
            id: self.0.fetch_add(1, Relaxed),
            title,
            end,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Place {
    Number(u32),
    Name(String),
    Point { lat: f64, lon: f64 },
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Address {
    street: String,
    town: String,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Parcel {
    weight: u32,
    to: Address,
}

struct Checked;

#[toolset]
impl Checked {
    /// Locate a place.
    #[tool]
    async fn locate(&self, place: Place) -> &str {
        let _ = place;
        tools::runs();
        "found"
    }

    /// Ship a parcel.
    #[tool]
    async fn ship(&self, parcel: Parcel) -> &str {
        let _ = parcel;
        tools::runs();
        "shipped"
    }

    /// Rate a stay.
    #[tool]
    async fn rate(&self, #[arg(range(1..=100))] stars: u32) -> u32 {
        tools::runs();
        stars
    }

    /// Book rooms.
    #[tool]
    async fn book(&self, guest: String, nights: u32, rooms: u32, email: String) -> &str {
        let _ = (guest, nights, rooms, email);
        tools::runs();
        "booked"
    }

    /// Wait for something that never comes.
    #[tool]
    async fn hang(&self) -> &str {
        tools::hang().await;
        "late"
    }

    /// Break down.
    #[tool]
    async fn break_down(&self) -> &str {
        tools::break_down();
        "whole"
    }

    /// Read the log.
    #[tool]
    async fn read_log(&self) -> String {
        tools::read_log()
    }
}

struct ScriptModel(Arc<Player>);

impl Model for ScriptModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        self.0.record(|| sent(&request));
        Ok(match self.0.next() {
            Said::Call(call) => {
                ModelStep::calls([ToolCall::new(&call.id, call.name, call.arguments.as_str())])
            }
            Said::Text(text) => ModelStep::says(text),
        })
    }
}

fn sent(request: &ModelRequest<'_>) -> Sent {
    let declared = request.tools.iter();
    let results = request.history.iter().filter_map(|message| match message {
        Message::Result { result, .. } => Some(result.text.to_string()),
        _ => None,
    });
    Sent {
        tools: declared
            .map(|tool| (tool.name().to_owned(), tool.parameters().clone()))
            .collect(),
        results: results.collect(),
    }
}

struct Ours {
    runtime: Runtime,
    player: Arc<Player>,
    conversations: AtomicU64,
}

impl Contestant for Ours {
    const NAME: &'static str = "ours";

    async fn open(player: Arc<Player>, tools: Tools) -> Self {
        let context = match tools {
            Tools::Counted => ToolContext::builder().with(Counted(AtomicU64::new(100))),
            Tools::Checked => ToolContext::builder().with(Checked),
        };
        let context = context.build().expect("the tools are sound");
        Self {
            runtime: Runtime::builder(context).build().expect("a runtime"),
            player,
            conversations: AtomicU64::new(0),
        }
    }

    async fn converse(&self) -> Result<String, String> {
        let id = format!("c-{}", self.conversations.fetch_add(1, Relaxed));
        let session = self
            .runtime
            .session(id, Mode::Text)
            .await
            .map_err(|error| error.to_string())?;
        let model = ScriptModel(self.player.clone());
        let mut agent = AgentLoop::new(session, model).instructions(INSTRUCTIONS);
        let reply = agent.prompt(QUESTION).await;
        match reply.error {
            Some(error) => Err(error.message.to_string()),
            None => Ok(reply.text.unwrap_or_default()),
        }
    }
}

script::main!(Ours);
