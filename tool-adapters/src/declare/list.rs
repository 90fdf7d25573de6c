//! The value of a request's `tools`, of the texts of its tools.

use super::mixing::ProviderTools;
use crate::Provider;
use serde_json::Value;
use serde_json::value::RawValue;

/// Joins what has been written of the function tools with the provider tools.
pub(super) fn write(
    provider: Provider,
    functions: &[String],
    provider_tools: &ProviderTools,
) -> serde_json::Result<Box<RawValue>> {
    let configs = provider_tools.configs().map(Value::to_string);
    let gemini = || (!functions.is_empty()).then(|| format!(r#"{{"functionDeclarations":{}}}"#, list(functions)));
    let text = match provider {
        Provider::Gemini | Provider::GeminiJsonSchema => list(&gemini().into_iter().chain(configs).collect::<Vec<_>>()),
        Provider::GeminiLive => list(&live(gemini(), provider_tools).into_iter().collect::<Vec<_>>()),
        _ if provider_tools.is_empty() => list(functions),
        _ => list(&functions.iter().cloned().chain(configs).collect::<Vec<_>>()),
    };
    RawValue::from_string(text)
}

/// One object for all. L32
fn live(functions: Option<String>, provider_tools: &ProviderTools) -> Option<String> {
    if provider_tools.is_empty() {
        return functions;
    }
    let others = Value::from(provider_tools.merged()).to_string();
    Some(match (functions, others.strip_prefix('{')) {
        (Some(functions), Some(members)) => format!("{},{members}", functions.strip_suffix('}').unwrap_or(&functions)),
        _ => others,
    })
}

fn list(items: &[String]) -> String {
    let mut text = String::with_capacity(items.iter().map(|item| item.len() + 1).sum::<usize>() + 2);
    text.push('[');
    for item in items {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(item);
    }
    text.push(']');
    text
}
