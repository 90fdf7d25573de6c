//! Answers and their chunks, to events.

use crate::providers::codec::Out;
use crate::providers::event::{Event, Finish, Origin, ProtocolError, provider_error};
use crate::providers::fields::Object;
use crate::providers::framing::malformed;
use crate::providers::gemini::wire::{Answer, Call, Candidate, Content, Part};
use crate::providers::ids::Wire;
use crate::providers::protocol;
use serde_json::value::RawValue;
use tool_core::ToolCall;

/// The message that is being read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    origin: Origin,
    begun: bool,
    called: bool,
    /// The provider has said why there is no more.
    failed: bool,
    finish: Option<Finish>,
}

impl Reader {
    pub(crate) fn read(&mut self, text: &str, out: &mut Out<'_>) {
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
            out.error(failure(feedback.block_reason.or_empty(), message));
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
            read(content, Form::Message, &mut |_, _| self.called = true, out);
        }
        let reason = candidate.finish_reason.or_empty();
        if reason.is_empty() {
            return;
        }
        let finish = finish_of(reason);
        if is_failure(reason) {
            out.error(failure(reason, candidate.finish_message.or_empty()));
        }
        self.finish = Some(finish);
    }

    /// The bytes are over. Only then it is: some models say in every chunk why they end.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
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

// ---- Parts of what Gemini says, to events.

/// What becomes an item, and what an event of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Every part is an item.
    Message,
    /// Parts that are no text and no call are items; sound is an event.
    Live,
}

/// Reads parts; the calls among them go to `called` with our ids.
pub(crate) fn read(content: &Content<'_>, form: Form, called: &mut dyn FnMut(&str, Wire), out: &mut Out<'_>) {
    for raw in content.parts.read::<Vec<&RawValue>>().unwrap_or_default() {
        part(raw.get(), form, called, out);
    }
}

fn part(raw: &str, form: Form, called: &mut dyn FnMut(&str, Wire), out: &mut Out<'_>) {
    let Some(part) = out.parse::<Part<'_>>(raw) else { return };
    match part.thought.or_empty() {
        "true" => out.reasoning(part.text.or_empty()),
        _ => out.text(part.text.or_empty()),
    }
    if let Some(function) = &*part.function_call {
        call(function, raw, called, out);
    }
    let said = part.text.0.is_some() || part.function_call.is_some();
    if form == Form::Live {
        match &*part.inline_data {
            Some(blob) if blob.mime_type.or_empty().starts_with("audio/") => {
                let (data, mime_type) = (blob.data.or_empty().to_owned(), blob.mime_type.or_empty().to_owned());
                return out.push(Event::Audio { data, mime_type });
            }
            _ if said => return,
            _ => {}
        }
    }
    if let Ok(item) = serde_json::from_str(raw) {
        out.push(Event::Item(item));
    }
}

/// Reads a call, which comes whole.
pub(crate) fn call(function: &Call<'_>, raw: &str, called: &mut dyn FnMut(&str, Wire), out: &mut Out<'_>) {
    if function.partial_args.0.is_some() || function.will_continue.or_empty() == "true" {
        let message = "a call in pieces cannot be read: ask without `streamFunctionCallArguments`";
        return out.error(malformed(message, raw));
    }
    let name = function.name.or_empty();
    let wire = Wire { id: function.id.or_empty().to_owned(), name: name.to_owned(), ..Wire::default() };
    let id = out.assign(wire.clone());
    called(&id, wire);
    out.push(Event::CallStarted { id: id.clone(), name: name.to_owned() });
    let arguments = match &*function.args.text() {
        "" => "{}".to_owned(),
        arguments => arguments.to_owned(),
    };
    out.push(Event::Arguments { id: id.clone(), delta: arguments.clone() });
    out.push(Event::Call(ToolCall::new(id, name, arguments)));
}

/// The error that a reason to end is, where it is one.
pub(crate) fn failure(reason: &str, message: &str) -> ProtocolError {
    let message = if message.is_empty() { "the model's answer could not be used" } else { message };
    ProtocolError::Provider { code: Some(reason.to_owned()), message: message.to_owned() }
}
