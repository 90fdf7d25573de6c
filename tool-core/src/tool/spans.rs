//! The spans of dispatched calls and of requests to a model.

use crate::call::error::{ErrorBody, ErrorKind, ToolError};
use crate::call::response::ToolResponse;
use crate::text::truncate;
use crate::tool::function::FunctionTool;
use crate::trace::instrumented::Instrumented;
use crate::trace::record::{SpanEnd, SpanError, SpanKind, SpanStatus};
use crate::trace::redaction::Redaction;
use crate::trace::span::{NewSpan, current, open};
use std::borrow::Cow;
use std::sync::Arc;

/// The target of all log lines about calls.
pub(crate) const CALLS_TARGET: &str = "tool_core::calls";

/// The maximum number of argument problems that a span names.
const MAX_PROBLEMS: usize = 10;

/// The maximum length of each problem's pointer, in characters.
const MAX_POINTER_CHARS: usize = 100;

/// The maximum length of arguments and results that a span keeps, in characters.
const MAX_CONTENT_CHARS: usize = 4_000;

/// Runs `work`, which calls `tool`, in a span of the tool.
pub(crate) async fn in_call_span(
    tool: &FunctionTool,
    call_id: Option<&Arc<str>>,
    work: impl Future<Output = ToolResponse>,
) -> ToolResponse {
    let definition = tool.definition();
    let span = open(NewSpan::of_tool(
        definition.name.clone(),
        definition.compiled.site,
        call_id.cloned(),
    ));
    Instrumented::with_span(span, work, end_of_call).await
}

/// Runs `work`, which asks `model`, in a span of the model.
pub(crate) fn in_model_span<T, F: Future<Output = Result<T, ToolError>>>(
    model: impl Into<Cow<'static, str>>,
    work: F,
) -> Instrumented<F> {
    Instrumented::new(NewSpan::new(SpanKind::Llm, model.into()), work, |answer| {
        answer
            .as_ref()
            .err()
            .map_or_else(SpanEnd::default, SpanEnd::from)
    })
}

/// Returns the redaction of the current collector.
fn redaction() -> Redaction {
    current().map_or_else(Redaction::new, |scope| {
        scope.trace.collector.redaction().clone()
    })
}

impl From<&ToolError> for SpanEnd {
    fn from(error: &ToolError) -> Self {
        end_of_error(error.kind(), error.message())
    }
}

impl From<&ErrorBody> for SpanEnd {
    fn from(error: &ErrorBody) -> Self {
        end_of_error(error.kind, &error.message)
    }
}

/// Ends a span as failed or cancelled. The text of an internal error belongs in the log, so it is
/// left out.
fn end_of_error(kind: ErrorKind, message: &str) -> SpanEnd {
    let status = if kind == ErrorKind::Cancelled {
        SpanStatus::Cancelled
    } else {
        SpanStatus::Error
    };
    let message = (kind != ErrorKind::Internal).then(|| redaction().text(message).into());
    SpanEnd {
        status,
        error: Some(Box::new(SpanError {
            kind: kind.as_str(),
            message,
        })),
    }
}

/// Ends the span of a call by its response. A pending approval and a denial are regular outcomes,
/// not errors.
fn end_of_call(response: &ToolResponse) -> SpanEnd {
    let Some(error) = response.error() else {
        return SpanEnd::default();
    };
    let status = match error.kind {
        ErrorKind::ConfirmationRequired | ErrorKind::Denied => return SpanEnd::default(),
        ErrorKind::Cancelled => SpanStatus::Cancelled,
        _ => SpanStatus::Error,
    };
    let error = SpanError {
        kind: error.kind.as_str(),
        message: Some(message(response, error).into()),
    };
    SpanEnd {
        status,
        error: Some(Box::new(error)),
    }
}

/// Returns the span's text for an error. The message of a validation error repeats the arguments,
/// so the span names only the pointers of the problems.
fn message(response: &ToolResponse, error: &ErrorBody) -> String {
    if error.kind != ErrorKind::Validation {
        return redaction().text(error.text());
    }
    let shown = |pointer: &str| {
        format!(
            "`{}`",
            truncate(&redaction().text(pointer), MAX_POINTER_CHARS)
        )
    };
    let pointers = response
        .meta()
        .problems()
        .iter()
        .take(MAX_PROBLEMS)
        .map(|problem| shown(&problem.pointer));
    format!(
        "the arguments do not fit the schema at {}",
        pointers.collect::<Vec<_>>().join(", ")
    )
}

/// Adds the call's arguments to the current span, where the collector keeps content. `also` redacts
/// further texts.
pub(crate) fn record_arguments(text: &str, also: Option<&Redaction>) {
    record_content("gen_ai.tool.call.arguments", text, also);
}

/// Adds the call's result to the current span, where the collector keeps content and there is a
/// result.
pub(crate) fn record_result(response: &ToolResponse, also: Option<&Redaction>) {
    if let Some(data) = response.data_json() {
        record_content("gen_ai.tool.call.result", data, also);
    }
}

fn record_content(name: &'static str, text: &str, also: Option<&Redaction>) {
    let Some(scope) = current().filter(|scope| scope.trace.collector.keeps_content()) else {
        return;
    };
    let redaction = scope.trace.collector.redaction();
    let redaction = also.map_or_else(|| redaction.clone(), |also| redaction.and(also));
    // Redacted before it is cut, so that a cut secret is still recognised.
    let shown = redaction.json_up_to(text, MAX_CONTENT_CHARS);
    scope.change(|own| own.attributes.push((name, shown.into())));
}
