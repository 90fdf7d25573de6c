//! The schemas that a provider accepts, as data that the projection reads.

use crate::providers::schema::types::TypeSet;
use serde_json::Value;
use tool_core::schema::{SCHEMA_KEYWORDS, is_schema};

/// The schemas that one provider accepts.
#[derive(Clone, Copy)]
pub(crate) struct SchemaRules {
    pub(crate) form: SchemaForm,
    /// The accepted names of properties; `None` for any.
    pub(crate) property_names: Option<PropertyNames>,
}

impl SchemaRules {
    /// Nearly all schemas, as most providers accept.
    pub(crate) const WHOLE: Self = Self { form: SchemaForm::Whole, property_names: None };
}

/// The names of properties that a provider accepts.
#[derive(Clone, Copy)]
pub(crate) struct PropertyNames {
    pub(crate) accepts: fn(&str) -> bool,
    /// The pattern of the names, for messages.
    pub(crate) pattern: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) enum SchemaForm {
    /// Any schema of an object.
    AsIs,
    /// Nearly any schema, with a restricted root.
    Whole,
    /// Schemas of a few keywords.
    Subset(&'static SchemaSubset),
}

/// A form with a few keywords besides `type`, `description`, `enum`, `items`, `anyOf`, `properties` and `required`.
pub(crate) struct SchemaSubset {
    /// The further keywords.
    pub(crate) keeps: &'static [&'static str],
    /// True for one type a schema in upper case, `nullable`, `propertyOrdering`, and `items` in every array.
    pub(crate) typed: bool,
    /// True for references to `$defs`. Without them the target replaces the reference.
    pub(crate) references: bool,
    /// True for `additionalProperties`.
    pub(crate) maps: bool,
    /// The types of values that `enum` accepts.
    pub(crate) enums: TypeSet,
    /// Returns true for a `format` that the types of a schema may have.
    pub(crate) formats: fn(TypeSet, &str) -> bool,
}

impl SchemaSubset {
    /// Returns true if the root may not be an object without properties.
    pub(crate) fn refuses_empty_root(&self) -> bool {
        self.typed || self.maps
    }
}

/// Returns true for a format of JSON Schema. Others, such as `uint64`, fail where schemas are compiled to grammars.
pub(crate) fn is_standard_format(format: &str) -> bool {
    matches!(
        format,
        "date-time"
            | "date"
            | "time"
            | "duration"
            | "email"
            | "idn-email"
            | "hostname"
            | "idn-hostname"
            | "ipv4"
            | "ipv6"
            | "uri"
            | "uri-reference"
            | "iri"
            | "iri-reference"
            | "uuid"
            | "uri-template"
            | "json-pointer"
            | "relative-json-pointer"
            | "regex"
    )
}

/// Returns true if the keyword may have the value. A provider would refuse the whole request for another value.
pub(crate) fn is_well_formed(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => TypeSet::of_keyword(value).is_some_and(|types| types != TypeSet::NONE),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|it| it > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => is_count(value),
        "pattern" | "format" | "title" | "description" | "contentEncoding" | "contentMediaType" | "$ref"
        | "$dynamicRef" => value.is_string(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "enum" | "examples" => value.is_array(),
        "required" => is_name_list(value),
        keyword if SCHEMA_KEYWORDS.contains(&keyword) => is_schema(value),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => is_schema_list(value),
        "properties" | "patternProperties" | "dependentSchemas" => is_map_of(value, is_schema),
        "dependentRequired" => is_map_of(value, is_name_list),
        _ => true,
    }
}

fn is_count(value: &Value) -> bool {
    value.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0)
}

fn is_name_list(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_schema_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_schema))
}

fn is_map_of(value: &Value, accepts: impl Fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|map| map.values().all(accepts))
}
