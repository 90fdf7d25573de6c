//! What else is known of a span, in bounds: whoever sends a name or a text decides how long it is.

use super::current::current;
use super::in_span::Inside;
use super::scope::{Scope, Trace};
use super::span::is_wanted;
use crate::text::truncate;
use serde_json::Value;
use std::sync::Arc;

/// The attributes that a span may have.
const MOST: usize = 64;

/// The characters of a value.
const LONGEST: usize = 1_024;

/// Says something of the span that the thread is in.
pub(super) fn attribute(key: &'static str, value: Value) {
    if let Some(scope) = current() {
        add(&scope, key, value);
    }
}

/// Adds an attribute to a span that goes on. A later value takes the place of an earlier one.
pub(super) fn add(scope: &Scope, key: &'static str, value: Value) {
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
pub(super) fn attributed<F: Future>(attributes: Vec<(&'static str, Value)>, work: F) -> Inside<F> {
    // Where no call has a span there is nothing that they could stand on.
    if attributes.is_empty() || !is_wanted() {
        return Inside::here(work);
    }
    let here = current();
    let scope = Scope::place(Trace::at(here.as_ref()), here);
    scope.change(|own| attributes.into_iter().for_each(|(key, value)| put(&mut own.attributes, key, value)));
    scope.gives();
    Inside::new(Arc::new(scope), work)
}

/// What the place in which a span is opened has for it.
pub(super) fn inherit(span: &Scope) {
    let Some(place) = span.parent.as_ref().filter(|parent| parent.has_to_give()) else { return };
    if let Some(attributes) = place.change(|own| own.attributes.clone()) {
        span.change(|own| own.attributes = attributes);
    }
}

#[cfg(test)]
mod tests {
    use crate::ToolError;
    use crate::trace::{self, Collector, SpanHandle, SpanKind, SpanRecord, SpanStatus};
    use serde_json::{Value, json};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn of(span: &SpanRecord) -> Vec<(&'static str, Value)> {
        span.attributes().map(|(key, value)| (key, value.clone())).collect()
    }

    // S1
    #[test]
    fn an_attribute_stands_on_the_span_that_the_thread_is_in_and_the_later_value_counts() {
        let collector = Collector::new();
        collector.run_sync(|| {
            trace::attribute("lost", 0);
            trace::in_scope(SpanKind::Section, "s", || {
                trace::attribute("a", 1);
                trace::in_scope(SpanKind::Section, "t", || trace::attribute("b", "x"));
                trace::attribute("a", 2);
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
            trace::in_scope(SpanKind::Section, "s", || {
                for at in 0..1_000 {
                    trace::attribute(String::leak(format!("k{at}")), "é".repeat(5_000));
                }
                trace::attribute("k0", vec!["é".repeat(5_000)]);
            });
        });
        let spans = collector.report().spans().to_vec();
        let found = spans.iter().flat_map(of).collect::<Vec<_>>();
        assert_eq!(found.len(), super::MOST);
        for (key, value) in found {
            let text = value.as_str().expect("a text");
            assert_eq!(text.chars().count(), super::LONGEST + "...".len(), "{key}");
        }
    }

    // S1
    #[tokio::test]
    async fn what_a_place_gives_goes_to_the_spans_opened_directly_in_it() {
        let collector = Collector::new();
        let inside = async { trace::section("outer", async { trace::section("inner", async {}).await }).await };
        collector.run(trace::agent("a", trace::attributed(vec![("k", 1.into())], inside))).await;
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
