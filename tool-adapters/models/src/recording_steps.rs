//! The steps that an agent records with an engine beside its replies.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use tool_core::session::{DurableSteps, StoreError, Turn, record};
use tool_core::{Session, ToolError};

/// An engine, and what an agent records with it beside its replies.
#[derive(Clone)]
pub(crate) struct RecordingSteps(pub(crate) Arc<dyn DurableSteps>);

impl fmt::Debug for RecordingSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingSteps").finish_non_exhaustive()
    }
}

/// The turn that has begun.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextTurn {
    pub(crate) turn: Turn,
    /// True if a tool or the host has ended the session before.
    pub(crate) was_ending: bool,
}

impl NextTurn {
    pub(crate) async fn begin(session: &Session) -> Self {
        let was_ending = session.state().ending || session.was_ended();
        let turn = session.next_turn().await;
        Self { turn, was_ending }
    }

    /// Begins the turn, or returns the error of the store, with which the last turn goes on.
    async fn try_begin(session: &Session) -> Result<Self, StoreError> {
        let was_ending = session.state().ending || session.was_ended();
        let turn = session.try_next_turn().await?;
        Ok(Self { turn, was_ending })
    }
}

impl RecordingSteps {
    /// Begins the next turn of a session.
    pub(crate) async fn next_turn(&self, session: &Session) -> NextTurn {
        let beginning = async {
            if !self.0.is_replayed() {
                return Ok(NextTurn::begin(session).await);
            }
            // The engine tries it again.
            let begun = NextTurn::try_begin(session).await;
            begun.map_err(|error| ToolError::transient(error.to_string()))
        };
        let next = record(&*self.0, "turn", beginning).await;
        // A cancelled function does not begin a turn.
        next.unwrap_or_else(|_| NextTurn {
            turn: Turn {
                number: session.turn(),
                pending_message: None,
                ended: true,
                ended_now: false,
            },
            was_ending: true,
        })
    }
}
