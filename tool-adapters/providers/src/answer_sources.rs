//! The sources that an answer names beside its text.

use crate::codec::EventSink;
use crate::event::Event;
use crate::lenient::RawJson;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Emits the members of an answer that name its sources. Some servers repeat them in every chunk: a
/// member that says the same as before is emitted once.
#[derive(Debug, Default)]
pub(crate) struct AnswerSources(HashMap<&'static str, Value>);

impl AnswerSources {
    /// Emits a member under its name, unless it is empty.
    pub(crate) fn emit(
        &mut self,
        name: &'static str,
        member: RawJson<'_>,
        sink: &mut EventSink<'_>,
    ) {
        let Some(value) = member.parse::<Value>().filter(|value| !is_empty(value)) else {
            return;
        };
        if self.0.get(name) == Some(&value) {
            return;
        }
        self.0.insert(name, value.clone());
        sink.push(Event::Unknown(json!({name: value})));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
