//! A chat service: a page, one conversation a user, streamed answers, and approvals by a second request.
//!
//! `cargo run --example chat_service --features chat_service` prints the address of the page and serves it. Without a key, a
//! model that knows a few words answers. With `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` a real one does, and `CHAT_MODEL` names it.
//!
//! Conversations are in memory. With `CHAT_DB`, the name of a file, they go on after a restart, in the middle of an answer too.
//! With `CHAT_SIGNING_KEY`, 32 bytes, an approval also waits for the next process.
//!
//! SIGTERM and Ctrl-C let the answers that have begun finish. `/livez` and `/readyz` are for the machines that watch it.
//!
//! The first argument is another address to listen on, such as `127.0.0.1:0` for any free port.

mod chat_model;
mod conversations;
mod demo_model;
mod ending;
mod page;
mod service;
mod tools;

use crate::conversations::Conversations;
use std::env;
use std::error::Error;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let address = env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8080")).await?;
    let conversations = Conversations::from_env().await?;
    let finished = ending::finished(conversations.runtime().clone());
    let router = service::router(conversations);
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, router)
        .with_graceful_shutdown(finished)
        .await?;
    Ok(())
}
