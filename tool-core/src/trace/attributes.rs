//! What else is known of a span, in bounds: whoever sends a name or a text decides how long it is.

use crate::text::truncate;
use crate::trace::instrumented::WithSpan;
use crate::trace::open_span::{OpenSpan, Trace, current};
use crate::trace::record::{SpanEnd, SpanKind, SpanStatus};
use crate::trace::span::{NewSpan, is_wanted};
use serde_json::Value;
use std::sync::Arc;
use tracing::field::Empty;
use tracing::{Span, info_span};

/// The attributes that a span may have.
const MOST: usize = 64;

/// The characters of a value.
const LONGEST: usize = 1_024;

/// Says something of the span that the thread is in.
pub(crate) fn attribute(key: &'static str, value: Value) {
    if let Some(scope) = current() {
        add(&scope, key, value);
    }
}

/// Adds an attribute to a span that goes on. A later value takes the place of an earlier one.
pub(crate) fn add(scope: &OpenSpan, key: &'static str, value: Value) {
    if scope.is_active() {
        scope.change(|own| put(&mut own.attributes, key, value));
    }
}

fn put(attributes: &mut Vec<(&'static str, Value)>, key: &'static str, value: Value) {
    let value = bounded(value);
    if let Some((_, slot)) = attributes.iter_mut().find(|(known, _)| *known == key) {
        *slot = value;
    } else if attributes.len() < MOST {
        attributes.push((key, value));
    }
}

fn bounded(value: Value) -> Value {
    match value {
        Value::String(text) if text.len() > LONGEST => truncate(&text, LONGEST).into(),
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() > LONGEST { truncate(&text, LONGEST).into() } else { value }
        }
        value => value,
    }
}

/// Runs `work` in a place that gives these attributes to the spans which are opened directly in it.
pub(crate) fn attributed<F: Future>(attributes: Vec<(&'static str, Value)>, work: F) -> WithSpan<F> {
    // Where no call has a span there is nothing that they could stand on.
    if attributes.is_empty() || !is_wanted() {
        return WithSpan::here(work);
    }
    let here = current();
    let scope = OpenSpan::place(Trace::at(here.as_ref()), here);
    scope.change(|own| attributes.into_iter().for_each(|(key, value)| put(&mut own.attributes, key, value)));
    scope.gives();
    WithSpan::new(Arc::new(scope), work)
}

/// What the place in which a span is opened has for it.
pub(crate) fn inherit_from(span: &OpenSpan) {
    let Some(place) = span.parent.as_ref().filter(|parent| parent.has_to_give()) else { return };
    if let Some(attributes) = place.change(|own| own.attributes.clone()) {
        span.change(|own| own.attributes = attributes);
    }
}

#[cfg(test)]
mod tests {
    use crate::call::error::ToolError;
    use crate::trace;
    use crate::trace::collector::Collector;
    use crate::trace::record::SpanKind;
    use crate::trace::record::SpanRecord;
    use crate::trace::record::SpanStatus;
    use crate::trace::span::SpanHandle;
    use serde_json::Value;
    use serde_json::json;
    use std::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    fn of(span: &SpanRecord) -> Vec<(&'static str, Value)> {
        span.attributes().map(|(key, value)| (key, value.clone())).collect()
    }

    // S1
    #[test]
    fn an_attribute_stands_on_the_span_that_the_thread_is_in_and_the_later_value_counts() {
        let collector = Collector::new();
        collector.run_sync(|| {
            crate::trace::attribute("lost", 0);
            crate::trace::in_scope(SpanKind::Section, "s", || {
                crate::trace::attribute("a", 1);
                crate::trace::in_scope(SpanKind::Section, "t", || crate::trace::attribute("b", "x"));
                crate::trace::attribute("a", 2);
            });
        });
        let report = collector.report();
        let found = report.spans().iter().map(of).collect::<Vec<_>>();
        assert_eq!(found, [vec![("b", json!("x"))], vec![("a", json!(2))]]);
    }

    // S10
    #[test]
    fn neither_the_number_of_attributes_nor_their_length_is_for_others_to_choose() {
        let collector = Collector::new();
        collector.run_sync(|| {
            crate::trace::in_scope(SpanKind::Section, "s", || {
                for at in 0..1_000 {
                    crate::trace::attribute(String::leak(format!("k{at}")), "é".repeat(5_000));
                }
                crate::trace::attribute("k0", vec!["é".repeat(5_000)]);
            });
        });
        let spans = collector.report().spans().to_vec();
        let found = spans.iter().flat_map(of).collect::<Vec<_>>();
        assert_eq!(found.len(), crate::trace::attributes::MOST);
        for (key, value) in found {
            let text = value.as_str().expect("a text");
            assert_eq!(text.chars().count(), crate::trace::attributes::LONGEST + "...".len(), "{key}");
        }
    }

    // S1
    #[tokio::test]
    async fn what_a_place_gives_goes_to_the_spans_opened_directly_in_it() {
        let collector = Collector::new();
        let inside =
            async { crate::trace::section("outer", async { crate::trace::section("inner", async {}).await }).await };
        collector.run(crate::trace::agent("a", crate::trace::attributed(vec![("k", 1.into())], inside))).await;
        let report = collector.report();
        let found = report.spans().iter().map(|span| (span.label(), of(span))).collect::<Vec<_>>();
        let expected = [("section:inner", vec![]), ("section:outer", vec![("k", json!(1))]), ("agent:a", vec![])];
        assert_eq!(found, expected.map(|(label, attributes)| (label.to_owned(), attributes)));
        let [.., outer, agent] = report.spans() else { panic!("{report:?}") };
        assert_eq!(outer.parent(), Some(agent.span_id()));
    }

    // S1
    #[test]
    fn a_handle_that_is_dropped_is_cancelled_and_one_that_a_panic_drops_says_so() {
        let collector = Collector::new();
        let open = || collector.run_sync(|| SpanHandle::open(SpanKind::Http, "GET host"));
        drop(open());
        open().fail("404");
        open().fail_with(&ToolError::internal("canary"));
        open().end();
        let broken = catch_unwind(AssertUnwindSafe(|| {
            let _held = open();
            panic!("boom")
        }));
        assert!(broken.is_err());
        let spans = collector.report().spans().to_vec();
        let found = spans.iter().map(|span| (span.status(), span.error().map(|error| error.kind)));
        let expected = [
            (SpanStatus::Cancelled, None),
            (SpanStatus::Error, Some("404")),
            (SpanStatus::Error, Some("INTERNAL")),
            (SpanStatus::Ok, None),
            (SpanStatus::Panicked, None),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert!(spans.iter().filter_map(|span| span.error()).all(|error| error.message.is_none()));
    }
}

// ---- Spans as `tracing` sees them, under the names that OpenTelemetry gives, so that log lines nest.

/// The span of `tracing`, where somebody listens.
pub(crate) fn span(new: &NewSpan, call_id: Option<&Arc<str>>, parent: Option<&OpenSpan>) -> Option<Box<Span>> {
    if tracing::level_filters::LevelFilter::current() < tracing::Level::INFO {
        return None;
    }
    // The one that stands around it here may be another than the one that is current.
    let _inside = parent.and_then(|parent| parent.log.as_deref()).map(Span::enter);
    // What a model or a host made up is escaped.
    let name = new.name.escape_debug();
    let span = match new.kind {
        SpanKind::Agent => info_span!(
            target: "tool_core::trace", "invoke_agent", otel.name = %format_args!("invoke_agent {name}"),
            gen_ai.operation.name = "invoke_agent", gen_ai.agent.name = %name, status = Empty, error.type = Empty
        ),
        SpanKind::Tool => info_span!(
            target: "tool_core::trace", "execute_tool", otel.name = %format_args!("execute_tool {name}"),
            gen_ai.operation.name = "execute_tool", gen_ai.tool.name = %name, gen_ai.tool.type = "function",
            gen_ai.tool.call.id = call_id.map(|id| tracing::field::display(id.escape_debug())),
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
pub(crate) fn ended(scope: &OpenSpan, end: &SpanEnd) {
    let Some(span) = scope.log.as_deref() else { return };
    span.record("status", end.status.as_str());
    let kind = end.error.as_ref().map_or(end.status.as_str(), |error| error.kind);
    if end.status != SpanStatus::Ok {
        span.record("error.type", kind);
    }
}
