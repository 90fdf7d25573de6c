//! The members of an answer and its stream events that are read.

#![allow(clippy::struct_field_names)] // The names are the provider's.

use crate::providers::event::ProtocolError;
use crate::providers::lenient::{LenientCount, LenientObject, LenientText, RawJson};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt;
use tool_core::trace::TokenUsage;

/// A stream event. Realtime's are read with it too.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ResponseEvent<'a> {
    /// Absent in a whole answer.
    #[serde(rename = "type")]
    pub(crate) kind: LenientText<'a>,
    pub(crate) item: Option<&'a RawValue>,
    pub(crate) item_id: LenientText<'a>,
    pub(crate) output_index: Option<LenientCount>,
    pub(crate) delta: LenientText<'a>,
    pub(crate) call_id: LenientText<'a>,
    pub(crate) name: LenientText<'a>,
    pub(crate) arguments: RawJson<'a>,
    pub(crate) input: RawJson<'a>,
    pub(crate) response: LenientObject<ResponseObject<'a>>,
}

/// A response, as far as it has arrived.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ResponseObject<'a> {
    pub(crate) id: LenientText<'a>,
    pub(crate) model: LenientText<'a>,
    output: RawJson<'a>,
    pub(crate) status: LenientText<'a>,
    pub(crate) incomplete_details: LenientObject<StatusDetails<'a>>,
    /// Realtime's name for the details.
    pub(crate) status_details: LenientObject<StatusDetails<'a>>,
    pub(crate) error: LenientObject<ResponseError<'a>>,
    pub(crate) usage: LenientObject<ResponseUsage>,
}

impl<'a> ResponseObject<'a> {
    /// Returns the items of the output; `None` without an output.
    pub(crate) fn output(&self) -> Option<Vec<&'a RawValue>> {
        self.output.parse()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct StatusDetails<'a> {
    pub(crate) reason: LenientText<'a>,
    pub(crate) error: LenientObject<ResponseError<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ResponseError<'a> {
    pub(crate) code: LenientText<'a>,
    pub(crate) message: LenientText<'a>,
}

impl ResponseError<'_> {
    pub(crate) fn to_protocol_error(&self) -> ProtocolError {
        let code = self.code.0.as_deref().map(str::to_owned);
        ProtocolError::Provider { code, message: self.message.as_str().to_owned() }
    }
}

/// An item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct OutputItem<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: LenientText<'a>,
    pub(crate) id: LenientText<'a>,
    pub(crate) status: LenientText<'a>,
    pub(crate) call_id: LenientText<'a>,
    pub(crate) name: LenientText<'a>,
    pub(crate) arguments: RawJson<'a>,
    pub(crate) input: RawJson<'a>,
    pub(crate) content: RawJson<'a>,
    pub(crate) summary: RawJson<'a>,
}

/// A part of a message or of its reasoning.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct OutputPart<'a> {
    pub(crate) text: LenientText<'a>,
    pub(crate) refusal: LenientText<'a>,
    /// The text of a spoken part.
    pub(crate) transcript: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResponseUsage {
    input_tokens: LenientCount,
    output_tokens: LenientCount,
    /// Realtime has the name without the s.
    #[serde(alias = "input_token_details")]
    input_tokens_details: LenientObject<TokenDetails>,
    #[serde(alias = "output_token_details")]
    output_tokens_details: LenientObject<TokenDetails>,
}

/// The kinds of tokens, in Chat Completions too.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TokenDetails {
    pub(crate) cached_tokens: LenientCount,
    pub(crate) cache_write_tokens: LenientCount,
    pub(crate) reasoning_tokens: LenientCount,
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
        }
    }
}

/// The key of an item in a message: its index, or its id where no index is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ItemKey {
    Index(u64),
    Id(String),
}

impl ItemKey {
    fn of_first_id(ids: [&LenientText<'_>; 2]) -> Self {
        let id = ids.map(LenientText::as_str).into_iter().find(|id| !id.is_empty());
        Self::Id(id.unwrap_or_default().to_owned())
    }
}

impl ResponseEvent<'_> {
    /// Returns the key of the item that the event is about, by the item's id.
    pub(crate) fn id_key(&self) -> ItemKey {
        ItemKey::of_first_id([&self.item_id, &self.call_id])
    }
}

impl OutputItem<'_> {
    /// Returns the key of the item by its id.
    pub(crate) fn id_key(&self) -> ItemKey {
        ItemKey::of_first_id([&self.id, &self.call_id])
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Id(id) => f.write_str(id),
        }
    }
}
