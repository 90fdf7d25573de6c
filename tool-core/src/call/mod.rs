//! The bare call: decode, run, answer. Whatever happens, there is an answer.

mod arguments;
mod guard;
mod respond;
mod tool_call;

pub use arguments::Arguments;
pub use tool_call::ToolCall;

use crate::__private::{Call, Frame, Invocation, Rejected};
use crate::arguments::{Caps, Coercions, Prepared, Problem, prepare};
use crate::response::{ErrorKind, ToolError, ToolResponse};
use crate::run::RunContext;
use crate::schema::{Null, minimal_example};
use crate::tool::FunctionTool;
use respond::Answer;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(crate) use respond::unknown_tool;

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

/// Runs one call of one tool.
pub(crate) async fn run(
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
    let answer = Answer { tool, ctx, began, output_bytes: settings.output_bytes };
    let text = match arguments.text() {
        Ok(text) if text.len() <= settings.argument_bytes => text,
        Ok(text) => return answer.refuse(&[too_long(text.len(), settings.argument_bytes)]),
        Err(at) => return answer.refuse(&[not_utf8(at)]),
    };
    let frame = answer.frame(text, settings, false);
    match guard::start(tool, Call(&frame)) {
        Ok(invocation) => {
            // What is over already need not pass through another future.
            let outcome = match invocation {
                Invocation::Done(outcome) => outcome,
                later @ Invocation::Later(_) => guard::settle(tool, later).await,
            };
            let mut response = answer.give(outcome);
            let nulls = frame.nulls.load(Ordering::Relaxed);
            if nulls != 0 {
                note_nulls(&mut response, tool, nulls);
            }
            response
        }
        Err(Rejected::Context(error)) => answer.fail(error),
        // Boxed, so that the way which few calls take does not make every call's future larger.
        Err(Rejected::Arguments(_)) => Box::pin(repaired(answer, text, settings)).await,
    }
}

/// The slow path: finds out what is wrong, puts right what can be, and starts the tool again.
async fn repaired(answer: Answer<'_>, text: &str, settings: &Settings) -> ToolResponse {
    let tool = answer.tool;
    let definition = &*tool.definition().body;
    let caps = Caps { bytes: settings.argument_bytes };
    let schema = definition.validator().schema();
    let prepared = match prepare(text, schema, definition.validator(), caps, settings.coercions) {
        Ok(prepared) => prepared,
        Err(problems) => return answer.refuse(&problems),
    };
    let Prepared { text, coerced, .. } = prepared;
    let frame = answer.frame(&text, settings, true);
    let mut response = match guard::start(tool, Call(&frame)) {
        Ok(invocation) => answer.give(guard::settle(tool, invocation).await),
        Err(Rejected::Context(error)) => answer.fail(error),
        // The schema accepts it and the type refuses it: a `Deserialize` with rules of its own, which tells them.
        Err(Rejected::Arguments(error)) => answer.refuse(&[Problem::refused(error.path(), error.message())]),
    };
    if !coerced.is_empty() {
        response.rare().coerced = coerced;
    }
    response
}

impl<'a> Answer<'a> {
    /// What stands behind one start of the tool. `validated`: the text went through the validator already.
    #[inline]
    fn frame(self, text: &'a str, settings: &Settings, validated: bool) -> Frame<'a> {
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
        }
    }
}

#[cold]
fn note_nulls(response: &mut ToolResponse, tool: &FunctionTool, nulls: u64) {
    let definition = &tool.definition().body;
    let named = definition.nulls().iter().zip(definition.rows).enumerate();
    let notes = named
        .filter(|(at, (null, _))| matches!(null, Null::Absent) && nulls & (1 << at.min(&63)) != 0)
        .map(|(_, (_, row))| format!("/{}: null to absent", row.name))
        .collect::<Vec<_>>();
    response.rare().coerced = notes;
}

#[cold]
fn too_long(bytes: usize, cap: usize) -> Problem {
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
