//! The settings of a model over HTTP that providers name differently.

use crate::http::model::HttpModel;
use tool_adapters_providers::{ModelSettings, ReasoningEffort};

/// The settings that providers name differently. A setting that the provider does not have is an error of the step, before
/// anything is sent, with all such settings at once. [`setting`](Self::setting) sends a member as it is.
impl HttpModel {
    /// Sets the randomness of the answer. New models of some providers do not have it.
    pub fn temperature(self, temperature: f64) -> Self {
        self.with_settings(|settings| settings.temperature = Some(temperature))
    }

    /// Sets the share of the probability from which the model picks, from 0 to 1.
    pub fn top_p(self, share: f64) -> Self {
        self.with_settings(|settings| settings.top_p = Some(share))
    }

    /// Sets the seed of the randomness. Equal requests then get similar answers.
    pub fn seed(self, seed: i64) -> Self {
        self.with_settings(|settings| settings.seed = Some(seed))
    }

    /// Sets the texts before which an answer ends.
    pub fn stop<S: Into<String>>(self, texts: impl IntoIterator<Item = S>) -> Self {
        let texts = texts.into_iter().map(Into::into).collect();
        self.with_settings(|settings| settings.stop = texts)
    }

    /// Sets how much the model thinks.
    pub fn reasoning_effort(self, effort: ReasoningEffort) -> Self {
        self.with_settings(|settings| settings.reasoning_effort = Some(effort))
    }

    /// Sets whether the model may make several calls in one step. The default is the provider's,
    /// which is true for most.
    pub fn parallel_tool_calls(self, parallel: bool) -> Self {
        self.with_settings(|settings| settings.parallel_tool_calls = Some(parallel))
    }

    /// Makes the model call this tool first, after each message of the user. Later steps are the
    /// model's choice.
    ///
    /// Providers refuse a forced call beside thinking.
    ///
    /// ```
    /// use tool_adapters::Provider;
    /// use tool_adapters::transport::http::HttpModel;
    ///
    /// let model = HttpModel::new(Provider::OpenAiResponses, "gpt-5").first_tool("search").parallel_tool_calls(false);
    /// # let _ = model;
    /// ```
    pub fn first_tool(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.with_settings(|settings| settings.first_tool = Some(name))
    }

    /// Makes the provider keep the beginning of each request, so that the next one costs less and
    /// is answered sooner. Defaults to false.
    ///
    /// It covers the tools, the instructions and the conversation so far. Some providers get up to
    /// 4 marks in a request, and what they write to the cache costs a little more once. Some get a
    /// key of the conversation, which brings its requests to the same machine. The others cache by
    /// themselves or not at all, and get nothing. [`cache_prompt`](tool_adapters_providers::cache_prompt)
    /// does it. The tokens that were read and written are in the
    /// [usage](tool_core::trace::TokenUsage) and in the cost.
    pub fn cache_prompt(mut self, cache: bool) -> Self {
        self.transport.caches_prompt = cache;
        self
    }

    fn with_settings(mut self, set: impl FnOnce(&mut ModelSettings)) -> Self {
        set(&mut self.transport.settings);
        self
    }
}
