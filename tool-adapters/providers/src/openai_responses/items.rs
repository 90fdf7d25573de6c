//! The members of a response, of its stream events and of its output items.
#![allow(clippy::struct_field_names)] // The names are the provider's.

use crate::event::{Finish, ProtocolError};
use crate::json_reader::json_objects;
use crate::lenient::{
    LenientCount, LenientObject, LenientText, RawJson, RawObject, RawObjects, ServiceTier, WithRaw,
};
use serde_json::Value;
use std::borrow::Cow;
use tool_core::trace::TokenUsage;

/// The kind of a call whose input is free text.
pub(crate) const CUSTOM_CALL: &str = "custom_tool_call";

impl ResponseEvent<'_> {
    /// Returns the place of the event's item in the output.
    pub(crate) fn place(&self) -> Option<u64> {
        self.output_index.map(|index| index.0)
    }

    /// Returns the id of the event's item, or of its call.
    pub(crate) fn item_or_call_id(&self) -> &str {
        let id = self.item_id.as_str();
        if id.is_empty() {
            self.call_id.as_str()
        } else {
            id
        }
    }

    /// Returns true for an event that has a part of an item.
    pub(crate) fn has_part(&self) -> bool {
        let has_piece =
            self.delta.value.0.is_some() || self.arguments.0.is_some() || self.input.0.is_some();
        has_piece || self.item.object.is_some()
    }
}

impl OutputItem<'_> {
    /// Returns the kind of a call; `None` for another item.
    pub(crate) fn call_kind(&self) -> Option<&'static str> {
        call_kind(self.kind.as_str())
    }

    /// Returns the arguments of a call.
    pub(crate) fn call_arguments(&self) -> Cow<'_, str> {
        let arguments = if self.kind.as_str() == CUSTOM_CALL {
            self.input
        } else {
            self.arguments
        };
        arguments.text()
    }

    /// Returns true for a call that the server has run. `custom_tools` are the tools of free text
    /// that the request has declared, if the response says so.
    pub(crate) fn was_run_by_server(&self, custom_tools: Option<&[String]>) -> bool {
        // The calls of xAI's own tools.
        let is_of_server = self.output.0.is_some() || self.call_id.as_str().starts_with("xs_");
        let is_custom = self.kind.as_str() == CUSTOM_CALL;
        let is_undeclared = || {
            custom_tools.is_some_and(|names| !names.iter().any(|name| name == self.name.as_str()))
        };
        is_of_server || is_custom && is_undeclared()
    }

    /// Returns the text of a message; `None` if its parts cannot be read. Some servers write a text
    /// in place of the parts.
    pub(crate) fn text(&self) -> Option<String> {
        if let Some(text) = self.content.string() {
            return Some(text.into_owned());
        }
        let parts = self.content.objects::<OutputPart<'_>>();
        if parts.has_others() {
            return None;
        }
        let text = |part: &OutputPart<'_>| {
            [&part.text, &part.refusal, &part.transcript]
                .map(|text| text.as_str().to_owned())
                .concat()
        };
        Some(parts.iter().map(text).collect())
    }

    pub(crate) fn has_refusal(&self) -> bool {
        self.content
            .objects::<OutputPart<'_>>()
            .iter()
            .any(|part| !part.refusal.as_str().is_empty())
    }

    /// Returns the reasoning, as far as the model shows it.
    pub(crate) fn reasoning(&self) -> String {
        let summary = self.summary.objects::<OutputPart<'_>>();
        let content = self.content.objects::<OutputPart<'_>>();
        summary
            .iter()
            .chain(content.iter())
            .map(|part| part.text.as_str().to_owned())
            .collect()
    }
}

impl ResponseObject<'_> {
    /// Returns the names of the tools of free text that the request has declared; `None` if the
    /// response does not list the request's tools.
    pub(crate) fn custom_tools(&self) -> Option<Vec<String>> {
        let tools = self
            .tools
            .0
            .filter(|tools| tools.starts_with('[') && *tools != "[]")?;
        if !tools.contains("\"custom\"") {
            return Some(Vec::new());
        }
        let tools = serde_json::from_str::<Vec<Value>>(tools).ok()?;
        let custom = tools.iter().filter(|tool| tool["type"] == "custom");
        Some(
            custom
                .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
                .collect(),
        )
    }

    /// Returns the reason for which a response ended.
    pub(crate) fn finish(&self, status: &str, has_calls: bool, refused: bool) -> Finish {
        match (
            status,
            self.details().map_or("", |details| details.reason.as_str()),
        ) {
            ("completed", _) if has_calls => Finish::ToolCalls,
            ("completed", _) if refused => Finish::Refused,
            ("completed", _) => Finish::Stop,
            ("incomplete", "max_output_tokens") => Finish::Length,
            ("incomplete", "content_filter") => Finish::Filtered,
            ("incomplete", reason) if !reason.is_empty() => incomplete(reason),
            (status, _) => Finish::of_unlisted(status),
        }
    }

    /// Returns the error of a response that has failed.
    pub(crate) fn failure(&self) -> Option<ProtocolError> {
        let details = || self.details().and_then(|details| details.error.as_ref());
        let error = self.error.as_ref().or_else(details)?;
        let code = error.code.0.as_deref().map(str::to_owned);
        Some(ProtocolError::of_provider(code, error.message.as_str()))
    }

    /// Realtime has the details and the error in one member.
    fn details(&self) -> Option<&StatusDetails<'_>> {
        self.incomplete_details
            .as_ref()
            .or(self.status_details.as_ref())
    }
}

/// Returns the end of a response that is not complete, for a reason of which no more is known. It
/// is cut off, like one that is too long.
fn incomplete(reason: &str) -> Finish {
    let finish = Finish::of_unlisted(reason);
    let is_complete = matches!(finish, Finish::Other(_)) && finish.failure().is_none();
    if is_complete { Finish::Length } else { finish }
}

/// Returns the kind of a call by the type of its item; `None` for another item.
pub(crate) fn call_kind(item: &str) -> Option<&'static str> {
    match item {
        "function_call" => Some(""),
        CUSTOM_CALL => Some(CUSTOM_CALL),
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
        pub(crate) usage: LenientObject<ResponseUsage>,
        pub(crate) service_tier: ServiceTier,
        /// The tools of the request.
        tools: RawJson<'a>,
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

    pub(crate) struct ResponseUsage {
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
