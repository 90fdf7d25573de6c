//! A server that records its requests, and documents for it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tool_adapters::egress::{EgressClient, EgressPolicy};
use tool_adapters::openapi::{OpenApi, OpenApiToolset};
use tool_core::{RunContext, ToolContext, ToolResponse};

/// A request as the server saw it: nothing is decoded.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .get(name)
            .map(|value| value.to_str().expect("ASCII"))
    }

    /// Returns the pairs of the query as a server decodes them.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        pairs(&self.query)
    }
}

/// Decodes a query or a form.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let url = reqwest::Url::parse(&format!("http://a.example/?{text}")).expect("a URL");
    url.query_pairs()
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// The answer to a request: the status, headers and the body.
pub(crate) type Answer = (u16, Vec<(&'static str, String)>, String);

type Answers = dyn Fn(&Seen) -> Answer + Send + Sync;

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    answers: Arc<Answers>,
}

impl Server {
    /// Starts a server that answers `{"ok": true}`.
    pub(crate) async fn start() -> Self {
        Self::answering(|_| {
            (
                200,
                vec![("content-type", "application/json".to_owned())],
                r#"{"ok":true}"#.to_owned(),
            )
        })
        .await
    }

    pub(crate) async fn answering(
        answers: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("binds");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Self {
            url,
            seen: Arc::default(),
            answers: Arc::new(answers),
        };
        let router = Router::new().fallback(handle).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("not poisoned").clone()
    }

    pub(crate) fn last(&self) -> Seen {
        self.seen().pop().expect("a request")
    }
}

async fn handle(State(server): State<Server>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("a body");
    let seen = Seen {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).expect("UTF-8"),
    };
    let (status, headers, body) = (server.answers)(&seen);
    server.seen.lock().expect("not poisoned").push(seen);
    let mut response = Response::builder().status(StatusCode::from_u16(status).expect("a status"));
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response
        .header(header::CONNECTION, "close")
        .body(Body::from(body))
        .expect("an answer")
}

/// Returns a document with these paths and components.
pub(crate) fn document(paths: &Value, components: &Value) -> Value {
    json!({"openapi": "3.1.0", "info": {"title": "Test", "version": "1"}, "paths": paths, "components": components})
}

/// Returns the toolset of a document at a server.
pub(crate) fn at(server: &Server, paths: &Value) -> OpenApiToolset {
    OpenApi::from_value(document(paths, &json!({})))
        .expect("a document")
        .base_url(&server.url)
        .toolset("test")
        .expect("sound")
}

pub(crate) fn context() -> RunContext {
    let client = EgressClient::new(EgressPolicy::new().allow_loopback()).expect("builds");
    RunContext::builder().user_data(client).build()
}

/// Calls a tool.
pub(crate) async fn call(toolset: OpenApiToolset, name: &str, arguments: &Value) -> ToolResponse {
    assert!(toolset.refused().is_empty(), "{:?}", toolset.refused());
    let tools = ToolContext::builder()
        .with(toolset)
        .build()
        .expect("sound tools");
    tools.call(name, arguments.to_string(), &context()).await
}
