//! What is done with a value that is to be wrapped, by its traits: method resolution finds the most particular first.

// A tag is there for its methods to be found by.
#![allow(clippy::unused_self, clippy::trivially_copy_pass_by_ref)]

use super::runs::{Later, LaterFallible, Now, NowFallible};
use super::{Callable, Label, Wrapped};
use crate::__private::Probe;
use crate::tool::{FunctionTool, Tool};
use crate::trace::site::never;
use std::marker::PhantomData;

/// Whether a value has spans already.
pub trait SortCallable {
    /// What says so.
    type Sort;

    /// The same.
    fn __tool_callable(&self) -> Self::Sort;
}

/// Has spans already.
pub trait Known {}

impl<F, M, C, A> Known for Wrapped<F, M, C, A> {}
impl Known for FunctionTool {}
impl Known for Tool {}
impl<T: Known> Known for &T {}

impl<T: Known> SortCallable for &Probe<T> {
    type Sort = AsIs;

    fn __tool_callable(&self) -> AsIs {
        AsIs
    }
}

impl<T> SortCallable for Probe<T> {
    type Sort = Fresh;

    fn __tool_callable(&self) -> Fresh {
        Fresh
    }
}

/// Has spans already, and is given back.
#[derive(Clone, Copy)]
pub struct AsIs;

impl AsIs {
    /// Nothing more is asked.
    #[must_use]
    pub fn signature<T>(self, _: &Probe<T>) -> Self {
        self
    }

    /// Nothing more is asked.
    pub fn returned(self) {}

    /// Nothing more is asked.
    #[must_use]
    pub fn __tool_returned(&self) -> Self {
        *self
    }

    /// The value, whatever name somebody would give it.
    pub fn wrap<T>(self, value: T, _: Label) -> T {
        value
    }
}

/// Has none yet.
#[derive(Clone, Copy)]
pub struct Fresh;

impl Fresh {
    /// What it takes and returns.
    pub fn signature<F: Callable<A, Signature: Default>, A>(self, _: &Probe<F>) -> F::Signature {
        F::Signature::default()
    }
}

/// What a callable takes and returns.
pub struct Signature<A, R>(PhantomData<fn(A) -> R>);

impl<A, R> Default for Signature<A, R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<A, R> Signature<A, R> {
    /// A value of what is returned: for rustc, which nobody asks for it.
    #[must_use]
    pub fn returned(&self) -> R {
        never()
    }
}

/// Any type that is known. A closure that does not tell its types is not sorted by guessing.
pub trait TypeIsKnown {
    /// Says so.
    fn __tool_type_is_known(&self) {}
}

impl<T: ?Sized> TypeIsKnown for T {}

/// How a callable runs.
pub struct Wraps<M, A>(PhantomData<fn(A) -> M>);

impl<M, A> Clone for Wraps<M, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, A> Copy for Wraps<M, A> {}

/// How a callable runs, by what it returns.
pub trait SortReturned {
    /// What says so.
    type Sort;

    /// The same.
    fn __tool_returned(&self) -> Self::Sort;
}

macro_rules! ways {
    ($(<$($param:ident),*> $probe:ty => $way:ident $([$($bound:tt)*])?;)*) => {$(
        impl<A, $($param),*> SortReturned for $probe $(where $($bound)*)? {
            type Sort = Wraps<$way, A>;

            fn __tool_returned(&self) -> Self::Sort {
                Wraps(PhantomData)
            }
        }
    )*};
}

ways! {
    <F, T, E> &&&Signature<A, F> => LaterFallible [F: Future<Output = Result<T, E>>];
    <F> &&Signature<A, F> => Later [F: Future];
    <T, E> &Signature<A, Result<T, E>> => NowFallible;
    <R> Signature<A, R> => Now;
}
