//! Exported spans.

use crate::otel::conventions::provider_name;
use crate::otel::exporter::wants_content;
use crate::otel::tests::{SpanRecorder, find, text, value};
use crate::otel::{Otel, tests};
use opentelemetry::Value;
use opentelemetry::trace::{SpanId, SpanKind, Status};
use tool_core::trace::{Collector, Cost, DistributedContext, ModelUsage, TokenUsage};
use tool_core::{RunContext, ToolCall, ToolContext, ToolError, tool, trace};

/// Looks something up.
#[tool]
async fn look_up(what: String) -> Result<String, ToolError> {
    if what.is_empty() {
        return Err(ToolError::permanent("nothing\nto look up"));
    }
    trace::http("GET example.com", async {
        trace::attribute("http.response.status_code", 200);
    })
    .await;
    trace::record_cost("index", Cost::micros(30));
    Ok(what)
}

/// Breaks.
#[tool]
fn broken() -> u8 {
    panic!("boom")
}

fn tools() -> ToolContext {
    ToolContext::builder()
        .with(look_up)
        .with(broken)
        .build()
        .expect("tools")
}

// S9
#[tokio::test]
async fn exports_spans_under_the_ids_of_the_context() {
    let mut exported = Vec::new();
    let spans = SpanRecorder::record(async {
        exported = trace::agent("planner", async {
            let outer = trace::export();
            vec![
                outer,
                trace::section("part", async { trace::export() }).await,
            ]
        })
        .await;
    })
    .await;
    let [outer, inner] = exported.as_slice() else {
        panic!("{exported:?}")
    };
    let agent = find(&spans, "invoke_agent planner");
    let part = find(&spans, "part");
    for (span, context) in [(agent, outer), (part, inner)] {
        assert_eq!(
            Some(span.span_context.trace_id().to_string()),
            context.trace_id.map(|id| id.to_string())
        );
        assert_eq!(
            Some(span.span_context.span_id().to_string()),
            context.span_id.map(|id| id.to_string())
        );
    }
    assert_eq!(agent.parent_span_id, SpanId::INVALID);
    assert_eq!(part.parent_span_id, agent.span_context.span_id());
    assert!(agent.start_time <= part.start_time && part.end_time <= agent.end_time);
}

#[tokio::test]
async fn names_kinds_and_attributes_follow_the_conventions() {
    let ctx = RunContext::detached();
    let tools = tools();
    let work = trace::agent("planner", async {
        let used = ModelUsage::new(
            "gpt-5-mini-2025-08-07",
            TokenUsage {
                input: 900,
                cached: 800,
                input_audio: 300,
                output: 40,
                reasoning: 25,
                ..TokenUsage::default()
            },
        );
        trace::llm("gpt-5-mini", async {
            trace::record(
                used.provider("openai")
                    .service_tier("flex")
                    .response_id("r1")
                    .tool_call("c1", "look_up"),
            );
        })
        .await;
        tools.call("look_up", r#"{"what":"rust"}"#, &ctx).await;
    });
    let context = DistributedContext::new()
        .run_id("run 1")
        .customer_id("acme");
    let spans = SpanRecorder::record(async { trace::import(context, work).await }).await;

    let agent = find(&spans, "invoke_agent planner");
    assert_eq!(
        (agent.span_kind.clone(), agent.status.clone()),
        (SpanKind::Internal, Status::Unset)
    );
    assert_eq!(
        text(agent, "gen_ai.operation.name").as_deref(),
        Some("invoke_agent")
    );
    assert_eq!(text(agent, "tool_core.run_id").as_deref(), Some("run 1"));
    assert_eq!(
        text(agent, "tool_core.customer_id").as_deref(),
        Some("acme")
    );
    // The usage is on the `llm` span only.
    assert_eq!(value(agent, "gen_ai.usage.input_tokens"), None);

    let chat = find(&spans, "chat gpt-5-mini");
    assert_eq!(chat.span_kind, SpanKind::Client);
    for (key, expected) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "gpt-5-mini"),
        ("gen_ai.response.model", "gpt-5-mini-2025-08-07"),
        ("gen_ai.response.id", "r1"),
        ("tool_core.service_tier", "flex"),
        ("gen_ai.agent.name", "planner"),
        ("tool_core.tool_calls", r#"["look_up"]"#),
    ] {
        assert_eq!(text(chat, key).as_deref(), Some(expected), "{key}");
    }
    for (key, expected) in [
        ("gen_ai.usage.input_tokens", Some(900)),
        ("gen_ai.usage.cache_read.input_tokens", Some(800)),
        ("gen_ai.usage.cache_write.input_tokens", None),
        ("gen_ai.usage.output_tokens", Some(40)),
        ("gen_ai.usage.reasoning.output_tokens", Some(25)),
        ("tool_core.usage.audio.input_tokens", Some(300)),
        ("tool_core.usage.audio.output_tokens", None),
    ] {
        assert_eq!(value(chat, key), expected.map(Value::I64), "{key}");
    }

    let call = find(&spans, "execute_tool look_up");
    assert_eq!(call.span_kind, SpanKind::Internal);
    assert_eq!(text(call, "gen_ai.tool.name").as_deref(), Some("look_up"));
    assert_eq!(text(call, "gen_ai.tool.type").as_deref(), Some("function"));
    assert_eq!(text(call, "gen_ai.agent.name").as_deref(), Some("planner"));
    assert_eq!(value(call, "tool_core.cost.usd"), Some(Value::F64(0.00003)));

    let request = find(&spans, "GET example.com");
    assert_eq!(request.span_kind, SpanKind::Client);
    assert_eq!(
        value(request, "http.response.status_code"),
        Some(Value::I64(200))
    );
}

// S1, S5
#[tokio::test]
async fn exports_the_error_of_a_failed_span() {
    let ctx = RunContext::detached();
    let tools = tools();
    let spans = SpanRecorder::record(trace::agent("planner", async {
        tools.call("look_up", r#"{"what":""}"#, &ctx).await;
        tools.call("broken", "{}", &ctx).await;
        let endless = trace::section("endless", std::future::pending::<()>());
        let _ = tokio::time::timeout(std::time::Duration::from_millis(1), endless).await;
        let _ = trace::try_section("failing", async { Err::<(), _>(std::fmt::Error) }).await;
    }))
    .await;
    for (name, kind, description) in [
        ("execute_tool look_up", "PERMANENT", "nothing\\nto look up"),
        ("execute_tool broken", "panicked", ""),
        ("endless", "cancelled", "cancelled"),
        ("failing", "core::fmt::Error", "core::fmt::Error"),
    ] {
        let span = find(&spans, name);
        assert_eq!(text(span, "error.type").as_deref(), Some(kind), "{name}");
        let Status::Error { description: found } = &span.status else {
            panic!("{name}: {:?}", span.status)
        };
        assert!(found.contains(description), "{name}: {found}");
    }
    assert_eq!(
        value(find(&spans, "invoke_agent planner"), "error.type"),
        None
    );
}

#[tokio::test]
async fn exports_the_id_of_a_models_call() {
    let runtime = tool_core::Runtime::builder(tools())
        .build()
        .expect("runtime");
    let session = runtime
        .session("s1", tool_core::Mode::Text)
        .await
        .expect("session");
    let spans =
        SpanRecorder::record(session.call(ToolCall::new("call_7", "look_up", r#"{"what":"a"}"#)))
            .await;
    assert_eq!(
        text(find(&spans, "execute_tool look_up"), "gen_ai.tool.call.id").as_deref(),
        Some("call_7")
    );
}

#[tokio::test]
async fn leaves_out_content_if_disabled() {
    let work = || {
        trace::section("a", async {
            trace::attribute("gen_ai.tool.call.arguments", r#"{"what":"rust"}"#);
            trace::attribute("kept", serde_json::json!({"a": [1, 2]}));
            trace::attribute("texts", serde_json::json!(["x", "y\n"]));
        })
    };
    for (content, expected) in [(true, Some(r#"{"what":"rust"}"#)), (false, None)] {
        let recorder = SpanRecorder::default();
        let otel = Otel::otlp()
            .content(content)
            .build_with(recorder.clone(), tests::MetricsSink);
        Collector::builder()
            .sink(otel.clone())
            .build()
            .run(work())
            .await;
        otel.flush().expect("flushed");
        let spans = recorder.spans();
        assert_eq!(
            text(find(&spans, "a"), "gen_ai.tool.call.arguments").as_deref(),
            expected
        );
        assert_eq!(
            text(find(&spans, "a"), "kept").as_deref(),
            Some(r#"{"a":[1,2]}"#)
        );
        assert_eq!(
            text(find(&spans, "a"), "texts").as_deref(),
            Some(r#"["x","y\n"]"#)
        );
    }
    for (value, expected) in [
        ("true", true),
        ("TRUE", true),
        ("span_only", true),
        ("false", false),
        ("", false),
    ] {
        assert_eq!(wants_content(value), expected, "{value}");
    }
}

#[tokio::test]
async fn escapes_control_characters() {
    let spans = SpanRecorder::record(trace::agent("a\u{1b}[2J\nb", async {})).await;
    let span = find(&spans, "invoke_agent a\\u{1b}[2J\\nb");
    assert_eq!(
        text(span, "gen_ai.agent.name").as_deref(),
        Some("a\\u{1b}[2J\\nb")
    );
}

#[tokio::test]
async fn escapes_control_characters_in_json() {
    let spans = SpanRecorder::record(trace::section("a", async {
        trace::attribute("object", serde_json::json!({"k\u{9b}": "a\u{7f}\n"}));
        trace::attribute("mixed", serde_json::json!([1, "\u{9b}2J"]));
    }))
    .await;
    let span = find(&spans, "a");
    assert_eq!(
        text(span, "object").as_deref(),
        Some(r#"{"k\u009b":"a\u007f\n"}"#)
    );
    assert_eq!(text(span, "mixed").as_deref(), Some(r#"[1,"\u009b2J"]"#));
}

// S9
#[tokio::test]
async fn continues_remote_traces_and_skips_unsampled_ones() {
    let parent = |flags| {
        let parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
        DistributedContext::from_pairs([
            ("traceparent", parent.as_str()),
            ("tracestate", "a=1,b=2"),
        ])
    };
    let part =
        |flags| async move { trace::import(parent(flags), trace::section("part", async {})).await };
    let spans = SpanRecorder::record(part("01")).await;
    let span = find(&spans, "part");
    assert_eq!(
        span.span_context.trace_id().to_string(),
        "4bf92f3577b34da6a3ce929d0e0e4736"
    );
    assert_eq!(span.parent_span_id.to_string(), "00f067aa0ba902b7");
    assert!(span.parent_span_is_remote);
    assert_eq!(span.span_context.trace_state().header(), "a=1,b=2");

    assert!(SpanRecorder::record(part("00")).await.is_empty());
    let recorder = SpanRecorder::default();
    let otel = Otel::otlp()
        .export_unsampled(true)
        .build_with(recorder.clone(), tests::MetricsSink);
    Collector::builder()
        .sink(otel.clone())
        .build()
        .run(part("00"))
        .await;
    otel.shutdown().expect("nothing fails");
    assert_eq!((recorder.spans().len(), otel.dropped()), (1, 0));
}

#[test]
fn provider_names_follow_the_conventions() {
    for (ours, theirs) in [
        ("openai", "openai"),
        ("google", "gcp.gen_ai"),
        ("aws", "aws.bedrock"),
        ("own", "own"),
    ] {
        assert_eq!(provider_name(ours), theirs);
    }
}
