//! The calls of a turn that may ask again, as an engine makes them again after a crash.

use crate::session::store::session_store::CallRun;
use serde::{Deserialize, Serialize};

/// The calls of a turn that are known. Of more, the oldest are forgotten, and may be counted again.
const KNOWN: usize = 1024;

/// The calls of a turn whose runs were counted. Few sessions have any.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CountedRuns(Vec<CountedCall>);

/// A call whose attempt was counted.
#[derive(Serialize, Deserialize)]
struct CountedCall {
    /// The call, in hexadecimal digits.
    call: String,
    /// The run that is charged, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charged: Option<String>,
}

impl CountedRuns {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the attempt of the run's call was counted.
    #[inline]
    pub(crate) fn is_counted(&self, run: Option<CallRun>) -> bool {
        run.is_some_and(|run| self.find(run).is_some())
    }

    /// Returns true if a run of the call is charged.
    #[inline]
    pub(crate) fn is_charged(&self, run: Option<CallRun>) -> bool {
        run.and_then(|run| self.find(run))
            .is_some_and(|call| call.charged.is_some())
    }

    /// Takes note that the attempt of the run's call was counted.
    #[inline]
    pub(crate) fn count(&mut self, run: Option<CallRun>) {
        if let Some(run) = run {
            self.get(run);
        }
    }

    /// Takes note that the run is charged.
    #[inline]
    pub(crate) fn charge(&mut self, run: Option<CallRun>) {
        if let Some(run) = run {
            self.get(run).charged = Some(digits(run.run));
        }
    }

    /// Takes the charge of a run. Returns false if there is nothing to refund, as another run of the
    /// call is charged. A call that comes once is always charged.
    #[inline]
    pub(crate) fn take_charge(&mut self, run: Option<CallRun>) -> bool {
        let Some(run) = run else {
            return true;
        };
        let own = digits(run.run);
        let found = self.find_mut(run);
        let charged = found.and_then(|call| call.charged.take_if(|charged| *charged == own));
        charged.is_some()
    }

    /// Forgets the calls, as the turn is over.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0 = Vec::new();
    }

    fn find(&self, run: CallRun) -> Option<&CountedCall> {
        let call = digits(run.call);
        self.0.iter().rfind(|known| known.call == call)
    }

    fn find_mut(&mut self, run: CallRun) -> Option<&mut CountedCall> {
        let call = digits(run.call);
        self.0.iter_mut().rfind(|known| known.call == call)
    }

    #[cold]
    fn get(&mut self, run: CallRun) -> &mut CountedCall {
        let call = digits(run.call);
        let calls = &mut self.0;
        if let Some(index) = calls.iter().rposition(|known| known.call == call) {
            return &mut calls[index];
        }

        if calls.len() >= KNOWN {
            calls.drain(..KNOWN / 2);
        }
        let index = calls.len();
        calls.push(CountedCall {
            call,
            charged: None,
        });
        &mut calls[index]
    }
}

fn digits(number: u128) -> String {
    format!("{number:032x}")
}
