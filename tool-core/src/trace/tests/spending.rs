//! On which span stands what was used, where several ask at once and some are over.

use crate::trace;
use crate::trace::collector::{Collector, Pricing};
use crate::trace::cost::{Cost, TokenUsage};
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::propagation::DistributedContext;
use crate::trace::record::SpanKind;
use crate::trace::usage::ModelUsage;

fn used(input: u64) -> ModelUsage {
    ModelUsage::new("m", TokenUsage { input, ..TokenUsage::default() })
}

/// The tokens that count.
fn tokens(collector: &Collector) -> u64 {
    collector.report().totals().total.usage.input
}

// S6
#[tokio::test]
async fn what_else_a_question_costs_does_not_take_the_place_of_what_was_seen_of_it() {
    let collector = Collector::new();
    let work = trace::llm("m", async {
        trace::record_cost("search", Cost::micros(1));
        trace::http("POST host", async { trace::observe(used(7)) }).await;
        trace::record_cost("search", Cost::micros(2));
    });
    collector.run(work).await;
    assert_eq!(tokens(&collector), 7);
    assert_eq!(collector.report().totals().total.cost, Cost::micros(3));
}

// S6: it pays for them, but it did not ask.
#[tokio::test]
async fn what_the_tasks_of_a_tool_that_is_over_use_counts_beside_the_question_that_pays_for_it() {
    let of_a_tool = |work: fn()| trace::in_scope(SpanKind::Tool, "t", || trace::in_current_span_sync(work));
    let collector = Collector::new();
    let work = async {
        trace::observe(used(1));
        of_a_tool(|| trace::record(used(10)))();
        of_a_tool(|| trace::observe(used(100)))();
    };
    collector.run(trace::llm("m", work)).await;
    assert_eq!(tokens(&collector), 111);

    let collector = Collector::new();
    let work = async {
        of_a_tool(|| trace::observe(used(100)))();
        trace::record(used(1));
    };
    collector.run(trace::llm("m", work)).await;
    assert_eq!(tokens(&collector), 101);
}

// S6, S7, S9
#[tokio::test]
async fn what_no_span_pays_is_for_the_customer_and_under_the_span_that_were_imported() {
    let collector = Collector::new();
    let context = DistributedContext::new().parent(TraceId::random(), SpanId::random()).customer_id("acme");
    collector.run(async { trace::import(&context, async { trace::record(used(1)) }).await }).await;
    let late = async {
        let work = trace::agent("a", async { trace::in_current_span_sync(|| trace::record(used(2))) });
        (work.await)();
    };
    collector.run(async { trace::import(DistributedContext::new().customer_id("acme"), late).await }).await;
    let report = collector.report();
    assert_eq!(report.totals().customers.get("acme").map(|sum| sum.usage.input), Some(3));
    assert_eq!(report.totals().untracked.usage.input, 3);
    let parents = report.spans().iter().map(|span| (span.label(), span.parent())).collect::<Vec<_>>();
    let (root, agent) = ("http:m".to_owned(), "agent:a".to_owned());
    assert_eq!(parents, [(root.clone(), context.span_id), (agent, None), (root, None)]);
}

// S6
#[test]
fn of_what_is_told_and_seen_at_once_only_what_is_told_counts() {
    for _ in 0..200 {
        let collector = Collector::new();
        let ask = || {
            std::thread::scope(|threads| {
                threads.spawn(trace::in_current_span_sync(|| trace::observe(used(1))));
                threads.spawn(trace::in_current_span_sync(|| trace::record(used(10))));
                threads.spawn(trace::in_current_span_sync(|| trace::observe(used(100).response_id("r"))));
            });
        };
        collector.run_sync(|| trace::in_scope(SpanKind::Llm, "m", ask));
        assert_eq!(tokens(&collector), 10);
    }
}

struct Broken;

impl Pricing for Broken {
    fn price(&self, _: &ModelUsage) -> Option<Cost> {
        panic!("no table")
    }
}

// S5
#[tokio::test]
async fn a_price_table_that_panics_leaves_the_use_without_a_price() {
    let collector = Collector::builder().pricing(Broken).build();
    collector.run(trace::agent("a", async { trace::record(used(5)) })).await;
    let total = collector.report().totals().total;
    assert_eq!((total.uses, total.unpriced, total.usage.input), (1, 1, 5));
}

// S6
#[tokio::test]
async fn a_response_that_comes_again_counts_once_among_as_many_as_are_remembered() {
    let collector = Collector::new();
    let work = async {
        for number in 0..5_000 {
            trace::record(used(1).response_id(number.to_string()));
            trace::record(used(1).response_id(number.to_string()));
        }
        trace::record(used(1).response_id("4999"));
    };
    collector.run(trace::agent("a", work)).await;
    assert_eq!(tokens(&collector), 5_000);
}
