//! What was used, as the many servers count it.

#![allow(clippy::struct_field_names)] // They are the providers'.

use crate::protocol::fields::{Count, Object};
use crate::protocol::openai_responses::Tokens;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default)]
    total_tokens: Count,
    #[serde(default)]
    prompt_tokens_details: Object<Tokens>,
    #[serde(default)]
    completion_tokens_details: Object<Tokens>,
    /// What `DeepSeek` calls the cached ones.
    #[serde(default)]
    prompt_cache_hit_tokens: Count,
    /// What Mistral calls them.
    #[serde(default)]
    num_cached_tokens: Count,
    /// What Moonshot calls them, and Anthropic where it answers as `OpenAI` does.
    #[serde(default)]
    cached_tokens: Count,
    /// What gateways to Anthropic's models call them.
    #[serde(default)]
    cache_read_input_tokens: Count,
    #[serde(default)]
    cache_creation_input_tokens: Count,
    /// Where Perplexity and some others have those of the reasoning.
    #[serde(default)]
    reasoning_tokens: Count,
}

impl Usage {
    pub(super) fn usage(&self) -> tool_core::trace::TokenUsage {
        let none = Tokens::default();
        let read = self.prompt_tokens_details.as_ref().unwrap_or(&none);
        let written = self.completion_tokens_details.as_ref().unwrap_or(&none);
        let cached = [
            read.cached_tokens,
            self.prompt_cache_hit_tokens,
            self.num_cached_tokens,
            self.cached_tokens,
            self.cache_read_input_tokens,
        ];
        let reasoning = written.reasoning_tokens.0.max(self.reasoning_tokens.0);
        tool_core::trace::TokenUsage {
            input: self.prompt_tokens.0,
            cached: cached.map(|count| count.0).into_iter().max().unwrap_or(0),
            cache_written: read.cache_write_tokens.0.max(self.cache_creation_input_tokens.0),
            output: self.output(reasoning),
            reasoning,
        }
    }

    /// What was written. xAI and Perplexity do not count the reasoning among it, which their total shows.
    fn output(&self, reasoning: u64) -> u64 {
        let said = self.completion_tokens.0;
        let with_reasoning = said.saturating_add(reasoning);
        let is_besides = self.total_tokens.0 >= self.prompt_tokens.0.saturating_add(with_reasoning);
        if is_besides { with_reasoning } else { said }
    }
}
