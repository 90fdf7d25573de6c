//! A server that records its requests, and the tools that use it.

use crate::config::Secrets;
use crate::server;
use crate::toolset::GoogleCalendar;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::{Json, Router};
use serde_json::{Value, from_value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tool_adapters::egress::{EgressClient, EgressPolicy};
use tool_core::tool::{AccessToken, TokenSource};
use tool_core::{Configure, RunContext, ToolContext, ToolError, ToolResponse};

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) authorization: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) body: Value,
}

pub(crate) struct Calendar {
    pub(crate) tools: ToolContext,
    ctx: RunContext,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Calendar {
    /// Uses the server of the example.
    pub(crate) async fn new() -> Self {
        Self::with(
            server::router(),
            json!({}),
            json!({"access_token": "secret-token"}),
        )
        .await
    }

    /// Uses a server with one answer to every request.
    pub(crate) async fn answering(status: u16, body: Value) -> Self {
        let answer = (StatusCode::from_u16(status).unwrap(), Json(body));
        let router = Router::new().fallback(move || std::future::ready(answer.clone()));
        Self::with(router, json!({}), json!({"access_token": "secret-token"})).await
    }

    pub(crate) async fn with(router: Router, mut config: Value, secrets: Value) -> Self {
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let log = Arc::clone(&seen);
        let remember = from_fn(move |request, next| remember(Arc::clone(&log), request, next));
        config["base_url"] = server::start_at(0, router.layer(remember))
            .await
            .unwrap()
            .into();
        Self::of(configured(config, secrets).await.unwrap(), seen)
    }

    /// Uses a token of this source, which the server accepts if it is `fresh`.
    pub(crate) async fn accepting_fresh(source: impl TokenSource) -> Self {
        let answer = |headers: HeaderMap| async move {
            let is_fresh = headers
                .get("authorization")
                .is_some_and(|token| token == "Bearer fresh");
            (
                if is_fresh {
                    StatusCode::OK
                } else {
                    StatusCode::UNAUTHORIZED
                },
                Json(json!({"items": []})),
            )
        };
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let log = Arc::clone(&seen);
        let remember = from_fn(move |request, next| remember(Arc::clone(&log), request, next));
        let base_url = server::start_at(0, Router::new().fallback(answer).layer(remember))
            .await
            .unwrap();
        let config = from_value(json!({"base_url": base_url})).unwrap();
        let secrets = Secrets {
            access_token: AccessToken::live(Arc::new(source)),
        };
        Self::of(
            GoogleCalendar::configure(config, secrets).await.unwrap(),
            seen,
        )
    }

    fn of(calendar: GoogleCalendar, seen: Arc<Mutex<Vec<Seen>>>) -> Self {
        let ctx = RunContext::builder().user_data(local_egress()).build();
        Self {
            tools: ToolContext::builder().with(calendar).build().unwrap(),
            ctx,
            seen,
        }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolResponse {
        self.tools.call(name, arguments, &self.ctx).await
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the body of the only request.
    pub(crate) fn only_request(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }
}

/// Returns a client that reaches this machine.
pub(crate) fn local_egress() -> EgressClient {
    EgressClient::new(EgressPolicy::new().allow_loopback()).unwrap()
}

/// Builds the toolset from settings, as a form sends them.
pub(crate) async fn configured(config: Value, secrets: Value) -> Result<GoogleCalendar, ToolError> {
    GoogleCalendar::configure(from_value(config).unwrap(), from_value(secrets).unwrap()).await
}

async fn remember(
    log: Arc<Mutex<Vec<Seen>>>,
    request: Request,
    next: Next,
) -> axum::response::Response {
    let (head, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let uri = axum::extract::Query::<BTreeMap<String, String>>::try_from_uri(&head.uri);
    log.lock().unwrap().push(Seen {
        line: format!("{} {}", head.method, head.uri.path()),
        authorization: head
            .headers
            .get("authorization")
            .map_or("", |value| value.to_str().unwrap())
            .to_owned(),
        query: uri.unwrap().0,
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    });
    next.run(Request::from_parts(head, Body::from(bytes))).await
}
