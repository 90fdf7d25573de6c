//! The size of an expansion.

use super::{pretty, tokens};
use crate::driver;

const LINES: usize = 90;

fn lines(source: &str) -> usize {
    pretty(&driver::toolset(tokens(""), &tokens(source)))
        .lines()
        .count()
}

#[test]
fn a_tool_of_five_parameters_adds_at_most_90_lines() {
    let tool = r#"
        /// Create a new calendar event.
        #[tool(category = "action", confirm, timeout = "5s")]
        async fn create_event(
            &self,
            ctx: &RunContext,
            /// Event title
            title: String,
            /// Start of the event, RFC 3339
            start_time: Timestamp,
            /// Length in minutes
            #[arg(default = 30, range(5..=480))] duration_minutes: u32,
            /// Addresses of the attendees
            attendees: Option<Vec<String>>,
            /// Text shown in the event
            description: Option<&str>,
        ) -> Result<Event, CalendarError> { todo!() }"#;
    let other = "/// Ping.\n #[tool] fn ping(&self) {}";
    // The user's own lines do not count: the doc comment, the signature and the body.
    let added = lines(&format!("impl Calendar {{ {other} {tool} }}"))
        - lines(&format!("impl Calendar {{ {other} }}"));
    let written = pretty(&tokens("impl Calendar { /// Create a new calendar event.\n async fn create_event( &self, ctx: &RunContext, title: String, start_time: Timestamp, duration_minutes: u32, attendees: Option<Vec<String>>, description: Option<&str>) -> Result<Event, CalendarError> { todo!() } }")).lines().count() - 2;
    println!("{} lines", added - written);
    assert!(added - written <= LINES, "{} lines", added - written);
}
