//! OpenAI's Chat Completions, as OpenAI and the many servers that do the same speak it.

mod read;
mod usage;
mod wire;
mod write;

#[cfg(test)]
mod tests;

pub(super) use read::Reader;
pub(super) use wire::Entry;

use super::codec::{Answer, Codec, Out};
use super::{Request, codec};
use crate::Provider;
use serde_json::Value;

/// The protocol.
pub(super) type OpenAiChat = codec::Framed<Chat>;

#[derive(Debug, Default)]
pub(super) struct Chat {
    reader: Reader,
}

impl Codec for Chat {
    fn provider(&self) -> Provider {
        Provider::OpenAiChat
    }

    fn read(&mut self, name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(name, text, out);
    }

    fn done(&mut self, out: &mut Out<'_>) {
        self.reader.done(out);
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
