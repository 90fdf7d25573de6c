//! The limits of a strict request.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions};
use crate::declare::declare_tools;
use crate::report::NotStrict;
use serde_json::{Value, json};
use std::sync::Arc;
use tool_core::tool::ProviderId;
use tool_core::{FunctionTool, ProviderTool, RawTool, RunContext, ToolError};

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

/// A provider tool, which may be declared in place of a function tool.
struct InPlaceOf {
    answered: Vec<&'static str>,
    config: Value,
}

impl ProviderTool for InPlaceOf {
    fn id(&self) -> &'static str {
        "in-place"
    }

    fn config(&self, _provider: &ProviderId) -> Option<Value> {
        Some(self.config.clone())
    }

    fn answered_here(&self) -> Vec<&str> {
        self.answered.clone()
    }
}

/// Which of the function tools are strict beside a provider tool.
fn strict_beside(provider_tool: InPlaceOf, tools: &[FunctionTool]) -> Vec<bool> {
    let definitions = tools
        .iter()
        .map(|tool| tool.definition().clone())
        .collect::<Vec<_>>();
    let declared = declare_tools(
        Provider::Anthropic,
        &definitions,
        &[Arc::new(provider_tool)],
        STRICT,
    );
    let report = declared.report();
    report.tools.iter().map(|tool| tool.strict).collect()
}

#[test]
fn a_tool_that_is_not_declared_takes_no_share() {
    let tools = [tool(0, 1, 20, 0), tool(1, 1, 20, 0)];
    let in_place = InPlaceOf {
        answered: vec!["tool_0"],
        config: json!({"type": "any_tool", "name": "tool_0"}),
    };
    assert_eq!(strict_beside(in_place, &tools), [false, true]);
}

#[test]
fn a_strict_provider_tool_takes_its_share() {
    let tools = (0..20).map(|at| tool(at, 1, 0, 0)).collect::<Vec<_>>();
    let beside = |strict: bool| {
        let provider_tool = InPlaceOf {
            answered: Vec::new(),
            config: json!({"type": "any_tool", "name": "any", "strict": strict}),
        };
        let strict = strict_beside(provider_tool, &tools);
        strict.iter().filter(|strict| **strict).count()
    };
    assert_eq!(beside(true), 19);
    assert_eq!(beside(false), 20);
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
