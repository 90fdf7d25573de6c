//! The provider's end of a connection.

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_async};

const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Server(TcpListener);

impl Server {
    pub(crate) async fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.expect("binds"))
    }

    pub(crate) fn address(&self) -> String {
        self.0.local_addr().expect("has an address").to_string()
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://{}", self.address())
    }

    pub(crate) async fn stream(&self) -> TcpStream {
        let (stream, _) = timeout(PATIENCE, self.0.accept()).await.expect("a connection").expect("accepts");
        stream
    }

    /// Accepts the next connection.
    pub(crate) async fn peer(&self) -> Peer {
        Peer(accept_async(self.stream().await).await.expect("a WebSocket"))
    }

    /// Returns true if no client has connected: the next connection is the one that this function opens.
    pub(crate) async fn has_no_connection(&self) -> bool {
        let ours = TcpStream::connect(self.address()).await.expect("connects");
        self.stream().await.peer_addr().expect("connected") == ours.local_addr().expect("connected")
    }
}

pub(crate) struct Peer(WebSocketStream<TcpStream>);

impl Peer {
    pub(crate) async fn send(&mut self, message: Value) {
        // Gemini sends JSON in binary messages.
        self.0.send(Message::binary(message.to_string())).await.expect("sent");
    }

    pub(crate) async fn send_raw(&mut self, message: Message) {
        self.0.send(message).await.expect("sent");
    }

    /// Returns the next message, or `None` if it is not JSON or the connection is closed.
    async fn next(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await?.ok()? {
                Message::Text(text) => return serde_json::from_str(&text).ok(),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    pub(crate) async fn receive(&mut self) -> Value {
        timeout(PATIENCE, self.next()).await.expect("a message").expect("JSON")
    }

    /// Returns true if only answers to pings arrive. Before a client reads the second ping, it has sent all that it had
    /// to send when it answered the first. The third is for work that runs in other tasks.
    pub(crate) async fn receives_nothing(&mut self) -> bool {
        for _ in 0..3 {
            self.send_raw(Message::Ping("here?".into())).await;
            match timeout(PATIENCE, self.0.next()).await.expect("an answer to the ping") {
                Some(Ok(Message::Pong(_))) => {}
                _ => return false,
            }
        }
        true
    }

    /// Returns true if the client closes the connection.
    pub(crate) async fn is_closed(&mut self) -> bool {
        timeout(PATIENCE, self.next()).await.is_ok_and(|message| message.is_none())
    }

    pub(crate) async fn close(mut self, code: u16, reason: &'static str) {
        let _ = self.0.close(Some(CloseFrame { code: code.into(), reason: reason.into() })).await;
        let _ = timeout(PATIENCE, self.next()).await;
    }
}
