//! The functions of declarations, without the form that a provider wraps around them.

use serde_json::{Map, Value, json};
use tool_adapters_providers::Declarations;

/// An item of declarations.
pub(crate) enum DeclaredItem {
    Function(DeclaredFunction),
    /// A provider tool in the provider's form.
    #[cfg_attr(
        not(feature = "genai"),
        expect(dead_code, reason = "rig has no form for it")
    )]
    ProviderTool(Map<String, Value>),
}

/// A function tool as a provider sees it.
pub(crate) struct DeclaredFunction {
    /// The name in the provider's form.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    #[cfg_attr(
        not(feature = "genai"),
        expect(dead_code, reason = "rig has no form for it")
    )]
    pub(crate) strict: bool,
}

/// Returns the items of declarations, in order.
pub(crate) fn declared_items(declared: &Declarations) -> Vec<DeclaredItem> {
    let items =
        serde_json::from_str::<Vec<Map<String, Value>>>(declared.json().get()).unwrap_or_default();
    items.into_iter().flat_map(unwrap_list).collect()
}

/// Splits an item with a list of functions, as Gemini has it.
fn unwrap_list(mut item: Map<String, Value>) -> Vec<DeclaredItem> {
    let Some(Value::Array(functions)) = item.remove("functionDeclarations") else {
        return vec![unwrap_item(item)];
    };
    let functions = functions.into_iter().filter_map(|function| match function {
        Value::Object(function) => Some(unwrap_item(function)),
        _ => None,
    });
    // The other members of the item are provider tools.
    let provider_tools = item
        .into_iter()
        .map(|member| DeclaredItem::ProviderTool(Map::from_iter([member])));
    functions.chain(provider_tools).collect()
}

fn unwrap_item(mut item: Map<String, Value>) -> DeclaredItem {
    for wrapper in ["function", "toolSpec"] {
        if let Some(Value::Object(function)) = item.get_mut(wrapper) {
            item = std::mem::take(function);
            break;
        }
    }
    if item.get("type").is_some_and(|kind| kind != "function") {
        return DeclaredItem::ProviderTool(item);
    }
    let Some(Value::String(name)) = item.remove("name") else {
        return DeclaredItem::ProviderTool(item);
    };
    let description = item
        .remove("description")
        .and_then(|text| text.as_str().map(str::to_owned));
    DeclaredItem::Function(DeclaredFunction {
        name,
        description: description.unwrap_or_default(),
        strict: item
            .get("strict")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        parameters: parameters(item),
    })
}

fn parameters(mut item: Map<String, Value>) -> Value {
    let names = [
        "parameters",
        "parametersJsonSchema",
        "input_schema",
        "inputSchema",
    ];
    match names.into_iter().find_map(|name| item.remove(name)) {
        // Bedrock wraps the schema in `json`.
        Some(Value::Object(mut wrapper)) if wrapper.len() == 1 && wrapper.contains_key("json") => {
            wrapper.remove("json").unwrap_or_default()
        }
        Some(Value::Object(schema)) => Value::Object(schema),
        // Gemini leaves out empty parameters.
        _ => json!({"type": "object", "properties": {}}),
    }
}
