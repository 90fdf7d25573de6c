//! Tokens, and what one response of a model used.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::ops::{Add, AddAssign};

/// The tokens that a model read and wrote, as its provider counts them.
///
/// `input` and `output` are the totals. The other members count tokens that are part of a total.
///
/// ```
/// use tool_core::trace::TokenUsage;
///
/// let step = TokenUsage { input: 900, cached: 800, output: 40, reasoning: 25, ..TokenUsage::default() };
/// assert_eq!((step + step).total(), 1_880);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens read, including those from the cache.
    pub input: u64,
    /// Input tokens that came from the provider's cache.
    pub cached: u64,
    /// Input tokens that were written to the provider's cache, if the provider bills them
    /// separately.
    #[serde(default)]
    pub cache_written: u64,
    /// Tokens of `cache_written` that the cache keeps for an hour.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_written_1h: u64,
    /// Input tokens of audio, including those from the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input_audio: u64,
    /// Input tokens of images, pages of documents and video, including those from the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input_image: u64,
    /// Tokens of `input` that other requests behind the response have read, such as a summary of the
    /// conversation that the provider has made. They are not in the response's context.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input_beside: u64,
    /// Tokens of `input` that the largest of the requests behind the response has read, if there
    /// were several. It decides which prices they have. In a sum it is that of the largest response.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input_at_once: u64,
    /// Tokens of `cached` that are audio.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_audio: u64,
    /// Tokens of `cached` that are images, pages and video.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_image: u64,
    /// Tokens written, including reasoning.
    pub output: u64,
    /// Output tokens that were spent on reasoning, if the provider reports them.
    pub reasoning: u64,
    /// Output tokens of audio.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output_audio: u64,
    /// Output tokens of images and video.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output_image: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TokenUsage {
    /// Returns the number of tokens read and written.
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the number of tokens that the model had before it when it wrote.
    pub const fn context(self) -> u64 {
        self.input.saturating_sub(self.input_beside)
    }

    /// Returns whether all counts are 0.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Returns the tokens that were used since an earlier count of the same response.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.zip_with(earlier, u64::saturating_sub)
    }

    fn zip_with(self, other: Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            input: combine(self.input, other.input),
            cached: combine(self.cached, other.cached),
            cache_written: combine(self.cache_written, other.cache_written),
            cache_written_1h: combine(self.cache_written_1h, other.cache_written_1h),
            input_audio: combine(self.input_audio, other.input_audio),
            input_image: combine(self.input_image, other.input_image),
            input_beside: combine(self.input_beside, other.input_beside),
            // Requests are neither added nor taken apart.
            input_at_once: 0,
            cached_audio: combine(self.cached_audio, other.cached_audio),
            cached_image: combine(self.cached_image, other.cached_image),
            output: combine(self.output, other.output),
            reasoning: combine(self.reasoning, other.reasoning),
            output_audio: combine(self.output_audio, other.output_audio),
            output_image: combine(self.output_image, other.output_image),
        }
    }
}

impl Add for TokenUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input_at_once: self.input_at_once.max(other.input_at_once),
            ..self.zip_with(other, u64::saturating_add)
        }
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The tokens and tool calls of one response of a model, as its provider reports them.
///
/// ```
/// use tool_core::trace::{ModelUsage, TokenUsage};
///
/// let used = ModelUsage::new("gpt-5-mini", TokenUsage { input: 1_200, output: 80, ..TokenUsage::default() })
///     .provider("openai")
///     .response_id("resp_1")
///     .tool_call("call_1", "search");
/// assert_eq!(used.usage.total(), 1_280);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ModelUsage {
    /// The model that answered.
    pub model: Cow<'static, str>,
    /// The provider that runs the model, as price tables name it: `openai`.
    pub provider: Option<Cow<'static, str>>,
    /// The tokens.
    pub usage: TokenUsage,
    /// The service tier that answered, as price tables name it: `batch`, `flex` or `priority`.
    /// `None` for the standard one.
    pub service_tier: Option<Cow<'static, str>>,
    /// The provider's id of the response. Responses with the same id, model and tokens count once.
    pub response_id: Option<String>,
    /// The tool calls that the model made: the call's id and the tool's name.
    pub tool_calls: Vec<(String, String)>,
}

/// Maximum number of characters of a name or an id, and maximum number of tool calls.
const MAX_KEPT: usize = 256;

impl ModelUsage {
    /// Creates the usage of a response that reports neither a provider, an id nor tool calls.
    pub fn new(model: impl Into<Cow<'static, str>>, usage: TokenUsage) -> Self {
        Self {
            model: model.into(),
            usage,
            ..Self::default()
        }
    }

    /// Sets the provider.
    pub fn provider(mut self, provider: impl Into<Cow<'static, str>>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// Sets the service tier. Responses of a batch do not always name it.
    pub fn service_tier(mut self, tier: impl Into<Cow<'static, str>>) -> Self {
        self.service_tier = Some(tier.into());
        self
    }

    /// Sets the provider's id of the response.
    pub fn response_id(mut self, id: impl Into<String>) -> Self {
        self.response_id = Some(id.into());
        self
    }

    /// Adds a tool call that the model made.
    pub fn tool_call(mut self, id: impl Into<String>, tool: impl Into<String>) -> Self {
        self.tool_calls.push((id.into(), tool.into()));
        self
    }

    /// Cuts names, ids and the list of calls to the lengths that a span keeps. A provider chooses
    /// all of them.
    pub(crate) fn truncate(&mut self) {
        let cut = |text: &mut String| {
            if let Some((end, _)) = text.char_indices().nth(MAX_KEPT) {
                text.truncate(end);
            }
        };
        for name in std::iter::once(&mut self.model).chain(&mut self.service_tier) {
            if name.len() > MAX_KEPT {
                cut(name.to_mut());
            }
        }
        self.response_id.as_mut().map(cut);
        self.tool_calls.truncate(MAX_KEPT);
        self.tool_calls
            .iter_mut()
            .flat_map(|(id, tool)| [id, tool])
            .for_each(cut);
    }
}

/// The most recent responses that were counted, as hashes. A response is the same one if its id,
/// model and tokens are equal, because some servers send the same id with every response.
#[derive(Default)]
pub(crate) struct RecentResponses {
    hasher: RandomState,
    hashes: HashSet<u64>,
    oldest_first: VecDeque<u64>,
}

/// Maximum number of remembered hashes.
const MAX_RESPONSES: usize = 8_192;

impl RecentResponses {
    /// Remembers a response, and returns whether it is new. A response without an id always is.
    pub(crate) fn insert(&mut self, used: &ModelUsage) -> bool {
        let Some(id) = &used.response_id else {
            return true;
        };
        self.insert_hash(self.hasher.hash_one((id, &used.model, used.usage)))
    }

    /// Remembers that the caller recorded a response with this id.
    pub(crate) fn insert_recorded(&mut self, id: &str) {
        self.insert_hash(self.hasher.hash_one(id));
    }

    /// Returns whether the caller recorded a response with this id.
    pub(crate) fn is_recorded(&self, id: &str) -> bool {
        self.hashes.contains(&self.hasher.hash_one(id))
    }

    fn insert_hash(&mut self, hash: u64) -> bool {
        if !self.hashes.insert(hash) {
            return false;
        }
        self.oldest_first.push_back(hash);
        if self.oldest_first.len() > MAX_RESPONSES
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.hashes.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Returns a usage whose counts are all different, but for the one that is not added.
    fn counts() -> TokenUsage {
        serde_json::from_value(json!({
            "input": 1, "cached": 2, "cache_written": 3, "cache_written_1h": 4, "input_audio": 5, "input_image": 6,
            "cached_audio": 7, "cached_image": 8, "output": 9, "reasoning": 10, "output_audio": 11, "output_image": 12,
            "input_beside": 13
        }))
        .expect("a usage")
    }

    #[test]
    fn reads_and_writes_a_usage_without_audio_and_images() {
        let json =
            json!({"input": 900, "cached": 800, "cache_written": 0, "output": 40, "reasoning": 25});
        let usage = TokenUsage {
            input: 900,
            cached: 800,
            output: 40,
            reasoning: 25,
            ..TokenUsage::default()
        };
        assert_eq!(serde_json::to_value(usage).expect("JSON"), json);
        assert_eq!(
            serde_json::from_value::<TokenUsage>(json).expect("a usage"),
            usage
        );
    }

    #[test]
    fn sums_and_differences_have_every_count() {
        let sum = serde_json::to_value(counts() + counts()).expect("JSON");
        assert_eq!(
            sum.as_object()
                .map(|sum| sum.values().filter_map(Value::as_u64).sum()),
            Some(2 * 91_u64)
        );
        assert_eq!((counts() + counts()).since(counts()), counts());
        assert_eq!(counts().since(counts() + counts()), TokenUsage::default());
    }

    #[test]
    fn a_sum_has_the_largest_request_of_its_responses() {
        let of_request = |input_at_once| TokenUsage {
            input_at_once,
            ..TokenUsage::default()
        };
        assert_eq!(of_request(6) + of_request(4), of_request(6));
        assert_eq!(of_request(4) + of_request(6), of_request(6));
        assert!(of_request(6).since(of_request(6)).is_empty());
    }
}
