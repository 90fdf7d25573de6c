//! The members of a response and its stream events, and its output items in their order.
#![allow(clippy::struct_field_names)] // The names are the provider's.

use crate::providers::codec::{EventSink, WireCall};
use crate::providers::event::{Finish, ProtocolError};
use crate::providers::json_reader::json_objects;
use crate::providers::lenient::{
    LenientCount, LenientObject, LenientObjects, LenientText, RawJson, RawObject, RawObjects, ServiceTier, WithRaw,
};
use crate::providers::partial_calls::PartialCalls;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use tool_core::trace::TokenUsage;

/// The kind of a call whose input is free text.
pub(crate) const CUSTOM_CALL: &str = "custom_tool_call";

/// The items of a message, as far as they have arrived.
#[derive(Debug, Default)]
pub(crate) struct OutputItems {
    pub(crate) calls: PartialCalls<ItemKey>,
    /// The items of which a piece of text or reasoning has arrived.
    streamed: HashSet<ItemKey>,
    complete: HashSet<ItemKey>,
    pub(crate) refused: bool,
}

/// The kind of a piece of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PieceKind {
    Text,
    Reasoning,
    Arguments,
}

impl OutputItems {
    /// Begins an item.
    pub(crate) fn begin(&mut self, key: &ItemKey, item: &OutputItem<'_>) {
        if let Some(kind) = item.call_kind() {
            self.begin_call(key, item.call_id.as_str(), item.name.as_str(), kind);
        }
    }

    /// Begins a call, unless it has begun.
    pub(crate) fn begin_call(&mut self, key: &ItemKey, id: &str, name: &str, kind: &'static str) {
        match self.calls.latest(key) {
            None => self.calls.begin(key.clone(), WireCall { id: id.to_owned(), name: name.to_owned(), kind }),
            Some(call) if call.wire.name == name => self.calls.identify(key, id, ""),
            Some(_) => self.calls.identify(key, id, name),
        }
    }

    /// Returns true if a call with another id has this key.
    pub(crate) fn is_taken(&self, key: &ItemKey, item: &OutputItem<'_>) -> bool {
        let id = item.call_id.as_str();
        let differs = |known: &str| !known.is_empty() && !id.is_empty() && known != id;
        item.call_kind().is_some() && self.calls.latest(key).is_some_and(|call| differs(&call.wire.id))
    }

    pub(crate) fn is_complete(&self, key: &ItemKey) -> bool {
        self.complete.contains(key)
    }

    /// Returns true if any part of an item has arrived.
    pub(crate) fn has_begun(&self, key: &ItemKey) -> bool {
        self.calls.latest(key).is_some() || self.streamed.contains(key) || self.complete.contains(key)
    }

    /// Adds a piece to an item.
    pub(crate) fn append(&mut self, key: &ItemKey, kind: PieceKind, piece: Cow<'_, str>, sink: &mut EventSink<'_>) {
        match kind {
            PieceKind::Arguments => return self.calls.append(key, piece, sink),
            PieceKind::Text => sink.text(&piece),
            PieceKind::Reasoning => sink.reasoning(&piece),
        }
        if !self.streamed.contains(key) {
            self.streamed.insert(key.clone());
        }
    }

    /// Completes an item; returns false if it was complete.
    pub(crate) fn complete(&mut self, key: &ItemKey, item: &OutputItem<'_>, sink: &mut EventSink<'_>) -> bool {
        if !self.complete.insert(key.clone()) {
            return false;
        }
        if let Some(kind) = item.call_kind() {
            self.begin_call(key, item.call_id.as_str(), item.name.as_str(), kind);
            let arguments = if kind == CUSTOM_CALL { item.input } else { item.arguments };
            self.calls.set(key, &arguments.text(), sink);
            match item.status.as_str() {
                "incomplete" => self.calls.truncate(key, sink),
                _ => self.calls.complete(key, sink),
            }
            return true;
        }
        self.calls.discard(key);
        let parts = item.content.objects::<OutputPart<'_>>();
        self.refused |= parts.iter().any(|part| !part.refusal.as_str().is_empty());
        if !self.streamed.contains(key) {
            emit_text(item, &parts, sink);
        }
        true
    }

    /// Ends the response: emits its open calls, its usage, its error and its end.
    pub(crate) fn end(&mut self, response: &ResponseObject<'_>, status: &str, sink: &mut EventSink<'_>) {
        if status == "completed" {
            self.calls.complete_all(sink);
        } else {
            self.calls.truncate_all(sink);
        }
        if let Some(usage) = &*response.usage {
            sink.usage(usage.usage(), &response.service_tier);
        }
        // Realtime has the details and the error in one member.
        let details = response.incomplete_details.as_ref().or(response.status_details.as_ref());
        if let Some(error) = response.error.as_ref().or(details.and_then(|details| details.error.as_ref())) {
            let code = error.code.0.as_deref().map(str::to_owned);
            sink.error(ProtocolError::Provider { code, message: error.message.as_str().to_owned() });
        }
        let reason = details.map_or("", |details| details.reason.as_str());
        sink.end(self.finish(status, reason));
    }

    /// Returns the reason for which a response ended.
    fn finish(&self, status: &str, reason: &str) -> Finish {
        match (status, reason) {
            ("completed", _) if !self.calls.is_empty() => Finish::ToolCalls,
            ("completed", _) if self.refused => Finish::Refused,
            ("completed", _) => Finish::Stop,
            ("incomplete", "max_output_tokens") => Finish::Length,
            ("incomplete", "content_filter") => Finish::Filtered,
            ("incomplete", reason) if !reason.is_empty() => Finish::of_unlisted(reason),
            (status, _) => Finish::of_unlisted(status),
        }
    }
}

fn emit_text(item: &OutputItem<'_>, parts: &LenientObjects<OutputPart<'_>>, sink: &mut EventSink<'_>) {
    match item.kind.as_str() {
        "message" => parts.iter().for_each(|part| {
            sink.text(part.text.as_str());
            sink.text(part.refusal.as_str());
            sink.text(part.transcript.as_str());
        }),
        "reasoning" => {
            let summary = item.summary.objects::<OutputPart<'_>>();
            summary.iter().chain(parts.iter()).for_each(|part| sink.reasoning(part.text.as_str()));
        }
        _ => {}
    }
}

impl OutputItem<'_> {
    fn call_kind(&self) -> Option<&'static str> {
        call_kind(self.kind.as_str(), self.name.as_str(), self.output.0.is_some())
    }
}

/// Returns the kind of a call that is answered here; `None` for another item, such as a call that the server has run.
pub(crate) fn call_kind(item: &str, name: &str, has_output: bool) -> Option<&'static str> {
    /// The custom tools with which xAI's server searches.
    const HOSTED: [&str; 4] = ["x_user_search", "x_keyword_search", "x_semantic_search", "x_thread_fetch"];
    match item {
        _ if has_output => None,
        "function_call" => Some(""),
        CUSTOM_CALL if !HOSTED.contains(&name) => Some(CUSTOM_CALL),
        _ => None,
    }
}

json_objects! {
    /// A stream event. Realtime's are read with it too.
    pub(crate) struct ResponseEvent<'a> {
        /// Absent in a whole answer.
        pub(crate) kind: LenientText<'a> = "type",
        pub(crate) item: RawObject<'a, OutputItem<'a>>,
        pub(crate) item_id: LenientText<'a>,
        pub(crate) output_index: Option<LenientCount>,
        pub(crate) delta: WithRaw<'a, LenientText<'a>>,
        pub(crate) call_id: LenientText<'a>,
        pub(crate) name: LenientText<'a>,
        pub(crate) arguments: RawJson<'a>,
        pub(crate) input: RawJson<'a>,
        pub(crate) sequence_number: RawJson<'a>,
        /// Noise against guesses by size.
        pub(crate) obfuscation: RawJson<'a>,
        pub(crate) response: LenientObject<ResponseObject<'a>>,
    }

    /// A response, as far as it has arrived.
    pub(crate) struct ResponseObject<'a> {
        pub(crate) id: LenientText<'a>,
        pub(crate) model: LenientText<'a>,
        pub(crate) output: RawObjects<'a, OutputItem<'a>>,
        pub(crate) status: LenientText<'a>,
        incomplete_details: LenientObject<StatusDetails<'a>>,
        /// Realtime's name for the details.
        status_details: LenientObject<StatusDetails<'a>>,
        error: LenientObject<ResponseError<'a>>,
        usage: LenientObject<ResponseUsage>,
        service_tier: ServiceTier,
    }

    struct StatusDetails<'a> {
        reason: LenientText<'a>,
        error: LenientObject<ResponseError<'a>>,
    }

    struct ResponseError<'a> {
        code: LenientText<'a>,
        message: LenientText<'a>,
    }

    /// An item of the output.
    pub(crate) struct OutputItem<'a> {
        pub(crate) kind: LenientText<'a> = "type",
        pub(crate) id: LenientText<'a>,
        pub(crate) status: LenientText<'a>,
        pub(crate) call_id: LenientText<'a>,
        pub(crate) name: LenientText<'a>,
        pub(crate) arguments: RawJson<'a>,
        pub(crate) input: RawJson<'a>,
        pub(crate) content: RawJson<'a>,
        pub(crate) summary: RawJson<'a>,
        /// The result of a call that the server has run.
        output: RawJson<'a>,
    }

    /// A part of a message or of its reasoning.
    pub(crate) struct OutputPart<'a> {
        pub(crate) text: LenientText<'a>,
        pub(crate) refusal: LenientText<'a>,
        /// The text of a spoken part.
        pub(crate) transcript: LenientText<'a>,
    }

    struct ResponseUsage {
        input_tokens: LenientCount,
        output_tokens: LenientCount,
        /// Realtime has the name without the s.
        input_tokens_details: LenientObject<TokenDetails> = "input_tokens_details" | "input_token_details",
        output_tokens_details: LenientObject<TokenDetails> = "output_tokens_details" | "output_token_details",
    }

    /// The kinds of tokens, in Chat Completions too.
    #[derive(Clone, Copy)]
    pub(crate) struct TokenDetails {
        pub(crate) cached_tokens: LenientCount,
        pub(crate) cache_write_tokens: LenientCount,
        pub(crate) reasoning_tokens: LenientCount,
        pub(crate) audio_tokens: LenientCount,
        pub(crate) image_tokens: LenientCount,
        pub(crate) cached_tokens_details: LenientObject<CachedDetails>,
    }

    #[derive(Clone, Copy)]
    pub(crate) struct CachedDetails {
        audio_tokens: LenientCount,
        image_tokens: LenientCount,
    }
}

impl ResponseUsage {
    pub(crate) fn usage(&self) -> TokenUsage {
        let input = self.input_tokens_details.unwrap_or_default();
        let output = self.output_tokens_details.unwrap_or_default();
        TokenUsage {
            input: self.input_tokens.0,
            cached: input.cached_tokens.0,
            output: self.output_tokens.0,
            reasoning: output.reasoning_tokens.0,
            cache_written: input.cache_write_tokens.0,
            ..input.media(&output)
        }
    }
}

impl TokenDetails {
    /// Returns the tokens of audio and images that these details and those of the output count.
    pub(crate) fn media(&self, output: &Self) -> TokenUsage {
        let cached = self.cached_tokens_details.unwrap_or_default();
        TokenUsage {
            input_audio: self.audio_tokens.0,
            input_image: self.image_tokens.0,
            cached_audio: cached.audio_tokens.0,
            cached_image: cached.image_tokens.0,
            output_audio: output.audio_tokens.0,
            output_image: output.image_tokens.0,
            ..TokenUsage::default()
        }
    }
}

/// The key of an item in a message: its index, or its id where no index is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ItemKey {
    Index(u64),
    Id(String),
}

impl ItemKey {
    /// Returns the key of an item by its id, or by the id of its call.
    pub(crate) fn of_id(id: &LenientText<'_>, call_id: &LenientText<'_>) -> Self {
        let id = if id.as_str().is_empty() { call_id } else { id };
        Self::Id(id.as_str().to_owned())
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Id(id) => f.write_str(id),
        }
    }
}
