//! The schemas of Gemini's declarations.

use crate::providers::declared_tool::{DeclaredTool, JsonObject};
use crate::providers::schema::rules::{SchemaForm, SchemaSubset, TypeSet, is_standard_format};
use serde_json::Value;

/// The schemas of `parameters`: a typed subset of `OpenAPI`'s. `anyOf` stands alone in it ("when using `any_of`, it must be the
/// only field set"), and newer models refuse a schema without a type.
pub(crate) const SCHEMA_RULES: SchemaForm = SchemaForm::Subset(&SchemaSubset {
    keeps: &[
        "title",
        "default",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "example",
    ],
    typed: true,
    references: false,
    maps: false,
    enums: TypeSet::STRING,
    // Others are refused: "only 'enum' and 'date-time' are supported for STRING type".
    formats: |types, format| match format {
        "float" | "double" => types == TypeSet::NUMBER,
        "int32" | "int64" => types == TypeSet::INTEGER,
        "date-time" | "enum" => types == TypeSet::STRING,
        _ => false,
    },
});

/// The schemas of `parametersJsonSchema`.
pub(crate) const JSON_SCHEMA_RULES: SchemaForm = SchemaForm::Subset(&SchemaSubset {
    keeps: &["title", "format", "minimum", "maximum", "minItems", "maxItems"],
    typed: false,
    references: true,
    maps: true,
    enums: TypeSet::STRING.or(TypeSet::NUMBER),
    formats: |_, format| is_standard_format(format),
});

/// Writes a declaration, with the schema under `member`. A schema without parameters is left out, as Gemini refuses an
/// object without properties.
pub(crate) fn write_declaration(tool: &DeclaredTool<'_>, member: &str) -> String {
    let declaration = JsonObject::new().with("name", tool.name).with("description", tool.some_description());
    if has_parameters(tool.schema) { declaration.raw(member, tool.schema) } else { declaration }.finish()
}

fn has_parameters(schema: &str) -> bool {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return false };
    let has_names = schema.get("properties").and_then(Value::as_object).is_some_and(|names| !names.is_empty());
    has_names || schema.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
}
