//! T9: results are cut to valid JSON with a marker, at the limit and next to it.

use crate::support::{block_on, call, open_policy, session, tools};
use serde_json::{Value, json};
use tool_adapters::Provider;
use tool_adapters::providers::{Event, protocol};
use tool_core::{
    ErrorKind, FunctionTool, Intent, RawTool, RunContext, ToolCall, ToolContext, ToolError,
    ToolOutput, ToolResponse, tool,
};

const LIMIT: usize = 50;

/// Repeat a text.
#[tool(max_output = 50)]
fn text(unit: &str, times: usize) -> String {
    unit.repeat(times)
}

/// Repeat a text, held to the limit of all tools.
#[tool]
async fn unbounded(unit: &str, times: usize) -> String {
    unit.repeat(times)
}

/// A list.
#[tool(max_output = 50)]
fn list(times: usize) -> Vec<String> {
    vec!["ü\"\\\n".to_owned(); times]
}

async fn made(tools: &ToolContext, tool: &str, arguments: Value) -> ToolResponse {
    session(tools.clone(), open_policy())
        .await
        .call(call("c", tool, arguments))
        .await
}

/// Checks that the data is whole, or valid JSON with a marker.
fn is_sound(response: &ToolResponse, whole: &str) {
    let data = response.data_json().expect("a success");
    let value: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
    match response.meta().truncated() {
        None => assert_eq!(data, whole),
        Some(_) => {
            assert!(
                value["truncated"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("cut at")),
                "{data}"
            );
            assert_ne!(data, whole);
        }
    }
    let envelope: Value = serde_json::from_str(&response.to_json()).expect("the envelope is JSON");
    assert_eq!(envelope["data"], value);
}

// R-E1, T9
#[test]
fn result_is_cut_one_character_over_the_limit() {
    block_on(async {
        let tools = ToolContext::builder()
            .with(text)
            .with(list)
            .build()
            .expect("sound");
        for unit in ["a", "ü", "\u{1F600}", "\u{0301}"] {
            for scalars in LIMIT - 2..=LIMIT + 2 {
                let times = scalars - 2;
                let response = made(&tools, "text", json!({"unit": unit, "times": times})).await;
                is_sound(&response, &format!("\"{}\"", unit.repeat(times)));
                assert_eq!(
                    response.meta().truncated().is_some(),
                    scalars > LIMIT,
                    "{unit} {scalars}: {response}"
                );
            }
        }
        for times in 0..40 {
            let whole = serde_json::to_string(&vec!["ü\"\\\n"; times]).expect("JSON");
            is_sound(&made(&tools, "list", json!({"times": times})).await, &whole);
        }
    });
}

// T9
#[test]
fn a_result_far_over_its_limit_is_cut_to_that_limit() {
    block_on(async {
        for unit in ["a", "ü", "\u{1F600}"] {
            for times in [LIMIT, 2 * LIMIT, 10 * LIMIT, 100 * LIMIT] {
                let response =
                    made(&tools(text), "text", json!({"unit": unit, "times": times})).await;
                let value = response.data::<Value>().expect("JSON");
                let kept = value["partial"].as_str().expect("a text").chars().count();
                assert!(
                    (LIMIT - 4..=LIMIT).contains(&kept),
                    "{kept} characters of {unit} kept: {response}"
                );
                assert!(response.meta().truncated().is_some(), "{response}");
            }
        }
    });
}

// T9
#[test]
fn limit_inside_a_character_cuts_before_it() {
    block_on(async {
        for unit in ["a", "ü", "€", "\u{1F600}"] {
            for limit in 95..=105 {
                let builder = ToolContext::builder()
                    .with(unbounded)
                    .max_output_bytes(limit);
                let tools = builder.build().expect("sound");
                let times = 98 / unit.len();
                let bytes = times * unit.len() + 2;
                let response =
                    made(&tools, "unbounded", json!({"unit": unit, "times": times})).await;
                is_sound(&response, &format!("\"{}\"", unit.repeat(times)));
                assert_eq!(
                    response.meta().truncated().is_some(),
                    bytes > limit,
                    "{unit} {limit}: {response}"
                );
            }
        }
    });
}

// T9
#[test]
fn result_of_100_megabytes_is_cut_to_one() {
    block_on(async {
        let response = made(
            &tools(unbounded),
            "unbounded",
            json!({"unit": "ü", "times": 50_000_000}),
        )
        .await;
        let data = response.data_json().expect("a success");
        assert!(data.len() <= (1 << 20) + 200, "{}", data.len());
        assert!(serde_json::from_str::<Value>(data).is_ok());
    });
}

/// A value that ends the process if it is dropped with recursion.
fn deep_value() -> Value {
    let mut value = Value::Null;
    for _ in 0..100_000 {
        value = Value::Array(vec![value]);
    }
    value
}

async fn deep(_: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(deep_value())
}

/// Returns more than a result may have, and a deep value after it.
async fn cut_before_deep(_: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(Value::Array(vec!["x".repeat(2 << 20).into(), deep_value()]))
}

fn raw(name: &str, parameters: Value) -> RawTool {
    RawTool {
        name: name.into(),
        description: String::new(),
        parameters,
    }
}

// T9
#[test]
fn result_nested_100_000_deep_is_answered() {
    block_on(async {
        let declared = RawTool {
            name: "deep".into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        let tools = ToolContext::builder()
            .with(FunctionTool::raw(declared, deep))
            .with(text)
            .build()
            .expect("sound");
        let session = session(tools, open_policy()).await;
        let response = session.call(call(1, "deep", json!({}))).await;
        assert!(
            serde_json::from_str::<Value>(&response.to_json()).is_ok(),
            "an envelope that can be read"
        );
        assert_eq!(
            response.error().map(|error| error.kind),
            Some(ErrorKind::Internal),
            "it nests too deep to be written"
        );
        assert!(
            session
                .call(call(2, "text", json!({"unit": "a", "times": 1})))
                .await
                .is_ok()
        );
    });
}

#[test]
fn a_cut_result_may_be_deep_where_it_is_cut() {
    block_on(async {
        let tool = FunctionTool::raw(raw("cut", json!({"type": "object"})), cut_before_deep);
        let session = session(
            ToolContext::builder().with(tool).build().expect("sound"),
            open_policy(),
        )
        .await;
        let response = session.call(call(1, "cut", json!({}))).await;
        assert!(
            response.is_ok() && response.to_json().contains("cut at"),
            "{:.200}",
            response.to_json()
        );
    });
}

#[test]
fn a_deep_result_does_not_reach_the_output_schema() {
    block_on(async {
        let nested = json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}});
        let tool =
            FunctionTool::raw(raw("deep", json!({"type": "object"})), deep).output_schema(nested);
        let session = session(
            ToolContext::builder().with(tool).build().expect("sound"),
            open_policy(),
        )
        .await;
        let response = session.call(call(1, "deep", json!({}))).await;
        assert_eq!(
            response.error().map(|error| error.kind),
            Some(ErrorKind::Internal)
        );
    });
}

#[test]
fn deep_arguments_as_a_value_are_refused() {
    block_on(async {
        let session = session(
            ToolContext::builder().with(text).build().expect("sound"),
            open_policy(),
        )
        .await;
        let borrowed = deep_value();
        for call in [
            ToolCall::new("a", "text", deep_value()),
            ToolCall::new("b", "text", &borrowed),
        ] {
            let response = session.call(call).await;
            let error = response.error().expect("refused");
            assert!(
                error.kind == ErrorKind::Validation && error.message.contains("128"),
                "{error:?}"
            );
        }
        std::mem::forget(borrowed);
    });
}

#[test]
fn deep_members_of_meta_and_deep_payloads_are_refused() {
    let output = ToolOutput::new(1).meta("deep", deep_value());
    assert_eq!(output.data_json(), Ok("1"));
    let error = Intent::custom("acme.deep", deep_value()).expect_err("refused");
    assert!(error.contains("nests deeper than 100"), "{error}");
}

#[test]
fn deep_schemas_are_reported_by_the_builder() {
    let deep_parameters = FunctionTool::raw(raw("a", deep_value()), deep);
    let deep_output =
        FunctionTool::raw(raw("b", json!({"type": "object"})), deep).output_schema(deep_value());
    let errors = ToolContext::builder()
        .with(deep_parameters)
        .with(deep_output)
        .build()
        .expect_err("two problems");
    let text = errors.to_string();
    assert_eq!(text.matches("nests deeper than 128").count(), 2, "{text}");
}

#[test]
fn a_deep_event_of_a_provider_is_an_error() {
    let event = deep_value();
    let events = protocol(Provider::OpenAiChat).push_event(&event);
    std::mem::forget(event);
    assert!(matches!(events.as_slice(), [Event::Error(_)]), "{events:?}");
}
