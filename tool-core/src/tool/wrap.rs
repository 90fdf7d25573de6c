//! Wrapped callables: functions and closures without `#[tool]` whose calls have the span of a tool.
//!
//! A generic function cannot tell a sync callable from an async one, because every `Fn() -> F` is
//! also sync. So `wrap_tool!` and `wrap_all!` are macros, and method resolution decides by the
//! traits of the returned type, as `respond!` does for the results of tools.

use crate::text::Name;
use crate::tool::registration::function_name_and_site;
use crate::trace::body::{SpanEnding, never};
use crate::trace::instrumented::Instrumented;
use crate::trace::span;
use crate::trace::span::NewSpan;
use std::any::{TypeId, type_name};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// A callable whose every call has the span of a tool. [`wrap_tool!`](crate::wrap_tool) creates it.
///
/// It is called like the original: `wrapped(1, 2)`. Arguments that are borrowed in such a call have
/// to live as long as the wrapper is used; [`call`](Self::call) takes the arguments as a tuple and
/// has no such limit.
///
/// `A` is the tuple of the arguments' types. The other type parameters cannot be named.
pub struct Wrapped<F, M, C, A> {
    inner: Arc<WrappedInner<F>>,
    call: C,
    types: PhantomData<fn(A) -> M>,
}

struct WrappedInner<F> {
    span: CallSpan,
    original: F,
}

/// The name of the spans of a wrapper's calls, and the trace site of the wrapped tool.
pub struct CallSpan {
    name: Name,
    /// The site by which the body of a wrapped tool recognises the call and opens no second span; 0
    /// for other callables.
    site: u32,
}

impl CallSpan {
    fn new_span(&self) -> NewSpan {
        NewSpan::of_tool(self.name.clone(), self.site, None)
    }
}

impl<F, M, C, A> Wrapped<F, M, C, A> {
    /// Returns the name of the spans.
    pub fn name(&self) -> &str {
        &self.inner.span.name
    }

    /// Returns the wrapped callable. A direct call of it has no span.
    pub fn original(&self) -> &F {
        &self.inner.original
    }

    /// Calls the callable with a tuple of arguments: `wrapped.call((1, 2))`.
    pub fn call<B>(&self, arguments: B) -> M::Out
    where
        F: Callable<B>,
        M: TracedCall<F::Out>,
    {
        M::run(&self.inner.span, || {
            self.inner.original.call_with(arguments)
        })
    }
}

impl<F, M, C: Clone, A> Clone for Wrapped<F, M, C, A> {
    /// Returns the same wrapper.
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            call: self.call.clone(),
            types: PhantomData,
        }
    }
}

impl<F, M, C, A> fmt::Debug for Wrapped<F, M, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wrapped").field(&self.name()).finish()
    }
}

/// A function, closure or wrapper that is called with `A`, a tuple of up to eight arguments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be wrapped",
    note = "wrap a function, a closure that borrows nothing, a `Tool`, or an existing wrapper; it takes at most 8 arguments"
)]
pub trait Callable<A> {
    /// The returned type.
    type Out;

    /// Calls the callable.
    fn call_with(&self, arguments: A) -> Self::Out;
}

/// A callable's types: a tuple of arguments, and the result.
pub struct CallSignature<A, R>(pub(crate) PhantomData<fn(A) -> R>);

impl<A, R> CallSignature<A, R> {
    /// Gives the result's type to the compiler. It is never called.
    #[must_use]
    #[allow(clippy::unused_self)] // the macros call it on a value
    pub fn returned(&self) -> R {
        never()
    }
}

/// Wraps callables with arguments `A` whose calls run as `M`.
pub struct WrapAs<M, A>(pub(crate) PhantomData<fn(A) -> M>);

impl<M, A> Clone for WrapAs<M, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, A> Copy for WrapAs<M, A> {}

macro_rules! arities {
    ($(($($argument:ident)*))*) => {$(
        impl<F: Fn($($argument),*) -> R, $($argument,)* R> Callable<($($argument,)*)> for F {
            type Out = R;

            #[allow(non_snake_case)] // each argument has the name of its type
            fn call_with(&self, ($($argument,)*): ($($argument,)*)) -> R {
                self($($argument),*)
            }
        }

        impl<M, $($argument,)*> WrapAs<M, ($($argument,)*)> {
            /// Wraps a callable.
            #[allow(non_snake_case)]
            pub fn wrap<F, R>(
                self,
                original: F,
                label: SpanLabel,
            ) -> Wrapped<F, M, impl Fn($($argument),*) -> M::Out + Clone + 'static, ($($argument,)*)>
            where
                F: Fn($($argument),*) -> R + 'static,
                M: TracedCall<R>,
            {
                let inner = Arc::new(WrappedInner { span: label.resolve::<F>(), original });
                let own = Arc::clone(&inner);
                let call = move |$($argument),*| M::run(&own.span, || (own.original)($($argument),*));
                Wrapped { inner, call, types: PhantomData }
            }
        }

        // Makes `wrapped(1, 2)` work.
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

/// Runs a call that returns a `T` in its span: [`SyncCall`] or [`AsyncCall`].
pub trait TracedCall<T> {
    /// The type that a call of the wrapper returns.
    type Out;

    /// Runs the call.
    fn run(span: &CallSpan, call: impl FnOnce() -> T) -> Self::Out;
}

/// A call that is complete when it returns. `E` decides how its span ends.
pub struct SyncCall<E>(PhantomData<E>);

/// A call that returns a future. `E` decides how its span ends.
pub struct AsyncCall<E>(PhantomData<E>);

impl<T, E: SpanEnding<T>> TracedCall<T> for SyncCall<E> {
    type Out = T;

    fn run(span: &CallSpan, call: impl FnOnce() -> T) -> T {
        span::run_to_end(span::open(span.new_span()), call, E::end)
    }
}

impl<F: Future, E: SpanEnding<F::Output>> TracedCall<F> for AsyncCall<E> {
    type Out = Instrumented<F>;

    fn run(span: &CallSpan, call: impl FnOnce() -> F) -> Instrumented<F> {
        Instrumented::new(span.new_span(), call(), E::end)
    }
}

/// The part of a span's name that the place of wrapping knows.
#[derive(Default)]
pub struct SpanLabel {
    name: Option<Name>,
    /// The trace site of the tool, where it is known. 0 means that the type identifies the tool.
    site: u32,
}

impl SpanLabel {
    /// Creates a label with a given name.
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: Some(name.into().into()),
            site: 0,
        }
    }

    /// Creates the label of a function that goes into a list, where its type becomes a mere
    /// signature.
    pub fn of<F: 'static>(_: &F) -> Self {
        let CallSpan { name, site } = Self::default().resolve::<F>();
        Self {
            name: Some(name),
            site,
        }
    }

    /// Chooses the first known name: the given one, or that of the tool, of the function, or of the
    /// type.
    fn resolve<F: 'static>(self) -> CallSpan {
        let tool = function_name_and_site(TypeId::of::<F>());
        let site = if self.site == 0 {
            tool.map_or(0, |tool| tool.1)
        } else {
            self.site
        };
        let of_type = || {
            tool.map_or_else(
                || name_of(type_name::<F>(), size_of::<F>() == 0),
                |tool| tool.0.into(),
            )
        };
        CallSpan {
            name: self.name.unwrap_or_else(|| of_type().into()),
            site,
        }
    }
}

/// Returns a callable's name by the name of its type. The type of a function item has no size and
/// the function's name.
fn name_of(full: &'static str, is_item: bool) -> Cow<'static, str> {
    let (before, last) = last_segment(full);
    match last.split('<').next() {
        Some(name) if is_item && !last.starts_with('{') && !name.is_empty() => name.into(),
        _ if last.starts_with('{') => of_closure(before),
        _ => shortened(full).into(),
    }
}

/// Splits a path before its last segment. Text in brackets is skipped.
fn last_segment(path: &str) -> (&str, &str) {
    let count = |text: &str, brackets: [char; 3]| text.replace("->", "").matches(brackets).count();
    let is_balanced = |text: &str| count(text, ['<', '(', '[']) == count(text, ['>', ')', ']']);
    let mut splits = path
        .rmatch_indices("::")
        .map(|(at, mark)| (&path[..at], &path[at + mark.len()..]));
    splits
        .find(|(_, last)| is_balanced(last))
        .unwrap_or(("", path))
}

/// Returns the name of a closure: that of the function around it.
fn of_closure(path: &str) -> Cow<'static, str> {
    match last_segment(path) {
        (before, last) if last.starts_with('{') => of_closure(before),
        (_, last) => format!("{}::closure", last.split('<').next().unwrap_or(last)).into(),
    }
}

/// Removes the modules: `Box<dyn Fn(String) -> u32>`.
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

    #[test]
    fn names_a_callable_by_its_function_or_type() {
        for (full, is_item, expected) in [
            ("shop::tools::search", true, "search"),
            ("shop::tools::search<alloc::string::String>", true, "search"),
            ("<shop::Desk<u8> as shop::Finds>::find", true, "find"),
            ("shop::Desk<fn(a::B) -> c::D>::find", true, "find"),
            ("shop::tools::search::{{closure}}", true, "search::closure"),
            (
                "shop::tools::search<a::B>::{{closure}}::{{closure}}",
                false,
                "search::closure",
            ),
            (
                "fn(alloc::string::String, &str) -> u32",
                false,
                "fn(String, &str) -> u32",
            ),
            (
                "alloc::boxed::Box<dyn core::ops::function::Fn(u8) -> shop::Fruit>",
                false,
                "Box<dyn Fn(u8) -> Fruit>",
            ),
            ("search", true, "search"),
        ] {
            assert_eq!(name_of(full, is_item), expected, "{full}");
        }
    }
}
