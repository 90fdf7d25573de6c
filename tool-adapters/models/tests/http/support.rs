//! A session with a tool, and models that send requests to the test's server.

use crate::server::Server;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::providers::Event;
use tool_adapters::transport::http::HttpModel;
use tool_core::session::ToolSearch;
use tool_core::trace::SpanRecord;
use tool_core::{Mode, Policy, RunContext, Runtime, Session, ToolContext, tool};

/// Counts the runs of the tool.
#[derive(Default)]
pub(crate) struct Runs(AtomicU32);

/// Add two numbers.
#[tool]
fn add(ctx: &RunContext, a: i64, b: i64) -> i64 {
    if let Some(runs) = ctx.user_data::<Runs>() {
        runs.0.fetch_add(1, Ordering::Relaxed);
    }
    a + b
}

pub(crate) async fn session() -> (Session, Arc<Runs>) {
    session_with(Policy::text()).await
}

/// A session whose model has to find the tool.
pub(crate) async fn searched_session() -> (Session, Arc<Runs>) {
    session_with(Policy::text().search_tools(ToolSearch::over_tools(0))).await
}

async fn session_with(policy: Policy) -> (Session, Arc<Runs>) {
    let tools = ToolContext::builder().with(add).build().expect("builds");
    let runtime = Runtime::builder(tools)
        .policy(policy)
        .build()
        .expect("builds");
    let runs = Arc::<Runs>::default();
    let session = runtime
        .session("s-1", Mode::Text)
        .user_data_shared(Arc::clone(&runs))
        .await
        .expect("opens");
    (session, runs)
}

impl Runs {
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Retries at once.
pub(crate) fn quick() -> RetryPolicy {
    RetryPolicy {
        initial: Duration::from_millis(1),
        max: Duration::from_millis(2),
        ..RetryPolicy::default()
    }
}

pub(crate) fn model(provider: Provider, server: &Server) -> HttpModel {
    HttpModel::new(provider, "the-model")
        .base_url(&server.url)
        .api_key("sk-canary")
        .retry(quick())
}

/// Creates a conversation in Chat Completions.
pub(crate) async fn chat(server: &Server) -> (AgentLoop<HttpModel>, Arc<Runs>) {
    let (session, runs) = session().await;
    (
        AgentLoop::new(session, model(Provider::OpenAiChat, server)),
        runs,
    )
}

/// Records the events that a host sees.
#[derive(Clone, Default)]
pub(crate) struct EventRecorder(Arc<Mutex<Vec<Event>>>);

impl EventRecorder {
    pub(crate) fn listener(&self) -> impl FnMut(&Event) + Send + 'static {
        let events = Arc::clone(&self.0);
        move |event| events.lock().expect("not poisoned").push(event.clone())
    }

    pub(crate) fn text(&self) -> String {
        let events = self.0.lock().expect("not poisoned");
        events
            .iter()
            .filter_map(|event| {
                if let Event::Text(text) = event {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect()
    }

    /// Waits for the first text.
    pub(crate) async fn wait_for_text(&self) {
        let waiting = async {
            while self.text().is_empty() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(10), waiting)
            .await
            .expect("a text");
    }
}

/// Returns a span's attributes as a JSON object.
pub(crate) fn attributes(span: &SpanRecord) -> Value {
    span.attributes()
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect::<Map<_, _>>()
        .into()
}
