//! The trace context as headers. S9

use http::{HeaderMap, HeaderName, HeaderValue};
use tool_core::trace::DistributedContext;

const TRACEPARENT: &str = "traceparent";

/// The trace that a request is part of, for [`trace::import`](tool_core::trace::import): what its headers say of the
/// span, in bounds. Who the work is for is not read, as anybody may say anything.
pub fn received(headers: &HeaderMap) -> DistributedContext {
    DistributedContext::from_pairs(pairs(headers))
}

/// The same of a request whose sender may say for which run and which customer the work is done.
pub fn received_from_trusted(headers: &HeaderMap) -> DistributedContext {
    DistributedContext::from_trusted_pairs(pairs(headers))
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}

/// Puts the context into a request that has none of its own.
pub(super) fn inject(context: &DistributedContext, headers: &mut HeaderMap) {
    if headers.contains_key(TRACEPARENT) {
        return;
    }
    for (name, value) in context.to_pairs() {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}
