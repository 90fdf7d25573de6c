//! The reader of answers and chunks, and the members that it reads.

use crate::answer_sources::AnswerSources;
use crate::codec::{EventSink, MessageReader, ResponseOrigin};
use crate::event::{Event, Finish, ProtocolError, malformed};
use crate::gemini::parts::PartReader;
use crate::gemini::wire::{Content, PartItems};
use crate::json_reader::{FromJson, JsonReader, OtherMembers, json_objects};
use crate::lenient::{
    LenientCount, LenientObject, LenientObjects, LenientText, RawJson, ServiceTier, WithRaw,
    parse_items, parse_object,
};
use crate::repeats::LastEvent;
use serde_json::{Value, json};
use tool_core::trace::TokenUsage;

/// Reads generateContent.
#[derive(Debug)]
pub(crate) struct GeminiReader {
    origin: ResponseOrigin,
    begun: bool,
    parts: PartReader,
    sources: AnswerSources,
    /// True if the provider has reported the error that ends the stream.
    failed: bool,
    /// True if the prompt was blocked.
    is_blocked: bool,
    /// The reason for the end; the last one, unless one was a failure.
    end: Option<EndReason>,
    /// The last chunk with the JSON of its usage, if it has no more than a piece of text.
    last_event: Option<LastEvent<(String, Option<UsageMetadata>)>>,
}

/// The reason for which a message ended, in the provider's words.
#[derive(Debug)]
struct EndReason {
    reason: String,
    message: String,
}

impl Default for GeminiReader {
    fn default() -> Self {
        Self {
            origin: ResponseOrigin::default(),
            begun: false,
            parts: PartReader::new(PartItems::All),
            sources: AnswerSources::default(),
            failed: false,
            is_blocked: false,
            end: None,
            last_event: None,
        }
    }
}

impl MessageReader for GeminiReader {
    fn read(
        &mut self,
        _name: &str,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        if self.read_repeated(text, sink) {
            return Ok(());
        }
        self.last_event = None;
        if !text.trim_ascii_start().starts_with('[') {
            return self.read_chunk(text, sink);
        }
        parse_items(text)?
            .into_iter()
            .try_for_each(|chunk| self.read_chunk(chunk, sink))
    }

    /// The message ends with the stream: some models name the reason for the end in every chunk.
    fn finish(&mut self, sink: &mut EventSink<'_>) {
        self.parts.end(sink);
        let Self {
            begun,
            parts,
            failed,
            is_blocked,
            end,
            ..
        } = std::mem::take(self);
        match end {
            _ if is_blocked => sink.end(Finish::Filtered),
            Some(end) if is_failure(&end.reason) => sink.error(end.into_error()),
            Some(end) => match finish_of(&end.reason) {
                Finish::Stop if parts.has_calls() => sink.end(Finish::ToolCalls),
                finish => sink.end(finish),
            },
            None if begun && !failed => sink.error(ProtocolError::Truncated { call_id: None }),
            None => {}
        }
    }
}

impl GeminiReader {
    /// Reads a chunk that repeats the last one but for its piece and its usage; returns false for
    /// another one.
    fn read_repeated(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let Some(((last_raw, last_usage), piece, [_, raw])) =
            LastEvent::repeated(self.last_event.as_ref(), text)
        else {
            return false;
        };
        let usage = if last_raw == raw {
            Ok(last_usage.clone())
        } else {
            parse_object(raw)
        };
        let Ok(usage) = usage else { return false };
        if self.parts.read_text(&piece, sink).is_err() {
            return false;
        }
        if let Some(usage) = usage {
            usage.emit(self.parts.has_tool_results(), sink);
        }
        true
    }

    fn read_chunk(&mut self, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let Some(answer) = parse_object::<GenerateAnswer<'_>>(text)? else {
            sink.error(malformed("expected an object as a chunk", text));
            return Ok(());
        };
        let read = self.read_answer(text, &answer, sink);
        let was_read = read.is_ok();
        sink.tell(read, text)?;
        if let Some(usage) = &**answer.usage_metadata {
            usage.emit(self.parts.has_tool_results(), sink);
        }
        if !was_read {
            return Ok(());
        }
        let piece = answer.piece();
        let WithRaw { raw, value } = answer.usage_metadata;
        self.last_event =
            piece.and_then(|piece| LastEvent::new(text, [piece, raw], (raw.to_owned(), value.0)));
        Ok(())
    }

    /// Reads a chunk; returns false for one that is unknown, or has alternatives to the answer.
    fn read_answer(
        &mut self,
        text: &str,
        answer: &GenerateAnswer<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<bool, ProtocolError> {
        let mut known = answer.candidates.is_some() || answer.usage_metadata.is_some();
        self.begun |= known;
        if !answer.error.text().is_empty() {
            let found = sink.provider_error(text);
            known |= found;
            self.failed |= found;
        }
        if let Some(feedback) = &*answer.prompt_feedback.value
            && !feedback.block_reason.as_str().is_empty()
        {
            known = true;
            self.begun = true;
            self.is_blocked = true;
            let feedback =
                serde_json::from_str::<Value>(answer.prompt_feedback.raw).unwrap_or_default();
            sink.push(Event::Unknown(json!({"promptFeedback": feedback})));
        }
        if self.begun {
            self.origin.emit(
                answer.response_id.as_str(),
                answer.model_version.as_str(),
                sink,
            );
        }
        answer.check(text)?;
        let Some(candidates) = &answer.candidates else {
            return Ok(known);
        };
        for candidate in candidates.iter().filter(|candidate| candidate.index.0 == 0) {
            self.read_candidate(candidate, sink)?;
        }
        // Further candidates are alternatives to the first.
        Ok(known && candidates.iter().all(|candidate| candidate.index.0 == 0))
    }

    fn read_candidate(
        &mut self,
        candidate: &Candidate<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let read = self.parts.read(&candidate.content, sink);
        for (name, member) in [
            ("groundingMetadata", candidate.grounding_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
            ("citationMetadata", candidate.citation_metadata),
        ] {
            self.sources.emit(name, member, sink);
        }
        let reason = candidate.finish_reason.as_str();
        // The default of the enum is not a reason.
        let is_default = reason == UNSPECIFIED && self.end.is_some();
        let has_failed = self
            .end
            .as_ref()
            .is_some_and(|end| end.reason != UNSPECIFIED && is_failure(&end.reason));
        if !(reason.is_empty() || is_default || has_failed) {
            let message = candidate.finish_message.as_str().to_owned();
            self.end = Some(EndReason {
                reason: reason.to_owned(),
                message,
            });
        }
        read
    }
}

const UNSPECIFIED: &str = "FINISH_REASON_UNSPECIFIED";

/// The reasons for which the model's output could not be used.
const FAILURES: [&str; 11] = [
    UNSPECIFIED,
    "LANGUAGE",
    "OTHER",
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
    "NO_IMAGE",
    "IMAGE_OTHER",
    "PUP_LIMITED_DISABLED",
];

fn is_failure(reason: &str) -> bool {
    FAILURES.contains(&reason)
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "STOP" => Finish::Stop,
        // The rest of a `CONTINUATION` comes with a token that no request has.
        "MAX_TOKENS" | "CONTINUATION" => Finish::Length,
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

impl EndReason {
    fn into_error(self) -> ProtocolError {
        let unusable = "the model's answer could not be used";
        let message = if self.message.is_empty() {
            unusable.to_owned()
        } else {
            self.message
        };
        ProtocolError::of_provider(Some(self.reason), message)
    }
}

impl<'a> GenerateAnswer<'a> {
    /// Fails for a chunk with a part of an answer that cannot be read.
    fn check(&self, text: &str) -> Result<(), ProtocolError> {
        if self
            .candidates
            .as_ref()
            .is_some_and(LenientObjects::has_others)
        {
            return Err(malformed(
                "expected an array of objects as `candidates`",
                text,
            ));
        }
        let candidates = self.candidates.iter().flat_map(LenientObjects::iter);
        let others = candidates
            .map(|candidate| &candidate.others)
            .chain([&self.others]);
        let has_parts = |name: &str, json: &str| name == "parts" || has_member(json, "parts");
        if others
            .flat_map(|others| &others.0)
            .any(|member| has_parts(&member.name, member.json))
        {
            return Err(malformed(
                "a member with parts of an answer is unknown",
                text,
            ));
        }
        Ok(())
    }

    /// Returns the JSON of the text of a chunk that has nothing else.
    fn piece(&self) -> Option<&'a str> {
        let candidate = self.candidates.as_ref()?.only()?;
        let is_first = candidate.index.0 == 0 && candidate.finish_reason.as_str().is_empty();
        if !is_first || self.error.0.is_some() || self.prompt_feedback.value.is_some() {
            return None;
        }
        let part = candidate.content.only_part()?;
        let piece = Some(part.object.as_ref()?.text.raw).filter(|piece| piece.starts_with('"'))?;
        // What is left is `{"text":}`.
        let count = |text: &str| {
            text.bytes()
                .filter(|byte| !byte.is_ascii_whitespace())
                .count()
        };
        (count(part.raw) == count(piece) + 9).then_some(piece)
    }
}

/// Returns true if an object in a JSON text has a member of this name.
pub(crate) fn has_member(json: &str, name: &str) -> bool {
    let quoted = format!("\"{name}\"");
    let mut found = json.match_indices(&quoted).map(|(at, _)| at + quoted.len());
    found.any(|end| {
        json.get(end..)
            .is_some_and(|rest| rest.trim_ascii_start().starts_with(':'))
    })
}

json_objects! {
    /// An answer or a chunk of one.
    pub(crate) struct GenerateAnswer<'a> {
        pub(crate) response_id: LenientText<'a> = "responseId" | "response_id",
        pub(crate) model_version: LenientText<'a> = "modelVersion" | "model_version",
        pub(crate) candidates: Option<LenientObjects<Candidate<'a>>>,
        pub(crate) prompt_feedback: WithRaw<'a, LenientObject<PromptFeedback<'a>>> = "promptFeedback" | "prompt_feedback",
        pub(crate) usage_metadata: WithRaw<'a, LenientObject<UsageMetadata>> = "usageMetadata" | "usage_metadata",
        pub(crate) error: RawJson<'a>,
        ..others: OtherMembers<'a>,
    }

    pub(crate) struct Candidate<'a> {
        pub(crate) index: LenientCount,
        pub(crate) content: Content<'a>,
        pub(crate) finish_reason: LenientText<'a> = "finishReason" | "finish_reason",
        pub(crate) finish_message: LenientText<'a> = "finishMessage" | "finish_message",
        grounding_metadata: RawJson<'a> = "groundingMetadata" | "grounding_metadata",
        url_context_metadata: RawJson<'a> = "urlContextMetadata" | "url_context_metadata",
        citation_metadata: RawJson<'a> = "citationMetadata" | "citation_metadata",
        ..others: OtherMembers<'a>,
    }

    /// The reason for which a prompt was blocked.
    pub(crate) struct PromptFeedback<'a> {
        pub(crate) block_reason: LenientText<'a> = "blockReason" | "block_reason",
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
    /// Emits the tokens used and their tier. `keeps_tool_results` is true if the message has the
    /// results of the tools that the provider ran itself.
    pub(crate) fn emit(&self, keeps_tool_results: bool, sink: &mut EventSink<'_>) {
        let tier = if self.service_tier.0.is_some() {
            &self.service_tier
        } else {
            &self.traffic_type
        };
        sink.usage(self.usage(keeps_tool_results), tier);
    }

    fn usage(&self, keeps_tool_results: bool) -> TokenUsage {
        let prompt_tokens = self.prompt_token_count.0;
        let tool_tokens = self.tool_use_prompt_token_count.0;
        let input = prompt_tokens.saturating_add(tool_tokens);
        // What no part of the message shows is not in the next request.
        let input_beside = if keeps_tool_results { 0 } else { tool_tokens };
        let output = self
            .candidates_token_count
            .0
            .max(self.response_token_count.0);
        let prompt = self.prompt_tokens_details;
        let tools = self.tool_use_prompt_tokens_details;
        let candidates = self.candidates_tokens_details;
        let response = self.response_tokens_details;
        TokenUsage {
            input_audio: prompt.audio.saturating_add(tools.audio),
            input_image: prompt.image.saturating_add(tools.image),
            cached_audio: self.cache_tokens_details.audio,
            cached_image: self.cache_tokens_details.image,
            output_audio: candidates.audio.max(response.audio),
            output_image: candidates.image.max(response.image),
            input,
            input_beside,
            input_at_once: if input_beside == 0 { 0 } else { input },
            cached: self.cached_content_token_count.0,
            output: output.saturating_add(self.thoughts_token_count.0),
            reasoning: self.thoughts_token_count.0,
            ..TokenUsage::default()
        }
    }
}
