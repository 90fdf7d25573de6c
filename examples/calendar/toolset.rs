//! The toolset, with everything that the model sees of it.

use super::api::{Api, NewEvent};
use super::config::Config;
use super::error::CalendarError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use tool_core::{Auth, RunContext, Timestamp, toolset};

pub(crate) struct GoogleCalendar {
    pub(crate) config: Config,
    pub(crate) api: Api,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Events {
    /// Events as Google describes them, the earliest first
    events: Vec<Value>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Availability {
    available: bool,
    /// The events that are in the way
    conflicts: Vec<Value>,
}

/// Manage Google Calendar events, check availability and schedule meetings.
#[toolset(
    name = "google_calendar",
    title = "Google Calendar",
    auth = Auth::oauth2(
        "google",
        ["https://www.googleapis.com/auth/calendar.events", "https://www.googleapis.com/auth/calendar.readonly"],
        "https://accounts.google.com/o/oauth2/v2/auth",
        "https://oauth2.googleapis.com/token",
    ),
)]
impl GoogleCalendar {
    /// List the events of a period, the earliest first.
    ///
    /// # Returns
    /// The events, as Google describes them
    #[tool(category = "retrieval")]
    pub(crate) async fn list_events(
        &self,
        ctx: &RunContext,
        /// Only events that end after this instant, RFC 3339
        time_min: Timestamp,
        /// Only events that start before this instant, RFC 3339
        time_max: Option<Timestamp>,
        /// Maximum number of events
        #[arg(default = 10, range(1..=100))]
        max_results: u32,
    ) -> Result<Events, CalendarError> {
        let events = self
            .api
            .events(ctx, time_min, time_max, max_results)
            .await?;
        Ok(Events { events })
    }

    /// Create a new calendar event.
    ///
    /// # Returns
    /// The event, as Google saved it
    #[tool(category = "action", confirm = self.config.confirm_events)]
    pub(crate) async fn create_event(
        &self,
        ctx: &RunContext,
        /// Event title
        title: &str,
        /// Start of the event, RFC 3339
        start_time: Timestamp,
        /// Length in minutes
        #[arg(default = self.config.default_event_duration, range(5..=480))]
        duration_minutes: u32,
        /// E-mail addresses of the people to invite
        #[arg(format = "email")]
        attendees: Option<Vec<String>>,
        /// Text shown in the event
        description: Option<&str>,
    ) -> Result<Value, CalendarError> {
        let end_time = after(start_time, duration_minutes)?;
        let attendees = attendees.unwrap_or_default();
        self.api
            .insert(
                ctx,
                &NewEvent::new(title, description, start_time, end_time, attendees),
            )
            .await
    }

    /// Check whether a period is free, and what is in the way if it is not.
    ///
    /// # Returns
    /// True if the time is free, and the events that overlap it
    #[tool(category = "retrieval")]
    pub(crate) async fn check_availability(
        &self,
        ctx: &RunContext,
        /// Start of the period, RFC 3339
        date: Timestamp,
        /// Length in minutes
        #[arg(default = 30, range(15..=240))]
        duration_minutes: u32,
    ) -> Result<Availability, CalendarError> {
        let end = after(date, duration_minutes)?;
        let mut conflicts = self.api.events(ctx, date, Some(end), Api::PAGE).await?;
        // A transparent event, such as a birthday, blocks no time.
        conflicts.retain(|event| event["transparency"] != "transparent");
        Ok(Availability {
            available: conflicts.is_empty(),
            conflicts,
        })
    }
}

fn after(start: Timestamp, minutes: u32) -> Result<Timestamp, CalendarError> {
    let length = Duration::from_secs(60 * u64::from(minutes));
    let end = start
        .checked_add(length)
        .map_err(|_| CalendarError::Refused("the end lies beyond the year 9999".into()))?;
    Ok(end.into())
}
