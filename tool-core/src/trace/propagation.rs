//! The trace context that travels between processes: W3C Trace Context and W3C Baggage, as HTTP
//! headers, the `_meta` of the Model Context Protocol and plain maps carry them.
//!
//! The sender of a header is not trusted. At most [`MAX_BYTES`] and [`MAX_MEMBERS`] of `tracestate`
//! and `baggage` together are read, `tracestate` first. A longer header is dropped whole
//! (CVE-2026-29181).

use crate::trace::ids::{SpanId, TraceId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

/// The place at which a trace continues in another process, or in a later one.
///
/// It travels as JSON, by serde, or as the headers of W3C Trace Context and W3C Baggage, by [`to_pairs`](Self::to_pairs)
/// and [`from_pairs`](Self::from_pairs). The id of a run or a customer has 1 to 256 characters and no control characters;
/// other ids are ignored.
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
/// // As headers. The receiver reads the customer because it trusts the sender.
/// let headers = exported.to_pairs();
/// assert_eq!(DistributedContext::from_trusted_pairs(headers.clone()).customer_id, exported.customer_id);
/// assert_eq!(DistributedContext::from_pairs(headers).customer_id, None);
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
#[must_use]
pub struct DistributedContext {
    /// The trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The span under which the trace continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<SpanId>,
    /// The run that the work belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The customer for whom the work is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_id: Option<String>,
    /// The `tracestate` header that other tracing systems added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// The sampling flag of `traceparent`: true if the other process samples the trace. This
    /// process records spans and counts cost in either case, and passes the flag on unchanged. An
    /// exporter that shares a backend with the other process may leave out the spans of an
    /// unsampled trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<bool>,
}

impl DistributedContext {
    /// Creates an empty context. Importing it changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the run that the work belongs to.
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// Sets the customer for whom the work is done.
    pub fn customer_id(mut self, id: impl Into<String>) -> Self {
        self.customer_id = Some(id.into());
        self
    }

    /// Sets the span of another process under which the work continues.
    pub fn parent(mut self, trace: TraceId, span: SpanId) -> Self {
        (self.trace_id, self.span_id) = (Some(trace), Some(span));
        self
    }

    /// Reads the context from the headers of a request, from a plain map or from the `_meta` of the
    /// Model Context Protocol: `traceparent` and `tracestate`, with names in any case.
    ///
    /// Malformed headers are ignored. A malformed `tracestate` does not affect `traceparent`.
    /// `baggage` is not read, because any sender can write any customer into it.
    ///
    /// ```
    /// use tool_core::trace::DistributedContext;
    ///
    /// let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let context = DistributedContext::from_pairs([("Traceparent", parent), ("baggage", "customer_id=acme")]);
    /// assert_eq!(context.to_pairs(), [("traceparent", parent.to_owned())]);
    /// ```
    pub fn from_pairs<N: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self::read(pairs, false)
    }

    /// Reads the context as [`from_pairs`](Self::from_pairs) does, and `run_id` and `customer_id`
    /// of `baggage` as well. For a sender that may choose the run and the customer.
    pub fn from_trusted_pairs<N: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self::read(pairs, true)
    }

    fn read<N: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (N, V)>,
        trusted: bool,
    ) -> Self {
        let mut parent = None;
        let mut parents = 0_usize;
        let mut state = Some(String::new());
        let mut baggage = Some(String::new());
        for (name, value) in pairs {
            let name = name.as_ref();
            let value = trim(value.as_ref());
            if name.eq_ignore_ascii_case(TRACEPARENT) {
                // Of several, none can be believed.
                parent = if parents == 0 {
                    parse_traceparent(value)
                } else {
                    None
                };
                parents += 1;
            } else if name.eq_ignore_ascii_case(TRACESTATE) {
                push_part(&mut state, value);
            } else if trusted && name.eq_ignore_ascii_case(BAGGAGE) {
                push_part(&mut baggage, value);
            }
        }
        let state = state.unwrap_or_default();
        let baggage = baggage.unwrap_or_default();
        let mut context = Self::new();
        if is_within_limits(&state, &baggage) {
            (context.run_id, context.customer_id) = (
                baggage_value(&baggage, RUN),
                baggage_value(&baggage, CUSTOMER),
            );
        }
        if let Some((trace, span, sampled)) = parent {
            context = context.parent(trace, span);
            context.sampled = Some(sampled);
            context.tracestate = parse_tracestate(&state);
        }
        context
    }

    /// Returns the headers `traceparent`, `tracestate` and `baggage`, as far as the context has
    /// values for them.
    ///
    /// `baggage` names the customer. Remove it from a request to a third party.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        let baggage = write_baggage(self.run_id.as_deref(), self.customer_id.as_deref());
        if let (Some(trace), Some(span)) = (self.trace_id, self.span_id) {
            let flags = if self.sampled == Some(false) {
                0
            } else {
                SAMPLED
            };
            pairs.push((TRACEPARENT, format!("00-{trace}-{span}-{flags:02x}")));
            // The receiver has the same limits, and our baggage is more useful to it than the state
            // of others.
            let state = self.tracestate.as_deref().and_then(parse_tracestate);
            let state = state.filter(|state| is_within_limits(state, &baggage));
            pairs.extend(state.map(|state| (TRACESTATE, state)));
        }
        if !baggage.is_empty() {
            pairs.push((BAGGAGE, baggage));
        }
        pairs
    }

    /// Returns whether the context has no values.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the values that spans under an imported context share: those of the context, and
    /// these where it has none. The ids of trace and span are left out.
    pub(crate) fn merge(&self, imported: &Self) -> Self {
        let id = |imported: &Option<String>, own: &Option<String>| {
            imported
                .clone()
                .filter(|id| is_valid_id(id))
                .or_else(|| own.clone())
        };
        // State and sampling belong to one trace.
        let is_other_trace = imported.trace_id.is_some() && imported.span_id.is_some();
        let (tracestate, sampled) = if is_other_trace {
            (
                imported.tracestate.as_deref().and_then(parse_tracestate),
                imported.sampled,
            )
        } else {
            (self.tracestate.clone(), self.sampled)
        };
        let run_id = id(&imported.run_id, &self.run_id);
        let customer_id = id(&imported.customer_id, &self.customer_id);
        Self {
            trace_id: None,
            span_id: None,
            run_id,
            customer_id,
            tracestate,
            sampled,
        }
    }
}

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";
/// The keys of `baggage` that are read and written.
const RUN: &str = "run_id";
const CUSTOMER: &str = "customer_id";

/// Maximum number of bytes of `tracestate` and `baggage` together.
pub(crate) const MAX_BYTES: usize = 8 * 1024;
/// Maximum number of list members of `tracestate` and `baggage` together.
pub(crate) const MAX_MEMBERS: usize = 64;
/// Maximum number of characters of a run's or a customer's id.
const MAX_ID: usize = 256;

/// Returns whether a text can be the id of a run or a customer. A control character would break a
/// line of a log.
fn is_valid_id(id: &str) -> bool {
    !id.is_empty() && id.chars().count() <= MAX_ID && !id.chars().any(char::is_control)
}

/// Adds a part of a header that came in several. The list becomes `None` once it is over the limit.
pub(crate) fn push_part(list: &mut Option<String>, part: &str) {
    let Some(text) = list.as_mut().filter(|_| !part.is_empty()) else {
        return;
    };
    let comma = if text.is_empty() { "" } else { "," };
    if text.len() + comma.len() + part.len() > MAX_BYTES {
        *list = None;
    } else {
        text.extend([comma, part]);
    }
}

/// Removes the white space that HTTP allows around a value.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// Returns the members of a list, without the empty ones, which are allowed.
pub(crate) fn members(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(trim)
        .filter(|member| !member.is_empty())
}

/// Returns whether both lists together are within the limits.
fn is_within_limits(state: &str, baggage: &str) -> bool {
    state.len() + baggage.len() <= MAX_BYTES
        && members(state).chain(members(baggage)).count() <= MAX_MEMBERS
}

/// Returns the value of a key. A malformed member is skipped, and so is a key with two different
/// values.
fn baggage_value(list: &str, wanted: &str) -> Option<String> {
    let mut values = members(list).filter_map(|member| {
        // A semicolon begins the properties of the member.
        let (member, _) = member.split_once(';').unwrap_or((member, ""));
        let (key, value) = member.split_once('=')?;
        // Malformed escapes stay, and bytes that are not UTF-8 become U+FFFD, as W3C Baggage
        // requires.
        (trim(key) == wanted).then(|| percent_decode_str(trim(value)).decode_utf8_lossy())
    });
    let first = values.next()?;
    (values.all(|other| other == first) && is_valid_id(&first)).then(|| first.into_owned())
}

/// The characters of an id that `baggage` escapes. More than W3C Baggage requires: some readers
/// take a plus for a space.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b'@');

/// Returns the value of the `baggage` header; empty without a valid id.
fn write_baggage(run: Option<&str>, customer: Option<&str>) -> String {
    let ids = [(RUN, run), (CUSTOMER, customer)].into_iter();
    let ids = ids.filter_map(|(key, value)| Some((key, value.filter(|value| is_valid_id(value))?)));
    ids.map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, ESCAPED)))
        .collect::<Vec<_>>()
        .join(",")
}

/// The sampling bit of the flags. The other bits are not passed on.
const SAMPLED: u8 = 1;

/// Parses `00-{trace}-{span}-{flags}`. Returns the trace, the span, and whether the trace is
/// sampled.
fn parse_traceparent(text: &str) -> Option<(TraceId, SpanId, bool)> {
    let mut parts = text.split('-');
    let version = hex_byte(parts.next()?)?;
    let trace = parts.next()?.parse().ok()?;
    let span = parts.next()?.parse().ok()?;
    let flags = hex_byte(parts.next()?)?;
    // A later version begins as version 00 does, and may continue after a dash. Version ff is
    // invalid.
    let is_known = version != 0xff && (version > 0 || parts.next().is_none());
    is_known.then_some((trace, span, flags & SAMPLED != 0))
}

/// Parses two lower-case hexadecimal digits.
fn hex_byte(digits: &str) -> Option<u8> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digits.len() == 2 && digits.bytes().all(is_digit))
        .then(|| u8::from_str_radix(digits, 16).ok())?
}

/// Maximum number of members of a `tracestate`, by W3C Trace Context.
const MAX_STATE_MEMBERS: usize = 32;

/// Returns a `tracestate` without the white space around its members. `None` for an empty list, and
/// for one that breaks a rule of W3C Trace Context, which is dropped whole.
fn parse_tracestate(text: &str) -> Option<String> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut keys = Vec::new();
    for member in members(text) {
        let (key, value) = member.split_once('=')?;
        if keys.len() == MAX_STATE_MEMBERS
            || keys.contains(&key)
            || !is_state_key(key)
            || !is_state_value(value)
        {
            return None;
        }
        keys.push(key);
    }
    (!keys.is_empty()).then(|| members(text).collect::<Vec<_>>().join(","))
}

/// Returns whether a text has the form `vendor` or `tenant@vendor`.
fn is_state_key(key: &str) -> bool {
    let is_valid = |part: &str, digit_first: bool, max: usize| {
        let first = part.bytes().next();
        let rest = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/');
        first.is_some_and(|first| {
            first.is_ascii_lowercase() || (digit_first && first.is_ascii_digit())
        }) && part.len() <= max
            && part.bytes().all(rest)
    };
    match key.split_once('@') {
        None => is_valid(key, false, 256),
        Some((tenant, vendor)) => is_valid(tenant, true, 241) && is_valid(vendor, false, 14),
    }
}

/// Returns whether a text has 1 to 256 printable characters and no separators.
fn is_state_value(value: &str) -> bool {
    let is_valid = |byte| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    (1..=256).contains(&value.len()) && value.bytes().all(is_valid)
}
