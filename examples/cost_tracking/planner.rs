//! The agent: asks a model for calls, and runs them.

use crate::shop::Question;
use serde_json::json;
use std::error::Error;
use tool_adapters::providers::Event;
use tool_adapters::{Provider, protocol};
use tool_core::{Session, ToolCall, ToolResponse, agent};

pub(crate) struct Planner {
    pub(crate) session: Session,
    pub(crate) base_url: String,
}

impl Planner {
    /// The span `agent:planner` is around this body.
    #[agent("planner")]
    pub(crate) async fn answer(&self, question: &str) -> Result<Vec<ToolResponse>, Box<dyn Error>> {
        let calls = self.plan(question).await?;
        // Concurrent calls: two spans under one parent.
        Ok(self.session.call_all(calls).await)
    }

    /// Returns the calls of the model.
    async fn plan(&self, question: &str) -> Result<Vec<ToolCall>, Box<dyn Error>> {
        let body =
            json!({"model": "gpt-5-mini", "messages": [{"role": "user", "content": question}]});
        let url = format!("{}/v1/chat/completions", self.base_url);
        let answer = Question {
            provider: Provider::OpenAiChat,
            model: "gpt-5-mini",
            url,
            body,
        }
        .ask()
        .await?;
        let events = protocol(Provider::OpenAiChat).push(&answer);
        Ok(events
            .into_iter()
            .filter_map(|event| {
                if let Event::Call(call) = event {
                    Some(call)
                } else {
                    None
                }
            })
            .collect())
    }
}
