//! The call of a method by its wrapper.

use crate::tool::invocation::{Execution, HandlerResult, Invocation};
use crate::tool::returns::{AnswersWith, Conversion, FailsWith, SplitsReturn};
use pin_project_lite::pin_project;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Answers with what a method has returned. Its conversion is chosen by types: `_choose` is never
/// called.
#[inline]
pub fn done<'a, T, S, V, E>(
    call: Invocation<'a>,
    value: T,
    _choose: impl FnOnce(Conversion<T>) -> Conversion<S, V, E>,
) -> HandlerResult<'a>
where
    S: SplitsReturn<T>,
    V: AnswersWith<'a, S::Success>,
    E: FailsWith<S::Error>,
{
    Ok(Conversion::<S, V, E>::convert(value, call))
}

/// Starts an async method. The conversion of what it returns is chosen by types: `_choose` is never
/// called.
#[inline]
pub fn start<'a, F, S, V, E>(
    call: Invocation<'a>,
    method: F,
    _choose: impl FnOnce(Conversion<F::Output>) -> Conversion<S, V, E>,
) -> HandlerResult<'a>
where
    F: Future + Send + 'a,
    S: SplitsReturn<F::Output> + 'a,
    V: AnswersWith<'a, S::Success> + 'a,
    E: FailsWith<S::Error> + 'a,
{
    Ok(Execution::Pending(Box::pin(AnsweringFuture {
        method,
        call,
        conversion: PhantomData::<fn() -> Conversion<S, V, E>>,
    })))
}

/// Starts an async method whose future converts what it returns.
#[inline]
pub fn start_converted<'a>(
    method: impl Future<Output = Execution<'a>> + Send + 'a,
) -> HandlerResult<'a> {
    Ok(Execution::pending(method))
}

/// Starts an async method that never returns.
pub fn start_endless<'a>(method: impl Future + Send + 'a) -> HandlerResult<'a> {
    Ok(Execution::pending(async move {
        method.await;
        unreachable!("the method never returns")
    }))
}

pin_project! {
    /// The future of an async method and of its response.
    struct AnsweringFuture<'a, F, C> {
        #[pin]
        method: F,
        call: Invocation<'a>,
        conversion: PhantomData<fn() -> C>,
    }
}

impl<'a, F, S, V, E> Future for AnsweringFuture<'a, F, Conversion<S, V, E>>
where
    F: Future,
    S: SplitsReturn<F::Output>,
    V: AnswersWith<'a, S::Success>,
    E: FailsWith<S::Error>,
{
    type Output = Execution<'a>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Execution<'a>> {
        let this = self.project();
        match this.method.poll(cx) {
            Poll::Ready(value) => Poll::Ready(Conversion::<S, V, E>::convert(value, *this.call)),
            Poll::Pending => Poll::Pending,
        }
    }
}
