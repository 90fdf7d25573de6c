//! Bodies of `multipart/form-data`: a part for each member, and files from base64.

use crate::document::Document;
use crate::headers::{is_json, is_text};
use crate::style::scalar;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// The depth to which the parts and the alternatives of a schema are followed.
const MAX_DEPTH: usize = 8;

/// The form of the parts of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartForm {
    /// The media type that the document states.
    pub(crate) media_type: Option<String>,
    /// True if the member is the contents of a file, which an argument has in base64.
    pub(crate) is_file: bool,
}

/// A body with its media type, which names the boundary.
#[derive(Debug)]
pub(crate) struct MultipartBody {
    pub(crate) media_type: String,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the forms of the members that the document describes.
pub(crate) fn part_forms(
    document: &Document,
    media: &Map<String, Value>,
) -> BTreeMap<String, PartForm> {
    let none = Map::new();
    let encodings = media
        .get("encoding")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let mut forms = BTreeMap::new();
    if let Some(schema) = media.get("schema") {
        add_files(document, schema, encodings, &mut forms, MAX_DEPTH);
    }
    for (name, encoding) in encodings {
        let media_type = stated_type(encoding);
        if is_media_type(media_type) {
            forms
                .entry(name.clone())
                .or_insert_with(PartForm::default)
                .media_type = Some(media_type.to_owned());
        }
    }
    forms
}

/// Returns the media type that an encoding states; empty without one.
fn stated_type(encoding: &Value) -> &str {
    let stated = encoding
        .get("contentType")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // A list names the types that a client may choose from.
    stated.split(',').next().unwrap_or_default().trim()
}

/// Adds the members of a schema that are files.
fn add_files(
    document: &Document,
    schema: &Value,
    encodings: &Map<String, Value>,
    forms: &mut BTreeMap<String, PartForm>,
    depth: usize,
) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let Ok(schema) = document.resolve(schema, "the schema of a form") else {
        return;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let stated = encodings.get(name).map(stated_type).unwrap_or_default();
        if is_file(document, property, stated, MAX_DEPTH) {
            forms.entry(name.clone()).or_default().is_file = true;
        }
    }
    for part in combined(schema) {
        add_files(document, part, encodings, forms, depth);
    }
}

/// Returns the schemas that a schema combines: its parts and its alternatives.
fn combined(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword)?.as_array())
        .flatten()
}

/// Returns true for the schema of a body that is a file.
pub(crate) fn describes_file(document: &Document, schema: &Value) -> bool {
    is_file(document, schema, "", MAX_DEPTH)
}

/// Returns true for the schema of a file, of a list of files, and of a file that may be missing. A
/// value that may be a file or a text is a text. `stated` is the media type of the part, or empty.
fn is_file(document: &Document, property: &Value, stated: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let Ok(schema) = document.resolve(property, "a member of a form") else {
        return false;
    };
    if schema
        .get("format")
        .is_some_and(|format| format == "binary")
        || is_raw(schema, stated)
    {
        return true;
    }
    let list = |keyword: &str| {
        let schemas = schema.get(keyword).and_then(Value::as_array);
        schemas.into_iter().flatten()
    };
    let is_file = |inner: &Value| is_file(document, inner, stated, depth);
    let are_files = |keyword: &str| {
        let mut alternatives = list(keyword).filter(|inner| !is_null(inner)).peekable();
        alternatives.peek().is_some() && alternatives.all(is_file)
    };
    schema.get("items").is_some_and(is_file)
        || list("allOf").any(is_file)
        || are_files("anyOf")
        || are_files("oneOf")
}

/// Returns true for the schema that only `null` has.
fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// Returns true for contents without an encoding, as version 3.1 describes them: by their media
/// type, or by the media type of the part, without any type.
fn is_raw(schema: &Map<String, Value>, stated: &str) -> bool {
    if schema.contains_key("contentEncoding") {
        return false;
    }
    match schema.get("contentMediaType").and_then(Value::as_str) {
        Some(media_type) => is_binary(media_type),
        None => is_binary(stated) && !constrains(schema),
    }
}

/// Returns true for a media type whose contents are no text.
fn is_binary(media_type: &str) -> bool {
    media_type.contains('/') && !is_json(media_type) && !is_text(media_type)
}

/// Returns true for a schema that says more of a value than what it is for.
fn constrains(schema: &Map<String, Value>) -> bool {
    const ANNOTATIONS: &[&str] = &[
        "default",
        "deprecated",
        "description",
        "example",
        "examples",
        "externalDocs",
        "nullable",
        "readOnly",
        "title",
        "writeOnly",
    ];
    schema
        .keys()
        .any(|keyword| !ANNOTATIONS.contains(&keyword.as_str()) && !keyword.starts_with("x-"))
}

/// Returns true for a media type without wildcards that a header may have.
fn is_media_type(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    text.contains('/') && !text.contains('*') && text.bytes().all(is_plain)
}

/// Writes an object as a form with a part for each member, and for each item of a list.
pub(crate) fn multipart(
    members: &Map<String, Value>,
    forms: &BTreeMap<String, PartForm>,
) -> Result<MultipartBody, String> {
    let mut parts = Vec::new();
    for (name, value) in members {
        let form = forms.get(name).cloned().unwrap_or_default();
        let problem = |problem: String| format!("`{}`: {problem}", name.escape_debug());
        let is_json = form.media_type.as_deref().is_some_and(is_json);
        match value {
            Value::Null => {}
            Value::Array(items) if !is_json => {
                for item in items.iter().filter(|item| !item.is_null()) {
                    parts.push(Part::new(name, &form, item).map_err(problem)?);
                }
            }
            value => parts.push(Part::new(name, &form, value).map_err(problem)?),
        }
    }
    let boundary = boundary(&parts);
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(format!("--{boundary}\r\n{}\r\n\r\n", part.head).as_bytes());
        bytes.extend_from_slice(&part.contents);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(MultipartBody {
        media_type: format!("multipart/form-data; boundary={boundary}"),
        bytes,
    })
}

struct Part {
    /// The headers, without the line end after the last one.
    head: String,
    contents: Vec<u8>,
}

impl Part {
    fn new(name: &str, form: &PartForm, value: &Value) -> Result<Self, String> {
        let mut head = format!(
            "Content-Disposition: form-data; name=\"{}\"",
            escape_name(name)
        );
        let is_json = form.media_type.as_deref().is_some_and(is_json);
        let (contents, media_type) = match value {
            Value::String(text) if form.is_file => {
                // Without a file name, servers take a part for a text.
                head.push_str("; filename=\"");
                head.push_str(&escape_name(name));
                head.push('"');
                let contents = STANDARD.decode(text.trim());
                let contents =
                    contents.map_err(|_| "expected the contents of a file in base64".to_owned())?;
                (contents, Some("application/octet-stream"))
            }
            _ if form.is_file => {
                return Err("expected the contents of a file as a text in base64".to_owned());
            }
            value if is_json || value.is_object() || value.is_array() => {
                (value.to_string().into_bytes(), Some("application/json"))
            }
            value => (scalar(value)?.into_bytes(), None),
        };
        if let Some(media_type) = form.media_type.as_deref().or(media_type) {
            head.push_str("\r\nContent-Type: ");
            head.push_str(media_type);
        }
        Ok(Self { head, contents })
    }
}

/// Escapes a name as browsers do, so that it ends neither its quotes nor its line.
fn escape_name(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Returns a random boundary that is in none of the parts.
fn boundary(parts: &[Part]) -> String {
    loop {
        let random = RandomState::new();
        let boundary = format!(
            "form-{:016x}{:016x}",
            random.hash_one(0),
            random.hash_one(1)
        );
        let is_in = |bytes: &[u8]| memmem::find(bytes, boundary.as_bytes()).is_some();
        if !parts
            .iter()
            .any(|part| is_in(&part.contents) || is_in(part.head.as_bytes()))
        {
            return boundary;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(members: &Value, forms: &BTreeMap<String, PartForm>) -> String {
        let body =
            multipart(members.as_object().expect("an object"), forms).expect("can be written");
        let boundary = body
            .media_type
            .rsplit('=')
            .next()
            .expect("a boundary")
            .to_owned();
        String::from_utf8(body.bytes)
            .expect("UTF-8")
            .replace(&boundary, "B")
    }

    #[test]
    fn each_member_and_each_item_is_a_part() {
        let text = written(
            &json!({"a": "x", "b": [1, null, true], "c": {"d": null}, "e": null}),
            &BTreeMap::new(),
        );
        let part = |name: &str, head: &str, value: &str| {
            format!(
                "--B\r\nContent-Disposition: form-data; name=\"{name}\"{head}\r\n\r\n{value}\r\n"
            )
        };
        let json = "\r\nContent-Type: application/json";
        let expected = [
            part("a", "", "x"),
            part("b", "", "1"),
            part("b", "", "true"),
            part("c", json, r#"{"d":null}"#),
        ];
        assert_eq!(text, expected.concat() + "--B--\r\n");
    }

    #[test]
    fn names_stay_in_their_header() {
        let text = written(&json!({"a\"\r\nX-Evil: 1": "x"}), &BTreeMap::new());
        assert!(
            text.contains("name=\"a%22%0D%0AX-Evil: 1\"\r\n\r\nx"),
            "{text}"
        );
    }

    #[test]
    fn files_are_decoded_from_base64() {
        let document = json!({
            "openapi": "3.1.0",
            "components": {"schemas": {"File": {"type": "string", "format": "binary"}}},
        });
        let document = Document::new(document).expect("a document");
        let media = json!({
            "schema": {"allOf": [{"properties": {
                "one": {"$ref": "#/components/schemas/File"},
                "many": {"type": "array", "items": {"contentMediaType": "image/png"}},
                "text": {"contentMediaType": "image/png", "contentEncoding": "base64"},
            }}]},
            "encoding": {"one": {"contentType": "image/png, image/jpeg"}, "many": {"contentType": "a/b\r\nX-Evil: 1"}},
        });
        let forms = part_forms(&document, media.as_object().expect("an object"));
        let text = written(
            &json!({"one": "aGk=", "many": ["aGk=", "aG8="], "text": "aGk="}),
            &forms,
        );
        assert!(
            text.contains(
                "name=\"one\"; filename=\"one\"\r\nContent-Type: image/png\r\n\r\nhi\r\n"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "filename=\"many\"\r\nContent-Type: application/octet-stream\r\n\r\nho\r\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("name=\"text\"\r\n\r\naGk=\r\n") && !text.contains("Evil"),
            "{text}"
        );
        let no_base64 = json!({"one": "no base64!"});
        multipart(no_base64.as_object().expect("an object"), &forms).expect_err("no base64");
    }
}
