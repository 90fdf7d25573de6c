use tool_core::{Timestamp, ToolError, tool_type, toolset};

#[derive(Default)]
pub struct Calendar;

#[tool_type]
pub struct Event {
    pub id: u64,
}

/// Manages events.
#[toolset]
impl Calendar {
    /// Create a new calendar event.
    #[tool(category = "action", confirm, timeout = "5s")]
    async fn create_event(
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
        let _ = (title, start_time, duration_minutes, attendees, description);
        Ok(Event { id: 7 })
    }
}
