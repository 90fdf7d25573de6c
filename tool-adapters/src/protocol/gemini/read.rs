//! Answers and their chunks, to events.

use super::parts::{self, Form};
use super::wire::{Answer, Candidate};
use crate::protocol::codec::Out;
use crate::protocol::errors::provider_error;
use crate::protocol::event::{Event, Finish, ProtocolError};
use crate::protocol::fields::Object;
use crate::protocol::origin::Origin;
use serde_json::value::RawValue;

/// The message that is being read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    origin: Origin,
    begun: bool,
    called: bool,
    /// The provider has said why there is no more.
    failed: bool,
    finish: Option<Finish>,
}

impl Reader {
    pub(super) fn read(&mut self, text: &str, out: &mut Out<'_>) {
        if text.trim_ascii_start().starts_with('[') {
            for chunk in out.parse::<Vec<&RawValue>>(text).unwrap_or_default() {
                self.chunk(chunk.get(), out);
            }
        } else {
            self.chunk(text, out);
        }
    }

    fn chunk(&mut self, text: &str, out: &mut Out<'_>) {
        let Some(Object(answer)) = out.parse::<Object<Answer<'_>>>(text) else { return };
        let Some(answer) = answer else { return out.unknown(text) };
        let mut known = answer.candidates.is_some() || answer.usage_metadata.is_some();
        self.begun |= known;
        if !answer.error.text().is_empty() {
            let error = serde_json::from_str(text).ok().as_ref().and_then(provider_error);
            known |= error.is_some();
            self.failed |= error.is_some();
            out.events.extend(error.map(Event::Error));
        }
        if let Some(feedback) = answer.prompt_feedback.as_ref().filter(|it| !it.block_reason.or_empty().is_empty()) {
            let message = Some(feedback.block_reason_message.or_empty()).filter(|message| !message.is_empty());
            let message = message.unwrap_or("the prompt was blocked");
            out.error(parts::failure(feedback.block_reason.or_empty(), message));
            (known, self.begun) = (true, true);
            self.finish = Some(Finish::Filtered);
        }
        if self.begun {
            self.origin.tell(answer.response_id.or_empty(), answer.model_version.or_empty(), out);
        }
        let candidates = answer.candidates.unwrap_or_default().0;
        // Of several candidates the first is read: the others answer the same.
        if !known || candidates.iter().any(|candidate| candidate.index.0 != 0) {
            out.unknown(text);
        }
        for candidate in candidates.iter().filter(|candidate| candidate.index.0 == 0) {
            self.candidate(candidate, out);
        }
        if let Some(counts) = *answer.usage_metadata {
            out.push(Event::Usage(counts.usage()));
        }
    }

    fn candidate(&mut self, candidate: &Candidate<'_>, out: &mut Out<'_>) {
        if let Some(content) = &*candidate.content {
            parts::read(content, Form::Message, &mut |_, _| self.called = true, out);
        }
        let reason = candidate.finish_reason.or_empty();
        if reason.is_empty() {
            return;
        }
        let finish = finish_of(reason);
        if is_failure(reason) {
            out.error(parts::failure(reason, candidate.finish_message.or_empty()));
        }
        self.finish = Some(finish);
    }

    /// The bytes are over. Only then it is: some models say in every chunk why they end.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        let Self { begun, called, failed, finish, .. } = std::mem::take(self);
        match finish {
            Some(Finish::Stop) if called => out.push(Event::Finished(Finish::ToolCalls)),
            Some(finish) => out.push(Event::Finished(finish)),
            None if begun && !failed => out.error(ProtocolError::Truncated { call_id: None }),
            None => {}
        }
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

/// Whether the model meant to go on, and what it made could not be used.
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
