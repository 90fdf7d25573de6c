//! The events of a live conversation, and the queue in which they wait for the host.

use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tool_adapters_providers::Event;
use tool_core::session::Turn;
use tool_core::{Intent, Session, ToolError, ToolResponse};

/// An event of a live conversation.
///
/// ```
/// use tool_adapters::providers::Event;
/// use tool_adapters::transport::websocket::LiveEvent;
///
/// /// Returns the line that an event adds to the captions.
/// fn caption(event: &LiveEvent) -> Option<String> {
///     match event {
///         LiveEvent::Heard(text) => Some(format!("you: {text}")),
///         LiveEvent::Model(Event::Text(text)) => Some(format!("assistant: {text}")),
///         LiveEvent::Answered(response) => response.meta().confirmation().map(|call| format!("approve {}?", call.summary)),
///         LiveEvent::Disconnected { retry_in, .. } => Some(format!("reconnecting in {retry_in:?}")),
///         LiveEvent::Failed(error) => Some(error.to_string()),
///         _ => None,
///     }
/// }
///
/// assert_eq!(caption(&LiveEvent::Heard("Hello?".into())).as_deref(), Some("you: Hello?"));
/// ```
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
    /// A piece of the transcript of the user's speech.
    Heard(String),
    /// The response of a call, which is sent to the model. Its `meta` has the confirmation that it
    /// may need.
    Answered(ToolResponse),
    /// An update of a call in the background, or its end, which is sent to the model.
    Updated(ToolResponse),
    /// An intent that a tool has returned. The session has carried it out, unless its store failed:
    /// then the response of the call has a warning.
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
/// Both ends of the queue ask it, because an event may wait in between when the state changes.
#[derive(Clone, Debug)]
pub(crate) struct SpeechFilter {
    session: Session,
    audio_bytes: Arc<AtomicU64>,
    transcript_bytes: Arc<AtomicU64>,
}

impl SpeechFilter {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            audio_bytes: Arc::default(),
            transcript_bytes: Arc::default(),
        }
    }

    /// Returns true if the host may get an event. Counts the event otherwise.
    fn admits(&self, event: &LiveEvent) -> bool {
        let state = self.session.state();
        !self.holds_back(event, state.audio_suppressed, state.transcript_suppressed)
    }

    /// Counts an event that is speech to be held back. Returns false for other events.
    fn holds_back(&self, event: &LiveEvent, audio: bool, transcript: bool) -> bool {
        let (count, bytes) = match event {
            LiveEvent::Model(Event::Audio { data, .. }) if audio => (&self.audio_bytes, data.len()),
            LiveEvent::Heard(text) | LiveEvent::Model(Event::Text(text)) if transcript => {
                (&self.transcript_bytes, text.len())
            }
            LiveEvent::Model(Event::Unknown(message)) if transcript => {
                match transcript_bytes(message) {
                    0 => return false,
                    bytes => (&self.transcript_bytes, bytes),
                }
            }
            _ => return false,
        };
        count.fetch_add(bytes as u64, Ordering::Relaxed);
        true
    }

    pub(crate) fn suppressed(&self) -> SuppressedSpeech {
        let [audio_bytes, transcript_bytes] =
            [&self.audio_bytes, &self.transcript_bytes].map(|count| count.load(Ordering::Relaxed));
        SuppressedSpeech {
            audio_bytes,
            transcript_bytes,
        }
    }
}

/// Counts the bytes of transcripts in a message of a provider: of items of the conversation, and
/// their pieces.
fn transcript_bytes(message: &Value) -> usize {
    let kind = message
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let names = if kind.starts_with("conversation.item.") {
        &["transcript", "text", "delta"][..]
    } else {
        &["transcript"]
    };
    bytes_of(names, message)
}

/// Counts the bytes of texts under some names.
fn bytes_of(names: &[&str], value: &Value) -> usize {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) if names.contains(&name.as_str()) => text.len(),
                _ => bytes_of(names, value),
            })
            .sum(),
        Value::Array(values) => values.iter().map(|value| bytes_of(names, value)).sum(),
        _ => 0,
    }
}

/// Events that the host has not received yet. One task pushes them, and drops the queue at the end;
/// the host receives them.
pub(crate) struct EventQueue {
    shared: Arc<SharedQueue>,
    /// True if audio was pushed since the host was last told to stop it.
    has_audio: bool,
    /// True while the model answers although a tool wanted no reply.
    withholds: bool,
}

/// The host's end of an [`EventQueue`].
#[derive(Debug)]
pub(crate) struct EventReceiver(Arc<SharedQueue>);

#[derive(Debug)]
struct SharedQueue {
    filter: SpeechFilter,
    /// With so many bytes waiting, the socket is not read.
    limit: usize,
    waiting: Mutex<WaitingEvents>,
    pushed: Notify,
    taken: Notify,
}

#[derive(Debug, Default)]
struct WaitingEvents {
    /// Events with their sizes.
    events: VecDeque<(LiveEvent, usize)>,
    bytes: usize,
    has_ended: bool,
}

/// Creates a queue that takes events until they have `limit` bytes.
pub(crate) fn event_queue(filter: SpeechFilter, limit: usize) -> (EventQueue, EventReceiver) {
    let waiting = Mutex::default();
    let pushed = Notify::new();
    let taken = Notify::new();
    let shared = Arc::new(SharedQueue {
        filter,
        limit,
        waiting,
        pushed,
        taken,
    });
    let receiver = EventReceiver(Arc::clone(&shared));
    (
        EventQueue {
            shared,
            has_audio: false,
            withholds: false,
        },
        receiver,
    )
}

impl WaitingEvents {
    /// Keeps only some of the events.
    fn retain(&mut self, keeps: impl Fn(&LiveEvent) -> bool) {
        self.events.retain(|(event, _)| keeps(event));
        self.bytes = self.events.iter().map(|(_, size)| size).sum();
    }
}

impl EventQueue {
    /// Adds an event. Returns false if it is speech that the host does not get.
    pub(crate) fn push(&mut self, event: LiveEvent) -> bool {
        let filter = &self.shared.filter;
        let is_model = matches!(event, LiveEvent::Model(_));
        if self.withholds && is_model && filter.holds_back(&event, true, true)
            || !filter.admits(&event)
        {
            return false;
        }
        self.has_audio |= is_audio(&event);
        let size = size_of(&event);
        let mut waiting = self.shared.waiting.lock();
        if matches!(event, LiveEvent::Model(Event::Interrupted)) {
            // The host would play it before it stops.
            waiting.retain(|waits| !is_audio(waits));
        }
        waiting.bytes += size;
        waiting.events.push_back((event, size));
        drop(waiting);
        self.shared.pushed.notify_one();
        true
    }

    /// Interrupts what the host plays, because the audio is suppressed now, and drops what waits.
    pub(crate) fn silence(&mut self) {
        let mut waiting = self.shared.waiting.lock();
        waiting.retain(|event| self.shared.filter.admits(event));
        drop(waiting);
        if std::mem::take(&mut self.has_audio) {
            self.push(LiveEvent::Model(Event::Interrupted));
        }
    }

    /// Sets whether the model's speech is withheld from now on.
    pub(crate) fn withhold(&mut self, yes: bool) {
        self.withholds = yes;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.shared.waiting.lock().bytes >= self.shared.limit
    }

    /// Waits until the host has taken an event.
    pub(crate) async fn taken(&self) {
        self.shared.taken.notified().await;
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        self.shared.waiting.lock().has_ended = true;
        self.shared.pushed.notify_one();
    }
}

impl EventReceiver {
    /// Returns the next event, or `None` after the queue was dropped. Dropping the future loses no
    /// event.
    pub(crate) async fn next(&mut self) -> Option<LiveEvent> {
        loop {
            {
                let mut waiting = self.0.waiting.lock();
                while let Some((event, size)) = waiting.events.pop_front() {
                    waiting.bytes -= size;
                    self.0.taken.notify_one();
                    if self.0.filter.admits(&event) {
                        return Some(event);
                    }
                }
                if waiting.has_ended {
                    return None;
                }
            }
            self.0.pushed.notified().await;
        }
    }
}

fn is_audio(event: &LiveEvent) -> bool {
    matches!(event, LiveEvent::Model(Event::Audio { .. }))
}

/// Returns about as many bytes as an event takes.
fn size_of(event: &LiveEvent) -> usize {
    let bytes = match event {
        LiveEvent::Heard(text) | LiveEvent::Model(Event::Text(text) | Event::Reasoning(text)) => {
            text.len()
        }
        LiveEvent::Model(Event::Audio { data, .. }) => data.len(),
        LiveEvent::Model(Event::Arguments { delta, .. }) => delta.len(),
        LiveEvent::Model(Event::Call(call) | Event::CutCall(call)) => call.arguments().len(),
        LiveEvent::Model(Event::Item(value) | Event::Unknown(value)) => json_size(value),
        LiveEvent::Answered(response) | LiveEvent::Updated(response) => {
            response.data_json().map_or(0, str::len)
        }
        _ => 0,
    };
    std::mem::size_of::<(LiveEvent, usize)>() + bytes
}

fn json_size(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(json_size).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + json_size(value))
            .sum(),
        _ => 0,
    };
    std::mem::size_of::<Value>() + inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use serde_json::json;
    use std::collections::HashSet;
    use tool_core::session::StateChange;
    use tool_core::{Mode, Runtime, ToolContext};

    /// A generator of numbers, so that a failure can be repeated.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    async fn session() -> Session {
        let tools = ToolContext::builder().build().expect("builds");
        let runtime = Runtime::builder(tools).build().expect("builds");
        runtime.session("s-1", Mode::Voice).await.expect("opens")
    }

    async fn suppress(session: &Session, audio: bool) {
        session
            .change(&[StateChange::AudioSuppressed(audio)])
            .await
            .expect("stored");
    }

    fn audio(number: u64) -> LiveEvent {
        LiveEvent::Model(Event::Audio {
            data: format!("{number:04}"),
            mime_type: "audio/pcm".into(),
        })
    }

    fn audio_number(event: &LiveEvent) -> Option<u64> {
        let LiveEvent::Model(Event::Audio { data, .. }) = event else {
            return None;
        };
        data.parse().ok()
    }

    #[tokio::test]
    async fn no_suppressed_or_unwanted_audio_is_delivered() {
        let session = session().await;
        let mut numbers = Numbers(7);
        let mut heard = 0_u64;
        for sequence in 0..10_000 {
            let filter = SpeechFilter::new(session.clone());
            let (mut queue, mut receiver) = event_queue(filter.clone(), 1_000_000);
            let mut pushed = 0_u64;
            let mut delivered = 0_u64;
            // The audio of answers that a tool did not want.
            let mut suppressed = false;
            let mut unwanted = HashSet::new();
            suppress(&session, false).await;
            for _ in 0..20 {
                match numbers.below(9) {
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
                    2 => queue.withhold(numbers.below(2) == 0),
                    3..=5 => {
                        pushed += 1;
                        if queue.withholds {
                            unwanted.insert(pushed);
                        }
                        queue.push(audio(pushed));
                    }
                    _ => {
                        if let Some(number) = receiver
                            .next()
                            .now_or_never()
                            .flatten()
                            .as_ref()
                            .and_then(audio_number)
                        {
                            assert!(
                                !suppressed && !unwanted.contains(&number),
                                "sequence {sequence}"
                            );
                            delivered += 1;
                        }
                    }
                }
            }
            suppress(&session, false).await;
            drop(queue);
            let mut left = 0;
            while let Some(event) = receiver.next().await {
                left += u64::from(audio_number(&event).is_some());
            }
            assert_eq!(
                delivered + left + filter.suppressed().audio_bytes / 4,
                pushed,
                "sequence {sequence}"
            );
            heard += delivered;
        }
        assert!(heard > 1_000, "{heard}");
    }

    #[tokio::test]
    async fn suppressed_audio_interrupts_what_the_host_plays() {
        let session = session().await;
        let (mut queue, mut receiver) = event_queue(SpeechFilter::new(session.clone()), 1_000);
        queue.silence();
        assert!(
            receiver.next().now_or_never().is_none(),
            "nothing is playing"
        );
        queue.push(audio(1));
        suppress(&session, true).await;
        queue.silence();
        drop(queue);
        assert!(matches!(
            receiver.next().await,
            Some(LiveEvent::Model(Event::Interrupted))
        ));
        assert!(receiver.next().await.is_none());
    }

    #[tokio::test]
    async fn an_interruption_overtakes_audio_that_waits() {
        let (mut queue, mut receiver) = event_queue(SpeechFilter::new(session().await), 1_000);
        queue.push(audio(1));
        queue.push(LiveEvent::Heard("Stop".into()));
        queue.push(audio(2));
        queue.push(LiveEvent::Model(Event::Interrupted));
        queue.push(audio(3));
        drop(queue);
        assert!(matches!(receiver.next().await, Some(LiveEvent::Heard(_))));
        assert!(matches!(
            receiver.next().await,
            Some(LiveEvent::Model(Event::Interrupted))
        ));
        let last = receiver.next().await;
        assert_eq!(last.as_ref().and_then(audio_number), Some(3));
        assert!(receiver.next().await.is_none());
    }

    #[tokio::test]
    async fn an_interruption_makes_room_in_a_full_queue() {
        let (mut queue, _receiver) = event_queue(SpeechFilter::new(session().await), 10_000);
        while !queue.is_full() {
            queue.push(audio(1));
        }
        queue.push(LiveEvent::Model(Event::Interrupted));
        assert!(!queue.is_full());
        let interruption = size_of(&LiveEvent::Model(Event::Interrupted));
        assert_eq!(queue.shared.waiting.lock().bytes, interruption);
    }

    #[tokio::test]
    async fn suppressed_transcripts_include_those_of_the_user() {
        let session = session().await;
        let filter = SpeechFilter::new(session.clone());
        session
            .change(&[StateChange::TranscriptSuppressed(true)])
            .await
            .expect("stored");
        let unknown = |message: Value| LiveEvent::Model(Event::Unknown(message));
        let piece = "conversation.item.input_audio_transcription.delta";
        for event in [
            LiveEvent::Heard("three".into()),
            LiveEvent::Model(Event::Text("two".into())),
            unknown(json!({"item": {"content": [{"type": "input_audio", "transcript": "four"}]}})),
            unknown(
                json!({"type": "conversation.item.added", "item": {"content": [{"type": "input_text", "text": "four"}]}}),
            ),
            unknown(json!({"type": piece, "delta": "my pin"})),
        ] {
            assert!(!filter.admits(&event), "{event:?}");
        }
        let other = unknown(json!({"transcript": null, "usage": {"text": "x"}}));
        assert!(filter.admits(&other) && filter.admits(&audio(1)));
        assert_eq!(
            filter.suppressed(),
            SuppressedSpeech {
                audio_bytes: 0,
                transcript_bytes: 22
            }
        );
    }

    #[tokio::test]
    async fn queue_is_full_by_bytes_and_takes_what_is_pushed() {
        let (mut queue, mut receiver) = event_queue(SpeechFilter::new(session().await), 10_000);
        let data = "A".repeat(6_000);
        for expected in [false, true, true] {
            let audio = Event::Audio {
                data: data.clone(),
                mime_type: "audio/pcm".into(),
            };
            queue.push(LiveEvent::Model(audio));
            assert_eq!(queue.is_full(), expected);
        }
        for _ in 0..2 {
            assert!(receiver.next().await.is_some());
        }
        queue.taken().await;
        assert!(!queue.is_full());
        assert!(receiver.next().await.is_some() && queue.shared.waiting.lock().bytes == 0);
    }
}
