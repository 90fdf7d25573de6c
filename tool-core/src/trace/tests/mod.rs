//! Trees of spans whose futures are concurrent, dropped, nested or panic.

mod attribution;
mod propagation;
mod redaction;
mod report;

use crate::call::context::RunContext;
use crate::registry::ToolContext;
use crate::trace;
use crate::trace::collector::Collector;
use crate::trace::record;
use crate::trace::record::{SpanKind, SpanStatus};
use crate::trace::usage::ModelUsage;
use crate::trace::usage::TokenUsage;
use futures_util::FutureExt;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tool_macros::tool;

/// A tool that does nothing.
#[tool]
async fn quiet() {}

/// A tool that blocks for ever.
#[tool]
async fn endless() {
    std::future::pending::<()>().await;
}

/// A tool that panics.
#[tool]
fn broken() -> u8 {
    panic!("boom")
}

/// Returns the labels from the root to each span and its status, in the order in which the spans ended.
fn paths(collector: &Collector) -> Vec<(String, SpanStatus)> {
    let report = collector.report();
    let by_id = report
        .spans()
        .iter()
        .map(|span| (span.span_id(), span))
        .collect::<BTreeMap<_, _>>();
    let path = |span: &record::SpanRecord| {
        let mut labels = vec![span.label()];
        let mut at = span.parent();
        while let Some(parent) = at.and_then(|id| by_id.get(&id)) {
            labels.push(parent.label());
            at = parent.parent();
        }
        labels.reverse();
        (labels.join("/"), span.status())
    };
    report.spans().iter().map(path).collect()
}

// S2
#[tokio::test]
async fn concurrent_spans_are_siblings() {
    let collector = Collector::new();
    let child = |name| trace::section(name, async { tokio::task::yield_now().await });
    collector
        .run(trace::agent("a", async {
            tokio::join!(child("x"), child("y"))
        }))
        .await;
    let ok = SpanStatus::Ok;
    let expected = [
        ("agent:a/section:x".into(), ok),
        ("agent:a/section:y".into(), ok),
        ("agent:a".into(), ok),
    ];
    // The executor may poll either first.
    let mut found = paths(&collector);
    found.sort_by(|one, other| other.0.len().cmp(&one.0.len()).then(one.0.cmp(&other.0)));
    assert_eq!(found, expected);
}

// S2
#[tokio::test]
async fn a_task_bound_to_the_span_is_its_child() {
    let collector = Collector::new();
    let work = async {
        tokio::spawn(trace::in_current_span(async {
            trace::section("x", async {}).await;
        }))
        .await
    };
    collector
        .run(trace::agent("a", work))
        .await
        .expect("joined");
    assert_eq!(
        paths(&collector).first().map(|(path, _)| path.as_str()),
        Some("agent:a/section:x")
    );
}

// S2
#[tokio::test]
async fn a_span_made_as_the_work_of_another_is_its_child() {
    let collector = Collector::new();
    let work = async { trace::section("x", trace::section("y", async {})).await };
    collector.run(trace::agent("a", work)).await;
    assert_eq!(
        paths(&collector).first().map(|(path, _)| path.as_str()),
        Some("agent:a/section:x/section:y")
    );
}

// S1
#[tokio::test]
async fn a_dropped_future_closes_its_spans_as_cancelled() {
    let collector = Collector::new();
    let tools = ToolContext::builder().with(endless).build().expect("tools");
    let ctx = RunContext::detached();
    let work = collector.run(trace::agent("a", tools.call("endless", "{}", &ctx)));
    assert!(
        tokio::time::timeout(Duration::from_millis(5), work)
            .await
            .is_err()
    );
    let cancelled = SpanStatus::Cancelled;
    assert_eq!(
        paths(&collector),
        [
            ("agent:a/tool:endless".into(), cancelled),
            ("agent:a".into(), cancelled)
        ]
    );
}

// S1
#[tokio::test]
async fn a_panic_closes_all_spans_around_it() {
    let collector = Collector::new();
    let work = collector.run(trace::agent(
        "a",
        trace::section("x", async { panic!("boom") }),
    ));
    assert!(AssertUnwindSafe(work).catch_unwind().await.is_err());
    let panicked = SpanStatus::Panicked;
    assert_eq!(
        paths(&collector),
        [
            ("agent:a/section:x".into(), panicked),
            ("agent:a".into(), panicked)
        ]
    );
}

// S1
#[tokio::test]
async fn a_caught_panic_marks_the_span_of_the_tool() {
    let collector = Collector::new();
    let tools = ToolContext::builder().with(broken).build().expect("tools");
    collector
        .run(tools.call("broken", "{}", &RunContext::detached()))
        .await;
    assert_eq!(
        paths(&collector).first(),
        Some(&("tool:broken".into(), SpanStatus::Panicked))
    );
}

// S12
#[tokio::test]
async fn two_collectors_in_one_process_do_not_mix() {
    let one = Collector::new();
    let two = Collector::new();
    let tools = ToolContext::builder().with(quiet).build().expect("tools");
    let ctx = RunContext::detached();
    tokio::join!(
        one.run(trace::agent("a", tools.call("quiet", "{}", &ctx))),
        two.run(trace::agent("b", async {}))
    );
    assert_eq!(
        paths(&one)
            .iter()
            .map(|(path, _)| path.as_str())
            .collect::<Vec<_>>(),
        ["agent:a/tool:quiet", "agent:a"]
    );
    assert_eq!(
        paths(&two)
            .iter()
            .map(|(path, _)| path.as_str())
            .collect::<Vec<_>>(),
        ["agent:b"]
    );
}

// S10
#[tokio::test]
async fn a_full_buffer_drops_and_counts_the_oldest_span() {
    let collector = Collector::builder().keep(2).build();
    for name in ["a", "b", "c"] {
        collector.run(trace::agent(name, async {})).await;
    }
    let report = collector.report();
    assert_eq!(
        report
            .spans()
            .iter()
            .map(record::SpanRecord::name)
            .collect::<Vec<_>>(),
        ["b", "c"]
    );
    assert_eq!(report.dropped(), 1);
}

// S6, S7
#[tokio::test]
async fn recorded_usage_replaces_observed_usage() {
    let collector = Collector::new();
    let used = |input| {
        ModelUsage::new(
            "m",
            TokenUsage {
                input,
                ..TokenUsage::default()
            },
        )
    };
    let work = trace::llm("m", async {
        trace::http("POST host", async { trace::observe(used(7)) }).await;
        record(used(10));
    });
    collector.run(trace::agent("a", work)).await;
    assert_eq!(collector.report().totals().total.usage.input, 10);
}

// S6
#[tokio::test]
async fn usage_counts_for_the_agent_or_is_untracked() {
    let collector = Collector::new();
    let seen = || {
        trace::http("POST host", async {
            trace::observe(ModelUsage::new("m", TokenUsage::default()));
        })
    };
    collector.run(trace::section("s", seen())).await;
    collector.run(trace::agent("a", seen())).await;
    let report = collector.report();
    let paying = report
        .spans()
        .iter()
        .filter(|span| !span.spent().is_empty())
        .map(record::SpanRecord::label);
    assert_eq!(paying.collect::<Vec<_>>(), ["section:s", "agent:a"]);
    assert_eq!(
        (report.totals().tracked.uses, report.totals().untracked.uses),
        (1, 1)
    );
}

// S6
#[tokio::test]
async fn requests_of_a_tool_count_beside_the_model_request() {
    let collector = Collector::new();
    let used = |input| {
        ModelUsage::new(
            "m",
            TokenUsage {
                input,
                ..TokenUsage::default()
            },
        )
    };
    let inner = async { trace::in_scope(SpanKind::Tool, "t", || trace::observe(used(7))) };
    let work = trace::llm("m", async {
        record(used(10));
        inner.await;
    });
    collector.run(work).await;
    assert_eq!(collector.report().totals().total.usage.input, 17);
}

// S12
#[test]
fn a_thousand_nested_spans_are_recorded() {
    fn down(depth: u32) {
        if depth > 0 {
            trace::in_scope(SpanKind::Section, "deeper", || down(depth - 1));
        }
    }
    let collector = Collector::new();
    collector.run_sync(|| down(1_000));
    assert_eq!(collector.report().spans().len(), 1_000);
}
