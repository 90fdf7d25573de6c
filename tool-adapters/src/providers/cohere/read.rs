//! Answers and stream events to events.

use crate::providers::calls::Calls;
use crate::providers::codec::Out;
use crate::providers::event::{Event, Finish, Origin, ProtocolError};
use crate::providers::fields::{Count, Json, Object, Objects, Text};
use crate::providers::ids::Wire;
use crate::providers::openai_chat::wire::Entry;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// The message that is being read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    calls: Calls<u64>,
    plan: String,
    origin: Origin,
    begun: bool,
}

/// A stream event, or a whole answer.
#[derive(Debug, Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    /// Of the message.
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(default)]
    index: Count,
    #[serde(borrow, default)]
    delta: Object<Delta<'a>>,
    #[serde(borrow, default)]
    message: Object<Message<'a>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    #[serde(default)]
    usage: Object<Usage>,
}

#[derive(Debug, Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    message: Object<Message<'a>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    #[serde(default)]
    usage: Object<Usage>,
    #[serde(borrow, default)]
    error: Json<'a>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Json<'a>,
    #[serde(borrow, default)]
    tool_plan: Text<'a>,
    /// An array in an answer, a single one in a stream.
    #[serde(borrow, default)]
    tool_calls: Objects<Entry<'a>>,
    #[serde(borrow)]
    citations: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    tokens: Object<Tokens>,
    #[serde(default)]
    billed_units: Object<Tokens>,
    #[serde(default)]
    cached_tokens: Count,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
}

impl Reader {
    pub(crate) fn read(&mut self, text: &str, out: &mut Out<'_>) {
        let Some(Object(answer)) = out.parse::<Object<Answer<'_>>>(text) else { return };
        let Some(answer) = answer else { return out.unknown(text) };
        let said = answer.delta.as_ref().and_then(|delta| delta.message.as_ref());
        self.begun |= answer.kind.0.is_some();
        match (answer.kind.or_empty(), said) {
            ("content-start" | "content-delta" | "tool-plan-delta" | "citation-start", Some(said)) => {
                self.said(said, out);
            }
            ("tool-call-start", Some(said)) => self.called(answer.index.0, said, true, out),
            ("tool-call-delta", Some(said)) => self.called(answer.index.0, said, false, out),
            ("tool-call-end", _) => self.calls.whole(&answer.index.0, out),
            ("message-end", _) => self.end(&answer, out),
            ("message-start", _) => self.origin.tell(answer.id.or_empty(), "", out),
            ("content-end" | "citation-end", _) => {}
            ("", _) => self.answer(&answer, text, out),
            _ => out.unknown(text),
        }
    }

    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        if self.begun {
            self.calls.cut(out);
            out.error(ProtocolError::Truncated { call_id: None });
        }
        *self = Self::default();
    }

    /// A whole answer, or an error instead of one.
    fn answer(&mut self, answer: &Answer<'_>, text: &str, out: &mut Out<'_>) {
        let Some(message) = &*answer.message else {
            self.begun = false;
            return out.provider_error(text);
        };
        self.origin.tell(answer.id.or_empty(), "", out);
        self.said(message, out);
        for (key, called) in (0..).zip(&message.tool_calls.0) {
            self.begin(key, called);
            self.piece(key, called, out);
        }
        self.over(answer.finish_reason.or_empty(), answer.usage.as_ref(), out);
    }

    fn said(&mut self, message: &Message<'_>, out: &mut Out<'_>) {
        // What it plans is thought, and has to be told when the message is: it is no part of the text.
        out.reasoning(message.tool_plan.or_empty());
        self.plan.push_str(message.tool_plan.or_empty());
        let parts = message.content.objects::<Part<'_>>();
        for part in parts.iter().chain(message.content.object().as_ref()) {
            out.reasoning(part.thinking.or_empty());
            out.text(part.text.or_empty());
        }
        out.text(&message.content.string().unwrap_or_default());
        if let Some(citations) = message.citations.filter(|citations| citations.get() != "null") {
            out.item(&format!("{{\"citations\":{citations}}}"));
        }
    }

    fn called(&mut self, key: u64, message: &Message<'_>, starts: bool, out: &mut Out<'_>) {
        for called in &message.tool_calls.0 {
            if starts {
                self.begin(key, called);
            }
            self.piece(key, called, out);
        }
    }

    fn begin(&mut self, key: u64, called: &Entry<'_>) {
        let name = called.function.as_ref().map_or("", |function| function.name.or_empty());
        let id = called.id.or_empty();
        match self.calls.latest(&key) {
            // Its pieces came before it, or it comes twice.
            Some(call) if call.wire.id.is_empty() && !call.told || !id.is_empty() && call.wire.id == id => {
                self.calls.identify(&key, id, name);
            }
            _ => self.calls.begin(key, Wire { id: id.to_owned(), name: name.to_owned(), kind: "" }),
        }
    }

    fn piece(&mut self, key: u64, called: &Entry<'_>, out: &mut Out<'_>) {
        if let Some(function) = &*called.function {
            self.calls.append(&key, &function.arguments.text(), out);
        }
    }

    fn end(&mut self, answer: &Answer<'_>, out: &mut Out<'_>) {
        let delta = answer.delta.as_ref();
        let error = delta.map(|delta| delta.error.text()).filter(|error| !error.is_empty());
        if let Some(message) = error {
            out.error(ProtocolError::Provider { code: None, message: message.into_owned() });
        }
        let reason = delta.map_or("", |delta| delta.finish_reason.or_empty());
        self.over(reason, delta.and_then(|delta| delta.usage.as_ref()), out);
    }

    fn over(&mut self, reason: &str, usage: Option<&Usage>, out: &mut Out<'_>) {
        let finish = match reason {
            "COMPLETE" | "STOP_SEQUENCE" | "" if !self.calls.is_empty() => Finish::ToolCalls,
            "COMPLETE" | "STOP_SEQUENCE" | "" => Finish::Stop,
            "TOOL_CALL" => Finish::ToolCalls,
            "MAX_TOKENS" => Finish::Length,
            "ERROR_TOXIC" => Finish::Filtered,
            other => Finish::Other(other.to_owned()),
        };
        match finish {
            Finish::Stop | Finish::ToolCalls => self.calls.all_whole(out),
            _ => self.calls.cut(out),
        }
        if !self.plan.is_empty() {
            out.push(Event::Item(json!({"tool_plan": self.plan})));
        }
        if let Some(usage) = usage {
            out.push(Event::Usage(usage.usage()));
        }
        out.push(Event::Finished(finish));
        *self = Self::default();
    }
}

impl Tokens {
    fn is_nothing(&self) -> bool {
        self.input_tokens.0 == 0 && self.output_tokens.0 == 0
    }
}

impl Usage {
    /// What is billed, where that is said: the tokens of the provider's own instructions are not.
    fn usage(&self) -> tool_core::trace::TokenUsage {
        let counts = self.billed_units.as_ref().filter(|billed| !billed.is_nothing()).or(self.tokens.as_ref());
        let counts = counts.copied().unwrap_or_default();
        tool_core::trace::TokenUsage {
            input: counts.input_tokens.0,
            // Of those that are not billed some may be cached too.
            cached: self.cached_tokens.0.min(counts.input_tokens.0),
            output: counts.output_tokens.0,
            ..tool_core::trace::TokenUsage::default()
        }
    }
}
