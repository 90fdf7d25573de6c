//! The common part of prompts and resources: visibility, a required setup, and handlers whose panics are caught.

use crate::call::context::RunContext;
use crate::call::error::{ErrorKind, MASKED, ToolError, print_unlogged};
use crate::text;
use crate::tool::definition::SourceLocation;
use crate::tool::invocation::{RequiredSetup, Scrub, Visible};
use crate::trace::redaction::Redaction;
use futures_util::future::BoxFuture;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A definition with its handler, as a context holds it.
pub(crate) struct Published<D, H: ?Sized> {
    pub(crate) definition: Arc<D>,
    pub(crate) handler: Arc<H>,
    visible: Option<Arc<Visible>>,
    setup: Option<Arc<dyn RequiredSetup>>,
    scrub: Option<Arc<Scrub>>,
    /// The address of the instance whose method this is, and the location of the method.
    origin: Option<(usize, SourceLocation)>,
    /// The problems that make it unusable. Building a context reports them.
    pub(crate) problems: Arc<[String]>,
}

impl<D, H: ?Sized> Clone for Published<D, H> {
    fn clone(&self) -> Self {
        Self {
            definition: Arc::clone(&self.definition),
            handler: Arc::clone(&self.handler),
            visible: self.visible.clone(),
            setup: self.setup.clone(),
            scrub: self.scrub.clone(),
            origin: self.origin,
            problems: Arc::clone(&self.problems),
        }
    }
}

impl<D, H: ?Sized> Published<D, H> {
    pub(crate) fn new(definition: D, handler: Arc<H>) -> Self {
        Self {
            definition: Arc::new(definition),
            handler,
            visible: None,
            setup: None,
            scrub: None,
            origin: None,
            problems: Arc::default(),
        }
    }

    /// Marks the method of an instance.
    pub(crate) fn of_instance(self, instance: usize, source: SourceLocation) -> Self {
        Self { origin: Some((instance, source)), ..self }
    }

    /// Adds problems.
    pub(crate) fn with_problems(mut self, problems: Vec<String>) -> Self {
        self.problems = self.problems.iter().cloned().chain(problems).collect();
        self
    }

    /// Returns true if both have one handler, or are one method of one instance.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handler, &other.handler) || (self.origin.is_some() && self.origin == other.origin)
    }

    pub(crate) fn source(&self) -> Option<SourceLocation> {
        self.origin.map(|(_, source)| source)
    }

    /// Requires that a toolset is set up before, unless another one is required already.
    pub(crate) fn after_setup(mut self, setup: Option<&Arc<dyn RequiredSetup>>) -> Self {
        self.setup = self.setup.or_else(|| setup.cloned());
        self
    }

    /// Removes what `scrub` removes from the errors of the handler.
    #[cfg(feature = "agents")]
    pub(crate) fn scrubbed_by(self, scrub: Arc<Scrub>) -> Self {
        Self { scrub: Some(scrub), ..self }
    }

    pub(crate) fn visible_where(mut self, visible: Arc<Visible>) -> Self {
        self.visible = Some(match self.visible.take() {
            None => visible,
            Some(before) => Arc::new(move |ctx: &RunContext| before(ctx) && visible(ctx)),
        });
        self
    }

    /// Returns true if a run sees it. A predicate that panics hides it.
    pub(crate) fn visible_in(&self, name: &str, ctx: &RunContext) -> bool {
        let Some(visible) = &self.visible else { return true };
        catch_unwind(AssertUnwindSafe(|| visible(ctx))).unwrap_or_else(|_| {
            let name = name.escape_debug();
            tracing::error!(%name, "the predicate of a dynamic toolset panicked; its prompt or resource is hidden");
            false
        })
    }

    /// Runs the handler, with its panics caught and its internal errors masked.
    pub(crate) async fn run<'a, T>(
        &'a self,
        name: &str,
        start: impl FnOnce(&'a H) -> BoxFuture<'a, Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        if let Some(error) = self.setup.as_ref().and_then(|setup| setup.missing()) {
            return Err(self.shown(name, error));
        }
        let handled = match catch_unwind(AssertUnwindSafe(|| start(&self.handler))) {
            Ok(future) => CatchPanics(Some(future)).await,
            Err(panic) => Err(panic),
        };
        match handled {
            Ok(result) => result.map_err(|error| self.shown(name, error)),
            Err(panic) => Err(self.panicked(name, panic)),
        }
    }

    fn scrub(&self, error: ToolError) -> ToolError {
        match &self.scrub {
            Some(scrub) => scrub(error),
            None => error,
        }
    }

    /// Returns an error in the form in which a client reads it: the text of an internal error goes to the log only.
    #[cold]
    fn shown(&self, name: &str, error: ToolError) -> ToolError {
        let body = self.scrub(error).into_body(name, true);
        ToolError::new(body.kind, body.message, body.retryable)
    }

    #[cold]
    fn panicked(&self, name: &str, panic: Box<dyn Any + Send>) -> ToolError {
        let error = self.scrub(ToolError::internal(text::of_panic(panic)));
        let text = Redaction::new().text(error.message());
        tracing::error!(name = %name.escape_debug(), panic = %text, "the handler of a prompt or resource panicked");
        print_unlogged(name, &text);
        ToolError::new(ErrorKind::Internal, MASKED, false)
    }
}

/// A future whose panics are caught, at each poll and when it is dropped.
struct CatchPanics<'a, T>(Option<BoxFuture<'a, T>>);

impl<T> Future for CatchPanics<'_, T> {
    type Output = Result<T, Box<dyn Any + Send>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| match &mut self.0 {
            Some(future) => future.as_mut().poll(cx),
            None => Poll::Pending,
        }));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(self.drop_future().map(|()| value)),
            Err(panic) => {
                let _ = self.drop_future();
                Poll::Ready(Err(panic))
            }
        }
    }
}

impl<T> CatchPanics<'_, T> {
    fn drop_future(&mut self) -> Result<(), Box<dyn Any + Send>> {
        let future = self.0.take();
        catch_unwind(AssertUnwindSafe(|| drop(future)))
    }
}

impl<T> Drop for CatchPanics<'_, T> {
    fn drop(&mut self) {
        if let Err(panic) = self.drop_future() {
            // The caller is gone, so the panic is only logged.
            let panic = Redaction::new().text(&text::of_panic(panic));
            tracing::error!(%panic, "the handler of a prompt or resource panicked when it was dropped");
        }
    }
}
