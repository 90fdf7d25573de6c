//! The forms of the metrics, and their cost.

use super::support::{Answer, ask, request, runtime, serving};
use serde_json::{Value, json};
use tool_adapters::telemetry::prometheus::{self, MetricsRouter};
use tool_core::trace::{self, Collector, Cost, ModelUsage, Pricing, TokenUsage};

async fn get(router: MetricsRouter, path: &str, accept: &str) -> Answer {
    let address = serving(router).await;
    let accept = format!("accept: {accept}");
    ask(
        address,
        &request("GET", path, &["host: localhost", &accept]),
    )
    .await
}

fn json(answer: &Answer) -> Value {
    assert!(
        answer.head.contains("content-type: application/json"),
        "{}",
        answer.head
    );
    serde_json::from_str(&answer.body).expect("JSON")
}

// R-M3
#[tokio::test]
async fn accept_header_selects_text_or_json() {
    let runtime = runtime().await;
    for accept in [
        "*/*",
        "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "text/html",
    ] {
        let answer = get(prometheus::router(&runtime), "/metrics", accept).await;
        assert!(
            answer
                .head
                .contains("content-type: text/plain; version=0.0.4; charset=utf-8"),
            "{}",
            answer.head
        );
        assert!(
            answer.body.contains("tool_calls_total{tool=\"echo\"} 1\n"),
            "{}",
            answer.body
        );
        assert!(
            answer
                .body
                .contains("tool_calls_total{tool=\"unknown\"} 1\n"),
            "{}",
            answer.body
        );
    }
    for (path, accept) in [
        ("/metrics", "application/json"),
        ("/metrics.json", "*/*"),
        ("/metrics.json", "text/plain"),
    ] {
        let answer = get(prometheus::router(&runtime), path, accept).await;
        let document = json(&answer);
        assert_eq!(
            document["responseSizes"]["echo"],
            json!({"p50": 7, "p95": 7, "p99": 7})
        );
        assert_eq!(document["calls"], json!({"echo": 1, "unknown": 1}));
        assert!(document.get("cost").is_none());
        assert!(
            answer.head.contains("cache-control: no-store"),
            "{}",
            answer.head
        );
    }
}

/// A dollar an input token, for the models whose price is known.
struct Prices;

impl Pricing for Prices {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        (used.model != "new").then(|| Cost::micros(used.usage.input * 1_000_000))
    }
}

#[tokio::test]
async fn what_the_spans_of_a_collector_have_cost_stands_beside_it() {
    let collector = Collector::builder().pricing(Prices).build();
    let use_of = |model: &'static str, input| {
        ModelUsage::new(
            model,
            TokenUsage {
                input,
                output: 1,
                ..TokenUsage::default()
            },
        )
    };
    let asking = trace::agent("pl\"an", async {
        trace::record(use_of("big", 2));
        trace::record(use_of("new", 3));
        trace::record_cost("maps", Cost::micros(5));
    });
    collector.run(asking).await;
    collector
        .run(async { trace::record(use_of("big", 1)) })
        .await;
    let runtime = runtime().await;
    let text = get(
        prometheus::router(&runtime).collector(&collector),
        "/metrics",
        "*/*",
    )
    .await
    .body;
    for line in [
        "tool_cost_dollars_total{tracked=\"true\"} 2.000005000000",
        "tool_cost_dollars_total{tracked=\"false\"} 1.000000000000",
        "tool_cost_by_agent_dollars_total{agent=\"pl\\\"an\"} 2.000005000000",
        "tool_cost_by_model_dollars_total{model=\"big\"} 3.000000000000",
        "tool_cost_by_model_dollars_total{model=\"maps\"} 0.000005000000",
        "tool_model_tokens_total{model=\"big\",kind=\"input\"} 3",
        "tool_unpriced_uses_total{model=\"new\"} 1",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    let document = json(
        &get(
            prometheus::router(&runtime).collector(&collector),
            "/metrics.json",
            "*/*",
        )
        .await,
    );
    assert_eq!(document["cost"]["total"]["dollars"], json!(3.000_005));
    assert_eq!(document["cost"]["models"]["big"]["usage"]["input"], 3);
}
