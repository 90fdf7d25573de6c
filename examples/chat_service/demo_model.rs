//! A model without a key, which knows some words.

use std::time::Duration;
use tokio::time::sleep;
use tool_core::session::{EventSender, Message, Model, ModelRequest, ModelStep};
use tool_core::trace::TokenUsage;
use tool_core::{ToolCall, ToolError};

/// The time between two words.
const PAUSE: Duration = Duration::from_millis(40);

const GREETING: &str = "I am a model without a key, and know a few words. Ask me for a table for two, ask me to book a table, \
                        or ask me for a menu.";

/// Answers to a few words, and calls a tool for most of them.
pub(crate) struct DemoModel;

impl Model for DemoModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let step = answer(request.history);
        if let (Some(text), Some(events)) = (&step.text, request.events) {
            speak(text, events).await;
        }
        let usage = TokenUsage {
            input: 100,
            output: 20,
            ..TokenUsage::default()
        };
        Ok(ModelStep { usage, ..step })
    }
}

/// Shows a text word by word.
async fn speak(text: &str, events: &EventSender) {
    for word in text.split_inclusive(' ') {
        events.text(word);
        events.taken().await;
        sleep(PAUSE).await;
    }
}

fn answer(history: &[Message]) -> ModelStep {
    match history.last() {
        Some(Message::Result { tool, result, .. }) => answer_to_result(tool, &result.text),
        Some(Message::User(message)) => answer_to_text(message.text().as_ref(), history.len()),
        _ => ModelStep::says(GREETING),
    }
}

fn answer_to_result(tool: &str, result: &str) -> ModelStep {
    match tool {
        "find_tables" => ModelStep::says(format!(
            "These tables are free: {result}. Shall I book one?"
        )),
        "book_table" => ModelStep::says("Please confirm the booking. I wait for you."),
        "plan_menu" => ModelStep::says(format!("I suggest {result}.")),
        _ => ModelStep::says(format!("The answer is {result}.")),
    }
}

fn answer_to_text(text: &str, id: usize) -> ModelStep {
    let said = text.to_lowercase();
    let call = |tool: &str, arguments: &str| {
        ModelStep::calls([ToolCall::new(format!("call_{id}"), tool, arguments)])
    };
    if said.contains("has refused it") {
        ModelStep::says("Then I leave it.")
    } else if said.contains("has approved it") {
        ModelStep::says("It is done. We look forward to your visit!")
    } else if said.contains("book") {
        call("book_table", r#"{"table": 3, "guest": "Ada"}"#)
    } else if said.contains("table") {
        call("find_tables", r#"{"seats": 2}"#)
    } else if said.contains("menu") {
        call("plan_menu", r#"{"courses": 3}"#)
    } else {
        ModelStep::says(GREETING)
    }
}
