//! Runs and customers in baggage, limits, and imports.

use crate::trace;
use crate::trace::collector::Collector;
use crate::trace::propagation::{DistributedContext, MAX_BYTES, push_part};
use crate::trace::record;
use crate::trace::record::SpanKind;
use crate::trace::tests::propagation::{PARENT, with_parent};

fn customer(baggage: &str) -> Option<String> {
    DistributedContext::from_trusted_pairs([("baggage", baggage)]).customer_id
}

// S9
#[test]
fn baggage_has_the_run_and_the_customer() {
    let context = DistributedContext::from_trusted_pairs([
        ("Baggage", "other=1, run_id = r%2F1 ;ttl=60"),
        ("baggage", "customer_id=caf%C3%A9%20%22A%22"),
    ]);
    assert_eq!(
        context,
        DistributedContext::new()
            .run_id("r/1")
            .customer_id("café \"A\"")
    );
    assert_eq!(
        context.to_pairs(),
        [(
            "baggage",
            "run_id=r/1,customer_id=caf%C3%A9%20%22A%22".to_owned()
        )],
        "without the members of others"
    );
}

// S9
#[test]
fn untrusted_baggage_is_ignored() {
    assert!(DistributedContext::from_pairs([("baggage", "run_id=1,customer_id=acme")]).is_empty());
}

// S9
#[test]
fn invalid_ids_in_baggage_are_ignored() {
    let long = "é".repeat(256);
    assert_eq!(
        customer(&format!("customer_id={}", "%C3%A9".repeat(256))),
        Some(long)
    );
    assert_eq!(customer("customer_id=100%"), Some("100%".to_owned()));
    assert_eq!(customer("customer_id=%E9"), Some("\u{fffd}".to_owned()));
    assert_eq!(customer("customer_id=a=b"), Some("a=b".to_owned()));
    for wrong in [
        "customer_id=",
        "customer_id",
        "Customer_id=a",
        "customer_id=a%0Ab",
        "customer_id=%00",
        "=a",
        ",;=",
    ] {
        assert_eq!(customer(wrong), None, "{wrong}");
    }
    assert_eq!(customer(&format!("customer_id={}", "a".repeat(257))), None);
}

// S9
#[test]
fn two_different_customers_are_both_ignored() {
    assert_eq!(
        customer("customer_id=a,customer_id=%61"),
        Some("a".to_owned())
    );
    assert_eq!(customer("customer_id=a,customer_id=b"), None);
}

// S9
#[test]
fn limits_apply_to_tracestate_and_baggage_together() {
    let others = |count| {
        (0..count)
            .map(|number| format!("o{number}=1"))
            .collect::<Vec<_>>()
            .join(",")
    };
    let read = |state: &str, baggage: &str| {
        let context = with_parent(&[
            ("tracestate", state),
            ("baggage", &format!("{baggage},customer_id=acme")),
        ]);
        (context.tracestate.is_some(), context.customer_id.is_some())
    };
    assert_eq!(read(&others(32), &others(31)), (true, true));
    assert_eq!(read(&others(32), &others(32)), (true, false));
    let filler = |bytes: usize| format!("o={}", "x".repeat(bytes - "o=,customer_id=acme".len()));
    assert_eq!(read("foo=1", &filler(MAX_BYTES - 5)), (true, true));
    assert_eq!(read("foo=1", &filler(MAX_BYTES - 4)), (true, false));
}

// S9, CVE-2026-29181
#[test]
fn a_flood_of_headers_leaves_only_traceparent() {
    let value = format!("a={}", "x".repeat(4_000));
    let flood =
        (0..1_000).flat_map(|_| [("tracestate", value.as_str()), ("baggage", value.as_str())]);
    let context = DistributedContext::from_trusted_pairs(flood.chain([("traceparent", PARENT)]));
    assert_eq!(context.to_pairs(), [("traceparent", PARENT.to_owned())]);
    // The intermediate list is within the limit as well.
    let mut list = Some(String::new());
    for _ in 0..1_000 {
        push_part(&mut list, &value);
        assert!(list.as_ref().is_none_or(|text| text.len() <= MAX_BYTES));
    }
    assert_eq!(list, None);
}

// S9
#[test]
fn values_set_by_the_host_cannot_break_headers() {
    let mut context = with_parent(&[])
        .run_id("a\r\nb")
        .customer_id("x".repeat(300));
    context.tracestate = Some("foo=1\r\nx-evil: 1".to_owned());
    assert_eq!(context.to_pairs(), [("traceparent", PARENT.to_owned())]);
}

// S9
#[tokio::test]
async fn an_import_passes_on_valid_values_of_its_trace() {
    let first = with_parent(&[("tracestate", "foo=1"), ("baggage", "customer_id=acme")]);
    let other = DistributedContext::from_pairs([("traceparent", PARENT.replacen("123", "abc", 1))])
        .run_id("r\n");
    let work = trace::import(&first, async {
        let inside = trace::import(DistributedContext::new().run_id("r1"), async {
            trace::export()
        })
        .await;
        let beside = trace::import(&other, async { trace::export() }).await;
        (trace::export(), inside, beside)
    });
    let (here, inside, beside) = Collector::new().run(work).await;
    assert_eq!(here, first);
    assert_eq!(inside, first.run_id("r1"));
    assert_eq!(beside.trace_id, other.trace_id);
    assert_eq!(
        (
            beside.tracestate,
            beside.run_id,
            beside.customer_id.as_deref()
        ),
        (None, None, Some("acme"))
    );
}

// S9
#[tokio::test]
async fn unsampled_traces_are_recorded_and_exported_unsampled() {
    let context = DistributedContext::from_pairs([("traceparent", PARENT.replace("-01", "-00"))]);
    let collector = Collector::new();
    let work = trace::agent("planner", async { trace::export().to_pairs() });
    let pairs = collector.run(trace::import(&context, work)).await;
    assert!(
        pairs
            .iter()
            .any(|(name, value)| *name == "traceparent" && value.ends_with("-00"))
    );
    let report = collector.report();
    let span = report.spans().first().expect("recorded");
    assert!(!span.is_sampled());
    assert_eq!(Some(span.trace_id()), context.trace_id);
    assert_eq!(span.parent(), context.span_id);
}

// S9
#[tokio::test]
async fn a_span_made_before_the_import_gets_the_imported_parent() {
    let collector = Collector::new();
    let context = with_parent(&[]);
    let made = || trace::section("part", async { trace::export().trace_id });
    let (before, nested, inner) = collector
        .run(async {
            let before = trace::import(&context, made()).await;
            let nested =
                trace::agent("planner", async { trace::import(&context, made()).await }).await;
            // A span that was made in another one keeps that parent.
            let made_inside = trace::import(&context, async {
                trace::in_scope(SpanKind::Agent, "inside", made).await
            });
            (before, nested, made_inside.await)
        })
        .await;
    assert_eq!([before, nested, inner], [context.trace_id; 3]);
    let report = collector.report();
    let parent = |at: usize| report.spans().get(at).and_then(record::SpanRecord::parent);
    let inside = report
        .spans()
        .iter()
        .find(|span| span.name() == "inside")
        .map(record::SpanRecord::span_id);
    assert_eq!((parent(0), parent(1)), (context.span_id, context.span_id));
    assert!(inside.is_some());
    assert_eq!(parent(4), inside);
}
