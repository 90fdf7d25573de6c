//! How each provider writes one tool.

use crate::providers::mcp::output_schema;
use crate::providers::provider::Provider;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tool_core::{Category, ToolDefinition};

/// What is written of a tool.
pub(crate) struct Item<'a> {
    pub(crate) definition: &'a ToolDefinition,
    /// The name that the provider knows it by.
    pub(crate) name: &'a str,
    /// The projected schema.
    pub(crate) schema: &'a RawValue,
    pub(crate) strict: bool,
}

/// The shape of `OpenAI` and its relatives, with a `type` where it is flat.
#[derive(Serialize)]
struct Function<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
struct Nested<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Anthropic<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Gemini<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bedrock<'a> {
    tool_spec: ToolSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolSpec<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: InputSchema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
struct InputSchema<'a> {
    json: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Mcp<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    annotations: Value,
}

impl<'a> Item<'a> {
    /// The tool as the provider takes it.
    pub(crate) fn write(&self, provider: Provider) -> serde_json::Result<String> {
        match provider {
            Provider::OpenAiChat => serde_json::to_string(&self.nested(self.strict.then_some(true))),
            Provider::Mistral | Provider::Cohere | Provider::Ollama => serde_json::to_string(&self.nested(None)),
            // Where nothing is said, Responses is strict.
            Provider::OpenAiResponses => serde_json::to_string(&self.function(Some("function"), Some(self.strict))),
            Provider::OpenAiRealtime => serde_json::to_string(&self.function(Some("function"), None)),
            Provider::Anthropic => serde_json::to_string(&self.anthropic()),
            Provider::Gemini | Provider::GeminiLive | Provider::GeminiJsonSchema => {
                serde_json::to_string(&self.gemini(provider == Provider::GeminiJsonSchema))
            }
            Provider::Bedrock => serde_json::to_string(&self.bedrock()),
            Provider::Mcp => serde_json::to_string(&self.mcp()),
        }
    }

    fn nested(&self, strict: Option<bool>) -> Nested<'a> {
        Nested { kind: "function", function: self.function(None, strict) }
    }

    fn function(&self, kind: Option<&'static str>, strict: Option<bool>) -> Function<'a> {
        Function { kind, name: self.name, description: self.description(), parameters: self.schema, strict }
    }

    fn anthropic(&self) -> Anthropic<'a> {
        Anthropic {
            name: self.name,
            description: self.description(),
            input_schema: self.schema,
            strict: self.strict.then_some(true),
        }
    }

    /// Gemini refuses an object without properties, so no parameters are left out.
    fn gemini(&self, json_schema: bool) -> Gemini<'a> {
        let schema = has_parameters(self.schema).then_some(self.schema);
        let (parameters, parameters_json_schema) = if json_schema { (None, schema) } else { (schema, None) };
        Gemini { name: self.name, description: self.some_description(), parameters, parameters_json_schema }
    }

    fn bedrock(&self) -> Bedrock<'a> {
        let tool_spec = ToolSpec {
            name: self.name,
            description: self.some_description(),
            input_schema: InputSchema { json: self.schema },
            strict: self.strict.then_some(true),
        };
        Bedrock { tool_spec }
    }

    fn mcp(&self) -> Mcp<'a> {
        Mcp {
            name: self.name,
            title: self.definition.title(),
            description: self.description(),
            input_schema: self.schema,
            output_schema: self.definition.output().map(output_schema::declared),
            annotations: annotations(self.definition),
        }
    }

    fn description(&self) -> Option<&'a str> {
        Some(self.definition.description()).filter(|text| !text.trim().is_empty())
    }

    /// For those who want a description: the title or the name where there is none.
    fn some_description(&self) -> &'a str {
        let title = self.definition.title().filter(|text| !text.trim().is_empty());
        self.description().or(title).unwrap_or(self.definition.name())
    }
}

/// Whether a projected schema names a parameter.
fn has_parameters(schema: &RawValue) -> bool {
    let Ok(schema) = serde_json::from_str::<Value>(schema.get()) else { return false };
    let named = schema.get("properties").and_then(Value::as_object).is_some_and(|named| !named.is_empty());
    named || schema.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
}

/// What the tool says of itself to a person who is asked to allow it. A flag that is not set is not a promise: nothing
/// is written, and the client assumes what the protocol does, the worst.
fn annotations(tool: &ToolDefinition) -> Value {
    let (flags, reads) = (tool.flags(), tool.category() == Category::Retrieval);
    let mut annotations = Map::from_iter([("readOnlyHint".to_owned(), reads.into())]);
    let said = [
        // What only reads destroys nothing: the hint has no meaning there.
        ("destructiveHint", flags.destructive && !reads),
        ("idempotentHint", flags.idempotent),
        ("openWorldHint", flags.open_world),
    ];
    annotations.extend(said.into_iter().filter(|(_, yes)| *yes).map(|(hint, yes)| (hint.to_owned(), yes.into())));
    if let Some(title) = tool.title() {
        annotations.insert("title".to_owned(), title.into());
    }
    annotations.into()
}
