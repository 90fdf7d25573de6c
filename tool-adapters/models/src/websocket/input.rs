//! The input of a live conversation: what the host sends to the provider and the session.

use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tool_adapters_providers::{Host, RefusedParts};
use tool_core::json::unless_too_deep;
use tool_core::session::{Decision, UserMessage};

/// Input of the host for the provider or the session.
#[derive(Debug)]
pub(crate) enum HostInput {
    Text(String),
    Message(UserMessage),
    Audio(Vec<u8>),
    AudioEnd,
    Interrupt,
    Decide(Decision),
    Raw(Value),
}

/// The input of a [`LiveLoop`](super::LiveLoop). Cheap to clone.
///
/// Methods wait while there is no connection, and while the provider accepts input more slowly than
/// it arrives.
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
    host: Arc<Host>,
}

/// The reason for which a message with images or sounds was not sent.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::transport::websocket::{LiveInputError, LiveLoop, LiveModel};
/// use tool_core::session::{Decision, UserMessage};
///
/// # use tool_core::{Mode, Runtime, ToolContext};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = Runtime::builder(ToolContext::builder().build()?).build()?.session("call-8", Mode::Voice).await?;
/// let live = LiveLoop::start(session, LiveModel::new(Provider::OpenAiRealtime, "gpt-realtime"));
/// let message = UserMessage::new("Read this.").with_url("https://example.com/menu.pdf", "application/pdf");
/// assert!(matches!(live.input().message(message).await, Err(LiveInputError::Refused(_))));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiveInputError {
    /// The provider does not take a part of the message.
    #[error(transparent)]
    Refused(#[from] RefusedParts),
    /// The conversation has ended.
    #[error(transparent)]
    Ended(#[from] ConversationEnded),
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
    pub(crate) fn new(
        inputs: mpsc::Sender<HostInput>,
        close: watch::Sender<bool>,
        host: Host,
    ) -> Self {
        Self {
            inputs,
            close: Arc::new(close),
            host: Arc::new(host),
        }
    }

    /// Sends a text of the user, to which the model responds.
    pub async fn text(&self, text: impl Into<String>) -> Result<(), ConversationEnded> {
        self.send(HostInput::Text(text.into())).await
    }

    /// Sends a message of the user with images or recorded sounds, to which the model responds.
    ///
    /// Gemini Live sees images as frames of a video, before the text. Speech goes through [`audio`](Self::audio).
    ///
    /// ```no_run
    /// use tool_adapters::transport::websocket::{LiveInput, LiveInputError};
    /// use tool_core::session::{Decision, UserMessage};
    ///
    /// async fn show(input: &LiveInput, jpeg_in_base64: String) -> Result<(), LiveInputError> {
    ///     let message = UserMessage::new("Which flower is this?").image(jpeg_in_base64, "image/jpeg");
    ///     input.message(message).await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The provider does not take a part of the message, and nothing is sent, or the conversation
    /// has ended.
    pub async fn message(&self, message: impl Into<UserMessage>) -> Result<(), LiveInputError> {
        let message = message.into();
        self.host.check_message(&message)?;
        Ok(self.send(HostInput::Message(message)).await?)
    }

    /// Sends a piece of the user's raw audio, in the format of [`audio_type`](super::LiveModel::audio_type).
    pub async fn audio(&self, audio: impl Into<Vec<u8>>) -> Result<(), ConversationEnded> {
        self.send(HostInput::Audio(audio.into())).await
    }

    /// Reports that the user has stopped speaking. By default the provider detects this itself.
    pub async fn audio_end(&self) -> Result<(), ConversationEnded> {
        self.send(HostInput::AudioEnd).await
    }

    /// Cancels running calls that allow it, those in the background among them, and stops the model if
    /// the provider supports that. The user counts as silent until the provider hears speech again.
    pub async fn interrupt(&self) -> Result<(), ConversationEnded> {
        self.send(HostInput::Interrupt).await
    }

    /// Approves a call that waits for confirmation, and runs it. The model is notified of the
    /// outcome.
    pub async fn approve(&self, token: impl Into<String>) -> Result<(), ConversationEnded> {
        self.decide(Decision::approve(token)).await
    }

    /// Denies a call that waits for confirmation. The model is notified.
    pub async fn deny(&self, token: impl Into<String>) -> Result<(), ConversationEnded> {
        self.decide(Decision::deny(token)).await
    }

    /// Approves or denies a call as a person has decided, whom the audit log names, perhaps with other
    /// arguments. If these are invalid, [`LiveEvent::Answered`](super::LiveEvent::Answered) has every
    /// problem, the model learns nothing, and the call waits on. An approval that the conversation does
    /// not come to before its end is answered with `CANCELLED`, and the call waits on, too.
    pub async fn decide(&self, decision: Decision) -> Result<(), ConversationEnded> {
        self.send(HostInput::Decide(decision)).await
    }

    /// Sends a message in the provider's own form. A message that nests deeper than 128 is not
    /// sent.
    pub async fn raw(&self, message: Value) -> Result<(), ConversationEnded> {
        let Some(message) = unless_too_deep(message) else {
            tracing::error!("a raw message nests deeper than 128; it is not sent");
            return Ok(());
        };
        self.send(HostInput::Raw(message)).await
    }

    /// Ends the conversation. Earlier input is still sent if there is a connection. Running calls
    /// are cancelled.
    pub fn close(&self) {
        self.close.send_replace(true);
    }

    async fn send(&self, input: HostInput) -> Result<(), ConversationEnded> {
        self.inputs.send(input).await.map_err(|_| ConversationEnded)
    }
}
