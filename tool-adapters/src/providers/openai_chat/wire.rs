//! What an answer and its chunks look like.
#![allow(clippy::struct_field_names)] // They are the providers'.

use crate::providers::fields::{Count, Json, Object, Objects, Text};
use crate::providers::openai_responses::wire::Tokens;
use crate::providers::protocol;
use serde::Deserialize;

/// A whole answer, or a chunk of one.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) model: Text<'a>,
    #[serde(borrow)]
    pub(crate) choices: Option<Objects<Choice<'a>>>,
    #[serde(default)]
    pub(crate) usage: Object<Usage>,
    #[serde(default)]
    pub(crate) error: Json<'a>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(default)]
    pub(crate) index: Count,
    /// Of a chunk.
    #[serde(borrow, default)]
    pub(crate) delta: Object<Message<'a>>,
    /// Of a whole answer.
    #[serde(borrow, default)]
    pub(crate) message: Object<Message<'a>>,
    #[serde(borrow, default)]
    pub(crate) finish_reason: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    /// A text, or parts.
    #[serde(borrow, default)]
    pub(crate) content: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) refusal: Text<'a>,
    /// What some servers call it.
    #[serde(borrow, default)]
    pub(crate) reasoning_content: Text<'a>,
    /// What others call it.
    #[serde(borrow, default)]
    pub(crate) reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) audio: Object<Audio<'a>>,
    #[serde(borrow, default)]
    pub(crate) tool_calls: Objects<Entry<'a>>,
    /// The only call, in the form that came before `tool_calls`.
    #[serde(borrow, default)]
    pub(crate) function_call: Object<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Audio<'a> {
    #[serde(borrow, default)]
    pub(crate) transcript: Text<'a>,
}

/// A part of the content.
#[derive(Debug, Deserialize)]
pub(crate) struct Part<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    /// A text, or parts: what Mistral's models think.
    #[serde(borrow, default)]
    pub(crate) thinking: Json<'a>,
}

/// A call, or a piece of one. Cohere's and Ollama's are read here too.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Entry<'a> {
    pub(crate) index: Option<Count>,
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) function: Object<Function<'a>>,
    /// Of a custom tool, whose input is free text.
    #[serde(borrow, default)]
    pub(crate) custom: Object<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Function<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
    /// A text; from some servers an object.
    #[serde(borrow, default)]
    pub(crate) arguments: Json<'a>,
    /// Of a custom tool.
    #[serde(borrow, default)]
    pub(crate) input: Json<'a>,
}

// ---- What was used, as the many servers count it.
//
//

#[derive(Debug, Deserialize)]
pub(crate) struct Usage {
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
    pub(crate) fn usage(&self) -> tool_core::trace::TokenUsage {
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
