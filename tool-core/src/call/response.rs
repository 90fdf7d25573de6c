//! The response of a call, and its JSON.

use crate::arguments::problem::Problem;
use crate::call::cut::Truncated;
use crate::call::error::ErrorBody;
use crate::call::intent::Intent;
use crate::call::meta;
use crate::call::meta::{EMPTY, FORM, RareMeta, ResponseMeta, SCHEMA_VERSION, Slim, form_of, milliseconds, word_of};
use crate::call::output::OutputKind;
use crate::json::escape::push_string;
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
    pub(crate) form: OutputKind,
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
    pub fn meta(&self) -> ResponseMeta<'_> {
        ResponseMeta { slim: &self.slim, form: self.form, data: self.body.as_deref().unwrap_or_default() }
    }

    /// How the result is meant.
    pub fn form(&self) -> OutputKind {
        self.form
    }

    /// The envelope as compact JSON.
    pub fn to_json(&self) -> String {
        if let (Ok(data), None) = (&self.body, &self.slim.rare) {
            return success(data, &self.meta());
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

impl Serialize for ResponseMeta<'_> {
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
pub(crate) struct Raw<'a>(pub(crate) &'a str);

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
    confirmation: Option<meta::Confirmation>,
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

// ---- The envelope's text where there is nothing rare to say: written member by member, without a serializer.
//
// Nearly every response is such a one, and a serializer costs more than half of what the call itself does. A test
// holds this text to the serialised one.

/// What stands around the members that differ.
const MEMBERS: usize = 192;

/// The envelope of a success without intents and without rare members of `meta`.
pub(crate) fn success(data: &str, meta: &ResponseMeta<'_>) -> String {
    let mut text = String::with_capacity(data.len() + meta.tool().len() + MEMBERS);
    text.push_str(r#"{"ok":true,"data":"#);
    text.push_str(data);
    text.push_str(r#","intents":[],"meta":{"schemaVersion":""#);
    text.push_str(SCHEMA_VERSION);
    text.push_str(r#"","tool":"#);
    push_string(&mut text, meta.tool());
    text.push_str(r#","callId":"#);
    match meta.call_id() {
        Some(id) => push_string(&mut text, id),
        None => text.push_str("null"),
    }
    text.push_str(r#","durationMs":"#);
    push_milliseconds(&mut text, meta.duration());
    let size = meta.size_chars();
    text.push_str(r#","sizeChars":"#);
    number(&mut text, size);
    text.push_str(r#","tokenEstimate":"#);
    number(&mut text, size.div_ceil(4));
    if let Some(form) = word_of(meta.form) {
        text.push_str(r#","form":""#);
        text.push_str(form);
        text.push('"');
    }
    text.push_str("}}");
    text
}

fn number(text: &mut String, value: usize) {
    if value > 9 {
        number(text, value / 10);
    }
    text.push(digit(value % 10));
}

fn digit(value: usize) -> char {
    u8::try_from(value).map_or('0', |value| char::from(b'0' + value % 10))
}

/// Whole microseconds as milliseconds, as a float of that value is written.
fn push_milliseconds(text: &mut String, duration: Duration) {
    let micros = meta::micros(duration) as usize;
    number(text, micros / 1000);
    text.push('.');
    let [tenths, hundredths, thousandths] = [micros / 100 % 10, micros / 10 % 10, micros % 10];
    text.push(digit(tenths));
    if hundredths != 0 || thousandths != 0 {
        text.push(digit(hundredths));
    }
    if thousandths != 0 {
        text.push(digit(thousandths));
    }
}

#[cfg(test)]
mod tests {
    use crate::call::meta::Slim;
    use crate::call::output::OutputKind;
    use crate::call::response::ToolResponse;
    use std::time::Duration;

    fn same(data: &str, tool: &str, call_id: Option<&str>, micros: u64) {
        let slim = Slim {
            tool: tool.into(),
            call_id: call_id.map(Into::into),
            duration: Duration::from_micros(micros),
            rare: None,
        };
        let mut response = ToolResponse { body: Ok(data.to_owned()), form: OutputKind::Data, slim };
        for form in [OutputKind::Data, OutputKind::Unit, OutputKind::Content, OutputKind::Stop] {
            response.form = form;
            assert_eq!(Some(response.to_json()), serde_json::to_string(&response).ok());
        }
    }

    // R-E1
    #[test]
    fn the_plain_envelope_is_the_serialised_one() {
        for micros in
            [0, 1, 10, 12, 100, 120, 123, 999, 1_000, 1_500, 65_001, 10_000_000, u64::from(u32::MAX), u64::MAX / 4]
        {
            same("null", "noop", None, micros);
        }
    }

    #[test]
    fn names_and_ids_are_escaped_as_a_serializer_would() {
        for text in ["", "call_1", "a\"b", "a\\b", "a\nb", "\u{0}", "\u{7f}", "caf\u{e9} \u{1F600}"] {
            same(r#"{"a":[1,2]}"#, text, Some(text), 7);
        }
    }

    #[test]
    fn sizes_count_scalars() {
        for data in ["\"\u{e9}\u{e9}\"", "\"\u{1F600}\"", "0", "\"0123456789\""] {
            same(data, "t", None, 7);
        }
    }
}

// ---- The published schema of the envelope.

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
