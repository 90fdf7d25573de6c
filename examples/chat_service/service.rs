//! The requests of the page and of front ends that speak AG-UI.

use crate::conversations::{Agent, Conversations, shown};
use crate::page;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;
use tool_adapters::ag_ui::{RunEvent, RunInput, RunStream};
use tool_adapters::agent::{AgentEvent, AgentInput, AgentLoop, Decision, OpenAgentError};

/// The most bytes of a request.
const MAX_BODY: usize = 1 << 20;

pub(crate) fn router(conversations: Conversations) -> Router {
    Router::new()
        .route("/", get(page::html))
        .route("/page.js", get(page::script))
        .route("/page.css", get(page::style))
        .route("/conversation", get(conversation))
        .route("/message", post(message))
        .route("/decision", post(decision))
        .route("/ag-ui", post(ag_ui))
        .route("/livez", get(async || "ok"))
        .route("/readyz", get(ready))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(conversations)
}

/// A request that is not answered.
enum Failure {
    /// The browser has not opened the page, so that it is no user's.
    NoUser,
    /// The process is about to end.
    Ending,
    /// A call of the conversation may still be running.
    Running,
    /// An error of the service. The client sees no details.
    Service(Box<dyn std::error::Error + Send + Sync>),
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        match error.downcast_ref::<OpenAgentError>() {
            Some(OpenAgentError::Running(_)) => Self::Running,
            _ => Self::Service(error),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::NoUser => (StatusCode::UNAUTHORIZED, "open the page first"),
            Self::Ending => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the service restarts; try again",
            ),
            // After a process was killed in a call, it counts as running for some seconds.
            Self::Running => (
                StatusCode::SERVICE_UNAVAILABLE,
                "a call of the conversation still runs; try again in a moment",
            ),
            Self::Service(error) => {
                eprintln!("{error}");
                let message = "the service has failed; try again";
                (StatusCode::INTERNAL_SERVER_ERROR, message)
            }
        };
        (status, Json(json!({"error": message}))).into_response()
    }
}

/// Returns the user of a request. A real service reads its login here.
fn user(headers: &HeaderMap) -> Result<String, Failure> {
    page::user_of(headers).ok_or(Failure::NoUser)
}

/// Answers 200 while messages can be answered.
async fn ready(State(conversations): State<Conversations>) -> Result<&'static str, Failure> {
    check_not_ending(&conversations)?;
    conversations.runtime().sessions().await?;
    Ok("ready")
}

/// Returns what was said so far, and what waits for a decision.
async fn conversation(
    State(conversations): State<Conversations>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let user = user(&headers)?;
    let agent = conversations.agent(&user).await?;
    let messages = shown(agent.history().messages());
    let waiting = conversations.waiting(&user).await?;
    let body: Value = json!({"messages": messages, "waiting": waiting});
    Ok(Json(body).into_response())
}

#[derive(Deserialize)]
struct Said {
    text: String,
}

/// Replies to a message with a stream of events.
async fn message(
    State(conversations): State<Conversations>,
    headers: HeaderMap,
    Json(said): Json<Said>,
) -> Result<Response, Failure> {
    reply(&conversations, &headers, said.text).await
}

#[derive(Deserialize)]
struct Decided {
    token: String,
    approved: bool,
    /// The arguments that the person has given in place of the model's, as JSON text.
    arguments: Option<String>,
}

/// Runs or denies a call that waits, and replies with a stream of events.
async fn decision(
    State(conversations): State<Conversations>,
    headers: HeaderMap,
    Json(decided): Json<Decided>,
) -> Result<Response, Failure> {
    let decision = match decided.arguments {
        _ if !decided.approved => Decision::deny(decided.token),
        Some(arguments) => Decision::approve(decided.token).with_arguments(arguments),
        None => Decision::approve(decided.token),
    };
    reply(&conversations, &headers, decision).await
}

/// Returns the agent of a user for another answer, unless none may begin.
async fn agent(
    conversations: &Conversations,
    user: &str,
) -> Result<OwnedMutexGuard<Agent>, Failure> {
    check_not_ending(conversations)?;
    // This waits while another answer to the same user goes on.
    let agent = conversations.agent(user).await?;
    check_not_ending(conversations)?;
    Ok(agent)
}

fn check_not_ending(conversations: &Conversations) -> Result<(), Failure> {
    if conversations.runtime().is_draining() {
        return Err(Failure::Ending);
    }
    Ok(())
}

async fn reply(
    conversations: &Conversations,
    headers: &HeaderMap,
    input: impl Into<AgentInput>,
) -> Result<Response, Failure> {
    let user = user(headers)?;
    let agent = agent(conversations, &user).await?;
    // The stream holds the agent. If the client goes away, it is dropped, and the reply is cancelled.
    let conversations = conversations.clone();
    let replying = Arc::clone(OwnedMutexGuard::mutex(&agent));
    let events = AgentLoop::stream_of(agent, input).map(move |event| {
        if let AgentEvent::Finished { reply } = &event
            && let Some(error) = &reply.error
        {
            conversations.note_error(&user, error.kind.as_str(), &replying);
        }
        let json = serde_json::to_string(&event).unwrap_or_default();
        format!("data: {json}\n\n")
    });
    Ok(server_sent(events))
}

/// Replies to a front end that speaks AG-UI.
async fn ag_ui(
    State(conversations): State<Conversations>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Failure> {
    let input = RunInput::from_json(&body).and_then(|run| Ok((run.agent_input()?, run)));
    let (input, run) = match input {
        Ok(input) => input,
        Err(error) => {
            let message = json!({"error": error.to_string()});
            return Ok((StatusCode::BAD_REQUEST, Json(message)).into_response());
        }
    };
    let user = user(&headers)?;
    let agent = agent(&conversations, &user).await?;
    let replying = Arc::clone(OwnedMutexGuard::mutex(&agent));
    let events = RunStream::new(AgentLoop::stream_of(agent, input), &run).map(move |event| {
        if let RunEvent::RunError { code, .. } = &event {
            conversations.note_error(&user, code, &replying);
        }
        event.to_sse()
    });
    Ok(server_sent(events))
}

fn server_sent(events: impl Stream<Item = String> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let body = Body::from_stream(events.map(Ok::<_, Infallible>));
    (headers, body).into_response()
}
