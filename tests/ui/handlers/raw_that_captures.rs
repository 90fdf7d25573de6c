use std::sync::Arc;
use tool_core::serde_json::{Value, json};
use tool_core::{FunctionTool, RawTool, RunContext};

fn main() {
    let client = Arc::new("client".to_owned());
    let declared = RawTool { name: "get".into(), description: String::new(), parameters: json!({}) };
    FunctionTool::raw(declared, async move |_: Value, _: &RunContext| Ok(json!(client.len())));
}
