//! From lines of JSON to events. Calls come whole, with their arguments as objects.

use crate::providers::call_ids::WireCall;
use crate::providers::codec::{EventSink, MessageReader, ResponseOrigin};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::lenient::{LenientCount, LenientObject, LenientObjects, LenientText};
use crate::providers::openai_chat::wire::CallEntry;
use crate::providers::partial_calls::PartialCalls;
use serde::Deserialize;
use tool_core::trace::TokenUsage;

/// Reads Ollama's chat.
#[derive(Debug, Default)]
pub(crate) struct OllamaReader {
    calls: PartialCalls<usize>,
    /// The number of calls in the message.
    count: usize,
    origin: ResponseOrigin,
    begun: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    model: LenientText<'a>,
    message: LenientObject<LineMessage<'a>>,
    done: LenientText<'a>,
    done_reason: LenientText<'a>,
    prompt_eval_count: LenientCount,
    eval_count: LenientCount,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct LineMessage<'a> {
    content: LenientText<'a>,
    thinking: LenientText<'a>,
    tool_calls: LenientObjects<CallEntry<'a>>,
}

impl MessageReader for OllamaReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let LenientObject(line) = serde_json::from_str::<LenientObject<Line<'_>>>(text)?;
        let Some(line) = line.filter(|line| line.message.is_some() || line.done.is_true()) else {
            return sink.error_or_unknown(text);
        };
        self.begun = true;
        self.origin.emit("", line.model.as_str(), sink);
        if let Some(message) = &*line.message {
            sink.reasoning(message.thinking.as_str());
            sink.text(message.content.as_str());
            for entry in &message.tool_calls.0 {
                self.read_call(entry, sink);
            }
        }
        if line.done.is_true() {
            self.end(&line, sink);
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if std::mem::take(self).begun {
            sink.error(ProtocolError::Truncated { call_id: None });
        }
    }
}

impl OllamaReader {
    fn read_call(&mut self, entry: &CallEntry<'_>, sink: &mut EventSink<'_>) {
        let Some(function) = &*entry.function else { return };
        let key = self.count;
        self.count += 1;
        let (id, name) = (entry.id.as_str().to_owned(), function.name.as_str().to_owned());
        self.calls.begin(key, WireCall { id, name, kind: "" });
        self.calls.append(&key, &function.arguments.text(), sink);
        self.calls.complete(&key, sink);
    }

    fn end(&mut self, line: &Line<'_>, sink: &mut EventSink<'_>) {
        let (input, output) = (line.prompt_eval_count.0, line.eval_count.0);
        sink.push(Event::Usage(TokenUsage { input, output, ..TokenUsage::default() }));
        sink.push(Event::Finished(match line.done_reason.as_str() {
            "stop" | "" if self.count > 0 => Finish::ToolCalls,
            "stop" | "" => Finish::Stop,
            "length" => Finish::Length,
            other => Finish::Other(other.to_owned()),
        }));
        *self = Self::default();
    }
}
