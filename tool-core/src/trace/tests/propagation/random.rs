//! Random headers: nothing panics, and contexts round-trip.

use crate::trace::propagation::{DistributedContext, MAX_BYTES, MAX_MEMBERS, members};
use proptest::collection::vec;
use proptest::prelude::*;

const NAMES: &[&str] = &[
    "traceparent",
    "Traceparent",
    "tracestate",
    "TRACESTATE",
    "baggage",
    "x-other",
    "",
];

/// Generates text that is often nearly valid.
fn value() -> impl Strategy<Value = String> {
    let bytes =
        vec(any::<u8>(), 0..120).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    prop_oneof![
        1 => bytes,
        2 => "[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[a-z]{0,4})?",
        2 => "([ \t]?[a-z@]{1,4}[ ]?=[ -~]{0,4}[,]?){0,40}",
        2 => "((run_id|customer_id|[A-Z]{1,3})[ ]?=([!-~]|%[0-9A-Fa-f]{2}){0,12}(;p=1)?,){0,5}",
    ]
}

fn context() -> impl Strategy<Value = DistributedContext> {
    vec((proptest::sample::select(NAMES), value()), 0..8)
        .prop_map(DistributedContext::from_trusted_pairs)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // S9
    #[test]
    fn contexts_round_trip_through_headers(context in context()) {
        let pairs = context.to_pairs();
        prop_assert_eq!(DistributedContext::from_trusted_pairs(pairs.iter().map(|(name, value)| (name, value))), context);
        let lists = pairs.iter().filter(|(name, _)| *name != "traceparent").map(|(_, value)| value);
        prop_assert!(lists.clone().map(String::len).sum::<usize>() <= MAX_BYTES);
        prop_assert!(lists.flat_map(|list| members(list)).count() <= MAX_MEMBERS);
        // Valid in a header.
        prop_assert!(pairs.iter().all(|(_, value)| value.bytes().all(|byte| matches!(byte, b' '..=b'~'))));
    }

    // S9
    #[test]
    fn tracestate_does_not_affect_traceparent(state in value(), parent in value()) {
        let pairs = [("tracestate", &state), ("traceparent", &parent), ("baggage", &state)];
        let alone = DistributedContext::from_pairs([("traceparent", &parent)]);
        let both = DistributedContext::from_pairs(pairs);
        prop_assert_eq!((both.trace_id, both.span_id, both.sampled), (alone.trace_id, alone.span_id, alone.sampled));
        prop_assert!(both.run_id.is_none() && both.customer_id.is_none());
        prop_assert!(alone.trace_id.is_some() || both.is_empty());
    }

    // S9
    #[test]
    fn ids_are_passed_on_unchanged_or_not_at_all(run in "\\PC{0,300}|.{0,20}", customer in any::<String>()) {
        let context = DistributedContext::new().run_id(run.clone()).customer_id(customer);
        let read = DistributedContext::from_trusted_pairs(context.to_pairs());
        prop_assert!(read.run_id.is_none() || read.run_id == context.run_id);
        prop_assert!(read.customer_id.is_none() || read.customer_id == context.customer_id);
        let is_fit = (1..=256).contains(&run.chars().count()) && !run.chars().any(char::is_control);
        prop_assert_eq!(read.run_id.is_some(), is_fit);
    }
}
