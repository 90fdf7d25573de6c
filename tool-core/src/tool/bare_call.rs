//! The bare call, which no session governs: decode the arguments, run the tool, build the response.
//! Every call has a response.

use crate::arguments::prepare::{PreparedArguments, RefusedArguments, check_length, prepare};
use crate::arguments::problem::Problem;
use crate::call::context::RunContext;
use crate::call::response::{ToolResponse, shorten_name};
use crate::call::tool_call::Arguments;
use crate::time::CallInstant;
use crate::tool::call_settings::CallSettings;
use crate::tool::driver::{ToolCaller, drive};
use crate::tool::function::FunctionTool;
use crate::tool::invocation::{Rejection, ToolResult};
use crate::tool::missing_tool::not_set_up;
use crate::tool::response_builder::ResponseBuilder;
use crate::tool::spans::{self, CALLS_TARGET};
use crate::tool::thread_time::{ThreadTime, WaitingTool};
use crate::trace::span;
use futures_util::future::BoxFuture;
use tracing::Level;

impl FunctionTool {
    /// Calls the tool outside any tool context, with the default limits.
    ///
    /// A method of a toolset with a `#[setup]` needs that setup first. Only a context knows this of
    /// the tools of a
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
        let settings = CallSettings::default();
        call_bare(|| Ok((self, &settings)), arguments, ctx, true).await
    }
}

/// Makes a bare call of the tool that `find` returns, unless `find` answers it. The call has a span
/// of its own if it `opens_span` and spans are wanted.
///
/// Generic, so that a call by name is one future that moves its response once.
pub(crate) async fn call_bare<'t>(
    find: impl FnOnce() -> Result<(&'t FunctionTool, &'t CallSettings), ToolResponse>,
    arguments: Arguments<'_>,
    ctx: &RunContext,
    opens_span: bool,
) -> ToolResponse {
    let (tool, settings) = match find() {
        Ok(found) => found,
        Err(response) => return response,
    };
    if opens_span && span::is_wanted() {
        return call_in_span(tool, settings, arguments, ctx).await;
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
    let call = BareCall(ResponseBuilder {
        tool,
        ctx,
        call_id: ctx.call_id_shared(),
        began,
        output_bytes: settings.output_bytes,
    });
    let text = match arguments.text() {
        Ok(text) => text,
        Err(at) => return call.0.refuse(&[not_utf8(at)]),
    };
    if let Err(problem) = check_length(text, settings.argument_bytes) {
        return call.0.refuse(&[problem]);
    }

    let frame = call.0.frame(text, settings, false, None, ctx);
    match drive(&call, &frame, began).await {
        Ok(mut response) => {
            call.0.report_nulls(&mut response, &frame);
            response
        }
        Err(Rejection::Context(error)) => call.0.fail(error),
        // Boxed, so that a path which few calls take does not make every call's future larger.
        Err(rejection) => Box::pin(call.repair(text, settings, rejection.refused())).await,
    }
}

/// Makes a call in its span. Boxed, so that a span does not make every call's future larger.
#[cold]
fn call_in_span<'a>(
    tool: &'a FunctionTool,
    settings: &'a CallSettings,
    arguments: Arguments<'a>,
    ctx: &'a RunContext,
) -> BoxFuture<'a, ToolResponse> {
    let work = async move {
        spans::record_arguments(arguments.text().unwrap_or_default(), None);
        let response = call_bare(|| Ok((tool, settings)), arguments, ctx, false).await;
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

#[cold]
fn not_utf8(at: usize) -> Problem {
    Problem::new(
        "",
        "JSON in UTF-8",
        format!("a byte that is not UTF-8 at offset {at}"),
    )
}

/// A call outside any session. It does not end at a time limit: if it takes longer than the
/// tool's own, a warning is logged.
pub(crate) struct BareCall<'a>(pub(crate) ResponseBuilder<'a>);

impl ToolCaller for BareCall<'_> {
    #[inline]
    fn responses(&self) -> ResponseBuilder<'_> {
        self.0
    }

    fn thread_time(&self) -> ThreadTime<'_> {
        ThreadTime {
            tool: self.0.tool,
            call_id: self.0.call_id,
            began: self.0.began,
            limit: self.0.tool.definition().timeout(),
        }
    }

    #[inline]
    fn wait<'a>(&'a self, tool: WaitingTool<'a>) -> impl Future<Output = ToolResult> + Send {
        tool
    }
}

impl BareCall<'_> {
    /// Finds the problems of arguments that did not decode, coerces what can be coerced, and starts
    /// the tool again.
    async fn repair(
        self,
        text: &str,
        settings: &CallSettings,
        refused: Option<Box<RefusedArguments>>,
    ) -> ToolResponse {
        let PreparedArguments { text, coerced, .. } =
            match repair_arguments(self.0.tool, text, refused, settings) {
                Ok(prepared) => prepared,
                Err(problems) => return self.0.refuse(&problems),
            };
        let frame = self.0.frame(&text, settings, true, None, self.0.ctx);
        let mut response = match drive(&self, &frame, self.0.began).await {
            Ok(response) => response,
            Err(rejection) => self.0.reject(rejection),
        };
        if !coerced.is_empty() {
            response.optional_meta().coerced = coerced.into();
        }
        response
    }
}

/// Coerces arguments without loss until the schema accepts them, or returns every problem.
pub(crate) fn repair_arguments(
    tool: &FunctionTool,
    text: &str,
    refused: Option<Box<RefusedArguments>>,
    settings: &CallSettings,
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
