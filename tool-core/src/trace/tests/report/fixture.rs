//! Reports of spans with fixed ids and times.

use crate::trace::collector::Collector;
use crate::trace::cost::{Cost, CostEntry};
use crate::trace::ids::{SpanId, TraceId};
use crate::trace::propagation::DistributedContext;
use crate::trace::record::{SpanDetails, SpanError, SpanKind, SpanRecord, SpanStatus};
use crate::trace::report::tree::Report;
use crate::trace::span::{OpenSpan, TraceContext};
use crate::trace::usage::ModelUsage;
use crate::trace::usage::TokenUsage;
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) const MICRO: u64 = 1_000;

/// Spans with fixed ids and times.
pub(crate) struct Fixture {
    trace: Arc<TraceContext>,
    report: Report,
}

pub(crate) fn id(number: u64) -> SpanId {
    SpanId(NonZeroU64::new(number).expect("not 0"))
}

/// Opens a span.
pub(crate) fn open(
    fixture: &Fixture,
    parent: Option<&Arc<OpenSpan>>,
    number: u64,
    label: &str,
    from: u64,
) -> Arc<OpenSpan> {
    let (kind, name) = label.split_once(':').expect("kind:name");
    let kinds = [
        SpanKind::Agent,
        SpanKind::Tool,
        SpanKind::Llm,
        SpanKind::Section,
        SpanKind::Http,
    ];
    let kind = kinds.into_iter().find(|known| known.as_str() == kind);
    let mut span = OpenSpan::new(
        Arc::clone(&fixture.trace),
        parent.cloned(),
        Some(kind.expect("a kind")),
        name.into(),
    );
    (span.id, span.start) = (Some(id(number)), from * MICRO);
    Arc::new(span)
}

/// Creates the anchor of a span of another process.
pub(crate) fn remote(fixture: &Fixture, number: u64) -> Arc<OpenSpan> {
    let mut span = OpenSpan::anchor(Arc::clone(&fixture.trace), None);
    span.id = Some(id(number));
    Arc::new(span)
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let trace = TraceContext {
            id: NonZeroU128::new(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736).map(TraceId),
            baggage: Arc::new(
                DistributedContext::new()
                    .run_id("run-7")
                    .customer_id("acme"),
            ),
            collector: Collector::new(),
        };
        let epoch = jiff::Timestamp::UNIX_EPOCH + Duration::from_secs(490_896 * 3_600);
        Self {
            trace: Arc::new(trace),
            report: Report {
                epoch,
                ..Report::default()
            },
        }
    }

    /// Ends a span after `took` microseconds.
    pub(crate) fn end(
        &mut self,
        span: &Arc<OpenSpan>,
        took: u64,
        status: SpanStatus,
        costs: Vec<CostEntry>,
    ) {
        let details = (!costs.is_empty()).then(|| {
            Arc::new(SpanDetails {
                costs,
                ..SpanDetails::default()
            })
        });
        let record = span.close(status.into(), None).expect("a span");
        let record = SpanRecord {
            nanos: took * MICRO,
            details,
            ..record
        };
        self.report.totals.add(&record, &span.surroundings());
        self.report.spans.push(record);
    }

    /// Ends a span with the attributes that were set.
    pub(crate) fn ends(&mut self, span: &Arc<OpenSpan>, status: SpanStatus) {
        self.report
            .spans
            .push(span.close(status.into(), None).expect("a span"));
    }

    /// Makes the span that ended last a failed one.
    pub(crate) fn failed(&mut self, kind: &'static str, message: &str) {
        let span = self.report.spans.last_mut().expect("a span");
        (span.status, span.call_id) = (SpanStatus::Error, Some("call_2".into()));
        span.error = Some(Box::new(SpanError {
            kind,
            message: Some(message.into()),
        }));
    }

    /// Adds a running span.
    pub(crate) fn runs(&mut self, span: &Arc<OpenSpan>, so_far: u64) {
        let record = SpanRecord {
            nanos: so_far * MICRO,
            ..span.snapshot().expect("a span")
        };
        self.report.running.push(record);
    }

    /// Drops the oldest spans.
    pub(crate) fn drop(&mut self, spans: usize) {
        self.report.spans.drain(..spans);
        self.report.dropped += spans as u64;
    }

    pub(crate) fn report(self) -> Report {
        Report {
            nodes: OnceLock::new(),
            ..self.report
        }
    }
}

pub(crate) fn used(
    model: &'static str,
    id: &str,
    usage: TokenUsage,
    cost: Option<Cost>,
) -> CostEntry {
    let used = ModelUsage::new(model, usage)
        .provider("openai")
        .response_id(id)
        .tool_call("call_1", "A");
    CostEntry::new(used, cost, false)
}

pub(crate) fn paid(service: &'static str, cost: Cost) -> CostEntry {
    CostEntry::new(
        ModelUsage::new(service, TokenUsage::default()),
        Some(cost),
        false,
    )
}

/// Makes a report of `agent:planner > llm, tool:A > llm, tool:B > http` with failures.
pub(crate) fn planner() -> Report {
    let mut fixture = Fixture::new();
    let agent = open(&fixture, None, 1, "agent:planner", 0);
    let llm = open(&fixture, Some(&agent), 2, "llm:gpt-5-mini", 1_000);
    let asked = TokenUsage {
        input: 1_200,
        cached: 800,
        output: 80,
        reasoning: 25,
        ..TokenUsage::default()
    };
    fixture.end(
        &llm,
        412_345,
        SpanStatus::Ok,
        vec![used(
            "gpt-5-mini",
            "resp_1",
            asked,
            Some(Cost::pico(185_100_000)),
        )],
    );
    let first = open(&fixture, Some(&agent), 3, "tool:A", 420_000);
    let second = open(&fixture, Some(&agent), 4, "tool:B", 420_500);
    let http = open(&fixture, Some(&second), 5, "http:GET example.com", 421_000);
    fixture.end(&http, 80_000, SpanStatus::Cancelled, Vec::new());
    fixture.end(
        &second,
        90_000,
        SpanStatus::Error,
        vec![paid("geocoder", Cost::micros(5_000))],
    );
    fixture.failed(
        "TIMEOUT",
        "took longer than 90 ms <script>alert(1)</script>",
    );
    let inner = open(&fixture, Some(&first), 6, "llm:local", 430_000);
    let free = TokenUsage {
        input: 300,
        output: 12,
        ..TokenUsage::default()
    };
    fixture.end(
        &inner,
        200_000,
        SpanStatus::Ok,
        vec![used("local", "resp_2", free, None)],
    );
    fixture.end(&first, 500_000, SpanStatus::Ok, Vec::new());
    fixture.end(&agent, 1_000_000, SpanStatus::Ok, Vec::new());
    let alone = open(&fixture, None, 7, "http:POST other", 1_100_000);
    fixture.end(
        &alone,
        50_000,
        SpanStatus::Panicked,
        vec![paid("search", Cost::micros(2_500_000))],
    );
    fixture.report()
}

/// Makes a report with a running agent, a remote parent, dropped spans and malicious names.
pub(crate) fn hostile() -> Report {
    let mut fixture = Fixture::new();
    let before = open(&fixture, None, 1, "agent:forgotten", 0);
    let task = open(&fixture, Some(&before), 2, "tool:late", 10);
    fixture.end(
        &before,
        20,
        SpanStatus::Ok,
        vec![paid("lost", Cost::micros(1))],
    );
    fixture.end(
        &task,
        5_000,
        SpanStatus::Ok,
        vec![paid("kept", Cost::micros(2))],
    );
    let far = remote(&fixture, 0xfa);
    let here = open(
        &fixture,
        Some(&far),
        3,
        "agent:<script>document.title='owned'</script>",
        100,
    );
    let llm = open(
        &fixture,
        Some(&here),
        4,
        "llm:\"><img src=x onerror=alert(1)>",
        200,
    );
    fixture.end(
        &llm,
        700,
        SpanStatus::Ok,
        vec![paid("x\u{202e}gpj.exe", Cost::pico(1))],
    );
    let elsewhere = open(&fixture, Some(&far), 5, "agent:elsewhere", 150);
    let section = open(
        &fixture,
        Some(&elsewhere),
        6,
        "section:a\u{1b}[2J\u{7}\r\nb > c, d",
        160,
    );
    fixture.end(&section, 10, SpanStatus::Ok, Vec::new());
    fixture.runs(&here, 1_900);
    fixture.drop(1);
    fixture.report()
}
