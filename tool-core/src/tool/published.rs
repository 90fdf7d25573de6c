//! The common part of prompts and resources: visibility, a required setup, and handlers whose
//! panics are caught.

use crate::call::context::RunContext;
use crate::call::error::{ErrorKind, MASKED, ToolError, print_unlogged};
use crate::text;
use crate::tool::definition::SourceLocation;
use crate::tool::invocation::{RequiredSetup, Scrub, Visible};
use crate::tool::panic_guard::{Guard, Guarded};
use crate::trace::redaction::Redaction;
use futures_util::future::BoxFuture;
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Returns true for a name or URI that is served.
pub(crate) type Serves = dyn Fn(&str) -> bool + Send + Sync;

/// A definition with its handler, as a context holds it.
pub(crate) struct Published<D, H: ?Sized> {
    pub(crate) definition: Arc<D>,
    pub(crate) handler: Arc<H>,
    visible: Option<Arc<Visible>>,
    /// True for the names, or the URIs of a template, that are served. `None` serves all.
    pub(crate) serves: Option<Arc<Serves>>,
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
            serves: self.serves.clone(),
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
            serves: None,
            setup: None,
            scrub: None,
            origin: None,
            problems: Arc::default(),
        }
    }

    /// Marks the method of an instance.
    pub(crate) fn of_instance(self, instance: usize, source: SourceLocation) -> Self {
        Self {
            origin: Some((instance, source)),
            ..self
        }
    }

    /// Adds problems.
    pub(crate) fn with_problems(mut self, problems: Vec<String>) -> Self {
        self.problems = self.problems.iter().cloned().chain(problems).collect();
        self
    }

    /// Returns true if both have one handler, or are one method of one instance.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handler, &other.handler)
            || (self.origin.is_some() && self.origin == other.origin)
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
        Self {
            scrub: Some(scrub),
            ..self
        }
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
        let Some(visible) = &self.visible else {
            return true;
        };
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
        match catch_unwind(AssertUnwindSafe(|| start(&self.handler))) {
            Ok(future) => Guarded::new(Running(self, name), future).await,
            Err(panic) => Err(self.panicked(name, panic)),
        }
    }

    fn scrub(&self, error: ToolError) -> ToolError {
        match &self.scrub {
            Some(scrub) => scrub(error),
            None => error,
        }
    }

    /// Returns an error in the form in which a client reads it: the text of an internal error goes
    /// to the log only.
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

/// A handler that runs, under its name.
struct Running<'a, D, H: ?Sized>(&'a Published<D, H>, &'a str);

impl<'f, T, D, H: ?Sized> Guard<BoxFuture<'f, Result<T, ToolError>>> for Running<'_, D, H> {
    type Result = Result<T, ToolError>;

    fn next(&self, output: Self::Result) -> ControlFlow<Self::Result, BoxFuture<'f, Self::Result>> {
        ControlFlow::Break(output.map_err(|error| self.0.shown(self.1, error)))
    }

    fn panicked(&self, panic: Box<dyn Any + Send>) -> Self::Result {
        Err(self.0.panicked(self.1, panic))
    }
}
