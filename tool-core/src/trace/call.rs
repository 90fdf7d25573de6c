//! The span of a call that is dispatched to a tool, and of a question to a model.

use super::current::current;
use super::in_span::InSpan;
use super::kind::{SpanKind, SpanStatus};
use super::record::{End, SpanError};
use super::span::{Opening, open};
use crate::redact::Redaction;
use crate::response::{ErrorBody, ErrorKind, ToolError, ToolResponse};
use crate::text::truncate;
use crate::tool::FunctionTool;
use std::borrow::Cow;
use std::sync::Arc;

/// Runs `work`, which calls `tool`, in a span where one is to be had. S2
pub(crate) async fn of_call(
    tool: &FunctionTool,
    call_id: Option<&Arc<str>>,
    work: impl Future<Output = ToolResponse>,
) -> ToolResponse {
    let definition = tool.definition();
    let opening = Opening { kind: SpanKind::Tool, name: definition.name.clone(), site: definition.body.site, call_id };
    match open(opening) {
        Some(span) => InSpan::open(span, work, end_of).await,
        None => work.await,
    }
}

/// Runs `work`, which asks `model`.
pub(crate) fn of_question<T, F: Future<Output = Result<T, ToolError>>>(
    model: impl Into<Cow<'static, str>>,
    work: F,
) -> InSpan<F> {
    InSpan::new(SpanKind::Llm, model.into().into(), work, |answer| {
        answer.as_ref().err().map_or_else(End::default, failed)
    })
}

/// What is hidden in this place, as its collector has it.
fn redaction() -> Redaction {
    current().map_or_else(Redaction::new, |scope| scope.trace.collector.redaction().clone())
}

/// How work ended that failed. An internal error's text is for the log alone.
pub(super) fn failed(error: &ToolError) -> End {
    let kind = error.kind();
    let status = if kind == ErrorKind::Cancelled { SpanStatus::Cancelled } else { SpanStatus::Error };
    let message = (kind != ErrorKind::Internal).then(|| redaction().text(error.message()).into());
    End { status, error: Some(Box::new(SpanError { kind: kind.as_str(), message })) }
}

/// How a call ended, by its answer. That a person is asked, or said no, is an answer and not an error. R-C2
fn end_of(response: &ToolResponse) -> End {
    let Some(error) = response.error() else { return End::default() };
    let status = match error.kind {
        ErrorKind::ConfirmationRequired | ErrorKind::Denied => return End::default(),
        ErrorKind::Cancelled => SpanStatus::Cancelled,
        _ => SpanStatus::Error,
    };
    let error = SpanError { kind: error.kind.as_str(), message: Some(message(response, error).into()) };
    End { status, error: Some(Box::new(error)) }
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
