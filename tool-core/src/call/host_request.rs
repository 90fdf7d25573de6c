//! The requests of running tools to their host, and the functions that answer them.

use crate::call::ask_error::AskError;
use futures_util::future::BoxFuture;

/// A request of a running tool to its host: a [`Question`](super::Question) to the user, a
/// [`SamplingRequest`](super::SamplingRequest) to the user's model, or a [`RootsRequest`](super::RootsRequest) for the user's
/// folders.
pub trait HostRequest: Send + Sized + 'static {
    /// The answer of the host.
    type Answer: Send + 'static;
}

/// Answers the requests of running tools.
///
/// A function from a [`HostRequest`] to a future of its answer implements it. The future is dropped
/// when the time for the answer is over, or when the call ends: its drop is the moment to take a
/// form away.
///
/// ```
/// use tool_core::call::{Answer, Question};
/// use tool_core::serde_json::json;
/// use tool_core::{Runtime, ToolContext};
///
/// # let tools = ToolContext::builder().build()?;
/// let runtime = Runtime::builder(tools).on_question(async |question: Question| {
///     println!("{} asks: {}", question.tool, question.message);
///     Ok(Answer::Accepted(json!({"row": 12})))
/// });
/// # runtime.build()?;
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub trait RequestHandler<R: HostRequest>: Send + Sync + 'static {
    /// Answers a request. The accepted answer to a [`Question`](super::Question) is an object that
    /// fits the question's schema; it is checked as the arguments of a call are.
    ///
    /// # Errors
    ///
    /// Returns [`AskError::Unavailable`] if this user cannot be asked, and [`AskError::failed`] for
    /// other failures.
    fn ask(&self, request: R) -> BoxFuture<'static, Result<R::Answer, AskError>>;
}

impl<R, F, A> RequestHandler<R> for F
where
    R: HostRequest,
    F: Fn(R) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R::Answer, AskError>> + Send + 'static,
{
    fn ask(&self, request: R) -> BoxFuture<'static, Result<R::Answer, AskError>> {
        Box::pin(self(request))
    }
}
