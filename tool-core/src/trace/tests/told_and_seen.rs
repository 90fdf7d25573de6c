//! One request told and seen, several requests, and where their spans go. S6, S7

use crate::call::context::RunContext;
use crate::registry::ToolContext;
use crate::trace;
use crate::trace::collector::Collector;
use crate::trace::cost::{Cost, TokenUsage};
use crate::trace::propagation::DistributedContext;
use crate::trace::record;
use crate::trace::usage::ModelUsage;
use tool_macros::tool;

fn used(input: u64) -> ModelUsage {
    ModelUsage::new("m", TokenUsage { input, ..TokenUsage::default() })
}

async fn tokens(work: impl Future) -> (u64, u64) {
    let collector = Collector::new();
    collector.run(trace::llm("m", work)).await;
    let total = collector.totals().total;
    (total.usage.input, total.uses)
}

// S6
#[tokio::test]
async fn what_is_told_without_tokens_does_not_hide_those_that_were_seen() {
    let work = async {
        trace::http("POST host", async { trace::observe(used(1_200)) }).await;
        record(ModelUsage::default());
    };
    assert_eq!(tokens(work).await, (1_200, 1));
    let later = async {
        record(ModelUsage::default());
        trace::observe(used(1_200));
    };
    assert_eq!(tokens(later).await, (1_200, 1));
}

// S6
#[tokio::test]
async fn an_attempt_that_was_seen_counts_beside_the_one_that_is_told() {
    let work = async {
        trace::observe(used(10).response_id("m1"));
        trace::observe(used(20).response_id("m2"));
        record(used(20).response_id("m2"));
        trace::observe(used(30).response_id("m3"));
    };
    assert_eq!(tokens(work).await, (60, 3));
}

// S6
#[tokio::test]
async fn what_is_seen_of_a_told_response_late_and_in_part_does_not_count() {
    let work = async {
        record(used(20).response_id("m"));
        trace::observe(used(7).response_id("m"));
        trace::observe(used(7));
    };
    assert_eq!(tokens(work).await, (20, 1));
}

// S7
#[tokio::test]
async fn responses_of_one_id_that_used_different_tokens_are_different_responses() {
    let work = async {
        record(used(20).response_id("constant"));
        record(used(21).response_id("constant"));
        record(used(21).response_id("constant"));
    };
    assert_eq!(tokens(work).await, (41, 2));
}

// S12
#[tokio::test]
async fn a_collector_inside_a_span_has_what_is_run_with_it_also_where_that_was_made_before() {
    let (outer, inner) = (Collector::new(), Collector::new());
    outer.run(trace::agent("a", async { inner.run(trace::agent("b", async {})).await })).await;
    assert_eq!(inner.report().spans().iter().map(record::SpanRecord::name).collect::<Vec<_>>(), ["b"]);
    assert_eq!(outer.report().spans().iter().map(record::SpanRecord::name).collect::<Vec<_>>(), ["a"]);
}

// S9
#[tokio::test]
async fn a_customer_that_is_imported_inside_a_span_is_that_of_the_work() {
    let collector = Collector::new();
    let acme = DistributedContext::new().customer_id("acme");
    let work =
        async { trace::import(&acme, trace::agent("b", async { trace::record_cost("x", Cost::micros(1)) })).await };
    collector.run(trace::agent("a", work)).await;
    let report = collector.report();
    let [b, a] = report.spans() else { panic!("{report:?}") };
    assert_eq!((b.customer_id(), b.parent()), (Some("acme"), Some(a.span_id())));
    assert!(report.totals().customers.contains_key("acme"));
}

#[tokio::test]
async fn a_span_that_goes_on_for_long_keeps_sums() {
    let collector = Collector::new();
    let work = async { (0..10_000).for_each(|_| trace::record_cost("x", Cost::micros(1))) };
    collector.run(trace::agent("a", work)).await;
    let report = collector.report();
    assert!(report.spans()[0].spent().len() <= 256);
    assert_eq!((report.totals().total.cost, report.totals().total.uses), (Cost::micros(10_000), 10_000));
}

#[tokio::test]
async fn names_and_ids_that_are_made_up_are_cut() {
    let collector = Collector::new();
    let long = "x".repeat(1 << 20);
    let told =
        ModelUsage::new(long.clone(), TokenUsage { input: 1, ..TokenUsage::default() }).response_id(long.clone());
    collector.run(trace::llm("m", async { record(told.tool_call(long.clone(), long)) })).await;
    let report = collector.report();
    let spent = &report.spans()[0].spent()[0].used;
    assert_eq!((spent.model.len(), spent.response_id.as_ref().map(String::len)), (256, Some(256)));
    assert_eq!(spent.tool_calls[0].1.len(), 256);
}

/// A tool that asks a geocoder.
#[tool]
fn places_of_the_process(ctx: &RunContext) {
    ctx.record_cost("geocoder", Cost::micros(500));
}

// S6
#[tokio::test]
async fn what_a_tool_spends_is_the_tools_where_nobody_looked_when_it_was_called() {
    let tools = ToolContext::builder().with(places_of_the_process).build().expect("tools");
    tools.call("places_of_the_process", "{}", &RunContext::detached()).await;
    let totals = trace::collector().totals();
    assert_eq!(totals.tools.get("places_of_the_process").map(|sum| sum.cost), Some(Cost::micros(500)));
}
