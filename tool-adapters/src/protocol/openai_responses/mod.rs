//! OpenAI's Responses.

mod items;
mod read;
mod wire;
mod write;

#[cfg(test)]
mod tests;

pub(super) use items::{Items, item};
pub(super) use read::{finish, own_key};
pub(super) use wire::{Key, Response, Sent, Tokens};

use super::Request;
use super::codec::{Answer, Codec, Framed, Out};
use crate::Provider;
use serde_json::Value;

/// The protocol.
pub(super) type OpenAiResponses = Framed<Responses>;

#[derive(Debug, Default)]
pub(super) struct Responses {
    reader: read::Reader,
}

impl Codec for Responses {
    fn provider(&self) -> Provider {
        Provider::OpenAiResponses
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(text, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        write::encode(answers)
    }

    fn request(&self, request: &Request<'_>) -> Value {
        write::request(request)
    }
}
