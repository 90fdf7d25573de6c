//! `{"do": "declare", "provider", "strict", "defer"?, "tools"?: [{"name", "description", "parameters"}], "calls"?:
//! [{"name", "arguments"}]}`: the declarations of those tools (of the examples' without them), and the calls as the tools know
//! them. With "defer" the provider's own search finds them.

use crate::{Answer, list, provider, text};
use serde_json::{Value, json};
use std::error::Error;
use tool_adapters::{DeclareOptions, declare_searchable, declare_tools};
use tool_core::{
    FunctionTool, RawTool, RunContext, ToolCall, ToolContext, ToolDefinition, ToolError,
};

/// The tools of the examples.
pub(crate) fn tools() -> Answer {
    Ok(examples()?.iter().map(described).collect())
}

pub(crate) fn declare(command: &Value) -> Answer {
    let definitions = match command.get("tools") {
        Some(tools) => raw(tools)?,
        None => examples()?,
    };
    let (strict, defer) = (command["strict"] == true, command["defer"] == true);
    let (provider, options) = (
        provider(command)?,
        DeclareOptions {
            strict,
            defer,
            ..DeclareOptions::default()
        },
    );
    let declared = if defer {
        declare_searchable(provider, &[], &definitions, &[], options)
    } else {
        declare_tools(provider, &definitions, &[], options)
    };
    let restored = list(&command["calls"]).iter().map(|call| {
        let call = declared.restore(ToolCall::new(
            "",
            text(&call["name"]),
            text(&call["arguments"]),
        ));
        json!({"name": call.name(), "arguments": call.arguments()})
    });
    Ok(json!({
        "declarations": declared.json(), "settings": declared.settings(), "report": declared.report(),
        "definitions": definitions.iter().map(described).collect::<Vec<_>>(), "restored": restored.collect::<Vec<_>>(),
    }))
}

fn described(tool: &ToolDefinition) -> Value {
    json!({"name": tool.name(), "description": tool.description(), "parameters": tool.parameters()})
}

fn examples() -> Result<Vec<ToolDefinition>, Box<dyn Error>> {
    let concierge = crate::tools::tools()?;
    let orders = crate::orders::tools()?;
    let linked = ToolContext::discover()?;
    let all = [&concierge, &orders, &linked]
        .into_iter()
        .flat_map(ToolContext::definitions);
    // The driver's own is none of an example's.
    Ok(all
        .filter(|tool| tool.name() != "answer")
        .cloned()
        .collect())
}

pub(crate) fn raw(tools: &Value) -> Result<Vec<ToolDefinition>, Box<dyn Error>> {
    let mut context = ToolContext::builder();
    for tool in list(tools) {
        let declared = RawTool {
            name: text(&tool["name"]).to_owned(),
            description: text(&tool["description"]).to_owned(),
            parameters: tool["parameters"].clone(),
        };
        context = context.with(FunctionTool::raw(declared, nothing));
    }
    Ok(context.build()?.definitions().cloned().collect())
}

async fn nothing(_arguments: Value, _ctx: &RunContext) -> Result<Value, ToolError> {
    Ok(Value::Null)
}
