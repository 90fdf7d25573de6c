//! The published schema of the envelope.

use super::{SCHEMA_VERSION, ToolResponse};
use serde_json::{Value, json};

impl ToolResponse {
    /// The JSON Schema of the envelope, draft 2020-12.
    pub fn json_schema() -> Value {
        let meta = json!({
            "type": "object",
            "properties": {
                "schemaVersion": {"const": SCHEMA_VERSION},
                "tool": {"type": "string"},
                "callId": {"type": ["string", "null"]},
                "durationMs": {"type": "number", "minimum": 0},
                "sizeChars": {"type": "integer", "minimum": 0},
                "tokenEstimate": {"type": "integer", "minimum": 0},
                "coerced": {"type": "array", "items": {"type": "string"}},
                "warnings": {"type": "array", "items": {"type": "string"}},
                "truncated": {"type": "object"},
                "confirmation": {"type": "object", "required": ["token", "summary", "expiresAt"]},
                "problems": {"type": "array", "items": {"type": "object", "required": ["pointer", "expected", "got"]}},
                "form": {"enum": ["unit", "content", "stop"]},
                "empty": {"type": "boolean"}
            },
            "required": ["schemaVersion", "tool", "callId", "durationMs", "sizeChars", "tokenEstimate"]
        });
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"meta": meta},
            "oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "ok": {"const": true},
                        "data": true,
                        "intents": {"type": "array", "items": {"type": "object", "required": ["type"]}},
                        "meta": {"$ref": "#/$defs/meta"}
                    },
                    "required": ["ok", "data", "intents", "meta"],
                    "additionalProperties": false
                },
                {
                    "type": "object",
                    "properties": {
                        "ok": {"const": false},
                        "error": {
                            "type": "object",
                            "properties": {
                                "type": {"type": "string"},
                                "message": {"type": "string"},
                                "retryable": {"type": "boolean"},
                                "partialSideEffects": {"type": "boolean"}
                            },
                            "required": ["type", "message", "retryable", "partialSideEffects"],
                            "additionalProperties": false
                        },
                        "meta": {"$ref": "#/$defs/meta"}
                    },
                    "required": ["ok", "error", "meta"],
                    "additionalProperties": false
                }
            ]
        })
    }
}
