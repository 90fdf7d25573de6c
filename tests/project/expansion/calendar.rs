//! A toolset with one async tool of five parameters, whose expansion is in `calendar.txt`.

use tool_core::{Timestamp, ToolError, toolset};

#[derive(Default)]
pub struct Calendar;

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
    ) -> Result<String, ToolError> {
        let _ = (start_time, duration_minutes, attendees, description);
        Ok(title)
    }
}
