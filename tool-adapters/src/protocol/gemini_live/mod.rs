//! Gemini Live, over a WebSocket: each message is one JSON text.
//!
//! - What the session needs besides the conversation comes as `Event::Unknown`, whole: `setupComplete`, `goAway`,
//!   `sessionResumptionUpdate`, and `inputTranscription`, what the user has said.
//! - `outputTranscription` is what the model says, so it comes as text.
//! - `request` gives the `setup` message; `Request::extra` is laid over the members of `setup`. The choice of tools has
//!   no place there, nor has the history.
//! - Answers that want no reply are `SILENT`. The further answers of a call that tells how far it is (`<id>_update_N`,
//!   `<id>_final`) go out under the call's own id, `WHEN_IDLE`: the model speaks of them as soon as it does not
//!   interrupt anybody by it. That only holds for functions that are declared `NON_BLOCKING`; of others the server takes
//!   the first answer. L24
//! - Calls that the server has withdrawn are not answered.

mod known;
mod read;
#[cfg(test)]
mod tests;
mod wire;
mod write;

use super::Request;
use super::codec::{Answer, Codec, Out};
use crate::Provider;
use known::Known;
use serde_json::Value;

/// Reads and writes what Live does.
#[derive(Debug, Default)]
pub(super) struct GeminiLive {
    reader: read::Reader,
    known: Known,
}

impl Codec for GeminiLive {
    fn provider(&self) -> Provider {
        Provider::GeminiLive
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        self.reader.read(text, &mut self.known, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.reader.finish(out);
    }

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        write::responses(answers, &self.known)
    }

    fn request(&self, request: &Request<'_>) -> Value {
        write::setup(request)
    }
}
