//! The played conversation of the example.

use crate::play::{PlayedScene, PlayedTurn, play};
use crate::script::parse;
use crate::tools::tools;
use tool_core::ToolResponse;

pub(crate) async fn played(script: &str) -> Vec<PlayedScene> {
    play(tools().unwrap(), &parse(script).unwrap())
        .await
        .unwrap()
}

/// Plays the text session and the voice session of `conversation.txt`.
pub(crate) async fn conversation() -> [PlayedScene; 2] {
    let scenes = played(include_str!("../../concierge/conversation.txt")).await;
    scenes
        .try_into()
        .unwrap_or_else(|scenes: Vec<_>| panic!("{} sessions", scenes.len()))
}

impl PlayedScene {
    /// Returns the turn in which the guest said this text.
    pub(crate) fn turn(&self, words: &str) -> &PlayedTurn {
        let found = self.turns.iter().find(|turn| turn.guest.contains(words));
        found.unwrap_or_else(|| panic!("no line contains {words:?}"))
    }
}

impl PlayedTurn {
    /// Returns the responses of calls and of decisions.
    pub(crate) fn responses(&self) -> Vec<&ToolResponse> {
        self.steps
            .iter()
            .filter_map(|step| step.response())
            .collect()
    }

    /// Returns `ok`, or the type of the error, for each response.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.responses()
            .into_iter()
            .map(|response| response.error().map_or("ok", |error| error.kind.as_str()))
            .collect()
    }

    /// Returns the message of an error.
    pub(crate) fn message(&self, number: usize) -> &str {
        &self.responses()[number].error().unwrap().message
    }
}
