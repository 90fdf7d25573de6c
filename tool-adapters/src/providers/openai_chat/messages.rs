//! The reader of answers and chunks with the members that it reads, and the results and requests.
#![allow(clippy::struct_field_names)] // The names are the providers'.

use crate::providers::codec::{CallIds, EventSink, MessageReader, ResponseOrigin, ToolAnswer, WireCall, short_id};
use crate::providers::event::{Finish, ProtocolError};
use crate::providers::json_reader::json_objects;
use crate::providers::lenient::{
    LenientCount, LenientObject, LenientObjects, LenientText, RawJson, ServiceTier, parse_object,
};
use crate::providers::openai_responses::items::{OutputPart, TokenDetails};
use crate::providers::partial_calls::{PartialCall, PartialCalls, is_object};
use crate::providers::repeats::LastEvent;
use crate::providers::request::{self, Request, RequestBody, chat_messages, function_call};
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::ToolCall;
use tool_core::call::ModelResult;
use tool_core::trace::TokenUsage;

/// Reads Chat Completions.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the message")]
pub(crate) struct ChatReader {
    calls: PartialCalls<u64>,
    /// The key of the last entry's call.
    last: u64,
    origin: ResponseOrigin,
    begun: bool,
    /// True once a delta has brought a part of the message: a whole message beside or after it says the same.
    streamed: bool,
    /// True once a delta has begun a call in the form before `tool_calls`.
    legacy_call: bool,
    refused: bool,
    finish: Option<Finish>,
    last_event: Option<LastEvent<PieceKind>>,
}

/// The kind of the piece of a chunk that has one only.
#[derive(Clone, Copy, Debug)]
enum PieceKind {
    Content,
    /// Arguments of the call with this index.
    Arguments(Option<u64>),
}

/// The call of an entry.
struct CallPiece<'a> {
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
    kind: &'static str,
}

impl MessageReader for ChatReader {
    fn read(&mut self, name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if name != "error" && self.read_repeated(text, sink) {
            return Ok(());
        }
        self.last_event = None;
        let Some(answer) = &parse_object::<ChatAnswer<'_>>(text)? else { return sink.unknown(text) };
        let ChatAnswer { id, model, choices, usage, error, x_groq, .. } = answer;
        let usage = usage.as_ref().or(x_groq.as_ref().and_then(|groq| groq.usage.as_ref()));
        let is_empty = choices.is_none() && usage.is_none();
        let has_error = name == "error" || !error.text().is_empty() || is_empty;
        if !(has_error && sink.provider_error(text)) && is_empty {
            return sink.unknown(text);
        }
        let usage_alone = choices.is_none() && usage.is_some();
        let choices = || choices.iter().flat_map(LenientObjects::iter);
        // Further choices are alternatives to the first.
        let first = || choices().filter(|choice| choice.index.0 == 0);
        if choices().count() > first().count() {
            sink.unknown(text)?;
        }
        // The usage may come by itself after the end of the message.
        if self.begun || usage_alone || first().next().is_some() {
            self.origin.emit(id.as_str(), model.as_str(), sink);
        }
        let mut is_whole = false;
        for choice in first() {
            is_whole |= self.read_choice(choice, sink);
        }
        if let Some(usage) = usage {
            sink.usage(usage.usage(), &answer.service_tier);
        }
        if is_whole {
            self.end(sink);
        }
        let obfuscation = answer.obfuscation.0.unwrap_or_default();
        self.last_event = answer.piece().and_then(|(piece, kind)| LastEvent::new(text, [piece, obfuscation], kind));
        Ok(())
    }

    fn read_done(&mut self, sink: &mut EventSink<'_>) {
        if self.begun {
            self.end(sink);
        }
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.begun && self.finish.is_none() {
            self.calls.truncate_all(sink);
            sink.error(ProtocolError::Truncated { call_id: None });
        } else if self.begun {
            self.end(sink);
        }
        *self = Self::default();
    }
}

impl ChatReader {
    /// Reads a chunk that repeats the last one but for its piece; returns false for another one.
    fn read_repeated(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let Some((kind, piece, [_, _])) = LastEvent::repeated(self.last_event.as_ref(), text) else {
            return false;
        };
        match *kind {
            PieceKind::Content => sink.text(&piece),
            PieceKind::Arguments(index) => {
                let piece = CallPiece { id: "", name: "", arguments: piece, kind: "" };
                self.read_piece(index.unwrap_or(self.last), piece, sink);
            }
        }
        true
    }

    fn end(&mut self, sink: &mut EventSink<'_>) {
        self.calls.complete_all(sink);
        let finish = match self.finish.take() {
            None | Some(Finish::Stop) if !self.calls.is_empty() => Finish::ToolCalls,
            None | Some(Finish::Stop) if self.refused => Finish::Refused,
            finish => finish.unwrap_or(Finish::Stop),
        };
        sink.end(finish);
        *self = Self::default();
    }

    /// Reads a choice; returns true for a whole message.
    fn read_choice(&mut self, choice: &Choice<'_>, sink: &mut EventSink<'_>) -> bool {
        self.begun = true;
        if let Some(delta) = &*choice.delta {
            self.streamed |= delta.has_content();
            self.read_text(delta, sink);
            for entry in delta.tool_calls.iter() {
                let key = entry.index.map_or(self.last, |index| index.0);
                self.read_piece(key, entry.piece(), sink);
            }
            if let Some(function) = delta.legacy_call() {
                self.read_legacy_piece(function, sink);
            }
        }
        // Some servers send the message so far, or the whole message, beside each delta.
        let is_chunk = choice.delta.is_some() && choice.finish_reason.as_str().is_empty();
        let message = choice.message.as_ref().filter(|_| !self.streamed && !is_chunk);
        if let Some(message) = message {
            self.read_text(message, sink);
            for entry in message.tool_calls.iter() {
                self.read_whole(entry.piece(), sink);
            }
            if let Some(function) = message.legacy_call().filter(|function| !function.name.as_str().is_empty()) {
                self.read_whole(CallPiece::new(&LenientText::default(), function, ""), sink);
            }
        }
        if let Some(reason) = choice.finish_reason.0.as_deref().filter(|reason| !reason.is_empty()) {
            let finish = finish_of(reason);
            // A message that is too long or withheld may have ended in the middle of a call.
            match finish {
                Finish::Stop | Finish::ToolCalls => self.calls.complete_all(sink),
                _ => self.calls.truncate_all(sink),
            }
            self.finish = Some(finish);
        }
        message.is_some()
    }

    /// Reads a piece of a call in the form before `tool_calls`. Some servers send an empty one with every chunk.
    fn read_legacy_piece(&mut self, function: &CalledFunction<'_>, sink: &mut EventSink<'_>) {
        self.legacy_call |= !function.name.as_str().is_empty();
        if self.legacy_call {
            self.read_piece(0, CallPiece::new(&LenientText::default(), function, ""), sink);
        }
    }

    fn read_text(&mut self, message: &ChatMessage<'_>, sink: &mut EventSink<'_>) {
        let reasoning = Some(message.reasoning_content.as_str()).filter(|text| !text.is_empty());
        sink.reasoning(reasoning.unwrap_or(message.reasoning.as_str()));
        read_content(message.content, sink);
        sink.text(message.refusal.as_str());
        self.refused |= !message.refusal.as_str().is_empty();
        if let Some(audio) = &*message.audio {
            sink.text(audio.transcript.as_str());
        }
    }

    /// Reads a call of a whole answer.
    fn read_whole(&mut self, piece: CallPiece<'_>, sink: &mut EventSink<'_>) {
        let key = self.last;
        self.last += 1;
        self.calls.begin(key, piece.wire());
        self.calls.append(&key, piece.arguments, sink);
    }

    /// Reads a call of a chunk, or a piece of one.
    fn read_piece(&mut self, key: u64, piece: CallPiece<'_>, sink: &mut EventSink<'_>) {
        self.last = key;
        let after_whole = piece.may_begin_object() && self.calls.has_whole_object(&key);
        match self.calls.latest(&key) {
            None => self.calls.begin(key, piece.wire()),
            Some(call) if piece.repeats(call) => return,
            Some(call) if piece.begins_after(call, after_whole) => self.calls.begin(key, piece.wire()),
            Some(_) => self.calls.identify(&key, piece.id, piece.name),
        }
        self.calls.append(&key, piece.arguments, sink);
    }
}

impl<'a> ChatAnswer<'a> {
    /// Returns the JSON of the piece of a chunk that has nothing else.
    fn piece(&self) -> Option<(&'a str, PieceKind)> {
        let choice = self.choices.as_ref()?.only().filter(|choice| choice.index.0 == 0 && choice.message.is_none())?;
        let delta = choice.delta.as_ref()?;
        let texts = [&choice.finish_reason, &delta.refusal, &delta.reasoning_content, &delta.reasoning];
        let has_more =
            self.usage.is_some() || self.x_groq.is_some() || delta.function_call.is_some() || delta.audio.is_some();
        if has_more || self.error.0.is_some() || texts.iter().any(|text| !text.as_str().is_empty()) {
            return None;
        }
        if delta.tool_calls.is_empty() {
            return delta.content.0.map(|content| (content, PieceKind::Content));
        }
        let entry = delta.tool_calls.only().filter(|entry| delta.content.0.is_none() && entry.custom.is_none())?;
        let function = entry.function.as_ref().filter(|_| entry.id.as_str().is_empty())?;
        let arguments = function.arguments.0.filter(|_| function.name.as_str().is_empty())?;
        Some((arguments, PieceKind::Arguments(entry.index.map(|index| index.0))))
    }
}

impl ChatMessage<'_> {
    /// Returns true if the message has more than a role.
    fn has_content(&self) -> bool {
        let texts = [&self.refusal, &self.reasoning_content, &self.reasoning];
        let has_text = !self.content.text().is_empty() || texts.iter().any(|text| !text.as_str().is_empty());
        let has_call =
            !self.tool_calls.is_empty() || self.legacy_call().is_some_and(|call| !call.name.as_str().is_empty());
        has_text || has_call || self.audio.is_some()
    }

    /// Returns the call in the form before `tool_calls`, unless there are such.
    fn legacy_call(&self) -> Option<&CalledFunction<'_>> {
        self.function_call.as_ref().filter(|_| self.tool_calls.is_empty())
    }
}

impl<'a> CallEntry<'a> {
    fn piece(&'a self) -> CallPiece<'a> {
        match (&*self.function, &*self.custom) {
            (None, Some(custom)) => CallPiece::new(&self.id, custom, "custom"),
            (Some(function), _) => CallPiece::new(&self.id, function, ""),
            (None, None) => CallPiece { id: given_id(&self.id), name: "", arguments: Cow::Borrowed(""), kind: "" },
        }
    }
}

impl<'a> CallPiece<'a> {
    fn new(id: &'a LenientText<'_>, function: &'a CalledFunction<'_>, kind: &'static str) -> Self {
        let arguments = if kind.is_empty() { function.arguments } else { function.input };
        Self { id: given_id(id), name: function.name.as_str(), arguments: arguments.text(), kind }
    }

    fn wire(&self) -> WireCall {
        WireCall { id: self.id.to_owned(), name: self.name.to_owned(), kind: self.kind }
    }

    /// Returns true for a piece that the call has: an event that came twice, or late.
    fn repeats(&self, call: &PartialCall<u64>) -> bool {
        let same = !self.id.is_empty() && self.id == call.wire.id;
        if call.emitted {
            return same || self.name.is_empty();
        }
        same && self.name == call.wire.name && is_object(&self.arguments) && self.arguments == call.arguments
    }

    /// Returns true for a piece that begins another call with the same index: some servers give all calls the index 0.
    /// A new id begins a call, and so does anything after a whole object. A piece without a name does not, as other
    /// servers make up an id for each piece, and neither does a piece that gives a call its name.
    fn begins_after(&self, call: &PartialCall<u64>, after_whole: bool) -> bool {
        let is_nameless = self.name.is_empty() || call.wire.name.is_empty() && !call.emitted;
        let has_other_id = !self.id.is_empty() && !call.wire.id.is_empty() && self.id != call.wire.id;
        let has_other_name = self.name != call.wire.name && !call.arguments.is_empty();
        !is_nameless && (call.emitted || has_other_id || has_other_name || after_whole)
    }

    fn may_begin_object(&self) -> bool {
        !self.name.is_empty() && self.arguments.trim_ascii_start().starts_with('{')
    }
}

/// Returns the id, if there is one: Mistral sends the text `null` for none.
fn given_id<'a>(id: &'a LenientText<'_>) -> &'a str {
    Some(id.as_str()).filter(|id| *id != "null").unwrap_or_default()
}

/// Reads a text, or parts of text and reasoning.
pub(crate) fn read_content(content: RawJson<'_>, sink: &mut EventSink<'_>) {
    if let Some(text) = content.string() {
        return sink.text(&text);
    }
    for part in content.objects::<ContentPart<'_>>().iter() {
        sink.text(part.text.as_str());
        match part.thinking.string() {
            Some(text) => sink.reasoning(&text),
            None => {
                part.thinking.objects::<ContentPart<'_>>().iter().for_each(|part| sink.reasoning(part.text.as_str()));
            }
        }
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" | "model_length" => Finish::Length,
        "content_filter" => Finish::Filtered,
        other => Finish::of_unlisted(other),
    }
}

json_objects! {
    /// A whole answer or a chunk of one.
    pub(crate) struct ChatAnswer<'a> {
        pub(crate) id: LenientText<'a>,
        pub(crate) model: LenientText<'a>,
        pub(crate) choices: Option<LenientObjects<Choice<'a>>>,
        pub(crate) usage: LenientObject<ChatUsage>,
        /// Groq's usage of a stream.
        x_groq: LenientObject<GroqMembers>,
        service_tier: ServiceTier,
        pub(crate) error: RawJson<'a>,
        /// Noise against guesses by size.
        obfuscation: RawJson<'a>,
    }

    struct GroqMembers {
        usage: LenientObject<ChatUsage>,
    }

    pub(crate) struct Choice<'a> {
        pub(crate) index: LenientCount,
        /// The message of a chunk.
        pub(crate) delta: LenientObject<ChatMessage<'a>>,
        /// The message of a whole answer.
        pub(crate) message: LenientObject<ChatMessage<'a>>,
        pub(crate) finish_reason: LenientText<'a>,
    }

    pub(crate) struct ChatMessage<'a> {
        /// A text or parts.
        pub(crate) content: RawJson<'a>,
        pub(crate) refusal: LenientText<'a>,
        /// The reasoning by the name of some servers.
        pub(crate) reasoning_content: LenientText<'a>,
        /// The reasoning by the name of others.
        pub(crate) reasoning: LenientText<'a>,
        pub(crate) audio: LenientObject<OutputPart<'a>>,
        pub(crate) tool_calls: LenientObjects<CallEntry<'a>>,
        /// The only call, in the form before `tool_calls`.
        pub(crate) function_call: LenientObject<CalledFunction<'a>>,
    }

    /// A part of the content.
    pub(crate) struct ContentPart<'a> {
        pub(crate) text: LenientText<'a>,
        /// The reasoning of Mistral's models: a text or parts.
        pub(crate) thinking: RawJson<'a>,
    }

    /// A call or a piece of one. Cohere's and Ollama's are read with it too.
    pub(crate) struct CallEntry<'a> {
        pub(crate) index: Option<LenientCount>,
        pub(crate) id: LenientText<'a>,
        pub(crate) function: LenientObject<CalledFunction<'a>>,
        /// The call of a custom tool, whose input is free text.
        pub(crate) custom: LenientObject<CalledFunction<'a>>,
    }

    pub(crate) struct CalledFunction<'a> {
        pub(crate) name: LenientText<'a>,
        /// A text; an object from some servers.
        pub(crate) arguments: RawJson<'a>,
        /// The input of a custom tool.
        pub(crate) input: RawJson<'a>,
    }

    /// The tokens used, by the names of many servers.
    pub(crate) struct ChatUsage {
        prompt_tokens: LenientCount,
        completion_tokens: LenientCount,
        total_tokens: LenientCount,
        prompt_tokens_details: LenientObject<TokenDetails>,
        completion_tokens_details: LenientObject<TokenDetails>,
        /// The cached tokens of `DeepSeek`.
        prompt_cache_hit_tokens: LenientCount,
        /// The cached tokens of Mistral.
        num_cached_tokens: LenientCount,
        /// The cached tokens of Moonshot, and of Anthropic's compatible endpoint.
        cached_tokens: LenientCount,
        /// The cached tokens of gateways to Anthropic's models.
        cache_read_input_tokens: LenientCount,
        cache_creation_input_tokens: LenientCount,
        /// The reasoning tokens of Perplexity and some others.
        reasoning_tokens: LenientCount,
    }
}

impl ChatUsage {
    pub(crate) fn usage(&self) -> TokenUsage {
        let none = TokenDetails::default();
        let input = self.prompt_tokens_details.as_ref().unwrap_or(&none);
        let output = self.completion_tokens_details.as_ref().unwrap_or(&none);
        let cached = [
            input.cached_tokens,
            self.prompt_cache_hit_tokens,
            self.num_cached_tokens,
            self.cached_tokens,
            self.cache_read_input_tokens,
        ];
        let reasoning = output.reasoning_tokens.0.max(self.reasoning_tokens.0);
        TokenUsage {
            input: self.prompt_tokens.0,
            cached: cached.map(|count| count.0).into_iter().max().unwrap_or(0),
            cache_written: input.cache_write_tokens.0.max(self.cache_creation_input_tokens.0),
            output: self.output(reasoning),
            reasoning,
            ..input.media(output)
        }
    }

    /// Returns the output tokens with the reasoning. xAI and Perplexity leave the reasoning out of their count, which the
    /// total shows.
    fn output(&self, reasoning: u64) -> u64 {
        let completion = self.completion_tokens.0;
        let with_reasoning = completion.saturating_add(reasoning);
        let is_apart = self.total_tokens.0 >= self.prompt_tokens.0.saturating_add(with_reasoning);
        if is_apart { with_reasoning } else { completion }
    }
}

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    answers.iter().map(|answer| result_message(&answer.wire_id(short_id), &answer.result)).collect()
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let messages = chat_messages(
        request,
        |text, calls, _| assistant_message(text, calls, request),
        |id, _, result| result_message(&short_id(id), result),
    );
    // Without the option a stream does not report its usage.
    let stream_options = request.stream.then(|| json!({"include_usage": true}));
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", messages)
        .with_tools("none", "required")
        .with_some("stream", request.stream.then_some(true))
        .with_some("stream_options", stream_options)
        .with_some("max_completion_tokens", request.max_tokens)
        .finish()
}

fn assistant_message(text: Option<&str>, calls: &[ToolCall], request: &Request<'_>) -> Option<Value> {
    if calls.is_empty() {
        return text.map(|text| json!({"role": "assistant", "content": text}));
    }
    let calls = calls.iter().map(|call| function_call(&short_id(call.id()), call, request));
    Some(json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Value>()}))
}

/// Writes a result as text or text parts. There is no mark for an error: its message says so.
fn result_message(id: &str, result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(_) => request::texts(result).into_iter().map(|text| json!({"type": "text", "text": text})).collect(),
        None => Value::from(&*result.text),
    };
    json!({"role": "tool", "tool_call_id": id, "content": content})
}
