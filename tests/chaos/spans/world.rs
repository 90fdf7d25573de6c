//! The place of a step in a tree: its span, trace, collector and customer.

use super::plan::Use;
use super::watch::fate;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use tokio::sync::mpsc::UnboundedSender;
use tool_core::trace::{
    Collector, Cost, DistributedContext, ModelUsage, Pricing, SpanId, SpanKind, TraceId,
};
use tool_core::{Session, ToolContext};

/// The collector of the process, and the shared collectors.
const COLLECTORS: usize = 64;

/// A token of model N costs N picodollars. One model has no price.
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
    let collector = |_| {
        Collector::builder()
            .keep(usize::MAX)
            .pricing(Prices)
            .sink(super::watch::Closed)
            .build()
    };
    (0..COLLECTORS).map(collector).collect()
});

/// The values that the steps of a tree share.
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
    pub fn new(
        number: u32,
        tools: ToolContext,
        session: Session,
        started: bool,
        token: UnboundedSender<()>,
    ) -> Self {
        let (nodes, log) = (Mutex::default(), Mutex::default());
        Self {
            number,
            tools,
            session,
            nodes,
            log,
            started,
            token: Mutex::new(Some(token)),
        }
    }

    /// The tree is over once every clone is dropped.
    pub fn token(&self) -> UnboundedSender<()> {
        self.token
            .lock()
            .expect("no panic holds it")
            .clone()
            .expect("the tree is not over")
    }

    /// The first task is over. Others may go on.
    pub fn is_left(&self) {
        *self.token.lock().expect("no panic holds it") = None;
    }
}

/// The span that a step opens.
pub struct Node {
    pub number: u32,
    pub kind: SpanKind,
    pub name: &'static str,
    pub parent: Option<Arc<Node>>,
    pub place: Where,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}:{} {} in {:?} under {:?}",
            self.kind, self.name, self.number, self.place, self.parent
        )
    }
}

/// The other properties of a place.
#[derive(Clone, Copy, Debug)]
pub struct Where {
    pub collector: usize,
    /// The parent span in another process.
    pub remote: Option<u32>,
    pub customer: Option<u8>,
}

impl Node {
    pub fn new(number: u32, kind: SpanKind, env: &Env) -> Arc<Self> {
        const NAMES: [&str; 5] = ["planner", "writer", "critic", "reader", "clerk"];
        Self::named(NAMES[number as usize / 2 % NAMES.len()], number, kind, env)
    }

    pub fn named(name: &'static str, number: u32, kind: SpanKind, env: &Env) -> Arc<Self> {
        let node = Arc::new(Self {
            number,
            kind,
            name,
            parent: env.node.clone(),
            place: env.place,
        });
        env.tree
            .nodes
            .lock()
            .expect("no panic holds it")
            .push(Arc::clone(&node));
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
    /// Returns whether calls have spans here: inside a span or a collector.
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
    /// The root of a tree, in a shared collector.
    pub fn new(tree: Arc<Tree>) -> Self {
        let collector = 1 + tree.number as usize % (COLLECTORS - 1);
        Self {
            tree,
            node: None,
            place: Where {
                collector,
                remote: None,
                customer: None,
            },
            is_inside: true,
        }
    }

    pub fn calls_have_spans(&self) -> bool {
        self.is_inside || self.tree.started
    }

    pub fn within(&self, node: Arc<Node>) -> Self {
        let place = Where {
            remote: None,
            ..self.place
        };
        Self {
            tree: Arc::clone(&self.tree),
            node: Some(node),
            place,
            is_inside: true,
        }
    }

    /// A task that inherits no span.
    pub fn outside(&self) -> Self {
        let place = Where {
            collector: 0,
            remote: None,
            customer: None,
        };
        Self {
            tree: Arc::clone(&self.tree),
            node: None,
            place,
            is_inside: false,
        }
    }

    pub fn imported(&self, number: u32) -> (DistributedContext, Self) {
        let (trace, span) = remote(number);
        let place = Where {
            remote: Some(number),
            ..self.place
        };
        let env = Self {
            tree: Arc::clone(&self.tree),
            node: None,
            place,
            is_inside: true,
        };
        (DistributedContext::new().parent(trace, span), env)
    }

    pub fn of_customer(&self, number: u8) -> (DistributedContext, Self) {
        let place = Where {
            customer: Some(number),
            ..self.place
        };
        (
            DistributedContext::new().customer_id(customer(number)),
            Self {
                place,
                is_inside: true,
                ..self.clone()
            },
        )
    }

    pub fn apart(&self) -> (&'static Collector, Self) {
        let collector = 1 + (self.tree.number as usize + 7) % (COLLECTORS - 1);
        let place = Where {
            collector,
            remote: None,
            customer: None,
        };
        (
            &ALL[collector],
            Self {
                tree: Arc::clone(&self.tree),
                node: None,
                place,
                is_inside: true,
            },
        )
    }
}

/// The state of a span at the time of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    On,
    /// The span had ended before.
    Over,
    /// The span ended at about that time.
    Perhaps,
}

/// A usage, and its place.
pub struct Spot {
    pub of: Use,
    pub node: Option<Arc<Node>>,
    pub place: Where,
    /// The time by a clock that all threads share.
    pub began: u64,
    pub ended: u64,
    /// The enclosing spans, the nearest first.
    pub went: Vec<Went>,
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

fn tick() -> u64 {
    CLOCK.fetch_add(1, Ordering::SeqCst)
}

impl Spot {
    /// Before the usage is recorded.
    pub fn here(of: Use, env: &Env) -> Self {
        let (node, place) = (env.node.clone(), env.place);
        let closed = |node: &Arc<Node>| {
            if fate(node.number).is_closed() {
                Went::Over
            } else {
                Went::Perhaps
            }
        };
        let went = node.iter().flat_map(Node::chain).map(closed).collect();
        Self {
            of,
            node,
            place,
            began: tick(),
            ended: 0,
            went,
        }
    }

    /// After the usage was recorded.
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

    /// The enclosing spans, the nearest first, with their state.
    pub fn chain(&self) -> impl Iterator<Item = (&Arc<Node>, Went)> {
        self.node
            .iter()
            .flat_map(Node::chain)
            .zip(self.went.iter().copied())
    }
}
