//! The guest's texts, and the model's answers to them.

use serde_json::json;
use tool_core::ToolCall;
use tool_core::testing::ScriptedModel;

pub(crate) const WRITES_FIRST: [&str; 2] = [
    "I am Ann, room 12. When does the pool open?",
    "Please call me.",
];

pub(crate) const WRITES_LAST: &str = "Was my taxi ordered?";

/// Returns the model of the texts before the call.
pub(crate) fn before() -> ScriptedModel {
    let hours = ToolCall::new("t-1", "opening_hours", json!({"place": "pool"}));
    let call_back = ToolCall::new("t-2", "call_back", json!({}));
    ScriptedModel::new()
        .calls([hours])
        .says("The pool opens at seven, Ann.")
        .calls([call_back])
        .says("Your telephone is about to ring.")
}

/// Returns the model of the texts after the call.
pub(crate) fn after() -> ScriptedModel {
    ScriptedModel::new().says("Yes, Ann, the taxi to the station has been ordered.")
}
