//! The trace context on its way to another process, and from one. S9

use crate::trace;
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::instrumented::WithSpan;
use crate::trace::open_span::{Baggage, OpenSpan, Trace, current};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::sync::Arc;

/// Where a trace goes on: in another process, or in a later one. S9
///
/// It travels as JSON, by serde, or as the headers of W3C Trace Context and W3C Baggage, by [`to_pairs`](Self::to_pairs)
/// and [`from_pairs`](Self::from_pairs). An id of a run or a customer has 1 to 256 characters and no control characters;
/// others are ignored.
///
/// ```
/// use tool_core::trace::{self, DistributedContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let work = trace::agent("planner", async { trace::export() });
/// let exported = trace::import(DistributedContext::new().customer_id("acme"), work).await;
/// assert!(exported.trace_id.is_some() && exported.span_id.is_some());
/// assert_eq!(exported.customer_id.as_deref(), Some("acme"));
///
/// // As headers. The receiver believes the customer because it trusts the sender.
/// let headers = exported.to_pairs();
/// assert_eq!(DistributedContext::from_trusted_pairs(headers.clone()).customer_id, exported.customer_id);
/// assert_eq!(DistributedContext::from_pairs(headers).customer_id, None);
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DistributedContext {
    /// The trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The span under which it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<SpanId>,
    /// The run that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The customer for whom it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_id: Option<String>,
    /// What other tracing systems have added, as W3C Trace Context writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// Whether the other process samples the trace: the flag of `traceparent`. Spans are recorded here and their cost is
    /// counted whatever it says, and it goes on to the next process as it came. An exporter that shares a backend with
    /// the other process may leave out the spans of a trace of which the rest is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<bool>,
}

/// The longest id of a run or a customer, in characters.
const LONGEST: usize = 256;

/// Whether a text may stand for a run or a customer: what is longer, or would break a line of a log, is none.
pub(crate) fn is_fit(id: &str) -> bool {
    !id.is_empty() && id.chars().count() <= LONGEST && !id.chars().any(char::is_control)
}

impl DistributedContext {
    /// An empty one: importing it changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The run that the work is part of.
    #[must_use]
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// The customer for whom the work is done.
    #[must_use]
    pub fn customer_id(mut self, id: impl Into<String>) -> Self {
        self.customer_id = Some(id.into());
        self
    }

    /// The span of another process under which the work goes on.
    #[must_use]
    pub fn parent(mut self, trace: TraceId, span: SpanId) -> Self {
        (self.trace_id, self.span_id) = (Some(trace), Some(span));
        self
    }

    /// The context in the headers of a request, in a plain map or in the `_meta` of the Model Context Protocol:
    /// `traceparent` and `tracestate` of W3C Trace Context, in any case. What is malformed is ignored, and a malformed
    /// `tracestate` leaves `traceparent` as it is. `baggage` is not read: anybody can write a customer into it.
    ///
    /// ```
    /// use tool_core::trace::DistributedContext;
    ///
    /// let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let context = DistributedContext::from_pairs([("Traceparent", parent), ("baggage", "customer_id=acme")]);
    /// assert_eq!(context.to_pairs(), [("traceparent", parent.to_owned())]);
    /// ```
    pub fn from_pairs<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        read(pairs, false)
    }

    /// The same from a sender who may say for which run and which customer the work is done: `run_id` and `customer_id`
    /// of `baggage` are read as well.
    pub fn from_trusted_pairs<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        read(pairs, true)
    }

    /// The headers of it: `traceparent`, `tracestate` and `baggage`, those that there are. `baggage` names the customer:
    /// leave it out where a request goes to somebody else.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        write(self)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The context of the span that the thread is in; empty outside of any. S9
pub(crate) fn export() -> DistributedContext {
    let Some(scope) = current() else { return DistributedContext::new() };
    let baggage = &scope.trace.baggage;
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    DistributedContext {
        // A trace without a span in it has nothing that could be continued.
        trace_id: scope.trace.id.filter(|_| scope.id.is_some()),
        span_id: scope.id.filter(|_| scope.trace.id.is_some()),
        run_id: text(&baggage.run_id),
        customer_id: text(&baggage.customer_id),
        tracestate: text(&baggage.tracestate),
        sampled: baggage.sampled,
    }
}

/// Runs work under an imported context. S9
pub(crate) fn import<F: Future>(context: &DistributedContext, work: F) -> WithSpan<F> {
    // S9: an empty context is a no-op.
    if context.is_empty() || !cfg!(feature = "trace") {
        return WithSpan::here(work);
    }
    // As a span does: it belongs to where it was made, or else to where it is polled first.
    if current().is_none() {
        return WithSpan::under(context.clone(), work);
    }
    WithSpan::new(Arc::new(anchor(context)), work)
}

/// What the spans under an imported context hang from.
pub(crate) fn anchor(context: &DistributedContext) -> OpenSpan {
    let here = current();
    let base = (*Trace::at(here.as_ref())).clone();
    let baggage = Arc::new(carried(context, &base.baggage));
    if let (Some(trace), Some(span)) = (context.trace_id, context.span_id) {
        let trace = Trace { id: Some(trace), collector: base.collector, baggage };
        let mut scope = OpenSpan::new(Arc::new(trace), None, None, trace::no_name());
        scope.id = Some(span);
        return scope;
    }
    // The same place, for somebody else.
    OpenSpan::place(Arc::new(Trace { baggage, ..base }), here)
}

/// What goes on with the trace: what the context says, or else what was so before.
fn carried(context: &DistributedContext, before: &Baggage) -> Baggage {
    let id = |id: &Option<String>, before: &Option<Arc<str>>| {
        id.as_deref().filter(|id| is_fit(id)).map(Arc::from).or(before.clone())
    };
    let is_other_trace = context.trace_id.is_some() && context.span_id.is_some();
    // These two are words about one trace.
    let (tracestate, sampled) = if is_other_trace {
        (context.tracestate.as_deref().and_then(parse_tracestate).map(Arc::from), context.sampled)
    } else {
        (before.tracestate.clone(), before.sampled)
    };
    Baggage {
        run_id: id(&context.run_id, &before.run_id),
        customer_id: id(&context.customer_id, &before.customer_id),
        tracestate,
        sampled,
    }
}

// ---- W3C Trace Context and W3C Baggage: names and values, as HTTP headers, MCP's `_meta` and plain maps carry them. S9
//
// What comes in was written by anybody. At most [`MOST_BYTES`] and [`MOST_MEMBERS`] are read of `tracestate` and
// `baggage` together, `tracestate` first; what goes beyond is dropped whole, as half of it would be somebody else's
// words (CVE-2026-29181).

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";

/// The most that is read of `tracestate` and `baggage` together.
pub(crate) const MOST_BYTES: usize = 8 * 1024;
/// The most members that both have together.
pub(crate) const MOST_MEMBERS: usize = 64;

/// A header that may come in parts.
#[derive(Default)]
pub(crate) struct Joined {
    pub(crate) text: String,
    pub(crate) too_long: bool,
}

impl Joined {
    /// Adds a part in its order, with the comma that stands between. Once it is too long nothing is held any more.
    pub(crate) fn push(&mut self, part: &str) {
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
pub(crate) fn members(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(trim).filter(|member| !member.is_empty())
}

/// The context in these pairs. Of `baggage` nothing is read unless whoever sent it is trusted.
pub(crate) fn read<N, V>(pairs: impl IntoIterator<Item = (N, V)>, trusted: bool) -> DistributedContext
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
            parent = if parents == 0 { parse_traceparent(value) } else { None };
            parents += 1;
        } else if name.eq_ignore_ascii_case(TRACESTATE) {
            state.push(value);
        } else if trusted && name.eq_ignore_ascii_case(BAGGAGE) {
            baggage.push(value);
        }
    }
    let mut context = DistributedContext::new();
    if fits(&state.text, &baggage.text) {
        (context.run_id, context.customer_id) = parse_baggage(&baggage.text);
    }
    if let Some((trace, span, sampled)) = parent {
        context = context.parent(trace, span);
        context.sampled = Some(sampled);
        context.tracestate = parse_tracestate(&state.text);
    }
    context
}

/// Whether baggage has room beside the `tracestate` that came with it.
fn fits(state: &str, baggage: &str) -> bool {
    state.len() + baggage.len() <= MOST_BYTES && members(state).chain(members(baggage)).count() <= MOST_MEMBERS
}

/// The pairs of a context.
pub(crate) fn write(context: &DistributedContext) -> Vec<(&'static str, String)> {
    let mut pairs = Vec::new();
    let baggage = write_baggage(context.run_id.as_deref(), context.customer_id.as_deref());
    if let (Some(trace), Some(span)) = (context.trace_id, context.span_id) {
        pairs.push((TRACEPARENT, write_traceparent(trace, span, context.sampled != Some(false))));
        // Whoever reads this has the same caps, and ours comes before what others have added.
        let state = context.tracestate.as_deref().and_then(parse_tracestate);
        pairs.extend(state.filter(|state| fits(state, &baggage)).map(|state| (TRACESTATE, state)));
    }
    if !baggage.is_empty() {
        pairs.push((BAGGAGE, baggage));
    }
    pairs
}

// ---- `baggage`: `run_id` and `customer_id`. The members of others are neither read nor passed on. S9

const RUN: &str = "run_id";
const CUSTOMER: &str = "customer_id";

/// The run and the customer. A member that is malformed is none, and so is one that is said twice and differently.
pub(crate) fn parse_baggage(text: &str) -> (Option<String>, Option<String>) {
    (value(text, RUN), value(text, CUSTOMER))
}

fn value(text: &str, wanted: &str) -> Option<String> {
    let mut found = members(text).filter_map(|member| {
        // What follows a semicolon are properties of the member.
        let (member, _) = member.split_once(';').unwrap_or((member, ""));
        let (key, value) = member.split_once('=')?;
        (trim(key) == wanted).then(|| decoded(trim(value)))
    });
    let first = found.next()?;
    (found.all(|other| other == first) && is_fit(&first)).then_some(first)
}

/// Percent-decoded. What is no UTF-8 becomes U+FFFD, as W3C Baggage wants it.
fn decoded(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)?.try_into().ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped: Option<(u8, u8)> = digit(tail.first()).zip(digit(tail.get(1)));
        match escaped {
            Some((high, low)) if *first == b'%' => {
                bytes.push(high << 4 | low);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The header's value; empty where there is neither.
pub(crate) fn write_baggage(run: Option<&str>, customer: Option<&str>) -> String {
    let mut list = String::new();
    for (key, value) in [(RUN, run), (CUSTOMER, customer)] {
        let Some(value) = value.filter(|value| is_fit(value)) else { continue };
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(key);
        list.push('=');
        encode(value, &mut list);
    }
    list
}

/// Percent-encoded, except what every reader takes for itself: some take a plus for a space.
fn encode(value: &str, list: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/@".contains(&byte) {
            list.push(char::from(byte));
        } else {
            // A string takes whatever is written to it.
            let _ = write!(list, "%{byte:02X}");
        }
    }
}

// ---- `traceparent`: `00-{trace}-{span}-{flags}`, in lower-case hexadecimal digits. S9

/// What is read of every version: the length of version 00.
const LENGTH: usize = 55;

/// The bit of the flags that says whether the sender records the trace. The others have no meaning here, and go no
/// further.
const SAMPLED: u8 = 1;

/// Trace, span and whether it is sampled.
pub(crate) fn parse_traceparent(text: &str) -> Option<(TraceId, SpanId, bool)> {
    let version = byte(text.get(0..2)?)?;
    // A later version begins like this one, and then ends or goes on after a dash. ff is none.
    let is_known = match version {
        0 => text.len() == LENGTH,
        0xff => false,
        _ => text.len() == LENGTH || text.get(LENGTH..=LENGTH) == Some("-"),
    };
    let dashes = [2, 35, 52].into_iter().all(|at| text.get(at..=at) == Some("-"));
    if !is_known || !dashes {
        return None;
    }
    let flags = byte(text.get(53..LENGTH)?)?;
    Some((text.get(3..35)?.parse().ok()?, text.get(36..52)?.parse().ok()?, flags & SAMPLED != 0))
}

/// Two lower-case hexadecimal digits.
fn byte(digits: &str) -> Option<u8> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.bytes().all(is_digit).then(|| u8::from_str_radix(digits, 16).ok())?
}

/// In version 00, whatever the version was that it came in.
pub(crate) fn write_traceparent(trace: TraceId, span: SpanId, sampled: bool) -> String {
    format!("00-{trace}-{span}-{:02x}", if sampled { SAMPLED } else { 0 })
}

// ---- `tracestate`: what other tracing systems have added, of which nothing is for us. It is passed on as it came, or, where
// it is not what W3C Trace Context says, dropped whole. S9

/// The most members that W3C Trace Context allows.
const MOST: usize = 32;

/// The list without the space around its members; `None` where there is none, or where it breaks a rule.
pub(crate) fn parse_tracestate(text: &str) -> Option<String> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let mut keys = Vec::new();
    let mut list = String::new();
    for member in members(text) {
        let (key, value) = member.split_once('=')?;
        if keys.len() == MOST || keys.contains(&key) || !is_key(key) || !is_value(value) {
            return None;
        }
        keys.push(key);
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(member);
    }
    (!list.is_empty()).then_some(list)
}

/// `vendor`, or `tenant@vendor`.
fn is_key(key: &str) -> bool {
    let begins = |part: &str, digit: bool| {
        part.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || (digit && first.is_ascii_digit()))
    };
    let goes_on = |part: &str, most: usize| {
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/');
        part.len() <= most && part.bytes().all(fits)
    };
    match key.split_once('@') {
        None => begins(key, false) && goes_on(key, 256),
        Some((tenant, vendor)) => {
            begins(tenant, true) && goes_on(tenant, 241) && begins(vendor, false) && goes_on(vendor, 14)
        }
    }
}

/// Printable, without what separates members, keys and values. Space at its end went with the space around the member.
fn is_value(value: &str) -> bool {
    let fits = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    (1..=256).contains(&value.len()) && value.bytes().all(fits)
}
