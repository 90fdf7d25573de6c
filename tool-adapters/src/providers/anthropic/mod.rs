//! Anthropic's Messages.
//!
//! Every content block is an item: thoughts with their signatures, and what the provider ran itself (`server_tool_use`,
//! `mcp_tool_use` and their results), which are no calls of ours. A turn that the provider paused ends with
//! `Finish::Other("pause_turn")`: asked again with it, it goes on.

pub(crate) mod computer;
pub(crate) mod read;
pub mod tools;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::providers::codec::{Answer, Codec, Out};
use crate::providers::event::Request;
use crate::providers::provider::Provider;
use serde_json::Value;

/// Reads and writes what Anthropic's Messages does.
#[derive(Debug, Default)]
pub(crate) struct Anthropic {
    reader: read::Reader,
}

impl Codec for Anthropic {
    fn provider(&self) -> Provider {
        Provider::Anthropic
    }

    fn read(&mut self, name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(name, text, out);
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
