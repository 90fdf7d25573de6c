use std::rc::Rc;
use tool_core::serde_json::{Value, json};
use tool_core::{FunctionTool, RawTool, RunContext};

fn main() {
    let declared = RawTool { name: "get".into(), description: String::new(), parameters: json!({}) };
    FunctionTool::raw(declared, async |_: Value, _: &RunContext| {
        let shared = Rc::new(7);
        std::future::ready(()).await;
        Ok(json!(*shared))
    });
}
