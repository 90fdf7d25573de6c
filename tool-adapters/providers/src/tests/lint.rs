//! The findings of the lint, and their texts.

use crate::Provider;
use crate::anthropic::tools as anthropic;
use crate::declarations::DeclareOptions;
use crate::gemini::tools as gemini;
use crate::lint::Severity::{Error, Note, Warning};
use crate::lint::{FindingCollector, LintReport, lint, lint_for};
use crate::report::{Change, ChangeKind, NotStrict, Refusal, Report, ToolReport};
use serde_json::{Value, json};
use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolError};

async fn nothing(_: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(Value::Null)
}

fn raw(name: &str, description: &str, parameters: Value) -> FunctionTool {
    FunctionTool::raw(
        RawTool {
            name: name.into(),
            description: description.into(),
            parameters,
        },
        nothing,
    )
}

fn described(name: &str) -> FunctionTool {
    raw(name, "Do something.", json!({"type": "object"}))
}

fn context(tools: impl IntoIterator<Item = FunctionTool>) -> ToolContext {
    ToolContext::builder()
        .with_all(tools)
        .build()
        .expect("sound tools")
}

fn messages(lint: &LintReport) -> Vec<String> {
    lint.findings.iter().map(ToString::to_string).collect()
}

fn reported(provider: Provider, tool: &str) -> ToolReport {
    ToolReport {
        tool: tool.to_owned(),
        declared_as: Some(tool.to_owned()),
        strict: false,
        not_strict: None,
        refused: None,
        changes: Vec::new(),
        tokens: provider.name().len(),
    }
}

fn gathered(
    tools: &ToolContext,
    reports: impl IntoIterator<Item = (Provider, Vec<ToolReport>)>,
) -> Vec<String> {
    let mut found = FindingCollector::default();
    for (provider, of_tools) in reports {
        let report = Report {
            provider,
            tools: of_tools,
            skipped: Vec::new(),
            warnings: Vec::new(),
        };
        found.report(&report, tools);
    }
    found.findings().iter().map(ToString::to_string).collect()
}

#[test]
fn sound_tools_are_found_sound() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "description": "Which"}},
        "required": ["a"], "additionalProperties": false});
    let tools = context([raw("look_up", "Look something up.", schema)]);
    let lint = lint_for(&tools, &[Provider::Mcp], DeclareOptions::default());
    assert_eq!(lint.findings, []);
    assert!(lint.refuses_nothing(), "{lint}");
}

#[test]
fn refusals_are_errors_losses_warnings_and_rewrites_notes() {
    let tools = context([described("a"), described("b")]);
    let change = |kind, keyword: &str| Change {
        pointer: "/properties/x".into(),
        keyword: keyword.into(),
        kind,
        detail: "(5 to 9)".into(),
    };
    let changed = ToolReport {
        declared_as: Some("a_1".into()),
        not_strict: Some(NotStrict::Recursive {
            pointer: "/properties/y".into(),
        }),
        changes: vec![
            change(ChangeKind::Rewritten, "const"),
            change(ChangeKind::Described, "minimum"),
            change(ChangeKind::Weakened, "oneOf"),
            change(ChangeKind::Dropped, "not"),
        ],
        ..reported(Provider::Gemini, "a")
    };
    let refused = ToolReport {
        declared_as: None,
        refused: Some(Refusal::NoObject),
        ..reported(Provider::Gemini, "b")
    };
    let told = gathered(&tools, [(Provider::Gemini, vec![changed, refused])]);
    assert_eq!(
        told,
        [
            "error: b: it is not declared: the tool's parameters accept no object (gemini)",
            "warning: a: it is not strict: the schema at `/properties/y` refers to itself (gemini)",
            "warning: a: `minimum` at `/properties/x` is not enforced: (5 to 9) (gemini)",
            "warning: a: `oneOf` at `/properties/x` is weakened: (5 to 9) (gemini)",
            "warning: a: `not` at `/properties/x` is dropped: (5 to 9) (gemini)",
            "note: a: it is declared as `a_1` (gemini)",
            "note: a: `const` at `/properties/x` is rewritten: (5 to 9) (gemini)",
        ]
    );
}

#[test]
fn what_several_providers_have_in_common_is_told_once() {
    let tools = context([described("a")]);
    let renamed = |provider| {
        (
            provider,
            vec![ToolReport {
                declared_as: Some("b".into()),
                ..reported(provider, "a")
            }],
        )
    };
    let told = gathered(
        &tools,
        [Provider::OpenAiChat, Provider::Anthropic].map(renamed),
    );
    assert_eq!(
        told,
        ["note: a: it is declared as `b` (openai-chat, anthropic)"]
    );
    let told = gathered(&tools, Provider::ALL.map(renamed));
    assert_eq!(told, ["note: a: it is declared as `b` (all providers)"]);
}

#[test]
fn what_makes_a_tool_hard_to_use_is_told_whatever_the_provider() {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"},
        "c": {"enum": ["x"]}, "d": {"description": "Known"}}});
    let tools = context([
        raw("silent", " ", json!({"type": "object"})),
        raw("9.long", &"x".repeat(2001), parameters),
    ]);
    let told = messages(&lint_for(&tools, &[], DeclareOptions::default()));
    assert_eq!(
        told[0],
        "warning: silent: it has no description; the model chooses a tool by it"
    );
    assert!(
        told[1].starts_with("warning: 9.long: its description has 2001 characters"),
        "{told:#?}"
    );
    assert!(
        told[2].starts_with(
            "note: 9.long: some providers do not accept its name and rename it; every provider accepts 1-64 of `A-Z a-z 0-9 _`, "
        ),
        "{told:#?}"
    );
    assert_eq!(
        told[3],
        "note: 9.long: parameters without a description: `a`, `b`"
    );
    assert_eq!(told.len(), 4);
}

#[test]
fn more_tools_than_a_request_takes_are_told() {
    let many = |count: usize| context((0..count).map(|n| described(&format!("tool_{n}"))));
    let told = |count| messages(&lint_for(&many(count), &[], DeclareOptions::default()));
    assert_eq!(told(128), [""; 0]);
    assert!(
        told(129)[0].starts_with("warning: 129 tools: some providers accept at most 128"),
        "{:?}",
        told(129)
    );
}

#[test]
fn a_name_that_one_provider_renames_is_told() {
    let told = |name: &str| {
        messages(&lint_for(
            &context([described(name)]),
            &[],
            DeclareOptions::default(),
        ))
    };
    assert_eq!(told(&"a".repeat(64)), [""; 0]);
    // Cohere takes no `-`.
    for name in ["a".repeat(65), "look-up".to_owned()] {
        assert!(told(&name)[0].contains("do not accept its name"), "{name}");
    }
}

// L4
#[test]
fn a_provider_tool_that_nobody_takes_or_answers_is_told() {
    let tools = ToolContext::builder()
        .with(anthropic::Bash::default())
        .with(gemini::UrlContext {})
        .build();
    let tools = tools.expect("sound");
    let told = messages(&lint_for(
        &tools,
        &[Provider::Anthropic],
        DeclareOptions::default(),
    ));
    assert!(told[0].contains(
        "bash: the provider declares this tool and does not run it: calls come as `bash`"
    ));
    assert_eq!(
        told[1],
        "warning: url_context: none of these providers accepts this provider tool"
    );
    assert_eq!(told.len(), 2, "{told:#?}");

    let answered = ToolContext::builder()
        .with(anthropic::Bash::default())
        .with(described("bash"))
        .build();
    let told = messages(&lint_for(
        &answered.expect("sound"),
        &[Provider::Anthropic],
        DeclareOptions::default(),
    ));
    assert!(
        !told.iter().any(|line| line.contains("does not run it")),
        "{told:#?}"
    );
}

#[test]
fn the_cost_is_told_for_each_tool_and_for_the_whole() {
    let lint = lint(&context([described("first"), described("second")]));
    assert_eq!(lint.costs.len(), Provider::ALL.len());
    for cost in &lint.costs {
        let sum = cost.tools.iter().map(|tool| tool.tokens).sum::<usize>();
        assert!(
            sum > 0 && cost.tokens >= sum / 2 && cost.tools.len() == 2,
            "{cost:?}"
        );
        assert_eq!(lint.tokens(cost.provider), Some(cost.tokens));
    }
    let last = lint
        .to_string()
        .lines()
        .last()
        .map(str::to_owned)
        .expect("a line");
    assert!(
        last.starts_with("mcp") && last.contains("2 tools") && last.contains("the most for second"),
        "{last}"
    );
}

#[test]
fn findings_are_kept_by_condition_and_serialised() {
    let lint = lint(&context([
        raw("silent", "", json!({"type": "object"})),
        described("a.b"),
    ]));
    assert!(!lint.of(Note).is_empty() && lint.of(Error).is_empty());
    let kept = lint.keep(|finding| finding.severity >= Warning && finding.providers.is_empty());
    let value = serde_json::to_value(&kept).expect("JSON");
    let expected = json!([{"severity": "warning", "tool": "silent",
        "message": "it has no description; the model chooses a tool by it"}]);
    assert_eq!(value["findings"], expected);
    assert_eq!(value["costs"][0]["provider"], "openai-chat");
}

#[test]
fn unfixable_changes_are_notes_and_lost_maps_warnings() {
    let severities = |further: Value| {
        let parameters = json!({"type": "object", "properties": {"m": {"type": "object", "properties": {"a": {"type": "string"}},
            "additionalProperties": further}}});
        let tools = context([raw("t", "Do it.", parameters)]);
        let lint = lint_for(&tools, &[Provider::Gemini], DeclareOptions::default());
        let found = lint
            .findings
            .iter()
            .filter(|finding| finding.message.contains("additionalProperties"));
        found.map(|finding| finding.severity).collect::<Vec<_>>()
    };
    assert_eq!(severities(json!(false)), [Note]);
    assert_eq!(severities(json!({"type": "integer"})), [Warning]);
}
