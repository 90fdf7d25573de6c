//! Serves an inspector with many tools and spans, for a browser to use: `conformance_inspector` prints its address.
#![allow(
    clippy::too_many_arguments,
    reason = "the form of one tool has a field of each kind"
)]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;
use tool_adapters::inspector::Inspector;
use tool_core::session::{CapScope, CircuitBreaker, LimitScope, Model, ModelRequest, ModelStep};
use tool_core::trace::{self, Collector, Cost, SpanKind, in_scope};
use tool_core::{
    Content, FunctionTool, Intent, Mode, Policy, RawTool, RunContext, Runtime, Timestamp, ToolCall,
    ToolContext, ToolError, ToolOutput, tool, tool_type,
};

/// The raw tools beside the others.
const TOOLS: usize = 1_000;
/// The traces, and the spans of each.
const TRACES: usize = 100;
const SPANS: usize = 100;

#[tool_type]
struct Guest {
    /// The address for the invitation
    email: String,
    #[serde(default)]
    required: bool,
}

#[tool_type]
enum Place {
    /// A room of the office
    Room(String),
    /// Places on a map
    At {
        latitude: f64,
        longitude: f64,
    },
    Video,
}

#[tool_type]
enum Colour {
    Red,
    Green,
}

#[tool_type]
struct Details {
    /// The colour in the calendar
    colour: Option<Colour>,
    notes: Option<String>,
}

/// Create an event, and invite its guests.
#[tool(category = "action", confirm)]
async fn create_event(
    /// Title of the event
    title: String,
    start_time: Timestamp,
    /// Length in minutes
    #[arg(default = 30, range(5..=480))]
    duration_minutes: u32,
    place: Place,
    #[arg(default)] guests: Vec<Guest>,
    details: Option<Details>,
    labels: Option<BTreeMap<String, u64>>,
    is_private: Option<bool>,
) -> Value {
    trace::record_cost("invitations", Cost::micros(250));
    let guests = guests
        .iter()
        .map(|guest| json!({"email": guest.email, "required": guest.required}));
    let place = match place {
        Place::Room(name) => name,
        Place::At {
            latitude,
            longitude,
        } => format!("{latitude}, {longitude}"),
        Place::Video => "video".to_owned(),
    };
    let colour = details
        .as_ref()
        .and_then(|details| details.colour.as_ref())
        .map(|colour| match colour {
            Colour::Red => "red",
            Colour::Green => "green",
        });
    json!({
        "title": title, "start": start_time.to_string(), "minutes": duration_minutes, "place": place,
        "guests": guests.collect::<Vec<_>>(), "colour": colour, "notes": details.and_then(|details| details.notes),
        "labels": labels, "private": is_private,
    })
}

/// Search the notes. `<b>` and `<script>` are texts.
#[tool(category = "retrieval")]
fn search_notes(query: &str) -> Vec<String> {
    vec![format!("<img src=x onerror=alert(1)>{query}")]
}

/// Speak no reply.
#[tool]
fn stay_silent() -> ToolOutput {
    ToolOutput::new("silent")
        .intent(Intent::SuppressAudio)
        .warning("nothing is spoken")
}

/// Import rows, a step in 300 ms.
#[tool]
async fn import_rows(#[arg(default = 5)] steps: u32, ctx: &RunContext) -> u32 {
    for step in 0..steps {
        ctx.progress().fraction(
            f64::from(step) / f64::from(steps),
            format!("step {step} <b>of</b> {steps}"),
        );
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    steps
}

/// Sign in.
#[tool]
fn sign_in(user: &str, password: &str) -> Result<String, ToolError> {
    if password.len() < 8 {
        Err(ToolError::auth(format!("`{user}` has a longer password")))
    } else {
        Ok(user.to_owned())
    }
}

/// A PNG of 96 × 64 pixels.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAGAAAABACAMAAADS6oI8AAAACVBMVEXm7voKYsT///8n4xttAAAATUlEQVR42u3NMQ7AIAwEQeP/P5qWNJEQCOFkrtvmJjIzxu3uAHwSaOMANYHHAQAAuBSYOgD8A3htQA1gqQEAwCFg6yEAAAAAAABAUaADmjgV56ySdqAAAAAASUVORK5CYII=";

/// Draw the rainfall of six months. The answer has a picture, two that the page does not show, and a text.
#[tool(category = "retrieval")]
fn draw_chart() -> Vec<Content> {
    vec![
        Content::image(PICTURE, "image/png"),
        Content::image(
            "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=",
            "image/svg+xml",
        ),
        Content::image("<img src=x onerror=alert(1)>", "image/png"),
        Content::text("Rainfall in mm, <b>January</b> to June"),
    ]
}

/// Measure the soil moisture of a bed, and compare it with the mean of the last weeks. The sensor needs a moment to settle, so
/// that the first reading after the watering is often too high. Two readings a minute apart tell more than one. The depth is
/// counted from the surface, and the threshold is the share of water at which the bed counts as wet.
#[tool(category = "retrieval")]
fn measure_moisture(
    /// The share of water at which the bed counts as wet
    #[arg(default = 0.5, range(0.0..=1.0))]
    threshold: f64,
    /// The depth of the sensor in centimetres
    #[arg(default = 10.0, range(2.0..=100.0))]
    depth: f64,
) -> f64 {
    threshold * depth
}

/// The text of a call of a raw tool that fails.
const FAILING: &str = "fail";

async fn answer(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    if arguments["text"] == FAILING {
        return Err(ToolError::transient("the service is down"));
    }
    Ok(json!("done"))
}

/// A model that repeats the last message.
struct Echo;

impl Model for Echo {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        Ok(ModelStep::says(format!(
            "{} messages",
            request.history.len()
        )))
    }
}

fn raw_tool(number: usize) -> FunctionTool {
    let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}});
    let description = format!("Does the work number {number}.");
    FunctionTool::raw(
        RawTool {
            name: format!("work_{number:04}"),
            description,
            parameters,
        },
        answer,
    )
}

fn record_spans(collector: &Collector) {
    for number in 0..TRACES {
        collector.run_sync(|| {
            in_scope(SpanKind::Agent, format!("agent {number}"), || {
                for part in 1..SPANS {
                    in_scope(
                        SpanKind::Section,
                        format!("part {part} of {number}"),
                        || std::hint::black_box(part),
                    );
                }
            });
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let own = ToolContext::builder()
        .with(create_event)
        .with(search_notes)
        .with(stay_silent)
        .with(sign_in)
        .with(import_rows);
    let own = own.with(draw_chart).with(measure_moisture);
    let tools = own.with_all((0..TOOLS).map(raw_tool)).build()?;
    let policy = Policy::text()
        .max_calls(Some(8))
        .max_cost(CapScope::Turn, Some(Cost::micros(10_000)));
    let policy = policy.max_time(CapScope::Session, Some(Duration::from_mins(1)));
    let breaker = CircuitBreaker::new(1).pause(Duration::from_hours(1));
    let policy = policy.circuit_breaker(LimitScope::tool("work_0998"), breaker);
    let runtime = Runtime::builder(tools).policy(policy).build()?;
    // Calls of the program itself, which the page has not made.
    let session = runtime
        .session("program", Mode::Text)
        .principal("user:8")
        .await?;
    let event = json!({"title": "Cake", "start_time": "2026-01-31T09:00:00Z", "place": "Video"});
    let calls = ["call_1", "call_2"].map(|id| ToolCall::new(id, "create_event", event.to_string()));
    session.call_all(calls).await;
    // The first one opens a circuit breaker, and the second one is refused by it.
    for id in ["call_3", "call_4"] {
        let failing = ToolCall::new(id, "work_0998", json!({"text": FAILING, "count": 1}));
        session.call(failing).await;
    }
    let inspector = Inspector::new(&runtime).model(Echo);
    // The page of a gateway has no calls without a session.
    let is_governed = std::env::args().nth(1).as_deref() == Some("sessions-only");
    let inspector = if is_governed {
        inspector.sessions_only()
    } else {
        inspector
    };
    record_spans(
        &Collector::builder()
            .keep(0)
            .sink(inspector.span_log())
            .build(),
    );
    let bound = inspector.bind(([127, 0, 0, 1], 0).into()).await?;
    println!("{}", bound.url()?);
    bound.serve().await?;
    Ok(())
}
