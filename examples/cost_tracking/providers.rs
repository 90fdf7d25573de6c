//! A local server that answers like two providers, with recorded responses.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use tokio::net::TcpListener;

const OPENAI: &str = include_str!("recorded/openai_chat.json");
const ANTHROPIC: &str = include_str!("recorded/anthropic.json");

/// Serves on a free local port until the process ends, and returns the address.
pub(crate) async fn start() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    let answer = |response: &'static str| {
        post(async move || ([(CONTENT_TYPE, "application/json")], response))
    };
    let router = Router::new()
        .route("/v1/chat/completions", answer(OPENAI))
        .route("/v1/messages", answer(ANTHROPIC));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(base_url)
}
