//! Exported histograms.

use crate::otel::Otel;
use crate::otel::tests::SpanRecorder;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::{
    AggregatedMetrics, Histogram, MetricData, ResourceMetrics, ScopeMetrics,
};
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tool_core::trace::{Collector, Cost, ModelUsage, TokenUsage};
use tool_core::{RunContext, ToolContext, ToolError, tool, trace};

/// Looks something up.
#[tool]
async fn look_up(what: String) -> Result<String, ToolError> {
    if what.is_empty() {
        Err(ToolError::transient("busy"))
    } else {
        Ok(what)
    }
}

/// A histogram: its unit, its bucket bounds, and the count and the sum of each series.
#[derive(Clone, Debug, Default)]
struct HistogramRecord {
    unit: String,
    bounds: Vec<f64>,
    series: BTreeMap<String, (u64, f64)>,
}

#[derive(Clone, Default)]
struct MetricsRecorder(Arc<Mutex<BTreeMap<String, HistogramRecord>>>);

impl PushMetricExporter for MetricsRecorder {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let mut seen = self.0.lock();
        for metric in metrics.scope_metrics().flat_map(ScopeMetrics::metrics) {
            let slot = seen.entry(metric.name().to_owned()).or_default();
            slot.unit = metric.unit().to_owned();
            match metric.data() {
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    slot.fill(histogram, |sum| sum);
                }
                #[allow(clippy::cast_precision_loss)] // a few tokens
                AggregatedMetrics::U64(MetricData::Histogram(histogram)) => {
                    slot.fill(histogram, |sum| sum as f64);
                }
                other => panic!("{other:?}"),
            }
        }
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}

impl HistogramRecord {
    fn fill<T: Copy>(&mut self, histogram: &Histogram<T>, as_float: impl Fn(T) -> f64) {
        for point in histogram.data_points() {
            self.bounds = point.bounds().collect();
            let mut labels = point
                .attributes()
                .map(|label| format!("{}={}", label.key, label.value))
                .collect::<Vec<_>>();
            labels.sort();
            self.series
                .insert(labels.join(" "), (point.count(), as_float(point.sum())));
        }
    }
}

// R-M1
#[tokio::test]
async fn records_durations_and_tokens_by_tool_and_model() {
    let metrics = MetricsRecorder::default();
    let otel = Otel::otlp().build_with(SpanRecorder::default(), metrics.clone());
    let collector = Collector::builder().sink(otel.clone()).build();
    let tools = ToolContext::builder().with(look_up).build().expect("tools");
    let ctx = RunContext::detached();
    let ask = || {
        let usage = TokenUsage {
            input: 100,
            output: 7,
            ..TokenUsage::default()
        };
        trace::llm("gpt-5", async move {
            trace::record(ModelUsage::new("gpt-5-1", usage).provider("openai"));
        })
    };
    let work = trace::agent("planner", async {
        tokio::join!(ask(), ask());
        tools.call("look_up", r#"{"what":"a"}"#, &ctx).await;
        tools.call("look_up", r#"{"what":""}"#, &ctx).await;
    });
    collector.run(work).await;
    otel.shutdown().expect("nothing fails");

    let seen = metrics.0.lock().clone();
    let of = |name: &str| {
        seen.get(name)
            .unwrap_or_else(|| panic!("no {name} in {seen:?}"))
    };
    let counts = |name: &str| {
        of(name)
            .series
            .iter()
            .map(|(labels, (count, _))| (labels.as_str(), *count))
            .collect::<Vec<_>>()
    };
    let tool = "gen_ai.execute_tool.duration";
    let model = "gen_ai.client.operation.duration";
    let tokens = "gen_ai.client.token.usage";

    for name in [tool, model] {
        assert_eq!(of(name).unit, "s");
        assert_eq!(
            (
                of(name).bounds.len(),
                of(name).bounds[0],
                of(name).bounds[13]
            ),
            (14, 0.01, 81.92)
        );
        assert!(
            of(name)
                .bounds
                .windows(2)
                .all(|pair| pair[1] / pair[0] > 1.999 && pair[1] / pair[0] < 2.001)
        );
    }
    assert_eq!(
        counts(tool),
        [
            (
                "error.type=TRANSIENT gen_ai.agent.name=planner gen_ai.tool.name=look_up gen_ai.tool.type=function",
                1
            ),
            (
                "gen_ai.agent.name=planner gen_ai.tool.name=look_up gen_ai.tool.type=function",
                1
            ),
        ]
    );
    let of_model = "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=gpt-5 gen_ai.response.model=gpt-5-1";
    assert_eq!(counts(model), [(of_model, 2)]);

    assert_eq!(of(tokens).unit, "{token}");
    assert_eq!(
        (of(tokens).bounds[0], of(tokens).bounds[13]),
        (1.0, 67_108_864.0)
    );
    let input = format!("{of_model} gen_ai.token.type=input");
    let output = format!("{of_model} gen_ai.token.type=output");
    assert_eq!(
        of(tokens).series,
        BTreeMap::from([(input, (2, 200.0)), (output, (2, 14.0))])
    );
}

#[tokio::test]
async fn a_service_that_a_request_paid_for_is_no_model() {
    let metrics = MetricsRecorder::default();
    let otel = Otel::otlp().build_with(SpanRecorder::default(), metrics.clone());
    let collector = Collector::builder().sink(otel.clone()).build();
    let usage = TokenUsage {
        input: 100,
        ..TokenUsage::default()
    };
    let request = trace::llm("gpt-5", async move {
        trace::record(ModelUsage::new("gpt-5-1", usage).provider("openai"));
        trace::record_cost("geocoder", Cost::micros(30));
    });
    collector.run(request).await;
    otel.shutdown().expect("nothing fails");

    let seen = metrics.0.lock().clone();
    let durations = seen
        .get("gen_ai.client.operation.duration")
        .expect("recorded");
    let labels = durations.series.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        labels,
        [
            "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=gpt-5 gen_ai.response.model=gpt-5-1"
        ]
    );
}
