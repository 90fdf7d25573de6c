//! The compiled form of a schema.

use crate::schema::normalize::ASSERTED_FORMATS;
use jsonschema::{Draft, PatternOptions};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// Formats that the engine would check and that are annotations here.
const ANNOTATIONS: &[&str] = &[
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

/// A schema that is compiled when first needed.
pub(crate) struct Validator {
    schema: Arc<Value>,
    /// Whether a schema without parameters refuses unknown ones all the same.
    closed: bool,
    confirms_duplicates: bool,
    compiled: OnceLock<Result<jsonschema::Validator, String>>,
}

impl Validator {
    /// Enforces just what the schema says.
    pub(crate) fn new(schema: impl Into<Arc<Value>>) -> Self {
        Self { schema: schema.into(), closed: false, confirms_duplicates: false, compiled: OnceLock::new() }
    }

    /// Enforces the canonical schema of a tool: one without parameters is published as
    /// `{"type":"object","properties":{}}`, which says nothing of unknown ones, and refuses them like any other.
    pub(crate) fn for_tool(schema: impl Into<Arc<Value>>) -> Self {
        let schema = schema.into();
        let closed = *schema == json!({"type": "object", "properties": {}});
        Self { closed, ..Self::new(schema) }
    }

    /// The same, of a tool that has the runtime's `confirm_duplicate` beside its own parameters.
    pub(crate) fn confirming_duplicates(self, yes: bool) -> Self {
        Self { confirms_duplicates: yes, ..self }
    }

    /// Whether `confirm_duplicate` is the runtime's and not the tool's.
    pub(crate) fn confirms_duplicates(&self) -> bool {
        self.confirms_duplicates
    }

    /// The schema that is enforced.
    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether the value is accepted. A schema that does not compile accepts nothing.
    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.compiled().is_ok_and(|compiled| compiled.is_valid(value))
    }

    /// The compiled form, or why there is none.
    pub(crate) fn compiled(&self) -> Result<&jsonschema::Validator, &str> {
        let compile = || {
            if self.closed {
                compile(&json!({"type": "object", "properties": {}, "additionalProperties": false}))
            } else {
                compile(&self.schema)
            }
        };
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }
}

/// Compiles a schema whose references stay inside it: of draft 2020-12, unless it names another.
pub(crate) fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    let options = || if schema.get("$schema").is_some() { options() } else { options().with_draft(Draft::Draft202012) };
    // Patterns run in linear time where the engine for that knows all of their constructs.
    let linear = options().with_pattern_options(PatternOptions::regex()).build(schema);
    linear.or_else(|_| options().build(schema)).map_err(|error| error.to_string())
}

fn options<'a>() -> jsonschema::ValidationOptions<'a> {
    let options = jsonschema::options().should_validate_formats(true).offline();
    debug_assert!(ANNOTATIONS.iter().all(|name| !ASSERTED_FORMATS.contains(name)));
    ANNOTATIONS.iter().fold(options, |options, name| options.with_format(*name, |_: &str| true))
}
