//! Tools to declare.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions};
use crate::declare::declare_tools;
use serde_json::{Value, json};
use std::sync::Arc;
use tool_core::tool::ProviderId;
use tool_core::{FunctionTool, ProviderTool, RawTool, RunContext, ToolDefinition, ToolError};

async fn nothing(_: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(Value::Null)
}

pub(crate) fn raw(name: &str, description: &str, parameters: Value) -> FunctionTool {
    FunctionTool::raw(
        RawTool {
            name: name.into(),
            description: description.into(),
            parameters,
        },
        nothing,
    )
}

/// A tool with one parameter, `text`.
pub(crate) fn echo(name: &str) -> FunctionTool {
    let parameters =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    raw(name, "Say it again.", parameters)
}

pub(crate) fn definitions(tools: &[FunctionTool]) -> Vec<ToolDefinition> {
    tools.iter().map(|tool| tool.definition().clone()).collect()
}

pub(crate) fn declared(
    provider: Provider,
    tools: &[FunctionTool],
    provider_tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> Declarations {
    declare_tools(provider, &definitions(tools), provider_tools, options)
}

pub(crate) fn json_of(declared: &Declarations) -> Value {
    serde_json::from_str(declared.json().get()).expect("JSON")
}

/// A provider tool of every provider whose name begins so.
struct Hosted(&'static str, &'static str, Value);

impl ProviderTool for Hosted {
    fn id(&self) -> &str {
        self.0
    }

    fn config(&self, provider: &ProviderId) -> Option<Value> {
        provider
            .as_str()
            .starts_with(self.1)
            .then(|| self.2.clone())
    }
}

pub(crate) fn hosted(
    id: &'static str,
    provider: &'static str,
    config: Value,
) -> Arc<dyn ProviderTool> {
    Arc::new(Hosted(id, provider, config))
}
