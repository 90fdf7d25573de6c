//! From answers and their chunks to events.

use crate::providers::codec::{EventSink, MessageReader, ResponseOrigin};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::gemini::parts::{PartItems, read_parts};
use crate::providers::gemini::wire::{Candidate, GenerateAnswer};
use crate::providers::lenient::LenientObject;
use serde_json::value::RawValue;

/// Reads generateContent.
#[derive(Debug, Default)]
pub(crate) struct GeminiReader {
    origin: ResponseOrigin,
    begun: bool,
    has_calls: bool,
    /// True if the provider has reported the error that ends the stream.
    failed: bool,
    finish: Option<Finish>,
}

impl MessageReader for GeminiReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if !text.trim_ascii_start().starts_with('[') {
            return self.read_chunk(text, sink);
        }
        let chunks = serde_json::from_str::<Vec<&RawValue>>(text)?;
        chunks.into_iter().try_for_each(|chunk| self.read_chunk(chunk.get(), sink))
    }

    /// The message ends with the stream: some models name the reason for the end in every chunk.
    fn finish(&mut self, sink: &mut EventSink<'_>) {
        let Self { begun, has_calls, failed, finish, .. } = std::mem::take(self);
        match finish {
            Some(Finish::Stop) if has_calls => sink.push(Event::Finished(Finish::ToolCalls)),
            Some(finish) => sink.push(Event::Finished(finish)),
            None if begun && !failed => sink.error(ProtocolError::Truncated { call_id: None }),
            None => {}
        }
    }
}

impl GeminiReader {
    fn read_chunk(&mut self, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let LenientObject(answer) = serde_json::from_str::<LenientObject<GenerateAnswer<'_>>>(text)?;
        let Some(answer) = answer else { return sink.unknown(text) };
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
        let candidates = answer.candidates.unwrap_or_default().0;
        // Further candidates are alternatives to the first.
        if !known || candidates.iter().any(|candidate| candidate.index.0 != 0) {
            sink.unknown(text)?;
        }
        for candidate in candidates.iter().filter(|candidate| candidate.index.0 == 0) {
            self.read_candidate(candidate, sink)?;
        }
        sink.events.extend(answer.usage_metadata.map(|usage| Event::Usage(usage.usage())));
        Ok(())
    }

    fn read_candidate(&mut self, candidate: &Candidate<'_>, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if let Some(content) = &*candidate.content {
            self.has_calls |= read_parts(content, PartItems::All, sink)?;
        }
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
        other => Finish::Other(other.to_owned()),
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
    ProtocolError::Provider { code: Some(reason.to_owned()), message: message.to_owned() }
}
