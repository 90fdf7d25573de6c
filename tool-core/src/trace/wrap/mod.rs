//! Callables that are no `#[tool]`, inside the span of a tool all the same. S3, S4
//!
//! A plain function could not tell a sync callable from an async one: every `Fn() -> F` is the former as well. So
//! `wrap_tool!` and `wrap_all!` are macros, and sort a callable by the traits of what it returns where it is wrapped, as
//! `respond!` sorts what tools return.

mod callable;
mod macros;
mod name;
mod runs;
mod shapes;
mod sort;

pub use callable::Callable;
pub use name::Label;
pub use shapes::Shape;
pub use sort::{SortCallable, SortReturned, TypeIsKnown};

use runs::Runs;
use sort::{Signature, Wraps};

use super::span::Opening;
use super::{SpanKind, in_span::InSpan, record::End, span};
use crate::name::Name;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A callable whose every call has the span of a tool: what [`wrap_tool!`](crate::wrap_tool) makes.
///
/// It is called as the callable is: `wrapped(1, 2)`. What is lent to it that way has to live as long as the wrapper is
/// used; [`call`](Self::call) takes the arguments as a tuple and is free of that.
///
/// `A` are the types of the arguments; the other parameters have no names that anyone could write.
pub struct Wrapped<F, M, C, A> {
    inner: Arc<Inner<F>>,
    call: C,
    /// How it runs, and on what.
    kind: PhantomData<fn(A) -> M>,
}

struct Inner<F> {
    spans: Spans,
    original: F,
}

/// The spans of a wrapper's calls.
pub struct Spans {
    name: Name,
    /// Of the tool that the callable is, so that its body opens no second span. 0 is none.
    site: u32,
}

impl Spans {
    /// Runs work that is no future.
    fn run<T>(&self, work: impl FnOnce() -> T, ends: fn(&T) -> End) -> T {
        let opening = Opening { kind: SpanKind::Tool, name: self.name.clone(), site: self.site, call_id: None };
        span::run_to_end(span::open(opening), work, ends)
    }

    /// Puts a future into a span.
    fn drive<F: Future>(&self, work: F, ends: fn(&F::Output) -> End) -> InSpan<F> {
        InSpan::of_tool(self.name.clone(), self.site, work, ends)
    }
}

impl<F, M, C, A> Wrapped<F, M, C, A> {
    /// The name that its spans have.
    pub fn name(&self) -> &str {
        &self.inner.spans.name
    }

    /// What was wrapped. A call of it has no span.
    pub fn original(&self) -> &F {
        &self.inner.original
    }

    /// Calls it with a tuple: `wrapped.call((1, 2))`.
    pub fn call<B>(&self, arguments: B) -> M::Out
    where
        F: Callable<B>,
        M: Runs<F::Out>,
    {
        M::run(&self.inner.spans, || self.inner.original.call_with(arguments))
    }
}

impl<F, M, C: Clone, A> Clone for Wrapped<F, M, C, A> {
    /// The same wrapper.
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), call: self.call.clone(), kind: PhantomData }
    }
}

impl<F, M, C, A> fmt::Debug for Wrapped<F, M, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wrapped").field(&self.name()).finish()
    }
}
