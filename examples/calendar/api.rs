//! The two calls of Google's REST API that the toolset needs.
//! <https://developers.google.com/workspace/calendar/api/v3/reference/events>

use super::error::{CalendarError, refusal, unconnected, unsent};
use reqwest::{StatusCode, Url};
use serde::Serialize;
use serde_json::{Value, json};
use tool_adapters::egress::{EgressRequest, RunContextExt};
use tool_core::tool::AccessToken;
use tool_core::{RunContext, Secret, Timestamp, ToolError};

/// The client of one calendar. Its address is a setting, so the requests go through the egress guard.
pub(crate) struct Api {
    events: Url,
    token: AccessToken,
}

/// The body of `insert`.
#[derive(Serialize)]
pub(crate) struct NewEvent<'a> {
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    start: Value,
    end: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attendees: Vec<Value>,
}

impl<'a> NewEvent<'a> {
    pub(crate) fn new(
        summary: &'a str,
        description: Option<&'a str>,
        start: Timestamp,
        end: Timestamp,
        attendees: Vec<String>,
    ) -> Self {
        let attendees = attendees
            .into_iter()
            .map(|email| json!({"email": email}))
            .collect();
        Self {
            summary,
            description,
            start: json!({"dateTime": start}),
            end: json!({"dateTime": end}),
            attendees,
        }
    }
}

impl Api {
    /// The number of events that Google returns by default.
    pub(crate) const PAGE: u32 = 250;

    pub(crate) fn new(
        base_url: &str,
        calendar_id: &str,
        token: AccessToken,
    ) -> Result<Self, ToolError> {
        let refuse = || {
            ToolError::permanent(format!(
                "base_url `{base_url}` is no address such as https://host/path"
            ))
        };
        let mut events = Url::parse(base_url).map_err(|_| refuse())?;
        // Segment by segment, as the id of a calendar may contain `#` and `@`.
        let mut path = events.path_segments_mut().map_err(|()| refuse())?;
        path.pop_if_empty()
            .extend(["calendars", calendar_id, "events"]);
        drop(path);
        Ok(Self { events, token })
    }

    pub(crate) async fn events(
        &self,
        ctx: &RunContext,
        time_min: Timestamp,
        time_max: Option<Timestamp>,
        max_results: u32,
    ) -> Result<Vec<Value>, CalendarError> {
        let query = json!({
            "timeMin": time_min, "maxResults": max_results, "singleEvents": true, "orderBy": "startTime",
        });
        let mut request = ctx.http().map_err(unsent)?.get(&self.events).query(&query);
        if let Some(time_max) = time_max {
            request = request.query(&[("timeMax", time_max)]);
        }
        match self
            .send(request, CalendarError::Unavailable)
            .await?
            .get_mut("items")
            .map(Value::take)
        {
            Some(Value::Array(events)) => Ok(events),
            _ => Err(CalendarError::Unavailable(
                "Google Calendar sent a list without `items`".into(),
            )),
        }
    }

    pub(crate) async fn insert(
        &self,
        ctx: &RunContext,
        event: &NewEvent<'_>,
    ) -> Result<Value, CalendarError> {
        let request = ctx.http().map_err(unsent)?.post(&self.events).json(event);
        self.send(request, CalendarError::Unknown).await
    }

    /// Sends a request. `lost` makes the error for an incomplete answer.
    async fn send(
        &self,
        request: EgressRequest,
        lost: fn(String) -> CalendarError,
    ) -> Result<Value, CalendarError> {
        let token = self
            .token
            .get()
            .await
            .map_err(|error| unconnected(&error))?;
        let send = async |request: EgressRequest, token: &Secret| {
            request
                .bearer_auth(token.expose())
                .send()
                .await
                .map_err(|error| {
                    if error.was_sent() {
                        lost(format!("Google Calendar did not answer: {error}"))
                    } else {
                        unsent(error)
                    }
                })
        };
        let again = request.try_clone();
        let mut response = send(request, &token).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(again) = again
            && let Ok(other) = self.token.rejected(&token).await
        {
            // The token was revoked before it expired.
            response = send(again, &other).await?;
        }
        let status = response.status();
        let body = response.bytes().await;
        let body =
            body.map_err(|error| lost(format!("Google Calendar's answer is incomplete: {error}")))?;
        let body = serde_json::from_slice(&body);
        if !status.is_success() {
            return Err(refusal(status, &body.unwrap_or_default()));
        }
        body.map_err(|_| lost("Google Calendar's answer is not JSON".into()))
    }
}
