use std::sync::Arc;
use tool_core::serde_json::{Value, json};
use tool_core::{FunctionTool, RawTool, RunContext};

fn main() {
    let client = Arc::new("client".to_owned());
    let declared = RawTool { name: "get".into(), description: String::new(), parameters: json!({}) };
    FunctionTool::raw_with(declared, 7_u8, async move |_: &u8, _: Value, _: &RunContext| Ok(json!(client.len())));
}
