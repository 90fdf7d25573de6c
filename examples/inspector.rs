//! Tries tools in a browser: `cargo run --example inspector` prints the address of a page and serves it until Ctrl-C.
//!
//! The first argument is another address to listen on, such as `127.0.0.1:0` for any free port.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use tool_adapters::inspector::Inspector;
use tool_core::{Category, Policy, Runtime, Timestamp, ToolContext, ToolError, tool_type, toolset};

/// A calendar in memory.
#[derive(Default)]
struct Calendar {
    events: Mutex<BTreeMap<u32, Event>>,
}

/// An event of the calendar.
#[tool_type]
#[derive(Clone)]
struct Event {
    title: String,
    start_time: Timestamp,
    minutes: u32,
    place: Place,
    guests: Vec<Guest>,
}

/// A person who is invited.
#[tool_type]
#[derive(Clone)]
struct Guest {
    /// The address for the invitation
    #[schemars(email)]
    email: String,
    /// True if the event moves when the person cannot come
    #[serde(default)]
    is_required: bool,
}

/// The place of an event.
#[tool_type]
#[derive(Clone)]
enum Place {
    /// A room of the office
    Room(String),
    /// A call by video
    Video,
}

/// The order of a list.
#[tool_type]
#[derive(Clone, Copy, Default)]
enum Order {
    #[default]
    Earliest,
    Latest,
}

#[toolset(name = "calendar", discover = false)]
impl Calendar {
    /// List the events of the calendar.
    #[tool(category = "retrieval")]
    fn list_events(
        &self,
        /// Only events whose title contains this text
        search: Option<&str>,
        /// Order of the list
        #[arg(default)]
        order: Order,
        /// Maximum number of events
        #[arg(default = 10, range(1..=100))]
        max_results: usize,
    ) -> Vec<Event> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = events.values().cloned().collect::<Vec<_>>();
        found.retain(|event| search.is_none_or(|text| event.title.contains(text)));
        found.sort_by_key(|event| event.start_time);
        if matches!(order, Order::Latest) {
            found.reverse();
        }
        found.truncate(max_results);
        found
    }

    /// Create an event, and invite its guests.
    #[tool(category = "action", confirm)]
    fn create_event(
        &self,
        /// Title of the event
        title: String,
        /// Start of the event
        start_time: Timestamp,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Place of the event
        place: Place,
        /// People to invite
        #[arg(default)]
        guests: Vec<Guest>,
    ) -> u32 {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let id = events.keys().next_back().map_or(1, |last| last + 1);
        events.insert(
            id,
            Event {
                title,
                start_time,
                minutes: duration_minutes,
                place,
                guests,
            },
        );
        id
    }

    /// Delete an event.
    #[tool(category = "action", destructive, max_calls = 2)]
    fn delete_event(
        &self,
        /// Number of the event
        id: u32,
    ) -> Result<Event, ToolError> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.remove(&id).ok_or_else(|| {
            ToolError::permanent(format!("no event has the number {id}; list the events"))
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:7411".to_owned())
        .parse::<SocketAddr>()?;
    let tools = ToolContext::builder().with(Calendar::default()).build()?;
    let policy = Policy::text()
        .max_calls(Some(10))
        .category_budget(Category::Retrieval, Some(5));
    let runtime = Runtime::builder(tools).policy(policy).build()?;

    let bound = Inspector::new(&runtime)
        .trace_process()
        .bind(address)
        .await?;
    println!("{}", bound.url()?);
    bound.serve().await?;
    Ok(())
}
