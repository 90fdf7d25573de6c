//! One connection: what goes out is kept in order until the socket takes it, without holding up what comes in.

use super::connect::{Lost, Socket};
use crate::agent::told;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, StreamExt};
use serde_json::Value;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tool_core::ToolError;

pub(super) struct Link {
    pub(super) out: Outgoing,
    pub(super) incoming: SplitStream<Socket>,
    /// Whether the provider takes more than the setup.
    pub(super) ready: bool,
}

impl Link {
    pub(super) fn new(socket: Socket, ready: bool) -> Self {
        let (sink, incoming) = socket.split();
        Self { out: Outgoing { sink, messages: VecDeque::new(), unsent: false }, incoming, ready }
    }

    /// Says good-bye, after what there is still to be said, and hears the provider out for a moment.
    pub(super) async fn close(mut self) {
        const PATIENCE: Duration = Duration::from_secs(1);
        self.out.push(Message::Close(None));
        let farewell = async {
            let _ = self.out.flush().await;
            while let Some(Ok(_)) = self.incoming.next().await {}
        };
        let _ = timeout(PATIENCE, farewell).await;
    }
}

/// What goes out.
pub(super) struct Outgoing {
    sink: SplitSink<Socket, Message>,
    messages: VecDeque<Message>,
    unsent: bool,
}

impl Outgoing {
    pub(super) fn json(&mut self, message: &Value) {
        self.push(Message::text(message.to_string()));
    }

    pub(super) fn ping(&mut self) {
        self.push(Message::Ping(Bytes::new()));
    }

    fn push(&mut self, message: Message) {
        self.messages.push_back(message);
        self.unsent = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.unsent
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Sends all there is. Dropped in the middle it loses nothing.
    pub(super) async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut sink = Pin::new(&mut self.sink);
        while !self.messages.is_empty() {
            ready!(sink.as_mut().poll_ready(cx))?;
            if let Some(message) = self.messages.pop_front() {
                sink.as_mut().start_send(message)?;
            }
        }
        ready!(sink.poll_flush(cx))?;
        self.unsent = false;
        Poll::Ready(Ok(()))
    }
}

/// What a message of the socket's is to us.
pub(super) enum Incoming {
    /// JSON, which Gemini sends as bytes.
    Json(Bytes),
    /// A sign of life.
    Alive,
    Gone(Lost),
}

pub(super) fn read(message: Option<Result<Message, Error>>) -> Incoming {
    match message {
        Some(Ok(Message::Text(text))) => Incoming::Json(text.into()),
        Some(Ok(Message::Binary(bytes))) => Incoming::Json(bytes),
        Some(Ok(Message::Close(frame))) => Incoming::Gone(closed(frame.as_ref())),
        Some(Ok(_)) => Incoming::Alive,
        Some(Err(error @ Error::Capacity(_))) => Incoming::Gone(Lost::for_good(ToolError::permanent(format!(
            "the provider's message is too large; raise `max_message`: {}",
            told(&error.to_string(), None)
        )))),
        Some(Err(error)) => {
            Incoming::Gone(Lost::again(format!("the connection broke: {}", told(&error.to_string(), None))))
        }
        None => Incoming::Gone(Lost::again("the provider has closed the connection")),
    }
}

/// What the provider says as it closes. That we have sent what it does not take would happen again.
fn closed(frame: Option<&CloseFrame>) -> Lost {
    let Some(frame) = frame else { return Lost::again("the provider has closed the connection") };
    let code = u16::from(frame.code);
    let message = format!("the provider has closed the connection ({code}): {}", told(&frame.reason, None));
    match code {
        1002 | 1003 | 1007 | 1009 | 1010 => Lost::for_good(ToolError::permanent(message)),
        _ => Lost::again(message),
    }
}
