//! From one turn to the next.

use super::core::Core;
use crate::runtime::state::StateChange;
use crate::tool::Mode;
use std::sync::Arc;

/// A turn that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// Its number, counted from 0.
    pub number: u64,
    /// What a tool of the turn before wanted said in this one.
    pub pending_message: Option<String>,
    /// Whether the session is over instead: it has ended, has expired, or a tool of the turn before ended it.
    pub ended: bool,
}

pub(super) async fn next(core: &Arc<Core>) -> Turn {
    let before = core.record.state();
    let number = match core.store(core.record.next_turn()).await {
        Ok(Some(number)) => number,
        Ok(None) => {
            core.close().await;
            core.forget().await;
            // What the last turn left to be said is handed over once.
            let pending_message = before.pending_message.clone().filter(|_| !before.ended);
            return Turn { number: core.record.turn(), pending_message, ended: true };
        }
        Err(error) => {
            // The turn goes on with the counters that it has: nothing is admitted that was not before.
            tracing::error!(session = %core.id.as_str().escape_debug(), %error, "the turn did not end in its store");
            core.record.turn()
        }
    };
    Turn { number, pending_message: handed_over(core, before.pending_message.clone()).await, ended: false }
}

/// The message of the turn that ended, once. In voice the state still shows it during the turn that begins; at the end
/// of that one it goes.
async fn handed_over(core: &Core, message: Option<String>) -> Option<String> {
    let message = message?;
    if core.mode == Mode::Text || core.updates.hand_over(&message) {
        return Some(message);
    }
    let cleared = core.store(core.record.change(&[StateChange::PendingMessage(None)])).await;
    if let Err(error) = cleared {
        tracing::error!(session = %core.id.as_str().escape_debug(), %error, "a message stays that was handed over");
    }
    None
}
