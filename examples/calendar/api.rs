//! The two calls of Google's REST API that the toolset needs.
//! <https://developers.google.com/workspace/calendar/api/v3/reference/events>

use super::error::{CalendarError, cause, refusal, unconnected};
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::tool::AccessToken;
use tool_core::{Secret, Timestamp, ToolError};

/// The client of one calendar.
pub(crate) struct Api {
    http: Client,
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
        let attendees = attendees.into_iter().map(|email| json!({"email": email})).collect();
        Self { summary, description, start: json!({"dateTime": start}), end: json!({"dateTime": end}), attendees }
    }
}

impl Api {
    /// The number of events that Google returns by default.
    pub(crate) const PAGE: u32 = 250;

    pub(crate) fn new(base_url: &str, calendar_id: &str, token: AccessToken) -> Result<Self, ToolError> {
        let refuse = || ToolError::permanent(format!("base_url `{base_url}` is no address such as https://host/path"));
        let mut events = Url::parse(base_url).map_err(|_| refuse())?;
        // Segment by segment, as the id of a calendar may contain `#` and `@`.
        let mut path = events.path_segments_mut().map_err(|()| refuse())?;
        path.pop_if_empty().extend(["calendars", calendar_id, "events"]);
        drop(path);
        let http = Client::builder().timeout(Duration::from_secs(20));
        // Plain HTTP is for a local server: it needs no root certificates and no proxy.
        let http = if events.scheme() == "http" { http.tls_certs_only([]).no_proxy() } else { http };
        let http = http.build().map_err(|error| ToolError::permanent(format!("no HTTP client: {}", cause(&error))))?;
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
        match self.send(request, CalendarError::Unavailable).await?.get_mut("items").map(Value::take) {
            Some(Value::Array(events)) => Ok(events),
            _ => Err(CalendarError::Unavailable("Google Calendar sent a list without `items`".into())),
        }
    }

    pub(crate) async fn insert(&self, event: &NewEvent<'_>) -> Result<Value, CalendarError> {
        self.send(self.http.post(self.events.clone()).json(event), CalendarError::Unknown).await
    }

    /// Sends a request. `lost` makes the error for an incomplete answer.
    async fn send(&self, request: RequestBuilder, lost: fn(String) -> CalendarError) -> Result<Value, CalendarError> {
        let token = self.token.get().await.map_err(|error| unconnected(&error))?;
        let send = async |request: RequestBuilder, token: &Secret| {
            request.bearer_auth(token.expose()).send().await.map_err(|error| {
                let why = cause(&error);
                if error.is_connect() {
                    CalendarError::Unavailable(format!("Google Calendar cannot be reached: {why}"))
                } else {
                    lost(format!("Google Calendar did not answer: {why}"))
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
        let body = response.bytes().await.map_err(|_| lost("Google Calendar's answer broke off".into()))?;
        let body = serde_json::from_slice(&body);
        if !status.is_success() {
            return Err(refusal(status, &body.unwrap_or_default()));
        }
        body.map_err(|_| lost("Google Calendar's answer is not JSON".into()))
    }
}
