//! Requests of running tools to the user's model, and the model's answers.

use crate::call::ask_error::AskError;
use crate::call::content::Content;
use crate::call::host_request::HostRequest;
use crate::text::{escape_invisible, truncate};
use crate::trace::usage::TokenUsage;
use serde::{Deserialize, Serialize};

/// The bytes of an answer's parts.
const MAX_ANSWER: usize = 1 << 20;
/// The characters of a model's name and of a stop reason.
const MAX_NAME: usize = 200;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or the tool in the user's place.
    User,
    /// The model.
    Assistant,
}

/// A message of a request to the user's model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The author.
    pub role: Role,
    /// The parts.
    pub content: Vec<Content>,
}

/// A request of a running tool to the user's model, for [`RunContext::sample`](crate::RunContext::sample).
///
/// ```
/// use tool_core::call::{Role, SamplingRequest};
/// use tool_core::Content;
///
/// let request = SamplingRequest::new("Summarise the mail.")
///     .message(Role::User, [Content::text("Dear guest, ..")])
///     .system_prompt("Answer in one sentence.")
///     .max_tokens(200)
///     .model_hint("small");
/// assert_eq!(request.messages.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct SamplingRequest {
    /// The session's id; empty outside a session.
    pub session: String,
    /// The id of the call, which the model gave; empty if it has none.
    pub call_id: String,
    /// The name of the tool that asks.
    pub tool: String,
    /// The name that the tool gave the request ([`Ask::named`](super::Ask::named)).
    pub key: Option<String>,
    /// The messages, in order.
    pub messages: Vec<SamplingMessage>,
    /// The system prompt. The host may change it or leave it out.
    pub system_prompt: Option<String>,
    /// The maximum number of tokens of the answer. Defaults to 1,024.
    pub max_tokens: u32,
    /// The temperature.
    pub temperature: Option<f64>,
    /// The texts that end the answer.
    pub stop_sequences: Vec<String>,
    /// Names of models, or parts of them, the most wanted first. The host chooses the model.
    pub model_hints: Vec<String>,
    /// The importance of a low price, from 0 to 1.
    pub cost_priority: Option<f64>,
    /// The importance of a short time, from 0 to 1.
    pub speed_priority: Option<f64>,
    /// The importance of an able model, from 0 to 1.
    pub intelligence_priority: Option<f64>,
    /// The other program that asks, for example a server whose tool is called: the name that the
    /// host gave it. Its texts are not trusted. `None` if the tool itself asks.
    pub asked_by: Option<String>,
}

impl HostRequest for SamplingRequest {
    type Answer = SamplingAnswer;
}

impl SamplingRequest {
    /// Creates a request with one message of the user.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            max_tokens: 1_024,
            ..Self::default()
        }
        .message(Role::User, [Content::text(prompt)])
    }

    /// Adds a message.
    pub fn message(mut self, role: Role, content: impl IntoIterator<Item = Content>) -> Self {
        self.messages.push(SamplingMessage {
            role,
            content: content.into_iter().collect(),
        });
        self
    }

    /// Sets the system prompt.
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Sets the program that asks.
    pub fn asked_by(mut self, name: impl Into<String>) -> Self {
        self.asked_by = Some(escape_invisible(&truncate(&name.into(), MAX_NAME)));
        self
    }

    /// Sets the maximum number of tokens of the answer. The policy's
    /// [`max_sampling_tokens`](crate::Policy::max_sampling_tokens) bounds it.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Sets the temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Adds a text that ends the answer.
    pub fn stop_sequence(mut self, text: impl Into<String>) -> Self {
        self.stop_sequences.push(text.into());
        self
    }

    /// Adds the name of a model, or a part of one.
    pub fn model_hint(mut self, name: impl Into<String>) -> Self {
        self.model_hints.push(name.into());
        self
    }

    /// Sets the importance of a low price, a short time and an able model, each from 0 to 1.
    pub fn priorities(mut self, cost: f64, speed: f64, intelligence: f64) -> Self {
        let clamped = |priority: f64| {
            Some(if priority.is_nan() {
                0.0
            } else {
                priority.clamp(0.0, 1.0)
            })
        };
        self.cost_priority = clamped(cost);
        self.speed_priority = clamped(speed);
        self.intelligence_priority = clamped(intelligence);
        self
    }
}

/// The answer of the user's model. It is text from outside of the program, as the arguments of a
/// call are.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplingAnswer {
    /// The author, which is the model.
    pub role: Role,
    /// The parts, of at most 1 MiB.
    pub content: Vec<Content>,
    /// The name of the model that answered.
    pub model: String,
    /// The reason for which the model stopped, for example `endTurn`, `stopSequence` and
    /// `maxTokens`, if it is known.
    pub stop_reason: Option<String>,
    /// The tokens, where they are known. They are recorded in a span of the model, and count toward
    /// the tool.
    pub usage: Option<TokenUsage>,
}

impl SamplingAnswer {
    /// Creates an answer of the model `model`.
    pub fn new(model: impl Into<String>, content: impl IntoIterator<Item = Content>) -> Self {
        let content = content.into_iter().collect();
        Self {
            role: Role::Assistant,
            content,
            model: model.into(),
            stop_reason: None,
            usage: None,
        }
    }

    /// Returns the texts of the answer, joined.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the answer with bounded names, or refuses one that is too large.
    pub(crate) fn checked(mut self) -> Result<Self, AskError> {
        let bytes = self
            .content
            .iter()
            .map(Content::bytes)
            .fold(0_usize, usize::saturating_add);
        if bytes > MAX_ANSWER {
            return Err(AskError::too_large(MAX_ANSWER, bytes));
        }
        self.model = short(&self.model);
        self.stop_reason = self.stop_reason.as_deref().map(short);
        Ok(self)
    }
}

fn short(name: &str) -> String {
    escape_invisible(&truncate(name, MAX_NAME))
}
