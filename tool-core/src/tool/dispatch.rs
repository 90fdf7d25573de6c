//! The bare call: decode the arguments, run the tool, build the response. Every call has a response.

use crate::arguments::coerce::Coercions;
use crate::arguments::prepare::{PreparedArguments, RefusedArguments, check_length, prepare};
use crate::arguments::problem;
use crate::arguments::problem::{Problem, nearest};
use crate::call::content::Content;
use crate::call::context::RunContext;
use crate::call::error::{ErrorKind, ITEMS_BEFORE_ERROR, ToolError};
use crate::call::meta::{BaseMeta, CoercionNotes, OptionalMeta, OutputKind};
use crate::call::original::Original;
use crate::call::output::ToolOutput;
use crate::call::progress::Reporting;
use crate::call::response::{ToolResponse, shorten_name};
use crate::call::tool_call::Arguments;
use crate::call::truncation::{Truncated, truncate_again, truncate_bytes, truncate_characters};
use crate::schema::example::minimal_example;
use crate::time::CallInstant;
use crate::tool::function::FunctionTool;
use crate::tool::instance::describe_failure;
use crate::tool::invocation::{
    AdmissionGate, Execution, Invocation, InvocationFrame, Rejection, ToolResult,
};
use crate::tool::spans::CALLS_TARGET;
use crate::tool::thread_time::{ThreadTime, WaitingTool};
use crate::tool::{guarded_tool, spans};
use crate::trace::span;
use futures_util::future::BoxFuture;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use tracing::Level;

/// The settings for all calls of a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DispatchSettings {
    pub(crate) coercions: Coercions,
    pub(crate) argument_bytes: usize,
    pub(crate) output_bytes: usize,
}

impl Default for DispatchSettings {
    fn default() -> Self {
        Self {
            coercions: Coercions::ALL,
            argument_bytes: 1 << 20,
            output_bytes: 1 << 20,
        }
    }
}

impl FunctionTool {
    /// Calls the tool outside any tool context, with the default limits.
    ///
    /// A method of a toolset with a `#[setup]` needs that setup first. Only a context knows this of the tools of a
    /// [`Toolset`](crate::Toolset) written by hand.
    pub async fn call(
        &self,
        arguments: impl Into<Arguments<'_>>,
        ctx: &RunContext,
    ) -> ToolResponse {
        let arguments = arguments.into();
        if let Some(error) = self.setup().and_then(|setup| setup.missing()) {
            return not_set_up(self, error, ctx);
        }
        let settings = DispatchSettings::default();
        run(|| Ok((self, &settings)), arguments, ctx, true).await
    }
}

/// Runs one call outside any session: of the tool that `find` returns, or answered by the response that it returns.
///
/// Generic, so that a call by name is one future that moves its response once.
pub(crate) async fn run<'t>(
    find: impl FnOnce() -> Result<(&'t FunctionTool, &'t DispatchSettings), ToolResponse>,
    arguments: Arguments<'_>,
    ctx: &RunContext,
    may_open_span: bool,
) -> ToolResponse {
    let (tool, settings) = match find() {
        Ok(found) => found,
        Err(response) => return response,
    };
    if may_open_span && span::is_wanted() {
        return run_in_span(tool, settings, arguments, ctx).await;
    }
    let began = CallInstant::now();
    let own;
    // A tool that never looks at its context runs on its caller's.
    let ctx = if tool.definition().compiled.uses_context {
        own = ctx.for_tool_in(ctx.call_context(), &tool.definition().name);
        &own
    } else {
        ctx
    };
    let builder = ResponseBuilder {
        tool,
        ctx,
        call_id: ctx.call_id_shared(),
        began,
        output_bytes: settings.output_bytes,
    };
    let text = match arguments.text() {
        Ok(text) => match check_length(text, settings.argument_bytes) {
            Ok(()) => text,
            Err(problem) => return builder.refuse(&[problem]),
        },
        Err(at) => return builder.refuse(&[not_utf8(at)]),
    };
    let frame = builder.frame(text, settings, false, None, ctx);
    match guarded_tool::start(tool, Invocation(&frame)) {
        Ok(execution) => {
            let mut has_waited = false;
            // A method that has returned does not need to pass through another future.
            let result = match execution {
                Execution::Done(result) => result,
                Execution::Pending(future) => {
                    let mut future = guarded_tool::guard(tool, future);
                    match future.poll_once().await {
                        Poll::Ready(result) => result,
                        Poll::Pending => {
                            has_waited = true;
                            WaitingTool::new(future, builder.thread_time(), began).await
                        }
                    }
                }
            };
            let nulls = frame.nulls.load(Ordering::Relaxed);
            if nulls == 0 && (has_waited || tool.definition().timeout().is_none()) {
                // Returned at once, so that the response is written to its place.
                return builder.finish(result);
            }
            let mut response = builder.finish(result);
            if !has_waited {
                builder
                    .thread_time()
                    .check(Duration::ZERO, response.meta().duration());
            }
            report_nulls(&mut response, tool, &frame);
            response
        }
        Err(Rejection::Context(error)) => builder.fail(error),
        // Boxed, so that a path which few calls take does not make every call's future larger.
        Err(rejection) => {
            Box::pin(run_repaired(builder, text, settings, rejection.refused())).await
        }
    }
}

/// Runs a call in its span. Boxed, so that a span does not make every call's future larger.
#[cold]
fn run_in_span<'a>(
    tool: &'a FunctionTool,
    settings: &'a DispatchSettings,
    arguments: Arguments<'a>,
    ctx: &'a RunContext,
) -> BoxFuture<'a, ToolResponse> {
    let work = async move {
        spans::record_arguments(arguments.text().unwrap_or_default(), None);
        let response = run(|| Ok((tool, settings)), arguments, ctx, false).await;
        spans::record_result(&response, None);
        log_result_size(tool, &response);
        response
    };
    Box::pin(spans::in_call_span(tool, ctx.call_id_shared(), work))
}

/// Logs the size of a result, as answers that outgrow a provider's frame must be found.
fn log_result_size(tool: &FunctionTool, response: &ToolResponse) {
    if !tracing::enabled!(target: CALLS_TARGET, Level::DEBUG) {
        return;
    }
    let meta = response.meta();
    let tool = shorten_name(tool.name());
    let call_id = meta.call_id().map(shorten_name);
    let size_chars = meta.size_chars();
    let bytes = response.data_json().map_or(0, str::len);
    let tokens = meta.token_estimate();
    tracing::debug!(target: CALLS_TARGET, tool, call_id, size_chars, bytes, tokens, "tool call result");
}

/// Takes the slow path: finds the problems, coerces what can be coerced, and starts the tool again.
async fn run_repaired(
    builder: ResponseBuilder<'_>,
    text: &str,
    settings: &DispatchSettings,
    refused: Option<Box<RefusedArguments>>,
) -> ToolResponse {
    let PreparedArguments { text, coerced, .. } =
        match repair(builder.tool, text, refused, settings) {
            Ok(prepared) => prepared,
            Err(problems) => return builder.refuse(&problems),
        };
    let frame = builder.frame(&text, settings, true, None, builder.ctx);
    let mut response = match guarded_tool::start(builder.tool, Invocation(&frame)) {
        Ok(execution) => builder.finish(run_watched(builder, execution).await),
        Err(rejection) => builder.reject(rejection),
    };
    if !coerced.is_empty() {
        response.optional_meta().coerced = coerced.into();
    }
    response
}

/// Runs a tool that was started, and warns if it keeps its thread past its time.
async fn run_watched<'a>(builder: ResponseBuilder<'a>, execution: Execution<'a>) -> ToolResult {
    let time = builder.thread_time();
    let future = match execution {
        Execution::Done(result) => {
            time.check_since(builder.began);
            return result;
        }
        Execution::Pending(future) => future,
    };
    let mut future = guarded_tool::guard(builder.tool, future);
    match future.poll_once().await {
        Poll::Ready(result) => {
            time.check_since(builder.began);
            result
        }
        Poll::Pending => WaitingTool::new(future, time, builder.began).await,
    }
}

/// Coerces arguments without loss until the schema accepts them, or returns every problem.
pub(crate) fn repair(
    tool: &FunctionTool,
    text: &str,
    refused: Option<Box<RefusedArguments>>,
    settings: &DispatchSettings,
) -> Result<PreparedArguments, Vec<Problem>> {
    let compiled = &tool.definition().compiled;
    let coercions = compiled.options.allowed(settings.coercions);
    prepare(
        text,
        refused,
        compiled.validator(),
        settings.argument_bytes,
        coercions,
    )
}

/// Reports the parameters whose `null` was coerced.
#[inline]
pub(crate) fn report_nulls(
    response: &mut ToolResponse,
    tool: &FunctionTool,
    frame: &InvocationFrame<'_>,
) {
    let nulls = frame.nulls.load(Ordering::Relaxed);
    if nulls != 0 {
        add_null_notes(response, tool, nulls);
    }
}

#[cold]
fn add_null_notes(response: &mut ToolResponse, tool: &FunctionTool, nulls: u64) {
    response.optional_meta().coerced =
        CoercionNotes::of_nulls(nulls, tool.definition().compiled.rows);
}

#[cold]
fn not_utf8(at: usize) -> Problem {
    Problem::new(
        "",
        "JSON in UTF-8",
        format!("a byte that is not UTF-8 at offset {at}"),
    )
}

/// A gate that admits no call, for arguments that are decoded and not used.
struct Closed;

impl AdmissionGate for Closed {
    fn admit(&self, _: &str) -> bool {
        false
    }
}

/// The data of a call that its response needs.
#[derive(Clone, Copy)]
pub(crate) struct ResponseBuilder<'a> {
    pub(crate) tool: &'a FunctionTool,
    pub(crate) ctx: &'a RunContext,
    pub(crate) call_id: Option<&'a Arc<str>>,
    pub(crate) began: CallInstant,
    /// The maximum size of a result, before the tool's own `max_output`.
    pub(crate) output_bytes: usize,
}

impl<'a> ResponseBuilder<'a> {
    /// Creates the frame of one start of the tool. `validated` is true where the validator has accepted the text.
    #[inline]
    pub(crate) fn frame(
        self,
        text: &'a str,
        settings: &DispatchSettings,
        validated: bool,
        gate: Option<&'a dyn AdmissionGate>,
        reporting: &'a dyn Reporting,
    ) -> InvocationFrame<'a> {
        let definition = self.tool.definition();
        // A character has at most four bytes, so this cuts nothing that `max_output` allows.
        let max_output = definition
            .max_output()
            .map_or(usize::MAX, |characters| characters.saturating_mul(4));
        InvocationFrame {
            text,
            ctx: self.ctx,
            reporting,
            tool: &definition.compiled,
            coercions: settings.coercions,
            validated,
            output_bytes: max_output.min(settings.output_bytes),
            nulls: AtomicU64::new(0),
            gate,
        }
    }

    /// Returns the time by which the polls of a bare call are checked, which has no other limit than the tool's own.
    fn thread_time(self) -> ThreadTime<'a> {
        let limit = self.tool.definition().timeout();
        ThreadTime {
            tool: self.tool,
            call_id: self.call_id,
            began: self.began,
            limit,
        }
    }

    /// Builds the response for the tool's result.
    #[inline]
    pub(crate) fn finish(self, result: ToolResult) -> ToolResponse {
        let ToolOutput { data, kind, meta } = match result {
            Ok(output) => output,
            Err(error) => return self.fail(error),
        };
        match (data, meta) {
            (Ok(data), None) if self.fits(&data) => self.success(data, kind),
            (data, meta) => self.success_with_meta(ToolOutput { data, kind, meta }),
        }
    }

    #[inline]
    fn fits(self, data: &str) -> bool {
        let max_output = self.tool.definition().max_output();
        max_output.is_none_or(|limit| data.len() <= limit) && data.len() <= self.output_bytes
    }

    #[inline]
    fn success(self, data: Cow<'static, str>, kind: OutputKind) -> ToolResponse {
        if self.may_have_intents() {
            return self.success_with_meta(ToolOutput {
                data: Ok(data),
                kind,
                meta: None,
            });
        }
        ToolResponse {
            result: Ok(data),
            kind,
            meta: self.meta(),
        }
    }

    /// Builds the response of a result that has metadata, or that may be too long.
    #[cold]
    fn success_with_meta(self, output: ToolOutput) -> ToolResponse {
        let ToolOutput { data, kind, meta } = output;
        let mut meta = meta.unwrap_or_default();
        let data = match data {
            Ok(data) => data,
            Err(error) => {
                let mut response = self.fail_after(meta.items_before_error.take(), error);
                if let Some(original) = self.shortened(meta.original.take()) {
                    response.optional_meta().original = Some(original);
                }
                return response;
            }
        };
        let shorter = match &meta.truncated {
            None => self.truncate(&data),
            // The serialiser cut it at a number of bytes that may still be too many characters.
            Some(_) => self
                .tool
                .definition()
                .max_output()
                .and_then(|limit| truncate_again(&data, limit)),
        };
        let data = match shorter {
            Some((shorter, truncated)) => {
                meta.truncated = Some(truncated);
                shorter.into()
            }
            None => data,
        };
        if !meta.content.is_empty() && (meta.truncated.is_some() || self.exceeds(&meta.content)) {
            meta.content.clear();
            meta.warnings.push(
                "the content parts exceed the limit of the result, so it has the data only"
                    .to_owned(),
            );
        }
        meta.original = self.shortened(meta.original.take());
        // A truncated result is an object with a marker, and no longer a list of parts.
        let kind = if meta.truncated.is_some() {
            OutputKind::Data
        } else {
            kind
        };
        let optional = (*meta != OptionalMeta::default()).then_some(meta);
        let mut response = ToolResponse {
            result: Ok(data),
            kind,
            meta: BaseMeta {
                optional,
                ..self.meta()
            },
        };
        self.add_emitted_intents(&mut response);
        response
    }

    /// Shortens a result of another server to the limits of its tool.
    fn shortened(self, original: Option<Original>) -> Option<Original> {
        let mut original = original?;
        original.shorten(self.tool.definition().max_output(), self.output_bytes);
        Some(original)
    }

    fn exceeds(self, parts: &[Content]) -> bool {
        serde_json::to_string(parts).is_ok_and(|parts| self.truncate(&parts).is_some())
    }

    fn truncate(self, data: &str) -> Option<(String, Truncated)> {
        let max_output = self.tool.definition().max_output();
        let by_characters = max_output.and_then(|limit| truncate_characters(data, limit));
        by_characters.or_else(|| truncate_bytes(data, self.output_bytes))
    }

    /// Returns true if the method may have emitted intents. A tool without a context parameter runs on its caller's
    /// context, whose intents are its caller's.
    #[inline]
    fn may_have_intents(self) -> bool {
        self.tool.definition().compiled.uses_context && self.ctx.may_have_intents()
    }

    /// Adds the emitted intents before the returned ones, because they were emitted earlier.
    fn add_emitted_intents(self, response: &mut ToolResponse) {
        if self.may_have_intents() {
            let intents = self.ctx.take_intents();
            if !intents.is_empty() {
                response.optional_meta().intents.splice(0..0, intents);
            }
        }
    }

    /// Builds the response for an error.
    #[cold]
    pub(crate) fn fail(self, error: ToolError) -> ToolResponse {
        let harmless = self.tool.definition().compiled.is_harmless();
        let error = self.tool.scrub(error).into_body(self.tool.name(), harmless);
        let mut response = ToolResponse {
            result: Err(Box::new(error)),
            kind: OutputKind::Data,
            meta: self.meta(),
        };
        self.add_emitted_intents(&mut response);
        response
    }

    /// Builds the response for an error that came after some items of a stream. The model reads them in its message.
    #[cold]
    fn fail_after(self, items: Option<String>, error: ToolError) -> ToolResponse {
        let mut response = self.fail(error);
        let (Some(items), Err(body)) = (items, &mut response.result) else {
            return response;
        };
        let cut = self.truncate(&items);
        body.message.push_str(ITEMS_BEFORE_ERROR);
        body.message
            .push_str(cut.as_ref().map_or(&items, |(shorter, _)| shorter));
        if let Some((_, truncated)) = cut {
            response.optional_meta().truncated = Some(truncated);
        }
        response
    }

    /// Builds the response for refused arguments: VALIDATION, with every problem.
    #[cold]
    pub(crate) fn refuse(self, problems: &[Problem]) -> ToolResponse {
        let mut response = self.fail(self.validation_error(problems));
        response.optional_meta().problems =
            problems.iter().take(problem::LISTED).cloned().collect();
        response
    }

    /// Creates the error of refused arguments: every problem, and an example that is accepted.
    fn validation_error(self, problems: &[Problem]) -> ToolError {
        let definition = self.tool.definition();
        let schema = definition.parameters();
        let name = self.tool.name().escape_debug().to_string();
        // The example is built from keywords alone, so a pattern or a rule between parameters may refuse it, and a type that
        // has refused a value may refuse it too.
        let example = Some(minimal_example(schema, schema))
            .filter(|it| definition.compiled.validator().is_valid(it));
        let is_refused = problems.iter().any(Problem::is_refused);
        let example = example.filter(|it| !is_refused || self.decodes(&it.to_string()));
        ToolError::new(
            ErrorKind::Validation,
            problem::report(&name, problems, example.as_ref()),
            false,
        )
    }

    /// Returns true if arguments that the schema accepts decode into the tool's types.
    fn decodes(self, text: &str) -> bool {
        let settings = DispatchSettings::default();
        let frame = self.frame(text, &settings, true, Some(&Closed), self.ctx);
        matches!(
            guarded_tool::start(self.tool, Invocation(&frame)),
            Err(Rejection::NotAdmitted)
        )
    }

    /// Builds the response for a tool that did not start although the slow path has accepted its arguments.
    pub(crate) fn reject(self, rejection: Rejection) -> ToolResponse {
        match rejection {
            Rejection::Context(error) => self.fail(error),
            // The schema accepts the arguments, but a `Deserialize` implementation has stricter rules.
            Rejection::Arguments(error) => {
                self.refuse(&[Problem::refused(error.path(), error.message())])
            }
            Rejection::Refused(_) => {
                self.fail(ToolError::internal("corrected arguments were refused"))
            }
            Rejection::NotAdmitted => self.fail(ToolError::internal(
                "a call without a gate was not admitted",
            )),
        }
    }

    #[inline]
    fn meta(self) -> BaseMeta {
        BaseMeta {
            tool: self.tool.definition().name.clone(),
            call_id: self.call_id.cloned(),
            duration: self.began.elapsed(),
            optional: None,
        }
    }
}

/// The maximum number of names in the error of an unknown tool.
const MAX_LISTED: usize = 50;

/// Creates the response to a bare call of a tool whose toolset was not set up.
#[cold]
pub(crate) fn not_set_up(tool: &FunctionTool, error: ToolError, ctx: &RunContext) -> ToolResponse {
    ToolResponse::unhandled(
        tool.name(),
        ctx.call_id_shared().cloned(),
        tool.scrub(error),
        CallInstant::now(),
    )
}

/// Creates the response to a call of a tool that is missing because its toolset failed to be set up.
#[cold]
pub(crate) fn left_out(
    tool: &FunctionTool,
    (toolset, error): (&str, &ToolError),
    call_id: Option<&Arc<str>>,
    began: CallInstant,
) -> ToolResponse {
    let (name, toolset, failure) = (
        tool.name().escape_debug(),
        toolset.escape_debug(),
        describe_failure(error),
    );
    let message = format!(
        "`{name}` is not available, as the setup of toolset `{toolset}` failed: {failure}; do without it, or try it in a \
         later session"
    );
    ToolResponse::unhandled(
        tool.name(),
        call_id.cloned(),
        tool.scrub(ToolError::permanent(message)),
        began,
    )
}

/// Creates the response to a call of an unknown tool: `NOT_FOUND`, with the nearest name, the available ones, and a hint after
/// them.
#[cold]
pub(crate) fn unknown_tool<'a>(
    name: &str,
    call_id: Option<&Arc<str>>,
    names: impl Iterator<Item = &'a str>,
    hint: &str,
    began: CallInstant,
) -> ToolResponse {
    let names = names.collect::<Vec<_>>();
    let near = nearest(name, names.iter().copied())
        .map(|near| format!(", did you mean `{near}`?"))
        .unwrap_or_default();
    let listed = names
        .iter()
        .take(MAX_LISTED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    let more = match names.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let available = if names.is_empty() {
        "no tools are available".into()
    } else {
        format!("available tools: {listed}{more}")
    };
    let message = format!(
        "unknown tool `{}`{near}; {available}{hint}",
        shorten_name(name)
    );
    ToolResponse::unhandled(
        name,
        call_id.cloned(),
        ToolError::new(ErrorKind::NotFound, message, false),
        began,
    )
}
