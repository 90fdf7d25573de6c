//! The model of the service, as the environment chooses it.

use crate::demo_model::DemoModel;
use std::env;
use tool_adapters::Provider;
use tool_adapters::transport::http::HttpModel;
use tool_core::ToolError;
use tool_core::session::{Model, ModelInfo, ModelRequest, ModelStep};
use tool_core::trace::TokenUsage;

/// A model of a provider, or one without a key.
pub(crate) enum ChatModel {
    Demo(DemoModel),
    Http(Box<HttpModel>),
}

impl ChatModel {
    /// Returns a model of OpenAI or Anthropic if the environment has a key, and otherwise one that knows some words.
    pub(crate) fn from_env() -> Self {
        let has_key = |name: &str| env::var(name).is_ok_and(|key| !key.is_empty());
        let name = env::var("CHAT_MODEL").ok();
        let (provider, default_name) = if has_key("OPENAI_API_KEY") {
            (Provider::OpenAiResponses, "gpt-5")
        } else if has_key("ANTHROPIC_API_KEY") {
            (Provider::Anthropic, "claude-sonnet-5")
        } else {
            return Self::Demo(DemoModel);
        };
        let name = name.unwrap_or_else(|| default_name.to_owned());
        Self::Http(Box::new(HttpModel::new(provider, name).max_tokens(4_000)))
    }
}

impl Model for ChatModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        match self {
            Self::Demo(model) => model.step(request).await,
            Self::Http(model) => model.step(request).await,
        }
    }

    fn take_failed_usage(&mut self) -> TokenUsage {
        match self {
            Self::Demo(model) => model.take_failed_usage(),
            Self::Http(model) => model.take_failed_usage(),
        }
    }

    fn about(&self) -> ModelInfo {
        match self {
            Self::Demo(model) => model.about(),
            Self::Http(model) => model.about(),
        }
    }
}
