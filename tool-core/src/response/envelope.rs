//! The response of a call, and its JSON.

use super::meta::{EMPTY, FORM, RareMeta, SCHEMA_VERSION, Slim, form_of, milliseconds, word_of};
use super::{ErrorBody, Form, Intent, Meta, Truncated};
use crate::arguments::Problem;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fmt;
use std::time::Duration;

/// The answer to a call: data, or an error that the model can act on. Never absent.
///
/// Its JSON is `{"ok":true,"data":..,"intents":[..],"meta":{..}}` or
/// `{"ok":false,"error":{"type","message","retryable","partialSideEffects"},"meta":{..}}`.
#[derive(Clone, Debug)]
pub struct ToolResponse {
    pub(crate) body: Result<String, Box<ErrorBody>>,
    pub(crate) form: Form,
    pub(crate) slim: Slim,
}

impl ToolResponse {
    /// Whether the tool succeeded.
    pub fn is_ok(&self) -> bool {
        self.body.is_ok()
    }

    /// The result as compact JSON; `None` for an error.
    pub fn data_json(&self) -> Option<&str> {
        self.body.as_deref().ok()
    }

    /// The result, parsed into `T`.
    pub fn data<T: for<'de> Deserialize<'de>>(&self) -> Result<T, String> {
        match &self.body {
            Ok(text) => serde_json::from_str(text).map_err(|error| format!("the data is of another shape: {error}")),
            Err(error) => Err(format!("the call failed: {}: {}", error.kind, error.message)),
        }
    }

    /// The error; `None` for a success.
    pub fn error(&self) -> Option<&ErrorBody> {
        self.body.as_ref().err().map(AsRef::as_ref)
    }

    /// What the tool asks of the runtime, in order.
    pub fn intents(&self) -> &[Intent] {
        self.slim.rare.as_ref().map_or(&[], |rare| &rare.intents)
    }

    /// What there is to say about the call.
    pub fn meta(&self) -> Meta<'_> {
        Meta { slim: &self.slim, form: self.form, data: self.body.as_deref().unwrap_or_default() }
    }

    /// How the result is meant.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The envelope as compact JSON.
    pub fn to_json(&self) -> String {
        if let (Ok(data), None) = (&self.body, &self.slim.rare) {
            return super::plain::success(data, &self.meta());
        }
        let size = self.body.as_ref().map_or(128, String::len) + 192;
        let mut text = Vec::with_capacity(size);
        match serde_json::to_writer(&mut text, self) {
            Ok(()) => String::from_utf8(text).unwrap_or_default(),
            Err(error) => json!({"ok": false, "error": {"type": "INTERNAL", "message": error.to_string()}}).to_string(),
        }
    }

    /// Takes its intents away, which were carried out for another call.
    pub(crate) fn drop_intents(&mut self) {
        if let Some(rare) = &mut self.slim.rare {
            rare.intents.clear();
        }
    }

    pub(crate) fn rare(&mut self) -> &mut RareMeta {
        self.slim.rare.get_or_insert_default()
    }
}

impl PartialEq for ToolResponse {
    /// Equal data (as text), form, error and meta.
    fn eq(&self, other: &Self) -> bool {
        self.body == other.body
            && self.form == other.form
            && self.slim.tool == other.slim.tool
            && self.slim.call_id == other.slim.call_id
            && self.slim.duration == other.slim.duration
            && self.slim.rare == other.slim.rare
    }
}

impl fmt::Display for ToolResponse {
    /// The envelope as compact JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl Serialize for ToolResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(if self.is_ok() { 4 } else { 3 }))?;
        map.serialize_entry("ok", &self.is_ok())?;
        match &self.body {
            Ok(data) => {
                map.serialize_entry("data", &Raw(data))?;
                map.serialize_entry("intents", self.intents())?;
            }
            Err(error) => map.serialize_entry("error", error)?,
        }
        map.serialize_entry("meta", &self.meta())?;
        map.end()
    }
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let size = self.size_chars();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schemaVersion", SCHEMA_VERSION)?;
        map.serialize_entry("tool", self.tool())?;
        map.serialize_entry("callId", &self.call_id())?;
        map.serialize_entry("durationMs", &Milliseconds(self.duration()))?;
        map.serialize_entry("sizeChars", &size)?;
        map.serialize_entry("tokenEstimate", &size.div_ceil(4))?;
        if let Some(form) = word_of(self.form) {
            map.serialize_entry(FORM, form)?;
        }
        if let Some(rare) = &self.slim.rare {
            rare.entries(&mut map)?;
        }
        map.end()
    }
}

impl RareMeta {
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if !self.coerced.is_empty() {
            map.serialize_entry("coerced", &self.coerced)?;
        }
        if let Some(truncated) = &self.truncated {
            map.serialize_entry("truncated", truncated)?;
        }
        if !self.warnings.is_empty() {
            map.serialize_entry("warnings", &self.warnings)?;
        }
        if let Some(confirmation) = &self.confirmation {
            map.serialize_entry("confirmation", confirmation)?;
        }
        if !self.problems.is_empty() {
            map.serialize_entry("problems", &self.problems)?;
        }
        if let Some(empty) = self.empty {
            map.serialize_entry(EMPTY, &empty)?;
        }
        // A member of the tool's own would be read back as the envelope's.
        for (key, value) in self.extra.iter().filter(|(key, _)| ![FORM, EMPTY].contains(&key.as_str())) {
            map.serialize_entry(key, value)?;
        }
        Ok(())
    }
}

/// A duration as milliseconds with three decimals.
struct Milliseconds(Duration);

impl Serialize for Milliseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(milliseconds(self.0))
    }
}

/// JSON text that is written as it stands. `RawValue` would parse it again first; this speaks `serde_json`'s own
/// protocol for raw values instead, which a test holds against `RawValue` itself.
struct Raw<'a>(&'a str);

const RAW: &str = "$serde_json::private::RawValue";

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, self.0)?;
        raw.end()
    }
}

#[derive(Deserialize)]
struct Wire {
    ok: bool,
    data: Option<Box<RawValue>>,
    #[serde(default)]
    intents: Vec<Intent>,
    error: Option<Box<ErrorBody>>,
    meta: WireMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    tool: String,
    call_id: Option<String>,
    #[serde(default)]
    duration_ms: f64,
    #[serde(default)]
    coerced: Vec<String>,
    truncated: Option<Truncated>,
    #[serde(default)]
    warnings: Vec<String>,
    confirmation: Option<super::Confirmation>,
    #[serde(default)]
    problems: Vec<Problem>,
    form: Option<String>,
    empty: Option<bool>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl<'de> Deserialize<'de> for ToolResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let wire = Wire::deserialize(deserializer)?;
        let body = match (wire.ok, wire.error) {
            // A `data` of null may reach us as an absent one.
            (true, _) => Ok(wire.data.map_or_else(|| "null".to_owned(), |raw| raw.get().to_owned())),
            (false, Some(error)) => Err(error),
            (false, None) => return Err(D::Error::missing_field("error")),
        };
        let mut extra = wire.meta.extra;
        for derived in ["schemaVersion", "sizeChars", "tokenEstimate"] {
            extra.remove(derived);
        }
        let rare = RareMeta {
            intents: wire.intents,
            coerced: wire.meta.coerced,
            truncated: wire.meta.truncated,
            warnings: wire.meta.warnings,
            confirmation: wire.meta.confirmation,
            problems: wire.meta.problems,
            extra,
            empty: wire.meta.empty,
        };
        let rare = (rare != RareMeta::default()).then(|| Box::new(rare));
        let duration = Duration::try_from_secs_f64(wire.meta.duration_ms / 1000.0).map_err(D::Error::custom)?;
        let slim = Slim { tool: wire.meta.tool.into(), call_id: wire.meta.call_id.map(Into::into), duration, rare };
        Ok(Self { body, form: wire.meta.form.as_deref().map(form_of).unwrap_or_default(), slim })
    }
}

#[cfg(test)]
mod tests;
