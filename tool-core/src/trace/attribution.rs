//! Attribution of usage and cost: which span pays for a use, and that each use counts once.
//!
//! The caller records what a model used. An HTTP middleware observes the same responses on their
//! way. A recorded response replaces an observed one, and neither counts twice.

use crate::trace::cost::{Cost, CostEntry};
use crate::trace::record::{SpanEnd, SpanKind};
use crate::trace::span::{
    METERED, NewSpan, OpenSpan, RECORDED, RECORDED_BY_ID, TraceContext, current, open_in,
};
use crate::trace::usage::{ModelUsage, RecentResponses, TokenUsage};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

/// Records what a response of a model used.
///
/// The nearest open agent, tool or model request pays for it, otherwise the nearest open span.
/// Without an open span it becomes a root span, which reports show as untracked.
///
/// ```
/// use tool_core::trace::{self, Collector, ModelUsage, TokenUsage};
///
/// /// Asks a model through a client that reports its tokens.
/// async fn ask() {
///     let usage = TokenUsage { input: 1_200, output: 80, ..TokenUsage::default() };
///     trace::record(ModelUsage::new("gpt-4o", usage).provider("openai"));
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::new();
/// collector.run(trace::agent("planner", ask())).await;
/// assert_eq!(collector.totals().agents["planner"].usage.input, 1_200);
/// # }
/// ```
pub fn record(used: ModelUsage) {
    add_response(used, false);
}

/// Records what a response of a model used, as seen by an HTTP middleware.
///
/// It does not count if the caller [records](record) the same response, or the usage of the model
/// request around it.
pub fn observe(used: ModelUsage) {
    add_response(used, true);
}

/// Records the cost of a service that is not a model, for example a search or a geocoder.
///
/// ```
/// use tool_core::trace::{self, Collector, Cost};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collector = Collector::new();
/// let work = trace::agent("planner", async { trace::record_cost("geocoder", Cost::micros(500)) });
/// collector.run(work).await;
/// assert_eq!(collector.totals().models["geocoder"].cost, Cost::micros(500));
/// # }
/// ```
pub fn record_cost(service: impl Into<Cow<'static, str>>, cost: Cost) {
    let Some(site) = UsageSite::current() else {
        return;
    };
    let used = ModelUsage::new(service, TokenUsage::default());
    if let Some(entry) = site.pay(CostEntry::new(used, Some(cost), false), false) {
        site.open_root(entry);
    }
    site.report_cost();
}

fn add_response(mut used: ModelUsage, observed: bool) {
    let Some(site) = UsageSite::current() else {
        return;
    };
    used.truncate();
    let collector = &site.trace.collector;
    let cost = collector.price(&used);
    // The lock puts a record and an observation of the same response, made at the same time, in an
    // order.
    let mut buffer = collector.0.buffer.lock();
    let responses = &mut buffer.responses;
    let counts = if observed {
        site.accepts_observed(responses, &used)
    } else {
        site.accepts_recorded(responses, &used)
    };
    if counts {
        let unpaid = site.pay(CostEntry::new(used, cost, observed), !observed);
        drop(buffer);
        if let Some(entry) = unpaid {
            site.open_root(entry);
        }
        site.report_cost();
    }
}

/// The place in the tree of spans at which something is used.
struct UsageSite {
    trace: Arc<TraceContext>,
    span: Option<Arc<OpenSpan>>,
    /// True if there are meters, which must learn of costs.
    is_metered: bool,
    /// The picodollars that were added, less those of observations that were replaced.
    cost: Cell<i128>,
}

impl UsageSite {
    /// Returns the thread's place; `None` in a build without spans.
    fn current() -> Option<Self> {
        cfg!(feature = "trace").then(|| {
            let span = current();
            let is_metered = span.as_ref().is_some_and(|span| span.has(METERED));
            Self {
                trace: TraceContext::of(span.as_ref()),
                span,
                is_metered,
                cost: Cell::new(0),
            }
        })
    }

    fn chain(&self) -> impl Iterator<Item = &OpenSpan> {
        self.span.iter().flat_map(|span| span.chain())
    }

    /// Changes the costs of a span, and notes by how much if there are meters.
    fn change_costs<T>(
        &self,
        span: &OpenSpan,
        change: impl FnOnce(&mut Vec<CostEntry>) -> T,
    ) -> Option<T> {
        span.change(|details| {
            if !self.is_metered {
                return change(&mut details.costs);
            }
            let before = picodollars(&details.costs);
            let changed = change(&mut details.costs);
            self.cost
                .set(self.cost.get() + picodollars(&details.costs) - before);
            changed
        })
    }

    /// Passes the cost to the meters of the spans around, the nearest first.
    fn report_cost(&self) {
        if self.is_metered && self.cost.get() != 0 {
            let meters = self
                .span
                .iter()
                .flat_map(|span| span.meters())
                .collect::<Vec<_>>();
            for (at, meter) in meters.iter().enumerate() {
                meter.add(self.cost.get(), &meters[..at]);
            }
        }
    }

    /// Returns the model request that is being answered. A tool inside a request is not answering
    /// it.
    fn request(&self) -> Option<&OpenSpan> {
        self.span
            .as_ref()?
            .nearest_tracked()
            .filter(|span| span.kind == Some(SpanKind::Llm))
    }

    /// Returns whether an observed response counts: the caller did not record it, and nothing that
    /// may include it.
    fn accepts_observed(&self, responses: &mut RecentResponses, used: &ModelUsage) -> bool {
        let is_recorded = self.request().is_some_and(|request| {
            let may_be_recorded = || {
                used.response_id
                    .as_ref()
                    .is_none_or(|id| responses.is_recorded(id))
            };
            request.has(RECORDED) || (request.has(RECORDED_BY_ID) && may_be_recorded())
        });
        !is_recorded && responses.insert(used)
    }

    /// Returns whether a recorded response counts. Removes what was observed of it from the open
    /// spans around.
    fn accepts_recorded(&self, responses: &mut RecentResponses, used: &ModelUsage) -> bool {
        if used.usage.is_empty() {
            return true;
        }
        if let Some(request) = self.request() {
            request.set(if used.response_id.is_some() {
                RECORDED_BY_ID
            } else {
                RECORDED
            });
        }
        let Some(id) = &used.response_id else {
            return true;
        };
        let is_new = responses.insert(used);
        responses.insert_recorded(id);
        let remove_observed =
            |span: &OpenSpan| self.change_costs(span, |costs| remove_observed(costs, id));
        let replaces = self
            .chain()
            .any(|span| remove_observed(span).unwrap_or(false));
        is_new || replaces
    }

    /// Adds an entry to the span that pays, and returns it if there is none.
    ///
    /// `recorded`: the entry is a model's usage from the caller. It replaces what was observed of
    /// the request, but nothing else that the request pays for.
    fn pay(&self, entry: CostEntry, recorded: bool) -> Option<CostEntry> {
        // The cost of a service answers no request.
        let request = self.request().filter(|_| recorded || entry.observed);
        let mut payers = self
            .chain()
            .filter(|span| span.is_active())
            .collect::<Vec<_>>();
        // The sort is stable, so the nearest span of the best rank comes first.
        payers.sort_by_key(|span| span.kind.map(SpanKind::rank));
        let mut unpaid = Some(entry);
        for payer in payers {
            let of_request = request.is_some_and(|request| std::ptr::eq(request, payer));
            // A span that another thread has just closed does not pay.
            self.change_costs(payer, |costs| {
                if let Some(entry) = unpaid.take() {
                    add_entry(
                        costs,
                        CostEntry {
                            of_request,
                            ..entry
                        },
                        recorded && of_request,
                    );
                }
            });
            if unpaid.is_none() {
                break;
            }
        }
        self.cost
            .set(self.cost.get() + picodollars(unpaid.as_slice()));
        unpaid
    }

    /// Opens and closes a root span for an entry that no span pays.
    fn open_root(&self, mut entry: CostEntry) {
        entry.observed = false;
        let span = open_in(
            Some(self.root_anchor()),
            NewSpan::new(SpanKind::Http, entry.used.model.clone()),
        );
        if let Some(span) = span.span() {
            span.change(|details| details.costs = vec![entry]);
        }
        span.close(SpanEnd::default());
    }

    /// Returns the anchor of a new root. It keeps the imported parent and the customer, unless a
    /// span was opened under them.
    fn root_anchor(&self) -> Arc<OpenSpan> {
        match &self.span {
            Some(anchor) if anchor.chain().all(|span| span.kind.is_none()) => Arc::clone(anchor),
            _ => {
                let trace = TraceContext {
                    id: None,
                    ..(*self.trace).clone()
                };
                Arc::new(OpenSpan::anchor(Arc::new(trace), None))
            }
        }
    }
}

fn picodollars(costs: &[CostEntry]) -> i128 {
    costs
        .iter()
        .filter_map(|entry| entry.cost)
        .map(|cost| i128::from(cost.picodollars()))
        .sum()
}

/// Maximum number of entries of one span. Further uses are added to an entry of the same model.
const MAX_ENTRIES: usize = 256;

/// Adds an entry to the costs of a span.
///
/// If the entry `replaces` what was observed of a request, the observations of the same response
/// are removed. Those of other responses stay, because a failed attempt is paid for as well.
fn add_entry(costs: &mut Vec<CostEntry>, mut entry: CostEntry, replaces: bool) {
    if replaces && entry.used.usage.is_empty() {
        // The caller recorded no tokens, so the observed ones stay.
        if let Some(observed) = costs
            .iter_mut()
            .find(|other| other.observed && other.of_request)
        {
            return observed.used.tool_calls.append(&mut entry.used.tool_calls);
        }
    } else if replaces {
        costs.retain(|other| {
            !(other.observed && other.of_request && may_be_same(&other.used, &entry.used))
        });
    } else if entry.observed && entry.of_request {
        let is_empty = |other: &mut CostEntry| {
            !other.observed && other.of_request && other.used.usage.is_empty()
        };
        for mut recorded in costs.extract_if(.., is_empty) {
            entry.used.tool_calls.append(&mut recorded.used.tool_calls);
        }
    }
    if costs.len() >= MAX_ENTRIES
        && let Some(same) = costs
            .iter_mut()
            .rev()
            .find(|other| is_same_price(other, &entry))
    {
        same.used.usage += entry.used.usage;
        same.cost = same.cost.zip(entry.cost).map(|(one, other)| one + other);
        same.times += entry.times;
        same.used.response_id = None;
        return;
    }
    // Most spans have one entry, and a vector would begin with room for four.
    costs.reserve_exact(usize::from(costs.is_empty()));
    costs.push(entry);
}

/// Removes what was observed of a response, and returns whether there was any.
fn remove_observed(costs: &mut Vec<CostEntry>, id: &str) -> bool {
    let before = costs.len();
    costs.retain(|entry| !(entry.observed && entry.used.response_id.as_deref() == Some(id)));
    costs.len() < before
}

/// Returns whether both usages may be of one response. Two different ids are two responses.
fn may_be_same(one: &ModelUsage, other: &ModelUsage) -> bool {
    one.response_id
        .as_ref()
        .zip(other.response_id.as_ref())
        .is_none_or(|(one, other)| one == other)
}

/// Returns whether two entries can be summed up.
fn is_same_price(one: &CostEntry, other: &CostEntry) -> bool {
    one.used.model == other.used.model
        && one.used.provider == other.used.provider
        && one.used.service_tier == other.used.service_tier
        && one.cost.is_some() == other.cost.is_some()
        && !one.observed
        && !other.observed
}
