//! JSON objects and arrays written as text, around parts that are text already and keep their order and their digits.

use serde_json::Value;

/// An object, member by member.
pub(crate) struct JsonObject(String);

impl JsonObject {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a member whose value is JSON text.
    pub(crate) fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// Adds a member.
    pub(crate) fn with(self, name: &str, value: impl Into<Value>) -> Self {
        self.raw(name, &value.into().to_string())
    }

    /// Adds a member where there is a value.
    pub(crate) fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Writes an array of JSON texts.
pub(crate) fn json_array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}
