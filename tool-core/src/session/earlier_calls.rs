//! The knowledge of a session about the calls that other processes have recorded in the journal, and about those of steps
//! that run again in this process.

use crate::call::ToolCall;
use crate::session::journal::RecoveredCall;
use std::collections::HashMap;

/// The calls of other processes, until they are answered.
#[derive(Default)]
pub(crate) struct EarlierCalls {
    unanswered: Vec<RecoveredCall>,
    /// By call id, the number of the call that was answered. A further call with the id runs, and
    /// replaces it.
    answered: HashMap<String, u64>,
}

/// The knowledge of a session about a call, from the list that it has read when it was opened.
pub(crate) enum Listed {
    /// The list has the call.
    Unanswered(Box<RecoveredCall>),
    /// The list had a call with the id, which was answered.
    Answered,
    /// The list never had the call.
    No,
}

impl EarlierCalls {
    pub(crate) fn new(calls: Vec<RecoveredCall>) -> Self {
        Self {
            unanswered: calls,
            answered: HashMap::new(),
        }
    }

    /// Adds a call that an earlier run of its step has begun in this process.
    pub(crate) fn add(&mut self, call: RecoveredCall) {
        if !self.unanswered.contains(&call) {
            self.unanswered.push(call);
        }
    }

    /// Takes the newest call with an id that `is_it` picks. Taken once, so that a further call with
    /// the id runs.
    pub(crate) fn take(
        &mut self,
        call_id: &str,
        is_it: impl Fn(&RecoveredCall) -> bool,
    ) -> Option<RecoveredCall> {
        let index = self
            .unanswered
            .iter()
            .rposition(|call| call.entry.call_id == call_id && is_it(call))?;
        let call = self.unanswered.remove(index);
        self.answer(&call);
        Some(call)
    }

    /// Returns true if there is a call with an id that `is_it` picks.
    pub(crate) fn has(&self, call_id: &str, is_it: impl Fn(&RecoveredCall) -> bool) -> bool {
        let mut calls = self.unanswered.iter();
        calls.any(|call| call.entry.call_id == call_id && is_it(call))
    }

    /// Returns what the list says of a call, and leaves it there.
    pub(crate) fn listed(&self, call: &ToolCall) -> Listed {
        let mut unanswered = self.unanswered.iter();
        if let Some(found) = unanswered.rfind(|listed| listed.is_of(call)) {
            return Listed::Unanswered(Box::new(found.clone()));
        }
        if self.answered.contains_key(call.id()) {
            Listed::Answered
        } else {
            Listed::No
        }
    }

    /// Notes that a call was answered which may be among the unanswered ones.
    pub(crate) fn settle(&mut self, found: &RecoveredCall) {
        let call_id = &found.entry.call_id;
        self.take(call_id, |listed| listed.entry == found.entry);
        self.answer(found);
    }

    /// Notes that a call was answered.
    pub(crate) fn answer(&mut self, call: &RecoveredCall) {
        self.answered
            .insert(call.entry.call_id.clone(), call.number);
    }

    /// Returns the number of the call that a new one with its id replaces.
    pub(crate) fn replaced_by(&self, call_id: &str) -> Option<u64> {
        self.answered.get(call_id).copied()
    }

    /// Counts all calls as answered.
    pub(crate) fn forget(&mut self) {
        self.forget_if(|_| true);
    }

    /// Counts some calls as answered.
    pub(crate) fn forget_if(&mut self, mut is_answered: impl FnMut(&RecoveredCall) -> bool) {
        let answered = self
            .unanswered
            .extract_if(.., |call| is_answered(call))
            .collect::<Vec<_>>();
        for call in answered {
            self.answer(&call);
        }
    }
}
