//! The methods.

// Tools take owned values and `&self` because that is what tools look like.
#![allow(
    clippy::needless_pass_by_value,
    clippy::unused_async,
    clippy::unused_self
)]

use schemars::JsonSchema;
use serde::Serialize;
use tool_core::{RunContext, ToolError, toolset};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Event {
    id: u64,
    title: String,
    start_time: String,
    duration_minutes: u32,
    attendees: usize,
    described: bool,
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
    Ok(Event {
        id: 7,
        title,
        start_time,
        duration_minutes,
        attendees,
        described: description.is_some(),
    })
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

    /// Do nothing.
    #[tool]
    fn noop(&self) {}
}
