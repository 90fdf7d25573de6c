//! The members of an answer and its chunks that are read.
#![allow(clippy::struct_field_names)] // The names are the providers'.

use crate::providers::lenient::{LenientCount, LenientObject, LenientObjects, LenientText, RawJson};
use crate::providers::openai_responses::wire::TokenDetails;
use serde::Deserialize;
use tool_core::trace::TokenUsage;

/// A whole answer or a chunk of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ChatAnswer<'a> {
    pub(crate) id: LenientText<'a>,
    pub(crate) model: LenientText<'a>,
    pub(crate) choices: Option<LenientObjects<Choice<'a>>>,
    pub(crate) usage: LenientObject<ChatUsage>,
    pub(crate) error: RawJson<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Choice<'a> {
    pub(crate) index: LenientCount,
    /// The message of a chunk.
    pub(crate) delta: LenientObject<ChatMessage<'a>>,
    /// The message of a whole answer.
    pub(crate) message: LenientObject<ChatMessage<'a>>,
    pub(crate) finish_reason: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ChatMessage<'a> {
    /// A text or parts.
    pub(crate) content: RawJson<'a>,
    pub(crate) refusal: LenientText<'a>,
    /// The reasoning by the name of some servers.
    pub(crate) reasoning_content: LenientText<'a>,
    /// The reasoning by the name of others.
    pub(crate) reasoning: LenientText<'a>,
    pub(crate) audio: LenientObject<ChatAudio<'a>>,
    pub(crate) tool_calls: LenientObjects<CallEntry<'a>>,
    /// The only call, in the form before `tool_calls`.
    pub(crate) function_call: LenientObject<CalledFunction<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ChatAudio<'a> {
    pub(crate) transcript: LenientText<'a>,
}

/// A part of the content.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ContentPart<'a> {
    pub(crate) text: LenientText<'a>,
    /// The reasoning of Mistral's models: a text or parts.
    pub(crate) thinking: RawJson<'a>,
}

/// A call or a piece of one. Cohere's and Ollama's are read with it too.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct CallEntry<'a> {
    pub(crate) index: Option<LenientCount>,
    pub(crate) id: LenientText<'a>,
    pub(crate) function: LenientObject<CalledFunction<'a>>,
    /// The call of a custom tool, whose input is free text.
    pub(crate) custom: LenientObject<CalledFunction<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct CalledFunction<'a> {
    pub(crate) name: LenientText<'a>,
    /// A text; an object from some servers.
    pub(crate) arguments: RawJson<'a>,
    /// The input of a custom tool.
    pub(crate) input: RawJson<'a>,
}

/// The tokens used, by the names of many servers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChatUsage {
    prompt_tokens: LenientCount,
    completion_tokens: LenientCount,
    total_tokens: LenientCount,
    prompt_tokens_details: LenientObject<TokenDetails>,
    completion_tokens_details: LenientObject<TokenDetails>,
    /// The cached tokens of `DeepSeek`.
    prompt_cache_hit_tokens: LenientCount,
    /// The cached tokens of Mistral.
    num_cached_tokens: LenientCount,
    /// The cached tokens of Moonshot, and of Anthropic's compatible endpoint.
    cached_tokens: LenientCount,
    /// The cached tokens of gateways to Anthropic's models.
    cache_read_input_tokens: LenientCount,
    cache_creation_input_tokens: LenientCount,
    /// The reasoning tokens of Perplexity and some others.
    reasoning_tokens: LenientCount,
}

impl ChatUsage {
    pub(crate) fn usage(&self) -> TokenUsage {
        let none = TokenDetails::default();
        let input = self.prompt_tokens_details.as_ref().unwrap_or(&none);
        let output = self.completion_tokens_details.as_ref().unwrap_or(&none);
        let cached = [
            input.cached_tokens,
            self.prompt_cache_hit_tokens,
            self.num_cached_tokens,
            self.cached_tokens,
            self.cache_read_input_tokens,
        ];
        let reasoning = output.reasoning_tokens.0.max(self.reasoning_tokens.0);
        TokenUsage {
            input: self.prompt_tokens.0,
            cached: cached.map(|count| count.0).into_iter().max().unwrap_or(0),
            cache_written: input.cache_write_tokens.0.max(self.cache_creation_input_tokens.0),
            output: self.output(reasoning),
            reasoning,
        }
    }

    /// Returns the output tokens with the reasoning. xAI and Perplexity leave the reasoning out of their count, which the
    /// total shows.
    fn output(&self, reasoning: u64) -> u64 {
        let completion = self.completion_tokens.0;
        let with_reasoning = completion.saturating_add(reasoning);
        let is_apart = self.total_tokens.0 >= self.prompt_tokens.0.saturating_add(with_reasoning);
        if is_apart { with_reasoning } else { completion }
    }
}
