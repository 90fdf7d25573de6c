//! A record of what happened to each span, made by the work inside it and not by the library.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll};
use tool_core::trace::{ParentSpan, SpanRecord, SpanSink, SpanStatus};

/// The future of some steps. Its output says whether they failed.
pub type Work = Pin<Box<dyn Future<Output = Result<(), Failed>> + Send>>;

#[derive(Debug)]
pub struct Failed;

/// The state of a span while the trees run.
#[derive(Default)]
pub struct Fate {
    begun: AtomicBool,
    /// The status plus one, once the work is over.
    over: AtomicU8,
    /// The collector has received the span.
    closed: AtomicBool,
}

static FATES: OnceLock<Vec<Fate>> = OnceLock::new();

const STATUSES: [SpanStatus; 4] = [
    SpanStatus::Ok,
    SpanStatus::Error,
    SpanStatus::Panicked,
    SpanStatus::Cancelled,
];

pub fn prepare(nodes: u32) {
    let fates = (0..nodes).map(|_| Fate::default()).collect();
    assert!(FATES.set(fates).is_ok(), "prepared once");
}

pub fn fate(node: u32) -> &'static Fate {
    &FATES.get().expect("prepared")[node as usize]
}

impl Fate {
    pub fn begin(&self) {
        assert!(
            !self.begun.swap(true, Ordering::SeqCst),
            "a span begins once"
        );
    }

    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }

    /// The first status counts.
    pub fn over(&self, status: SpanStatus) {
        let number = STATUSES
            .iter()
            .position(|known| *known == status)
            .expect("a status")
            + 1;
        let number = u8::try_from(number).expect("few");
        let _ = self
            .over
            .compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub fn status(&self) -> Option<SpanStatus> {
        let number = usize::from(self.over.load(Ordering::SeqCst));
        number.checked_sub(1).map(|number| STATUSES[number])
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

/// Records the end of a span, unless a status was recorded before.
pub struct Unless(pub u32, pub SpanStatus);

impl Drop for Unless {
    fn drop(&mut self) {
        fate(self.0).over(self.1);
    }
}

/// The work inside of a span. It begins at its first poll, and ends when it is done, panics or is dropped.
pub struct Watched {
    node: u32,
    work: Work,
    begun: bool,
}

impl Watched {
    pub fn new(node: u32, work: Work) -> Self {
        Self {
            node,
            work,
            begun: false,
        }
    }
}

impl Future for Watched {
    type Output = Result<(), Failed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.begun {
            self.begun = true;
            mark(self.node);
        }
        // A poll that does not return has panicked.
        let panicked = Unless(self.node, SpanStatus::Panicked);
        let polled = self.work.as_mut().poll(cx);
        if let Poll::Ready(result) = &polled {
            fate(self.node).over(if result.is_ok() {
                SpanStatus::Ok
            } else {
                SpanStatus::Error
            });
        }
        std::mem::forget(panicked);
        polled
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.begun {
            fate(self.node).over(SpanStatus::Cancelled);
        }
    }
}

/// Checks that this is the current span of the thread.
pub fn mark(node: u32) {
    fate(node).begin();
    tool_core::trace::attribute("node", node);
}

/// Returns the span of a record, or `None` for a root that the library made for untracked cost.
pub fn node_of(span: &SpanRecord) -> Option<u32> {
    let marked = span
        .attributes()
        .find(|(key, _)| *key == "node")
        .and_then(|(_, value)| value.as_u64());
    let called = span.call_id().and_then(|id| id.parse().ok());
    marked
        .or(called)
        .map(|node| u32::try_from(node).expect("a number of ours"))
}

pub struct Closed;

impl SpanSink for Closed {
    fn ended(&self, span: &SpanRecord) {
        if let Some(node) = node_of(span) {
            assert!(
                !fate(node).closed.swap(true, Ordering::SeqCst),
                "a span closes once"
            );
        }
    }

    fn ended_in(&self, span: &SpanRecord, _around: &ParentSpan<'_>) {
        self.ended(span);
    }
}
