//! What a client of a server of tools sends: JSON-RPC.

use crate::protocol::fields::{Json, Object, Text};
use serde::Deserialize;
use serde_json::Value;

/// A request, a notification or an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) id: Json<'a>,
    #[serde(borrow, default)]
    pub(super) method: Text<'a>,
    #[serde(borrow, default)]
    pub(super) params: Object<Params<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'a> {
    #[serde(borrow, default)]
    pub(super) name: Json<'a>,
    #[serde(borrow, default)]
    pub(super) arguments: Json<'a>,
    #[serde(borrow, default, rename = "_meta")]
    pub(super) meta: Json<'a>,
    /// Of `notifications/cancelled`.
    #[serde(borrow, default)]
    pub(super) request_id: Json<'a>,
}

/// An id: a text or a whole number, and nothing else.
pub(super) fn id(id: Json<'_>) -> Option<Value> {
    let id = id.read::<Value>()?;
    (id.is_string() || id.is_i64() || id.is_u64()).then_some(id)
}

/// A text, and nothing else.
pub(super) fn text(json: Json<'_>) -> Option<String> {
    json.read::<String>()
}
