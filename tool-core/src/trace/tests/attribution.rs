//! Attribution: recorded and observed responses, the spans that pay, and untracked usage.

use crate::call::context::RunContext;
use crate::registry::ToolContext;
use crate::trace;
use crate::trace::collector::Collector;
use crate::trace::cost::{Cost, Pricing};
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::propagation::DistributedContext;
use crate::trace::record::{SpanKind, SpanRecord};
use crate::trace::usage::{ModelUsage, TokenUsage};
use tool_macros::tool;

fn used(input: u64) -> ModelUsage {
    ModelUsage::new(
        "m",
        TokenUsage {
            input,
            ..TokenUsage::default()
        },
    )
}

/// Returns the input tokens and the uses of a model request.
async fn llm_usage(work: impl Future) -> (u64, u64) {
    let collector = Collector::new();
    collector.run(trace::llm("m", work)).await;
    let total = collector.totals().total;
    (total.usage.input, total.uses)
}

// S6
#[tokio::test]
async fn recorded_usage_without_tokens_keeps_observed_llm_usage() {
    let work = async {
        trace::http("POST host", async { trace::observe(used(1_200)) }).await;
        trace::record(ModelUsage::default());
    };
    assert_eq!(llm_usage(work).await, (1_200, 1));
    let later = async {
        trace::record(ModelUsage::default());
        trace::observe(used(1_200));
    };
    assert_eq!(llm_usage(later).await, (1_200, 1));
}

// S6
#[tokio::test]
async fn an_observed_attempt_counts_beside_a_recorded_one() {
    let work = async {
        trace::observe(used(10).response_id("m1"));
        trace::observe(used(20).response_id("m2"));
        trace::record(used(20).response_id("m2"));
        trace::observe(used(30).response_id("m3"));
    };
    assert_eq!(llm_usage(work).await, (60, 3));
}

// S6
#[tokio::test]
async fn late_observations_of_recorded_responses_do_not_count() {
    let work = async {
        trace::record(used(20).response_id("m"));
        trace::observe(used(7).response_id("m"));
        trace::observe(used(7));
    };
    assert_eq!(llm_usage(work).await, (20, 1));
}

// S7
#[tokio::test]
async fn responses_with_one_id_and_different_tokens_all_count() {
    let work = async {
        trace::record(used(20).response_id("constant"));
        trace::record(used(21).response_id("constant"));
        trace::record(used(21).response_id("constant"));
    };
    assert_eq!(llm_usage(work).await, (41, 2));
}

// S12
#[tokio::test]
async fn a_collector_inside_a_span_receives_its_own_spans() {
    let outer = Collector::new();
    let inner = Collector::new();
    outer
        .run(trace::agent("a", async {
            inner.run(trace::agent("b", async {})).await;
        }))
        .await;
    assert_eq!(
        inner
            .report()
            .spans()
            .iter()
            .map(SpanRecord::name)
            .collect::<Vec<_>>(),
        ["b"]
    );
    assert_eq!(
        outer
            .report()
            .spans()
            .iter()
            .map(SpanRecord::name)
            .collect::<Vec<_>>(),
        ["a"]
    );
}

// S9
#[tokio::test]
async fn a_customer_imported_inside_a_span_counts_for_its_work() {
    let collector = Collector::new();
    let acme = DistributedContext::new().customer_id("acme");
    let work = async {
        trace::import(
            &acme,
            trace::agent("b", async { trace::record_cost("x", Cost::micros(1)) }),
        )
        .await;
    };
    collector.run(trace::agent("a", work)).await;
    let report = collector.report();
    let [b, a] = report.spans() else {
        panic!("{report:?}")
    };
    assert_eq!(
        (b.customer_id(), b.parent()),
        (Some("acme"), Some(a.span_id()))
    );
    assert!(report.totals().customers.contains_key("acme"));
}

#[tokio::test]
async fn a_span_with_many_uses_keeps_sums() {
    let collector = Collector::new();
    let work = async { (0..10_000).for_each(|_| trace::record_cost("x", Cost::micros(1))) };
    collector.run(trace::agent("a", work)).await;
    let report = collector.report();
    assert!(report.spans()[0].spent().len() <= 256);
    assert_eq!(
        (report.totals().total.cost, report.totals().total.uses),
        (Cost::micros(10_000), 10_000)
    );
}

#[tokio::test]
async fn sums_of_many_uses_keep_service_tiers_apart() {
    let collector = Collector::new();
    let work = async {
        for at in 0..600 {
            let used = ModelUsage::new(
                "m",
                TokenUsage {
                    input: 1,
                    ..TokenUsage::default()
                },
            );
            trace::record(if at % 2 == 0 {
                used.service_tier("flex")
            } else {
                used
            });
        }
    };
    collector.run(trace::agent("a", work)).await;
    let report = collector.report();
    let flex = report.spans()[0]
        .spent()
        .iter()
        .filter(|entry| entry.used.service_tier.is_some());
    assert_eq!(flex.map(|entry| entry.used.usage.input).sum::<u64>(), 300);
}

#[tokio::test]
async fn long_names_and_ids_are_truncated() {
    let collector = Collector::new();
    let long = "x".repeat(1 << 20);
    let told = ModelUsage::new(
        long.clone(),
        TokenUsage {
            input: 1,
            ..TokenUsage::default()
        },
    )
    .response_id(long.clone());
    let told = told.service_tier(long.clone());
    collector
        .run(trace::llm("m", async {
            trace::record(told.tool_call(long.clone(), long));
        }))
        .await;
    let report = collector.report();
    let spent = &report.spans()[0].spent()[0].used;
    assert_eq!(
        (
            spent.model.len(),
            spent.response_id.as_ref().map(String::len)
        ),
        (256, Some(256))
    );
    assert_eq!(
        (
            spent.tool_calls[0].1.len(),
            spent.service_tier.as_ref().map(|tier| tier.len())
        ),
        (256, Some(256))
    );
}

/// A tool that asks a geocoder.
#[tool]
fn geocode(ctx: &RunContext) {
    ctx.record_cost("geocoder", Cost::micros(500));
}

// S6
#[tokio::test]
async fn cost_in_an_untraced_call_counts_for_the_tool() {
    let tools = ToolContext::builder().with(geocode).build().expect("tools");
    tools.call("geocode", "{}", &RunContext::detached()).await;
    let totals = trace::collector().totals();
    assert_eq!(
        totals.tools.get("geocode").map(|sum| sum.cost),
        Some(Cost::micros(500))
    );
}

/// Returns the input tokens of all spans.
fn input_tokens(collector: &Collector) -> u64 {
    collector.report().totals().total.usage.input
}

// S6
#[tokio::test]
async fn recorded_service_cost_keeps_observed_usage() {
    let collector = Collector::new();
    let work = trace::llm("m", async {
        trace::record_cost("search", Cost::micros(1));
        trace::http("POST host", async { trace::observe(used(7)) }).await;
        trace::record_cost("search", Cost::micros(2));
    });
    collector.run(work).await;
    assert_eq!(input_tokens(&collector), 7);
    assert_eq!(collector.report().totals().total.cost, Cost::micros(3));
}

// S6: it pays for them, but it did not ask.
#[tokio::test]
async fn tasks_of_an_ended_tool_count_beside_the_model_request() {
    let of_a_tool =
        |work: fn()| trace::in_scope(SpanKind::Tool, "t", || trace::in_current_span_sync(work));
    let collector = Collector::new();
    let work = async {
        trace::observe(used(1));
        of_a_tool(|| trace::record(used(10)))();
        of_a_tool(|| trace::observe(used(100)))();
    };
    collector.run(trace::llm("m", work)).await;
    assert_eq!(input_tokens(&collector), 111);

    let collector = Collector::new();
    let work = async {
        of_a_tool(|| trace::observe(used(100)))();
        trace::record(used(1));
    };
    collector.run(trace::llm("m", work)).await;
    assert_eq!(input_tokens(&collector), 101);
}

// S6, S7, S9
#[tokio::test]
async fn untracked_usage_keeps_the_imported_parent_and_customer() {
    let collector = Collector::new();
    let context = DistributedContext::new()
        .parent(TraceId::random(), SpanId::random())
        .customer_id("acme");
    collector
        .run(async { trace::import(&context, async { trace::record(used(1)) }).await })
        .await;
    let late = async {
        let work = trace::agent("a", async {
            trace::in_current_span_sync(|| trace::record(used(2)))
        });
        (work.await)();
    };
    collector
        .run(async { trace::import(DistributedContext::new().customer_id("acme"), late).await })
        .await;
    let report = collector.report();
    assert_eq!(
        report
            .totals()
            .customers
            .get("acme")
            .map(|sum| sum.usage.input),
        Some(3)
    );
    assert_eq!(report.totals().untracked.usage.input, 3);
    let parents = report
        .spans()
        .iter()
        .map(|span| (span.label(), span.parent()))
        .collect::<Vec<_>>();
    let root = "http:m".to_owned();
    let agent = "agent:a".to_owned();
    assert_eq!(
        parents,
        [(root.clone(), context.span_id), (agent, None), (root, None)]
    );
}

// S6
#[test]
fn concurrent_observations_do_not_count_beside_a_record() {
    for _ in 0..200 {
        let collector = Collector::new();
        let ask = || {
            std::thread::scope(|threads| {
                threads.spawn(trace::in_current_span_sync(|| trace::observe(used(1))));
                threads.spawn(trace::in_current_span_sync(|| trace::record(used(10))));
                threads.spawn(trace::in_current_span_sync(|| {
                    trace::observe(used(100).response_id("r"));
                }));
            });
        };
        collector.run_sync(|| trace::in_scope(SpanKind::Llm, "m", ask));
        assert_eq!(input_tokens(&collector), 10);
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
async fn a_panicking_price_table_leaves_the_use_unpriced() {
    let collector = Collector::builder().pricing(Broken).build();
    collector
        .run(trace::agent("a", async { trace::record(used(5)) }))
        .await;
    let total = collector.report().totals().total;
    assert_eq!((total.uses, total.unpriced, total.usage.input), (1, 1, 5));
}

// S6
#[tokio::test]
async fn repeated_responses_count_once() {
    let collector = Collector::new();
    let work = async {
        for number in 0..5_000 {
            trace::record(used(1).response_id(number.to_string()));
            trace::record(used(1).response_id(number.to_string()));
        }
        trace::record(used(1).response_id("4999"));
    };
    collector.run(trace::agent("a", work)).await;
    assert_eq!(input_tokens(&collector), 5_000);
}
