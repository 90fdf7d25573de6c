//! The bare call: decode, run, answer. Whatever happens, there is an answer.

mod arguments;
pub(crate) mod guard;
mod respond;
mod tool_call;

pub use arguments::Arguments;
pub use tool_call::ToolCall;

use crate::__private::{Call, Frame, Gate, Invocation, Rejected};
use crate::arguments::{Caps, Coercions, Prepared, Problem, prepare};
use crate::response::{ErrorKind, ToolError, ToolResponse};
use crate::run::RunContext;
use crate::schema::{Null, minimal_example};
use crate::tool::FunctionTool;
use crate::trace;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;

pub(crate) use respond::{Answer, outside_session, refused, unknown_tool};

/// How calls of a context are treated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) coercions: Coercions,
    pub(crate) argument_bytes: usize,
    pub(crate) output_bytes: usize,
}

impl Settings {
    pub(crate) const DEFAULT: Self = Self { coercions: Coercions::ALL, argument_bytes: 1 << 20, output_bytes: 1 << 20 };
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Runs one call of one tool, outside any session.
pub(crate) async fn run(
    tool: &FunctionTool,
    arguments: &Arguments<'_>,
    ctx: &RunContext,
    settings: &Settings,
) -> ToolResponse {
    if !trace::is_wanted() {
        return untraced(tool, arguments, ctx, settings).await;
    }
    // Boxed, so that a span does not make every call's future larger.
    let work = Box::pin(async {
        trace::keep_arguments(arguments.text().unwrap_or_default(), None);
        let response = untraced(tool, arguments, ctx, settings).await;
        trace::keep_result(&response, None);
        response
    });
    trace::of_call(tool, ctx.call_id_shared(), work).await
}

async fn untraced(
    tool: &FunctionTool,
    arguments: &Arguments<'_>,
    ctx: &RunContext,
    settings: &Settings,
) -> ToolResponse {
    let began = Instant::now();
    let own;
    let definition = &*tool.definition().body;
    // A tool that never looks at its context needs none of its own.
    let ctx = if definition.uses_context {
        own = ctx.for_call(&tool.definition().name);
        &own
    } else {
        ctx
    };
    let answer = Answer { tool, ctx, call_id: ctx.call_id_shared(), began, output_bytes: settings.output_bytes };
    let text = match arguments.text() {
        Ok(text) if text.len() <= settings.argument_bytes => text,
        Ok(text) => return answer.refuse(&[too_long(text.len(), settings.argument_bytes)]),
        Err(at) => return answer.refuse(&[not_utf8(at)]),
    };
    let frame = answer.frame(text, settings, false, None);
    match guard::start(tool, Call(&frame)) {
        Ok(invocation) => {
            // What is over already need not pass through another future.
            let outcome = match invocation {
                Invocation::Done(outcome) => outcome,
                later @ Invocation::Later(_) => guard::settle(tool, later).await,
            };
            let mut response = answer.give(outcome);
            note_nulls(&mut response, tool, &frame);
            response
        }
        Err(Rejected::Context(error)) => answer.fail(error),
        // Boxed, so that the way which few calls take does not make every call's future larger.
        Err(_) => Box::pin(repaired(answer, text, settings)).await,
    }
}

/// The slow path: finds out what is wrong, puts right what can be, and starts the tool again.
async fn repaired(answer: Answer<'_>, text: &str, settings: &Settings) -> ToolResponse {
    let Prepared { text, coerced, .. } = match repair(answer.tool, text, settings) {
        Ok(prepared) => prepared,
        Err(problems) => return answer.refuse(&problems),
    };
    let frame = answer.frame(&text, settings, true, None);
    let mut response = match guard::start(answer.tool, Call(&frame)) {
        Ok(invocation) => answer.give(guard::settle(answer.tool, invocation).await),
        Err(rejected) => answer.rejected(rejected),
    };
    if !coerced.is_empty() {
        response.rare().coerced = coerced;
    }
    response
}

/// Puts right what can be put right without loss, or tells every problem.
pub(crate) fn repair(tool: &FunctionTool, text: &str, settings: &Settings) -> Result<Prepared, Vec<Problem>> {
    let definition = &*tool.definition().body;
    let caps = Caps { bytes: settings.argument_bytes };
    prepare(text, definition.validator().schema(), definition.validator(), caps, settings.coercions)
}

impl<'a> Answer<'a> {
    /// What stands behind one start of the tool. `validated`: the text went through the validator already.
    #[inline]
    pub(crate) fn frame(
        self,
        text: &'a str,
        settings: &Settings,
        validated: bool,
        gate: Option<&'a dyn Gate>,
    ) -> Frame<'a> {
        let definition = self.tool.definition();
        // A scalar takes at most four bytes, so this cuts nothing that `max_output` allows.
        let own = definition.max_output().map_or(usize::MAX, |scalars| scalars.saturating_mul(4));
        Frame {
            text,
            ctx: self.ctx,
            tool: &definition.body,
            coercions: settings.coercions,
            validated,
            output_bytes: own.min(settings.output_bytes),
            nulls: AtomicU64::new(0),
            gate,
        }
    }

    /// What a tool that did not start is answered with, once its arguments went through the slow path.
    pub(crate) fn rejected(self, rejected: Rejected) -> ToolResponse {
        match rejected {
            Rejected::Context(error) => self.fail(error),
            // The schema accepts it and the type refuses it: a `Deserialize` with rules of its own, which tells them.
            Rejected::Arguments(error) => self.refuse(&[Problem::refused(error.path(), error.message())]),
            Rejected::Held => self.fail(ToolError::internal("held by a gate that is not there")),
        }
    }
}

/// Says which parameters were given a `null` that was read as absent.
#[inline]
pub(crate) fn note_nulls(response: &mut ToolResponse, tool: &FunctionTool, frame: &Frame<'_>) {
    let nulls = frame.nulls.load(Ordering::Relaxed);
    if nulls != 0 {
        tell_nulls(response, tool, nulls);
    }
}

#[cold]
fn tell_nulls(response: &mut ToolResponse, tool: &FunctionTool, nulls: u64) {
    let definition = &tool.definition().body;
    let named = definition.nulls().iter().zip(definition.rows).enumerate();
    let notes = named
        .filter(|(at, (null, _))| matches!(null, Null::Absent) && nulls & (1 << at.min(&63)) != 0)
        .map(|(_, (_, row))| format!("/{}: null to absent", row.name))
        .collect::<Vec<_>>();
    response.rare().coerced = notes;
}

#[cold]
pub(crate) fn too_long(bytes: usize, cap: usize) -> Problem {
    Problem::new("", format!("at most {cap} bytes of JSON"), format!("{bytes} bytes"))
}

#[cold]
fn not_utf8(at: usize) -> Problem {
    Problem::new("", "JSON in UTF-8", format!("a byte that is not UTF-8 at offset {at}"))
}

/// The message of a refusal, with arguments that would have been accepted.
fn report(tool: &FunctionTool, problems: &[Problem]) -> ToolError {
    let schema = tool.definition().parameters();
    // Found by the schema's keywords alone; a pattern or a rule between parameters may defeat it.
    let example = Some(minimal_example(schema, schema)).filter(|it| tool.definition().body.validator().is_valid(it));
    let message = crate::arguments::report(&tool.name().escape_debug().to_string(), problems, example.as_ref());
    ToolError::new(ErrorKind::Validation, message, false)
}
