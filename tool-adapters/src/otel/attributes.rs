//! What is said of a span.

use super::names;
use crate::plain::plain;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use tool_core::trace::{CostEntry, ParentSpan, SpanKind, SpanRecord, SpanStatus, TokenUsage};

/// Attributes in the order in which they came; a later one takes the place of an earlier one of the same name.
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    fn put(&mut self, key: &'static str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|known| known.key.as_str() == key) {
            Some(known) => known.value = value,
            None => self.0.push(KeyValue::new(key, value)),
        }
    }

    fn text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.put(key, plain(text).into_owned());
        }
    }

    fn count(&mut self, key: &'static str, count: u64) {
        self.put(key, i64::try_from(count).unwrap_or(i64::MAX));
    }
}

/// What went wrong, one of few; `None` where nothing did.
pub(super) fn error_type(span: &SpanRecord) -> Option<&'static str> {
    let kind = span.error().map(|error| error.kind);
    match span.status() {
        SpanStatus::Ok => None,
        SpanStatus::Error => Some(kind.unwrap_or(names::OTHER)),
        status => Some(status.as_str()),
    }
}

/// What a model used, the latest; of what is no model there is none.
fn latest(span: &SpanRecord) -> Option<&CostEntry> {
    span.spent().iter().rev().find(|spent| !spent.used.usage.is_empty() || spent.used.response_id.is_some())
}

/// The provider of a question's model: as it was told with the use, or when it was asked.
pub(super) fn provider(span: &SpanRecord, spent: Option<&CostEntry>) -> String {
    let asked = || span.attributes().find(|(key, _)| *key == names::PROVIDER).and_then(|(_, value)| value.as_str());
    let told = spent.and_then(|spent| spent.used.provider.as_deref());
    plain(told.or_else(asked).map_or(names::OTHER, names::provider)).into_owned()
}

/// All attributes of a span.
pub(super) fn of_span(span: &SpanRecord, around: &ParentSpan<'_>, content: bool) -> Vec<KeyValue> {
    let mut attributes = Attributes(Vec::with_capacity(12));
    of_kind(span, around, &mut attributes);
    for (key, value) in span.attributes() {
        if (content || !names::CONTENT.contains(&key))
            && let Some(value) = value_of(value)
        {
            attributes.put(key, value);
        }
    }
    if span.kind() == SpanKind::Llm {
        of_answer(span, &mut attributes);
    }
    of_spending(span, &mut attributes);
    attributes.text(names::ERROR, error_type(span));
    attributes.text(names::RUN, span.run_id());
    attributes.text(names::CUSTOMER, span.customer_id());
    attributes.0
}

fn of_kind(span: &SpanRecord, around: &ParentSpan<'_>, attributes: &mut Attributes) {
    match span.kind() {
        SpanKind::Agent => {
            attributes.put(names::OPERATION, "invoke_agent");
            attributes.text(names::AGENT, Some(span.name()));
        }
        SpanKind::Tool => {
            attributes.put(names::OPERATION, "execute_tool");
            attributes.text(names::TOOL, Some(span.name()));
            attributes.put(names::TOOL_TYPE, "function");
            attributes.text(names::CALL_ID, span.call_id());
            attributes.text(names::AGENT, around.agent());
        }
        SpanKind::Llm => {
            attributes.put(names::OPERATION, "chat");
            attributes.text(names::REQUEST_MODEL, Some(span.name()));
            attributes.text(names::AGENT, around.agent());
        }
        _ => {}
    }
}

fn of_answer(span: &SpanRecord, attributes: &mut Attributes) {
    let answer = latest(span);
    attributes.put(names::PROVIDER, provider(span, answer));
    let Some(used) = answer.map(|spent| &spent.used) else { return };
    attributes.text(names::RESPONSE_MODEL, Some(&used.model));
    attributes.text(names::RESPONSE_ID, used.response_id.as_deref());
    if !used.tool_calls.is_empty() {
        let names = used.tool_calls.iter().map(|(_, tool)| StringValue::from(plain(tool).into_owned()));
        attributes.put(names::TOOL_CALLS, Value::Array(Array::String(names.collect())));
    }
}

/// What was used and spent in the span itself: each token and each cent stands on one span.
fn of_spending(span: &SpanRecord, attributes: &mut Attributes) {
    let usage = span.spent().iter().fold(TokenUsage::default(), |sum, spent| sum + spent.used.usage);
    if !usage.is_empty() {
        attributes.count(names::INPUT_TOKENS, usage.input);
        attributes.count(names::OUTPUT_TOKENS, usage.output);
        // Providers mostly say nothing of these where there are none.
        for (key, tokens) in [
            (names::CACHE_READ, usage.cached),
            (names::CACHE_WRITE, usage.cache_written),
            (names::REASONING, usage.reasoning),
        ] {
            if tokens > 0 {
                attributes.count(key, tokens);
            }
        }
    }
    if span.spent().iter().any(|spent| spent.cost.is_some()) {
        attributes.put(names::COST, span.own_cost().dollars());
    }
}

/// A value as OpenTelemetry has it: what has no type of its own is JSON text.
fn value_of(value: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    let texts = |items: &[Json]| {
        let text = |item: &Json| item.as_str().map(|text| StringValue::from(plain(text).into_owned()));
        items.iter().map(text).collect::<Option<Vec<_>>>()
    };
    Some(match value {
        Json::Null => return None,
        Json::Bool(value) => (*value).into(),
        Json::String(text) => plain(text).into_owned().into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Json::Array(items) => match texts(items) {
            Some(texts) => Value::Array(Array::String(texts)),
            None => value.to_string().into(),
        },
        Json::Object(_) => value.to_string().into(),
    })
}
