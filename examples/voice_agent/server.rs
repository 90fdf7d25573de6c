//! A local server that plays `script.json` like Gemini Live, one part for each connection.
//!
//! A step sends a message of the server, or waits for a message of the client with a member of that name. After
//! a part the server breaks the connection. After the last part the client closes it.

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use std::error::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Step {
    Send(Value),
    Await(String),
}

/// Serves on a free local port until the process ends, and returns the address.
pub(crate) async fn start() -> Result<String, Box<dyn Error>> {
    let script: Vec<Vec<Step>> = serde_json::from_str(include_str!("script.json"))?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("ws://{}", listener.local_addr()?);
    tokio::spawn(async move {
        if let Err(error) = play(&listener, script).await {
            eprintln!("the script cannot be played on: {error}");
        }
    });
    Ok(base_url)
}

async fn play(
    listener: &TcpListener,
    script: Vec<Vec<Step>>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut parts = script.into_iter().peekable();
    while let Some(part) = parts.next() {
        let (stream, _) = listener.accept().await?;
        let mut socket = accept_async(stream).await?;
        for step in part {
            match step {
                // Gemini sends JSON in binary messages.
                Step::Send(message) => socket.send(Message::binary(message.to_string())).await?,
                Step::Await(member) => wait_for(&mut socket, &member).await?,
            }
        }
        if parts.peek().is_none() {
            while let Some(Ok(_)) = socket.next().await {}
        }
    }
    Ok(())
}

async fn wait_for(
    socket: &mut WebSocketStream<TcpStream>,
    member: &str,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    while let Some(message) = socket.next().await {
        if serde_json::from_slice::<Value>(&message?.into_data())
            .is_ok_and(|message| message.get(member).is_some())
        {
            return Ok(());
        }
    }
    Err(format!("the client has gone before `{member}`").into())
}
