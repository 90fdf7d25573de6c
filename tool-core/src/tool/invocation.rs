//! The protocol between the driver and the wrappers that the macros generate.

use crate::arguments::coerce::Coercions;
use crate::arguments::fields::{ArgumentSource, ArgumentStruct, ObjectFields, Slot, refused};
use crate::arguments::prepare::RefusedArguments;
use crate::call::context::{FromRunContext, RunContext};
use crate::call::error::ToolError;
use crate::call::output::ToolOutput;
use crate::call::progress::Reporting;
use crate::json::decoder::Decoder;
use crate::json::{error, value};
use crate::schema::evaluation::check_exact;
use crate::tool::definition::CompiledDefinition;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

/// A predicate that decides which runs see a tool.
pub(crate) type Visible = dyn Fn(&RunContext) -> bool + Send + Sync;

/// A function that removes secrets from an error.
pub(crate) type Scrub = dyn Fn(ToolError) -> ToolError + Send + Sync;

/// The setup of a tool's toolset.
pub(crate) trait RequiredSetup: Send + Sync {
    /// Returns the error of a bare call if the toolset is not set up.
    fn missing(&self) -> Option<ToolError>;
}

/// The future that `setup` and `close` return.
pub type LifecycleFuture<'a> = Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + 'a>>;

/// The result of a tool.
pub type ToolResult = Result<ToolOutput, ToolError>;

/// A running method. Its arguments are decoded.
pub enum Execution<'a> {
    /// The method has returned.
    Done(ToolResult),
    /// The method is async and has to be polled.
    Pending(PendingExecution<'a>),
}

/// The future of an async method. A stream's ends with the future that collects it.
pub(crate) type PendingExecution<'a> = Pin<Box<dyn Future<Output = Execution<'a>> + Send + 'a>>;

impl<'a> Execution<'a> {
    /// The method has returned an error.
    pub fn failed(error: ToolError) -> Self {
        Self::Done(Err(error))
    }

    /// Boxes the future of a method.
    pub(crate) fn pending<F: Future<Output = Self> + Send + 'a>(future: F) -> Self {
        Self::Pending(Box::pin(future))
    }
}

/// The reason why a wrapper did not run its method.
pub enum Rejection {
    /// The arguments do not decode. The slow path finds the problems.
    Arguments(error::Error),
    /// The schema refuses the arguments. The slow path corrects them, or finds the problems.
    Refused(Box<RefusedArguments>),
    /// A context parameter is not available.
    Context(ToolError),
    /// The arguments are valid, and the gate did not admit the call.
    NotAdmitted,
}

impl Rejection {
    /// Returns the arguments that the slow path takes over.
    pub(crate) fn refused(self) -> Option<Box<RefusedArguments>> {
        match self {
            Self::Refused(refused) => Some(refused),
            Self::Arguments(_) | Self::Context(_) | Self::NotAdmitted => None,
        }
    }
}

impl From<error::Error> for Rejection {
    fn from(error: error::Error) -> Self {
        Self::Arguments(error)
    }
}

/// The return type of a wrapper.
pub type HandlerResult<'a> = Result<Execution<'a>, Rejection>;

/// A check between the decoded arguments and the method: a session's limits.
pub(crate) trait CallGate: Sync {
    /// Returns true where the method may run now. `text` is the text that was decoded.
    fn admit(&self, text: &str) -> bool;
}

/// A gate that admits no call, for arguments that are decoded and not used.
pub(crate) struct ClosedGate;

impl CallGate for ClosedGate {
    fn admit(&self, _: &str) -> bool {
        false
    }
}

/// The call that a wrapper serves. It is one word wide, so that a future which keeps it stays
/// small.
#[derive(Clone, Copy)]
pub struct Invocation<'a>(pub(crate) &'a InvocationFrame<'a>);

/// The data of an [`Invocation`].
pub(crate) struct InvocationFrame<'a> {
    pub(crate) text: &'a str,
    pub(crate) ctx: &'a RunContext,
    /// The owner of the call's progress. A stream reports its items there, also if its tool takes
    /// no context.
    pub(crate) reporting: &'a dyn Reporting,
    pub(crate) tool: &'a CompiledDefinition,
    pub(crate) coercions: Coercions,
    /// True where the validator has accepted the text already.
    pub(crate) validated: bool,
    /// The maximum size of the result.
    pub(crate) output_bytes: usize,
    /// The parameters whose `null` was coerced, a bit for each.
    pub(crate) nulls: AtomicU64,
    pub(crate) gate: Option<&'a dyn CallGate>,
}

/// The state of the decoder after the arguments.
pub struct DecodedArguments<'a> {
    decoder: Decoder<'a>,
    /// A bit for each parameter whose `null` was coerced.
    nulls: u64,
}

impl<'a> ArgumentSource<'a> for Invocation<'a> {
    type Reader = Decoder<'a>;
    type Decoded = DecodedArguments<'a>;
    type Error = Rejection;

    fn decode_slots(&mut self, slots: &mut [&mut dyn Slot<'a>]) -> Result<(), Rejection> {
        // What models send to a tool without parameters.
        if slots.is_empty() && self.0.text == "{}" && !self.0.tool.schema.needs_validator {
            return self.admit();
        }
        let mut fields = self.fields(slots)?;
        // A bare call of most tools has nothing left to check.
        if self.0.gate.is_none() && fields.are_exact() {
            return Ok(());
        }
        self.finish(&mut fields.decoder, fields.coerced_nulls)
    }

    fn read_slots(
        &mut self,
        slots: &mut [&mut dyn Slot<'a>],
    ) -> Result<DecodedArguments<'a>, Rejection> {
        let fields = self.fields(slots)?;
        Ok(DecodedArguments {
            decoder: fields.decoder,
            nulls: fields.coerced_nulls,
        })
    }

    fn check(&mut self, index: usize, holds: bool) -> Result<(), Rejection> {
        // A probe is about the types. Its text satisfies no constraints.
        if holds || self.0.tool.schema.probe.is_some() {
            Ok(())
        } else {
            Err(refused::<error::Error>(index).into())
        }
    }

    /// Checks what the decoded fields do not show, and asks the gate.
    #[inline]
    fn accept<A>(&mut self, mut decoded: DecodedArguments<'a>, args: A) -> Result<A, Rejection> {
        self.finish(&mut decoded.decoder, decoded.nulls)?;
        Ok(args)
    }
}

impl<'a> Invocation<'a> {
    /// Decodes the arguments into the struct of the tool, and asks the gate.
    #[inline]
    pub fn arguments<A: ArgumentStruct<'a>>(mut self) -> Result<A, Rejection> {
        A::decode(&mut self)
    }

    #[inline]
    fn fields(self, slots: &mut [&mut dyn Slot<'a>]) -> Result<ObjectFields<'a, 'a>, Rejection> {
        let InvocationFrame {
            text,
            tool,
            coercions,
            ..
        } = self.0;
        let schema = &tool.schema;
        if schema.needs_validator && !self.0.validated {
            // The types alone cannot prove what the schema demands.
            self.check_valid()?;
        }
        let mut fields = ObjectFields::new(
            text,
            &schema.fields,
            coercions.null_as_absent,
            schema.probe.as_deref(),
        );
        fields.decoder.begin_object()?;
        match fields.read(tool.rows, slots) {
            Ok(()) => Ok(fields),
            Err(error) => Err(fields.locate(error, tool.rows).into()),
        }
    }

    fn finish(self, decoder: &mut Decoder<'_>, nulls: u64) -> Result<(), Rejection> {
        decoder.end()?;
        if nulls != 0 {
            self.0.nulls.store(nulls, Ordering::Relaxed);
        }
        self.admit()
    }

    /// Asks the gate, once the arguments are known to be valid.
    #[inline]
    pub(crate) fn admit(self) -> Result<(), Rejection> {
        match self.0.gate {
            Some(gate) if !gate.admit(self.0.text) => Err(Rejection::NotAdmitted),
            _ => Ok(()),
        }
    }

    /// Returns the given value, or the default that the instance decided when the tool was bound.
    #[inline]
    pub fn or_instance_default<T>(
        self,
        given: Option<T>,
        index: usize,
        read: impl FnOnce(&'a str) -> serde_json::Result<T>,
    ) -> Result<T, Rejection> {
        if let Some(value) = given {
            return Ok(value);
        }
        let text = self.0.tool.instance_default(index);
        read(text).map_err(|error| {
            let message = format!(
                "the default of parameter {index} does not decode from its own JSON: {error}"
            );
            Rejection::Context(ToolError::internal(message))
        })
    }

    /// Checks that the schema accepts the text.
    #[cold]
    fn check_valid(self) -> Result<(), Rejection> {
        self.parse_valid().map(drop)
    }

    /// Parses the text, which the schema has to accept.
    #[cold]
    pub(crate) fn parse_valid(self) -> Result<value::ParsedValue, Rejection> {
        use serde::de::Error;
        let parsed = value::parse(self.0.text).map_err(|_| error::Error::custom("not JSON"))?;
        let validator = self.0.tool.validator();
        // Members that a schema leaves open are removed on the slow path.
        let is_ignored =
            validator.takes_nothing() && self.0.coercions.unknown_as_absent && !self.0.validated;
        let is_empty = parsed
            .value
            .as_object()
            .is_none_or(serde_json::Map::is_empty);
        let check = || match validator.compiled() {
            Ok(_) if self.0.validated => Some(Ok(true)),
            Ok(_) if is_ignored && !is_empty => None,
            Ok(compiled) => Some(check_exact(compiled, &parsed.value, &parsed.rounded)),
            Err(_) => None,
        };
        let verdict = if parsed.duplicates.is_empty() {
            check()
        } else {
            None
        };
        match verdict {
            Some(Ok(true)) => Ok(parsed),
            verdict => Err(Rejection::Refused(Box::new(RefusedArguments {
                parsed,
                verdict,
            }))),
        }
    }
}

/// Takes a context parameter.
#[inline]
pub fn context<'a, C: FromRunContext<'a>>(call: Invocation<'a>) -> Result<C, Rejection> {
    C::from_run_context(call.0.ctx).map_err(Rejection::Context)
}

/// Boxes the future of a `#[setup]` or `#[close]` method.
pub fn lifecycle<'a, F>(future: F) -> LifecycleFuture<'a>
where
    F: Future<Output = Result<(), ToolError>> + Send + 'a,
{
    Box::pin(future)
}
