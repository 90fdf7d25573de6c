//! The bare call: decode, run, answer. Whatever happens, there is an answer.

use crate::arguments::coerce::Coercions;
use crate::arguments::prepare::{Caps, Prepared, prepare};
use crate::arguments::problem;
use crate::arguments::problem::{Problem, nearest};
use crate::call::MASKED;
use crate::call::context::RunContext;
use crate::call::cut::{Truncated, bound, cut, narrow};
use crate::call::error::{ErrorBody, ErrorKind, ToolError};
use crate::call::meta::{RareMeta, Slim};
use crate::call::output::{OutputKind, ToolOutput};
use crate::call::refusal::shorten;
use crate::call::response::ToolResponse;
use crate::call::tool_call::Arguments;
use crate::schema::example::minimal_example;
use crate::schema::nullable::Null;
use crate::text::truncate;
use crate::tool::function::FunctionTool;
use crate::tool::invocation::{Call, Frame, Gate, Invocation, Outcome, Rejected, Started};
use crate::trace::instrumented::Instrumented;
use crate::trace::open_span::current;
use crate::trace::record::{SpanEnd, SpanError, SpanKind, SpanStatus};
use crate::trace::redaction::Redaction;
use crate::trace::span;
use crate::trace::span::{NewSpan, open_call};
use crate::{text, trace};
use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::time::Instant;

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
    if !span::is_wanted() {
        return untraced(tool, arguments, ctx, settings).await;
    }
    // Boxed, so that a span does not make every call's future larger.
    let work = Box::pin(async {
        keep_arguments(arguments.text().unwrap_or_default(), None);
        let response = untraced(tool, arguments, ctx, settings).await;
        keep_result(&response, None);
        response
    });
    of_call(tool, ctx.call_id_shared(), work).await
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
    match start(tool, Call(&frame)) {
        Ok(invocation) => {
            // What is over already need not pass through another future.
            let outcome = match invocation {
                Invocation::Done(outcome) => outcome,
                later @ Invocation::Later(_) => settle(tool, later).await,
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
    let mut response = match start(answer.tool, Call(&frame)) {
        Ok(invocation) => answer.give(settle(answer.tool, invocation).await),
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
    let message = problem::report(&tool.name().escape_debug().to_string(), problems, example.as_ref());
    ToolError::new(ErrorKind::Validation, message, false)
}

// ---- Panics of a tool: caught, logged, answered.

// `AssertUnwindSafe`: what a panic leaves behind is the tool's own state, and a tool that panicked may be called
// again, as it may be from several tasks at once. Locks that it poisoned tell it so.

/// Starts a tool. A panic while decoding or in a sync method is an outcome.
#[inline]
pub(crate) fn start<'a>(tool: &'a FunctionTool, call: Call<'a>) -> Started<'a> {
    let started = catch_unwind(AssertUnwindSafe(|| tool.0.handler.start(call)));
    started.unwrap_or_else(|panic| Ok(Invocation::Done(panicked(tool, panic))))
}

/// Drives a tool to its end.
#[inline]
pub(crate) async fn settle<'a>(tool: &'a FunctionTool, mut invocation: Invocation<'a>) -> Outcome {
    loop {
        match invocation {
            Invocation::Done(outcome) => return outcome,
            Invocation::Later(future) => invocation = Guarded { tool, future: Some(future) }.await,
        }
    }
}

struct Guarded<'a> {
    tool: &'a FunctionTool,
    future: Option<Pin<Box<dyn Future<Output = Invocation<'a>> + Send + 'a>>>,
}

impl Drop for Guarded<'_> {
    /// A call that is given up drops what the tool holds, which may panic as well.
    fn drop(&mut self) {
        if let Some(future) = self.future.take()
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(future)))
        {
            // Its outcome is nobody's any more; the log has it.
            let _ = panicked(self.tool, panic);
        }
    }
}

impl<'a> Future for Guarded<'a> {
    type Output = Invocation<'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Invocation<'a>> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let future = self.future.as_mut()?;
            let polled = future.as_mut().poll(cx);
            if polled.is_ready() {
                // Dropped here, so that a panic while dropping is caught as well.
                self.future = None;
            }
            Some(polled)
        }));
        match polled {
            Ok(Some(polled)) => polled,
            Ok(None) => Poll::Ready(Invocation::Done(Err(ToolError::internal("polled after it ended")))),
            Err(panic) => {
                // What is left of it may panic once more while it is dropped.
                let rest = self.future.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(rest)));
                Poll::Ready(Invocation::Done(panicked(self.tool, panic)))
            }
        }
    }
}

/// The outcome of a panic. Its text goes to the log only.
#[cold]
fn panicked(tool: &FunctionTool, panic: Box<dyn Any + Send>) -> Outcome {
    let error = tool.scrubbed(ToolError::internal(text::of_panic(panic)));
    let text = Redaction::new().text(error.message());
    tracing::error!(tool = %tool.name().escape_debug(), panic = %text, "tool panicked");
    trace::mark_panicked();
    Err(ToolError::new(ErrorKind::Internal, MASKED, false).unexpected())
}

impl From<ToolError> for Rejected {
    fn from(error: ToolError) -> Self {
        Self::Context(error)
    }
}

// ---- From an outcome to a response.

/// Everything that a response says of its call.
#[derive(Clone, Copy)]
pub(crate) struct Answer<'a> {
    pub(crate) tool: &'a FunctionTool,
    pub(crate) ctx: &'a RunContext,
    pub(crate) call_id: Option<&'a Arc<str>>,
    pub(crate) began: Instant,
    /// The bytes that a result may have.
    pub(crate) output_bytes: usize,
}

impl Answer<'_> {
    #[inline]
    pub(crate) fn give(self, outcome: Outcome) -> ToolResponse {
        match outcome {
            Ok(ToolOutput { data: Ok(data), form, rare: None }) if self.fits(&data) => self.success(data, form),
            Ok(output) => self.rich(output),
            Err(error) => self.fail(error),
        }
    }

    #[inline]
    fn success(self, data: String, form: OutputKind) -> ToolResponse {
        let mut response = ToolResponse { body: Ok(data), form, slim: self.slim() };
        self.intents(&mut response);
        response
    }

    #[inline]
    fn fits(self, data: &str) -> bool {
        let definition = self.tool.definition();
        definition.max_output().is_none_or(|limit| data.len() <= limit) && data.len() <= self.output_bytes
    }

    /// A result with more than data, or one that may be too long.
    #[cold]
    fn rich(self, output: ToolOutput) -> ToolResponse {
        let ToolOutput { data, form, rare } = output;
        let data = match data {
            Ok(data) => data,
            Err(error) => return self.fail(error),
        };
        let rare = rare.map(|rare| *rare).unwrap_or_default();
        let shorter = match &rare.truncated {
            None => self.too_long(&data),
            // Cut as it was written, at bytes that may be more scalars than `max_output` allows.
            Some(_) => self.tool.definition().max_output().and_then(|limit| narrow(&data, limit)),
        };
        let (data, truncated) = match shorter {
            Some((shorter, how)) => (shorter, Some(how)),
            None => (data, rare.truncated),
        };
        // What was cut is no list of parts any more.
        let form = if truncated.is_some() { OutputKind::Data } else { form };
        let mut response = ToolResponse { body: Ok(data), form, slim: self.slim() };
        let meta = RareMeta {
            intents: rare.intents,
            truncated,
            warnings: rare.warnings,
            extra: rare.extra,
            empty: rare.empty,
            ..RareMeta::default()
        };
        if meta != RareMeta::default() {
            *response.rare() = meta;
        }
        self.intents(&mut response);
        response
    }

    fn too_long(self, data: &str) -> Option<(String, Truncated)> {
        let by_characters = self.tool.definition().max_output().and_then(|limit| cut(data, limit));
        by_characters.or_else(|| bound(data, self.output_bytes))
    }

    /// Intents that were emitted come before those that were returned: they were asked for earlier.
    #[inline]
    fn intents(self, response: &mut ToolResponse) {
        // A tool that takes no context runs on its caller's, whose intents are its caller's.
        if self.tool.definition().body.uses_context && self.ctx.may_have_intents() {
            self.emitted(response);
        }
    }

    #[cold]
    fn emitted(self, response: &mut ToolResponse) {
        let mut emitted = self.ctx.take_intents();
        if !emitted.is_empty() {
            let rare = response.rare();
            emitted.append(&mut rare.intents);
            rare.intents = emitted;
        }
    }

    #[cold]
    pub(crate) fn fail(self, error: ToolError) -> ToolResponse {
        let harmless = self.tool.definition().body.harmless();
        let body = self.tool.scrubbed(error).into_body(self.tool.name(), harmless);
        let mut response = ToolResponse { body: Err(Box::new(body)), form: OutputKind::Data, slim: self.slim() };
        self.intents(&mut response);
        response
    }

    /// VALIDATION, with every problem.
    #[cold]
    pub(crate) fn refuse(self, problems: &[Problem]) -> ToolResponse {
        let mut response = self.fail(report(self.tool, problems));
        response.rare().problems = problems.to_vec();
        response
    }

    #[inline]
    fn slim(self) -> Slim {
        Slim {
            tool: self.tool.definition().name.clone(),
            call_id: self.call_id.cloned(),
            duration: self.began.elapsed(),
            rare: None,
        }
    }
}

/// How many names an answer to an unknown one lists.
const LISTED: usize = 50;

/// `NOT_FOUND`, with the nearest name and those there are. L19.
#[cold]
pub(crate) fn unknown_tool<'a>(
    name: &str,
    call_id: Option<&Arc<str>>,
    names: impl Iterator<Item = &'a str>,
    began: Instant,
) -> ToolResponse {
    let names = names.collect::<Vec<_>>();
    let shown = shorten(name);
    let meant =
        nearest(name, names.iter().copied()).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
    let listed = names.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let there =
        if names.is_empty() { "no tools are available".into() } else { format!("available tools: {listed}{more}") };
    let message = format!("unknown tool `{shown}`{meant}; {there}");
    let body = ToolError::new(ErrorKind::NotFound, message, false).into_body(&shown, false);
    let slim = Slim { tool: shown.into(), call_id: call_id.cloned(), duration: began.elapsed(), rare: None };
    ToolResponse { body: Err(Box::new(body)), form: OutputKind::Data, slim }
}

// ---- The span of a call that is dispatched to a tool, and of a question to a model.

/// Runs `work`, which calls `tool`, in a span where one is to be had. S2
pub(crate) async fn of_call(
    tool: &FunctionTool,
    call_id: Option<&Arc<str>>,
    work: impl Future<Output = ToolResponse>,
) -> ToolResponse {
    let definition = tool.definition();
    match open_call(NewSpan::of_tool(definition.name.clone(), definition.body.site), call_id) {
        Some(span) => Instrumented::with_span(Some(span), work, end_of).await,
        None => work.await,
    }
}

/// Runs `work`, which asks `model`.
pub(crate) fn of_question<T, F: Future<Output = Result<T, ToolError>>>(
    model: impl Into<Cow<'static, str>>,
    work: F,
) -> Instrumented<F> {
    Instrumented::new(NewSpan::new(SpanKind::Llm, model.into()), work, |answer| {
        answer.as_ref().err().map_or_else(SpanEnd::default, SpanEnd::from)
    })
}

/// What is hidden in this place, as its collector has it.
fn redaction() -> Redaction {
    current().map_or_else(Redaction::new, |scope| scope.trace.collector.redaction().clone())
}

/// How work ended that failed. An internal error's text is for the log alone.
impl From<&ToolError> for SpanEnd {
    fn from(error: &ToolError) -> Self {
        let kind = error.kind();
        let status = if kind == ErrorKind::Cancelled { SpanStatus::Cancelled } else { SpanStatus::Error };
        let message = (kind != ErrorKind::Internal).then(|| redaction().text(error.message()).into());
        Self { status, error: Some(Box::new(SpanError { kind: kind.as_str(), message })) }
    }
}

/// How a call ended, by its answer. That a person is asked, or said no, is an answer and not an error. R-C2
fn end_of(response: &ToolResponse) -> SpanEnd {
    let Some(error) = response.error() else { return SpanEnd::default() };
    let status = match error.kind {
        ErrorKind::ConfirmationRequired | ErrorKind::Denied => return SpanEnd::default(),
        ErrorKind::Cancelled => SpanStatus::Cancelled,
        _ => SpanStatus::Error,
    };
    let error = SpanError { kind: error.kind.as_str(), message: Some(message(response, error).into()) };
    SpanEnd { status, error: Some(Box::new(error)) }
}

/// What a span says of an error. The message that tells a model what is wrong with its arguments repeats them, so of
/// those only the places are told.
fn message(response: &ToolResponse, error: &ErrorBody) -> String {
    if error.kind != ErrorKind::Validation {
        return redaction().text(&error.message);
    }
    let shown = |pointer: &str| format!("`{}`", truncate(&redaction().text(pointer), PLACE));
    let places = response.meta().problems().iter().take(PLACES).map(|problem| shown(&problem.pointer));
    format!("the arguments do not fit the schema at {}", places.collect::<Vec<_>>().join(", "))
}

/// The places of refused arguments that a span tells, and the characters of each.
const PLACES: usize = 10;
const PLACE: usize = 100;

/// The characters of arguments and results that a span keeps.
const CONTENT: usize = 4_000;

/// Keeps the arguments of the call whose span this is, where the collector keeps content. `also`: what else is hidden.
pub(crate) fn keep_arguments(text: &str, also: Option<&Redaction>) {
    keep("gen_ai.tool.call.arguments", text, also);
}

/// Keeps its result, where it has one.
pub(crate) fn keep_result(response: &ToolResponse, also: Option<&Redaction>) {
    if let Some(data) = response.data_json() {
        keep("gen_ai.tool.call.result", data, also);
    }
}

fn keep(name: &'static str, text: &str, also: Option<&Redaction>) {
    let Some(scope) = current().filter(|scope| scope.trace.collector.keeps_content()) else { return };
    let redaction = scope.trace.collector.redaction();
    let redaction = also.map_or_else(|| redaction.clone(), |also| redaction.and(also));
    // Hidden first, cut after.
    let shown = redaction.json_up_to(text, CONTENT);
    scope.change(|own| own.attributes.push((name, shown.into())));
}
