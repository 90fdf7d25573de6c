//! Bedrock's Converse. Its stream is binary frames: the events are read as JSON, each under its name, as
//! `{"contentBlockDelta": {..}}`, one a line or one by one.
//!
//! Every content block is an item, thoughts with their signatures among them. What the provider ran itself
//! (`server_tool_use`) is no call of ours.

pub(crate) mod event_stream;
pub(crate) mod read;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::providers::codec::{Answer, Codec, Out};
use crate::providers::event::Request;
use crate::providers::provider::Provider;
use serde_json::Value;

/// Reads and writes what Converse does.
#[derive(Debug, Default)]
pub(crate) struct Bedrock {
    reader: read::Reader,
}

impl Codec for Bedrock {
    fn provider(&self) -> Provider {
        Provider::Bedrock
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
