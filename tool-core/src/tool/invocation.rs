//! One call on its way through a wrapper.

use crate::arguments::coerce::Coercions;
use crate::arguments::fields::{ArgumentStruct, ObjectFields};
use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::extract::FromRunContext;
use crate::call::output::ToolOutput;
use crate::json::{error, value};
use crate::tool::body::Definition;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a tool came to.
pub type Outcome = Result<ToolOutput, ToolError>;

/// A call after its arguments were decoded.
pub enum Invocation<'a> {
    /// It is over.
    Done(Outcome),
    /// It goes on.
    Later(Pin<Box<dyn Future<Output = Invocation<'a>> + Send + 'a>>),
}

/// Why a wrapper did not run its method.
pub enum Rejected {
    /// The arguments do not decode; the slow path finds out why.
    Arguments(error::Error),
    /// A context parameter is not to be had.
    Context(ToolError),
    /// The arguments are sound, and the gate did not let the call through.
    Held,
}

impl From<error::Error> for Rejected {
    fn from(error: error::Error) -> Self {
        Self::Arguments(error)
    }
}

/// What a wrapper returns.
pub type Started<'a> = Result<Invocation<'a>, Rejected>;

/// Stands between sound arguments and the method: a session's limits.
pub(crate) trait Gate: Sync {
    /// Whether the method is to run now. `text` is what was decoded.
    fn pass(&self, text: &str) -> bool;
}

/// The call that a wrapper serves. One word wide, so that a future which keeps it stays small.
#[derive(Clone, Copy)]
pub struct Call<'a>(pub(crate) &'a Frame<'a>);

/// What stands behind a [`Call`] while it runs.
pub(crate) struct Frame<'a> {
    pub(crate) text: &'a str,
    pub(crate) ctx: &'a RunContext,
    pub(crate) tool: &'a Definition,
    pub(crate) coercions: Coercions,
    /// Whether the text went through the validator already.
    pub(crate) validated: bool,
    /// The bytes that the result may have.
    pub(crate) output_bytes: usize,
    /// Parameters whose `null` was read as absent, by index; the last bit stands for all from 63 on.
    pub(crate) nulls: AtomicU64,
    /// What sound arguments have to pass before the method runs.
    pub(crate) gate: Option<&'a dyn Gate>,
}

impl<'a> Call<'a> {
    /// Decodes the arguments into the tool's argument struct.
    #[inline]
    pub fn decode<A: ArgumentStruct<'a>>(self) -> Result<A, Rejected> {
        let Frame { text, tool, coercions, .. } = self.0;
        let mut fields = ObjectFields::new(text, tool.nulls(), coercions.null_as_absent, Some(tool.names()))?;
        let args = match A::decode(&mut fields) {
            Ok(args) => args,
            Err(error) => return Err(fields.locate(error, A::PARAMETERS).into()),
        };
        let read = fields.end()?;
        if read.nulls != 0 {
            self.0.nulls.store(read.nulls, Ordering::Relaxed);
        }
        if (read.buffered || self.0.tool.needs_validator()) && !self.0.validated {
            self.validate()?;
        }
        self.pass()?;
        Ok(args)
    }

    /// Asks the gate, once the arguments are known to be sound.
    #[inline]
    pub(crate) fn pass(self) -> Result<(), Rejected> {
        match self.0.gate {
            Some(gate) if !gate.pass(self.0.text) => Err(Rejected::Held),
            _ => Ok(()),
        }
    }

    /// What was given, or the default that the instance decided when the tool was bound.
    #[inline]
    pub fn or_frozen<T: serde::Deserialize<'a>>(self, given: Option<T>, index: usize) -> Result<T, Rejected> {
        match given {
            Some(value) => Ok(value),
            None => self.frozen(index),
        }
    }

    fn frozen<T: serde::Deserialize<'a>>(self, index: usize) -> Result<T, Rejected> {
        let text = self.0.tool.frozen_default(index);
        serde_json::from_str(text).map_err(|error| {
            let why = format!("the default of parameter {index} does not decode from its own JSON: {error}");
            Rejected::Context(ToolError::internal(why))
        })
    }

    /// The types cannot prove what the schema says, so the validator looks at the text too.
    #[cold]
    fn validate(self) -> Result<(), Rejected> {
        use serde::de::Error;
        let parsed = value::parse(self.0.text).map_err(|_| error::Error::custom("not JSON"))?;
        if parsed.duplicates.is_empty() && self.0.tool.validator().is_valid(&parsed.value) {
            return Ok(());
        }
        Err(error::Error::custom("the schema refuses it").into())
    }
}

/// Takes a context parameter.
#[inline]
pub fn context<'a, C: FromRunContext<'a>>(call: Call<'a>) -> Result<C, Rejected> {
    C::from_run_context(call.0.ctx).map_err(Rejected::Context)
}

/// What an async method becomes.
#[inline]
pub fn later<'a, F: Future<Output = Invocation<'a>> + Send + 'a>(future: F) -> Invocation<'a> {
    Invocation::Later(Box::pin(future))
}

/// What `#[setup]` and `#[close]` become.
pub fn lifecycle<'a, F>(future: F) -> Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + 'a>>
where
    F: Future<Output = Outcome> + Send + 'a,
{
    Box::pin(async move { future.await.map(drop) })
}
