//! What a caller gets of an answer.

use serde_json::Value;
use std::collections::BTreeMap;
use tool_adapters::providers::Event;
use tool_adapters::{Provider, protocol};

/// The parts of an answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// True if the answer ended, and nothing of it was lost.
    pub(crate) is_answer: bool,
    pub(crate) text: String,
    /// The calls that run: their names with their arguments.
    pub(crate) calls: Vec<String>,
    pub(crate) errors: Vec<String>,
}

impl Outcome {
    pub(crate) fn read(provider: Provider, body: &[u8]) -> Self {
        Self::read_in(provider, [body].into_iter())
    }

    pub(crate) fn read_in<'a>(provider: Provider, pieces: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut protocol = protocol(provider);
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(protocol.push(piece));
        }
        events.extend(protocol.finish());

        let mut outcome = Self::default();
        for event in events {
            match event {
                Event::Text(piece) => outcome.text.push_str(&piece),
                Event::Call(call) => {
                    outcome
                        .calls
                        .push(format!("{} {}", call.name(), canonical(call.arguments())));
                }
                Event::Finished(_) => outcome.is_answer = true,
                Event::Error(error) if error.is_loss() => outcome.errors.push(error.to_string()),
                _ => {}
            }
        }
        outcome.is_answer &= outcome.errors.is_empty();
        outcome
    }

    /// Says what is wrong if the caller would take this for the whole answer.
    pub(crate) fn violation(&self, whole: &Self) -> Option<String> {
        if !self.is_answer {
            return None;
        }
        let mut left =
            whole
                .calls
                .iter()
                .fold(BTreeMap::<&str, usize>::new(), |mut counts, call| {
                    *counts.entry(call).or_default() += 1;
                    counts
                });
        for call in &self.calls {
            match left.get_mut(call.as_str()) {
                Some(count) if *count > 0 => *count -= 1,
                _ => return Some(format!("runs {call}, expected {:?}", whole.calls)),
            }
        }
        (self.text.len() < whole.text.len()).then(|| {
            let lengths = format!("{} of {} bytes", self.text.len(), whole.text.len());
            format!("the text is shorter: {lengths}")
        })
    }
}

/// Returns arguments in one spelling.
fn canonical(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => value.to_string(),
        Err(_) => arguments.to_owned(),
    }
}
