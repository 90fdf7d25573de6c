//! What the conversions to other crates' types share: the functions of declarations, and what can be wrong with them.

use crate::providers::declare::Declarations;
use crate::providers::provider::Provider;
use serde_json::{Map, Value};
use std::fmt;

// ---- What can be wrong with declarations for another crate's types.

/// Why declarations have no form in another crate's types.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConvertError {
    /// They are declared to a provider whose form those types do not hold.
    Provider {
        /// The provider that they are declared to.
        declared: Provider,
        /// The providers to declare them to instead.
        wanted: &'static [Provider],
    },
    /// The crate has no type for a provider tool.
    ProviderTool {
        /// What the provider calls it.
        tool: String,
    },
    /// The crate's types do not take a declaration.
    Form(serde_json::Error),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider { declared, wanted } => {
                let wanted = wanted.iter().map(|provider| provider.name()).collect::<Vec<_>>().join(" or ");
                write!(f, "the tools are declared to {declared}; declare them to {wanted}")
            }
            Self::ProviderTool { tool } => {
                write!(f, "there is no type for the provider tool `{}`; declare without it", tool.escape_debug())
            }
            Self::Form(error) => write!(f, "a declaration does not fit the type: {error}"),
        }
    }
}

impl std::error::Error for ConvertError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Form(error) => Some(error),
            Self::Provider { .. } | Self::ProviderTool { .. } => None,
        }
    }
}

/// Whether they are declared to one of `wanted`.
pub(crate) fn declared_to(declared: &Declarations, wanted: &'static [Provider]) -> Result<(), ConvertError> {
    let provider = declared.provider();
    let fits = wanted.contains(&provider);
    if fits { Ok(()) } else { Err(ConvertError::Provider { declared: provider, wanted }) }
}

// ---- The functions that declarations hold, whatever a provider wraps around them.

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
