//! How the span of a body ends, sorted by the trait of what the body came to, as return values are.

use super::returns::probe;
use super::{IsPlain, IsResult, Probe};
use crate::trace::site::Opened;
use crate::trace::{End, InSpan, end_of};
use std::pin::Pin;

impl IsResult {
    /// An error closes the span as one. S5
    #[inline]
    pub fn ends<T, E>(self) -> fn(&Result<T, E>) -> End {
        end_of
    }
}

impl IsPlain {
    /// Always well.
    #[inline]
    pub fn ends<T>(self) -> fn(&T) -> End {
        |_| End::default()
    }
}

probe! {
    /// Any future, where the signature hides which: it may be put into another.
    FutureKind.__tool_goes_on -> IsFuture, [<F: Future> FutureKind for &Probe<F>];
    /// A future in a box, as `async_trait` writes it.
    BoxedKind.__tool_goes_on -> IsBoxed, [<T: Boxed> BoxedKind for &Probe<T>];
    /// What is over when the function returns.
    OverKind.__tool_goes_on -> IsOver, [<T> OverKind for Probe<T>];
}

/// A future in a box, which may be put into another such box.
pub trait Boxed: Future + Sized {
    /// With the span around it.
    #[must_use]
    fn inside(self, span: Opened, ends: fn(&Self::Output) -> End) -> Self;
}

impl<'a, T: 'a> Boxed for Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    fn inside(self, span: Opened, ends: fn(&T) -> End) -> Self {
        Box::pin(InSpan::of(span.0, self, ends))
    }
}

impl<'a, T: 'a> Boxed for Pin<Box<dyn Future<Output = T> + 'a>> {
    fn inside(self, span: Opened, ends: fn(&T) -> End) -> Self {
        Box::pin(InSpan::of(span.0, self, ends))
    }
}

impl IsFuture {
    /// What says how it ends: what it comes to.
    pub fn outcome<F: Future>(&self, _: &F) -> Probe<F::Output> {
        Probe::new()
    }

    /// The span goes on with it.
    pub fn finish<F: Future>(self, future: F, span: Opened, ends: fn(&F::Output) -> End) -> InSpan<F> {
        InSpan::of(span.0, future, ends)
    }
}

impl IsBoxed {
    /// What says how it ends: what it comes to.
    pub fn outcome<F: Boxed>(&self, _: &F) -> Probe<F::Output> {
        Probe::new()
    }

    /// The span goes on with it.
    pub fn finish<F: Boxed>(self, future: F, span: Opened, ends: fn(&F::Output) -> End) -> F {
        future.inside(span, ends)
    }
}

impl IsOver {
    /// What says how it ends: itself.
    pub fn outcome<T>(&self, _: &T) -> Probe<T> {
        Probe::new()
    }

    /// Closes the span.
    #[inline]
    pub fn finish<T>(self, value: T, span: Opened, ends: fn(&T) -> End) -> T {
        if let Some(span) = span.0 {
            span.close(ends(&value));
        }
        value
    }
}

/// The fn of a tool, as its body knows itself: the name in its description, the path in its module.
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($name:expr, $path:literal) => {
        const { $crate::__private::TraceSite::new($name, ::core::concat!(::core::module_path!(), $path)) }
    };
}

/// How the span of a body ends, by what the body came to.
#[doc(hidden)]
#[macro_export]
macro_rules! __ends {
    () => {
        |__tool_value: &_| {
            #[allow(unused_imports)]
            use $crate::__private::{PlainKind as _, ResultKind as _};
            (&&$crate::__private::Probe::of(__tool_value)).__tool_split().ends()(__tool_value)
        }
    };
}

/// Tells a block what it returns: the first `return` decides, and a block cannot be annotated.
#[doc(hidden)]
#[macro_export]
macro_rules! __returns {
    ($type:ty) => {
        if false {
            return $crate::__private::never::<$type>();
        }
    };
}

/// Ends the span of a body that is no future, or hands it on to the future that the body made.
#[doc(hidden)]
#[macro_export]
macro_rules! __finish {
    () => {
        $crate::__finish!(BoxedKind)
    };
    (future) => {
        $crate::__finish!(FutureKind)
    };
    ($kind:ident) => {
        |__tool_value, __tool_span| {
            #[allow(unused_imports)]
            use $crate::__private::{OverKind as _, PlainKind as _, ResultKind as _, $kind as _};
            let __tool_kind = (&&$crate::__private::Probe::of(&__tool_value)).__tool_goes_on();
            let __tool_ends = (&&__tool_kind.outcome(&__tool_value)).__tool_split().ends();
            __tool_kind.finish(__tool_value, __tool_span, __tool_ends)
        }
    };
}
