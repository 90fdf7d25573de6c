//! Spans that are not wanted, and logs without keys.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{chat, model, session};
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_core::trace;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Prompts a model. Returns whether its answer arrived in a span, and how often its usage was counted.
async fn spans_of(answered: &str, name: Option<&'static str>) -> (bool, usize) {
    let script = text(Provider::Anthropic, "Hello")
        .replace(r#""model":"m""#, &format!(r#""model":"{answered}""#));
    assert!(script.contains(answered), "{script}");
    let server = Server::start([Answer::events(&script)]).await;
    let seen = Arc::<Mutex<Vec<bool>>>::default();
    let shown = Arc::clone(&seen);
    let model = model(Provider::Anthropic, &server).on_event(move |_| {
        shown
            .lock()
            .expect("not poisoned")
            .push(!trace::export().is_empty());
    });
    let mut agent = AgentLoop::new(session().await.0, model);
    if let Some(name) = name {
        agent = agent.named(name);
    }
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));
    let seen = seen.lock().expect("not poisoned");
    assert!(
        !seen.is_empty() && seen.iter().all(|one| *one == seen[0]),
        "{seen:?}"
    );
    // Other tests use other models in the process's collector.
    let uses = trace::report()
        .totals()
        .models
        .iter()
        .filter(|(model, _)| model.contains(answered))
        .count();
    (seen[0], uses)
}

// S12
#[tokio::test]
async fn opens_no_spans_for_an_unnamed_agent_by_default() {
    assert_eq!(spans_of("unasked-1", None).await, (false, 0));
}

// S1
#[tokio::test]
async fn opens_spans_for_a_named_agent_or_inside_a_span() {
    assert_eq!(spans_of("unasked-2", Some("clerk")).await, (true, 1));
    assert_eq!(
        trace::section("around", spans_of("unasked-3", None)).await,
        (true, 1)
    );
}

/// The warnings and errors of a thread.
#[derive(Clone, Default)]
struct WarningLog(Arc<Mutex<String>>);

impl Visit for WarningLog {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0.lock().expect("not poisoned"), "{field}={value:?} ").expect("written");
    }
}

impl Subscriber for WarningLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= LevelFilter::WARN
    }

    // At INFO other tests would open spans.
    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

// T1
#[tokio::test]
async fn logs_the_error_of_a_stream_without_keys() {
    let error = r#"{"message": "Incorrect API key provided: sk-canary. Was xai-canary0123456789?", "code": "authentication_error"}"#;
    let server =
        Server::start([Answer::events(&format!("data: {{\"error\": {error}}}\n\n"))]).await;
    let log = WarningLog::default();
    // With one subscriber only, tracing asks the thread that reaches a callsite first. A thread without a subscriber
    // would disable the callsite for good.
    let _second = Dispatch::new(WarningLog::default());
    let _listening = tracing::subscriber::set_default(log.clone());
    let (mut agent, _) = chat(&server).await;
    assert!(agent.prompt("Hi").await.error.is_some());
    let log = log.0.lock().expect("not poisoned");
    assert!(
        log.contains("Incorrect API key provided: [key]") && !log.contains("canary"),
        "{log}"
    );
}
