//! The memory of spans in the buffer of a collector, counted by the allocator. This is a separate binary, as a process
//! has one allocator.

#[path = "../benches/counting.rs"]
mod counting;

use std::hint::black_box;
use tool_core::trace::{self, Collector, ModelUsage, SpanKind, SpanStatus, TokenUsage};
use tool_core::{RunContext, ToolContext, ToolError, tool};

/// The number of spans that a collector keeps.
const SPANS: i64 = 10_000;
/// The maximum size of a span without captured values, in bytes.
const MOST: i64 = 256;

/// Do nothing.
#[tool]
fn nothing() {}

/// Fail.
#[tool]
fn fail() -> Result<(), ToolError> {
    Err(ToolError::permanent("it fails"))
}

/// Returns the bytes for each of 10,000 spans, after `work` for every number.
fn bytes_each(what: &str, work: impl Fn(&Collector, i64)) -> i64 {
    // Values that are created at the first use exist before.
    work(&Collector::new(), 0);
    let collector = Collector::new();
    let before = counting::bytes();
    (0..SPANS).for_each(|number| work(&collector, number));
    let each = (counting::bytes() - before) / SPANS;
    let report = collector.report();
    assert_eq!((report.spans().len(), report.dropped()), (10_000, 0));
    black_box(collector);
    println!("{what}: {each} bytes");
    each
}

fn of_calls(what: &str, tool: &str, status: SpanStatus) -> i64 {
    let tools = ToolContext::builder()
        .with(nothing)
        .with(fail)
        .build()
        .expect("sound tools");
    let ctx = RunContext::detached();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let call =
        |collector: &Collector| runtime.block_on(collector.run(tools.call(tool, "{}", &ctx)));
    let collector = Collector::new();
    call(&collector);
    assert_eq!(
        collector
            .report()
            .spans()
            .first()
            .map(trace::SpanRecord::status),
        Some(status)
    );
    bytes_each(what, |collector, _| drop(call(collector)))
}

fn in_a_trace(collector: &Collector, name: impl Into<std::borrow::Cow<'static, str>>) {
    collector.run_sync(|| trace::in_scope(SpanKind::Section, name, || ()));
}

#[test]
fn a_span_takes_at_most_256_bytes_in_the_buffer() {
    let each = [
        bytes_each("a section, each in its own trace", |collector, _| {
            in_a_trace(collector, "part");
        }),
        bytes_each("the same with a name made at run time", |collector, n| {
            in_a_trace(collector, format!("part {n}"));
        }),
        of_calls("a call, each in its own trace", "nothing", SpanStatus::Ok),
        of_calls(
            "a call that fails, with its message",
            "fail",
            SpanStatus::Error,
        ),
    ];
    assert!(each.iter().all(|bytes| *bytes <= MOST), "{each:?}");
}

#[test]
fn span_of_a_shared_trace_takes_one_record() {
    let collector = Collector::new();
    in_a_trace(&collector, "first");
    let before = counting::bytes();
    let inside = || (1..SPANS).for_each(|_| trace::in_scope(SpanKind::Section, "part", || ()));
    collector.run_sync(|| trace::in_scope(SpanKind::Agent, "planner", inside));
    let each = (counting::bytes() - before) / SPANS;
    println!("a section inside of an agent: {each} bytes");
    assert!(each <= 136, "{each}");
}

#[test]
fn model_usage_doubles_the_memory_of_a_span() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let ask = |collector: &Collector, number: i64| {
        let used = ModelUsage::new(
            "gpt-5-mini",
            TokenUsage {
                input: 5,
                ..TokenUsage::default()
            },
        );
        let used = used
            .provider("openai")
            .response_id(format!("resp_{number}"));
        runtime.block_on(collector.run(trace::llm("gpt-5-mini", async { trace::record(used) })));
    };
    let each = bytes_each("a question with what it used", ask);
    assert!(each <= 2 * MOST, "{each}");
}
