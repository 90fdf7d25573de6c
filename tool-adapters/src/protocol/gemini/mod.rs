//! Gemini's generateContent, with `parameters` and with `parametersJsonSchema`: the conversation is the same.
//!
//! Every part is an item, with its thought signature. What the provider ran itself (`executableCode`, `toolCall` and
//! their results) is no call of ours. Calls that came without an id are answered without one. A stream is over when its
//! bytes are: `Event::Finished` comes from `finish`.

mod parts;
mod read;
mod result;
#[cfg(test)]
mod tests;
mod wire;
mod write;

pub(super) use parts::{Form, call, read as read_parts};
pub(super) use result::function_response;
pub(super) use wire::{Call, Content, Counts};
pub(super) use write::instruction;

use super::Request;
use super::codec::{Answer, Codec, Out};
use crate::Provider;
use serde_json::Value;

/// Reads and writes what generateContent does.
#[derive(Debug, Default)]
pub(super) struct Gemini {
    reader: read::Reader,
    json_schema: bool,
}

impl Gemini {
    /// For tools that are declared as JSON Schema.
    pub(super) fn json_schema() -> Self {
        Self { json_schema: true, ..Self::default() }
    }
}

impl Codec for Gemini {
    fn provider(&self) -> Provider {
        if self.json_schema { Provider::GeminiJsonSchema } else { Provider::Gemini }
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(text, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        write::results(answers)
    }

    fn request(&self, request: &Request<'_>) -> Value {
        write::request(request)
    }
}
