//! The methods. Tools and floors call the same bodies.

// Tools take owned values and `&self` because that is what tools look like.
#![allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_core::{RunContext, Timestamp, ToolError, toolset};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Event {
    id: u64,
    title: String,
    start_time: String,
    duration_minutes: u32,
    attendees: usize,
    described: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Record {
    id: u64,
    name: String,
    score: f64,
    active: bool,
    note: Option<String>,
}

/// The body of each `create_event`.
#[inline(never)]
pub(crate) fn create(
    title: String,
    start_time: String,
    duration_minutes: u32,
    attendees: Option<Vec<String>>,
    description: Option<&str>,
) -> Result<Event, ToolError> {
    if title.is_empty() {
        return Err(ToolError::permanent("an event has a title"));
    }
    let attendees = attendees.map_or(0, |all| all.len());
    Ok(Event { id: 7, title, start_time, duration_minutes, attendees, described: description.is_some() })
}

/// The same of an instant.
#[inline(never)]
pub(crate) fn create_at(
    title: String,
    start_time: Timestamp,
    duration_minutes: u32,
    attendees: Option<Vec<String>>,
    description: Option<&str>,
) -> Result<Event, ToolError> {
    let start_time = if start_time.as_second() > 0 { "later" } else { "long ago" };
    create(title, start_time.to_owned(), duration_minutes, attendees, description)
}

/// The body of `batch`.
#[inline(never)]
pub(crate) fn total(records: Vec<Record>) -> u64 {
    let weigh = |record: &Record| {
        let note = record.note.as_ref().map_or(0, String::len);
        record.id + record.name.len() as u64 + u64::from(record.active) + u64::from(record.score > 1.0) + note as u64
    };
    records.iter().map(weigh).sum()
}

#[derive(Default)]
pub(crate) struct Calendar;

/// Manage events.
#[toolset(name = "calendar")]
impl Calendar {
    /// Create a new calendar event.
    #[tool(category = "action")]
    fn create_event(
        &self,
        /// Event title
        title: String,
        /// Start of the event, RFC 3339
        start_time: String,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Addresses of the attendees
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<&str>,
    ) -> Result<Event, ToolError> {
        create(title, start_time, duration_minutes, attendees, description)
    }

    /// Create a new calendar event.
    #[tool(category = "action")]
    async fn create_event_async(
        &self,
        /// Event title
        title: String,
        /// Start of the event, RFC 3339
        start_time: String,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Addresses of the attendees
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<&str>,
    ) -> Result<Event, ToolError> {
        create(title, start_time, duration_minutes, attendees, description)
    }

    /// Create a new calendar event.
    #[tool(category = "action")]
    fn create_event_owned(
        &self,
        /// Event title
        title: String,
        /// Start of the event, RFC 3339
        start_time: String,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Addresses of the attendees
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<String>,
    ) -> Result<Event, ToolError> {
        create(title, start_time, duration_minutes, attendees, description.as_deref())
    }

    /// Create a new calendar event.
    #[tool(category = "action")]
    async fn create_event_owned_async(
        &self,
        /// Event title
        title: String,
        /// Start of the event, RFC 3339
        start_time: String,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Addresses of the attendees
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<String>,
    ) -> Result<Event, ToolError> {
        create(title, start_time, duration_minutes, attendees, description.as_deref())
    }

    /// Create a new calendar event.
    #[tool(category = "action")]
    fn create_event_context(
        &self,
        _ctx: &RunContext,
        /// Event title
        title: String,
        /// Start of the event, RFC 3339
        start_time: String,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Addresses of the attendees
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<&str>,
    ) -> Result<Event, ToolError> {
        create(title, start_time, duration_minutes, attendees, description)
    }

    /// Create a new calendar event.
    #[tool(category = "action")]
    async fn create_event_context_async(
        &self,
        _ctx: &RunContext,
        /// Event title
        title: String,
        /// Start of the event, RFC 3339
        start_time: String,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Addresses of the attendees
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<&str>,
    ) -> Result<Event, ToolError> {
        create(title, start_time, duration_minutes, attendees, description)
    }

    /// Create a new calendar event.
    #[tool(category = "action")]
    fn create_event_timestamp(
        &self,
        /// Event title
        title: String,
        /// Start of the event, RFC 3339
        start_time: Timestamp,
        /// Length in minutes
        #[arg(default = 30, range(5..=480))]
        duration_minutes: u32,
        /// Addresses of the attendees
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<&str>,
    ) -> Result<Event, ToolError> {
        create_at(title, start_time, duration_minutes, attendees, description)
    }

    /// Do nothing.
    #[tool]
    fn noop(&self) {}

    /// Do nothing, later.
    #[tool]
    async fn noop_async(&self) {}

    /// Take a list of records.
    #[tool]
    fn batch(
        &self,
        /// The records
        records: Vec<Record>,
    ) -> u64 {
        total(records)
    }
}
