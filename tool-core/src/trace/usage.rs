//! Tokens, and what one response of a model used.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::ops::{Add, AddAssign};

/// The tokens that a model read and wrote, as its provider counts them.
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
    /// Input tokens that were written to the provider's cache, where the provider bills them separately.
    #[serde(default)]
    pub cache_written: u64,
    /// Tokens written, including reasoning.
    pub output: u64,
    /// Output tokens that were spent on reasoning, where the provider reports them.
    pub reasoning: u64,
}

impl TokenUsage {
    /// Returns the number of tokens read and written.
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns whether all counts are 0.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl Add for TokenUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            cache_written: self.cache_written.saturating_add(other.cache_written),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
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
        Self { model: model.into(), usage, ..Self::default() }
    }

    /// Sets the provider.
    pub fn provider(mut self, provider: impl Into<Cow<'static, str>>) -> Self {
        self.provider = Some(provider.into());
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

    /// Cuts names, ids and the list of calls to the lengths that a span keeps. A provider chooses all of them.
    pub(crate) fn truncate(&mut self) {
        let cut = |text: &mut String| {
            if let Some((end, _)) = text.char_indices().nth(MAX_KEPT) {
                text.truncate(end);
            }
        };
        if self.model.len() > MAX_KEPT {
            cut(self.model.to_mut());
        }
        self.response_id.as_mut().map(cut);
        self.tool_calls.truncate(MAX_KEPT);
        self.tool_calls.iter_mut().flat_map(|(id, tool)| [id, tool]).for_each(cut);
    }
}

/// The most recent responses that were counted, as hashes. A response is the same one if its id, model and tokens are
/// equal, because some servers send the same id with every response.
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
        let Some(id) = &used.response_id else { return true };
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
