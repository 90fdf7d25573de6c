//! The channels between the host and the task of a live conversation: events and input.

use crate::providers::Event;
use crate::transport::call_note::Decision;
use serde_json::Value;
use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tool_core::json::unless_too_deep;
use tool_core::session::Turn;
use tool_core::{ToolError, ToolResponse};

/// An event of a live conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LiveEvent {
    /// The connection is open and set up.
    Connected {
        /// True if the conversation continues, false if a new one begins.
        resumed: bool,
    },
    /// An event of the model. Calls have the tools' own names.
    Model(Event),
    /// The response of a call, which is sent to the model. Its `meta` has the confirmation that it may need.
    Answered(ToolResponse),
    /// An update of a running call, or its end, which is sent to the model.
    Updated(ToolResponse),
    /// The response of a call whose conversation has ended. It is not sent to the model.
    Unsent(ToolResponse),
    /// A turn has ended. The host speaks its `pending_message`.
    Turn(Turn),
    /// The connection broke and will be opened again.
    Disconnected {
        /// The reason.
        error: ToolError,
        /// The delay before the next attempt.
        retry_in: Duration,
    },
    /// The conversation cannot continue. This is the last event.
    Failed(ToolError),
}

/// Events that the host has not received yet.
pub(crate) struct EventQueue {
    pub(crate) sender: mpsc::Sender<LiveEvent>,
    pub(crate) waiting: VecDeque<LiveEvent>,
}

impl EventQueue {
    /// With this many waiting events the socket is not read, until the host has caught up.
    const MAX_WAITING: usize = 1_000;

    pub(crate) fn push(&mut self, event: LiveEvent) {
        self.waiting.push_back(event);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= Self::MAX_WAITING
    }

    /// Sends the oldest event when the host has room for it. Dropping the future loses no event.
    pub(crate) async fn deliver(&mut self) {
        let Ok(permit) = self.sender.reserve().await else { return pending().await };
        if let Some(event) = self.waiting.pop_front() {
            permit.send(event);
        }
    }

    /// Sends all events, unless the host has dropped the receiver.
    pub(crate) async fn flush(&mut self) {
        for event in self.waiting.drain(..) {
            if self.sender.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// Input of the host for the provider or the session.
#[derive(Debug)]
pub(crate) enum HostInput {
    Text(String),
    Audio(Vec<u8>),
    AudioEnd,
    Interrupt,
    Decide(String, Decision),
    Raw(Value),
}

/// The input of a [`LiveLoop`](super::LiveLoop). Cheap to clone.
///
/// Methods wait while there is no connection, and while the provider accepts input more slowly than it arrives.
#[derive(Clone, Debug)]
pub struct LiveInput {
    inputs: mpsc::Sender<HostInput>,
    close: Arc<watch::Sender<bool>>,
}

/// The conversation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the conversation has ended")]
pub struct ConversationEnded;

impl LiveInput {
    pub(crate) fn new(inputs: mpsc::Sender<HostInput>, close: watch::Sender<bool>) -> Self {
        Self { inputs, close: Arc::new(close) }
    }

    /// Sends a text of the user, to which the model responds.
    pub async fn text(&self, text: impl Into<String>) -> Result<(), ConversationEnded> {
        self.send(HostInput::Text(text.into())).await
    }

    /// Sends a piece of the user's raw audio, in the format of [`audio_type`](super::LiveModel::audio_type).
    pub async fn audio(&self, audio: impl Into<Vec<u8>>) -> Result<(), ConversationEnded> {
        self.send(HostInput::Audio(audio.into())).await
    }

    /// Reports that the user has stopped speaking. By default the provider detects this itself.
    pub async fn audio_end(&self) -> Result<(), ConversationEnded> {
        self.send(HostInput::AudioEnd).await
    }

    /// Cancels running calls that allow it, and stops the model if the provider supports that.
    pub async fn interrupt(&self) -> Result<(), ConversationEnded> {
        self.send(HostInput::Interrupt).await
    }

    /// Approves a call that waits for confirmation, and runs it. The model is notified of the outcome.
    pub async fn approve(&self, token: impl Into<String>) -> Result<(), ConversationEnded> {
        self.send(HostInput::Decide(token.into(), Decision::Approved)).await
    }

    /// Denies a call that waits for confirmation. The model is notified.
    pub async fn deny(&self, token: impl Into<String>) -> Result<(), ConversationEnded> {
        self.send(HostInput::Decide(token.into(), Decision::Denied)).await
    }

    /// Sends a message in the provider's own form. A message that nests deeper than 128 is not sent.
    pub async fn raw(&self, message: Value) -> Result<(), ConversationEnded> {
        let Some(message) = unless_too_deep(message) else {
            tracing::error!("a raw message nests deeper than 128; it is not sent");
            return Ok(());
        };
        self.send(HostInput::Raw(message)).await
    }

    /// Ends the conversation. Earlier input is still sent.
    pub fn close(&self) {
        self.close.send_replace(true);
    }

    async fn send(&self, input: HostInput) -> Result<(), ConversationEnded> {
        self.inputs.send(input).await.map_err(|_| ConversationEnded)
    }
}
