//! W3C Trace Context and W3C Baggage: names and values, as HTTP headers, MCP's `_meta` and plain maps carry them. S9
//!
//! What comes in was written by anybody. At most [`MOST_BYTES`] and [`MOST_MEMBERS`] are read of `tracestate` and
//! `baggage` together, `tracestate` first; what goes beyond is dropped whole, as half of it would be somebody else's
//! words (CVE-2026-29181).

mod baggage;
mod traceparent;
mod tracestate;

#[cfg(test)]
mod tests;

use super::distributed::DistributedContext;

pub(super) use tracestate::parse as tracestate;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";

/// The most that is read of `tracestate` and `baggage` together.
const MOST_BYTES: usize = 8 * 1024;
/// The most members that both have together.
const MOST_MEMBERS: usize = 64;

/// A header that may come in parts.
#[derive(Default)]
struct Joined {
    text: String,
    too_long: bool,
}

impl Joined {
    /// Adds a part in its order, with the comma that stands between. Once it is too long nothing is held any more.
    fn push(&mut self, part: &str) {
        if self.too_long || part.is_empty() {
            return;
        }
        let comma = if self.text.is_empty() { "" } else { "," };
        if self.text.len() + comma.len() + part.len() > MOST_BYTES {
            *self = Self { text: String::new(), too_long: true };
            return;
        }
        self.text.push_str(comma);
        self.text.push_str(part);
    }
}

/// Without the white space that HTTP allows around a value.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// The members of a list. Empty ones are allowed, and are none.
fn members(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(trim).filter(|member| !member.is_empty())
}

/// The context in these pairs. Of `baggage` nothing is read unless whoever sent it is trusted.
pub(super) fn read<N, V>(pairs: impl IntoIterator<Item = (N, V)>, trusted: bool) -> DistributedContext
where
    N: AsRef<str>,
    V: AsRef<str>,
{
    let (mut parent, mut parents) = (None, 0_usize);
    let (mut state, mut baggage) = (Joined::default(), Joined::default());
    for (name, value) in pairs {
        let (name, value) = (name.as_ref(), trim(value.as_ref()));
        if name.eq_ignore_ascii_case(TRACEPARENT) {
            // Of two nobody knows which one is meant.
            parent = if parents == 0 { traceparent::parse(value) } else { None };
            parents += 1;
        } else if name.eq_ignore_ascii_case(TRACESTATE) {
            state.push(value);
        } else if trusted && name.eq_ignore_ascii_case(BAGGAGE) {
            baggage.push(value);
        }
    }
    let mut context = DistributedContext::new();
    if fits(&state.text, &baggage.text) {
        (context.run_id, context.customer_id) = baggage::parse(&baggage.text);
    }
    if let Some((trace, span, sampled)) = parent {
        context = context.parent(trace, span);
        context.sampled = Some(sampled);
        context.tracestate = tracestate::parse(&state.text);
    }
    context
}

/// Whether baggage has room beside the `tracestate` that came with it.
fn fits(state: &str, baggage: &str) -> bool {
    state.len() + baggage.len() <= MOST_BYTES && members(state).chain(members(baggage)).count() <= MOST_MEMBERS
}

/// The pairs of a context.
pub(super) fn write(context: &DistributedContext) -> Vec<(&'static str, String)> {
    let mut pairs = Vec::new();
    let baggage = baggage::write(context.run_id.as_deref(), context.customer_id.as_deref());
    if let (Some(trace), Some(span)) = (context.trace_id, context.span_id) {
        pairs.push((TRACEPARENT, traceparent::write(trace, span, context.sampled != Some(false))));
        // Whoever reads this has the same caps, and ours comes before what others have added.
        let state = context.tracestate.as_deref().and_then(tracestate::parse);
        pairs.extend(state.filter(|state| fits(state, &baggage)).map(|state| (TRACESTATE, state)));
    }
    if !baggage.is_empty() {
        pairs.push((BAGGAGE, baggage));
    }
    pairs
}
