//! The span of a call that is dispatched to a tool, and of a question to a model.

use super::in_span::InSpan;
use super::kind::{SpanKind, SpanStatus};
use super::record::{End, SpanError};
use super::span::{Opening, open};
use crate::response::{ErrorKind, ToolError, ToolResponse};
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

/// How a question ended that was not answered. An internal error's text is for the log alone.
fn failed(error: &ToolError) -> End {
    let kind = error.kind();
    let status = if kind == ErrorKind::Cancelled { SpanStatus::Cancelled } else { SpanStatus::Error };
    let message = (kind != ErrorKind::Internal).then(|| error.message().into());
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
    let error = SpanError { kind: error.kind.as_str(), message: Some(error.message.as_str().into()) };
    End { status, error: Some(Box::new(error)) }
}
