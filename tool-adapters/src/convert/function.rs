//! The functions that declarations hold, whatever a provider wraps around them.

use crate::Declarations;
use serde_json::{Map, Value};

/// An item of declarations.
pub(crate) enum Declared {
    Function(Function),
    /// A provider tool, as the provider has it.
    #[cfg_attr(not(feature = "genai"), expect(dead_code, reason = "rig has no form for it"))]
    Provider(Map<String, Value>),
}

/// A function tool in a provider's form.
pub(crate) struct Function {
    /// The name that the provider knows it by.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    #[cfg_attr(not(feature = "genai"), expect(dead_code, reason = "rig has no form for it"))]
    pub(crate) strict: bool,
}

/// What is declared, in order.
pub(crate) fn items(declared: &Declarations) -> Vec<Declared> {
    let items = serde_json::from_str::<Vec<Map<String, Value>>>(declared.json().get()).unwrap_or_default();
    items.into_iter().flat_map(unwrap).collect()
}

/// Gemini has many functions in one item, the others one.
fn unwrap(mut item: Map<String, Value>) -> Vec<Declared> {
    let Some(Value::Array(functions)) = item.remove("functionDeclarations") else {
        return vec![inner(item)];
    };
    let functions = functions.into_iter().filter_map(|function| match function {
        Value::Object(function) => Some(inner(function)),
        _ => None,
    });
    // Live has the provider tools beside them.
    let beside = item.into_iter().map(|one| Declared::Provider(Map::from_iter([one])));
    functions.chain(beside).collect()
}

fn inner(mut item: Map<String, Value>) -> Declared {
    for wrapper in ["function", "toolSpec"] {
        if let Some(Value::Object(function)) = item.get_mut(wrapper) {
            item = std::mem::take(function);
            break;
        }
    }
    if item.contains_key("type") && item.get("type").is_none_or(|kind| kind != "function") {
        return Declared::Provider(item);
    }
    let Some(Value::String(name)) = item.remove("name") else { return Declared::Provider(item) };
    let description = item.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    Declared::Function(Function {
        name,
        description: description.unwrap_or_default(),
        strict: item.get("strict").and_then(Value::as_bool).unwrap_or_default(),
        parameters: parameters(item),
    })
}

fn parameters(mut item: Map<String, Value>) -> Value {
    let named = ["parameters", "parametersJsonSchema", "input_schema", "inputSchema"];
    match named.into_iter().find_map(|name| item.remove(name)) {
        Some(Value::Object(mut wrapped)) => match (wrapped.len(), wrapped.remove("json")) {
            (1, Some(schema)) => schema,
            (_, Some(json)) => {
                wrapped.insert("json".to_owned(), json);
                Value::Object(wrapped)
            }
            (_, None) => Value::Object(wrapped),
        },
        // Gemini leaves out what takes nothing.
        _ => serde_json::json!({"type": "object", "properties": {}}),
    }
}
