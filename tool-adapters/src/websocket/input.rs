//! What the host says.

use crate::agent::Word;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Something for the provider, or for the session.
#[derive(Debug)]
pub(super) enum Input {
    Text(String),
    Audio(Vec<u8>),
    AudioEnd,
    Interrupt,
    Decide(String, Word),
    Raw(Value),
}

/// Where the host speaks to a [`LiveLoop`](super::LiveLoop). Cheap to clone.
///
/// While there is no connection, and when the provider takes things more slowly than they come, it waits.
#[derive(Clone, Debug)]
pub struct LiveInput {
    inputs: mpsc::Sender<Input>,
    closing: Arc<watch::Sender<bool>>,
}

/// The conversation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the conversation is over")
    }
}

impl std::error::Error for Ended {}

impl LiveInput {
    pub(super) fn new(inputs: mpsc::Sender<Input>, closing: watch::Sender<bool>) -> Self {
        Self { inputs, closing: Arc::new(closing) }
    }

    /// What the user has written. The model answers.
    pub async fn text(&self, text: impl Into<String>) -> Result<(), Ended> {
        self.send(Input::Text(text.into())).await
    }

    /// A piece of what the user says: raw sound, as [`audio_type`](super::LiveModel::audio_type) describes it.
    pub async fn audio(&self, sound: impl Into<Vec<u8>>) -> Result<(), Ended> {
        self.send(Input::Audio(sound.into())).await
    }

    /// The user has stopped speaking. Not needed where the provider listens for that itself, as it does unless told.
    pub async fn audio_end(&self) -> Result<(), Ended> {
        self.send(Input::AudioEnd).await
    }

    /// Cancels running calls, as far as they allow it, and stops the model where the provider can be told.
    pub async fn interrupt(&self) -> Result<(), Ended> {
        self.send(Input::Interrupt).await
    }

    /// Runs a call that waited for a person, who agreed to it. The model is told what came of it.
    pub async fn approve(&self, token: impl Into<String>) -> Result<(), Ended> {
        self.send(Input::Decide(token.into(), Word::Approved)).await
    }

    /// Answers a call that waited for a person, who did not agree to it. The model is told.
    pub async fn deny(&self, token: impl Into<String>) -> Result<(), Ended> {
        self.send(Input::Decide(token.into(), Word::Denied)).await
    }

    /// A message in the provider's own form, sent as it stands.
    pub async fn raw(&self, message: Value) -> Result<(), Ended> {
        self.send(Input::Raw(message)).await
    }

    /// Ends the conversation: what was said until then is sent, and the connection closed.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    async fn send(&self, input: Input) -> Result<(), Ended> {
        self.inputs.send(input).await.map_err(|_| Ended)
    }
}
