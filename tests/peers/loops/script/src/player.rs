//! The model's part of a conversation.

use crate::ANSWER;
use serde_json::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A call of the script, as it comes from a provider: the arguments are text.
pub struct Call {
    pub id: String,
    pub name: &'static str,
    pub arguments: String,
}

impl Call {
    pub fn new(step: usize, name: &'static str, arguments: String) -> Self {
        Self {
            id: format!("call_{step:02}"),
            name,
            arguments,
        }
    }
}

/// What the model says next.
pub enum Said<'a> {
    Call(&'a Call),
    Text(&'a str),
}

/// What a request to the model has.
#[derive(Default)]
pub struct Sent {
    /// The tools: names and schemas.
    pub tools: Vec<(String, Value)>,
    /// The results of calls, as texts.
    pub results: Vec<String>,
}

/// Plays a script: the calls, one a step, and then the answer.
pub struct Player {
    calls: Vec<Call>,
    next: AtomicUsize,
    /// The last request, if requests are recorded.
    sent: Option<Mutex<Sent>>,
}

impl Player {
    pub fn new(calls: Vec<Call>) -> Self {
        Self {
            calls,
            next: AtomicUsize::new(0),
            sent: None,
        }
    }

    pub fn recording(self) -> Self {
        Self {
            sent: Some(Mutex::default()),
            ..self
        }
    }

    /// Begins the script anew.
    pub fn rewind(&self) {
        self.next.store(0, Relaxed);
    }

    /// Returns what the model says to a request.
    pub fn next(&self) -> Said<'_> {
        let step = self.next.fetch_add(1, Relaxed);
        self.calls.get(step).map_or(Said::Text(ANSWER), Said::Call)
    }

    /// Records a request, which is read only where requests are recorded.
    pub fn record(&self, read: impl FnOnce() -> Sent) {
        if let Some(sent) = &self.sent {
            *sent.lock().expect("no recorder panics") = read();
        }
    }

    /// Returns the last request.
    pub fn last_request(&self) -> Sent {
        let sent = self.sent.as_ref().expect("requests are recorded");
        std::mem::take(&mut *sent.lock().expect("no recorder panics"))
    }

    /// Returns the number of requests in this conversation.
    pub fn requests(&self) -> usize {
        self.next.load(Relaxed)
    }
}
