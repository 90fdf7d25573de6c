//! Whether a keyword's value can be that keyword's. One that cannot would have the provider refuse the whole request.

use crate::schema::{Draft, HOLDS_ONE, Types, is_schema};
use serde_json::Value;

pub(super) fn well_formed(keyword: &str, value: &Value, draft: Draft) -> bool {
    match keyword {
        "type" => Types::of_keyword(value).is_some_and(|types| types != Types::NONE),
        "minimum" | "maximum" => value.is_number(),
        "exclusiveMinimum" | "exclusiveMaximum" => value.is_number() || draft == Draft::D4 && value.is_boolean(),
        "multipleOf" => value.as_f64().is_some_and(|it| it > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => is_count(value),
        "pattern" | "format" | "title" | "description" | "contentEncoding" | "contentMediaType" | "$ref"
        | "$dynamicRef" => value.is_string(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "enum" | "examples" => value.is_array(),
        "required" => is_names(value),
        "items" => is_schema(value) || draft < Draft::D2020 && is_list(value),
        keyword if HOLDS_ONE.contains(&keyword) => is_schema(value),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => is_list(value),
        "properties" | "patternProperties" | "dependentSchemas" => is_named(value, is_schema),
        "dependentRequired" => is_named(value, is_names),
        "dependencies" => is_named(value, |it| is_schema(it) || is_names(it)),
        _ => true,
    }
}

fn is_count(value: &Value) -> bool {
    value.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0)
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_schema))
}

fn is_named(value: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|map| map.values().all(fits))
}
