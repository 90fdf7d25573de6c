//! The calls of a turn that may ask several times, as an engine makes them again after a crash.

use serde::{Deserialize, Serialize};

/// The calls of a turn that are known. Of more, the oldest are forgotten, and may be counted again.
const KNOWN: usize = 1024;

/// The calls of a turn that may ask again. Few sessions have any.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RepeatableCalls(Vec<RepeatableCall>);

/// A call whose attempt was counted.
#[derive(Serialize, Deserialize)]
struct RepeatableCall {
    /// The call, in hexadecimal digits.
    id: String,
    /// The admissions for which the call is charged, and that were not refunded. They are charged as
    /// one.
    admissions: u32,
}

impl RepeatableCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the attempt of the call was counted.
    #[inline]
    pub(crate) fn is_counted(&self, call: Option<u128>) -> bool {
        call.is_some_and(|call| self.find(call).is_some())
    }

    /// Takes note that the attempt of the call was counted.
    #[inline]
    pub(crate) fn count(&mut self, call: Option<u128>) {
        if let Some(call) = call {
            self.get(call);
        }
    }

    /// Returns true if the call is charged already.
    #[inline]
    pub(crate) fn is_charged(&self, call: Option<u128>) -> bool {
        call.and_then(|call| self.find(call))
            .is_some_and(|known| known.admissions > 0)
    }

    /// Adds an admission for which the call is charged.
    #[inline]
    pub(crate) fn charge(&mut self, call: Option<u128>) {
        if let Some(call) = call {
            let known = self.get(call);
            known.admissions = known.admissions.saturating_add(1);
        }
    }

    /// Refunds an admission. Returns true if the charge is taken back with it. A call that comes once
    /// has one admission.
    #[inline]
    pub(crate) fn refund(&mut self, call: Option<u128>) -> bool {
        let Some(call) = call else {
            return true;
        };
        let Some(known) = self.find_mut(call).filter(|known| known.admissions > 0) else {
            return false;
        };
        known.admissions -= 1;
        known.admissions == 0
    }

    /// Forgets the calls, as the turn is over.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0 = Vec::new();
    }

    fn find(&self, call: u128) -> Option<&RepeatableCall> {
        let id = digits(call);
        self.0.iter().rfind(|known| known.id == id)
    }

    fn find_mut(&mut self, call: u128) -> Option<&mut RepeatableCall> {
        let id = digits(call);
        self.0.iter_mut().rfind(|known| known.id == id)
    }

    #[cold]
    fn get(&mut self, call: u128) -> &mut RepeatableCall {
        let id = digits(call);
        let calls = &mut self.0;
        if let Some(index) = calls.iter().rposition(|known| known.id == id) {
            return &mut calls[index];
        }

        if calls.len() >= KNOWN {
            calls.drain(..KNOWN / 2);
        }
        let index = calls.len();
        calls.push(RepeatableCall { id, admissions: 0 });
        &mut calls[index]
    }
}

fn digits(number: u128) -> String {
    format!("{number:032x}")
}
