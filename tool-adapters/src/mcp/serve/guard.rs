//! The MCP server's guard: who may speak, as for every server of ours, and in what form.

use super::settings::Settings;
use super::strict::{self, PARAMS};
use crate::names::{Names, forbidden};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// What is let through.
pub(super) struct Guard {
    names: Names,
    max_message: usize,
}

impl Guard {
    pub(super) fn of(settings: &Settings) -> Self {
        let names = Names::of(settings.hosts.clone(), settings.origins.clone());
        Self { names, max_message: settings.max_message }
    }
}

/// The layer.
pub(super) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Some(why) = guard.names.refuses(request.uri(), request.headers()) {
        return forbidden(why);
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, guard.max_message).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, format!("a message has at most {} bytes", guard.max_message))
            .into_response();
    };
    match strict::read(&bytes) {
        Ok(_) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(refused) => {
            let status = if refused.code == PARAMS { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            (status, [(header::CONTENT_TYPE, "application/json")], refused.to_json()).into_response()
        }
    }
}
