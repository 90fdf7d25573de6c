//! A span of ours as the SDK hands it to its exporters: with our ids.

use super::attributes::{self, error_type};
use crate::plain::plain;
use opentelemetry::InstrumentationScope;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind as Kind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use std::borrow::Cow;
use tool_core::trace::{ParentSpan, SpanKind, SpanRecord};

/// With arguments and results only where `content` is to be sent.
pub(super) fn of(span: &SpanRecord, around: &ParentSpan<'_>, content: bool, scope: &InstrumentationScope) -> SpanData {
    let start_time = span.started();
    SpanData {
        span_context: context(span),
        parent_span_id: span.parent().map_or(SpanId::INVALID, |id| SpanId::from_bytes(id.to_bytes())),
        parent_span_is_remote: span.is_parent_remote(),
        span_kind: kind(span.kind()),
        name: name(span),
        start_time,
        end_time: start_time + span.duration(),
        attributes: attributes::of_span(span, around, content),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: status(span),
        instrumentation_scope: scope.clone(),
    }
}

fn context(span: &SpanRecord) -> SpanContext {
    // Ours holds what W3C Trace Context allows, so the SDK takes it.
    let state = span.tracestate().and_then(|state| state.parse().ok()).unwrap_or(TraceState::NONE);
    let trace = TraceId::from_bytes(span.trace_id().to_bytes());
    // What is exported is sampled; the processor drops the others.
    SpanContext::new(trace, SpanId::from_bytes(span.span_id().to_bytes()), TraceFlags::SAMPLED, false, state)
}

fn kind(kind: SpanKind) -> Kind {
    match kind {
        SpanKind::Llm | SpanKind::Http => Kind::Client,
        _ => Kind::Internal,
    }
}

fn name(span: &SpanRecord) -> Cow<'static, str> {
    let name = plain(span.name());
    let named = match span.kind() {
        SpanKind::Agent => format!("invoke_agent {name}"),
        SpanKind::Tool => format!("execute_tool {name}"),
        SpanKind::Llm => format!("chat {name}"),
        _ => name.into_owned(),
    };
    Cow::Owned(named)
}

/// Nothing is said of a span that ended well, as the conventions have it.
fn status(span: &SpanRecord) -> Status {
    let message = span.error().and_then(|error| error.message.as_deref());
    match error_type(span) {
        None => Status::Unset,
        Some(kind) => Status::error(plain(message.unwrap_or(kind)).into_owned()),
    }
}
