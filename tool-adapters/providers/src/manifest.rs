//! The manifest with the declarations of each provider.

use crate::Provider;
use crate::declare::declare;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tool_core::ToolContext;
use tool_core::describe::{Manifest, ManifestErrors};

/// Builds the manifest of a context, and fills `providerSchemas` with the declarations of each
/// tool, by the provider's
/// [key](schema_key). A provider that refuses a tool has no declaration of it. The declarations do not count for the
/// manifest's version.
///
/// ```
/// use tool_adapters::providers::manifest::build;
/// use tool_core::{ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let tools = ToolContext::builder().with(add).build()?;
/// let manifest = build(&tools)?;
/// assert_eq!(manifest.tools[0].provider_schemas["openai"]["function"]["name"], "add");
/// assert!(manifest.tools[0].provider_schemas.contains_key("geminiNative"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn build(tools: &ToolContext) -> Result<Manifest, ManifestErrors> {
    let manifest = Manifest::build(tools)?;
    let mut schemas = HashMap::<String, Map<String, Value>>::new();
    for provider in Provider::ALL {
        for (tool, declaration) in declarations(provider, tools) {
            schemas
                .entry(tool)
                .or_default()
                .insert(schema_key(provider).to_owned(), declaration);
        }
    }
    Ok(manifest.with_provider_schemas(tools, |tool| {
        schemas.remove(tool.name()).unwrap_or_default()
    }))
}

/// Returns the key of a provider among `providerSchemas`.
pub const fn schema_key(provider: Provider) -> &'static str {
    provider.spec().names.manifest
}

/// Returns the declaration of each tool, by the tool's own name.
fn declarations(provider: Provider, tools: &ToolContext) -> Vec<(String, Value)> {
    let declared = declare(provider, tools);
    let items = serde_json::from_str::<Vec<Value>>(declared.json().get()).unwrap_or_default();
    let items = items.into_iter().flat_map(|mut item| {
        match item.get_mut("functionDeclarations").map(Value::take) {
            Some(Value::Array(functions)) => functions,
            _ => vec![item],
        }
    });
    let named = |item: Value| {
        let inner = ["function", "toolSpec"]
            .into_iter()
            .find_map(|kind| item.get(kind))
            .unwrap_or(&item);
        let name = declared.tool_name(inner.get("name")?.as_str()?)?.to_owned();
        Some((name, item))
    };
    items.filter_map(named).collect()
}
