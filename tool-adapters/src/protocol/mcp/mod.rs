//! The Model Context Protocol, from a server's side: `tools/call` requests in, JSON-RPC answers out.
//!
//! Requests' ids come back in their own type. A request's `_meta` comes as an item, `{"id": .., "_meta": {..}}`, before
//! its call; `notifications/cancelled` withdraws a call; other methods come as `Event::Unknown`. A call of a tool that
//! does not exist is answered with the error -32602, any other failure with a result that says `isError`. There is no
//! model to ask: `request` gives the result of `tools/list`.
//!
//! A whole server is `tool_adapters::mcp`.

mod known;
mod read;
#[cfg(test)]
mod tests;
mod wire;
mod write;

use super::codec::{Answer, Codec, Framed, Out};
use super::event::Event;
use super::{Protocol, Request, body};
use crate::Provider;
use known::Known;
use serde_json::{Map, Value, json};
use tool_core::call::ResultForm;
use tool_core::{ErrorKind, ToolResponse};

/// JSON-RPC's "invalid params", with which MCP says that there is no such tool.
const UNKNOWN_TOOL: i32 = -32602;

/// Reads requests.
#[derive(Debug, Default)]
struct Requests {
    known: Known,
}

impl Codec for Requests {
    fn provider(&self) -> Provider {
        Provider::Mcp
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        read::read(text, &mut self.known, out);
    }

    /// What was cut off, the framing tells.
    fn finish(&mut self, _out: &mut Out<'_>) {}

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        let told = answers.iter().map(|answer| {
            let id = self.known.wire(answer.id);
            json!({"jsonrpc": "2.0", "id": id, "result": write::result(&answer.result)})
        });
        told.collect()
    }

    fn request(&self, request: &Request<'_>) -> Value {
        body::finished(Map::from_iter([("tools".to_owned(), body::tools(request))]), request)
    }
}

/// Reads and writes what a server of MCP does.
#[derive(Default)]
pub(super) struct Mcp(Framed<Requests>);

impl Protocol for Mcp {
    fn provider(&self) -> Provider {
        self.0.provider()
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.0.push(bytes)
    }

    fn push_event(&mut self, event: &Value) -> Vec<Event> {
        self.0.push_event(event)
    }

    fn finish(&mut self) -> Vec<Event> {
        self.0.finish()
    }

    fn encode(&self, responses: &[ToolResponse]) -> Value {
        let mut answers = self.0.encode(responses);
        for (answer, response) in answers.as_array_mut().into_iter().flatten().zip(responses) {
            let unknown = response.error().filter(|error| error.kind == ErrorKind::NotFound);
            if let (Some(error), Some(answer)) = (unknown, answer.as_object_mut()) {
                answer.remove("result");
                answer.insert("error".to_owned(), json!({"code": UNKNOWN_TOOL, "message": error.message}));
            }
        }
        answers
    }

    fn result_form(&mut self, form: ResultForm) {
        self.0.result_form(form);
    }

    fn request(&self, request: &Request<'_>) -> Value {
        self.0.request(request)
    }
}
