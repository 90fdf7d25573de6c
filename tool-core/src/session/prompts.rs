//! Prompts and resources under the limits of a session.

use crate::call::asker::{Asker, CallQuestions};
use crate::call::context::{CallContext, CallDeadline, RunContext};
use crate::call::error::MASKED;
use crate::call::handlers::HostHandlers;
use crate::call::{ErrorKind, ToolError};
use crate::session::drain_switch::process_ending;
use crate::session::handle::Session;
use crate::session::hooks::RequestKind;
use crate::session::inner::SessionInner;
use crate::session::pipeline::deadline::Deadline;
use crate::session::pipeline::governed_call::session_over;
use crate::session::pipeline::hooks::around_request;
use crate::time::{self, CallInstant};
use crate::tool::{
    Completion, CompletionRequest, CompletionTarget, PromptMessage, ResourceContents, TextArguments,
};
use futures_util::FutureExt;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::task::Poll;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Prompts, resources and completion. The tools of the session's context have them; see
/// [`ToolContext::get_prompt`](crate::ToolContext::get_prompt).
///
/// They count toward no budget. Each runs under the policy's deadline, takes one of the session's
/// permits for concurrent calls, and is given up when the session ends. It may ask the user as a
/// tool may, and its deadline waits meanwhile.
impl Session {
    /// Makes the messages of a prompt.
    ///
    /// # Errors
    ///
    /// Those of [`ToolContext::get_prompt`](crate::ToolContext::get_prompt), `SESSION_INACTIVE`,
    /// `TIMEOUT` and `CANCELLED`.
    ///
    /// ```
    /// use tool_core::tool::{Prompt, PromptDefinition, PromptMessage, TextArguments};
    /// use tool_core::{Mode, RunContext, Runtime, ToolContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let greet = Prompt::new(PromptDefinition::new("greet", "Greet."), async |_: TextArguments, _: RunContext| {
    ///     Ok(vec![PromptMessage::user("Say hello.")])
    /// });
    /// let runtime = Runtime::builder(ToolContext::builder().with_prompt(greet).build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// assert_eq!(session.get_prompt("greet", TextArguments::new()).await?, [PromptMessage::user("Say hello.")]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: TextArguments,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        self.get_prompt_with(name, arguments, HostHandlers::new())
            .await
    }

    /// Makes the messages of a prompt, which asks these handlers before those of the session.
    ///
    /// # Errors
    ///
    /// Those of [`get_prompt`](Self::get_prompt).
    pub async fn get_prompt_with(
        &self,
        name: &str,
        arguments: TextArguments,
        handlers: HostHandlers,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        let sent = serde_json::to_string(&arguments);
        let get = |ctx| async move { self.tools().get_prompt(name, arguments, &ctx).await };
        let work = Box::pin(governed(&self.0, "the prompt", handlers, get));
        around_request(
            &self.0,
            RequestKind::Prompt,
            name,
            || sent.unwrap_or_default(),
            work,
        )
        .await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Those of [`ToolContext::read_resource`](crate::ToolContext::read_resource),
    /// `SESSION_INACTIVE`, `TIMEOUT` and `CANCELLED`.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, ToolError> {
        self.read_resource_with(uri, HostHandlers::new()).await
    }

    /// Reads a resource, which asks these handlers before those of the session.
    ///
    /// # Errors
    ///
    /// Those of [`read_resource`](Self::read_resource).
    pub async fn read_resource_with(
        &self,
        uri: &str,
        handlers: HostHandlers,
    ) -> Result<Vec<ResourceContents>, ToolError> {
        let read = |ctx| async move { self.tools().read_resource(uri, &ctx).await };
        let work = Box::pin(governed(&self.0, "the resource", handlers, read));
        around_request(
            &self.0,
            RequestKind::Resource,
            uri,
            || "{}".to_owned(),
            work,
        )
        .await
    }

    /// Begins a subscription to a resource inside the hooks around requests. `begin` does it, as
    /// subscriptions belong to the host.
    ///
    /// # Errors
    ///
    /// The error of `begin`, or that of a hook.
    pub async fn subscribe_with(
        &self,
        uri: &str,
        begin: impl Future<Output = Result<(), ToolError>> + Send,
    ) -> Result<(), ToolError> {
        around_request(
            &self.0,
            RequestKind::Subscription,
            uri,
            || "{}".to_owned(),
            Box::pin(begin),
        )
        .await
    }

    /// Completes an argument of a prompt, or a variable of a resource's template.
    ///
    /// # Errors
    ///
    /// Those of [`ToolContext::complete`](crate::ToolContext::complete), `SESSION_INACTIVE`,
    /// `TIMEOUT` and `CANCELLED`.
    pub async fn complete(
        &self,
        target: &CompletionTarget,
        request: CompletionRequest,
    ) -> Result<Completion, ToolError> {
        let name = match target {
            CompletionTarget::Prompt(name) => name,
            CompletionTarget::Resource(uri) => uri,
        };
        let sent = serde_json::to_string(&request.values());
        let complete = |ctx| async move { self.tools().complete(target, request, &ctx).await };
        let work = Box::pin(governed(
            &self.0,
            "the completion",
            HostHandlers::new(),
            complete,
        ));
        around_request(
            &self.0,
            RequestKind::Completion,
            name,
            || sent.unwrap_or_default(),
            work,
        )
        .await
    }

    /// Returns a context of the session outside any call, as the predicates of `dynamic` toolsets
    /// see it.
    pub fn context_outside_calls(&self) -> RunContext {
        self.0.current_context()
    }
}

/// Runs `work` while the session is open, within its deadline and beside no more calls than its
/// policy allows.
async fn governed<T, F>(
    session: &Arc<SessionInner>,
    what: &str,
    handlers: HostHandlers,
    work: impl FnOnce(RunContext) -> F,
) -> Result<T, ToolError>
where
    F: Future<Output = Result<T, ToolError>>,
{
    let began = CallInstant::now();
    let mut place = session.calls.enter().ok_or_else(session_over)?;
    if session.record.state().ended {
        return Err(session_over());
    }
    if session.runtime.drain.is_on() {
        return Err(process_ending(what));
    }
    let limit = session.policy().deadline;
    let ended = session.reads_end();
    let questions = CallQuestions::new(Asker {
        own: handlers.0,
        caller: None,
    });
    // A task that outlives the work asks nothing.
    let over = ended.child_token().drop_guard();
    let scope = Arc::new(CallContext {
        turn: session.record.turn(),
        deadline: Some(CallDeadline::After(began, limit)),
        cancellation: over.token().clone().into(),
        questions: questions.into(),
        ..CallContext::default()
    });
    let ctx = session.base.with_new_call(Arc::clone(&scope));
    let work = async {
        if !place.try_run(false) {
            place.run_in_turn(false).await;
        }
        AssertUnwindSafe(work(ctx))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| {
                tracing::error!("{what} panicked outside its handler");
                Err(ToolError::new(ErrorKind::Internal, MASKED, false))
            })
    };
    let deadline = Deadline::of(
        Some(&scope.questions),
        time::after(began.to_instant(), limit),
    )?;
    let mut work = pin!(work);
    let mut deadline = pin!(deadline);
    let work = poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Pending => deadline
            .as_mut()
            .poll(cx)
            .map(|()| Err(timed_out(what, limit))),
        done @ Poll::Ready(_) => done,
    });
    let cancelled = || {
        Err(ToolError::cancelled(format!(
            "{what} was cancelled, as the session has ended"
        )))
    };
    ended
        .run_until_cancelled(work)
        .await
        .unwrap_or_else(cancelled)
}

fn timed_out(what: &str, limit: Duration) -> ToolError {
    ToolError::new(
        ErrorKind::Timeout,
        format!(
            "{what} timed out; the limit is {} ms",
            time::milliseconds(limit)
        ),
        true,
    )
}

impl SessionInner {
    /// Returns the token that ends the reads of the session.
    fn reads_end(&self) -> CancellationToken {
        let token = self
            .rare()
            .reads
            .get_or_init(CancellationToken::new)
            .clone();
        // Either the end of the session sees the token, or this sees the end.
        fence(Ordering::SeqCst);
        if self.calls.is_closed() {
            token.cancel();
        }
        token
    }

    /// Gives up the reads in progress. The session is closed before.
    pub(crate) fn cancel_reads(&self) {
        fence(Ordering::SeqCst);
        if let Some(token) = self.rare.get().and_then(|rare| rare.reads.get()) {
            token.cancel();
        }
    }
}
