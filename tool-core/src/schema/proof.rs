//! Which assertions of a schema the Rust type behind it upholds by itself.
//!
//! Decoding into the type is all the checking that most tools need. This finds the others, on the schema as schemars
//! wrote it, by a list of what is known to be upheld: whatever is not on the list needs the validator.

use crate::schema::normalize::{ASSERTED_FORMATS, PROVEN, definition_name};
use crate::schema::{enums, nullable, numbers, walk};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Whether decoding alone may accept what one of the schemas refuses.
pub(crate) fn needs_validator<'a>(
    schemas: impl IntoIterator<Item = &'a Value>,
    definitions: &'a Map<String, Value>,
) -> bool {
    let mut prover = Prover { definitions, seen: HashSet::new() };
    !schemas.into_iter().all(|schema| prover.proves(schema, false))
}

/// Whether the type rounds numbers before its limits see them: `f32`, and lists of it.
pub(crate) fn rounds(schema: &Value) -> bool {
    let Some(map) = schema.as_object() else { return false };
    let mut found = map.get("format").is_some_and(|format| format == "float");
    walk::for_each_child(map, &mut |child| found |= rounds(child));
    found
}

struct Prover<'a> {
    definitions: &'a Map<String, Value>,
    /// Definitions that are proven, or being looked at further up.
    seen: HashSet<String>,
}

impl<'a> Prover<'a> {
    /// `named` is true at the root of a definition, where an `enum` is that of a Rust enum and not one that someone
    /// wrote beside a text.
    fn proves(&mut self, schema: &'a Value, named: bool) -> bool {
        let map = match schema {
            Value::Bool(accepts) => return *accepts,
            Value::Object(map) => map,
            _ => return false,
        };
        if map.get(PROVEN).and_then(Value::as_bool) == Some(true) {
            return true;
        }
        if named && enums::is_choice_of_texts(map) {
            return map.keys().all(|keyword| keyword == "oneOf" || walk::is_annotation(keyword));
        }
        map.iter().all(|(keyword, value)| self.proves_keyword(map, keyword, value, named))
    }

    fn proves_keyword(&mut self, map: &'a Map<String, Value>, keyword: &str, value: &'a Value, named: bool) -> bool {
        match keyword {
            "type" => is_plain_type(value),
            "properties" => {
                value.as_object().is_some_and(|named| named.values().all(|schema| self.proves(schema, false)))
            }
            "additionalProperties" => *value == Value::Bool(false) || self.proves(value, false),
            "required" => true,
            "items" => self.proves(value, false),
            "prefixItems" => self.proves_tuple(map, value),
            "minItems" | "maxItems" => map.contains_key("prefixItems"),
            "$ref" => value.as_str().is_some_and(|reference| self.proves_reference(reference)),
            "anyOf" => self.proves_option(value),
            "format" => value.as_str().is_some_and(|format| proves_format(map, format)),
            // Judged together with the format that they belong to.
            "minimum" | "maximum" => map.get("format").and_then(Value::as_str).is_some_and(is_number_format),
            "enum" => named && map.get("type").is_some_and(|kind| kind == "string"),
            _ => walk::is_annotation(keyword),
        }
    }

    fn proves_tuple(&mut self, map: &'a Map<String, Value>, value: &'a Value) -> bool {
        let Some(items) = value.as_array() else { return false };
        let length = u64::try_from(items.len()).ok();
        let same = |keyword: &str| map.get(keyword).and_then(Value::as_u64) == length;
        same("minItems") && same("maxItems") && items.iter().all(|item| self.proves(item, false))
    }

    fn proves_reference(&mut self, reference: &str) -> bool {
        let Some(name) = definition_name(reference) else { return false };
        let Some(definition) = self.definitions.get(&name) else { return false };
        !self.seen.insert(name) || self.proves(definition, true)
    }

    /// `anyOf: [T, null]` is how schemars writes `Option<T>` of a named type.
    fn proves_option(&mut self, value: &'a Value) -> bool {
        match value.as_array().map(Vec::as_slice) {
            Some([some, none]) if nullable::is_null_only(none) => self.proves(some, false),
            _ => false,
        }
    }
}

/// One type, or one and `null`.
fn is_plain_type(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(names) => names.len() == 2 && names.iter().any(|name| name == "null"),
        _ => false,
    }
}

fn proves_format(map: &Map<String, Value>, format: &str) -> bool {
    if is_number_format(format) {
        return numbers::bounds_are_the_types_own(map, format);
    }
    format != "ip" && !ASSERTED_FORMATS.contains(&format)
}

fn is_number_format(format: &str) -> bool {
    numbers::width(format).is_some()
}
