//! `rig_agent::Agent`. The model is rig's own scripted wire, with a transport that plays the script.

use rig_agent::tool::{Tool, ToolContext};
use rig_agent::{Agent, AgentBuilder};
use rig_core::Model;
use rig_core::completion::{CompletionRequest, CompletionResponse, Usage};
use rig_core::driver::{Exchange, Opened, Opening, Transport};
use rig_core::message::{
    AssistantContent, Message, Origin, ToolCall, ToolFunction, ToolName, ToolResultContent,
    UserContent,
};
use rig_core::test_utils::{MOCK_API, MOCK_MODEL, MockFrame, MockScript};
use schemars::JsonSchema;
use script::{Contestant, INSTRUCTIONS, Player, QUESTION, Said, Sent, Tools, tools};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Declares a tool: its type, name, description, arguments, and what it does with them.
macro_rules! tool {
    ($tool:ident, $name:literal, $text:literal, $args:ty, $output:ty, |$given:ident| $run:expr) => {
        struct $tool;
        impl Tool for $tool {
            const NAME: &'static str = $name;
            type Args = $args;
            type Output = $output;
            type Error = Infallible;

            fn description(&self) -> String {
                $text.into()
            }

            fn parameters(&self) -> serde_json::Value {
                schemars::schema_for!($args).to_value()
            }

            async fn call(
                &self,
                _: &mut ToolContext,
                $given: $args,
            ) -> Result<$output, Infallible> {
                Ok($run)
            }
        }
    };
}

#[derive(Deserialize, JsonSchema)]
struct AddArgs {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct EventArgs {
    title: String,
    start_time: String,
    duration_minutes: u32,
    attendees: Vec<String>,
    description: Option<String>,
}

#[derive(Serialize)]
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

tool!(Add, "add", "Add two numbers.", AddArgs, i64, |given| {
    tools::add(given.a, given.b)
});
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

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct LocateArgs {
    place: Place,
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

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct ShipArgs {
    parcel: Parcel,
}

#[derive(Deserialize, JsonSchema)]
struct RateArgs {
    #[schemars(range(min = 1, max = 100))]
    stars: u32,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct BookArgs {
    guest: String,
    nights: u32,
    rooms: u32,
    email: String,
}

#[derive(Deserialize, JsonSchema)]
struct NoArgs {}

tool!(
    Locate,
    "locate",
    "Locate a place.",
    LocateArgs,
    &'static str,
    |given| {
        let _ = given;
        tools::runs();
        "found"
    }
);
tool!(
    Ship,
    "ship",
    "Ship a parcel.",
    ShipArgs,
    &'static str,
    |given| {
        let _ = given;
        tools::runs();
        "shipped"
    }
);
tool!(Rate, "rate", "Rate a stay.", RateArgs, u32, |given| {
    tools::runs();
    given.stars
});
tool!(
    Book,
    "book",
    "Book rooms.",
    BookArgs,
    &'static str,
    |given| {
        let _ = given;
        tools::runs();
        "booked"
    }
);
tool!(
    Hang,
    "hang",
    "Wait for something that never comes.",
    NoArgs,
    &'static str,
    |given| {
        let _ = given;
        tools::hang().await;
        "late"
    }
);
tool!(
    BreakDown,
    "break_down",
    "Break down.",
    NoArgs,
    &'static str,
    |given| {
        let _ = given;
        tools::break_down();
        "whole"
    }
);
tool!(
    ReadLog,
    "read_log",
    "Read the log.",
    NoArgs,
    String,
    |given| {
        let _ = given;
        tools::read_log()
    }
);

#[derive(Clone)]
struct ScriptTransport(Arc<Player>);

impl Transport<MockScript> for ScriptTransport {
    fn send(&self, request: CompletionRequest, _: Exchange) -> Opening<MockFrame> {
        self.0.record(|| sent(&request));
        let content = match self.0.next() {
            Said::Call(call) => {
                let name = ToolName::new(call.name).expect("a sound name");
                let function = ToolFunction::parse(name, &call.arguments);
                AssistantContent::ToolCall(ToolCall::from_wire(call.id.as_str(), function))
            }
            Said::Text(text) => AssistantContent::text(text),
        };
        let response = CompletionResponse::new(
            vec![content],
            Usage::default(),
            Origin::new(MOCK_API, "script", MOCK_MODEL),
            serde_json::Value::Null,
        );
        let frame = MockFrame::Response(Box::new(response));
        Opening::ready(Opened::new(futures_util::stream::iter([Ok(frame)])))
    }
}

fn sent(request: &CompletionRequest) -> Sent {
    let mut results = Vec::new();
    for message in &request.chat_history {
        let Message::User { content, .. } = message else {
            continue;
        };
        for part in content {
            let UserContent::ToolResult(result) = part else {
                continue;
            };
            for part in &result.content {
                results.push(match part {
                    ToolResultContent::Text(text) => text.text.clone(),
                    ToolResultContent::Json { value } => value.to_string(),
                    ToolResultContent::Image(_) => "an image".to_owned(),
                });
            }
        }
    }
    let declared = request.tools.iter();
    Sent {
        tools: declared
            .map(|tool| (tool.name.to_string(), tool.parameters.clone()))
            .collect(),
        results,
    }
}

struct Rig(Agent);

impl Contestant for Rig {
    const NAME: &'static str = "rig";

    async fn open(player: Arc<Player>, tools: Tools) -> Self {
        let model = Model::new(MockScript::default(), ScriptTransport(player));
        let agent = AgentBuilder::new(model)
            .preamble(INSTRUCTIONS)
            .default_max_turns(20);
        Self(match tools {
            Tools::Counted => agent.tool(Add).tool(CreateEvent).build(),
            Tools::Checked => agent
                .tool(Locate)
                .tool(Ship)
                .tool(Rate)
                .tool(Book)
                .tool(Hang)
                .tool(BreakDown)
                .tool(ReadLog)
                .build(),
        })
    }

    async fn converse(&self) -> Result<String, String> {
        match self.0.prompt(QUESTION).await {
            Ok(response) => Ok(response.output()),
            Err(error) => Err(error.to_string()),
        }
    }
}

script::main!(Rig);
