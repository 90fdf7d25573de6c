//! Numbers that a float holds rounded, in the arguments of raw tools and in defaults; and the numbers
//! of examples.
#![allow(
    clippy::needless_pass_by_value,
    clippy::unused_self,
    reason = "tools as their authors write them"
)]

use crate::call::context::RunContext;
use crate::call::response::ToolResponse;
use crate::registry::ToolContext;
use crate::tool::function::FunctionTool;
use crate::tool::raw::RawTool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_macros::toolset;

/// Calls a raw tool that checks its arguments and gives them back.
async fn echo(schema: Value, number: &str) -> ToolResponse {
    let parameters = json!({"type": "object", "properties": {"n": schema}});
    let raw = RawTool {
        name: "echo".to_owned(),
        description: String::new(),
        parameters,
    };
    let handler = async |arguments: Value, _: &RunContext| Ok(arguments);
    let tool = FunctionTool::raw(raw, handler).validate(true);
    let tools = ToolContext::builder().with(tool).build().expect("sound");
    let text = format!(r#"{{"n":{number}}}"#);
    tools.call("echo", text, &RunContext::detached()).await
}

// L3
#[tokio::test]
async fn a_rounded_fraction_keeps_to_the_limits() {
    let share = json!({"type": "number", "minimum": 0, "maximum": 1});
    for (number, expected) in [
        ("0.99999999999999999999", r#"{"n":1.0}"#),
        ("1e-400", r#"{"n":0.0}"#),
    ] {
        let response = echo(share.clone(), number).await;
        assert_eq!(response.data_json(), Some(expected), "{response:?}");
    }
    let large = json!({"type": "number", "minimum": 1e20});
    assert!(echo(large, "123456789012345678901234").await.is_ok());
}

// L3
#[tokio::test]
async fn a_rounded_integer_is_refused_where_one_is_asked_for() {
    let whole = [
        json!({"type": "integer"}),
        json!({"multipleOf": 3}),
        json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        json!({}),
        json!({"minimum": 1}),
        json!({"anyOf": [{"type": "string"}, {"description": "anything"}]}),
    ];
    for schema in whole {
        let response = echo(schema.clone(), "123456789012345678901233").await;
        let error = response.error().expect("an error");
        assert!(
            error
                .message
                .contains("/n: refused: expected an integer of at most 64 bits"),
            "{schema}: {}",
            error.message
        );
    }
}

// L3
#[tokio::test]
async fn a_number_without_a_type_may_be_rounded_as_a_fraction() {
    let response = echo(json!({}), "0.99999999999999999999").await;
    assert_eq!(response.data_json(), Some(r#"{"n":1.0}"#), "{response:?}");
    let either = json!({"type": ["number", "null"]});
    assert!(echo(either, "123456789012345678901233").await.is_ok());
}

// L3
#[tokio::test]
async fn a_rounded_integer_is_refused_in_any_member() {
    let open = json!({"type": "object", "additionalProperties": {"type": "array"}});
    let response = echo(open, r#"{"ids":[1,123456789012345678901233]}"#).await;
    let error = response.error().expect("an error");
    assert!(
        error.message.contains("/n/ids/1: refused"),
        "{}",
        error.message
    );
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Scale {
    factor: f32,
}

struct Model {
    warmth: f32,
}

#[toolset(discover = false)]
impl Model {
    /// Ask the model.
    #[tool]
    fn ask(
        &self,
        #[arg(default = self.warmth, range(0.0..=0.7))] warmth: f32,
        #[arg(default = 0.1_f32 + 0.2, example = 0.7_f32)] top: f32,
        #[arg(default = Scale { factor: 0.3 })] scale: Scale,
        #[arg(default = f32::MAX)] most: f32,
    ) -> String {
        format!("{warmth} {top} {} {most}", scale.factor)
    }
}

// D5
#[tokio::test]
async fn a_default_of_32_bits_has_its_shortest_digits() {
    let tools = ToolContext::builder()
        .with(Model { warmth: 0.7 })
        .build()
        .expect("sound");
    let tool = tools.function_tool("ask").expect("there").definition();
    let properties = &tool.parameters()["properties"];
    assert_eq!(properties["warmth"]["default"], json!(0.7));
    assert_eq!(properties["top"]["examples"], json!([0.7]));
    assert_eq!(properties["scale"]["default"], json!({"factor": 0.3}));

    let response = tools.call("ask", "{}", &RunContext::detached()).await;
    let expected = format!("0.7 {} 0.3 {}", 0.1_f32 + 0.2, f32::MAX);
    assert_eq!(
        response.data_json(),
        Some(json!(expected).to_string().as_str())
    );
}

struct Clock;

#[toolset(discover = false)]
impl Clock {
    /// Wait.
    #[tool]
    fn wait(
        &self,
        #[arg(example = 1_767_225_600_000, example = 0xFFu64)] until: u64,
        #[arg(example = -5_000_000_000)] shift: i64,
        #[arg(example = 1e3)] factor: f64,
        #[arg(example = true)] loud: bool,
    ) -> String {
        format!("{until} {shift} {factor} {loud}")
    }
}

// D5
#[test]
fn an_example_may_be_beyond_32_bits() {
    let tools = ToolContext::builder().with(Clock).build().expect("sound");
    let tool = tools.function_tool("wait").expect("there").definition();
    let properties = &tool.parameters()["properties"];
    assert_eq!(
        properties["until"]["examples"],
        json!([1_767_225_600_000_u64, 255])
    );
    assert_eq!(properties["shift"]["examples"], json!([-5_000_000_000_i64]));
    assert_eq!(properties["factor"]["examples"], json!([1000.0]));
    assert_eq!(properties["loud"]["examples"], json!([true]));
}
