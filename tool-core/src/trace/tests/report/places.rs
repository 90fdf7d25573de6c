//! What stands in the place of spans that a report does not have, and spans that go on while it is made.

use crate::trace;
use crate::trace::collector::Collector;
use crate::trace::cost::Cost;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::propagation::DistributedContext;
use crate::trace::report::tree::NodeState;
use crate::trace::tests::report::fixture::hostile;
use crate::trace::{record, report};

fn states(report: &report::Report) -> Vec<(String, NodeState, usize)> {
    report.nodes().map(|node| (node.label(), node.state(), node.depth())).collect()
}

// S9, S10
#[test]
fn spans_that_are_not_there_have_a_place_that_says_why() {
    let report = hostile();
    let found = states(&report).into_iter().filter(|(_, state, _)| state.is_missing()).collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            ("(dropped)".to_owned(), NodeState::Dropped, 0),
            ("(remote)".to_owned(), NodeState::Remote, 0),
            ("(open)".to_owned(), NodeState::Open, 0),
        ]
    );
}

#[tokio::test]
async fn a_report_made_inside_of_an_agent_shows_the_agent_as_running_with_what_it_spent() {
    let collector = Collector::new();
    let work = async {
        trace::section("done", async {}).await;
        trace::record_cost("search", Cost::micros(3));
        trace::section("now", async { report() }).await
    };
    let report = collector.run(trace::agent("planner", work)).await;
    assert_eq!(
        states(&report),
        [
            ("agent:planner".to_owned(), NodeState::Running, 0),
            ("section:done".to_owned(), NodeState::Ended, 1),
            ("section:now".to_owned(), NodeState::Running, 1),
        ]
    );
    assert_eq!(report.totals().tracked.cost, Cost::micros(3));
    assert_eq!(report.totals().agents.keys().collect::<Vec<_>>(), ["planner"]);
    assert_eq!(
        report.running().iter().map(record::SpanRecord::label).collect::<Vec<_>>(),
        ["agent:planner", "section:now"]
    );
    // What was spent counts once when the agent ends.
    let after = collector.report();
    assert_eq!((after.totals().total.uses, after.running().len()), (1, 0));
}

#[tokio::test]
async fn a_report_of_another_collector_knows_nothing_of_the_spans_around_it() {
    let (one, two) = (Collector::new(), Collector::new());
    let report = one.run(trace::agent("planner", async { two.report() })).await;
    assert_eq!(states(&report), []);
}

// S10
#[tokio::test]
async fn a_parent_that_ended_before_its_child_and_was_dropped_is_told_from_one_that_is_open() {
    let collector = Collector::builder().keep(1).build();
    let (spawn, mut spawned) = tokio::sync::mpsc::unbounded_channel();
    let work =
        async { spawn.send(trace::in_current_span(trace::section("late", async {}))).expect("somebody takes it") };
    collector.run(trace::agent("gone", work)).await;
    spawned.recv().await.expect("a task").await;
    assert_eq!(states(&collector.report()).first().map(|(label, ..)| label.as_str()), Some("(dropped)"));

    let collector = Collector::builder().keep(1).build();
    let (send, receive) = tokio::sync::oneshot::channel::<()>();
    let busy = async {
        trace::section("done", async {}).await;
        receive.await
    };
    let look = async {
        let report = collector.report();
        send.send(()).expect("it waits");
        report
    };
    let (_, report) = tokio::join!(biased; collector.run(trace::agent("busy", busy)), look);
    assert_eq!(states(&report).first().map(|(label, ..)| label.as_str()), Some("(open)"));
}

// S9
#[tokio::test]
async fn a_span_of_another_process_stands_above_what_was_imported_under_it() {
    let collector = Collector::new();
    let (process, span) = (TraceId::random(), SpanId::random());
    let context = DistributedContext::new().parent(process, span);
    // For another customer it is still the same place.
    let customer = || DistributedContext::new().customer_id("acme");
    let work = async { trace::import(customer(), async { trace::agent("there", async {}).await }).await };
    collector.run(async { trace::import(context, work).await }).await;
    let report = collector.report();
    let states = states(&report).into_iter().map(|(label, state, depth)| format!("{label} {state:?} {depth}"));
    assert_eq!(states.collect::<Vec<_>>(), ["(remote) Remote 0", "agent:there Ended 1"]);
    let root = report.roots().next().expect("a root");
    assert_eq!((root.trace_id(), root.span_id()), (process, span));
}

// S9
#[tokio::test]
async fn a_context_that_comes_back_to_its_own_process_hangs_from_its_span() {
    let collector = Collector::new();
    let work = async {
        let context = trace::export();
        trace::import(context, async { trace::agent("b", async {}).await }).await;
    };
    collector.run(trace::agent("a", work)).await;
    assert_eq!(collector.report().outline(), "agent:a > agent:b");
}
