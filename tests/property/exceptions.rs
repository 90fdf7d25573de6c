//! Where the tools and the `jsonschema` crate differ on purpose, each with its reason.

use serde_json::Value;

/// Whether the tool may refuse what the schema accepts.
pub fn may_refuse(_tool: &str, _value: &Value) -> bool {
    false
}
