//! Raw tools: the schema is given at run time.

use crate::support::{block_on, call, data, failure};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use tool_core::{
    ErrorKind, FunctionTool, Mode, RawTool, RunContext, Runtime, ToolCall, ToolContext, ToolError,
};

async fn echo(arguments: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    tokio::task::yield_now().await;
    Ok(json!({"got": arguments, "tool": ctx.tool()}))
}

fn declared(name: &str, parameters: Value) -> RawTool {
    RawTool {
        name: name.into(),
        description: String::new(),
        parameters,
    }
}

fn numbers() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer", "default": 1}}, "required": ["m"]})
}

fn built(tool: FunctionTool) -> ToolContext {
    ToolContext::builder().with(tool).build().expect("sound")
}

// L3
#[test]
fn raw_tool_receives_its_arguments_as_sent() {
    let tools = built(FunctionTool::raw(
        declared("files.read/v1:x", numbers()),
        echo,
    ));
    assert_eq!(
        data(&tools, "files.read/v1:x", r#"{"z":"unchecked"}"#),
        json!({"got": {"z": "unchecked"}, "tool": "files.read/v1:x"})
    );
    assert_eq!(data(&tools, "files.read/v1:x", "")["got"], json!({}));
    assert_eq!(
        failure(&tools, "files.read/v1:x", "[1]").0,
        ErrorKind::Validation
    );
}

// L3
#[test]
fn validating_raw_tool_reports_every_problem() {
    let tools = built(FunctionTool::raw(declared("n", numbers()), echo).validate(true));
    let response = call(&tools, "n", r#"{"n":"x"}"#);
    let pointers = response
        .meta()
        .problems()
        .iter()
        .map(|problem| problem.pointer.as_str())
        .collect::<Vec<_>>();
    assert_eq!(pointers, ["/m", "/n"]);
    assert_eq!(
        data(&tools, "n", r#"{"n":"2","m":0}"#)["got"],
        json!({"n": 2, "m": 0}),
        "coerced"
    );
}

/// Ways in which a schema says that there are no parameters.
fn without_parameters() -> [Value; 6] {
    [
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({"type": "object", "additionalProperties": false}),
        json!({"properties": {}, "title": "pingArguments", "type": "object", "required": []}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {}, "x-order": 1}),
        json!({"type": "object", "unevaluatedProperties": false, "description": "Nothing."}),
    ]
}

const IGNORED: [&str; 2] = [
    "/x: ignored, as the tool has no parameters",
    "/y: ignored, as the tool has no parameters",
];

// L26
#[test]
fn validating_raw_tool_without_parameters_ignores_members() {
    for schema in without_parameters() {
        let tools = built(FunctionTool::raw(declared("n", schema.clone()), echo).validate(true));
        assert_eq!(
            tools.definitions().next().expect("one").parameters(),
            &schema
        );
        let response = call(&tools, "n", r#"{"x":1,"y":{}}"#);
        assert_eq!(
            response.data::<Value>().expect("JSON")["got"],
            json!({}),
            "{schema}"
        );
        assert_eq!(response.meta().coerced(), IGNORED, "{schema}");
        let plain = call(&tools, "n", "{}");
        assert!(
            plain.is_ok() && plain.meta().coerced().is_empty(),
            "{schema}"
        );
    }
}

// L26
#[test]
fn session_ignores_members_for_a_raw_tool_without_parameters() {
    for schema in without_parameters() {
        let tools = built(FunctionTool::raw(declared("n", schema.clone()), echo).validate(true));
        let runtime = Runtime::builder(tools).build().expect("sound");
        let response = block_on(async {
            let session = runtime.session("s", Mode::Text).await.expect("a session");
            session
                .call(ToolCall::new("call_1", "n", r#"{"x":1,"y":{}}"#))
                .await
        });
        assert_eq!(
            response.data::<Value>().expect("JSON")["got"],
            json!({}),
            "{schema}"
        );
        assert_eq!(response.meta().coerced(), IGNORED, "{schema}");
    }
}

// L26, V1
#[test]
fn raw_schema_that_does_not_rule_members_out_keeps_them() {
    let open = [
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": true}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "properties": {}, "patternProperties": {"^x$": {"type": "integer"}}}),
        json!({"type": "object", "properties": {}, "minProperties": 1}),
    ];
    for schema in open {
        let tools = built(FunctionTool::raw(declared("n", schema.clone()), echo).validate(true));
        let response = call(&tools, "n", r#"{"x":1}"#);
        assert_eq!(
            response.data::<Value>().expect("JSON")["got"],
            json!({"x": 1}),
            "{schema}"
        );
        assert!(response.meta().coerced().is_empty(), "{schema}");
    }
}

// L3
#[test]
fn closures_without_captures_and_handlers_with_state_work() {
    let plain = FunctionTool::raw(
        declared("plain", json!({})),
        async |arguments: Value, _: &RunContext| Ok(arguments),
    );
    let state = AtomicU32::new(40);
    let counting = FunctionTool::raw_with(
        declared("counting", json!({"type": "object"})),
        state,
        async |state: &AtomicU32, _: Value, _: &RunContext| {
            Ok(json!(state.fetch_add(1, Ordering::Relaxed)))
        },
    );
    let tools = ToolContext::builder()
        .with(plain)
        .with(counting)
        .build()
        .expect("sound");
    assert_eq!(data(&tools, "plain", r#"{"a":[1]}"#), json!({"a": [1]}));
    assert_eq!(data(&tools, "counting", "{}"), json!(40));
    assert_eq!(data(&tools, "counting", "{}"), json!(41));
}

// L3, L5: every problem at once, with the place
#[test]
fn errors_of_raw_declarations_are_reported_together() {
    let errors = ToolContext::builder()
        .with(FunctionTool::raw(declared("", json!({})), echo))
        .with(FunctionTool::raw(
            declared("two words", json!({"type": "object"})),
            echo,
        ))
        .with(FunctionTool::raw(
            declared("list", json!({"type": "array"})),
            echo,
        ))
        .with(FunctionTool::raw(
            declared(
                "broken",
                json!({"type": "object", "properties": {"x": {"type": "intger"}}}),
            ),
            echo,
        ))
        .build()
        .expect_err("four mistakes");
    let lines = errors.to_string();
    assert_eq!(errors.len(), 4, "{lines}");
    assert!(
        lines.lines().all(|line| line.contains("raw.rs:")),
        "{lines}"
    );
    assert!(
        lines.contains("`list`")
            && lines.contains("not one of an object")
            && lines.contains("/properties/x/type"),
        "{lines}"
    );
}

// R-E1
#[test]
fn raw_output_outside_its_schema_is_internal() {
    let tool = FunctionTool::raw(declared("odd", json!({"type": "object"})), echo);
    let tools = built(
        tool.output_schema(json!({"type": "object", "properties": {"got": {"type": "null"}}})),
    );
    assert_eq!(failure(&tools, "odd", "{}").0, ErrorKind::Internal);
}

// L30
#[test]
fn raw_schema_is_published_unchanged() {
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "title": "T"});
    let tools = built(FunctionTool::raw(declared("shown", schema.clone()), echo));
    assert_eq!(
        tools.definitions().next().expect("one").parameters(),
        &schema
    );
}

// L2, L3
#[test]
fn raw_tool_takes_the_options_of_the_macro() {
    use tool_core::tool::{Confirm, DuplicateScope, OnDuplicate, ToolAnnotations};
    let flags = ToolAnnotations {
        destructive: Some(true),
        open_world: Some(true),
        ..ToolAnnotations::default()
    };
    let tool = FunctionTool::raw(declared("n", numbers()), echo)
        .title("A number")
        .confirm(Confirm::Always)
        .flags(flags)
        .on_duplicate(OnDuplicate::Reject)
        .duplicate_scope(DuplicateScope::NameAndArgs)
        .max_calls(3)
        .guide("# Numbers\n\nGive one.\n");
    let tool = tool.definition();
    assert_eq!(
        (tool.title(), tool.flags(), tool.max_calls()),
        (Some("A number"), flags, Some(3))
    );
    assert!(matches!(tool.confirm(), Confirm::Always));
    assert_eq!(
        (tool.on_duplicate(), tool.duplicate_scope()),
        (OnDuplicate::Reject, DuplicateScope::NameAndArgs)
    );
    assert_eq!(tool.guide().map(|guide| guide.summary()), Some("Give one."));
}

#[test]
fn read_only_tool_stays_idempotent() {
    use tool_core::Category;
    use tool_core::tool::ToolAnnotations;
    let tool = FunctionTool::raw(declared("n", numbers()), echo).category(Category::Retrieval);
    assert!(
        tool.flags(ToolAnnotations::default())
            .definition()
            .flags()
            .idempotent
    );
}

// L26
#[test]
fn raw_tool_that_checks_nothing_ignores_members_without_parameters() {
    for schema in without_parameters() {
        let tools = built(FunctionTool::raw(declared("n", schema.clone()), echo));
        let response = call(&tools, "n", r#"{"x":1,"y":{}}"#);
        assert_eq!(
            response.data::<Value>().expect("JSON")["got"],
            json!({}),
            "{schema}"
        );
    }
}
