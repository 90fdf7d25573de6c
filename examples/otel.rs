//! Spans and metrics to OpenTelemetry: an agent that calls a model, two tools, and a second process in the same trace.
//!
//! `OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 cargo run --example otel --features otel` sends them there, and prints the ids of
//! each part. With `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true` the spans contain redacted arguments and
//! results of calls.

use serde_json::json;
use std::error::Error;
use std::process::{Command, Stdio};
use std::time::Duration;
use tool_adapters::telemetry::otel::Otel;
use tool_core::trace::{self, Collector, Cost, DistributedContext, ModelUsage, TokenUsage};
use tool_core::{Mode, Policy, Runtime, ToolCall, ToolContext, ToolError, agent, tool};

/// Prints the ids under which the enclosing span is exported.
fn told(span: &str) {
    println!("{}", json!({"span": span, "context": trace::export()}));
}

/// Calls a model, whose answer is recorded.
async fn ask(model: &'static str, answer: ModelUsage) {
    let asking = async {
        told(&format!("chat {model}"));
        trace::record(answer.provider("openai"));
    };
    trace::llm(model, asking).await;
}

/// Finds products. `token` is the shop's own.
#[tool]
async fn search(query: String, token: String) -> Vec<String> {
    told("execute_tool search");
    let usage = TokenUsage {
        input: 60,
        output: 12,
        ..TokenUsage::default()
    };
    ask(
        "gpt-5-nano",
        ModelUsage::new("gpt-5-nano", usage).response_id("resp_2"),
    )
    .await;
    // The name of the argument marks the secret, which is redacted.
    if token.is_empty() {
        Vec::new()
    } else {
        vec![format!("{query} 3000")]
    }
}

/// Looks how many are in stock: another process knows.
#[tool]
async fn stock(product: String) -> Result<String, ToolError> {
    told("execute_tool stock");
    let request = async {
        told("GET stock");
        trace::attribute("http.request.method", "GET");
        // The headers of a request are environment variables here, with the same names.
        let headers = trace::export()
            .to_pairs()
            .into_iter()
            .map(|(name, value)| (name.to_uppercase(), value));
        let service = std::env::current_exe().map(Command::new);
        let answer = service.and_then(|mut service| {
            service
                .args(["stock", &product])
                .envs(headers)
                .stdout(Stdio::piped())
                .output()
        });
        answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned())
    };
    let told = trace::try_http("GET stock", request)
        .await
        .map_err(|_| ToolError::transient("the stock is not known"))?;
    print!("{told}");
    Ok("twelve".to_owned())
}

/// Pays an order back.
#[tool]
async fn refund(order: u32) -> Result<(), ToolError> {
    told("execute_tool refund");
    Err(ToolError::permanent(format!("there is no order {order}")))
}

#[agent("planner")]
async fn plan() -> Result<(), Box<dyn Error>> {
    told("invoke_agent planner");
    let tools = ToolContext::builder()
        .with(search)
        .with(stock)
        .with(refund)
        .build()?;
    let session = Runtime::builder(tools)
        .policy(Policy::text())
        .build()?
        .session("s-1", Mode::Text)
        .await?;
    let usage = TokenUsage {
        input: 900,
        cached: 600,
        cache_written: 100,
        output: 80,
        reasoning: 50,
        ..TokenUsage::default()
    };
    let answer = ModelUsage::new("gpt-5-mini-2025-08-07", usage)
        .response_id("resp_1")
        .tool_call("call_1", "search");
    ask("gpt-5-mini", answer).await;
    let call = |id: &str, name: &str, arguments| ToolCall::new(id, name, arguments);
    let calls = vec![
        call(
            "call_1",
            "search",
            json!({"query": "kettle", "token": "canary-5f2c"}),
        ),
        call("call_2", "stock", json!({"product": "kettle"})),
        call("call_3", "refund", json!({"order": 7})),
    ];
    session.call_all(calls).await;
    // This call is dropped before its end.
    let late = trace::section("late", async {
        told("late");
        std::future::pending::<()>().await;
    });
    tokio::time::timeout(Duration::from_millis(20), late)
        .await
        .unwrap_or_default();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let otel = Otel::otlp().build()?;
    Collector::builder()
        .sink(otel.clone())
        .content(Otel::captures_content())
        .build()
        .install();
    let tokio = tokio::runtime::Runtime::new()?;
    if std::env::args().nth(1).as_deref() == Some("stock") {
        // The parent process is trusted to set the customer.
        let context = DistributedContext::from_trusted_pairs(std::env::vars());
        let look_up = async {
            told("invoke_agent stock");
            trace::record_cost("shelf scan", Cost::micros(150));
        };
        tokio.block_on(trace::import(context, trace::agent("stock", look_up)));
    } else {
        let whose = DistributedContext::new()
            .run_id("run-1")
            .customer_id("acme");
        tokio.block_on(trace::import(whose, plan()))?;
    }
    // Displayed, as `main` would print the error with `Debug`.
    if let Err(error) = otel.shutdown() {
        eprintln!("{error}");
        std::process::exit(1);
    }
    Ok(())
}
