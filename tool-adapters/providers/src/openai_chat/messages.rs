//! The reader of answers and chunks, and the members that it reads.
#![allow(clippy::struct_field_names)] // The names are the providers'.

use crate::answer_sources::AnswerSources;
use crate::codec::{EventSink, MessageReader, ResponseOrigin};
use crate::event::{Finish, ProtocolError, malformed};
use crate::json_reader::{OtherMembers, json_objects};
use crate::lenient::{
    LenientCount, LenientObject, LenientObjects, LenientText, RawJson, ServiceTier, WithRaw,
    parse_object,
};
use crate::message_members::MessageMembers;
use crate::openai_chat::call_entry::{CallEntry, CalledFunction};
use crate::openai_chat::calls::{CallPiece, ChatCalls, WholeCall};
use crate::openai_responses::items::{OutputPart, TokenDetails};
use crate::repeats::LastEvent;
use serde_json::{Map, Value};
use std::borrow::Cow;
use tool_core::trace::TokenUsage;

/// Reads Chat Completions.
#[derive(Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about the message"
)]
pub(crate) struct ChatReader {
    calls: ChatCalls,
    content: StreamedContent,
    /// The members of the message that are neither its text nor its calls.
    members: MessageMembers,
    sources: AnswerSources,
    origin: ResponseOrigin,
    begun: bool,
    /// True once a delta has brought a call: a whole message beside or after it has the same one.
    streamed_call: bool,
    /// True once a delta has begun a call in the form before `tool_calls`.
    legacy_call: bool,
    refused: bool,
    /// The reason for the end. One that a part follows was not that of the whole message.
    finish: Option<Finish>,
    last_event: Option<LastEvent<ChunkPiece>>,
}

/// The kind of the piece of a chunk that has one only.
#[derive(Clone, Copy, Debug)]
enum ChunkPiece {
    Content,
    /// Arguments of the call of the last piece.
    Arguments,
}

/// The content of the message so far.
#[derive(Debug, Default)]
struct StreamedContent {
    /// The number of bytes of text.
    text: usize,
    /// True once a delta has brought reasoning.
    has_reasoning: bool,
    /// The parts, once one came that is not text.
    parts: MessageMembers,
}

/// The member of [`StreamedContent::parts`].
const PARTS: &str = "content";

impl MessageReader for ChatReader {
    fn read(&mut self, name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if name != "error" && self.read_repeated(text, sink) {
            return Ok(());
        }
        self.last_event = None;
        let Some(answer) = &parse_object::<ChatAnswer<'_>>(text)? else {
            sink.error(malformed("expected an object", text));
            return Ok(());
        };
        if !self.read_answer(name, answer, text, sink)? {
            return Ok(());
        }
        let obfuscation = answer.obfuscation.0.unwrap_or_default();
        let piece = answer.piece();
        self.last_event =
            piece.and_then(|piece| LastEvent::new(text, [piece.json, obfuscation], piece.kind));
        Ok(())
    }

    fn read_done(&mut self, sink: &mut EventSink<'_>) {
        // Gateways mark the end of a stream that broke off behind them, too.
        if self.begun && self.finish.is_some() {
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
        let Some((kind, piece, [_, _])) = LastEvent::repeated(self.last_event.as_ref(), text)
        else {
            return false;
        };
        let is_new = match *kind {
            ChunkPiece::Content => {
                self.add_text_of_content(&piece, sink);
                !piece.is_empty()
            }
            ChunkPiece::Arguments => self.calls.append_to_last(Cow::Borrowed(&piece), sink),
        };
        if is_new {
            self.finish = None;
        }
        true
    }

    /// Reads a chunk or a whole answer; returns false for an event that is neither.
    fn read_answer(
        &mut self,
        name: &str,
        answer: &ChatAnswer<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<bool> {
        let groq = answer.x_groq.as_ref().and_then(|groq| groq.usage.as_ref());
        let usage = answer.usage.as_ref().or(groq);
        let is_empty = answer.choices.is_none() && usage.is_none();
        let has_error = name == "error" || !answer.error.text().is_empty() || is_empty;
        let is_error = has_error && sink.provider_error(text);
        if is_empty && !is_error {
            if answer.object.as_str().starts_with("chat.completion") {
                sink.error(malformed("expected `choices`", text));
                return Ok(false);
            }
            return sink.unknown(text).map(|()| false);
        }

        let no_choices = LenientObjects::default();
        let choices = answer.choices.as_ref().unwrap_or(&no_choices);
        if choices.has_others() {
            sink.error(malformed("expected objects in `choices`", text));
        }
        // Further choices are alternatives to the first.
        let is_first = |choice: &&Choice<'_>| choice.index.0 == 0;
        if !choices.iter().all(|choice| is_first(&choice)) {
            sink.unknown(text)?;
        }
        let has_first = choices.iter().any(|choice| is_first(&choice));
        // The usage may come by itself after the end of the message.
        let usage_alone = answer.choices.is_none() && usage.is_some();
        if self.begun || usage_alone || has_first {
            self.origin
                .emit(answer.id.as_str(), answer.model.as_str(), sink);
        }
        self.sources.emit("citations", answer.citations, sink);
        self.sources
            .emit("search_results", answer.search_results, sink);
        let mut is_whole = false;
        for choice in choices.iter().filter(is_first) {
            is_whole |= self.read_choice(choice, text, sink);
        }
        if let Some(usage) = usage {
            let usage = usage.of_model(answer.model.as_str());
            sink.usage(usage, &answer.service_tier);
        }
        if is_whole {
            self.end(sink);
        }
        Ok(true)
    }

    /// Reads a choice; returns true for a whole message.
    fn read_choice(&mut self, choice: &Choice<'_>, text: &str, sink: &mut EventSink<'_>) -> bool {
        self.begun = true;
        let reason = choice.finish_reason.as_str();
        let has_message = choice.delta.is_some() || choice.message.is_some();
        if !has_message
            && choice
                .others
                .0
                .iter()
                .any(|other| looks_like_message(other.json))
        {
            sink.error(malformed("expected `delta` or `message`", text));
        }
        if is_no_object(&choice.delta) || is_no_object(&choice.message) {
            sink.error(malformed(
                "expected an object as `delta` and as `message`",
                text,
            ));
        }
        if let Some(delta) = choice.delta.as_ref() {
            self.read_delta(delta, text, sink);
        }
        // Some servers send the message so far, or the whole message, beside each delta.
        let is_chunk = choice.delta.is_some() && reason.is_empty();
        let message = choice.message.as_ref().filter(|_| !is_chunk);
        if let Some(message) = message {
            self.read_message(message, text, sink);
        }
        if !reason.is_empty() {
            self.finish = Some(finish_of(reason));
        }
        message.is_some()
    }

    fn read_delta(&mut self, delta: &ChatMessage<'_>, text: &str, sink: &mut EventSink<'_>) {
        let had_text = self.content.text;
        self.read_content(delta, text, sink);
        for other in &delta.others.0 {
            match other.value() {
                Ok(piece) => self.members.add(&other.name, piece),
                Err(error) => sink.error(error),
            }
        }
        let mut is_new = self.content.text > had_text;
        check_calls(&delta.tool_calls, text, sink);
        for entry in delta.tool_calls.iter() {
            // An entry of another kind is a call that the server runs.
            let Some(piece) = CallPiece::of_entry(entry) else {
                continue;
            };
            self.streamed_call = true;
            is_new |= self.calls.read_piece(piece, sink);
            self.calls.keep_members(entry, sink);
        }
        if let Some(function) = delta.legacy_call() {
            is_new |= self.read_legacy_piece(function, sink);
        }
        if is_new {
            self.finish = None;
        }
    }

    /// Reads a piece of a call in the form before `tool_calls`. Some servers send an empty one with
    /// every chunk.
    fn read_legacy_piece(
        &mut self,
        function: &CalledFunction<'_>,
        sink: &mut EventSink<'_>,
    ) -> bool {
        self.legacy_call |= !function.name.as_str().is_empty();
        if !self.legacy_call {
            return false;
        }
        self.streamed_call = true;
        self.calls
            .read_piece(CallPiece::of_legacy_call(function), sink)
    }

    /// Reads a whole message. What deltas have brought of it is the same.
    fn read_message(&mut self, message: &ChatMessage<'_>, text: &str, sink: &mut EventSink<'_>) {
        if self.content.text == 0 && !self.content.has_reasoning {
            self.read_content(message, text, sink);
        } else if message.text_length() > self.content.text {
            sink.error(malformed(
                "the whole message has more text than its pieces",
                text,
            ));
        } else if !self.content.has_reasoning {
            self.read_reasoning(message, sink);
        }
        for other in &message.others.0 {
            match other.value() {
                Ok(member) => self.members.add_missing(&other.name, member),
                Err(error) => sink.error(error),
            }
        }
        check_calls(&message.tool_calls, text, sink);
        let legacy = message
            .legacy_call()
            .filter(|function| !function.name.as_str().is_empty());
        let calls = message.tool_calls.iter().filter_map(WholeCall::of_entry);
        let mut calls = calls
            .chain(legacy.map(WholeCall::of_legacy_call))
            .collect::<Vec<_>>();
        if self.streamed_call {
            match self.calls.new_of_message(calls) {
                Ok(new) => calls = new,
                Err(difference) => return sink.error(malformed(difference, text)),
            }
        }
        for call in calls {
            let is_new = self.calls.read_whole(call.piece, sink);
            if let Some(entry) = call.entry.filter(|_| is_new) {
                self.calls.keep_members(entry, sink);
            }
        }
    }

    /// Reads the text and the reasoning of a message.
    fn read_content(&mut self, message: &ChatMessage<'_>, text: &str, sink: &mut EventSink<'_>) {
        self.read_reasoning(message, sink);
        self.add_content(message.content, text, sink);
        self.add_text(message.refusal.as_str(), sink);
        self.refused |= !message.refusal.as_str().is_empty();
        if let Some(audio) = &*message.audio {
            self.add_text(audio.transcript.as_str(), sink);
        }
    }

    fn read_reasoning(&mut self, message: &ChatMessage<'_>, sink: &mut EventSink<'_>) {
        let reasonings = [
            ("reasoning_content", &message.reasoning_content),
            ("reasoning", &message.reasoning),
        ];
        let mut shown = false;
        for (name, reasoning) in reasonings {
            let piece = reasoning.as_str();
            if piece.is_empty() {
                continue;
            }
            self.content.has_reasoning = true;
            self.members.add_text(name, piece);
            // Some hosts send the same reasoning under both names.
            if !std::mem::replace(&mut shown, true) {
                sink.reasoning(piece);
            }
        }
    }

    fn add_text(&mut self, piece: &str, sink: &mut EventSink<'_>) {
        self.content.text += piece.len();
        sink.text(piece);
    }

    /// Adds a text, which is a part too once others have come.
    fn add_text_of_content(&mut self, piece: &str, sink: &mut EventSink<'_>) {
        if !self.content.parts.is_empty() && !piece.is_empty() {
            self.content.parts.add_item(PARTS, text_part(piece));
        }
        self.add_text(piece, sink);
    }

    /// Adds a text, or parts of text and reasoning.
    fn add_content(&mut self, content: RawJson<'_>, text: &str, sink: &mut EventSink<'_>) {
        let Some(json) = content.0 else { return };
        if let Some(piece) = content.string() {
            return self.add_text_of_content(&piece, sink);
        }
        let parts = match serde_json::from_str::<Value>(json) {
            Ok(Value::Array(parts)) => parts,
            Ok(part @ Value::Object(_)) => vec![part],
            _ => return sink.error(malformed("expected a text or parts as `content`", text)),
        };
        for part in parts {
            self.add_part(part, text, sink);
        }
    }

    fn add_part(&mut self, part: Value, text: &str, sink: &mut EventSink<'_>) {
        let part = if let Value::String(piece) = part {
            text_part(&piece)
        } else {
            part
        };
        if !part.is_object() {
            return sink.error(malformed("expected objects as parts of `content`", text));
        }
        for piece in texts_of(part.get("text")) {
            self.add_text(piece, sink);
        }
        for piece in texts_of(part.get("thinking")) {
            self.content.has_reasoning = true;
            sink.reasoning(piece);
        }
        self.content.parts.add_item(PARTS, part);
    }

    fn end(&mut self, sink: &mut EventSink<'_>) {
        let finish = match self.finish.take() {
            None | Some(Finish::Stop) if !self.calls.is_empty() => Finish::ToolCalls,
            None | Some(Finish::Stop) if self.refused => Finish::Refused,
            finish => finish.unwrap_or(Finish::Stop),
        };
        let item = self.item();
        // A message that is too long or withheld may have ended in the middle of a call.
        match finish {
            Finish::Length | Finish::Filtered | Finish::Refused => self.calls.truncate_all(sink),
            _ => self.calls.complete_all(sink),
        }
        if let Some(item) = item {
            sink.push_item(item);
        }
        sink.end(finish);
        *self = Self::default();
    }

    /// Returns the message as the host sent it; `None` if it has no more than text and calls.
    fn item(&mut self) -> Option<Value> {
        let parts = std::mem::take(&mut self.content.parts).into_map();
        let has_parts = has_more_than_text(&parts);
        if self.members.is_empty() && !has_parts && !self.calls.need_an_item() {
            return None;
        }
        let mut item = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
        item.extend(std::mem::take(&mut self.members).into_map());
        if has_parts {
            item.extend(parts);
        }
        if !self.calls.is_empty() {
            item.insert("tool_calls".to_owned(), self.calls.items().into());
        }
        Some(Value::Object(item))
    }
}

/// Reports calls, or pieces of them, that have another form.
fn check_calls(calls: &LenientObjects<CallEntry<'_>>, text: &str, sink: &mut EventSink<'_>) {
    if calls.has_others() {
        sink.error(malformed("expected objects in `tool_calls`", text));
    }
    if calls.iter().any(CallEntry::has_other_form) {
        sink.error(malformed(
            "expected an object as the `function` of a call, and a number as its `index`",
            text,
        ));
    }
}

/// Returns true for a value that is no object and not null.
fn is_no_object<T>(member: &WithRaw<'_, LenientObject<T>>) -> bool {
    member.is_none() && !matches!(member.raw, "" | "null")
}

/// Returns true for the value of an unknown member that has the members of a message.
fn looks_like_message(json: &str) -> bool {
    ["\"content\"", "\"tool_calls\"", "\"role\""]
        .iter()
        .any(|name| json.contains(name))
}

fn text_part(text: &str) -> Value {
    Value::Object(Map::from_iter([
        ("type".to_owned(), "text".into()),
        ("text".to_owned(), text.into()),
    ]))
}

/// Returns the texts of a member: itself, or those of its parts.
fn texts_of(member: Option<&Value>) -> Vec<&str> {
    match member {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns true for parts that a text cannot express.
fn has_more_than_text(parts: &Map<String, Value>) -> bool {
    let parts = parts.get(PARTS).and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .any(|part| part.get("type") != Some(&Value::from("text")))
}

/// The only piece of a chunk.
struct OnlyPiece<'a> {
    json: &'a str,
    kind: ChunkPiece,
}

impl<'a> ChatAnswer<'a> {
    /// Returns the piece of a chunk that has nothing else.
    fn piece(&self) -> Option<OnlyPiece<'a>> {
        let choice = self
            .choices
            .as_ref()?
            .only()
            .filter(|choice| choice.index.0 == 0 && choice.message.is_none())?;
        let delta = choice.delta.as_ref()?;
        let texts = [
            &choice.finish_reason,
            &delta.refusal,
            &delta.reasoning_content,
            &delta.reasoning,
        ];
        let has_usage = self.usage.is_some() || self.x_groq.is_some();
        let has_parts =
            delta.function_call.is_some() || delta.audio.is_some() || !delta.others.0.is_empty();
        let has_text = texts.iter().any(|text| !text.as_str().is_empty());
        if has_usage || has_parts || has_text || self.error.0.is_some() {
            return None;
        }
        if delta.tool_calls.is_empty() {
            let json = delta.content.0.filter(|content| content.starts_with('"'))?;
            return Some(OnlyPiece {
                json,
                kind: ChunkPiece::Content,
            });
        }
        let entry = delta
            .tool_calls
            .only()
            .filter(|entry| delta.content.0.is_none() && entry.custom.is_none())?;
        let function = entry
            .function
            .as_ref()
            .filter(|_| entry.id.as_str().is_empty() && entry.others.0.is_empty())?;
        let is_piece = function.name.as_str().is_empty() && function.others.0.is_empty();
        let json = function.arguments.0.filter(|_| is_piece)?;
        Some(OnlyPiece {
            json,
            kind: ChunkPiece::Arguments,
        })
    }
}

impl ChatMessage<'_> {
    /// Returns the number of bytes of the text.
    fn text_length(&self) -> usize {
        let text = self.content.string().map_or(0, |text| text.len());
        let audio = self
            .audio
            .as_ref()
            .map_or(0, |audio| audio.transcript.as_str().len());
        text + self.refusal.as_str().len() + audio
    }

    /// Returns the call in the form before `tool_calls`, unless there are such.
    fn legacy_call(&self) -> Option<&CalledFunction<'_>> {
        self.function_call
            .as_ref()
            .filter(|_| self.tool_calls.is_empty())
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
        /// The sources at xAI and Perplexity.
        citations: RawJson<'a>,
        search_results: RawJson<'a>,
        object: LenientText<'a>,
        /// Noise against guesses by size.
        obfuscation: RawJson<'a>,
    }

    struct GroqMembers {
        usage: LenientObject<ChatUsage>,
    }

    pub(crate) struct Choice<'a> {
        pub(crate) index: LenientCount,
        /// The message of a chunk.
        pub(crate) delta: WithRaw<'a, LenientObject<ChatMessage<'a>>>,
        /// The message of a whole answer.
        pub(crate) message: WithRaw<'a, LenientObject<ChatMessage<'a>>>,
        pub(crate) finish_reason: LenientText<'a>,
        ..others: OtherMembers<'a>,
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
        role: RawJson<'a>,
        ..others: OtherMembers<'a>,
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
    fn usage(&self) -> TokenUsage {
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
            cache_written: input
                .cache_write_tokens
                .0
                .max(self.cache_creation_input_tokens.0),
            output: self.output(reasoning),
            reasoning,
            ..input.media(output)
        }
    }

    /// Returns the tokens of an answer by a model. Google leaves the thoughts of Gemini out of all
    /// counts but the total.
    fn of_model(&self, model: &str) -> TokenUsage {
        let mut usage = self.usage();
        let counted = usage.input.saturating_add(usage.output);
        let thoughts = self.total_tokens.0.saturating_sub(counted);
        if model.contains("gemini") && usage.reasoning == 0 {
            usage.output = usage.output.saturating_add(thoughts);
            usage.reasoning = thoughts;
        }
        usage
    }

    /// Returns the output tokens with the reasoning. xAI and Perplexity leave the reasoning out of
    /// their count, which the total shows.
    fn output(&self, reasoning: u64) -> u64 {
        let completion = self.completion_tokens.0;
        let with_reasoning = completion.saturating_add(reasoning);
        let is_apart = self.total_tokens.0 >= self.prompt_tokens.0.saturating_add(with_reasoning);
        if is_apart { with_reasoning } else { completion }
    }
}
