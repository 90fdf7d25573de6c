//! The tools. One calls a model, the other a service in another process.

use serde::Serialize;
use serde_json::Value;
use tool_adapters::Provider;
use tool_adapters::interop::reqwest::TraceMiddleware;
use tool_adapters::telemetry::observer;
use tool_core::trace::{self, Cost};
use tool_core::{RunContext, ToolError, toolset};

pub(crate) struct Shop {
    pub(crate) providers: String,
    pub(crate) warehouse: String,
}

/// The stock of a product.
#[derive(Serialize, schemars::JsonSchema)]
struct Summary {
    text: String,
}

/// The products of a shop.
#[toolset(name = "shop")]
impl Shop {
    /// Sum up what buyers say of a product.
    #[tool(name = "A", category = "retrieval")]
    async fn reviews(&self, product: &str) -> Result<Summary, ToolError> {
        let body = serde_json::json!({"model": "claude-haiku-4-5", "max_tokens": 512,
            "messages": [{"role": "user", "content": format!("Sum up the reviews of: {product}")}]});
        let url = format!("{}/v1/messages", self.providers);
        let question = Question {
            provider: Provider::Anthropic,
            model: "claude-haiku-4-5",
            url,
            body,
        };
        let answer = question
            .ask()
            .await
            .map_err(|error| ToolError::transient(error.without_url().to_string()))?;
        let answer: Value = serde_json::from_slice(&answer)
            .map_err(|error| ToolError::internal(error.to_string()))?;
        Ok(Summary {
            text: answer["content"][0]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        })
    }

    /// Look up how many pieces of a product are in stock.
    #[tool(name = "B", category = "retrieval")]
    async fn stock(&self, ctx: &RunContext, product: &str, count: u32) -> Result<Value, ToolError> {
        // The request has its own span, and the service continues the trace, as its address is listed.
        let client = TraceMiddleware::new()
            .propagate_to(["127.0.0.1"])
            .client(reqwest::Client::builder());
        let client = client.map_err(|error| ToolError::internal(error.to_string()))?;
        let failed = |error: reqwest_middleware::Error| {
            ToolError::transient(error.without_url().to_string())
        };
        let url = format!("{}/stock?product={product}&count={count}", self.warehouse);
        let answer = client.get(url).send().await.map_err(failed)?;
        // Other services may have a cost too.
        ctx.record_cost("warehouse lookup", Cost::micros(400));
        answer.json().await.map_err(|error| failed(error.into()))
    }
}

/// A model that is called through an ordinary HTTP client.
pub(crate) struct Question {
    pub(crate) provider: Provider,
    pub(crate) model: &'static str,
    pub(crate) url: String,
    pub(crate) body: Value,
}

impl Question {
    /// Calls the model in an llm span, which has the usage of the response.
    pub(crate) async fn ask(self) -> Result<Vec<u8>, reqwest::Error> {
        trace::try_llm(self.model, async move {
            let answer = reqwest::Client::new()
                .post(self.url)
                .json(&self.body)
                .send()
                .await?;
            let bytes = answer.error_for_status()?.bytes().await?.to_vec();
            if let Some(used) = observer::observe_response(self.provider, &bytes) {
                trace::record(used);
            }
            Ok(bytes)
        })
        .await
    }
}
