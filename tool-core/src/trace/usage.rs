//! What models use and what else costs money: on which span it stands, and that it stands there once. S6, S7

use crate::trace;
use crate::trace::collector;
use crate::trace::collector::Collector;
use crate::trace::cost::{Cost, TokenUsage};
use crate::trace::open_span::{OpenSpan, Own, Told, Trace, current};
use crate::trace::record::{SpanEnd, SpanKind};
use crate::trace::span::{NewSpan, open_in};
use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The characters of a name or an id that are kept, and the calls of a response.
const LONGEST: usize = 256;

/// What one response of a model used, as its provider tells it.
///
/// ```
/// use tool_core::trace::{ModelUsage, TokenUsage};
///
/// let used = ModelUsage::new("gpt-5-mini", TokenUsage { input: 1_200, output: 80, ..Usage::default() })
///     .provider("openai")
///     .response_id("resp_1")
///     .tool_call("call_1", "search");
/// assert_eq!(used.usage.total(), 1_280);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelUsage {
    /// The model that answered.
    pub model: Cow<'static, str>,
    /// Who runs it, as price tables know it: `openai`.
    pub provider: Option<Cow<'static, str>>,
    /// The tokens.
    pub usage: TokenUsage,
    /// The provider's id of the response, by which one that is seen twice counts once.
    pub response_id: Option<String>,
    /// The calls that the model made: id and name of the tool.
    pub tool_calls: Vec<(String, String)>,
}

impl ModelUsage {
    /// So many tokens of a model.
    pub fn new(model: impl Into<Cow<'static, str>>, usage: TokenUsage) -> Self {
        Self { model: model.into(), usage, ..Self::default() }
    }

    /// Who runs the model.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<Cow<'static, str>>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// The provider's id of the response.
    #[must_use]
    pub fn response_id(mut self, id: impl Into<String>) -> Self {
        self.response_id = Some(id.into());
        self
    }

    /// Cuts what a provider may have made up to what is kept.
    fn bound(&mut self) {
        let cut = |text: &mut String| {
            if let Some((at, _)) = text.char_indices().nth(LONGEST) {
                text.truncate(at);
            }
        };
        if self.model.len() > LONGEST {
            cut(self.model.to_mut());
        }
        self.response_id.as_mut().map(cut);
        self.tool_calls.truncate(LONGEST);
        self.tool_calls.iter_mut().for_each(|(id, tool)| {
            cut(id);
            cut(tool);
        });
    }

    /// A call that the model made.
    #[must_use]
    pub fn tool_call(mut self, id: impl Into<String>, tool: impl Into<String>) -> Self {
        self.tool_calls.push((id.into(), tool.into()));
        self
    }
}

/// What was used and spent at once, on the span that it counts for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CostEntry {
    /// What the model used; for what is no model, the name of it stands in the place of the model's.
    pub used: ModelUsage,
    /// What it cost; `None` where no price is known.
    pub cost: Option<Cost>,
    /// Whether it was seen on its way through HTTP, and not told.
    pub observed: bool,
    /// How many uses this is: those of a span that goes on for long are summed up.
    pub times: u64,
    /// Whether it is of the very question that its span stands for.
    pub(crate) asked: bool,
}

/// Tells what a model used: it counts for the nearest agent, tool or llm span that goes on. S6
pub(crate) fn record(used: ModelUsage) {
    add(used, false);
}

/// The same for what was seen of an HTTP response: it does not count where an llm span around it was told more.
pub(crate) fn observe(used: ModelUsage) {
    add(used, true);
}

fn add(mut used: ModelUsage, observed: bool) {
    let Some(place) = Place::here() else { return };
    used.bound();
    let cost = place.collector.price(&used);
    // What is told and what is seen of one request may come at once: held, so that one of the two is first.
    let mut kept = place.collector.kept();
    let counts = if observed { place.sees(&mut kept.seen, &used) } else { place.hears(&mut kept.seen, &used) };
    if !counts {
        return;
    }
    let left = place.put(CostEntry { used, cost, observed, times: 1, asked: false }, !observed);
    drop(kept);
    if let Some(spent) = left {
        place.new_root(spent);
    }
}

/// Tells what something that is no model has cost. S6
pub(crate) fn record_cost(what: impl Into<Cow<'static, str>>, cost: Cost) {
    let Some(place) = Place::here() else { return };
    let used = ModelUsage::new(what, TokenUsage::default());
    let spent = CostEntry { used, cost: Some(cost), observed: false, times: 1, asked: false };
    if let Some(spent) = place.put(spent, false) {
        place.new_root(spent);
    }
}

/// The nearest span of the best rank, open or closed.
fn nearest(scope: &Arc<OpenSpan>) -> Option<&Arc<OpenSpan>> {
    scope.chain().find(|scope| scope.kind.is_some_and(|kind| kind.rank() == 1))
}

/// Where something is spent.
struct Place {
    collector: Collector,
    scope: Option<Arc<OpenSpan>>,
}

impl Place {
    /// `None` where nobody collects.
    fn here() -> Option<Self> {
        if !cfg!(feature = "trace") {
            return None;
        }
        let scope = current();
        let collector = collector::at(scope.as_ref());
        Some(Self { collector, scope })
    }

    fn chain(&self) -> impl Iterator<Item = &Arc<OpenSpan>> {
        self.scope.iter().flat_map(OpenSpan::chain)
    }

    /// The llm span that asks, if one does.
    fn llm(&self) -> Option<&Arc<OpenSpan>> {
        self.scope.as_ref().and_then(nearest).filter(|scope| scope.kind == Some(SpanKind::Llm))
    }

    /// The spans that go on, the one that pays first: of the best rank, and of those the nearest. S6
    fn payers(&self) -> Vec<&Arc<OpenSpan>> {
        let mut active = self.chain().filter(|scope| scope.is_active()).collect::<Vec<_>>();
        active.sort_by_key(|scope| scope.kind.map(SpanKind::rank));
        active
    }

    /// Whether what was seen of a response counts. It does not where the question around it, open or closed, was told
    /// what it used; but what a tool inside of it asks is the tool's, and a response of another id is another request.
    fn sees(&self, seen: &mut Seen, used: &ModelUsage) -> bool {
        let told = self.llm().map(|question| question.told());
        match (told, &used.response_id) {
            (Some(Told::Whole), _) | (Some(Told::ById), None) => false,
            (Some(Told::ById), Some(id)) if seen.was_told(id) => false,
            _ => seen.add(used),
        }
    }

    /// Whether what is told of a response counts. It takes the place of what was only seen of it, on whatever span that
    /// stands, while that goes on.
    fn hears(&self, seen: &mut Seen, used: &ModelUsage) -> bool {
        if used.usage.is_empty() {
            return true;
        }
        if let Some(question) = self.llm() {
            // S6: the span that asked knows better than what is seen of its requests.
            question.is_told(used.response_id.is_some());
        }
        let Some(id) = &used.response_id else { return true };
        let is_new = seen.add(used);
        seen.tell(id);
        let made_room = self.chain().any(|scope| scope.change(|own| own.forget_seen(id)).unwrap_or(false));
        is_new || made_room
    }

    /// Puts it on the span that pays; what none pays is given back. What is `told` of a question takes the place of what
    /// was seen of it, and of nothing else that the span of the question pays. S6
    fn put(&self, spent: CostEntry, told: bool) -> Option<CostEntry> {
        // What is no use of a model is no answer to the question.
        let question = self.llm().filter(|_| told || spent.observed);
        let mut left = Some(spent);
        for payer in self.payers() {
            let asked = question.is_some_and(|question| Arc::ptr_eq(question, payer));
            // One that was closed in this moment does not pay.
            payer.change(|own| {
                if let Some(spent) = left.take() {
                    own.pay(CostEntry { asked, ..spent }, told && asked);
                }
            });
            if left.is_none() {
                break;
            }
        }
        left
    }

    /// S6: with none active a new root, a span that has nothing but what was spent. Under a context of another process, or
    /// for a customer, it has the place of a span that is opened here.
    fn new_root(&self, mut spent: CostEntry) {
        spent.observed = false;
        let span = open_in(Some(self.root()), NewSpan::new(SpanKind::Http, spent.used.model.clone()), None);
        if let Some(scope) = span.scope() {
            scope.change(|own| own.pay(spent, false));
        }
        span.close(SpanEnd::default());
    }

    /// What a new root hangs from: the scope itself where nothing but places are around here, and else one in which no
    /// span was ever opened.
    fn root(&self) -> Arc<OpenSpan> {
        let Some(scope) = &self.scope else { return self.collector.anchor() };
        if scope.chain().all(|scope| scope.kind.is_none()) {
            return Arc::clone(scope);
        }
        let trace = Trace { id: None, ..(*scope.trace).clone() };
        Arc::new(OpenSpan::new(Arc::new(trace), None, None, trace::no_name()))
    }
}

/// Whether nobody asked for it: it has no agent, tool or llm span around it. S7
pub(crate) fn is_untracked(scope: &Arc<OpenSpan>) -> bool {
    nearest(scope).is_none()
}

// ---- What a span pays: each use once, told or seen, and no more entries than it can keep.

/// The entries of one span; what comes after them is summed up by model.
const ENTRIES: usize = 256;

impl Own {
    /// Takes what was spent. What is `told` of a question takes the place of what was seen of it; what was seen of another
    /// response stays, as an attempt that broke off is paid as well. S6
    pub(crate) fn pay(&mut self, mut spent: CostEntry, told: bool) {
        if told && spent.used.usage.is_empty() {
            // It says nothing of tokens: what was seen of them stays.
            if let Some(seen) = self.spent.iter_mut().find(|other| other.observed && other.asked) {
                return seen.used.tool_calls.append(&mut spent.used.tool_calls);
            }
        } else if told {
            self.spent.retain(|other| !(other.observed && other.asked && may_be_same(&other.used, &spent.used)));
        } else if spent.observed && spent.asked {
            let empty = |other: &mut CostEntry| !other.observed && other.asked && other.used.usage.is_empty();
            for mut said in self.spent.extract_if(.., empty) {
                spent.used.tool_calls.append(&mut said.used.tool_calls);
            }
        }
        if self.spent.len() >= ENTRIES
            && let Some(same) = self.spent.iter_mut().rev().find(|other| other.sums_with(&spent))
        {
            return same.sum(&spent);
        }
        // Most spans pay once, and a vector begins with room for more.
        self.spent.reserve_exact(usize::from(self.spent.is_empty()));
        self.spent.push(spent);
    }

    /// Takes away what was only seen of a response; whether there was any.
    pub(crate) fn forget_seen(&mut self, id: &str) -> bool {
        let before = self.spent.len();
        self.spent.retain(|spent| !(spent.observed && spent.used.response_id.as_deref() == Some(id)));
        self.spent.len() < before
    }
}

/// Whether both may be of one response: they are not where each has an id of its own.
fn may_be_same(one: &ModelUsage, other: &ModelUsage) -> bool {
    match (&one.response_id, &other.response_id) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

impl CostEntry {
    fn sums_with(&self, other: &Self) -> bool {
        self.used.model == other.used.model
            && self.used.provider == other.used.provider
            && self.cost.is_some() == other.cost.is_some()
            && !self.observed
            && !other.observed
    }

    fn sum(&mut self, other: &Self) {
        self.used.usage += other.used.usage;
        self.cost = self.cost.zip(other.cost).map(|(mine, more)| mine + more);
        self.times += other.times;
        // It is of many responses now.
        self.used.response_id = None;
    }
}

/// The responses that were counted, the newest: numbers that stand for them. The same id, model and tokens are the same
/// response; some servers use an id again and again.
#[derive(Default)]
pub(crate) struct Seen {
    hasher: RandomState,
    known: HashSet<u64>,
    oldest_first: VecDeque<u64>,
}

const REMEMBERED: usize = 8_192;

impl Seen {
    /// Whether the response is a new one. From here on it is none.
    pub(crate) fn add(&mut self, used: &ModelUsage) -> bool {
        let Some(id) = &used.response_id else { return true };
        self.insert(self.hasher.hash_one((id, &used.model, used.usage)))
    }

    /// A response of this id was told.
    pub(crate) fn tell(&mut self, id: &str) {
        self.insert(self.hasher.hash_one(id));
    }

    /// Whether one of this id was.
    pub(crate) fn was_told(&self, id: &str) -> bool {
        self.known.contains(&self.hasher.hash_one(id))
    }

    fn insert(&mut self, number: u64) -> bool {
        if self.known.contains(&number) {
            return false;
        }
        if self.oldest_first.len() == REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.oldest_first.push_back(number);
        self.known.insert(number)
    }
}
