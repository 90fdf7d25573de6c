//! The log lines of calls, sizes and contexts. R-M2, R-M4

use super::support::{call, open, runtime, text, tools};
use super::support_log::{Line, logged};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::json;
use std::time::Duration;
use tool_core::session::{ContextMetrics, History, Model, ModelRequest, ModelStep};
use tool_core::trace::Redaction;
use tool_core::trace::TokenUsage;
use tool_core::{ErrorKind, Mode, Policy, RunContext, ToolCall, ToolError, tool};
use tracing::Level;

/// Say so many letters, later.
#[tool]
async fn speak(letters: usize, #[arg(default)] password: String) -> String {
    tokio::time::sleep(Duration::from_millis(40)).await;
    drop(password);
    "x".repeat(letters)
}

/// Fail.
#[tool]
fn fail() -> Result<u8, ToolError> {
    Err(ToolError::conflict("taken"))
}

/// Print a page.
#[tool(guide = "tests/runtime/print.md")]
fn print() {}

/// A value that does not serialise.
struct Broken;

impl Serialize for Broken {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(
            "half of it is missing, password=canary",
        ))
    }
}

impl JsonSchema for Broken {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Broken".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

/// Break.
#[tool]
fn break_up() -> Broken {
    Broken
}

fn free() -> Policy {
    Policy::text().repeated_calls(None)
}

fn of<'l>(lines: &'l [Line], target: &str) -> Vec<&'l Line> {
    lines.iter().filter(|line| line.target == target).collect()
}

// R-M2
#[test]
fn call_start_and_completion_are_logged() {
    let lines = logged(Level::INFO, async {
        let session = text(tools![speak, fail], free()).await;
        session
            .call(ToolCall::new(
                "c 1\n",
                "speak",
                r#"{"letters": 6, "password": "canary"}"#,
            ))
            .await;
        session.call(ToolCall::new("c2", "fail", "{}")).await;
        session
            .call(ToolCall::new("c3", "made\u{1b}up", "{}"))
            .await;
    });
    let told = of(&lines, "tool_core::calls")
        .into_iter()
        .map(|line| (&*line.level, &*line.message, line.fields.trim()));
    let expected = [
        ("tool call started", r"tool=speak call_id=c 1\n session=s-1"),
        (
            "tool call completed",
            r"tool=speak call_id=c 1\n session=s-1 ok=true duration_ms=40.0 size_chars=8",
        ),
        ("tool call started", "tool=fail call_id=c2 session=s-1"),
        (
            "tool call completed",
            "tool=fail call_id=c2 session=s-1 ok=false error_type=CONFLICT duration_ms=0.0 size_chars=0",
        ),
        (
            "tool call started",
            r"tool=made\u{1b}up call_id=c3 session=s-1",
        ),
        (
            "tool call completed",
            r"tool=made\u{1b}up call_id=c3 session=s-1 ok=false error_type=NOT_FOUND duration_ms=0.0 size_chars=0",
        ),
    ];
    assert_eq!(
        told.collect::<Vec<_>>(),
        expected.map(|(message, fields)| ("INFO", message, fields))
    );
}

// R-M2
#[test]
fn arguments_and_result_size_are_logged_at_debug() {
    let lines = logged(Level::DEBUG, async {
        let policy = free().redaction(Redaction::new().key("letters"));
        let session = text(tools![speak], policy).await;
        session
            .call(ToolCall::new(
                "c",
                "speak",
                r#"{"letters": 6, "password": "canary"}"#,
            ))
            .await;
        session.call(ToolCall::new("c", "speak", "canary")).await;
        let long = json!({"letters": 1, "password": "", "more": "x".repeat(10_000)}).to_string();
        session.call(ToolCall::new("c", "speak", long)).await;
    });
    let debug = of(&lines, "tool_core::calls")
        .into_iter()
        .filter(|line| line.level == "DEBUG")
        .collect::<Vec<_>>();
    let fields = |at: usize| {
        debug[at]
            .fields
            .split(" session=s-1 ")
            .nth(1)
            .expect("its own")
    };
    assert_eq!(debug[0].message, "tool call arguments");
    assert_eq!(
        fields(0),
        r#"arguments={"letters":"[redacted]","password":"[redacted]"}"#
    );
    assert_eq!(
        (debug[1].message.as_str(), fields(1)),
        ("tool call result", "size_chars=8 bytes=8 tokens=2")
    );
    assert_eq!(fields(2), "arguments=[6 characters that are not JSON]");
    assert!(
        fields(4).ends_with("xxx...") && fields(4).len() < 4_100,
        "{}",
        fields(4)
    );
}

// R-M2
#[test]
fn unserialisable_result_is_logged_as_error() {
    let mut kind = None;
    let lines = logged(Level::ERROR, async {
        let session = text(tools![break_up], free()).await;
        kind = call(&session, "break_up", json!({}))
            .await
            .error()
            .map(|error| error.kind);
    });
    assert_eq!(kind, Some(ErrorKind::Internal));
    let [line] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert_eq!(
        (line.level.as_str(), line.message.as_str()),
        ("ERROR", "tool failed internally")
    );
    // T1
    assert!(
        line.fields
            .contains("failed to serialise the result: half of it is missing, password=[redacted]"),
        "{}",
        line.fields
    );
}

// R-M2
#[test]
fn abandoned_call_is_logged() {
    let lines = logged(Level::INFO, async {
        let session = text(tools![speak], free()).await;
        let call = session.call(ToolCall::new("c", "speak", r#"{"letters": 1}"#));
        assert!(
            tokio::time::timeout(Duration::from_millis(5), call)
                .await
                .is_err()
        );
    });
    let messages = of(&lines, "tool_core::calls")
        .into_iter()
        .map(|line| line.message.as_str())
        .collect::<Vec<_>>();
    assert_eq!(messages, ["tool call started", "tool call dropped"]);
}

// R-M2
#[test]
fn large_results_are_warned_of_once_per_crossing() {
    let lines = logged(Level::WARN, async {
        let runtime = runtime(tools![speak], free());
        let (one, two) = (
            open(&runtime, "1", Mode::Text).await,
            open(&runtime, "2", Mode::Text).await,
        );
        let say = async |letters: usize| {
            let session = if letters.is_multiple_of(3) {
                &one
            } else {
                &two
            };
            assert!(
                call(session, "speak", json!({"letters": letters}))
                    .await
                    .is_ok()
            );
        };
        // 1,500 characters with the quotes are within the limit.
        for _ in 0..30 {
            say(1_498).await;
        }
        for letters in [1_499, 2_000, 2_001] {
            say(letters).await;
        }
        for _ in 0..1_000 {
            say(9).await;
        }
        for _ in 0..52 {
            say(1_600).await;
        }
    });
    let warned = of(&lines, "tool_core::metrics")
        .into_iter()
        .map(|line| line.fields.as_str())
        .collect::<Vec<_>>();
    assert_eq!(warned, [" tool=speak p95=1501", " tool=speak p95=1602"]);
}

// R-M2
#[test]
fn first_large_result_is_warned_of() {
    let lines = logged(Level::WARN, async {
        let session = text(tools![speak], free()).await;
        for letters in [1_498, 1_499, 9, 9] {
            call(&session, "speak", json!({"letters": letters})).await;
        }
    });
    let warned = of(&lines, "tool_core::metrics")
        .into_iter()
        .map(|line| line.fields.as_str())
        .collect::<Vec<_>>();
    assert_eq!(warned, [" tool=speak p95=1501"]);
}

// R-M4
#[test]
fn initial_tokens_are_logged_one_line_each() {
    let mut context = ContextMetrics::default();
    let lines = logged(Level::INFO, async {
        let runtime = runtime(tools![speak, print], free());
        let session = open(&runtime, "s", Mode::Text).await;
        // Another handle of the same session logs nothing.
        open(&runtime, "s", Mode::Text).await;
        context = session.context();
    });
    let told = of(&lines, "tool_core::context")
        .into_iter()
        .map(|line| format!("{}:{}", line.message, line.fields));
    let (total, prompt, tools) = (
        context.session_init_tokens,
        context.system_prompt_tokens,
        context.tool_decl_tokens,
    );
    assert!(prompt > 0 && tools > 0);
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            format!("tokens at session start: session=s tokens={total}"),
            format!("tokens of the system prompt: session=s tokens={prompt}"),
            format!("tokens of the tool declarations: session=s tokens={tools} tools=2"),
        ]
    );
}

/// Uses so many tokens, step by step, and has something to say at the end.
struct Reads(Vec<u64>);

impl Model for Reads {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let usage = TokenUsage {
            input: self.0.remove(0),
            ..TokenUsage::default()
        };
        let over = self.0.is_empty();
        let step = if over {
            ModelStep::says("done")
        } else {
            ModelStep::calls([ToolCall::new("", "fail", "{}")])
        };
        Ok(ModelStep { usage, ..step })
    }
}

// R-M4
#[test]
fn window_warning_is_logged_once_per_crossing() {
    let lines = logged(Level::WARN, async {
        let policy = free().context_window(1_000).max_tool_steps(9);
        let session = text(tools![fail], policy).await;
        let mut model = Reads(vec![899, 900, 990, 1_000, 0, 899, 901]);
        let reply = session.reply(&mut model, &mut History::new(), "Go.").await;
        assert_eq!(reply.text.as_deref(), Some("done"));
        assert_eq!(session.context().peak_tokens, 1_000);
    });
    let warned = of(&lines, "tool_core::context")
        .into_iter()
        .map(|line| line.fields.as_str())
        .collect::<Vec<_>>();
    assert_eq!(
        warned,
        [
            " session=s-1 tokens=900 window=1000",
            " session=s-1 tokens=901 window=1000"
        ]
    );
}

// R-M4
#[test]
fn default_window_is_a_million_tokens() {
    let lines = logged(Level::WARN, async {
        let session = text(tools![fail], Policy::text()).await;
        session.observe_context(899_999);
        session.observe_context(900_000);
    });
    assert_eq!(of(&lines, "tool_core::context").len(), 1);
}

/// Call another tool.
#[tool]
async fn nest(ctx: &RunContext) -> bool {
    ctx.call("fail", "{}").await.is_ok()
}

// R-M2
#[test]
fn nested_calls_are_logged() {
    let lines = logged(Level::INFO, async {
        let session = text(tools![nest, fail], free()).await;
        call(&session, "nest", json!({})).await;
    });
    let told = of(&lines, "tool_core::calls").into_iter().map(|line| {
        let tool = line.fields.split_whitespace().next().unwrap_or_default();
        format!("{} {tool}", line.message)
    });
    let expected = [
        "started tool=nest",
        "started tool=fail",
        "completed tool=fail",
        "completed tool=nest",
    ];
    assert_eq!(
        told.collect::<Vec<_>>(),
        expected.map(|line| format!("tool call {line}"))
    );
}

// R-M2
#[test]
fn bare_call_logs_the_size_of_its_result() {
    let lines = logged(Level::DEBUG, async {
        let tools = tools![speak, fail];
        let ctx = RunContext::builder().call_id("c 1\n").build();
        tools
            .call("speak", r#"{"letters": 6, "password": "canary"}"#, &ctx)
            .await;
        tools
            .function_tool("fail")
            .expect("added")
            .call("{}", &RunContext::detached())
            .await;
    });
    let told = of(&lines, "tool_core::calls")
        .into_iter()
        .map(|line| (&*line.level, &*line.message, line.fields.trim()));
    let expected = [
        r"tool=speak call_id=c 1\n size_chars=8 bytes=8 tokens=2",
        "tool=fail size_chars=0 bytes=0 tokens=0",
    ];
    assert_eq!(
        told.collect::<Vec<_>>(),
        expected.map(|fields| ("DEBUG", "tool call result", fields))
    );
}

// R-M2
#[test]
fn bare_call_logs_nothing_above_debug() {
    let lines = logged(Level::INFO, async {
        tools![speak]
            .call("speak", r#"{"letters": 6}"#, &RunContext::detached())
            .await;
    });
    assert!(of(&lines, "tool_core::calls").is_empty());
}
