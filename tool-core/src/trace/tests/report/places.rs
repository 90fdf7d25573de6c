//! Nodes of spans that a report does not have, and of spans that run while it is made.

use crate::trace;
use crate::trace::collector::Collector;
use crate::trace::cost::Cost;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::propagation::DistributedContext;
use crate::trace::record::NodeState;
use crate::trace::record::SpanRecord;
use crate::trace::report::tree::Report;
use crate::trace::tests::report::fixture::hostile;

fn states(report: &Report) -> Vec<(String, NodeState, usize)> {
    report
        .nodes()
        .map(|node| (node.label(), node.state(), node.depth()))
        .collect()
}

// S9, S10
#[test]
fn missing_parents_have_nodes_with_their_state() {
    let report = hostile();
    let found = states(&report)
        .into_iter()
        .filter(|(_, state, _)| state.is_missing())
        .collect::<Vec<_>>();
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
async fn a_report_inside_an_agent_shows_it_running_with_its_cost() {
    let collector = Collector::new();
    let work = async {
        trace::section("done", async {}).await;
        trace::record_cost("search", Cost::micros(3));
        trace::section("now", async { trace::report() }).await
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
    assert_eq!(
        report.totals().agents.keys().collect::<Vec<_>>(),
        ["planner"]
    );
    assert_eq!(
        report
            .running()
            .iter()
            .map(SpanRecord::label)
            .collect::<Vec<_>>(),
        ["agent:planner", "section:now"]
    );
    // The cost counts once when the agent ends.
    let after = collector.report();
    assert_eq!((after.totals().total.uses, after.running().len()), (1, 0));
}

#[tokio::test]
async fn a_report_has_no_running_spans_of_other_collectors() {
    let one = Collector::new();
    let two = Collector::new();
    let report = one
        .run(trace::agent("planner", async { two.report() }))
        .await;
    assert_eq!(states(&report), []);
}

// S10
#[tokio::test]
async fn dropped_parents_differ_from_open_ones() {
    let collector = Collector::builder().keep(1).build();
    let (spawn, mut spawned) = tokio::sync::mpsc::unbounded_channel();
    let work = async {
        spawn
            .send(trace::in_current_span(trace::section("late", async {})))
            .expect("somebody takes it");
    };
    collector.run(trace::agent("gone", work)).await;
    spawned.recv().await.expect("a task").await;
    assert_eq!(
        states(&collector.report())
            .first()
            .map(|(label, ..)| label.as_str()),
        Some("(dropped)")
    );

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
    assert_eq!(
        states(&report).first().map(|(label, ..)| label.as_str()),
        Some("(open)")
    );
}

// S9
#[tokio::test]
async fn a_remote_span_is_the_root_of_imported_spans() {
    let collector = Collector::new();
    let process = TraceId::random();
    let span = SpanId::random();
    let context = DistributedContext::new().parent(process, span);
    // Importing a customer keeps the parent.
    let customer = || DistributedContext::new().customer_id("acme");
    let work =
        async { trace::import(customer(), async { trace::agent("there", async {}).await }).await };
    collector
        .run(async { trace::import(context, work).await })
        .await;
    let report = collector.report();
    let states = states(&report)
        .into_iter()
        .map(|(label, state, depth)| format!("{label} {state:?} {depth}"));
    assert_eq!(
        states.collect::<Vec<_>>(),
        ["(remote) Remote 0", "agent:there Ended 1"]
    );
    let root = report.roots().next().expect("a root");
    assert_eq!((root.trace_id(), root.span_id()), (process, span));
}

// S9
#[tokio::test]
async fn a_context_can_return_to_its_own_process() {
    let collector = Collector::new();
    let work = async {
        let context = trace::export();
        trace::import(context, async { trace::agent("b", async {}).await }).await;
    };
    collector.run(trace::agent("a", work)).await;
    assert_eq!(collector.report().outline(), "agent:a > agent:b");
}
