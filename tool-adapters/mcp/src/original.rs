//! Answers of servers as JSON text, so that a server that passes them on says all that they say.
//!
//! The types of rmcp drop members that they do not know. The text of an answer is kept beside what
//! is read of it. It passes rmcp as the text of a result that has no type.

use indexmap::IndexSet;
use memchr::{memchr2, memchr2_iter};
use rmcp::model::{CustomResult, ServerResult};
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use tool_adapters_providers::framing::frame::{is_too_large_to_parse, nests_deeper};
use tool_core::call::{OriginalPart, SizeUnit, Truncated};

/// The member of a result's metadata that lists what was removed of the result on its way.
pub(crate) const REMOVED: &str = "tool-adapters/removed";

/// The beginning of the members of metadata that are ours. No server sets them.
const OWN: &str = "tool-adapters/";

/// Maximum number of entries of the list of what was removed.
const MAX_REMOVED: usize = 100;

/// The members of a result that hold for one connection.
pub(crate) const OF_CONNECTION: [&str; 4] = ["resultType", "nextCursor", "ttlMs", "cacheScope"];

/// The members of a result's metadata that hold for one connection: a task, a subscription, and the
/// server at its other end.
const META_OF_CONNECTION: [&str; 4] = [
    "io.modelcontextprotocol/related-task",
    "io.modelcontextprotocol/model-immediate-response",
    "io.modelcontextprotocol/subscriptionId",
    "io.modelcontextprotocol/serverInfo",
];

/// The deepest nesting of what is passed on.
const MAX_DEPTH: usize = 128;

/// Returns a result as a value that passes rmcp whole.
pub(crate) fn sealed(result: &str) -> ServerResult {
    ServerResult::CustomResult(CustomResult::new(Value::String(result.to_owned())))
}

/// Returns the text of a result. `None` if it has another form than a result that is passed on, or
/// nests deeper than 128.
pub(crate) fn text_of(result: ServerResult) -> Option<String> {
    let text = match result {
        // A server may send a text as its result, in which values were not counted.
        ServerResult::CustomResult(CustomResult(Value::String(text))) => {
            (!is_too_large_to_parse(text.as_bytes())).then_some(text)
        }
        ServerResult::InputRequiredResult(_) | ServerResult::EmptyResult(_) => None,
        other => serde_json::to_string(&other).ok(),
    };
    text.filter(|text| !nests_too_deep(text))
}

/// Returns true for JSON that nests deeper than 128, as no reader checks what is only passed on.
fn nests_too_deep(json: &str) -> bool {
    if memchr2_iter(b'[', b'{', json.as_bytes())
        .nth(MAX_DEPTH)
        .is_none()
    {
        return false;
    }
    nests_deeper(json.as_bytes(), MAX_DEPTH)
}

/// Returns a result as JSON.
pub(crate) fn value_of(result: ServerResult) -> Option<Value> {
    serde_json::from_str(&text_of(result)?).ok()
}

/// The members by which a result is known that is passed on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KnownMembers<'a> {
    #[serde(borrow)]
    result_type: Option<Cow<'a, str>>,
    tools: Option<IgnoredAny>,
    prompts: Option<IgnoredAny>,
    resources: Option<IgnoredAny>,
    resource_templates: Option<IgnoredAny>,
    content: Option<IgnoredAny>,
    structured_content: Option<IgnoredAny>,
    messages: Option<IgnoredAny>,
    contents: Option<IgnoredAny>,
    task: Option<IgnoredAny>,
    task_id: Option<IgnoredAny>,
}

impl KnownMembers<'_> {
    fn are_passed_on(&self) -> bool {
        let is_whole = self
            .result_type
            .as_deref()
            .is_none_or(|kind| kind == "complete");
        let is_task = self.task.is_some() || self.task_id.is_some();
        let is_list = [
            &self.tools,
            &self.prompts,
            &self.resources,
            &self.resource_templates,
        ]
        .iter()
        .any(|list| list.is_some());
        let has_contents = [
            &self.content,
            &self.structured_content,
            &self.messages,
            &self.contents,
        ];
        is_whole && !is_task && (is_list || has_contents.iter().any(|contents| contents.is_some()))
    }
}

/// Returns true for a result that is passed on as the server has sent it.
pub(crate) fn is_passed_on(result: &str) -> bool {
    serde_json::from_str::<KnownMembers<'_>>(result).is_ok_and(|known| known.are_passed_on())
}

/// The members of an object in their order, each with its text.
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object without duplicate members")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::<(Cow<'de, str>, Cow<'de, RawValue>)>::new();
                let mut names = HashSet::new();
                while let Some(Name(name)) = map.next_key()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom("a member occurs twice"));
                    }
                    members.push((name, Cow::Borrowed(map.next_value()?)));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A name that is borrowed unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Members<'a> {
    /// Reads an object. The last of two members of one name is the one that counts, as for other
    /// readers.
    fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json)
            .ok()
            .or_else(|| Self::last_of_each(json))
    }

    fn last_of_each(json: &str) -> Option<Self> {
        let members = serde_json::from_str::<Map<String, Value>>(json).ok()?;
        let members = members.into_iter().map(|(name, value)| {
            let value = serde_json::value::to_raw_value(&value).ok()?;
            Some((Cow::Owned(name), Cow::Owned(value)))
        });
        members.collect::<Option<_>>().map(Self)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| &**value)
    }

    fn set(&mut self, name: &'a str, value: &Value) {
        let Ok(value) = serde_json::value::to_raw_value(value) else {
            return;
        };
        let value = Cow::Owned(value);
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.into(), value)),
        }
    }

    pub(crate) fn text(&self) -> String {
        let size = self
            .0
            .iter()
            .map(|(name, value)| name.len() + value.get().len() + 4)
            .sum::<usize>();
        let mut text = String::with_capacity(size + 2);
        for (name, value) in &self.0 {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&Value::from(&**name).to_string());
            text.push(':');
            text.push_str(value.get());
        }
        if text.is_empty() {
            text.push('{');
        }
        text.push('}');
        text
    }
}

/// A part of a result that was removed or changed on its way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Removed {
    /// The JSON pointer of the part in the result that the server has sent.
    pub(crate) pointer: String,
    pub(crate) reason: Reason,
}

/// The reason why a part was removed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reason {
    /// A key of the connection was masked.
    Key,
    Limit(Truncated),
}

impl Removed {
    fn to_value(&self) -> Value {
        match &self.reason {
            Reason::Key => json!({"pointer": self.pointer, "reason": "key"}),
            Reason::Limit(Truncated { limit, unit, .. }) => {
                json!({"pointer": self.pointer, "reason": "limit", "limit": limit, "unit": unit})
            }
        }
    }
}

/// Returns what a server passes on of a result: all but what holds for the connection alone, on one
/// line. `removed` is noted in its metadata.
pub(crate) fn passed_on<'a>(result: &'a str, removed: &[Removed]) -> Cow<'a, str> {
    let result = on_one_line(result);
    let is_plain = |members: &Members<'_>| {
        removed.is_empty()
            && !members
                .0
                .iter()
                .any(|(name, _)| name == "_meta" || OF_CONNECTION.contains(&&**name))
    };
    let read = match serde_json::from_str::<Members<'_>>(&result) {
        Ok(members) if is_plain(&members) => return result,
        Ok(members) => Some(members),
        Err(_) => Members::last_of_each(&result),
    };
    // Only objects are results.
    let Some(mut members) = read else {
        return Cow::Borrowed("{}");
    };
    members
        .0
        .retain(|(name, _)| !OF_CONNECTION.contains(&&**name));
    if let Some(meta) = members
        .get("_meta")
        .and_then(|meta| serde_json::from_str::<Map<String, Value>>(meta.get()).ok())
    {
        let is_kept = |name: &String| !is_own(name) && !META_OF_CONNECTION.contains(&&**name);
        if !meta.keys().all(is_kept) {
            let kept = meta
                .into_iter()
                .filter(|(name, _)| is_kept(name))
                .collect::<Map<_, _>>();
            members.set("_meta", &kept.into());
        }
    }
    note(&mut members, removed);
    Cow::Owned(members.text())
}

/// Returns JSON without line breaks, which no string of it has.
pub(crate) fn on_one_line(json: &str) -> Cow<'_, str> {
    match memchr2(b'\n', b'\r', json.as_bytes()) {
        Some(_) => Cow::Owned(json.replace(['\n', '\r'], " ")),
        None => Cow::Borrowed(json),
    }
}

/// Returns true for a name that only we set in metadata.
fn is_own(name: &str) -> bool {
    name.get(..OWN.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OWN))
}

/// Notes in the metadata of a result what was removed of it.
fn note(members: &mut Members<'_>, removed: &[Removed]) {
    if removed.is_empty() {
        return;
    }
    let meta = members
        .get("_meta")
        .and_then(|meta| serde_json::from_str::<Map<String, Value>>(meta.get()).ok());
    let mut meta = meta.unwrap_or_default();
    let mut all = match meta.remove(REMOVED) {
        Some(Value::Array(all)) => all,
        _ => Vec::new(),
    };
    let room = MAX_REMOVED.saturating_sub(all.len());
    all.extend(removed.iter().take(room).map(Removed::to_value));
    meta.insert(REMOVED.to_owned(), all.into());
    members.set("_meta", &meta.into());
}

/// Returns the metadata of a result of which a part was cut.
pub(crate) fn removed_meta(pointer: &str, limit: &Truncated) -> Map<String, Value> {
    let removed = Removed {
        pointer: pointer.to_owned(),
        reason: Reason::Limit(limit.clone()),
    };
    Map::from_iter([(REMOVED.to_owned(), json!([removed.to_value()]))])
}

/// The size of texts in the unit of a limit.
struct Measure<'a>(&'a Truncated);

impl Measure<'_> {
    fn of(&self, text: &str) -> usize {
        match self.0.unit {
            SizeUnit::Bytes => text.len(),
            SizeUnit::Characters if text.len() <= self.0.limit => text.len(),
            SizeUnit::Characters => text.chars().count(),
        }
    }

    /// Returns the beginning of a text of a size.
    fn beginning<'a>(&self, text: &'a str, size: usize) -> &'a str {
        let end = match self.0.unit {
            SizeUnit::Bytes => (0..=size.min(text.len()))
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(0),
            SizeUnit::Characters => text
                .char_indices()
                .nth(size)
                .map_or(text.len(), |(at, _)| at),
        };
        text.get(..end).unwrap_or_default()
    }
}

/// Shortens the result of a call that is passed on. Its parts have the limit together, and so have
/// its structured content and all other members. What is left stays a result: the parts before the
/// limit, and of a text the beginning.
pub(crate) fn shorten(result: &str, limit: &Truncated) -> Option<String> {
    let measure = Measure(limit);
    let mut members = Members::read(result)?;
    let mut removed = Vec::new();
    let mut note_removed = |pointer: String| {
        removed.push(Removed {
            pointer,
            reason: Reason::Limit(limit.clone()),
        });
    };

    let mut left = limit.limit;
    let mut too_long = IndexSet::new();
    let mut content = None;
    for (name, value) in &members.0 {
        let size = measure.of(value.get());
        match &**name {
            "content" if size > limit.limit => {
                content = Some(shorten_content(value, &measure, &mut note_removed));
            }
            "structuredContent" if size > limit.limit => _ = too_long.insert(name.to_string()),
            "content" | "isError" | "structuredContent" => {}
            _ if measure.of(name) + size > left => _ = too_long.insert(name.to_string()),
            _ => left -= measure.of(name) + size,
        }
    }
    for name in &too_long {
        note_removed(format!("/{}", name.replace('~', "~0").replace('/', "~1")));
    }
    members.0.retain(|(name, _)| !too_long.contains(&**name));
    if removed.is_empty() {
        return None;
    }
    let mut content = match (content, members.get("content")) {
        (Some(content), _) => content,
        (None, Some(content)) => serde_json::from_str(content.get()).unwrap_or_default(),
        (None, None) => Vec::new(),
    };
    // A model reads the parts only.
    content.push(json!({"type": "text", "text": notice(limit)}));
    members.set("content", &content.into());
    note(&mut members, &removed);
    Some(members.text())
}

/// Returns the text that tells a model of a cut.
fn notice(limit: &Truncated) -> String {
    let unit = match limit.unit {
        SizeUnit::Bytes => "bytes",
        SizeUnit::Characters => "characters",
    };
    format!(
        "[cut at {} {unit}; ask for less or for a narrower part]",
        limit.limit
    )
}

/// Returns the parts up to a limit.
fn shorten_content(
    content: &RawValue,
    measure: &Measure<'_>,
    removed: &mut impl FnMut(String),
) -> Vec<Value> {
    let parts = serde_json::from_str::<Vec<&RawValue>>(content.get()).unwrap_or_default();
    let mut left = measure.0.limit.saturating_sub(2);
    let mut kept = Vec::new();
    let mut is_over = false;
    for (at, part) in parts.into_iter().enumerate() {
        let size = measure.of(part.get()) + 1;
        if !is_over && size <= left {
            left -= size;
            kept.extend(serde_json::from_str::<Value>(part.get()).ok());
            continue;
        }
        let cut = if is_over {
            None
        } else {
            shorten_text(part, measure, left)
        };
        is_over = true;
        match cut {
            Some(cut) => {
                kept.push(cut);
                removed(format!("/content/{at}/text"));
            }
            None => removed(format!("/content/{at}")),
        }
    }
    kept
}

/// Returns a part that is a text, whose text is cut so that the part has a size. `None` for other
/// parts, and if nothing would be left.
fn shorten_text(part: &RawValue, measure: &Measure<'_>, size: usize) -> Option<Value> {
    let mut part = serde_json::from_str::<Map<String, Value>>(part.get()).ok()?;
    let text = match part.get_mut("text") {
        Some(Value::String(text)) => std::mem::take(text),
        _ => return None,
    };
    let around = measure.of(&Value::Object(part.clone()).to_string());
    let mut room = size.checked_sub(around).filter(|room| *room > 0)?;
    // Escapes take more than the characters that they stand for.
    loop {
        let cut = measure.beginning(&text, room);
        let written = measure.of(&Value::from(cut).to_string()) - 2;
        let over = written.saturating_sub(size - around);
        if over == 0 {
            part.insert("text".to_owned(), cut.into());
            return Some(part.into());
        }
        room = room
            .checked_sub(over.div_ceil(6))
            .filter(|room| *room > 0)?;
    }
}

/// Returns a declaration as JSON: that of another server as it has sent it, but for these members
/// of our own.
pub(crate) fn declaration(
    sent: Option<&Map<String, Value>>,
    own: &impl Serialize,
    members: &[&str],
) -> String {
    let Some(sent) = sent else {
        return serde_json::to_string(own).unwrap_or_default();
    };
    let mut declared = sent.clone();
    let mut own = serde_json::to_value(own).unwrap_or_default();
    for name in members {
        if let Some(value) = own.get_mut(*name).map(Value::take) {
            declared.insert((*name).to_owned(), value);
        }
    }
    Value::Object(declared).to_string()
}

/// Returns the whole answer of another server, if these are all its parts.
pub(crate) fn whole<'a>(
    parts: impl ExactSizeIterator<Item = Option<&'a OriginalPart>>,
) -> Option<String> {
    let count = parts.len();
    let mut answer = None::<&OriginalPart>;
    for (at, part) in parts.enumerate() {
        let part = part.filter(|part| part.at == at && part.of == count)?;
        if answer.is_some_and(|first| !Arc::ptr_eq(&first.answer, &part.answer)) {
            return None;
        }
        answer = Some(part);
    }
    answer.map(|part| part.answer.to_string())
}

/// Returns the members of a declaration that the type of rmcp does not know, if there are any.
/// `typed` is what is written of that type.
pub(crate) fn unknown_members(declared: &Value, typed: &Value) -> Option<Value> {
    match (declared, typed) {
        (Value::Object(declared), Value::Object(typed)) => {
            let mut unknown = Map::new();
            for (name, value) in declared.iter().filter(|(_, value)| !value.is_null()) {
                let found = match typed.get(name) {
                    Some(typed) => unknown_members(value, typed),
                    None => Some(value.clone()),
                };
                unknown.extend(found.map(|found| (name.clone(), found)));
            }
            (!unknown.is_empty()).then_some(Value::Object(unknown))
        }
        (Value::Array(declared), Value::Array(typed)) => {
            let mut unknown = Map::new();
            for (at, (value, typed)) in declared.iter().zip(typed).enumerate() {
                unknown.extend(unknown_members(value, typed).map(|found| (at.to_string(), found)));
            }
            (!unknown.is_empty()).then_some(Value::Object(unknown))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limit(limit: usize, unit: SizeUnit) -> Truncated {
        Truncated {
            limit,
            unit,
            total: None,
        }
    }

    #[test]
    fn a_result_is_passed_on_as_it_is_spelled() {
        for result in [
            r#"{"content":[],"isError":false}"#,
            r#"{ "b" : 1.0 , "content" : [ {"type":"text","text":"\u00e9"} ], "n": 123456789012345678901234567890, "f": 0.10 }"#,
            r#"{"content":[{"type":"text","text":"a","_meta":{"tool-adapters/removed":1}}],"_meta":{"ui":{"resourceUri":"ui://a"}}}"#,
        ] {
            let passed = passed_on(result, &[]);
            let without_spaces = |text: &str| text.replace(' ', "");
            assert_eq!(without_spaces(&passed), without_spaces(result));
        }
    }

    #[test]
    fn what_holds_for_a_connection_is_not_passed_on() {
        let result = r#"{"content":[],"resultType":"complete","_meta":{"a":1,"io.modelcontextprotocol/related-task":{"taskId":"7"}},"ttlMs":5}"#;
        assert_eq!(passed_on(result, &[]), r#"{"content":[],"_meta":{"a":1}}"#);
    }

    #[test]
    fn no_server_sets_what_is_ours() {
        for name in [
            "tool-adapters/removed",
            "Tool-Adapters/removed",
            "tool-adapters/x",
            r"tool\u002dadapters/removed",
        ] {
            let result = format!(r#"{{"content":[],"_meta":{{"{name}":[],"a":1}}}}"#);
            assert_eq!(passed_on(&result, &[]), r#"{"content":[],"_meta":{"a":1}}"#);
            let twice = format!(r#"{{"_meta":{{}},"content":[],"_meta":{{"{name}":[]}}}}"#);
            assert!(
                !passed_on(&twice, &[]).to_lowercase().contains("adapters"),
                "{name}"
            );
        }
    }

    // T35
    #[test]
    fn very_many_members_are_read_in_one_pass() {
        let members = (0..100_000)
            .map(|at| format!(r#""m{at}":1"#))
            .collect::<Vec<_>>()
            .join(",");
        let result = format!(r#"{{"content":[],{members},"_meta":{{"a":1}},"ttlMs":5}}"#);
        let passed = passed_on(&result, &[]);
        assert!(passed.contains(r#""m99999":1"#) && !passed.contains("ttlMs"));
        let shorter = shorten(&result, &limit(1_000, SizeUnit::Bytes)).expect("it is too long");
        assert!(shorter.len() < 100_000, "{}", shorter.len());
    }

    #[test]
    fn what_is_no_object_is_no_result() {
        for other in ["[]", "null", "\"text\"", "{", "{\"a\":1}}"] {
            assert_eq!(passed_on(other, &[]), "{}");
        }
    }

    // T35
    #[test]
    fn a_text_as_a_result_has_the_limit_of_values() {
        let values = format!(
            r#"{{"content":[],"structuredContent":[{}0]}}"#,
            "0,".repeat(2_000_000)
        );
        assert_eq!(text_of(sealed(&values)), None);
        assert_eq!(text_of(sealed("{}")).as_deref(), Some("{}"));
    }

    // T24
    #[test]
    fn what_nests_too_deep_is_not_passed_on() {
        let nested = |depth: usize| {
            format!(
                r#"{{"later":{}"a"{}}}"#,
                "[".repeat(depth),
                "]".repeat(depth)
            )
        };
        assert!(
            !nests_too_deep(&nested(127))
                && nests_too_deep(&nested(128))
                && nests_too_deep(&nested(100_000))
        );
        assert!(!nests_too_deep(&format!(
            r#"{{"text":"\"{}"}}"#,
            "[".repeat(1_000)
        )));
        assert!(!nests_too_deep(&format!("[{}]", "{},".repeat(1_000))));
    }

    #[test]
    fn a_line_break_between_members_is_a_space() {
        assert_eq!(
            passed_on("{\n\"content\":\r\n[]}", &[]),
            "{ \"content\":  []}"
        );
    }

    #[test]
    fn a_removed_part_is_named_in_the_metadata() {
        let removed = [Removed {
            pointer: "/content/0/text".to_owned(),
            reason: Reason::Key,
        }];
        let passed = passed_on(r#"{"content":[{"type":"text","text":"[key]"}]}"#, &removed);
        let passed = serde_json::from_str::<Value>(&passed).expect("JSON");
        assert_eq!(
            passed["_meta"][REMOVED],
            json!([{"pointer": "/content/0/text", "reason": "key"}])
        );
    }

    #[test]
    fn the_parts_before_a_limit_stay() {
        let result = json!({
            "content": [{"type": "text", "text": "first"}, {"type": "text", "text": "x".repeat(200), "annotations": {"priority": 1.0}},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"}],
            "structuredContent": {"a": "y".repeat(300)}, "_meta": {"keep": true}
        });
        let shorter = shorten(&result.to_string(), &limit(150, SizeUnit::Characters))
            .expect("it is too long");
        let shorter = serde_json::from_str::<Value>(&shorter).expect("JSON");
        assert_eq!(shorter["content"][0], result["content"][0]);
        let cut = &shorter["content"][1];
        assert!(
            cut["text"]
                .as_str()
                .is_some_and(|text| text.starts_with('x') && text.len() < 150)
        );
        assert_eq!(cut["annotations"], json!({"priority": 1.0}));
        assert_eq!(
            shorter["content"][2]["text"],
            "[cut at 150 characters; ask for less or for a narrower part]"
        );
        assert_eq!(shorter["content"].as_array().map(Vec::len), Some(3));
        assert_eq!(
            (shorter.get("structuredContent"), &shorter["_meta"]["keep"]),
            (None, &json!(true))
        );
        let pointers = shorter["_meta"][REMOVED]
            .as_array()
            .expect("a list")
            .iter()
            .map(|entry| &entry["pointer"]);
        assert_eq!(
            pointers.collect::<Vec<_>>(),
            ["/content/1/text", "/content/2", "/structuredContent"]
        );
    }

    proptest! {
        #[test]
        fn a_shortened_result_is_a_result(
            texts in prop::collection::vec(".{0,80}", 0..6),
            size in 0_usize..300,
            in_bytes: bool,
        ) {
            let parts = texts.iter().map(|text| json!({"type": "text", "text": text})).collect::<Vec<_>>();
            let result = json!({"content": parts, "isError": false});
            let unit = if in_bytes { SizeUnit::Bytes } else { SizeUnit::Characters };
            let limit = limit(size, unit);
            if let Some(shorter) = shorten(&result.to_string(), &limit) {
                let mut shorter = serde_json::from_str::<Value>(&shorter).expect("JSON");
                let notice = shorter["content"].as_array_mut().and_then(Vec::pop);
                prop_assert!(notice.is_some_and(|part| part["text"].as_str().is_some_and(|text| text.starts_with("[cut at"))));
                let content = shorter["content"].to_string();
                prop_assert!(Measure(&limit).of(&content) <= size.max(2), "{content}");
                prop_assert!(shorter["content"].is_array() && shorter["_meta"][REMOVED].is_array());
            } else {
                prop_assert!(Measure(&limit).of(&result["content"].to_string()) <= size.max(2));
            }
        }
    }
}
