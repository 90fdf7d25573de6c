//! The compiled form of a schema, and which schemas need one.

use crate::schema::compiled::{CompiledSchema, Formats};
use crate::schema::constraints::{ASSERTED_FORMATS, are_bounds_of_type, is_number_format};
use crate::schema::evaluation::is_valid;
use crate::schema::normalize::{PROVEN, choice_of_strings, definition_name};
use crate::schema::nullable::is_null_only;
use crate::schema::walk;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// Formats of JSON Schema that are annotations here.
const ANNOTATED_FORMATS: &[&str] = &[
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "uri",
    "uri-reference",
    "uri-template",
];

/// Returns true for a format of JSON Schema.
pub fn is_standard_format(name: &str) -> bool {
    ASSERTED_FORMATS.contains(&name) || ANNOTATED_FORMATS.contains(&name)
}

/// A schema that is compiled at its first use.
pub(crate) struct Validator {
    schema: Arc<Value>,
    /// True for a schema without parameters that refuses unknown ones nevertheless.
    closed: bool,
    /// True for the schema of a tool without parameters.
    takes_nothing: bool,
    confirms_duplicates: bool,
    formats: Formats,
    compiled: OnceLock<Result<CompiledSchema, String>>,
}

impl Validator {
    /// Enforces exactly what the schema says.
    pub(crate) fn new(schema: impl Into<Arc<Value>>) -> Self {
        Self {
            schema: schema.into(),
            closed: false,
            takes_nothing: false,
            confirms_duplicates: false,
            formats: Formats::Asserted,
            compiled: OnceLock::new(),
        }
    }

    /// Enforces the schema of a tool. One without parameters is published as `{"type":"object","properties":{}}` and
    /// refuses unknown parameters like any other, unless [`Coercions::unknown_as_absent`](crate::arguments::Coercions)
    /// removes them.
    pub(crate) fn for_tool(schema: impl Into<Arc<Value>>) -> Self {
        let schema = schema.into();
        let closed = *schema == json!({"type": "object", "properties": {}});
        Self {
            closed,
            takes_nothing: closed,
            ..Self::new(schema)
        }
    }

    /// Enforces the schema of a tool that is given at run time, which may write in several ways
    /// that it has no parameters.
    pub(crate) fn for_raw_tool(schema: impl Into<Arc<Value>>) -> Self {
        let schema = schema.into();
        let takes_nothing = schema.as_object().is_some_and(names_no_property);
        Self {
            takes_nothing,
            ..Self::for_tool(schema)
        }
    }

    /// Accepts every object, for a tool that checks its arguments itself. One that has no
    /// parameters still takes none.
    pub(crate) fn unchecked(schema: &Value) -> Self {
        let takes_nothing = schema.as_object().is_some_and(names_no_property);
        Self {
            takes_nothing,
            ..Self::new(json!({"type": "object"}))
        }
    }

    /// Sets what `format` means.
    pub(crate) fn with_formats(self, formats: Formats) -> Self {
        Self { formats, ..self }
    }

    /// Sets whether the runtime's `confirm_duplicate` is one of the properties.
    pub(crate) fn confirming_duplicates(self, confirms_duplicates: bool) -> Self {
        Self {
            confirms_duplicates,
            ..self
        }
    }

    /// Returns true if `confirm_duplicate` is for the runtime and not for the tool.
    pub(crate) fn confirms_duplicates(&self) -> bool {
        self.confirms_duplicates
    }

    /// Returns true for a tool without parameters.
    pub(crate) fn takes_nothing(&self) -> bool {
        self.takes_nothing
    }

    /// Returns the schema that is enforced.
    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns true if the value is accepted. A schema that does not compile accepts nothing.
    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.compiled()
            .is_ok_and(|compiled| is_valid(compiled, value))
    }

    /// Returns the compiled form, or the reason why the schema does not compile.
    pub(crate) fn compiled(&self) -> Result<&CompiledSchema, &str> {
        let compile = || {
            if !self.closed {
                return CompiledSchema::of_shared(&self.schema, self.formats);
            }
            let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
            CompiledSchema::of_shared(&Arc::new(closed), self.formats)
        };
        self.compiled
            .get_or_init(compile)
            .as_ref()
            .map_err(String::as_str)
    }
}

/// Returns true if a schema says of its properties that there are none. One that says nothing of
/// them, as `{"type":"object"}`, may take any.
fn names_no_property(schema: &Map<String, Value>) -> bool {
    let is_silent = |(keyword, value): (&String, &Value)| match keyword.as_str() {
        "type" => true,
        "properties" | "patternProperties" => value.as_object().is_some_and(Map::is_empty),
        "required" => value.as_array().is_some_and(Vec::is_empty),
        "additionalProperties" | "unevaluatedProperties" => *value == Value::Bool(false),
        keyword => walk::is_annotation(keyword),
    };
    let speaks = [
        "properties",
        "additionalProperties",
        "unevaluatedProperties",
    ];
    speaks.iter().any(|keyword| schema.contains_key(*keyword)) && schema.iter().all(is_silent)
}

/// Returns true if decoding into the Rust types may accept what one of their schemas refuses. Most
/// types refuse it themselves, and then decoding is all the checking that their tools need.
///
/// The schemas are those that schemars wrote. Only keywords that a type is known to enforce are
/// accepted without the validator; any other keyword needs it.
pub(crate) fn needs_validator<'a>(
    schemas: impl IntoIterator<Item = &'a Value>,
    definitions: &'a Map<String, Value>,
) -> bool {
    let mut prover = Prover {
        definitions,
        visited: HashSet::new(),
    };
    !schemas
        .into_iter()
        .all(|schema| prover.proves(schema, false))
}

/// Returns true if the type rounds numbers before their limits are checked: `f32`, and lists of it.
pub(crate) fn rounds(schema: &Value) -> bool {
    let Some(map) = schema.as_object() else {
        return false;
    };
    let mut found = map.get("format").is_some_and(|format| format == "float");
    walk::for_each_child(map, &mut |child| found |= rounds(child));
    found
}

struct Prover<'a> {
    definitions: &'a Map<String, Value>,
    /// The definitions that are proven, or whose proof is under way.
    visited: HashSet<String>,
}

impl<'a> Prover<'a> {
    /// Returns true if the type behind the schema enforces it. `named` is true at the root of a
    /// definition, where an `enum` is that of a Rust enum; elsewhere it may be an annotation on a
    /// string.
    fn proves(&mut self, schema: &'a Value, named: bool) -> bool {
        let map = match schema {
            Value::Bool(accepts) => return *accepts,
            Value::Object(map) => map,
            _ => return false,
        };
        if map.get(PROVEN).and_then(Value::as_bool) == Some(true) {
            return true;
        }
        if named && choice_of_strings(map).is_some() {
            return map
                .keys()
                .all(|keyword| keyword == "oneOf" || walk::is_annotation(keyword));
        }
        map.iter()
            .all(|(keyword, value)| self.proves_keyword(map, keyword, value, named))
    }

    fn proves_keyword(
        &mut self,
        map: &'a Map<String, Value>,
        keyword: &str,
        value: &'a Value,
        named: bool,
    ) -> bool {
        match keyword {
            "type" => is_plain_type(value),
            "properties" => value
                .as_object()
                .is_some_and(|named| named.values().all(|schema| self.proves(schema, false))),
            "additionalProperties" => *value == Value::Bool(false) || self.proves(value, false),
            "required" => true,
            "items" => self.proves(value, false),
            "prefixItems" => self.proves_tuple(map, value),
            "minItems" | "maxItems" => map.contains_key("prefixItems"),
            "$ref" => value
                .as_str()
                .is_some_and(|reference| self.proves_reference(reference)),
            "anyOf" => self.proves_option(value),
            "format" => value
                .as_str()
                .is_some_and(|format| proves_format(map, format)),
            // Checked together with the format that they belong to.
            "minimum" | "maximum" => map
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(is_number_format),
            "enum" => named && map.get("type").is_some_and(|kind| kind == "string"),
            _ => walk::is_annotation(keyword),
        }
    }

    fn proves_tuple(&mut self, map: &'a Map<String, Value>, value: &'a Value) -> bool {
        let Some(items) = value.as_array() else {
            return false;
        };
        let length = u64::try_from(items.len()).ok();
        let same = |keyword: &str| map.get(keyword).and_then(Value::as_u64) == length;
        same("minItems") && same("maxItems") && items.iter().all(|item| self.proves(item, false))
    }

    fn proves_reference(&mut self, reference: &str) -> bool {
        let Some(name) = definition_name(reference) else {
            return false;
        };
        let Some(definition) = self.definitions.get(&name) else {
            return false;
        };
        !self.visited.insert(name) || self.proves(definition, true)
    }

    /// Checks `anyOf: [T, null]`, which schemars writes for `Option<T>` of a named type.
    fn proves_option(&mut self, value: &'a Value) -> bool {
        match value.as_array().map(Vec::as_slice) {
            Some([some, none]) if is_null_only(none) => self.proves(some, false),
            _ => false,
        }
    }
}

/// Returns true for one type, or one and `null`.
fn is_plain_type(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(names) => names.len() == 2 && names.iter().any(|name| name == "null"),
        _ => false,
    }
}

fn proves_format(map: &Map<String, Value>, format: &str) -> bool {
    if is_number_format(format) {
        return are_bounds_of_type(map, format);
    }
    format != "ip" && !ASSERTED_FORMATS.contains(&format)
}
