//! Spans as `tracing` sees them, under the names that OpenTelemetry gives, so that log lines nest.

use super::kind::{SpanKind, SpanStatus};
use super::record::End;
use super::scope::Scope;
use super::span::Opening;
use tracing::field::Empty;
use tracing::{Span, info_span};

/// The span of `tracing`, where somebody listens.
pub(super) fn span(opening: &Opening<'_>, parent: Option<&Scope>) -> Option<Box<Span>> {
    if tracing::level_filters::LevelFilter::current() < tracing::Level::INFO {
        return None;
    }
    // The one that stands around it here may be another than the one that is current.
    let _inside = parent.and_then(|parent| parent.log.as_deref()).map(Span::enter);
    // What a model or a host made up is escaped.
    let name = opening.name.escape_debug();
    let span = match opening.kind {
        SpanKind::Agent => info_span!(
            target: "tool_core::trace", "invoke_agent", otel.name = %format_args!("invoke_agent {name}"),
            gen_ai.operation.name = "invoke_agent", gen_ai.agent.name = %name, status = Empty, error.type = Empty
        ),
        SpanKind::Tool => info_span!(
            target: "tool_core::trace", "execute_tool", otel.name = %format_args!("execute_tool {name}"),
            gen_ai.operation.name = "execute_tool", gen_ai.tool.name = %name, gen_ai.tool.type = "function",
            gen_ai.tool.call.id = opening.call_id.map(|id| tracing::field::display(id.escape_debug())),
            status = Empty, error.type = Empty
        ),
        SpanKind::Llm => info_span!(
            target: "tool_core::trace", "chat", otel.name = %format_args!("chat {name}"), otel.kind = "client",
            gen_ai.operation.name = "chat", gen_ai.request.model = %name, status = Empty, error.type = Empty
        ),
        SpanKind::Section => info_span!(
            target: "tool_core::trace", "section", otel.name = %name, status = Empty, error.type = Empty
        ),
        SpanKind::Http => info_span!(
            target: "tool_core::trace", "http", otel.name = %name, otel.kind = "client", status = Empty,
            error.type = Empty
        ),
    };
    (!span.is_disabled()).then(|| Box::new(span))
}

/// Says how it ended.
pub(super) fn ended(scope: &Scope, end: &End) {
    let Some(span) = scope.log.as_deref() else { return };
    span.record("status", end.status.as_str());
    let kind = end.error.as_ref().map_or(end.status.as_str(), |error| error.kind);
    if end.status != SpanStatus::Ok {
        span.record("error.type", kind);
    }
}
