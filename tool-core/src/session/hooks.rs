//! The host's own code around the calls of all sessions.

use crate::call::{ApprovalNeed, ApprovalReason, Mode, ToolError, ToolResponse};
use crate::tool::ToolDefinition;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// The future that a hook returns.
pub type HookFuture<'a, T> = BoxFuture<'a, T>;

/// The host's own code around the calls of all sessions. Hooks run in the order in which they were
/// added; the first `around` is the outermost.
///
/// A single function needs no implementation: [`RuntimeBuilder::before`](crate::session::RuntimeBuilder::before) takes an
/// `async` closure, and so do `after` and `around`.
///
/// ```
/// use tool_core::session::{Hook, HookFuture, HookedCall};
/// use tool_core::{Category, ToolError};
///
/// /// Restricts actions to the staff.
/// struct StaffOnly;
///
/// impl Hook for StaffOnly {
///     fn before<'a>(&'a self, call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
///         Box::pin(async move {
///             let allowed = call.tool.category() != Category::Action || call.principal.starts_with("staff:");
///             if allowed { Ok(()) } else { Err(ToolError::auth("only the staff may do this")) }
///         })
///     }
/// }
/// ```
pub trait Hook: Send + Sync + 'static {
    /// Returns true if the hook does its work after calls alone, or around requests that no tool
    /// serves: a call that has to wait for nothing else then runs at once, which is faster. Its
    /// [`confirm`](Self::confirm), [`before`](Self::before) and [`around`](Self::around) may not be
    /// asked. It is read for each call.
    fn only_after(&self) -> bool {
        false
    }

    /// Says whether a person has to approve a call, and why. It is asked about each call that has
    /// passed the checks and that no person has approved yet, also if the tool or the policy asks
    /// anyway: the person reads every reason. A hook that panics asks for approval.
    ///
    /// ```
    /// use tool_core::call::ApprovalNeed;
    /// use tool_core::session::{Hook, HookFuture, HookedCall};
    ///
    /// /// Asks about everything that a guest does.
    /// struct Guests;
    ///
    /// impl Hook for Guests {
    ///     fn confirm<'a>(&'a self, call: &'a HookedCall<'a>) -> HookFuture<'a, ApprovalNeed> {
    ///         let is_guest = call.principal.starts_with("guest:");
    ///         let need = ApprovalNeed::from(is_guest.then_some("the user is a guest"));
    ///         Box::pin(std::future::ready(need))
    ///     }
    /// }
    /// ```
    fn confirm<'a>(&'a self, _call: &'a HookedCall<'a>) -> HookFuture<'a, ApprovalNeed> {
        // It has no size, so its box takes no memory.
        Box::pin(poll_fn(|_| Poll::Ready(ApprovalNeed::No)))
    }

    /// Runs before a call that has passed every check. An error becomes the call's answer: the call
    /// does not run, and its budget is refunded.
    fn before<'a>(&'a self, _call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Runs after a call of a known tool was answered, even if it was refused, and again if a
    /// person denies a call that waited for approval. It may change the answer. The runtime stops
    /// waiting for it after one second.
    fn after<'a>(
        &'a self,
        _call: &'a HookedCall<'a>,
        _response: &'a mut ToolResponse,
    ) -> HookFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Runs around a call that has passed every check, and returns the answer. If it does not call
    /// [`next.run()`](Next::run), the call does not run and its budget is refunded. It is dropped one second after the
    /// call's deadline.
    fn around<'a>(
        &'a self,
        _call: &'a HookedCall<'a>,
        next: Next<'a>,
    ) -> HookFuture<'a, ToolResponse> {
        next.run()
    }

    /// Runs around a request that no tool serves, and returns its outcome: around the get of a
    /// prompt, the read of a resource, the subscription to one, and the answer to a call that
    /// reaches no tool. `next` does the work. A hook that returns an error without it refuses a prompt or a resource; the answer
    /// to a call stays as it is. If the request is given up, the future is dropped. It is also
    /// dropped if it takes longer than the policy's deadline and a second, before `next` or after
    /// it.
    ///
    /// ```
    /// use tool_core::ToolError;
    /// use tool_core::session::{Hook, HookFuture, HookedRequest};
    ///
    /// /// Logs what is read.
    /// struct Reads;
    ///
    /// impl Hook for Reads {
    ///     fn around_request<'a>(
    ///         &'a self,
    ///         request: &'a HookedRequest<'a>,
    ///         next: HookFuture<'a, Result<(), ToolError>>,
    ///     ) -> HookFuture<'a, Result<(), ToolError>> {
    ///         Box::pin(async move {
    ///             let outcome = next.await;
    ///             println!("{} {:?} {:?}: {}", request.session, request.kind, request.name, outcome.is_ok());
    ///             outcome
    ///         })
    ///     }
    /// }
    /// ```
    fn around_request<'a>(
        &'a self,
        _request: &'a HookedRequest<'a>,
        next: HookFuture<'a, Result<(), ToolError>>,
    ) -> HookFuture<'a, Result<(), ToolError>> {
        next
    }
}

/// The request that [`Hook::around_request`] sees.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookedRequest<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The principal of the session; empty if the host gave none.
    pub principal: &'a str,
    /// The number of the turn.
    pub turn: u64,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The name of the prompt or of the tool, or the URI of the resource, as it was sent; of a
    /// completion the name of the prompt or the URI template. It may have any length and
    /// characters.
    pub name: &'a str,
    /// The arguments' JSON text: of a call as it was sent, which may be invalid; `{}` for a
    /// resource; of a completion the values so far, by name.
    pub arguments: &'a str,
}

/// The kind of a request that no tool serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestKind {
    /// A call that reaches no tool: its name is unknown, its session is over, or its step has too
    /// many calls.
    Call,
    /// The get of a prompt.
    Prompt,
    /// The read of a resource.
    Resource,
    /// The completion of an argument of a prompt, or of a variable of a resource's URI template.
    Completion,
    /// The subscription to a resource.
    Subscription,
}

/// The call that a hook sees.
///
/// ```
/// use tool_core::session::HookedCall;
/// use tool_core::{Category, ErrorKind, Mode, Runtime, ToolCall, ToolContext, ToolError, tool};
///
/// /// Refund an order.
/// #[tool(category = "action")]
/// fn refund(cents: u32) -> String {
///     format!("refunded {cents} cents")
/// }
///
/// async fn only_staff_acts(call: HookedCall<'_>) -> Result<(), ToolError> {
///     let allowed = call.tool.category() != Category::Action || call.principal.starts_with("staff:");
///     if allowed { Ok(()) } else { Err(ToolError::auth(format!("`{}` is for the staff", call.tool.name()))) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(refund).build()?).before(only_staff_acts).build()?;
/// let session = runtime.session("chat-42", Mode::Text).principal("guest:7").await?;
/// let response = session.call(ToolCall::new("call_1", "refund", r#"{"cents": 900}"#)).await;
/// assert_eq!(response.error().map(|error| error.kind), Some(ErrorKind::Auth));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookedCall<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The principal of the session; empty if the host gave none.
    pub principal: &'a str,
    /// The session's mode.
    pub mode: Mode,
    /// The number of the turn.
    pub turn: u64,
    /// The id that the model gave the call.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a ToolDefinition,
    /// The arguments' JSON text. Before and around a call it is canonical, so that you find what
    /// the tool gets however the model spells it: without needless escapes, each parameter under
    /// its own name, and with the defaults filled in. A raw tool gets no defaults. After a call it is
    /// what the model sent, and may be invalid if the call was refused.
    pub arguments: &'a str,
    /// The decision of a person, if the call waited for one.
    pub decision: Option<HookedDecision<'a>>,
}

/// The decision of a person on a call that waited for it, as a hook sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookedDecision<'a> {
    /// True if the call was approved, false if it was denied.
    pub approved: bool,
    /// The person who decided. `None` if the call was denied because no one has decided.
    pub by: Option<&'a str>,
    /// The reasons for which the call waited.
    pub reasons: &'a [ApprovalReason],
    /// The arguments of the model, if the person has approved others: those of the call.
    pub asked_arguments: Option<&'a str>,
}

/// A function that serves as a hook: an `async fn`, or an `async` closure whose parameters have
/// types. See
/// [`RuntimeBuilder::before`](super::RuntimeBuilder::before).
///
/// A closure may capture. Each call runs a clone of it, so share what it captures in an `Arc`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function that runs around calls",
    label = "this function captures a value that cannot be cloned, or has another form",
    note = "a hook is an `async fn`, or an `async` closure whose parameters have types",
    note = "each call runs a clone of the closure: put a captured value that cannot be cloned into an `Arc`"
)]
pub trait HookFn<'a, Arguments>: Send + Sync {
    /// The value that the function returns.
    type Output;
    /// The future that the function returns.
    type Future: Future<Output = Self::Output> + 'a;

    /// Calls a clone of the function.
    fn call(&self, arguments: Arguments) -> Self::Future;
}

// An `async` closure that captures lends to its future, and only as `FnOnce` gives it what it
// captures.
#[diagnostic::do_not_recommend]
impl<'a, F, R, A> HookFn<'a, (A,)> for F
where
    F: FnOnce(A) -> R + Clone + Send + Sync,
    R: Future + 'a,
{
    type Output = R::Output;
    type Future = R;

    fn call(&self, (first,): (A,)) -> R {
        self.clone()(first)
    }
}

#[diagnostic::do_not_recommend]
impl<'a, F, R, A, B> HookFn<'a, (A, B)> for F
where
    F: FnOnce(A, B) -> R + Clone + Send + Sync,
    R: Future + 'a,
{
    type Output = R::Output;
    type Future = R;

    fn call(&self, (first, second): (A, B)) -> R {
        self.clone()(first, second)
    }
}

/// A function that decides on the approval of calls.
pub(crate) struct ConfirmHook<F>(pub(crate) F);
/// A function that runs before calls.
pub(crate) struct BeforeHook<F>(pub(crate) F);
/// A function that runs after calls.
pub(crate) struct AfterHook<F>(pub(crate) F);
/// A function that runs around calls.
pub(crate) struct AroundHook<F>(pub(crate) F);

impl<F> Hook for ConfirmHook<F>
where
    F: for<'a> HookFn<'a, (HookedCall<'a>,), Output: Into<ApprovalNeed>, Future: Send> + 'static,
{
    fn confirm<'a>(&'a self, call: &'a HookedCall<'a>) -> HookFuture<'a, ApprovalNeed> {
        Box::pin(self.0.call((*call,)).map(Into::into))
    }
}

impl<F> Hook for BeforeHook<F>
where
    F: for<'a> HookFn<'a, (HookedCall<'a>,), Output = Result<(), ToolError>, Future: Send>
        + 'static,
{
    fn before<'a>(&'a self, call: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        Box::pin(self.0.call((*call,)))
    }
}

impl<F> Hook for AfterHook<F>
where
    F: for<'a> HookFn<'a, (HookedCall<'a>, &'a mut ToolResponse), Output = (), Future: Send>
        + 'static,
{
    fn only_after(&self) -> bool {
        true
    }

    fn after<'a>(
        &'a self,
        call: &'a HookedCall<'a>,
        response: &'a mut ToolResponse,
    ) -> HookFuture<'a, ()> {
        Box::pin(self.0.call((*call, response)))
    }
}

impl<F> Hook for AroundHook<F>
where
    F: for<'a> HookFn<'a, (HookedCall<'a>, Next<'a>), Output = ToolResponse, Future: Send>
        + 'static,
{
    fn around<'a>(
        &'a self,
        call: &'a HookedCall<'a>,
        next: Next<'a>,
    ) -> HookFuture<'a, ToolResponse> {
        Box::pin(self.0.call((*call, next)))
    }
}

/// The rest of the chain inside an `around` hook: the hooks after it, and the tool.
///
/// ```
/// use std::time::Instant;
/// use tool_core::session::{HookedCall, Next};
/// use tool_core::{Mode, Runtime, ToolCall, ToolContext, ToolResponse, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// async fn timed(call: HookedCall<'_>, next: Next<'_>) -> ToolResponse {
///     let began = Instant::now();
///     let response = next.run().await; // without it, the tool does not run
///     println!("{} took {:?}", call.tool.name(), began.elapsed());
///     response
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).around(timed).build()?;
/// let session = runtime.session("chat-42", Mode::Text).await?;
/// let response = session.call(ToolCall::new("call_1", "add", r#"{"a": 1, "b": 2}"#)).await;
/// assert_eq!(response.data_json(), Some("3"));
/// # Ok(())
/// # }
/// ```
pub struct Next<'a> {
    pub(crate) hooks: &'a [Arc<dyn Hook>],
    pub(crate) call: &'a HookedCall<'a>,
    pub(crate) tool: &'a RunTool<'a>,
}

/// Runs the tool at the end of the chain.
pub(crate) type RunTool<'a> = dyn Fn() -> BoxFuture<'a, ToolResponse> + Send + Sync + 'a;

impl<'a> Next<'a> {
    /// Runs the rest of the chain.
    pub fn run(self) -> HookFuture<'a, ToolResponse> {
        match self.hooks.split_first() {
            Some((first, rest)) => first.around(
                self.call,
                Next {
                    hooks: rest,
                    ..self
                },
            ),
            None => (self.tool)(),
        }
    }
}
