//! The channels between the host and the task of a live conversation: events and input.

use crate::providers::Event;
use crate::transport::call_note::Decision;
use serde_json::Value;
use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tool_core::json::unless_too_deep;
use tool_core::session::Turn;
use tool_core::{Intent, Session, ToolError, ToolResponse};

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
    /// An intent that a tool has returned. The session has carried it out, unless its store failed: then the response of
    /// the call has a warning.
    Intent {
        /// The id of the call.
        call_id: String,
        /// The intent. At a `SuppressAudio`, the host stops what it plays.
        intent: Intent,
    },
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

/// The speech that a session has kept from the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuppressedSpeech {
    /// Bytes of audio in base64.
    pub audio_bytes: u64,
    /// Bytes of transcripts.
    pub transcript_bytes: u64,
}

/// Keeps speech from the host, as the state of the session demands.
///
/// Both ends of the channel ask it, because an event may wait in between when the state changes.
#[derive(Clone, Debug)]
pub(crate) struct SpeechFilter {
    session: Session,
    audio_bytes: Arc<AtomicU64>,
    transcript_bytes: Arc<AtomicU64>,
}

impl SpeechFilter {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, audio_bytes: Arc::default(), transcript_bytes: Arc::default() }
    }

    /// Returns true if the host may get an event. Counts the event otherwise.
    pub(crate) fn admits(&self, event: &LiveEvent) -> bool {
        let LiveEvent::Model(event) = event else { return true };
        let state = self.session.state();
        let (count, bytes) = match event {
            Event::Audio { data, .. } if state.audio_suppressed => (&self.audio_bytes, data.len()),
            Event::Text(text) if state.transcript_suppressed => (&self.transcript_bytes, text.len()),
            Event::Unknown(message) if state.transcript_suppressed => match transcript_bytes(message) {
                0 => return true,
                bytes => (&self.transcript_bytes, bytes),
            },
            _ => return true,
        };
        count.fetch_add(bytes as u64, Ordering::Relaxed);
        false
    }

    pub(crate) fn suppressed(&self) -> SuppressedSpeech {
        let [audio_bytes, transcript_bytes] =
            [&self.audio_bytes, &self.transcript_bytes].map(|count| count.load(Ordering::Relaxed));
        SuppressedSpeech { audio_bytes, transcript_bytes }
    }
}

/// Counts the bytes of transcripts in a message of a provider: of the user's speech, and of whole items.
fn transcript_bytes(message: &Value) -> usize {
    match message {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match (name.as_str(), value) {
                ("transcript", Value::String(text)) => text.len(),
                ("inputTranscription" | "input_transcription", Value::Object(speech)) => {
                    speech.get("text").and_then(Value::as_str).map_or(0, str::len)
                }
                _ => transcript_bytes(value),
            })
            .sum(),
        Value::Array(values) => values.iter().map(transcript_bytes).sum(),
        _ => 0,
    }
}

/// Events that the host has not received yet.
pub(crate) struct EventQueue {
    pub(crate) sender: mpsc::Sender<LiveEvent>,
    pub(crate) waiting: VecDeque<LiveEvent>,
    filter: SpeechFilter,
    /// True if audio was pushed since the last [`silence`](Self::silence).
    has_audio: bool,
}

impl EventQueue {
    /// With this many waiting events the socket is not read, until the host has caught up.
    const MAX_WAITING: usize = 1_000;

    pub(crate) fn new(sender: mpsc::Sender<LiveEvent>, filter: SpeechFilter) -> Self {
        Self { sender, waiting: VecDeque::new(), filter, has_audio: false }
    }

    pub(crate) fn push(&mut self, event: LiveEvent) {
        if self.filter.admits(&event) {
            self.has_audio |= matches!(event, LiveEvent::Model(Event::Audio { .. }));
            self.waiting.push_back(event);
        }
    }

    /// Interrupts what the host plays, because the audio is suppressed now, and drops what waits.
    pub(crate) fn silence(&mut self) {
        self.waiting.retain(|event| self.filter.admits(event));
        if std::mem::take(&mut self.has_audio) {
            self.waiting.push_back(LiveEvent::Model(Event::Interrupted));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tool_core::session::StateChange;
    use tool_core::{Mode, Runtime, ToolContext};

    /// A generator of numbers, so that a failure can be repeated.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    async fn session() -> Session {
        let tools = ToolContext::builder().build().expect("builds");
        let runtime = Runtime::builder(tools).build().expect("builds");
        runtime.session("s-1", Mode::Voice).await.expect("opens")
    }

    async fn suppress(session: &Session, audio: bool) {
        session.change(&[StateChange::AudioSuppressed(audio)]).await.expect("stored");
    }

    fn audio() -> LiveEvent {
        LiveEvent::Model(Event::Audio { data: "AAAA".into(), mime_type: "audio/pcm".into() })
    }

    fn is_audio(event: &LiveEvent) -> bool {
        matches!(event, LiveEvent::Model(Event::Audio { .. }))
    }

    #[tokio::test]
    async fn no_audio_is_delivered_while_it_is_suppressed() {
        let session = session().await;
        let (mut numbers, mut heard) = (Numbers(7), 0_u64);
        for sequence in 0..10_000 {
            let filter = SpeechFilter::new(session.clone());
            let (sender, mut receiver) = mpsc::channel(4);
            let mut queue = EventQueue::new(sender, filter.clone());
            let (mut pushed, mut delivered) = (0_u64, 0_u64);
            let mut suppressed = false;
            suppress(&session, false).await;
            for _ in 0..20 {
                match numbers.below(8) {
                    0 => {
                        suppressed = true;
                        suppress(&session, true).await;
                        // The task hears of the intent later, or never.
                        if numbers.below(2) == 0 {
                            queue.silence();
                        }
                    }
                    1 => {
                        suppressed = false;
                        suppress(&session, false).await;
                    }
                    2..=4 => {
                        pushed += 1;
                        queue.push(audio());
                    }
                    5 if !queue.waiting.is_empty() && queue.sender.capacity() > 0 => queue.deliver().await,
                    _ => {
                        let next = receiver.try_recv().ok().filter(|event| filter.admits(event));
                        let is_heard = next.as_ref().is_some_and(is_audio);
                        assert!(!(is_heard && suppressed), "sequence {sequence}");
                        delivered += u64::from(is_heard);
                    }
                }
            }
            suppress(&session, false).await;
            let waiting = queue.waiting.iter().filter(|event| is_audio(event)).count() as u64;
            let sent = std::iter::from_fn(|| receiver.try_recv().ok()).filter(is_audio).count() as u64;
            assert_eq!(delivered + waiting + sent + filter.suppressed().audio_bytes / 4, pushed, "sequence {sequence}");
            heard += delivered;
        }
        assert!(heard > 1_000, "{heard}");
    }

    #[tokio::test]
    async fn suppressed_audio_interrupts_what_the_host_plays() {
        let session = session().await;
        let (sender, _receiver) = mpsc::channel(1);
        let mut queue = EventQueue::new(sender, SpeechFilter::new(session.clone()));
        queue.silence();
        assert!(queue.waiting.is_empty(), "nothing is playing");
        queue.push(audio());
        suppress(&session, true).await;
        queue.silence();
        assert!(matches!(queue.waiting.make_contiguous(), [LiveEvent::Model(Event::Interrupted)]));
    }

    #[tokio::test]
    async fn suppressed_transcripts_include_those_of_the_user() {
        let session = session().await;
        let filter = SpeechFilter::new(session.clone());
        session.change(&[StateChange::TranscriptSuppressed(true)]).await.expect("stored");
        let item = json!({"item": {"content": [{"type": "input_audio", "transcript": "four"}]}});
        let speech = json!({"serverContent": {"inputTranscription": {"text": "three"}}});
        for event in [Event::Text("two".into()), Event::Unknown(item), Event::Unknown(speech)] {
            assert!(!filter.admits(&LiveEvent::Model(event)));
        }
        let other = Event::Unknown(json!({"transcript": null, "usage": {"text": "x"}}));
        assert!(filter.admits(&LiveEvent::Model(other)) && filter.admits(&audio()));
        assert_eq!(filter.suppressed(), SuppressedSpeech { audio_bytes: 0, transcript_bytes: 12 });
    }
}
