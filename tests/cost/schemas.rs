//! Schemas in the forms of providers, and arguments on their way back.

use crate::Shape;
use crate::texts::repeat;
use serde_json::{Value, json};
use std::hint::black_box;
use tool_adapters::{DeclareOptions, Provider, declare_with};
use tool_core::tool::{FunctionTool, RawTool};
use tool_core::{RunContext, ToolCall, ToolContext, ToolError};

#[allow(clippy::unused_async)] // The signature of a raw handler.
async fn handle(_arguments: Value, _ctx: &RunContext) -> Result<Value, ToolError> {
    Ok(Value::Null)
}

pub(crate) fn raw(schema: &str) -> FunctionTool {
    let parameters =
        serde_json::from_str(schema).unwrap_or_else(|error| panic!("{error}: {schema}"));
    FunctionTool::raw(
        RawTool {
            name: "raw".into(),
            description: "A raw tool".into(),
            parameters,
        },
        handle,
    )
}

fn context(schema: &str) -> ToolContext {
    ToolContext::builder()
        .with(raw(schema))
        .build()
        .expect("sound tools")
}

/// Schemas with `@` for the many parts, each with its part.
const SCHEMAS: [(&str, &str, &str); 20] = [
    (
        "branches of the root",
        r#"{"type":"object","anyOf":[@]}"#,
        r#"{"properties":{"p~":{"type":"string"}},"required":["p~"]}"#,
    ),
    (
        "closed branches of the root",
        r#"{"type":"object","anyOf":[@]}"#,
        r#"{"type":"object","properties":{"p~":{"type":"string"},"k":{"const":"~"}},"required":["k"],"additionalProperties":{"const":~}}"#,
    ),
    (
        "branches",
        r#"{"type":"object","properties":{"a":{"oneOf":[@]}}}"#,
        r#"{"type":"object","properties":{"k":{"const":"~"}},"required":["k"],"additionalProperties":false}"#,
    ),
    (
        "alike branches",
        r#"{"type":"object","properties":{"a":{"anyOf":[@]}}}"#,
        r#"{"type":"object","properties":{"k":{"type":"string"}}}"#,
    ),
    (
        "constants",
        r#"{"type":"object","properties":{"a":{"anyOf":[@]}}}"#,
        r#"{"const":~}"#,
    ),
    (
        "described branches",
        r#"{"type":"object","properties":{"a":{"description":"A long description of the many branches","anyOf":[@]}}}"#,
        r#"{"type":"integer","minimum":~}"#,
    ),
    (
        "branches beside many keywords",
        r#"{"type":"object","properties":{"a":{"type":"object","properties":{"q":{},"r":{}},"minProperties":1,"anyOf":[@]}}}"#,
        r#"{"required":["p~"]}"#,
    ),
    (
        "values",
        r#"{"type":"object","properties":{"a":{"allOf":[{"enum":[@]},{"enum":[@]}]}}}"#,
        "~",
    ),
    (
        "properties",
        r#"{"type":"object","properties":{@},"additionalProperties":false}"#,
        r#""p~":{"type":"string"}"#,
    ),
    (
        "parts",
        r#"{"type":"object","allOf":[@]}"#,
        r#"{"properties":{"p~":{"type":"string"}},"required":["p~"]}"#,
    ),
    (
        "empty parts",
        r#"{"type":"object","properties":{"a":{"type":"string","allOf":[@]}}}"#,
        "{}",
    ),
    (
        "patterns",
        r#"{"type":"object","properties":{"a":{"type":"string","allOf":[@]}}}"#,
        r#"{"pattern":"^a~","minLength":~}"#,
    ),
    (
        "unions",
        r#"{"type":"object","allOf":[@]}"#,
        r#"{"anyOf":[{"required":["p~"]},{"required":["q~"]}]}"#,
    ),
    (
        "items",
        r#"{"type":"object","properties":{"a":{"type":"array","prefixItems":[@],"items":false}}}"#,
        r#"{"const":~}"#,
    ),
    (
        "items twice",
        r#"{"type":"object","properties":{"a":{"type":"array","allOf":[{"prefixItems":[@],"items":false},{"prefixItems":[@],"items":false}]}}}"#,
        r#"{"const":~}"#,
    ),
    (
        "definitions",
        r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"null"}]}},"$defs":{@},"allOf":[{"properties":{"b":{"$ref":"%/$defs/d 0"}}}]}"#,
        r#""d ~":{"type":"object","properties":{"n":{"$ref":"%/$defs/d ~"}},"required":["n"]}"#,
    ),
    (
        "objects",
        r#"{"type":"object","properties":{@},"$defs":{"d":{"type":"string","pattern":"^x"}}}"#,
        r#""p~":{"type":"object","properties":{"x":{"type":"integer","minimum":~},"y":{"$ref":"%/$defs/d"},"z":{"anyOf":[{"type":"string"},{"type":"null"}]}}}"#,
    ),
    (
        "references",
        r#"{"type":"object","properties":{@},"$defs":{"x":{"type":"object","properties":{"n":{"type":"string"}},"additionalProperties":false}}}"#,
        r#""p~":{"$ref":"%/$defs/x","description":"The ~"}"#,
    ),
    (
        "anchors",
        r#"{"type":"object","properties":{@}}"#,
        r#""p~":{"$anchor":"a~","type":"object","properties":{"n":{"$ref":"%a~"}}}"#,
    ),
    (
        "resources",
        r#"{"type":"object","properties":{@}}"#,
        r#""p~":{"$id":"urn:r~","type":"object","properties":{"n":{"$ref":"urn:r~"}}}"#,
    ),
];

/// Replaces `@` by many parts. `%` is `#` in the schema.
fn schema(template: &str, part: &str, parts: usize) -> String {
    template
        .replace('@', &repeat(parts, part, ","))
        .replace('%', "#")
}

pub(crate) fn shapes() -> Vec<Shape> {
    let forms = [
        (Provider::Gemini, false),
        (Provider::OpenAiChat, false),
        (Provider::OpenAiChat, true),
    ];
    let mut shapes = Vec::new();
    for (what, template, part) in SCHEMAS {
        for (provider, strict) in forms {
            let how = if strict { ", strict" } else { "" };
            shapes.push(Shape::new(
                format!("schemas: {provider}{how}, {what}"),
                move |parts| {
                    let tools = context(&schema(template, part, parts));
                    let options = DeclareOptions {
                        strict,
                        ..DeclareOptions::default()
                    };
                    Box::new(move || drop(black_box(declare_with(provider, &tools, options))))
                },
            ));
        }
    }
    for (what, branches, values) in [
        ("branches", true, false),
        ("values", false, true),
        ("branches and values", true, true),
    ] {
        shapes.push(Shape::new(format!("arguments: strict nulls, {what}"), move |parts| {
            // Both grow together: a value for each branch would be quadratic, so the product grows with the parts.
            let (most, items) = match (branches, values) {
                (true, true) => (20, parts / 4),
                (true, false) => (parts, 1),
                _ => (2, parts),
            };
            let branch = r#"{"type":"object","properties":{"k":{"const":"k~"},"n":{"type":"string"}},"required":["k"],"additionalProperties":false}"#;
            let items_schema = format!(r#"{{"anyOf":[{}]}}"#, repeat(most, branch, ","));
            let text = format!(
                r#"{{"type":"object","properties":{{"a":{{"type":"array","items":{items_schema}}}}},"required":["a"],"additionalProperties":false}}"#
            );
            let tools = context(&text);
            let options = DeclareOptions { strict: true, ..DeclareOptions::default() };
            let declared = declare_with(Provider::OpenAiChat, &tools, options);
            let item = json!({"k": format!("k{}", most - 1), "n": null}).to_string();
            let arguments = format!(r#"{{"a":[{}]}}"#, repeat(items, &item, ","));
            Box::new(move || drop(black_box(declared.restore(ToolCall::new("c", "raw", arguments)))))
        }));
    }
    shapes
}
