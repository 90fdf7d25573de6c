//! How a callable runs, by what it returns.

use super::Spans;
use crate::trace::end_of;
use crate::trace::in_span::InSpan;
use crate::trace::record::End;

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
        spans.run(work, |_| End::default())
    }
}

impl<T, E> Runs<Result<T, E>> for NowFallible {
    type Out = Result<T, E>;

    fn run(spans: &Spans, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        spans.run(work, end_of)
    }
}

impl<F: Future> Runs<F> for Later {
    type Out = InSpan<F>;

    fn run(spans: &Spans, work: impl FnOnce() -> F) -> InSpan<F> {
        spans.drive(work(), |_| End::default())
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Runs<F> for LaterFallible {
    type Out = InSpan<F>;

    fn run(spans: &Spans, work: impl FnOnce() -> F) -> InSpan<F> {
        spans.drive(work(), end_of)
    }
}
