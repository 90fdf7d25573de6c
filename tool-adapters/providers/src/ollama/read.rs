//! The reader of answers and of their lines, and the members that it reads.

use crate::codec::{EventSink, MessageReader, ResponseOrigin, WireCall};
use crate::event::{Event, Finish, ProtocolError, malformed, out_of_place};
use crate::json_reader::{OtherMembers, json_objects};
use crate::lenient::{
    LenientCount, LenientObject, LenientText, RawJson, RawObject, RawObjects, WithRaw, parse_object,
};
use crate::message_members::MessageMembers;
use crate::ollama::seen_calls::{SeenCalls, SeenOllamaCall};
use serde_json::{Map, Value, json};
use tool_core::ToolCall;
use tool_core::trace::TokenUsage;

/// Reads Ollama's chat.
#[derive(Debug, Default)]
pub(crate) struct OllamaReader {
    origin: ResponseOrigin,
    content: String,
    thinking: String,
    /// The members of the message that the protocol does not know.
    members: MessageMembers,
    calls: Vec<SentCall>,
    seen: SeenCalls,
    begun: bool,
    /// True if the server has reported the error that ends the stream.
    failed: bool,
    /// The line that has ended the message.
    last_line: Option<String>,
}

/// A call as the server sent it.
#[derive(Debug)]
struct SentCall {
    json: String,
    name: String,
    /// True if the call has members that the protocol does not know.
    has_others: bool,
}

json_objects! {
    struct Line<'a> {
        model: LenientText<'a>,
        message: WithRaw<'a, LenientObject<LineMessage<'a>>>,
        done: LenientText<'a>,
        done_reason: LenientText<'a>,
        prompt_eval_count: LenientCount,
        eval_count: LenientCount,
        error: RawJson<'a>,
        /// The status of an error.
        status: LenientText<'a>,
    }

    struct LineMessage<'a> {
        /// Always the assistant's.
        role: LenientText<'a>,
        content: WithRaw<'a, LenientText<'a>>,
        thinking: WithRaw<'a, LenientText<'a>>,
        tool_calls: WithRaw<'a, RawObjects<'a, OllamaCall<'a>>>,
        ..others: OtherMembers<'a>,
    }

    struct OllamaCall<'a> {
        id: LenientText<'a>,
        function: LenientObject<OllamaFunction<'a>>,
        ..others: OtherMembers<'a>,
    }

    struct OllamaFunction<'a> {
        name: LenientText<'a>,
        /// An object.
        arguments: RawJson<'a>,
        /// The number of the call. Some models have 0 for all.
        index: LenientText<'a>,
        ..others: OtherMembers<'a>,
    }
}

impl MessageReader for OllamaReader {
    fn read(
        &mut self,
        _name: &str,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let Some(line) = parse_object::<Line<'_>>(text)? else {
            sink.error(malformed("expected an object as a line", text));
            return Ok(());
        };
        let read = self.read_line(text, &line, sink);
        sink.tell(read, text)
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.begun && !self.failed && self.last_line.is_none() {
            sink.error(ProtocolError::Truncated { call_id: None });
        }
        *self = Self::default();
    }
}

impl OllamaReader {
    /// Reads a line; returns false for an unknown one without a part of the answer, such as the
    /// state of a download.
    fn read_line(
        &mut self,
        text: &str,
        line: &Line<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<bool, ProtocolError> {
        if line.error.0.is_some() {
            self.failed = true;
            let code = line.status.0.as_deref().map(str::to_owned);
            return Err(ProtocolError::of_provider(code, line.error.text()));
        }
        let has_message = !matches!(line.message.raw, "" | "null");
        if has_message && line.message.value.is_none() {
            return Err(malformed(
                "expected an object as the `message` of a line",
                text,
            ));
        }
        if !has_message && !line.done.is_true() {
            let is_line = line.done.0.is_some();
            return if is_line {
                Err(malformed("expected the `message` of a line", text))
            } else {
                Ok(false)
            };
        }
        if let Some(last) = &self.last_line {
            let is_repeated = last == text;
            return if is_repeated {
                Ok(true)
            } else {
                Err(out_of_place("a line came after the end of the message"))
            };
        }

        self.begun = true;
        self.origin.emit("", line.model.as_str(), sink);
        if let Some(message) = &*line.message.value {
            self.read_message(text, message, sink)?;
        }
        if line.done.is_true() {
            self.last_line = Some(text.to_owned());
            self.end(line, sink)?;
        }
        Ok(true)
    }

    fn read_message(
        &mut self,
        text: &str,
        message: &LineMessage<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let is_text = |raw: &str| matches!(raw.as_bytes().first(), None | Some(b'"' | b'n'));
        if !is_text(message.content.raw) || !is_text(message.thinking.raw) {
            return Err(malformed(
                "expected texts as the `content` and the `thinking` of a message",
                text,
            ));
        }
        let content = message.content.value.as_str();
        let thinking = message.thinking.value.as_str();
        self.content.push_str(content);
        self.thinking.push_str(thinking);
        sink.reasoning(thinking);
        sink.text(content);
        for member in &message.others.0 {
            self.members.add(&member.name, member.value()?);
        }
        match &message.tool_calls.value.0 {
            Some(entries) => self.read_calls(text, entries, sink),
            None if matches!(message.tool_calls.raw, "" | "null") => {
                self.seen.pass();
                Ok(())
            }
            None => Err(malformed(
                "expected an array as the `tool_calls` of a message",
                text,
            )),
        }
    }

    fn read_calls(
        &mut self,
        text: &str,
        entries: &[RawObject<'_, OllamaCall<'_>>],
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let mut calls = Vec::new();
        for entry in entries {
            let wire = entry.object.as_ref();
            let Some((id, function)) =
                wire.and_then(|wire| Some((&wire.id, wire.function.as_ref()?)))
            else {
                return Err(malformed("expected calls of functions", text));
            };
            // A model may invent an empty name, which the result tells. A call without a name and
            // an id has no answer.
            let is_nameless = function.name.as_str().is_empty() && id.as_str().is_empty();
            if function.name.0.is_none() || is_nameless {
                return Err(malformed("expected the `name` of a called function", text));
            }
            calls.push(SeenOllamaCall::new(
                id.as_str(),
                function.index.as_str(),
                function.name.as_str(),
                &function.arguments.text(),
            ));
        }
        let new = self.seen.add(calls);
        for at in new {
            let Some(RawObject {
                raw,
                object: Some(entry),
            }) = entries.get(at)
            else {
                continue;
            };
            let Some(function) = &*entry.function else {
                continue;
            };
            emit_call(entry.id.as_str(), function, sink);
            self.calls.push(SentCall {
                json: (*raw).to_owned(),
                name: function.name.as_str().to_owned(),
                has_others: !entry.others.0.is_empty() || !function.others.0.is_empty(),
            });
        }
        Ok(())
    }

    fn end(&mut self, line: &Line<'_>, sink: &mut EventSink<'_>) -> Result<(), ProtocolError> {
        let input = line.prompt_eval_count.0;
        let output = line.eval_count.0;
        sink.push(Event::Usage(TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        }));
        let has_calls = !self.calls.is_empty();
        self.emit_item(sink);
        sink.end(match line.done_reason.as_str() {
            // Older servers give no reason.
            "stop" | "" if has_calls => Finish::ToolCalls,
            "stop" | "" => Finish::Stop,
            "length" => Finish::Length,
            reason @ ("load" | "unload") => {
                let message =
                    format!("the server did not answer: it has made a model ready to {reason}");
                return Err(ProtocolError::of_provider(Some(reason.to_owned()), message));
            }
            other => Finish::of_unlisted(other),
        });
        Ok(())
    }

    /// Emits the message in the server's form, if it has more than text and calls.
    fn emit_item(&mut self, sink: &mut EventSink<'_>) {
        let content = std::mem::take(&mut self.content);
        let thinking = std::mem::take(&mut self.thinking);
        let members = std::mem::take(&mut self.members);
        let calls = std::mem::take(&mut self.calls);
        if thinking.is_empty() && members.is_empty() && !calls.iter().any(|call| call.has_others) {
            return;
        }

        let mut item = Map::from_iter([
            ("role".to_owned(), "assistant".into()),
            ("content".to_owned(), content.into()),
        ]);
        if !thinking.is_empty() {
            item.insert("thinking".to_owned(), thinking.into());
        }
        item.extend(members.into_map());
        if !calls.is_empty() {
            item.insert(
                "tool_calls".to_owned(),
                calls.iter().map(SentCall::item).collect(),
            );
        }
        sink.push_item(Value::Object(item));
    }
}

impl SentCall {
    fn item(&self) -> Value {
        // Arguments with a number that is too large cannot be kept. The history has them as a text.
        let without_arguments = || json!({"function": {"name": self.name, "arguments": {}}});
        serde_json::from_str(&self.json).unwrap_or_else(|_| without_arguments())
    }
}

fn emit_call(id: &str, function: &OllamaFunction<'_>, sink: &mut EventSink<'_>) {
    let name = function.name.as_str();
    let arguments = function.arguments.text();
    let mut arguments = if arguments.trim_ascii().is_empty() {
        "{}".to_owned()
    } else {
        arguments.into_owned()
    };
    sink.join(&mut arguments);
    let id = sink.assign(WireCall {
        id: id.to_owned(),
        name: name.to_owned(),
        kind: "",
    });
    sink.push(Event::CallStarted {
        id: id.clone(),
        name: name.to_owned(),
    });
    sink.push(Event::Arguments {
        id: id.clone(),
        delta: arguments.clone(),
    });
    sink.push(Event::Call(ToolCall::new(id, name, arguments)));
}
