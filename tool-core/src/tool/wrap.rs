//! Callables that are no `#[tool]`, inside the span of a tool all the same. S3, S4
//!
//! A plain function could not tell a sync callable from an async one: every `Fn() -> F` is the former as well. So
//! `wrap_tool!` and `wrap_all!` are macros, and sort a callable by the traits of what it returns where it is wrapped, as
//! `respond!` sorts what tools return.

use crate::text::Name;
use crate::tool::registration::function_name_and_site;
use crate::tool::wrap_all::{Signature, Wraps};
use crate::trace::instrumented::Instrumented;
use crate::trace::record::SpanEnd;
use crate::trace::span;
use crate::trace::span::NewSpan;
use std::any::{TypeId, type_name};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
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
    fn run<T>(&self, work: impl FnOnce() -> T, ends: fn(&T) -> SpanEnd) -> T {
        span::run_to_end(span::open(NewSpan::of_tool(self.name.clone(), self.site)), work, ends)
    }

    /// Puts a future into a span.
    fn drive<F: Future>(&self, work: F, ends: fn(&F::Output) -> SpanEnd) -> Instrumented<F> {
        Instrumented::new(NewSpan::of_tool(self.name.clone(), self.site), work, ends)
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

// ---- What can be wrapped, for each number of arguments.

/// A function, a closure, or anything else that is called with `A`, a tuple of up to eight.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be wrapped",
    note = "what is wrapped is a function, a closure that borrows nothing, a `Tool`, or what was wrapped before; it takes at most 8 arguments"
)]
pub trait Callable<A> {
    /// What it returns.
    type Out;
    /// Both, for `wrap_tool!` to look at.
    #[doc(hidden)]
    type Signature;

    /// Calls it.
    fn call_with(&self, arguments: A) -> Self::Out;
}

macro_rules! arities {
    ($(($($argument:ident)*))*) => {$(
        impl<F: Fn($($argument),*) -> R, $($argument,)* R> Callable<($($argument,)*)> for F {
            type Out = R;
            type Signature = Signature<($($argument,)*), R>;

            #[allow(non_snake_case)] // an argument is called as its type is
            fn call_with(&self, ($($argument,)*): ($($argument,)*)) -> R {
                self($($argument),*)
            }
        }

        impl<M, $($argument,)*> Wraps<M, ($($argument,)*)> {
            /// The wrapper of a callable.
            #[allow(non_snake_case)]
            pub fn wrap<F, R>(
                self,
                original: F,
                label: Label,
            ) -> Wrapped<F, M, impl Fn($($argument),*) -> M::Out + Clone + 'static, ($($argument,)*)>
            where
                F: Fn($($argument),*) -> R + 'static,
                M: Runs<R>,
            {
                let inner = Arc::new(Inner { spans: label.spans::<F>(), original });
                let own = Arc::clone(&inner);
                let call = move |$($argument),*| M::run(&own.spans, || (own.original)($($argument),*));
                Wrapped { inner, call, kind: PhantomData }
            }
        }

        // A method call would find a field's trait only by way of this, too: `wrapped(1, 2)`.
        impl<F, M, C: Fn($($argument),*) -> R + 'static, $($argument,)* R> Deref
            for Wrapped<F, M, C, ($($argument,)*)>
        {
            type Target = dyn Fn($($argument),*) -> R;

            fn deref(&self) -> &Self::Target {
                &self.call
            }
        }
    )*};
}

arities! { () (A1) (A1 A2) (A1 A2 A3) (A1 A2 A3 A4) (A1 A2 A3 A4 A5) (A1 A2 A3 A4 A5 A6) (A1 A2 A3 A4 A5 A6 A7) (A1 A2 A3 A4 A5 A6 A7 A8) }

// ---- How a callable runs, by what it returns.

/// One of the four ways.
pub trait Runs<T> {
    /// What a call of the wrapper returns.
    type Out;

    /// Makes the call in its span.
    fn run(spans: &Spans, work: impl FnOnce() -> T) -> Self::Out;
}

/// It is over when it returns.
pub struct Now;
/// It is over when it returns a `Result`.
pub struct NowFallible;
/// It returns a future.
pub struct Later;
/// It returns a future of a `Result`.
pub struct LaterFallible;

impl<T> Runs<T> for Now {
    type Out = T;

    fn run(spans: &Spans, work: impl FnOnce() -> T) -> T {
        spans.run(work, |_| SpanEnd::default())
    }
}

impl<T, E> Runs<Result<T, E>> for NowFallible {
    type Out = Result<T, E>;

    fn run(spans: &Spans, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        spans.run(work, SpanEnd::of_result)
    }
}

impl<F: Future> Runs<F> for Later {
    type Out = Instrumented<F>;

    fn run(spans: &Spans, work: impl FnOnce() -> F) -> Instrumented<F> {
        spans.drive(work(), |_| SpanEnd::default())
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Runs<F> for LaterFallible {
    type Out = Instrumented<F>;

    fn run(spans: &Spans, work: impl FnOnce() -> F) -> Instrumented<F> {
        spans.drive(work(), SpanEnd::of_result)
    }
}

// ---- What the spans of a wrapped callable are called. S3

/// What is known of a callable's name where it is wrapped.
#[derive(Default)]
pub struct Label {
    name: Option<Name>,
    /// The tool that it is, where that is known from elsewhere than its type. 0 is unknown.
    site: u32,
}

impl Label {
    /// The name that was given.
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: Some(name.into().into()), site: 0 }
    }

    /// Of a callable that goes into a list, where it is not more than its signature.
    pub fn of<F: 'static>(_: &F) -> Self {
        let Spans { name, site } = Self::default().spans::<F>();
        Self { name: Some(name), site }
    }

    /// S3: the name that was given, the tool's, the function's, the type's.
    pub(crate) fn spans<F: 'static>(self) -> Spans {
        let tool = function_name_and_site(TypeId::of::<F>());
        let site = if self.site == 0 { tool.map_or(0, |tool| tool.1) } else { self.site };
        let of_type = || tool.map_or_else(|| name_of(type_name::<F>(), size_of::<F>() == 0), |tool| tool.0.into());
        Spans { name: self.name.unwrap_or_else(|| of_type().into()), site }
    }
}

/// A callable's name, by its type's. A function's item has no size, and is called as the function is.
fn name_of(full: &'static str, is_item: bool) -> Cow<'static, str> {
    let (before, last) = last_segment(full);
    match last.split('<').next() {
        Some(name) if is_item && !last.starts_with('{') && !name.is_empty() => name.into(),
        _ if last.starts_with('{') => of_closure(before),
        _ => shortened(full).into(),
    }
}

/// The path before the last segment, and that: what stands in brackets is not looked at.
fn last_segment(path: &str) -> (&str, &str) {
    let (mut depth, mut after, mut found) = (0_usize, None, None);
    for (at, letter) in path.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' if path.get(..at).is_some_and(|before| before.ends_with('-')) => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && after == Some(at) => found = Some(at),
            ':' if depth == 0 => after = Some(at + 1),
            _ => {}
        }
    }
    let parts = found.and_then(|at| path.get(..at.checked_sub(1)?).zip(path.get(at + 1..)));
    parts.unwrap_or(("", path))
}

/// Named after the function that it stands in.
fn of_closure(mut path: &str) -> Cow<'static, str> {
    loop {
        let (before, last) = last_segment(path);
        if !last.starts_with('{') {
            let name = last.split('<').next().unwrap_or(last);
            return format!("{name}::closure").into();
        }
        path = before;
    }
}

/// Without the modules: `Box<dyn Fn(String) -> u32>`.
fn shortened(full: &str) -> String {
    let mut short = String::new();
    let mut path = 0;
    for letter in full.chars() {
        short.push(letter);
        if short.ends_with("::") {
            short.truncate(path);
        } else if !(letter.is_alphanumeric() || letter == '_' || letter == ':') {
            path = short.len();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    // S3
    #[test]
    fn a_name_is_the_functions_and_else_the_types() {
        for (full, is_item, expected) in [
            ("shop::tools::search", true, "search"),
            ("shop::tools::search<alloc::string::String>", true, "search"),
            ("<shop::Desk<u8> as shop::Finds>::find", true, "find"),
            ("shop::Desk<fn(a::B) -> c::D>::find", true, "find"),
            ("shop::tools::search::{{closure}}", true, "search::closure"),
            ("shop::tools::search<a::B>::{{closure}}::{{closure}}", false, "search::closure"),
            ("fn(alloc::string::String, &str) -> u32", false, "fn(String, &str) -> u32"),
            ("alloc::boxed::Box<dyn core::ops::function::Fn(u8) -> shop::Fruit>", false, "Box<dyn Fn(u8) -> Fruit>"),
            ("search", true, "search"),
        ] {
            assert_eq!(name_of(full, is_item), expected, "{full}");
        }
    }
}
