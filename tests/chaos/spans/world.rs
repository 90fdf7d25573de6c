//! Where a step of a tree is: in which span, of which trace, collector and customer.

use super::plan::Use;
use super::watch::fate;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use tokio::sync::mpsc::UnboundedSender;
use tool_core::trace::{Collector, Cost, DistributedContext, ModelUsage, Pricing, SpanId, SpanKind, TraceId};
use tool_core::{Session, ToolContext};

/// The collector of the process, and those that trees share.
const COLLECTORS: usize = 64;

/// A token costs its number, in picodollars; one model has no price.
struct Prices;

impl Pricing for Prices {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        price(&used.model, used.usage.input)
    }
}

pub fn price(model: &str, tokens: u64) -> Option<Cost> {
    (model != "free").then(|| Cost::pico(tokens * 1_000))
}

pub static ALL: LazyLock<Vec<Collector>> = LazyLock::new(|| {
    let collector = |_| Collector::builder().keep(usize::MAX).pricing(Prices).sink(super::watch::Closed).build();
    (0..COLLECTORS).map(collector).collect()
});

/// What the steps of a tree share.
pub struct Tree {
    pub number: u32,
    pub tools: ToolContext,
    pub session: Session,
    pub nodes: Mutex<Vec<Arc<Node>>>,
    pub log: Mutex<Vec<Arc<Spot>>>,
    pub started: bool,
    token: Mutex<Option<UnboundedSender<()>>>,
}

impl Tree {
    pub fn new(number: u32, tools: ToolContext, session: Session, started: bool, token: UnboundedSender<()>) -> Self {
        let (nodes, log) = (Mutex::default(), Mutex::default());
        Self { number, tools, session, nodes, log, started, token: Mutex::new(Some(token)) }
    }

    /// Until it is dropped the tree is not over.
    pub fn token(&self) -> UnboundedSender<()> {
        self.token.lock().expect("no panic holds it").clone().expect("the tree is not over")
    }

    /// Its first task is over; others may go on.
    pub fn is_left(&self) {
        *self.token.lock().expect("no panic holds it") = None;
    }
}

/// The span that a step may open.
pub struct Node {
    pub number: u32,
    pub kind: SpanKind,
    pub name: &'static str,
    pub parent: Option<Arc<Node>>,
    pub place: Where,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{} {} in {:?} under {:?}", self.kind, self.name, self.number, self.place, self.parent)
    }
}

/// What a place has besides its span.
#[derive(Clone, Copy, Debug)]
pub struct Where {
    pub collector: usize,
    /// The span of another process that stands above.
    pub remote: Option<u32>,
    pub customer: Option<u8>,
}

impl Node {
    pub fn new(number: u32, kind: SpanKind, env: &Env) -> Arc<Self> {
        const NAMES: [&str; 5] = ["planner", "writer", "critic", "reader", "clerk"];
        Self::named(NAMES[number as usize / 2 % NAMES.len()], number, kind, env)
    }

    pub fn named(name: &'static str, number: u32, kind: SpanKind, env: &Env) -> Arc<Self> {
        let node = Arc::new(Self { number, kind, name, parent: env.node.clone(), place: env.place });
        env.tree.nodes.lock().expect("no panic holds it").push(Arc::clone(&node));
        node
    }

    pub fn chain(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(Some(self), |node| node.parent.as_ref())
    }
}

#[derive(Clone)]
pub struct Env {
    pub tree: Arc<Tree>,
    pub node: Option<Arc<Node>>,
    pub place: Where,
    /// Whether there is a span or a collector around, so that calls have spans.
    is_inside: bool,
}

pub fn customer(number: u8) -> String {
    format!("customer {number}")
}

pub fn remote(number: u32) -> (TraceId, SpanId) {
    let trace = TraceId::from_bytes((u128::from(number) << 64 | 1).to_be_bytes());
    let span = SpanId::from_bytes(u64::from(number).to_be_bytes());
    (trace.expect("not 0"), span.expect("not 0"))
}

impl Env {
    /// The beginning of a tree, in a collector that others share.
    pub fn new(tree: Arc<Tree>) -> Self {
        let collector = 1 + tree.number as usize % (COLLECTORS - 1);
        Self { tree, node: None, place: Where { collector, remote: None, customer: None }, is_inside: true }
    }

    pub fn calls_have_spans(&self) -> bool {
        self.is_inside || self.tree.started
    }

    pub fn within(&self, node: Arc<Node>) -> Self {
        let place = Where { remote: None, ..self.place };
        Self { tree: Arc::clone(&self.tree), node: Some(node), place, is_inside: true }
    }

    /// A task that takes nothing along.
    pub fn outside(&self) -> Self {
        let place = Where { collector: 0, remote: None, customer: None };
        Self { tree: Arc::clone(&self.tree), node: None, place, is_inside: false }
    }

    pub fn imported(&self, number: u32) -> (DistributedContext, Self) {
        let (trace, span) = remote(number);
        let place = Where { remote: Some(number), ..self.place };
        let env = Self { tree: Arc::clone(&self.tree), node: None, place, is_inside: true };
        (DistributedContext::new().parent(trace, span), env)
    }

    pub fn of_customer(&self, number: u8) -> (DistributedContext, Self) {
        let place = Where { customer: Some(number), ..self.place };
        (DistributedContext::new().customer_id(customer(number)), Self { place, is_inside: true, ..self.clone() })
    }

    pub fn apart(&self) -> (&'static Collector, Self) {
        let collector = 1 + (self.tree.number as usize + 7) % (COLLECTORS - 1);
        let place = Where { collector, remote: None, customer: None };
        (&ALL[collector], Self { tree: Arc::clone(&self.tree), node: None, place, is_inside: true })
    }
}

/// Whether a span went on while something was used in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    On,
    /// It was over before.
    Over,
    /// It ended at about that time.
    Perhaps,
}

/// Something that was used, and where.
pub struct Spot {
    pub of: Use,
    pub node: Option<Arc<Node>>,
    pub place: Where,
    /// By a clock that all threads share.
    pub began: u64,
    pub ended: u64,
    /// The spans around it, the nearest first.
    pub went: Vec<Went>,
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

fn tick() -> u64 {
    CLOCK.fetch_add(1, Ordering::SeqCst)
}

impl Spot {
    /// Before it is told.
    pub fn here(of: Use, env: &Env) -> Self {
        let (node, place) = (env.node.clone(), env.place);
        let closed = |node: &Arc<Node>| if fate(node.number).is_closed() { Went::Over } else { Went::Perhaps };
        let went = node.iter().flat_map(Node::chain).map(closed).collect();
        Self { of, node, place, began: tick(), ended: 0, went }
    }

    /// After it was.
    pub fn after(mut self) -> Self {
        self.ended = tick();
        let chain = self.node.iter().flat_map(Node::chain);
        for (went, node) in self.went.iter_mut().zip(chain) {
            if *went == Went::Perhaps && fate(node.number).status().is_none() {
                *went = Went::On;
            }
        }
        self
    }

    /// The spans around it, the nearest first, and whether they went on.
    pub fn chain(&self) -> impl Iterator<Item = (&Arc<Node>, Went)> {
        self.node.iter().flat_map(Node::chain).zip(self.went.iter().copied())
    }
}
