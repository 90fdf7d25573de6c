//! Stands in for two providers: answers every question with a recorded response.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use tokio::net::TcpListener;

const OPENAI: &str = include_str!("recorded/openai_chat.json");
const ANTHROPIC: &str = include_str!("recorded/anthropic.json");

/// Serves on a free port of this machine until the process ends, and says where.
pub(crate) async fn start() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    let answer = |response: &'static str| post(async move || ([(CONTENT_TYPE, "application/json")], response));
    let router = Router::new().route("/v1/chat/completions", answer(OPENAI)).route("/v1/messages", answer(ANTHROPIC));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(base_url)
}
