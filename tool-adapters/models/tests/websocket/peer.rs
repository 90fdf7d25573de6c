//! The provider's end of a connection. It is strict: a message that the real provider refuses fails the test.

// Each test binary uses its part of this.
#![allow(dead_code)]

use crate::strict::{Conversations, Strict};
use futures_util::{FutureExt, SinkExt, StreamExt};
use serde_json::Value;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    listener: TcpListener,
    conversations: Conversations,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        Self {
            listener,
            conversations: Conversations::default(),
        }
    }

    pub(crate) fn address(&self) -> String {
        self.listener
            .local_addr()
            .expect("has an address")
            .to_string()
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://{}", self.address())
    }

    pub(crate) async fn stream(&self) -> TcpStream {
        timeout(PATIENCE, self.accept())
            .await
            .expect("a connection")
    }

    pub(crate) async fn accept(&self) -> TcpStream {
        let (stream, _) = self.listener.accept().await.expect("accepts");
        // Otherwise a small message waits until the client has acknowledged the one before.
        stream.set_nodelay(true).expect("a socket");
        stream
    }

    /// Accepts the next connection.
    pub(crate) async fn peer(&self) -> Peer {
        self.peer_over(self.stream().await).await
    }

    /// Answers the handshake of a connection.
    pub(crate) async fn peer_over(&self, stream: TcpStream) -> Peer {
        let mut strict = None;
        #[expect(clippy::result_large_err, reason = "the type of the library")]
        let read_url = |request: &Request, response: Response| {
            let url = request.uri();
            strict = Strict::of_url(
                url.path(),
                url.query().unwrap_or_default(),
                &self.conversations,
            );
            Ok(response)
        };
        let socket = accept_hdr_async(stream, read_url)
            .await
            .expect("a WebSocket");
        Peer {
            socket,
            strict: strict.expect("the URL of a live API"),
        }
    }

    /// Returns true if no client has connected: the next connection is the one that this function opens.
    pub(crate) async fn has_no_connection(&self) -> bool {
        let ours = TcpStream::connect(self.address()).await.expect("connects");
        self.stream().await.peer_addr().expect("connected") == ours.local_addr().expect("connected")
    }
}

pub(crate) struct Peer {
    socket: WebSocketStream<TcpStream>,
    strict: Strict,
}

impl Peer {
    pub(crate) async fn send(&mut self, message: Value) {
        if message.get("setupComplete").is_some() {
            // A message that has arrived already was sent too early.
            if let Some(early) = self.next().now_or_never() {
                panic!("sent before `setupComplete`: {early:?}");
            }
        }
        self.strict.sent(&message);
        // Gemini sends JSON in binary messages.
        self.socket
            .send(Message::binary(message.to_string()))
            .await
            .expect("sent");
    }

    pub(crate) async fn send_raw(&mut self, message: Message) {
        self.socket.send(message).await.expect("sent");
    }

    /// Returns the next message, or `None` if it is not JSON or the connection is closed.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let message = self.socket.next().await?.ok()?;
            match message {
                Message::Close(_) => return None,
                Message::Text(_) => return self.read(&message),
                _ => {}
            }
        }
    }

    /// Reads and checks the JSON of a message.
    fn read(&mut self, message: &Message) -> Option<Value> {
        let message = serde_json::from_str(message.to_text().ok()?).ok()?;
        self.strict.expect(&message);
        Some(message)
    }

    pub(crate) async fn receive(&mut self) -> Value {
        timeout(PATIENCE, self.next())
            .await
            .expect("a message")
            .expect("JSON")
    }

    /// Returns true if only answers to pings arrive. Before a client reads the second ping, it has sent all that it had
    /// to send when it answered the first. The third is for work that runs in other tasks.
    pub(crate) async fn receives_nothing(&mut self) -> bool {
        for _ in 0..3 {
            self.send_raw(Message::Ping("here?".into())).await;
            match timeout(PATIENCE, self.socket.next())
                .await
                .expect("an answer to the ping")
            {
                Some(Ok(Message::Pong(_))) => {}
                _ => return false,
            }
        }
        true
    }

    /// Returns the messages that arrive before the answer to a ping.
    pub(crate) async fn until_pong(&mut self) -> Vec<Value> {
        self.send_raw(Message::Ping("here?".into())).await;
        let mut messages = Vec::new();
        loop {
            let message = timeout(PATIENCE, self.socket.next())
                .await
                .expect("an answer to the ping");
            match message.expect("a connection").expect("a frame") {
                Message::Pong(_) => return messages,
                message => messages.extend(self.read(&message)),
            }
        }
    }

    /// Returns the model that the client has named.
    pub(crate) fn model(&self) -> String {
        self.strict.model()
    }

    /// Returns true if the client closes the connection.
    pub(crate) async fn is_closed(&mut self) -> bool {
        timeout(PATIENCE, self.next())
            .await
            .is_ok_and(|message| message.is_none())
    }

    pub(crate) async fn close(mut self, code: u16, reason: &'static str) {
        let _ = self
            .socket
            .close(Some(CloseFrame {
                code: code.into(),
                reason: reason.into(),
            }))
            .await;
        let _ = timeout(PATIENCE, self.next()).await;
    }
}
