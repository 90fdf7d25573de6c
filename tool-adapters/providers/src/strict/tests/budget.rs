//! The limits of a strict request.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions};
use crate::declare::declare_tools;
use crate::report::NotStrict;
use serde_json::{Value, json};
use tool_core::{FunctionTool, RawTool, RunContext, ToolError};

const STRICT: DeclareOptions = DeclareOptions {
    strict: true,
    only_single_type: false,
    model_mixes: false,
    defer: false,
};

async fn nothing(_: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(Value::Null)
}

/// A tool with as many required parameters, optional ones and ones of a union type.
fn tool(at: usize, required: usize, optional: usize, unions: usize) -> FunctionTool {
    let mut properties = serde_json::Map::new();
    let names = (0..required)
        .map(|at| format!("r{at}"))
        .chain((0..unions).map(|at| format!("u{at}")))
        .collect::<Vec<_>>();
    for name in &names {
        let kind = if name.starts_with('u') {
            json!(["string", "null"])
        } else {
            json!("string")
        };
        properties.insert(name.clone(), json!({"type": kind}));
    }
    properties.extend((0..optional).map(|at| (format!("o{at}"), json!({"type": "string"}))));
    let parameters = json!({"type": "object", "properties": properties, "required": names});
    FunctionTool::raw(
        RawTool {
            name: format!("tool_{at}"),
            description: "A tool.".into(),
            parameters,
        },
        nothing,
    )
}

fn declared(provider: Provider, tools: &[FunctionTool]) -> Declarations {
    let definitions = tools
        .iter()
        .map(|tool| tool.definition().clone())
        .collect::<Vec<_>>();
    declare_tools(provider, &definitions, &[], STRICT)
}

/// Which of the tools are strict.
fn strict(provider: Provider, tools: &[FunctionTool]) -> Vec<bool> {
    declared(provider, tools)
        .report()
        .tools
        .iter()
        .map(|tool| tool.strict)
        .collect()
}

#[test]
fn anthropic_takes_twenty_strict_tools_a_request() {
    let tools = (0..22).map(|at| tool(at, 1, 0, 0)).collect::<Vec<_>>();
    for provider in [Provider::Anthropic, Provider::Bedrock] {
        let strict = strict(provider, &tools);
        assert_eq!(strict.iter().filter(|strict| **strict).count(), 20);
        assert!(strict[..20].iter().all(|strict| *strict));
    }
    let declared = declared(Provider::Anthropic, &tools);
    let json: Value = serde_json::from_str(declared.json().get()).expect("JSON");
    assert_eq!(
        (&json[19]["strict"], json[20].get("strict")),
        (&json!(true), None)
    );
    assert!(matches!(
        declared.report().tools[20].not_strict,
        Some(NotStrict::Limit {
            found: 21,
            most: 20,
            ..
        })
    ));
}

#[test]
fn anthropic_counts_optional_and_union_parameters_in_order() {
    let tools = [
        tool(0, 1, 20, 0),
        tool(1, 1, 5, 0),
        tool(2, 1, 4, 16),
        tool(3, 1, 0, 1),
        tool(4, 1, 0, 0),
    ];
    assert_eq!(
        strict(Provider::Anthropic, &tools),
        [true, false, true, false, true]
    );
}

#[test]
fn open_ai_has_no_limit_for_the_request() {
    let tools = (0..30).map(|at| tool(at, 1, 5, 5)).collect::<Vec<_>>();
    assert!(
        strict(Provider::OpenAiChat, &tools)
            .iter()
            .all(|strict| *strict)
    );
}

#[test]
fn cohere_is_strict_for_all_tools_or_none() {
    let good = [tool(0, 1, 1, 1), tool(1, 2, 0, 0)];
    let settings =
        |tools: &[FunctionTool]| Value::from(declared(Provider::Cohere, tools).settings().clone());
    assert_eq!(strict(Provider::Cohere, &good), [true, true]);
    assert_eq!(settings(&good), json!({"strict_tools": true}));
    let bad = [tool(0, 1, 1, 1), tool(1, 0, 1, 0)];
    assert_eq!(strict(Provider::Cohere, &bad), [false, false]);
    assert_eq!(settings(&bad), json!({}));
    let report = declared(Provider::Cohere, &bad).report().clone();
    assert_eq!(
        report.tools[0].not_strict,
        Some(NotStrict::OtherTool {
            tool: "tool_1".into()
        })
    );
    assert_eq!(report.tools[1].not_strict, Some(NotStrict::NothingRequired));
}

#[test]
fn cohere_takes_two_hundred_fields_in_all() {
    assert_eq!(
        strict(Provider::Cohere, &[tool(0, 100, 0, 0), tool(1, 100, 0, 0)]),
        [true, true]
    );
    assert_eq!(
        strict(Provider::Cohere, &[tool(0, 100, 0, 0), tool(1, 101, 0, 0)]),
        [false, false]
    );
}
