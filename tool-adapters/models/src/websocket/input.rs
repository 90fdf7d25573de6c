//! The input of a live conversation: what the host sends to the provider and the session.

use crate::websocket::calls::Decision;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tool_core::json::unless_too_deep;

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
///
/// ```no_run
/// use tool_adapters::transport::websocket::{ConversationEnded, LiveInput};
/// # async fn next_20_ms() -> Option<Vec<u8>> { None }
///
/// /// Sends what the microphone records, until it is switched off.
/// async fn record(input: LiveInput) -> Result<(), ConversationEnded> {
///     while let Some(audio) = next_20_ms().await {
///         input.audio(audio).await?;
///     }
///     input.audio_end().await
/// }
///
/// /// Ends the conversation when the user hangs up.
/// async fn hang_up(input: LiveInput) -> Result<(), ConversationEnded> {
///     input.text("Goodbye!").await?;
///     input.close();
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct LiveInput {
    inputs: mpsc::Sender<HostInput>,
    close: Arc<watch::Sender<bool>>,
}

/// The conversation has ended.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::transport::websocket::{ConversationEnded, LiveEvent, LiveLoop, LiveModel};
///
/// # use tool_core::{Mode, Runtime, ToolContext};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = Runtime::builder(ToolContext::builder().build()?).build()?.session("call-7", Mode::Voice).await?;
/// // Mistral has no live models, so the conversation ends at once.
/// let mut live = LiveLoop::start(session, LiveModel::new(Provider::Mistral, "mistral-large"));
/// assert!(matches!(live.next().await, Some(LiveEvent::Failed(_))));
/// assert!(live.next().await.is_none());
/// assert_eq!(live.input().text("Hello?").await, Err(ConversationEnded));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the conversation has ended")]
pub struct ConversationEnded;

impl LiveInput {
    pub(crate) fn new(inputs: mpsc::Sender<HostInput>, close: watch::Sender<bool>) -> Self {
        Self {
            inputs,
            close: Arc::new(close),
        }
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
        self.send(HostInput::Decide(token.into(), Decision::Approved))
            .await
    }

    /// Denies a call that waits for confirmation. The model is notified.
    pub async fn deny(&self, token: impl Into<String>) -> Result<(), ConversationEnded> {
        self.send(HostInput::Decide(token.into(), Decision::Denied))
            .await
    }

    /// Sends a message in the provider's own form. A message that nests deeper than 128 is not sent.
    pub async fn raw(&self, message: Value) -> Result<(), ConversationEnded> {
        let Some(message) = unless_too_deep(message) else {
            tracing::error!("a raw message nests deeper than 128; it is not sent");
            return Ok(());
        };
        self.send(HostInput::Raw(message)).await
    }

    /// Ends the conversation. Earlier input is still sent if there is a connection. Running calls are cancelled.
    pub fn close(&self) {
        self.close.send_replace(true);
    }

    async fn send(&self, input: HostInput) -> Result<(), ConversationEnded> {
        self.inputs.send(input).await.map_err(|_| ConversationEnded)
    }
}
