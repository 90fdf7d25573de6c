//! The JSON form of a response: the envelope `{"ok", "data" | "error", "intents", "meta"}` and its
//! published schema.

use crate::call::content::Content;
use crate::call::error::ErrorBody;
use crate::call::intent::Intent;
use crate::call::meta::{BaseMeta, OptionalMeta, OutputKind, ResponseMeta, SCHEMA_VERSION};
use crate::call::original::Original;
use crate::call::response::ToolResponse;
use crate::json::raw::RawJson;
use crate::json::string::push_string;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The capacity reserved for the members around the data.
const MEMBERS: usize = 192;

impl ToolResponse {
    /// Returns the envelope as compact JSON.
    pub fn to_json(&self) -> String {
        if let (Ok(data), None) = (&self.result, &self.meta.optional) {
            return plain_success(data, &self.meta());
        }
        let size = self.result.as_ref().map_or(128, |data| data.len()) + MEMBERS;
        let mut text = Vec::with_capacity(size);
        match serde_json::to_writer(&mut text, self) {
            Ok(()) => String::from_utf8(text).unwrap_or_default(),
            Err(error) => {
                json!({"ok": false, "error": {"type": "INTERNAL", "message": error.to_string()}})
                    .to_string()
            }
        }
    }

    /// Returns the envelope with a member `content` if the model reads parts in place of the data,
    /// and a member `original` if another server has sent the result, so that a response that is
    /// read back has them.
    pub(crate) fn to_stored_json(&self) -> String {
        let text = self.to_json();
        let Some(optional) = &self.meta.optional else {
            return text;
        };
        let parts = Some(&optional.content).filter(|parts| !parts.is_empty());
        let parts = parts.and_then(|parts| serde_json::to_string(parts).ok());
        let original = optional
            .original
            .as_ref()
            .map(|original| original.text().to_owned());
        let mut stored = text;
        for (name, value) in [("content", parts), ("original", original)] {
            if let (Some(value), true) = (value, stored.ends_with('}')) {
                stored.pop();
                stored.push_str(",\"");
                stored.push_str(name);
                stored.push_str("\":");
                stored.push_str(&value);
                stored.push('}');
            }
        }
        stored
    }

    /// Returns the JSON Schema of the envelope, draft 2020-12.
    pub fn json_schema() -> Value {
        // A test checks responses against it, so it parses.
        serde_json::from_str(include_str!("envelope.schema.json")).unwrap_or_default()
    }
}

impl fmt::Display for ToolResponse {
    /// Writes the envelope as compact JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl Serialize for ToolResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(if self.is_ok() { 4 } else { 3 }))?;
        map.serialize_entry("ok", &self.is_ok())?;
        match &self.result {
            Ok(data) => {
                map.serialize_entry("data", &RawJson(data))?;
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
        let meta = MetaJson {
            schema_version: SCHEMA_VERSION.into(),
            tool: self.tool().into(),
            call_id: self.call_id().map(Cow::Borrowed),
            duration_ms: milliseconds(self.duration()),
            size_chars: size,
            token_estimate: size.div_ceil(4),
            form: form_of(self.kind).map(Cow::Borrowed),
            optional: self
                .meta
                .optional
                .as_deref()
                .map(Cow::Borrowed)
                .unwrap_or_default(),
        };
        meta.serialize(serializer)
    }
}

/// The envelope as it is read back.
#[derive(Deserialize)]
struct EnvelopeJson {
    ok: bool,
    data: Option<Box<RawValue>>,
    #[serde(default)]
    intents: Vec<Intent>,
    error: Option<Box<ErrorBody>>,
    meta: MetaJson<'static>,
    /// In stored envelopes only.
    #[serde(default)]
    content: Vec<Content>,
    #[serde(default)]
    original: Option<Box<RawValue>>,
}

/// The `meta` of the envelope.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetaJson<'a> {
    #[serde(default)]
    schema_version: Cow<'a, str>,
    tool: Cow<'a, str>,
    call_id: Option<Cow<'a, str>>,
    #[serde(default)]
    duration_ms: f64,
    #[serde(default)]
    size_chars: usize,
    #[serde(default)]
    token_estimate: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<Cow<'a, str>>,
    #[serde(flatten)]
    optional: Cow<'a, OptionalMeta>,
}

impl<'de> Deserialize<'de> for ToolResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let EnvelopeJson {
            ok,
            data,
            intents,
            error,
            meta,
            content,
            original,
        } = EnvelopeJson::deserialize(deserializer)?;
        let result = match (ok, error) {
            // Some decoders report a `data` of null as absent.
            (true, _) => Ok(data.map_or(Cow::Borrowed("null"), |raw| {
                Cow::Owned(String::from(Box::<str>::from(raw)))
            })),
            (false, Some(error)) => Err(error),
            (false, None) => return Err(D::Error::missing_field("error")),
        };
        let original = original.map(|original| Original::stored(original.get()));
        let optional = OptionalMeta {
            intents,
            content,
            original,
            ..meta.optional.into_owned()
        };
        let optional = (optional != OptionalMeta::default()).then(|| Box::new(optional));
        let duration =
            Duration::try_from_secs_f64(meta.duration_ms / 1000.0).map_err(D::Error::custom)?;
        let kind = meta.form.as_deref().map(kind_of).unwrap_or_default();
        let call_id = meta.call_id.as_deref().map(Into::into);
        let meta = BaseMeta {
            tool: meta.tool.into_owned().into(),
            call_id,
            duration,
            optional,
        };
        Ok(Self { result, kind, meta })
    }
}

/// Returns the word for a kind of result; `None` for plain data, which nearly every result is.
fn form_of(kind: OutputKind) -> Option<&'static str> {
    match kind {
        OutputKind::Data => None,
        OutputKind::Unit => Some("unit"),
        OutputKind::Content => Some("content"),
        OutputKind::Stop => Some("stop"),
    }
}

/// Returns the kind for a word. Words of later versions are read as plain data.
fn kind_of(form: &str) -> OutputKind {
    let kinds = [OutputKind::Unit, OutputKind::Content, OutputKind::Stop];
    kinds
        .into_iter()
        .find(|kind| form_of(*kind) == Some(form))
        .unwrap_or_default()
}

fn whole_micros(duration: Duration) -> u32 {
    let micros = duration
        .as_secs()
        .saturating_mul(1_000_000)
        .saturating_add(duration.subsec_micros().into());
    u32::try_from(micros).unwrap_or(u32::MAX)
}

/// Converts to milliseconds with three decimals.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    f64::from(whole_micros(duration)) / 1000.0
}

/// Writes the envelope of a success without optional metadata.
///
/// Nearly every response is of this kind, and a serializer would cost more than half of the call
/// itself. A test compares the text with that of the serializer.
fn plain_success(data: &str, meta: &ResponseMeta<'_>) -> String {
    let mut text = String::with_capacity(data.len() + meta.tool().len() + MEMBERS);
    text.push_str(r#"{"ok":true,"data":"#);
    text.push_str(data);
    text.push_str(r#","intents":[],"meta":{"schemaVersion":"1.0.0","tool":"#);
    push_string(&mut text, meta.tool());
    if let Some(id) = meta.call_id() {
        text.push_str(r#","callId":"#);
        push_string(&mut text, id);
        text.push_str(r#","durationMs":"#);
    } else {
        text.push_str(r#","callId":null,"durationMs":"#);
    }
    push_milliseconds(&mut text, meta.duration());
    let size = meta.size_chars();
    text.push_str(r#","sizeChars":"#);
    push_number(&mut text, size);
    text.push_str(r#","tokenEstimate":"#);
    push_number(&mut text, size.div_ceil(4));
    text.push_str(match meta.kind {
        OutputKind::Data => "}}",
        OutputKind::Unit => r#","form":"unit"}}"#,
        OutputKind::Content => r#","form":"content"}}"#,
        OutputKind::Stop => r#","form":"stop"}}"#,
    });
    text
}

/// Writes whole microseconds as milliseconds, in the digits in which `serde_json` writes that
/// `f64`.
fn push_milliseconds(text: &mut String, duration: Duration) {
    let micros = whole_micros(duration);
    let whole = micros / 1000;
    let fraction = micros % 1000;
    push_number(text, whole as usize);
    text.push('.');
    push_digit(text, fraction / 100);
    if !fraction.is_multiple_of(100) {
        push_digit(text, fraction / 10 % 10);
        if !fraction.is_multiple_of(10) {
            push_digit(text, fraction % 10);
        }
    }
}

#[inline]
fn push_number(text: &mut String, number: usize) {
    match u32::try_from(number) {
        Ok(digit @ 0..10) => push_digit(text, digit),
        _ => text.push_str(itoa::Buffer::new().format(number)),
    }
}

#[inline]
fn push_digit(text: &mut String, digit: u32) {
    text.push(char::from_digit(digit, 10).unwrap_or('0'));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::error::ErrorKind;
    use crate::call::truncation::{SizeUnit, Truncated};

    fn success(data: &str) -> ToolResponse {
        let meta = BaseMeta {
            tool: "t".into(),
            call_id: Some("c".into()),
            duration: Duration::from_micros(1234),
            optional: None,
        };
        ToolResponse {
            result: Ok(data.to_owned().into()),
            kind: OutputKind::Data,
            meta,
        }
    }

    fn failure() -> ToolResponse {
        let error = ErrorBody {
            kind: ErrorKind::RateLimit,
            message: "wait".into(),
            retryable: true,
            partial_side_effects: false,
        };
        ToolResponse {
            result: Err(Box::new(error)),
            ..success("")
        }
    }

    fn of_kind(kind: OutputKind, empty: Option<bool>) -> ToolResponse {
        let mut response = ToolResponse {
            kind,
            ..success("[]")
        };
        if empty.is_some() {
            response.optional_meta().empty = empty;
        }
        response
    }

    #[test]
    fn a_stored_response_keeps_what_another_server_has_sent() {
        let mut response = success(r#"[{"type":"text","text":"a"}]"#);
        response.kind = OutputKind::Content;
        let sent = r#"{"content":[{"type":"text","text":"a","later":1.0}],"n":123456789012345678901234567890}"#;
        response.optional_meta().original = Some(Original::stored(sent));
        response.optional_meta().content = vec![Content::text("b")];
        let read =
            serde_json::from_str::<ToolResponse>(&response.to_stored_json()).expect("an envelope");
        assert_eq!((read.original(), &read), (Some(sent), &response));
        assert!(
            !response.to_json().contains("later"),
            "a model does not read it twice"
        );
    }

    #[test]
    fn a_success_serialises_to_ok_data_intents_and_meta() {
        let text = success(r#"{"größe":"é"}"#).to_json();
        assert_eq!(
            text,
            r#"{"ok":true,"data":{"größe":"é"},"intents":[],"meta":{"schemaVersion":"1.0.0","tool":"t","callId":"c","durationMs":1.234,"sizeChars":13,"tokenEstimate":4}}"#
        );
    }

    #[test]
    fn a_failure_serialises_to_ok_error_and_meta() {
        let value = serde_json::to_value(failure()).expect("serialises");
        assert_eq!(
            value["error"],
            json!({"type": "RATE_LIMIT", "message": "wait", "retryable": true, "partialSideEffects": false})
        );
        assert_eq!(value["ok"], json!(false));
        assert!(value.get("data").is_none() && value.get("intents").is_none());
    }

    #[test]
    fn raw_json_is_written_as_serde_json_writes_a_raw_value() {
        let raw = RawValue::from_string(r#"{"a":[1,2.50]}"#.to_owned()).expect("json");
        assert_eq!(
            serde_json::to_string(&RawJson(raw.get())).expect("serialises"),
            serde_json::to_string(&raw).expect("serialises")
        );
        assert_eq!(
            serde_json::to_value(RawJson(raw.get())).expect("serialises"),
            serde_json::to_value(&raw).expect("serialises")
        );
    }

    #[test]
    fn a_response_survives_its_own_json() {
        let mut full = success("[1,2]");
        let meta = full.optional_meta();
        meta.intents = vec![
            Intent::SetPendingMessage("hi".into()),
            Intent::SuppressAudio,
        ];
        meta.coerced = vec!["/a: text to integer".into()].into();
        meta.warnings = vec!["slow".into()];
        meta.extra.insert("source".into(), json!("cache"));
        meta.truncated = Some(Truncated {
            limit: 10,
            unit: SizeUnit::Characters,
            total: Some(20),
        });
        for response in [success("null"), success("{}"), failure(), full] {
            let back: ToolResponse = serde_json::from_str(&response.to_json()).expect("parses");
            assert_eq!(back, response);
        }
    }

    // A response that another process resumes still wants no reply, and still counts as empty.
    #[test]
    fn the_kind_of_a_result_survives_its_json() {
        for kind in [
            OutputKind::Data,
            OutputKind::Unit,
            OutputKind::Content,
            OutputKind::Stop,
        ] {
            for empty in [None, Some(true), Some(false)] {
                let response = of_kind(kind, empty);
                let back: ToolResponse = serde_json::from_str(&response.to_json()).expect("parses");
                let read = back
                    .meta
                    .optional
                    .as_ref()
                    .and_then(|optional| optional.empty);
                assert_eq!((back.kind(), read), (kind, empty));
                assert_eq!(back, response);
            }
        }
        assert_ne!(
            of_kind(OutputKind::Stop, None),
            of_kind(OutputKind::Data, None)
        );
    }

    #[test]
    fn a_form_of_a_later_version_reads_as_data() {
        let text = of_kind(OutputKind::Stop, None)
            .to_json()
            .replace("stop", "hologram");
        assert_eq!(
            serde_json::from_str::<ToolResponse>(&text)
                .expect("parses")
                .kind(),
            OutputKind::Data
        );
    }

    #[test]
    fn a_tool_cannot_pass_its_result_off_as_a_stop() {
        let mut response = success("1");
        response
            .optional_meta()
            .extra
            .insert("form".into(), json!("stop"));
        response
            .optional_meta()
            .extra
            .insert("empty".into(), json!("not even a boolean"));
        let back: ToolResponse = serde_json::from_str(&response.to_json()).expect("parses");
        assert_eq!(
            (back.kind(), back.meta().extra("form")),
            (OutputKind::Data, None)
        );
    }

    #[test]
    fn every_kind_of_response_satisfies_the_published_schema() {
        let validator = jsonschema::validator_for(&ToolResponse::json_schema()).expect("a schema");
        let kinds = [
            of_kind(OutputKind::Unit, None),
            of_kind(OutputKind::Content, None),
            of_kind(OutputKind::Stop, Some(true)),
        ];
        for response in [success("{}"), failure()].into_iter().chain(kinds) {
            let value = serde_json::to_value(response).expect("serialises");
            assert!(validator.is_valid(&value), "{value}");
        }
    }

    fn assert_plain_text_is_serialised(data: &str, tool: &str, call_id: Option<&str>, micros: u64) {
        let meta = BaseMeta {
            tool: tool.into(),
            call_id: call_id.map(Into::into),
            duration: Duration::from_micros(micros),
            optional: None,
        };
        let mut response = ToolResponse {
            result: Ok(data.to_owned().into()),
            kind: OutputKind::Data,
            meta,
        };
        for kind in [
            OutputKind::Data,
            OutputKind::Unit,
            OutputKind::Content,
            OutputKind::Stop,
        ] {
            response.kind = kind;
            assert_eq!(
                Some(response.to_json()),
                serde_json::to_string(&response).ok()
            );
        }
    }

    #[test]
    fn the_plain_envelope_is_the_serialised_one() {
        for micros in [
            0,
            1,
            10,
            12,
            100,
            120,
            123,
            999,
            1_000,
            1_500,
            65_001,
            10_000_000,
            u64::from(u32::MAX),
            u64::MAX / 4,
        ] {
            assert_plain_text_is_serialised("null", "noop", None, micros);
        }
    }

    #[test]
    fn names_and_ids_are_escaped_as_a_serializer_would() {
        for text in [
            "",
            "call_1",
            "a\"b",
            "a\\b",
            "a\nb",
            "\u{0}",
            "\u{7f}",
            "caf\u{e9} \u{1F600}",
        ] {
            assert_plain_text_is_serialised(r#"{"a":[1,2]}"#, text, Some(text), 7);
        }
    }

    #[test]
    fn sizes_count_scalars() {
        for data in ["\"\u{e9}\u{e9}\"", "\"\u{1F600}\"", "0", "\"0123456789\""] {
            assert_plain_text_is_serialised(data, "t", None, 7);
        }
    }
}
