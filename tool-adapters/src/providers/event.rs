//! What a protocol reads off a provider's messages.

use crate::providers::codec::Out;
use crate::providers::declare::Declarations;
use serde_json::{Map, Value};
use std::fmt;
use tool_core::ToolCall;
use tool_core::session::{Message, ToolChoice};
use tool_core::trace::TokenUsage;

/// Something that a model has said or done, in the order in which it came.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Which response it is, once for a message, as soon as the provider says something of it. Gemini Live and MCP never
    /// do; Cohere says the id only, Ollama the model, Bedrock the model that a prompt router chose.
    Response {
        /// The provider's id of the response.
        id: Option<String>,
        /// The model that answers, which may be called more exactly than the one that was asked.
        model: Option<String>,
    },
    /// A piece of what it says.
    Text(String),
    /// A piece of what it thinks, where the provider shows it.
    Reasoning(String),
    /// It has begun a call.
    CallStarted {
        /// The call's id, the one that [`Event::Call`] will have.
        id: String,
        /// The name that the provider knows the tool by.
        name: String,
    },
    /// A piece of a call's arguments.
    Arguments {
        /// The call's id.
        id: String,
        /// The text.
        delta: String,
    },
    /// A call is whole. Name and arguments are as the provider has them;
    /// [`Declarations::restore`](crate::Declarations::restore) gives them back as the tool has them.
    Call(ToolCall),
    /// The provider has withdrawn calls: their ids.
    Cancelled(Vec<String>),
    /// An item of the message in the provider's own form, in order: what it ran itself, a signed thought, and the texts
    /// and calls between them. For [`Native`](tool_core::session::RawTurn).
    Item(Value),
    /// What was used so far; a later one takes the place of an earlier one.
    Usage(TokenUsage),
    /// The user has begun to speak, or the provider stopped what it was saying: live protocols only.
    Interrupted,
    /// Sound that the model says, in base64: live protocols only.
    Audio {
        /// Base64.
        data: String,
        /// Such as `audio/pcm;rate=24000`.
        mime_type: String,
    },
    /// The message is over.
    Finished(Finish),
    /// Something that this protocol does not know: kept, not fatal.
    Unknown(Value),
    /// Something is wrong with the stream. What was read before it stays, and reading goes on.
    Error(ProtocolError),
}

/// Why a message ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// It was all said.
    Stop,
    /// Its calls wait for their results.
    ToolCalls,
    /// It grew too long.
    Length,
    /// The provider held it back.
    Filtered,
    /// The provider's word for another reason.
    Other(String),
}

/// What is wrong with a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A part of it is no JSON, or not what the provider says it sends.
    Malformed {
        /// What is wrong.
        message: String,
        /// Its beginning, at most 200 characters.
        text: String,
    },
    /// It ended in the middle: of the message, or of the call with this id.
    Truncated {
        /// The call that was cut off.
        call_id: Option<String>,
    },
    /// Two calls came under one id; the later one was given another.
    DuplicateId {
        /// The id.
        id: String,
    },
    /// A part of a call came that nothing had begun.
    Orphan {
        /// What the provider calls it: an index, an item's id.
        key: String,
    },
    /// An event or a call grew beyond what is kept.
    TooLarge {
        /// The most bytes that are kept.
        most: usize,
    },
    /// The provider reports an error.
    Provider {
        /// Its code or type, where it has one.
        code: Option<String>,
        /// What it says.
        message: String,
    },
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { message, text } => write!(f, "{message}: {}", text.escape_debug()),
            Self::Truncated { call_id: Some(id) } => {
                write!(f, "the stream ended in the middle of the call `{}`", id.escape_debug())
            }
            Self::Truncated { call_id: None } => f.write_str("the stream ended in the middle of the message"),
            Self::DuplicateId { id } => write!(f, "two calls have the id `{}`", id.escape_debug()),
            Self::Orphan { key } => write!(f, "a part of a call came that was not begun: {}", key.escape_debug()),
            Self::TooLarge { most } => write!(f, "an event is larger than {most} bytes"),
            Self::Provider { code: Some(code), message } => {
                write!(f, "the provider reports {}: {}", code.escape_debug(), message.escape_debug())
            }
            Self::Provider { code: None, message } => write!(f, "the provider reports: {}", message.escape_debug()),
        }
    }
}

impl std::error::Error for ProtocolError {}

// ---- Errors that a provider reports.

/// The error that an answer is, or holds under `error`.
pub(crate) fn provider_error(answer: &Value) -> Option<ProtocolError> {
    let inner = answer.get("error").filter(|error| !error.is_null());
    let error = inner.unwrap_or(answer);
    let text = |key: &str| {
        let value = error.get(key)?;
        let text = value.as_str().map(str::to_owned).or_else(|| value.as_number().map(ToString::to_string));
        text.filter(|text| !text.is_empty())
    };
    let message = text("message").or_else(|| error.as_str().map(str::to_owned));
    let message = message.or_else(|| error.get("detail").map(Value::to_string));
    let message = match (message, inner) {
        (Some(message), _) => message,
        (None, Some(error)) => error.to_string(),
        (None, None) => return None,
    };
    let code = ["code", "type", "status"].into_iter().find_map(text);
    Some(ProtocolError::Provider { code, message })
}

// ---- Which response a message is, and of which model.

/// Whether a message's response was told: the provider mostly says it with each chunk.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    told: bool,
}

impl Origin {
    /// Tells what is known, the first time that something is.
    pub(crate) fn tell(&mut self, id: &str, model: &str, out: &mut Out<'_>) {
        let known = |text: &str| Some(text).filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, model) = (known(id), known(model));
        if !self.told && (id.is_some() || model.is_some()) {
            self.told = true;
            out.push(Event::Response { id, model });
        }
    }
}

// ---- What a model is asked, before a provider's protocol writes it.

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The model's name at the provider.
    pub model: &'a str,
    /// The system instruction; empty for none.
    pub instructions: &'a str,
    /// The conversation, oldest first.
    pub history: &'a [Message],
    /// The tools.
    pub declarations: &'a Declarations,
    /// Whether to call them.
    pub tool_choice: ToolChoice,
    /// Whether the answer comes in pieces.
    pub stream: bool,
    /// The tokens that the answer may have; the protocol's own default where one has to be said.
    pub max_tokens: Option<u32>,
    /// Further settings in the provider's own words, laid over the body at its top level: what they say wins.
    pub extra: &'a Map<String, Value>,
}
