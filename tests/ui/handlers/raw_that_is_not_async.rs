use tool_core::serde_json::{Value, json};
use tool_core::{FunctionTool, RawTool, RunContext, ToolError};

fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(arguments)
}

fn main() {
    let declared = RawTool { name: "get".into(), description: String::new(), parameters: json!({}) };
    FunctionTool::raw(declared, echo);
}
