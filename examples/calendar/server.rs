//! A local server with two routes of the Google Calendar API, so that the example runs offline.
//!
//! An event titled `Fail with 429` is answered with that status.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tool_core::Timestamp;

type Events = Arc<Mutex<Vec<Value>>>;

pub(crate) fn router() -> Router {
    let events = get(list).post(insert);
    Router::new()
        .route("/calendars/{calendar}/events", events)
        .layer(from_fn(authorized))
        .with_state(Events::default())
}

/// Serves on a local port until the process ends, and returns the address. 0 is a free port.
pub(crate) async fn start_at(port: u16, router: Router) -> std::io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(base_url)
}

async fn authorized(request: Request, next: Next) -> Response {
    let token = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    match token.and_then(|value| value.strip_prefix("Bearer ")) {
        Some(token) if !token.is_empty() => next.run(request).await,
        _ => Failure(
            401,
            "Request is missing required authentication credential.",
        )
        .into_response(),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    time_min: Option<Timestamp>,
    time_max: Option<Timestamp>,
    max_results: Option<usize>,
    #[serde(default)]
    single_events: bool,
    order_by: Option<String>,
}

async fn list(
    Path(calendar): Path<String>,
    State(events): State<Events>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Json<Value>, Failure> {
    known(&calendar)?;
    let Query(query) = query.map_err(|_| Failure(400, "Bad Request"))?;
    if query
        .order_by
        .is_some_and(|order| order == "startTime" && !query.single_events)
    {
        return Err(Failure(
            400,
            "The requested ordering is not available for the particular query.",
        ));
    }
    if query
        .time_min
        .zip(query.time_max)
        .is_some_and(|(min, max)| min >= max)
    {
        return Err(Failure(400, "The specified time range is empty."));
    }
    let overlaps = |event: &&Value| {
        time(event, "end")
            .zip(time(event, "start"))
            .is_some_and(|(end, start)| {
                query.time_min.is_none_or(|min| end > min)
                    && query.time_max.is_none_or(|max| start < max)
            })
    };
    let events = events.lock().unwrap_or_else(PoisonError::into_inner);
    let mut items: Vec<Value> = events.iter().filter(overlaps).cloned().collect();
    items.sort_by_key(|event| time(event, "start"));
    items.truncate(query.max_results.unwrap_or(250));
    Ok(Json(
        json!({"kind": "calendar#events", "summary": calendar, "items": items}),
    ))
}

async fn insert(
    Path(calendar): Path<String>,
    State(events): State<Events>,
    Json(mut event): Json<Value>,
) -> Result<Json<Value>, Failure> {
    known(&calendar)?;
    let failure = event["summary"]
        .as_str()
        .and_then(|title| title.strip_prefix("Fail with "));
    if let Some(status) = failure.and_then(|status| status.parse().ok()) {
        return Err(Failure(status, "Failed because the title says so."));
    }
    match time(&event, "start").zip(time(&event, "end")) {
        None => return Err(Failure(400, "Missing end time.")),
        Some((start, end)) if start >= end => {
            return Err(Failure(400, "The specified time range is empty."));
        }
        Some(_) => {}
    }
    let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
    event["kind"] = "calendar#event".into();
    event["id"] = format!("event{}", events.len() + 1).into();
    event["status"] = "confirmed".into();
    events.push(event.clone());
    Ok(Json(event))
}

fn known(calendar: &str) -> Result<(), Failure> {
    if calendar == "primary" {
        Ok(())
    } else {
        Err(Failure(404, "Not Found"))
    }
}

fn time(event: &Value, edge: &str) -> Option<Timestamp> {
    event[edge]["dateTime"].as_str()?.parse().ok()
}

/// An error in Google's format.
struct Failure(u16, &'static str);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self(code, message) = self;
        let reason = match code {
            401 => "authError",
            403 | 429 => "rateLimitExceeded",
            404 => "notFound",
            409 => "duplicate",
            500.. => "backendError",
            _ => "badRequest",
        };
        let errors = json!([{"domain": "global", "reason": reason, "message": message}]);
        let body = json!({"error": {"code": code, "message": message, "errors": errors}});
        (
            StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            Json(body),
        )
            .into_response()
    }
}
