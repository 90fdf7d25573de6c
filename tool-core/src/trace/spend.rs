//! What models use and what else costs money: on which span it stands, and that it stands there once. S6, S7

use super::collector::Collector;
use super::cost::Cost;
use super::current::current;
use super::kind::SpanKind;
use super::paid::Seen;
use super::record::End;
use super::scope::{Scope, Told, Trace};
use super::span::{Opening, open_in};
use super::usage::Usage;
use std::borrow::Cow;
use std::sync::Arc;

/// The characters of a name or an id that are kept, and the calls of a response.
const LONGEST: usize = 256;

/// What one response of a model used, as its provider tells it.
///
/// ```
/// use tool_core::trace::{ModelUse, Usage};
///
/// let used = ModelUse::new("gpt-5-mini", Usage { input: 1_200, output: 80, ..Usage::default() })
///     .provider("openai")
///     .response_id("resp_1")
///     .tool_call("call_1", "search");
/// assert_eq!(used.usage.total(), 1_280);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelUse {
    /// The model that answered.
    pub model: Cow<'static, str>,
    /// Who runs it, as price tables know it: `openai`.
    pub provider: Option<Cow<'static, str>>,
    /// The tokens.
    pub usage: Usage,
    /// The provider's id of the response, by which one that is seen twice counts once.
    pub response_id: Option<String>,
    /// The calls that the model made: id and name of the tool.
    pub tool_calls: Vec<(String, String)>,
}

impl ModelUse {
    /// So many tokens of a model.
    pub fn new(model: impl Into<Cow<'static, str>>, usage: Usage) -> Self {
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
pub struct Spent {
    /// What the model used; for what is no model, the name of it stands in the place of the model's.
    pub used: ModelUse,
    /// What it cost; `None` where no price is known.
    pub cost: Option<Cost>,
    /// Whether it was seen on its way through HTTP, and not told.
    pub observed: bool,
    /// How many uses this is: those of a span that goes on for long are summed up.
    pub times: u64,
    /// Whether it is of the very question that its span stands for.
    pub(super) asked: bool,
}

/// Tells what a model used: it counts for the nearest agent, tool or llm span that goes on. S6
pub(super) fn record(used: ModelUse) {
    add(used, false);
}

/// The same for what was seen of an HTTP response: it does not count where an llm span around it was told more.
pub(super) fn observe(used: ModelUse) {
    add(used, true);
}

fn add(mut used: ModelUse, observed: bool) {
    let Some(place) = Place::here() else { return };
    used.bound();
    let cost = place.collector.price(&used);
    // What is told and what is seen of one request may come at once: held, so that one of the two is first.
    let mut kept = place.collector.kept();
    let counts = if observed { place.sees(&mut kept.seen, &used) } else { place.hears(&mut kept.seen, &used) };
    if !counts {
        return;
    }
    let left = place.put(Spent { used, cost, observed, times: 1, asked: false }, !observed);
    drop(kept);
    if let Some(spent) = left {
        place.new_root(spent);
    }
}

/// Tells what something that is no model has cost. S6
pub(super) fn spend(what: impl Into<Cow<'static, str>>, cost: Cost) {
    let Some(place) = Place::here() else { return };
    let used = ModelUse::new(what, Usage::default());
    let spent = Spent { used, cost: Some(cost), observed: false, times: 1, asked: false };
    if let Some(spent) = place.put(spent, false) {
        place.new_root(spent);
    }
}

/// The nearest span of the best rank, open or closed.
fn nearest(scope: &Arc<Scope>) -> Option<&Arc<Scope>> {
    scope.chain().find(|scope| scope.kind.is_some_and(|kind| kind.rank() == 1))
}

/// Where something is spent.
struct Place {
    collector: Collector,
    scope: Option<Arc<Scope>>,
}

impl Place {
    /// `None` where nobody collects.
    fn here() -> Option<Self> {
        if !cfg!(feature = "trace") {
            return None;
        }
        let scope = current();
        let collector = super::collector::at(scope.as_ref());
        Some(Self { collector, scope })
    }

    fn chain(&self) -> impl Iterator<Item = &Arc<Scope>> {
        self.scope.iter().flat_map(Scope::chain)
    }

    /// The llm span that asks, if one does.
    fn llm(&self) -> Option<&Arc<Scope>> {
        self.scope.as_ref().and_then(nearest).filter(|scope| scope.kind == Some(SpanKind::Llm))
    }

    /// The spans that go on, the one that pays first: of the best rank, and of those the nearest. S6
    fn payers(&self) -> Vec<&Arc<Scope>> {
        let mut active = self.chain().filter(|scope| scope.is_active()).collect::<Vec<_>>();
        active.sort_by_key(|scope| scope.kind.map(SpanKind::rank));
        active
    }

    /// Whether what was seen of a response counts. It does not where the question around it, open or closed, was told
    /// what it used; but what a tool inside of it asks is the tool's, and a response of another id is another request.
    fn sees(&self, seen: &mut Seen, used: &ModelUse) -> bool {
        let told = self.llm().map(|question| question.told());
        match (told, &used.response_id) {
            (Some(Told::Whole), _) | (Some(Told::ById), None) => false,
            (Some(Told::ById), Some(id)) if seen.was_told(id) => false,
            _ => seen.add(used),
        }
    }

    /// Whether what is told of a response counts. It takes the place of what was only seen of it, on whatever span that
    /// stands, while that goes on.
    fn hears(&self, seen: &mut Seen, used: &ModelUse) -> bool {
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
    fn put(&self, spent: Spent, told: bool) -> Option<Spent> {
        // What is no use of a model is no answer to the question.
        let question = self.llm().filter(|_| told || spent.observed);
        let mut left = Some(spent);
        for payer in self.payers() {
            let asked = question.is_some_and(|question| Arc::ptr_eq(question, payer));
            // One that was closed in this moment does not pay.
            payer.change(|own| {
                if let Some(spent) = left.take() {
                    own.pay(Spent { asked, ..spent }, told && asked);
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
    fn new_root(&self, mut spent: Spent) {
        spent.observed = false;
        let span = open_in(Some(self.root()), Opening::new(SpanKind::Http, spent.used.model.clone()));
        if let Some(scope) = span.scope() {
            scope.change(|own| own.pay(spent, false));
        }
        span.close(End::default());
    }

    /// What a new root hangs from: the scope itself where nothing but places are around here, and else one in which no
    /// span was ever opened.
    fn root(&self) -> Arc<Scope> {
        let Some(scope) = &self.scope else { return self.collector.anchor() };
        if scope.chain().all(|scope| scope.kind.is_none()) {
            return Arc::clone(scope);
        }
        let trace = Trace { id: None, ..(*scope.trace).clone() };
        Arc::new(Scope::new(Arc::new(trace), None, None, super::no_name()))
    }
}

/// Whether nobody asked for it: it has no agent, tool or llm span around it. S7
pub(super) fn is_untracked(scope: &Arc<Scope>) -> bool {
    nearest(scope).is_none()
}
