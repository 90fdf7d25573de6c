//! The reader of answers and chunks, and the members that it reads.

use crate::providers::codec::{EventSink, MessageReader, ResponseOrigin, WireCall};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::gemini::pieces::{CallPieces, FunctionCall, PartItems};
use crate::providers::json_reader::{FromJson, JsonReader, json_objects};
use crate::providers::lenient::{
    LenientCount, LenientObject, LenientObjects, LenientText, RawJson, RawObject, RawObjects, ServiceTier, WithRaw,
    parse_items, parse_object,
};
use crate::providers::repeats::LastEvent;
use serde::de::Error as _;
use serde_json::{Error, Map, Value};
use tool_core::ToolCall;
use tool_core::trace::TokenUsage;

/// Reads generateContent.
#[derive(Debug, Default)]
pub(crate) struct GeminiReader {
    origin: ResponseOrigin,
    begun: bool,
    has_calls: bool,
    pieces: CallPieces,
    /// True if the provider has reported the error that ends the stream.
    failed: bool,
    finish: Option<Finish>,
    /// The last chunk with the JSON of its usage, if it has no more than a piece of text.
    last_event: Option<LastEvent<(String, Option<UsageMetadata>)>>,
}

impl MessageReader for GeminiReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if self.read_repeated(text, sink) {
            return Ok(());
        }
        self.last_event = None;
        if !text.trim_ascii_start().starts_with('[') {
            return self.read_chunk(text, sink);
        }
        parse_items(text)?.into_iter().try_for_each(|chunk| self.read_chunk(chunk, sink))
    }

    /// The message ends with the stream: some models name the reason for the end in every chunk.
    fn finish(&mut self, sink: &mut EventSink<'_>) {
        self.pieces.truncate(sink);
        let Self { begun, has_calls, failed, finish, .. } = std::mem::take(self);
        match finish {
            Some(Finish::Stop) if has_calls => sink.end(Finish::ToolCalls),
            Some(finish) => sink.end(finish),
            None if begun && !failed => sink.error(ProtocolError::Truncated { call_id: None }),
            None => {}
        }
    }
}

impl GeminiReader {
    /// Reads a chunk that repeats the last one but for its piece and its usage; returns false for another one.
    fn read_repeated(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let Some(((last_raw, last_usage), piece, [_, raw])) = LastEvent::repeated(self.last_event.as_ref(), text)
        else {
            return false;
        };
        let usage = if last_raw == raw { Ok(last_usage.clone()) } else { parse_object(raw) };
        let Ok(usage) = usage else { return false };
        sink.text(&piece);
        sink.push(Event::Item(Map::from_iter([("text".to_owned(), Value::from(piece))]).into()));
        if let Some(usage) = usage {
            usage.emit(sink);
        }
        true
    }

    fn read_chunk(&mut self, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let Some(answer) = parse_object::<GenerateAnswer<'_>>(text)? else { return sink.unknown(text) };
        let mut known = answer.candidates.is_some() || answer.usage_metadata.is_some();
        self.begun |= known;
        if !answer.error.text().is_empty() {
            let found = sink.provider_error(text);
            known |= found;
            self.failed |= found;
        }
        let feedback = answer.prompt_feedback.as_ref();
        if let Some(feedback) = feedback.filter(|feedback| !feedback.block_reason.as_str().is_empty()) {
            let message = Some(feedback.block_reason_message.as_str()).filter(|message| !message.is_empty());
            let message = message.unwrap_or("the prompt was blocked");
            sink.error(failure(feedback.block_reason.as_str(), message));
            (known, self.begun) = (true, true);
            self.finish = Some(Finish::Filtered);
        }
        if self.begun {
            self.origin.emit(answer.response_id.as_str(), answer.model_version.as_str(), sink);
        }
        let piece = answer.piece();
        let candidates = answer.candidates.unwrap_or_default();
        // Further candidates are alternatives to the first.
        if !known || candidates.iter().any(|candidate| candidate.index.0 != 0) {
            sink.unknown(text)?;
        }
        for candidate in candidates.iter().filter(|candidate| candidate.index.0 == 0) {
            self.read_candidate(candidate, sink)?;
        }
        if let Some(usage) = &**answer.usage_metadata {
            usage.emit(sink);
        }
        let WithRaw { raw, value } = answer.usage_metadata;
        self.last_event = piece.and_then(|piece| LastEvent::new(text, [piece, raw], (raw.to_owned(), value.0)));
        Ok(())
    }

    fn read_candidate(&mut self, candidate: &Candidate<'_>, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        self.has_calls |= read_parts(&candidate.content, PartItems::All, &mut self.pieces, sink)?;
        let reason = candidate.finish_reason.as_str();
        if is_failure(reason) {
            sink.error(failure(reason, candidate.finish_message.as_str()));
        }
        if !reason.is_empty() {
            self.finish = Some(finish_of(reason));
        }
        Ok(())
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR"
        | "ESCALATION" => Finish::Filtered,
        other => Finish::of_unlisted(other),
    }
}

/// Returns true if the model's output could not be used.
fn is_failure(reason: &str) -> bool {
    matches!(
        reason,
        "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MISSING_THOUGHT_SIGNATURE"
            | "MALFORMED_RESPONSE"
    )
}

fn failure(reason: &str, message: &str) -> ProtocolError {
    let message = if message.is_empty() { "the model's answer could not be used" } else { message };
    ProtocolError::of_provider(Some(reason.to_owned()), message)
}

/// The form in which a call comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallForm {
    Whole,
    /// In pieces, which are no items by themselves.
    Pieces,
    /// Without a name.
    Nameless,
}

/// Reads the parts of a content; returns true if there are calls among them.
pub(crate) fn read_parts(
    content: &Content<'_>,
    items: PartItems,
    pieces: &mut CallPieces,
    sink: &mut EventSink<'_>,
) -> serde_json::Result<bool> {
    let mut has_calls = false;
    for part in content.parts.0.iter().flatten() {
        has_calls |= read_part(part, items, pieces, sink)?;
    }
    Ok(has_calls)
}

fn read_part(
    part: &RawObject<'_, WirePart<'_>>,
    items: PartItems,
    pieces: &mut CallPieces,
    sink: &mut EventSink<'_>,
) -> serde_json::Result<bool> {
    let RawObject { raw, object: Some(part) } = part else {
        parse_object::<WirePart<'_>>(part.raw)?;
        return Err(Error::custom("expected an object as a part"));
    };
    if part.thought.is_true() {
        sink.reasoning(part.text.as_str());
    } else {
        sink.text(part.text.as_str());
    }
    let call = part.function_call.as_ref().map(|call| read_call(call, raw, items, pieces, sink));
    let has_call = matches!(call, Some(CallForm::Whole | CallForm::Pieces));
    if matches!(call, Some(CallForm::Pieces | CallForm::Nameless)) {
        return Ok(has_call);
    }
    if items == PartItems::Other {
        let audio = part.inline_data.as_ref().filter(|data| data.mime_type.as_str().starts_with("audio/"));
        if let Some(audio) = audio {
            let (data, mime_type) = (audio.data.as_str().to_owned(), audio.mime_type.as_str().to_owned());
            sink.push(Event::Audio { data, mime_type });
            return Ok(has_call);
        }
        if part.text.0.is_some() || part.function_call.is_some() {
            return Ok(has_call);
        }
    }
    sink.item(raw)?;
    Ok(has_call)
}

/// Reads a call or a piece of one; returns true for a call that is emitted. One without a name has no answer.
pub(crate) fn read_call(
    call: &FunctionCall<'_>,
    raw: &str,
    items: PartItems,
    pieces: &mut CallPieces,
    sink: &mut EventSink<'_>,
) -> CallForm {
    if pieces.read(call, raw, items, sink) {
        return CallForm::Pieces;
    }
    if call.name.as_str().is_empty() {
        sink.error(ProtocolError::Orphan { key: "functionCall".to_owned() });
        return CallForm::Nameless;
    }
    let name = call.name.as_str().to_owned();
    let id = sink.assign(WireCall { id: call.id.as_str().to_owned(), name: name.clone(), kind: "" });
    sink.push(Event::CallStarted { id: id.clone(), name: name.clone() });
    let arguments = call.args.text();
    let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments.into_owned() };
    sink.push(Event::Arguments { id: id.clone(), delta: arguments.clone() });
    sink.push(Event::Call(ToolCall::new(id, name, arguments)));
    CallForm::Whole
}

impl<'a> GenerateAnswer<'a> {
    /// Returns the JSON of the text of a chunk that has nothing else.
    fn piece(&self) -> Option<&'a str> {
        let candidate = self.candidates.as_ref()?.only()?;
        let is_first = candidate.index.0 == 0 && candidate.finish_reason.as_str().is_empty();
        if !is_first || self.error.0.is_some() || self.prompt_feedback.is_some() {
            return None;
        }
        let [RawObject { raw, object: Some(part) }] = candidate.content.parts.0.as_deref()? else { return None };
        let piece = Some(part.text.raw).filter(|piece| piece.starts_with('"'))?;
        // What is left is `{"text":}`.
        let count = |text: &str| text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
        (count(raw) == count(piece) + 9).then_some(piece)
    }
}

impl<'json: 'a, 'a> FromJson<'json> for Content<'a> {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> serde_json::Result<()> {
        if json.peek() != b'{' {
            return json.skip();
        }
        let before = json.clone();
        let mut parts = RawObjects::default();
        let read = json.object(|name, json| if name == "parts" { parts.read_json(json) } else { json.skip() });
        if read.is_ok() {
            self.parts = parts;
            return Ok(());
        }
        json.clone_from(&before);
        json.skip()
    }
}

/// A content, of which the parts are read.
#[derive(Debug, Default)]
pub(crate) struct Content<'a> {
    parts: RawObjects<'a, WirePart<'a>>,
}

json_objects! {
    /// An answer or a chunk of one.
    pub(crate) struct GenerateAnswer<'a> {
        pub(crate) response_id: LenientText<'a> = "responseId" | "response_id",
        pub(crate) model_version: LenientText<'a> = "modelVersion" | "model_version",
        pub(crate) candidates: Option<LenientObjects<Candidate<'a>>>,
        pub(crate) prompt_feedback: LenientObject<PromptFeedback<'a>> = "promptFeedback" | "prompt_feedback",
        pub(crate) usage_metadata: WithRaw<'a, LenientObject<UsageMetadata>> = "usageMetadata" | "usage_metadata",
        pub(crate) error: RawJson<'a>,
    }

    pub(crate) struct Candidate<'a> {
        pub(crate) index: LenientCount,
        pub(crate) content: Content<'a>,
        pub(crate) finish_reason: LenientText<'a> = "finishReason" | "finish_reason",
        pub(crate) finish_message: LenientText<'a> = "finishMessage" | "finish_message",
    }

    /// The reason for which a prompt was blocked.
    pub(crate) struct PromptFeedback<'a> {
        pub(crate) block_reason: LenientText<'a> = "blockReason" | "block_reason",
        pub(crate) block_reason_message: LenientText<'a> = "blockReasonMessage" | "block_reason_message",
    }

    pub(crate) struct WirePart<'a> {
        pub(crate) text: WithRaw<'a, LenientText<'a>>,
        pub(crate) thought: LenientText<'a>,
        pub(crate) function_call: LenientObject<FunctionCall<'a>> = "functionCall" | "function_call",
        pub(crate) inline_data: LenientObject<InlineData<'a>> = "inlineData" | "inline_data",
    }

    pub(crate) struct InlineData<'a> {
        pub(crate) mime_type: LenientText<'a> = "mimeType" | "mime_type",
        pub(crate) data: LenientText<'a>,
    }

    /// The tokens used.
    #[allow(clippy::struct_field_names)] // The names are the provider's.
    #[derive(Clone)]
    pub(crate) struct UsageMetadata {
        prompt_token_count: LenientCount = "promptTokenCount" | "prompt_token_count",
        cached_content_token_count: LenientCount = "cachedContentTokenCount" | "cached_content_token_count",
        candidates_token_count: LenientCount = "candidatesTokenCount" | "candidates_token_count",
        /// Live's name for the candidates' tokens.
        response_token_count: LenientCount = "responseTokenCount" | "response_token_count",
        thoughts_token_count: LenientCount = "thoughtsTokenCount" | "thoughts_token_count",
        /// The input from tools that the provider ran itself.
        tool_use_prompt_token_count: LenientCount = "toolUsePromptTokenCount" | "tool_use_prompt_token_count",
        prompt_tokens_details: MediaTokens = "promptTokensDetails" | "prompt_tokens_details",
        cache_tokens_details: MediaTokens = "cacheTokensDetails" | "cache_tokens_details",
        candidates_tokens_details: MediaTokens = "candidatesTokensDetails" | "candidates_tokens_details",
        response_tokens_details: MediaTokens = "responseTokensDetails" | "response_tokens_details",
        tool_use_prompt_tokens_details: MediaTokens = "toolUsePromptTokensDetails" | "tool_use_prompt_tokens_details",
        service_tier: ServiceTier = "serviceTier" | "service_tier",
        /// Vertex AI's name for the tier.
        traffic_type: ServiceTier = "trafficType" | "traffic_type",
    }

    struct ModalityTokens<'a> {
        modality: LenientText<'a>,
        token_count: LenientCount = "tokenCount" | "token_count",
    }
}

/// The tokens of audio and images in a list of tokens by modality.
#[derive(Clone, Copy, Debug, Default)]
struct MediaTokens {
    audio: u64,
    image: u64,
}

impl<'json> FromJson<'json> for MediaTokens {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> serde_json::Result<()> {
        let mut modalities = LenientObjects::<ModalityTokens<'_>>::default();
        modalities.read_json(json)?;
        *self = Self::default();
        for entry in modalities.iter() {
            let count = match entry.modality.as_str() {
                "AUDIO" => &mut self.audio,
                // Pages of documents are billed as images.
                "IMAGE" | "DOCUMENT" | "VIDEO" => &mut self.image,
                _ => continue,
            };
            *count = count.saturating_add(entry.token_count.0);
        }
        Ok(())
    }
}

impl UsageMetadata {
    /// Emits the tokens used and their tier.
    pub(crate) fn emit(&self, sink: &mut EventSink<'_>) {
        let tier = if self.service_tier.0.is_some() { &self.service_tier } else { &self.traffic_type };
        sink.usage(self.usage(), tier);
    }

    fn usage(&self) -> TokenUsage {
        let output = self.candidates_token_count.0.max(self.response_token_count.0);
        let (prompt, tools) = (self.prompt_tokens_details, self.tool_use_prompt_tokens_details);
        let (candidates, response) = (self.candidates_tokens_details, self.response_tokens_details);
        TokenUsage {
            input_audio: prompt.audio.saturating_add(tools.audio),
            input_image: prompt.image.saturating_add(tools.image),
            cached_audio: self.cache_tokens_details.audio,
            cached_image: self.cache_tokens_details.image,
            output_audio: candidates.audio.max(response.audio),
            output_image: candidates.image.max(response.image),
            input: self.prompt_token_count.0.saturating_add(self.tool_use_prompt_token_count.0),
            cached: self.cached_content_token_count.0,
            output: output.saturating_add(self.thoughts_token_count.0),
            reasoning: self.thoughts_token_count.0,
            ..TokenUsage::default()
        }
    }
}
