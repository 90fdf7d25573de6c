//! Answers of every provider that are damaged on their way, or that say a thing twice.

mod bodies;
mod cut_characters;
mod finishes;
mod lost;
mod once;

use crate::server::{Answer, Server};
use crate::support::quick;
use std::sync::{Arc, Mutex};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::HttpModel;
use tool_core::session::Reply;
use tool_core::{Mode, Policy, RunContext, Runtime, Session, ToolContext, tool};

/// The protocols over HTTP.
const PROVIDERS: [Provider; 9] = [
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Anthropic,
    Provider::Gemini,
    Provider::GeminiJsonSchema,
    Provider::Mistral,
    Provider::Cohere,
    Provider::Ollama,
    Provider::Bedrock,
];

/// The paths that were deleted.
#[derive(Default)]
struct Deleted(Mutex<Vec<String>>);

/// Delete a path.
#[tool(category = "action")]
fn delete_path(ctx: &RunContext, path: String) -> String {
    if let Some(deleted) = ctx.user_data::<Deleted>() {
        deleted.0.lock().expect("not poisoned").push(path.clone());
    }
    format!("{path} is deleted")
}

/// Tell the time.
#[tool(category = "retrieval")]
fn now(ctx: &RunContext) -> &'static str {
    if let Some(deleted) = ctx.user_data::<Deleted>() {
        deleted
            .0
            .lock()
            .expect("not poisoned")
            .push("now".to_owned());
    }
    "12:00"
}

async fn session() -> (Session, Arc<Deleted>) {
    let tools = ToolContext::builder()
        .with(delete_path)
        .with(now)
        .build()
        .expect("builds");
    let runtime = Runtime::builder(tools)
        .policy(Policy::text())
        .build()
        .expect("builds");
    let deleted = Arc::<Deleted>::default();
    let session = runtime
        .session("s-1", Mode::Text)
        .user_data_shared(Arc::clone(&deleted))
        .await
        .expect("opens");
    (session, deleted)
}

/// What a conversation of one prompt has done.
struct Outcome {
    reply: Reply,
    /// The calls that ran, by their path.
    ran: Vec<String>,
    /// The number of requests to the provider.
    requests: usize,
}

/// Prompts a model that plays these answers, one for each request.
async fn play(provider: Provider, answers: impl IntoIterator<Item = Answer>) -> Outcome {
    let server = Server::start(answers).await;
    let (session, deleted) = session().await;
    let model = HttpModel::new(provider, "the-model")
        .base_url(&server.url)
        .api_key("sk-canary")
        .retry(quick());
    let reply = AgentLoop::new(session, model)
        .prompt("Clean up, please.")
        .await;
    let ran = deleted.0.lock().expect("not poisoned").clone();
    Outcome {
        reply,
        ran,
        requests: server.requests().len(),
    }
}
