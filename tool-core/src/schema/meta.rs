//! The form of a schema: each keyword has a value of the kind that its draft allows.

use crate::json::number::exact;
use crate::json::pointer::Path;
use crate::schema::drafts::Draft;
use crate::text;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The maximum number of problems that are reported for one schema.
const MAX_PROBLEMS: usize = 20;

/// Returns the problems of a schema by the meta-schema of the draft that it names, each with its
/// JSON pointer.
pub(crate) fn problems(schema: &Value) -> Vec<String> {
    problems_in(Draft::of(schema), schema)
}

/// Returns the problems of a schema by the meta-schema of draft 2020-12.
pub(crate) fn problems_in_2020_12(schema: &Value) -> Vec<String> {
    problems_in(Draft::Draft202012, schema)
}

fn problems_in(draft: Draft, schema: &Value) -> Vec<String> {
    let mut check = Check {
        draft,
        problems: Vec::new(),
        found: 0,
    };
    check.schema(schema, &Path::ROOT);
    let more = check.found.saturating_sub(MAX_PROBLEMS);
    if more > 0 {
        check.problems.push(format!("{more} more"));
    }
    check.problems
}

/// The kind of value that a keyword has.
#[derive(Clone, Copy)]
enum KeywordValue {
    Any,
    Schema,
    Schemas,
    /// One schema or a list of them.
    SchemaOrSchemas,
    SchemasByName,
    /// Schemas or lists of names, by name.
    Dependencies,
    NamesByName,
    Names,
    Types,
    List,
    Text,
    Identifier,
    Anchor,
    Boolean,
    Number,
    Positive,
    Count,
}

fn form(draft: Draft, keyword: &str) -> KeywordValue {
    if draft < introducing(keyword) {
        return KeywordValue::Any;
    }
    match keyword {
        "additionalItems" if draft < Draft::Draft202012 => KeywordValue::Schema,
        "items" if draft < Draft::Draft202012 => KeywordValue::SchemaOrSchemas,
        "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "additionalProperties"
        | "contentSchema"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "items" => KeywordValue::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordValue::Schemas,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            KeywordValue::SchemasByName
        }
        "dependencies" => KeywordValue::Dependencies,
        "dependentRequired" => KeywordValue::NamesByName,
        "required" => KeywordValue::Names,
        "type" => KeywordValue::Types,
        "enum" | "examples" => KeywordValue::List,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => KeywordValue::Count,
        "exclusiveMinimum" | "exclusiveMaximum" if draft == Draft::Draft4 => KeywordValue::Boolean,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => KeywordValue::Number,
        "multipleOf" => KeywordValue::Positive,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => KeywordValue::Boolean,
        "$id" if draft >= Draft::Draft201909 => KeywordValue::Identifier,
        "$anchor" | "$dynamicAnchor" => KeywordValue::Anchor,
        "title" | "description" | "format" | "pattern" | "$comment" | "$ref" | "$dynamicRef"
        | "$schema" | "$id" | "contentEncoding" | "contentMediaType" => KeywordValue::Text,
        _ => KeywordValue::Any,
    }
}

/// Returns the draft that introduced a keyword.
fn introducing(keyword: &str) -> Draft {
    match keyword {
        "examples" => Draft::Draft6,
        "readOnly" | "writeOnly" | "$comment" | "contentEncoding" | "contentMediaType" => {
            Draft::Draft7
        }
        "$defs" | "deprecated" | "contentSchema" => Draft::Draft201909,
        assertion => Draft::introducing(assertion),
    }
}

struct Check {
    draft: Draft,
    problems: Vec<String>,
    found: usize,
}

impl Check {
    fn schema(&mut self, schema: &Value, path: &Path<'_>) {
        match schema {
            Value::Object(map) => {
                let draft = self.draft;
                self.each(map, path, |check, name, value, path| {
                    check.keyword(form(draft, name), value, path);
                });
            }
            Value::Bool(_) => {}
            other => self.expected("a schema, which is an object or a boolean", other, path),
        }
    }

    fn keyword(&mut self, form: KeywordValue, value: &Value, path: &Path<'_>) {
        let expected = match (form, value) {
            (KeywordValue::Any, _) => None,
            (KeywordValue::Schemas | KeywordValue::SchemaOrSchemas, Value::Array(list)) => {
                return self.schemas(list, path);
            }
            (KeywordValue::Schema | KeywordValue::SchemaOrSchemas, value) => {
                return self.schema(value, path);
            }
            (KeywordValue::SchemasByName, Value::Object(all)) => {
                return self.each(all, path, |check, _, value, path| check.schema(value, path));
            }
            (KeywordValue::NamesByName, Value::Object(all)) => {
                return self.each(all, path, |check, _, value, path| check.names(value, path));
            }
            (KeywordValue::Dependencies, Value::Object(all)) => {
                return self.each(all, path, |check, _, value, path| match value {
                    Value::Array(_) => check.names(value, path),
                    value => check.schema(value, path),
                });
            }
            (KeywordValue::Names, value) => return self.names(value, path),
            (KeywordValue::Types, value) => return self.types(value, path),
            (KeywordValue::Schemas, _) => Some("a list of schemas"),
            (
                KeywordValue::SchemasByName
                | KeywordValue::Dependencies
                | KeywordValue::NamesByName,
                _,
            ) => Some("an object"),
            (KeywordValue::List, value) => (!value.is_array()).then_some("a list"),
            (KeywordValue::Text, value) => (!value.is_string()).then_some("a string"),
            (KeywordValue::Boolean, value) => (!value.is_boolean()).then_some("a boolean"),
            (KeywordValue::Number, value) => (!value.is_number()).then_some("a number"),
            (KeywordValue::Positive, value) => {
                (!value.as_f64().is_some_and(|number| number > 0.0)).then_some("a number above 0")
            }
            (KeywordValue::Count, value) => {
                let count = value.as_number().and_then(exact);
                count
                    .is_none_or(|count| count < 0)
                    .then_some("a whole number of at least 0")
            }
            (KeywordValue::Identifier, value) => {
                let is_sound = |id: &str| !id.strip_suffix('#').unwrap_or(id).contains('#');
                (!value.as_str().is_some_and(is_sound))
                    .then_some("an identifier without a fragment")
            }
            (KeywordValue::Anchor, value) => (!value.as_str().is_some_and(is_anchor))
                .then_some("a letter or `_`, then letters, digits, `-`, `.` and `_`"),
        };
        if let Some(expected) = expected {
            self.expected(expected, value, path);
        }
    }

    fn each(
        &mut self,
        all: &Map<String, Value>,
        path: &Path<'_>,
        mut visit: impl FnMut(&mut Self, &str, &Value, &Path<'_>),
    ) {
        for (name, value) in all {
            visit(self, name, value, &path.key(name));
        }
    }

    fn schemas(&mut self, list: &[Value], path: &Path<'_>) {
        if list.is_empty() {
            self.expected("at least one schema", &Value::Array(Vec::new()), path);
        }
        for (at, schema) in list.iter().enumerate() {
            self.schema(schema, &path.index(at));
        }
    }

    fn names(&mut self, value: &Value, path: &Path<'_>) {
        let Some(names) = value.as_array() else {
            return self.expected("a list of names", value, path);
        };
        let mut known = HashSet::new();
        for (at, name) in names.iter().enumerate() {
            match name.as_str() {
                Some(text) if known.insert(text) => {}
                Some(_) => self.expected("each name once", name, &path.index(at)),
                None => self.expected("a name", name, &path.index(at)),
            }
        }
    }

    fn types(&mut self, value: &Value, path: &Path<'_>) {
        const TYPES: &[&str] = &[
            "array", "boolean", "integer", "null", "number", "object", "string",
        ];
        const EXPECTED: &str = "one of array, boolean, integer, null, number, object and string";
        let Some(names) = value.as_array() else {
            if !value.as_str().is_some_and(|name| TYPES.contains(&name)) {
                self.expected(EXPECTED, value, path);
            }
            return;
        };
        if names.is_empty() {
            self.expected("at least one type", value, path);
        }
        let mut known = HashSet::new();
        for (at, name) in names.iter().enumerate() {
            match name.as_str().filter(|name| TYPES.contains(name)) {
                Some(text) if known.insert(text) => {}
                Some(_) => self.expected("each type once", name, &path.index(at)),
                None => self.expected(EXPECTED, name, &path.index(at)),
            }
        }
    }

    fn expected(&mut self, expected: &str, got: &Value, path: &Path<'_>) {
        self.found += 1;
        if self.found > MAX_PROBLEMS {
            return;
        }
        let pointer = path.pointer();
        let place = if pointer.is_empty() {
            "the schema".to_owned()
        } else {
            format!("`{pointer}`")
        };
        let got = text::truncate(&got.to_string(), 60);
        self.problems
            .push(format!("{place}: expected {expected}, got {got}"));
    }
}

fn is_anchor(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}
