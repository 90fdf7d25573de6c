//! The events that protocols read from a provider's messages.

use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tool_core::ToolCall;
use tool_core::session::ReplyFinish;
use tool_core::trace::TokenUsage;

/// An event of a model's message, in the order in which the provider sent it.
///
/// ```
/// use tool_adapters::providers::{Event, Finish};
/// use tool_adapters::{Provider, protocol};
///
/// let mut openai = protocol(Provider::OpenAiChat);
/// let mut events = Vec::new();
/// for chunk in [
///     r#"data: {"id": "c-1", "model": "gpt-5", "choices": [{"index": 0, "delta": {"content": "It is "}}]}"#,
///     r#"data: {"id": "c-1", "model": "gpt-5", "choices": [{"index": 0, "delta": {"content": "noon."}, "finish_reason": "stop"}]}"#,
///     "data: [DONE]",
/// ] {
///     events.extend(openai.push(format!("{chunk}\n\n").as_bytes()));
/// }
/// events.extend(openai.finish());
///
/// let (mut text, mut finish) = (String::new(), None);
/// for event in events {
///     match event {
///         Event::Text(piece) => text += &piece,
///         Event::Call(call) => println!("the model calls {}", call.name()),
///         Event::Finished(reason) => finish = Some(reason),
///         Event::Error(error) => eprintln!("{error}"),
///         _ => {}
///     }
/// }
/// assert_eq!((&*text, finish), ("It is noon.", Some(Finish::Stop)));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The response that the message belongs to. Comes once for a message, as soon as the provider
    /// names one of the two, and again if another model of Anthropic takes over. Gemini Live and MCP name neither, Cohere names the id only, Ollama the
    /// model only, Bedrock the model that a prompt router chose.
    Response {
        /// The provider's id of the response.
        id: Option<String>,
        /// The model that answers. It may be more exact than the model of the request.
        model: Option<String>,
    },
    /// A piece of the model's text.
    Text(String),
    /// A piece of the model's reasoning, from providers that show it.
    Reasoning(String),
    /// The beginning of a call. A later [`Cancelled`](Self::Cancelled) may withdraw the call.
    CallStarted {
        /// The call's id, the same as that of [`Event::Call`].
        id: String,
        /// The tool's name at the provider.
        name: String,
    },
    /// A piece of a call's arguments.
    Arguments {
        /// The call's id.
        id: String,
        /// The text.
        delta: String,
    },
    /// A whole call of an answer that is complete, with the name and the arguments that the
    /// provider sent.
    /// [`Declarations::restore`](crate::Declarations::restore) returns it in the tool's own form.
    ///
    /// The calls of an answer come right before its [`Finished`](Self::Finished), and only if
    /// nothing of the answer was lost. Live protocols send each call as soon as it is whole.
    Call(ToolCall),
    /// A call of an answer that was cut off at the limit of its length. It must not run, even if
    /// its arguments are whole: answer it with an error that says so.
    CutCall(ToolCall),
    /// The ids of calls that the provider has withdrawn: in a live session, or because the model
    /// that made them was refused and another one has taken over.
    Cancelled(Vec<String>),
    /// An item of the message in the provider's own form: a tool that the provider ran itself, a signed thought, and the
    /// texts and calls between them. For [`RawTurn`](tool_core::session::RawTurn).
    ///
    /// The container in which code of Anthropic's model runs is an item of the type `container`. The
    /// items of its message from the first call on come at the end, as a call may be withdrawn.
    Item(Value),
    /// The service tier that answers, in lower case, such as `flex` or `priority`. Comes before the
    /// usage, and only if it is not the standard tier.
    ///
    /// Anthropic's region of inference is a part of it, as it has a price of its own: `us`, or
    /// `fast-us`. If other models have made parts of Anthropic's answer, it is `several_models`.
    ServiceTier(String),
    /// The tokens used so far. Replaces an earlier one.
    Usage(TokenUsage),
    /// The user has begun to speak, or the provider has stopped the response. Live protocols only.
    Interrupted,
    /// A piece of the model's speech. Live protocols only.
    Audio {
        /// The audio in base64.
        data: String,
        /// The MIME type, such as `audio/pcm;rate=24000`.
        mime_type: String,
    },
    /// The end of the message. It comes only for a message of which nothing was lost: without it,
    /// the events before are not an answer.
    Finished(Finish),
    /// An event that the protocol does not know and that has no part of the answer, as it came.
    ///
    /// The sources of an answer also come so, under the name that the provider gives them:
    /// `groundingMetadata`, `urlContextMetadata` and `citationMetadata` from Gemini, `citations` and
    /// `search_results` from servers of Chat Completions.
    Unknown(Value),
    /// An error in the stream. Reading goes on, so that you see what else the message has. If the
    /// error is a loss ([`ProtocolError::is_loss`]), the message has no calls and no end.
    Error(ProtocolError),
}

/// The reason for which a message ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The message is complete.
    Stop,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The message reached the limit of its length.
    Length,
    /// The provider withheld the message or the rest of it.
    Filtered,
    /// The model refused to answer.
    Refused,
    /// The provider paused a long message. It goes on when it is sent back.
    Paused,
    /// Another reason, in the provider's word. It names no failure: those are errors.
    Other(String),
}

impl Finish {
    /// Returns the end of a reply whose last message ended for this reason.
    pub fn reply_finish(&self) -> ReplyFinish {
        match self {
            Self::Stop | Self::ToolCalls | Self::Other(_) => ReplyFinish::Complete,
            Self::Length => ReplyFinish::Length,
            Self::Filtered => ReplyFinish::Withheld,
            Self::Refused => ReplyFinish::Refused,
            Self::Paused => ReplyFinish::Paused,
        }
    }
}

/// The words of which one is in most names of failures.
const FAILURES: [&str; 29] = [
    "error",
    "fail",
    "malformed",
    "invalid",
    "timeout",
    "timed_out",
    "time_limit",
    "abort",
    "cancel",
    "interrupt",
    "unexpected",
    "too_many",
    "missing",
    "insufficient",
    "overload",
    "unavailable",
    "exception",
    "crash",
    "disconnect",
    "reject",
    "denied",
    "unspecified",
    "exhausted",
    "throttl",
    "rate_limit",
    "incomplete",
    "in_progress",
    "queued",
    "repetition",
];

/// The words of which one is in most names of filters.
const FILTERS: [&str; 16] = [
    "safety",
    "filter",
    "guardrail",
    "moderation",
    "toxic",
    "prohibited",
    "blocklist",
    "blocked",
    "recitation",
    "spii",
    "armor",
    "policy",
    "withheld",
    "sensitive",
    "unsafe",
    "inappropriate",
];

/// The words of which one is in most names of limits.
const LIMITS: [&str; 6] = [
    "length",
    "max_tokens",
    "max_output",
    "token_limit",
    "context_window",
    "max_new_tokens",
];

impl Finish {
    /// Returns the reason for a word that the provider's documents do not list: servers that speak
    /// another's protocol have words of their own.
    pub(crate) fn of_unlisted(word: &str) -> Self {
        let lower = word.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|part| lower.contains(part));

        // A name like `MALFORMED_RESPONSE_FILTER` is a failure first.
        if has(&FAILURES) {
            Self::Other(word.to_owned())
        } else if has(&FILTERS) {
            Self::Filtered
        } else if has(&LIMITS) {
            Self::Length
        } else if lower.contains("refus") {
            Self::Refused
        } else {
            Self::Other(word.to_owned())
        }
    }

    /// Returns the provider's word if it names a failure: the message is no answer then.
    pub(crate) fn failure(&self) -> Option<&str> {
        let Self::Other(word) = self else { return None };
        let lower = word.to_ascii_lowercase();
        FAILURES
            .iter()
            .any(|part| lower.contains(part))
            .then_some(word)
    }
}

/// An error in a provider's stream.
///
/// ```
/// use tool_adapters::providers::{Event, ProtocolError};
/// use tool_adapters::{Provider, protocol};
///
/// let mut mistral = protocol(Provider::Mistral);
/// let mut events = mistral.push(b"data: {\"id\": \"c-1\", \"choices\": [{\"index\": 0, \"delta\": {\"content\": \"It is\"}}]}\n\n");
/// events.extend(mistral.finish()); // the connection broke
/// assert!(events.contains(&Event::Text("It is".into())));
/// assert!(events.contains(&Event::Error(ProtocolError::Truncated { call_id: None })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A part of the stream is not JSON, or does not have the provider's form.
    #[error("{message}: {}", text.escape_debug())]
    Malformed {
        /// The error.
        message: String,
        /// The beginning of the part, at most 200 characters.
        text: String,
        /// The parser's error, if the part could not be parsed.
        source: Option<JsonError>,
    },
    /// The stream ended before the message, or before the call with this id, was complete.
    #[error("the stream ended in the middle of {}", truncated_part(call_id.as_deref()))]
    Truncated {
        /// The incomplete call; `None` for the message.
        call_id: Option<String>,
    },
    /// Two calls have the same id. The later one was given another.
    #[error("two calls have the id `{}`", id.escape_debug())]
    DuplicateId {
        /// The id that the provider sent.
        id: String,
    },
    /// A piece of a call arrived whose beginning did not.
    #[error("a part of a call came that was not begun: {}", key.escape_debug())]
    Orphan {
        /// The provider's name for the call: an index, or the id of an item.
        key: String,
    },
    /// A part of an answer came where it has no place, such as after the end of the answer.
    #[error("{message}")]
    OutOfPlace {
        /// The error.
        message: String,
    },
    /// An event or a call exceeds the size that is kept.
    #[error("an event is larger than {most} bytes")]
    TooLarge {
        /// The limit in bytes.
        most: usize,
    },
    /// The provider reported an error.
    #[error("the provider reports{}: {}", error_code(code.as_deref()), message.escape_debug())]
    Provider {
        /// The error's code or type, where it has one.
        code: Option<String>,
        /// The provider's message.
        message: String,
        /// The time to wait before another attempt, where the provider names it.
        retry_after: Option<Duration>,
    },
}

impl ProtocolError {
    /// Creates an error that the provider reported. The protocol adds the delay that the event asks
    /// for.
    pub fn of_provider(code: Option<String>, message: impl Into<String>) -> Self {
        Self::Provider {
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Returns true if a part of the message is lost, or can be: the message is then not an answer.
    /// The other errors are a repeated id, and a call that was cut off by the limit of the
    /// message's length.
    pub fn is_loss(&self) -> bool {
        !matches!(
            self,
            Self::DuplicateId { .. } | Self::Truncated { call_id: Some(_) }
        )
    }
}

/// The error of a JSON parser. Two errors with the same text are equal.
#[derive(Clone, Debug, Error)]
#[error(transparent)]
pub struct JsonError(Arc<serde_json::Error>);

impl PartialEq for JsonError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for JsonError {}

fn truncated_part(call_id: Option<&str>) -> String {
    call_id.map_or_else(
        || "the message".to_owned(),
        |id| format!("the call `{}`", id.escape_debug()),
    )
}

fn error_code(code: Option<&str>) -> String {
    code.map_or_else(String::new, |code| format!(" {}", code.escape_debug()))
}

/// Makes the error of a text that does not have the expected form.
pub(crate) fn malformed(message: impl Into<String>, text: &str) -> ProtocolError {
    ProtocolError::Malformed {
        message: message.into(),
        text: text.chars().take(200).collect(),
        source: None,
    }
}

/// Makes the error of a part that came where it has no place.
pub(crate) fn out_of_place(message: impl Into<String>) -> ProtocolError {
    ProtocolError::OutOfPlace {
        message: message.into(),
    }
}

/// Makes the error of an event that the reader of a provider could not parse.
pub fn unparsed(error: serde_json::Error, text: &str) -> ProtocolError {
    ProtocolError::Malformed {
        message: "expected JSON in the provider's form".to_owned(),
        text: text.chars().take(200).collect(),
        source: Some(JsonError(Arc::new(error))),
    }
}

/// Reads the error that an answer is, or that it has under `error`.
pub(crate) fn provider_error(answer: &str) -> Option<ProtocolError> {
    let answer = serde_json::from_str::<Value>(answer).ok()?;
    let inner = answer.get("error").filter(|error| !error.is_null());
    let error = inner.unwrap_or(&answer);
    let text = |key: &str| {
        let value = error.get(key)?;
        let text = value
            .as_str()
            .map(str::to_owned)
            .or_else(|| value.as_number().map(ToString::to_string));
        text.filter(|text| !text.is_empty())
    };
    let message = text("message").or_else(|| error.as_str().map(str::to_owned));
    let message = message.or_else(|| error.get("detail").map(Value::to_string));
    let message = message.or_else(|| inner.map(Value::to_string))?;
    let code = ["code", "type", "status"].into_iter().find_map(text);
    Some(ProtocolError::of_provider(code, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn a_text_that_is_not_json_keeps_the_parsers_error() {
        let error = serde_json::from_str::<Value>("oops").expect_err("it is not JSON");
        let cause = error.to_string();
        assert_eq!(
            unparsed(error, "oops").source().map(ToString::to_string),
            Some(cause)
        );
    }
}
