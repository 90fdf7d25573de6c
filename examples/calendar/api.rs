//! The two calls of Google's REST API that the toolset needs, and what its answers mean.
//! <https://developers.google.com/workspace/calendar/api/v3/reference/events>

use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::{Timestamp, ToolError};

/// What can go wrong, in words for the model. The attribute sorts each into an error type of the envelope.
#[derive(Debug, ToolError)]
pub(crate) enum CalendarError {
    #[tool_error(kind = "auth")]
    NoToken,
    #[tool_error(kind = "auth")]
    Denied(String),
    #[tool_error(kind = "rate_limit", retryable)]
    TooMany(String),
    #[tool_error(kind = "conflict")]
    Conflict(String),
    #[tool_error(kind = "transient", retryable)]
    Unavailable(String),
    /// A change was sent and no answer came. It is not retryable, or there might be two events.
    #[tool_error(kind = "transient", retryable = false, partial_side_effects)]
    Unknown(String),
    #[tool_error(kind = "permanent")]
    Refused(String),
}

impl std::fmt::Display for CalendarError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoToken => f.write_str("Google Calendar is not connected: the access token is missing"),
            Self::Unknown(why) => write!(f, "{why}; the event may exist already, list the events before trying again"),
            Self::Denied(why)
            | Self::TooMany(why)
            | Self::Conflict(why)
            | Self::Unavailable(why)
            | Self::Refused(why) => f.write_str(why),
        }
    }
}

/// The client of one calendar.
pub(crate) struct Api {
    http: Client,
    events: Url,
    token: String,
}

/// What `insert` sends.
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
        let attendees = attendees.into_iter().map(|email| json!({"email": email})).collect();
        Self { summary, description, start: json!({"dateTime": start}), end: json!({"dateTime": end}), attendees }
    }
}

impl Api {
    /// The events that Google gives at a time unless told otherwise.
    pub(crate) const PAGE: u32 = 250;

    pub(crate) fn new(base_url: &str, calendar_id: &str, token: String) -> Result<Self, ToolError> {
        let refuse = || ToolError::permanent(format!("base_url `{base_url}` is no address such as https://host/path"));
        let mut events = Url::parse(base_url).map_err(|_| refuse())?;
        // Segment by segment, because the id of a calendar may hold `#` and `@`.
        let mut path = events.path_segments_mut().map_err(|()| refuse())?;
        path.pop_if_empty().extend(["calendars", calendar_id, "events"]);
        drop(path);
        let http = Client::builder().timeout(Duration::from_secs(20)).build();
        let http = http.map_err(|error| ToolError::internal(format!("no HTTP client: {error}")))?;
        Ok(Self { http, events, token })
    }

    pub(crate) async fn events(
        &self,
        time_min: Timestamp,
        time_max: Option<Timestamp>,
        max_results: u32,
    ) -> Result<Vec<Value>, CalendarError> {
        let query = json!({
            "timeMin": time_min, "maxResults": max_results, "singleEvents": true, "orderBy": "startTime",
        });
        let mut request = self.http.get(self.events.clone()).query(&query);
        if let Some(time_max) = time_max {
            request = request.query(&[("timeMax", time_max)]);
        }
        match self.send(request, CalendarError::Unavailable).await?["items"].take() {
            Value::Array(events) => Ok(events),
            _ => Err(CalendarError::Unavailable("Google Calendar sent a list without `items`".into())),
        }
    }

    pub(crate) async fn insert(&self, event: &NewEvent<'_>) -> Result<Value, CalendarError> {
        self.send(self.http.post(self.events.clone()).json(event), CalendarError::Unknown).await
    }

    /// Sends a request. `lost` is what it means if no whole answer comes back.
    async fn send(&self, request: RequestBuilder, lost: fn(String) -> CalendarError) -> Result<Value, CalendarError> {
        if self.token.is_empty() {
            return Err(CalendarError::NoToken);
        }
        let response = request.bearer_auth(&self.token).send().await.map_err(|error| match error.is_connect() {
            true => CalendarError::Unavailable("Google Calendar cannot be reached".into()),
            false => lost(format!("Google Calendar did not answer: {}", error.without_url())),
        })?;
        let status = response.status();
        let body = response.bytes().await.map_err(|_| lost("Google Calendar's answer broke off".into()))?;
        let body = serde_json::from_slice(&body);
        if !status.is_success() {
            return Err(refusal(status, &body.unwrap_or_default()));
        }
        body.map_err(|_| lost("Google Calendar's answer is not JSON".into()))
    }
}

/// What an error answer means: `{"error":{"message":"..","errors":[{"reason":".."}]}}`.
fn refusal(status: StatusCode, body: &Value) -> CalendarError {
    let reason = body["error"]["errors"][0]["reason"].as_str().unwrap_or_default();
    let said = body["error"]["message"].as_str().or(status.canonical_reason()).unwrap_or("no reason given");
    let message = format!("Google Calendar answered {}: {said}", status.as_u16());
    match status.as_u16() {
        403 if matches!(reason, "rateLimitExceeded" | "userRateLimitExceeded" | "quotaExceeded") => {
            CalendarError::TooMany(message)
        }
        401 | 403 => CalendarError::Denied(message),
        409 => CalendarError::Conflict(message),
        429 => CalendarError::TooMany(message),
        408 | 500.. => CalendarError::Unavailable(message),
        _ => CalendarError::Refused(message),
    }
}
