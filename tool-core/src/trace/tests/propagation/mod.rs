//! Propagation: the cases of the W3C test suite, limits, and random input.

pub(crate) mod baggage;
pub(crate) mod random;
pub(crate) mod suite;

use crate::trace::propagation::DistributedContext;

const TRACE: &str = "12345678901234567890123456789012";
const PARENT: &str = "00-12345678901234567890123456789012-1234567890123456-01";

/// Reads these headers together with a valid `traceparent`.
fn with_parent(pairs: &[(&str, &str)]) -> DistributedContext {
    let context = DistributedContext::from_trusted_pairs(
        [("traceparent", PARENT)].iter().chain(pairs).copied(),
    );
    assert_eq!(
        context.trace_id.map(|id| id.to_string()).as_deref(),
        Some(TRACE)
    );
    context
}

/// Reads a `tracestate` that arrives in these parts.
fn state(parts: &[&str]) -> Option<String> {
    with_parent(
        &parts
            .iter()
            .map(|part| ("tracestate", *part))
            .collect::<Vec<_>>(),
    )
    .tracestate
}
