//! OpenAI's Chat Completions, as OpenAI and the many servers that do the same speak it.

pub(crate) mod read;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::providers::codec;
use crate::providers::codec::{Answer, Codec, Out};
use crate::providers::event::Request;
use crate::providers::openai_chat::read::Reader;
use crate::providers::openai_chat::wire::Entry;
use crate::providers::provider::Provider;
use serde_json::Value;

/// The protocol.
pub(crate) type OpenAiChat = codec::Framed<Chat>;

#[derive(Debug, Default)]
pub(crate) struct Chat {
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
