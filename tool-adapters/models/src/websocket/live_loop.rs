//! A live conversation, as the host holds it.

use crate::websocket::events::{
    EventReceiver, LiveEvent, SpeechFilter, SuppressedSpeech, event_queue,
};
use crate::websocket::input::LiveInput;
use crate::websocket::model::LiveModel;
use crate::websocket::setup::merge_instructions;
use crate::websocket::task::LiveTask;
use crate::websocket::transcript::{SharedHistory, Transcript};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tool_core::Session;
use tool_core::session::History;

/// A live conversation. See the [module](super). Dropping it ends the conversation.
///
/// ```no_run
/// use tool_adapters::Provider;
/// use tool_adapters::providers::Event;
/// use tool_adapters::transport::websocket::{LiveEvent, LiveLoop, LiveModel};
/// use tool_core::Session;
/// # fn play(_: &str) {}
///
/// async fn talk(session: Session) {
///     let mut live = LiveLoop::start(session, LiveModel::new(Provider::OpenAiRealtime, "gpt-realtime"));
///     let _ = live.input().text("Say hello.").await;
///     while let Some(event) = live.next().await {
///         match event {
///             LiveEvent::Model(Event::Audio { data, .. }) => play(&data), // base64
///             LiveEvent::Failed(error) => eprintln!("{error}"),           // the last event
///             _ => {}
///         }
///     }
///     println!("{} messages", live.history().messages().len());
/// }
/// ```
#[derive(Debug)]
pub struct LiveLoop {
    events: EventReceiver,
    filter: SpeechFilter,
    input: LiveInput,
    history: SharedHistory,
    task: JoinHandle<()>,
}

impl LiveLoop {
    /// Starts a conversation in a task. Needs a tokio runtime.
    pub fn start(session: Session, model: LiveModel) -> Self {
        Self::with_history(session, model, History::new())
    }

    /// Starts a conversation that continues a history, such as one from an
    /// [`AgentLoop`](crate::agent::AgentLoop::history), in a task. Needs a tokio runtime.
    pub fn with_history(session: Session, mut model: LiveModel, history: History) -> Self {
        const CAPACITY: usize = 64;
        merge_instructions(&mut model);
        let (input_sender, inputs) = mpsc::channel(CAPACITY);
        let (close, closed) = watch::channel(false);
        let filter = SpeechFilter::new(session.clone());
        let (queue, events) = event_queue(filter.clone(), model.transport.event_bytes);
        let input = LiveInput::new(input_sender, close, model.host());
        let transcript = Transcript::new(history);
        let history = transcript.shared();
        // Created here, so that its spans are children of the caller's span.
        let task = LiveTask::new(session, model, inputs, closed, queue, transcript);
        Self {
            events,
            filter,
            input,
            history,
            task: tokio::spawn(task.run()),
        }
    }

    /// Returns the next event, or `None` after the conversation has ended. Dropping the future
    /// loses no event.
    pub async fn next(&mut self) -> Option<LiveEvent> {
        self.events.next().await
    }

    /// Returns the history so far: the given one, texts, transcripts of speech, and calls with
    /// their results. An
    /// [`AgentLoop`](crate::agent::AgentLoop::with_history) can continue it.
    ///
    /// Speech is part of it where the provider transcribes it and the session's state does not
    /// suppress the transcript.
    pub fn history(&self) -> History {
        self.history.get()
    }

    /// Returns how much speech the session has kept from the host so far.
    pub fn suppressed(&self) -> SuppressedSpeech {
        self.filter.suppressed()
    }

    /// Returns the input of the conversation. Cheap to clone.
    pub fn input(&self) -> LiveInput {
        self.input.clone()
    }
}

impl Drop for LiveLoop {
    fn drop(&mut self) {
        self.task.abort();
    }
}
