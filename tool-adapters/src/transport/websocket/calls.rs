//! The calls of a live conversation: those that run, and what came of the last ones.

use crate::agent::notes::Word;
use std::collections::VecDeque;
use tokio::task::JoinSet;
use tool_core::session::Turn;
use tool_core::trace::SpanHandle;
use tool_core::{Session, ToolCall, ToolResponse};

/// The calls that are remembered after they were answered, should the provider send them again.
const KEPT: usize = 64;

/// Something that was done beside the reading.
pub(crate) enum Done {
    Answered(ToolResponse),
    Decided(ToolResponse, Word),
    Turned(Turn),
}

pub(crate) struct Calls {
    session: Session,
    work: JoinSet<Done>,
    known: VecDeque<Known>,
}

struct Known {
    call: ToolCall,
    /// The conversation of the provider's that it belongs to: where it could not be resumed, another.
    conversation: u64,
    /// Nobody waits for its result any longer.
    withdrawn: bool,
    /// The user has spoken since.
    interrupted: bool,
    answer: Option<ToolResponse>,
}

/// What to do with an answer.
pub(crate) enum Told {
    /// Send it; `true`: and let the model answer to it.
    Send(ToolResponse, bool),
    /// The conversation that asked is over.
    Late(ToolResponse),
    Withdrawn,
}

impl Calls {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, work: JoinSet::new(), known: VecDeque::new() }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Runs a call. One that the provider sends once more (`again`) runs no second time: the answer that it had is
    /// given again.
    pub(crate) fn start(
        &mut self,
        call: ToolCall,
        conversation: u64,
        again: Option<&str>,
        agent: &SpanHandle,
    ) -> Option<ToolResponse> {
        let same = |known: &&Known| {
            Some(known.call.id()) == again
                && known.call.name() == call.name()
                && known.call.arguments() == call.arguments()
        };
        if let Some(known) = self.known.iter().find(same) {
            return known.answer.clone();
        }
        if self.known.len() >= KEPT
            && let Some(at) = self.known.iter().position(|known| known.answer.is_some() || known.withdrawn)
        {
            self.known.remove(at);
        }
        let session = self.session.clone();
        let made = call.clone();
        self.work.spawn(agent.inside(async move { Done::Answered(session.call(made).await) }));
        self.known.push_back(Known { call, conversation, withdrawn: false, interrupted: false, answer: None });
        None
    }

    pub(crate) fn decide(&mut self, token: String, word: Word, agent: &SpanHandle) {
        let session = self.session.clone();
        self.work.spawn(agent.inside(async move {
            let response = match word {
                Word::Approved => session.approve(&token).await,
                Word::Denied => session.deny(&token).await,
            };
            Done::Decided(response, word)
        }));
    }

    /// Ends the turn, beside the reading too: a store may be far away.
    pub(crate) fn next_turn(&mut self) {
        let session = self.session.clone();
        self.work.spawn(async move { Done::Turned(session.next_turn().await) });
    }

    /// The next thing that is done; pending for ever where nothing is under way.
    pub(crate) async fn next(&mut self) -> Done {
        loop {
            match self.work.join_next().await {
                Some(Ok(done)) => return done,
                // A session does not panic, and nobody aborts its calls.
                Some(Err(error)) => tracing::error!(%error, "a call was lost"),
                None => std::future::pending().await,
            }
        }
    }

    /// Gives up what is under way, and waits until it is gone.
    pub(crate) async fn give_up(&mut self) {
        self.work.shutdown().await;
    }

    /// Keeps an answer, and says what to do with it.
    pub(crate) fn answered(&mut self, response: ToolResponse, conversation: u64) -> Told {
        let id = response.meta().call_id().unwrap_or_default().to_owned();
        let Some(known) = self.known.iter_mut().find(|known| known.call.id() == id && known.answer.is_none()) else {
            return Told::Withdrawn;
        };
        known.answer = Some(response.clone());
        match (known.withdrawn, known.conversation == conversation) {
            (true, _) => Told::Withdrawn,
            (false, false) => Told::Late(response),
            (false, true) => Told::Send(response, !known.interrupted),
        }
    }

    /// The provider has withdrawn calls.
    pub(crate) fn withdraw(&mut self, ids: &[String]) {
        for known in self.known.iter_mut().filter(|known| ids.iter().any(|id| id == known.call.id())) {
            known.withdrawn = true;
            self.session.cancel(known.call.id());
        }
    }

    pub(crate) fn was_withdrawn(&self, id: &str) -> bool {
        self.known.iter().any(|known| known.withdrawn && known.call.id() == id)
    }

    /// The user has spoken.
    pub(crate) fn interrupt(&mut self) {
        self.session.interrupt();
        for known in self.known.iter_mut().filter(|known| known.answer.is_none()) {
            known.interrupted = true;
        }
    }

    /// Whether calls run that the model waits for.
    pub(crate) fn are_awaited(&self) -> bool {
        self.known.iter().any(|known| known.answer.is_none() && !known.withdrawn)
    }
}
