//! The model of the conversation: what it says next depends on the history alone, so that every process goes on with the same
//! script.

use crate::points::reach;
use serde_json::json;
use tool_core::session::{Message, Model, ModelRequest, ModelStep, is_note};
use tool_core::{ToolCall, ToolError};

/// The message of the user that begins each turn.
pub const PROMPTS: [&str; 2] = ["Do the letters.", "And the last one."];

/// The call that waits for a person.
pub const PAYMENT: &str = "pay-1";

/// The calls of each step of each turn, in the order of the script. The name of a tool is the first part of the id.
const TURNS: [&[&[&str]]; 2] = [
    &[
        &["send-1", "find-1", "file-1"],
        &["print-1", "translate-1", "send-2"],
        &[PAYMENT, "translate-2"],
        &["send-3", "find-2", "print-2"],
    ],
    &[&["send-4", "translate-3", "file-2"], &["find-3"]],
];

/// Returns the ids of the calls of a turn that are actions.
pub fn actions(turn: usize) -> impl Iterator<Item = &'static str> {
    let ids = TURNS[turn].iter().copied().flatten().copied();
    ids.filter(|id| !id.starts_with("find"))
}

/// Returns the name of the tool of a call.
pub fn tool_of(id: &str) -> &str {
    id.split_once('-').map_or(id, |(tool, _)| tool)
}

/// How far a conversation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The messages of the user.
    pub prompts: usize,
    /// The steps of calls in the turn.
    pub steps: usize,
    /// True if the model has spoken last.
    pub is_answered: bool,
}

impl Progress {
    pub fn of(messages: &[Message]) -> Self {
        let mut progress = Self {
            prompts: 0,
            steps: 0,
            is_answered: false,
        };
        for message in messages {
            progress.is_answered = false;
            match message {
                Message::User(said) if !is_note(&said.text()) => {
                    progress.prompts += 1;
                    progress.steps = 0;
                }
                Message::Assistant { calls, .. } if calls.is_empty() => progress.is_answered = true,
                Message::Assistant { .. } => progress.steps += 1,
                _ => {}
            }
        }
        progress
    }
}

pub struct Script;

impl Model for Script {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        reach("before an answer of the model");
        let progress = Progress::of(request.history);
        let turn = progress.prompts.saturating_sub(1);
        let Some(ids) = TURNS[turn].get(progress.steps) else {
            return Ok(ModelStep::says("That is all."));
        };
        let call = |id: &&str| ToolCall::new(*id, tool_of(id), json!({"number": number_of(id)}));
        Ok(ModelStep::calls(ids.iter().map(call)))
    }
}

fn number_of(id: &str) -> u32 {
    let (_, number) = id.split_once('-').expect("an id has a number");
    number.parse().expect("a number")
}
