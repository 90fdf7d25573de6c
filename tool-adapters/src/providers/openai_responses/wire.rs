//! What an answer and its stream events look like.

#![allow(clippy::struct_field_names)] // They are the provider's.

use crate::providers::fields::{Count, Json, Object, Text};
use crate::providers::protocol;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt;

/// A stream event, or a whole answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Sent<'a> {
    /// Of an event.
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) item_id: Text<'a>,
    pub(crate) output_index: Option<Count>,
    #[serde(borrow, default)]
    pub(crate) delta: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) call_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) arguments: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) input: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) response: Object<Response<'a>>,
}

/// A response, as far as it has come.
#[derive(Debug, Deserialize)]
pub(crate) struct Response<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) model: Text<'a>,
    #[serde(borrow, default)]
    output: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) status: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) incomplete_details: Object<Details<'a>>,
    /// What Realtime calls them.
    #[serde(borrow, default)]
    pub(crate) status_details: Object<Details<'a>>,
    #[serde(borrow, default)]
    pub(crate) error: Object<Failure<'a>>,
    #[serde(default)]
    pub(crate) usage: Object<Usage>,
}

impl<'a> Response<'a> {
    /// The items of the output; `None` where it has none.
    pub(crate) fn output(&self) -> Option<Vec<&'a RawValue>> {
        self.output.read()
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Details<'a> {
    #[serde(borrow, default)]
    pub(crate) reason: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) error: Object<Failure<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Failure<'a> {
    #[serde(borrow, default)]
    pub(crate) code: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) message: Text<'a>,
}

/// An item of the output: what is read of those that are not only handed on.
#[derive(Debug, Deserialize)]
pub(crate) struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) status: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) call_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) arguments: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) input: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) content: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) summary: Json<'a>,
}

/// A part of a message, or of what was thought.
#[derive(Debug, Deserialize)]
pub(crate) struct Part<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) refusal: Text<'a>,
    /// Of spoken parts.
    #[serde(borrow, default)]
    pub(crate) transcript: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Usage {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    /// Realtime leaves out the s.
    #[serde(default, alias = "input_token_details")]
    input_tokens_details: Object<Tokens>,
    #[serde(default, alias = "output_token_details")]
    output_tokens_details: Object<Tokens>,
}

/// Of which kinds the tokens are, in Chat Completions too.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Tokens {
    #[serde(default)]
    pub(crate) cached_tokens: Count,
    #[serde(default)]
    pub(crate) cache_write_tokens: Count,
    #[serde(default)]
    pub(crate) reasoning_tokens: Count,
}

impl Usage {
    pub(crate) fn usage(&self) -> tool_core::trace::TokenUsage {
        let of_input = |count: fn(&Tokens) -> Count| self.input_tokens_details.as_ref().map_or(0, |it| count(it).0);
        tool_core::trace::TokenUsage {
            input: self.input_tokens.0,
            cached: of_input(|details| details.cached_tokens),
            output: self.output_tokens.0,
            reasoning: self.output_tokens_details.as_ref().map_or(0, |details| details.reasoning_tokens.0),
            cache_written: of_input(|details| details.cache_write_tokens),
        }
    }
}

/// What tells the items of a message apart: their place, or where that is not said, their id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    At(u64),
    Id(String),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(at) => write!(f, "{at}"),
            Self::Id(id) => f.write_str(id),
        }
    }
}
