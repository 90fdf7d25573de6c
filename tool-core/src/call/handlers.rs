//! The handlers that a host sets for what running tools ask of it.

use crate::call::host_request::RequestHandler;
use crate::call::log_message::LogMessage;
use crate::call::questions::Question;
use crate::call::roots::RootsRequest;
use crate::call::sampling::SamplingRequest;
use std::fmt;
use std::sync::Arc;

/// The handler of one kind of request.
pub(crate) type Handler<R> = Arc<dyn RequestHandler<R>>;

/// A function that takes the log messages of tools.
pub(crate) type LogListener = Arc<dyn Fn(&LogMessage) + Send + Sync>;

/// The handlers that are set at one place: the runtime, a session, a call or a context.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    pub(crate) question: Option<Handler<Question>>,
    pub(crate) sampling: Option<Handler<SamplingRequest>>,
    pub(crate) roots: Option<Handler<RootsRequest>>,
    pub(crate) log: Option<LogListener>,
}

/// Shared handlers, which most calls do not have. Null then.
#[derive(Clone, Default)]
pub(crate) struct SharedHandlers(Option<Arc<Handlers>>);

impl SharedHandlers {
    /// Returns an address that only clones share, or null.
    pub(crate) fn address(&self) -> *const Handlers {
        self.0.as_ref().map_or(std::ptr::null(), Arc::as_ptr)
    }

    pub(crate) fn get(&self) -> Option<&Handlers> {
        self.0.as_deref()
    }

    pub(crate) fn edit(&mut self) -> &mut Handlers {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// Returns these handlers, and the others for what these leave out.
    pub(crate) fn or(self, other: &Self) -> Self {
        let (Some(own), Some(other)) = (&self.0, &other.0) else {
            return if self.0.is_some() {
                self
            } else {
                other.clone()
            };
        };
        let own = Handlers::clone(own);
        let other = Handlers::clone(other);
        Self(Some(Arc::new(Handlers {
            question: own.question.or(other.question),
            sampling: own.sampling.or(other.sampling),
            roots: own.roots.or(other.roots),
            log: own.log.or(other.log),
        })))
    }
}

/// The methods that set the handlers of a builder. The attributes say where they come from and what
/// their default is.
macro_rules! handler_setters {
    ($(#[$attribute:meta])* |$this:ident| $handlers:expr) => {
        /// Sets the handler of the questions that tools ask the user in the middle of a call
        /// ([`RunContext::ask`](crate::RunContext::ask)).
        $(#[$attribute])*
        pub fn on_question(
            mut self,
            handler: impl $crate::call::host_request::RequestHandler<$crate::call::questions::Question>,
        ) -> Self {
            let $this = &mut self;
            $handlers.edit().question = Some(::std::sync::Arc::new(handler));
            self
        }

        /// Sets the handler of the requests that tools make to the user's model
        /// ([`RunContext::sample`](crate::RunContext::sample)).
        $(#[$attribute])*
        pub fn on_sampling(
            mut self,
            handler: impl $crate::call::host_request::RequestHandler<$crate::call::sampling::SamplingRequest>,
        ) -> Self {
            let $this = &mut self;
            $handlers.edit().sampling = Some(::std::sync::Arc::new(handler));
            self
        }

        /// Sets the handler of the requests for the user's folders
        /// ([`RunContext::roots`](crate::RunContext::roots)).
        $(#[$attribute])*
        pub fn on_roots(
            mut self,
            handler: impl $crate::call::host_request::RequestHandler<$crate::call::roots::RootsRequest>,
        ) -> Self {
            let $this = &mut self;
            $handlers.edit().roots = Some(::std::sync::Arc::new(handler));
            self
        }

        /// Sets a function that takes the log messages of tools
        /// ([`RunContext::log`](crate::RunContext::log)), beside `tracing`. It runs on the thread
        /// of the tool, so it must not wait.
        $(#[$attribute])*
        pub fn on_log(mut self, listener: impl Fn(&$crate::call::log_message::LogMessage) + Send + Sync + 'static) -> Self {
            let $this = &mut self;
            $handlers.edit().log = Some(::std::sync::Arc::new(listener));
            self
        }
    };
}

pub(crate) use handler_setters;

/// The handlers of what one call, prompt or resource asks of the host. They come before those of
/// the session. Cheap to clone.
///
/// ```
/// use tool_core::call::{Answer, HostHandlers, Question};
/// use tool_core::serde_json::json;
/// use tool_core::tool::TextArguments;
/// use tool_core::{Mode, RunContext, Runtime, ToolContext, ToolError, prompt};
///
/// /// Write in a tone that the user chooses.
/// #[prompt]
/// async fn write(ctx: &RunContext) -> Result<String, ToolError> {
///     Ok(format!("Write in a {} tone.", ctx.ask::<String>("Which tone?").await?.required()?))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().with_prompt(write).build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let user = async |_: Question| Ok(Answer::Accepted(json!({"answer": "friendly"})));
/// let handlers = HostHandlers::new().on_question(user);
/// let messages = session.get_prompt_with("write", TextArguments::new(), handlers).await?;
/// assert_eq!(messages[0].content, "Write in a friendly tone.".into());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct HostHandlers(pub(crate) SharedHandlers);

impl HostHandlers {
    /// Creates handlers that handle nothing.
    pub fn new() -> Self {
        Self::default()
    }

    handler_setters!(|handlers| handlers.0);
}

impl fmt::Debug for HostHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostHandlers").finish_non_exhaustive()
    }
}
