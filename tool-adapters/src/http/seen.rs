//! What is seen of an answer's use, however the answer ends: the provider counts what it has read, and what it has said
//! until nobody listened any longer.

use std::borrow::Cow;
use tool_core::session::ModelInfo;
use tool_core::trace::TokenUsage;
use tool_core::trace::{self, ModelUsage};

/// Tells what it knows to the span around it when it is dropped, as something seen: whoever asked may tell it better.
pub(super) struct Seen {
    about: ModelInfo,
    /// Whether nobody is told.
    unseen: bool,
    model: Option<String>,
    response_id: Option<String>,
    usage: TokenUsage,
}

impl Seen {
    pub(super) fn new(about: ModelInfo) -> Self {
        Self { about, unseen: false, model: None, response_id: None, usage: TokenUsage::default() }
    }

    /// For a request without a span: who is paid for the model is then not asked either.
    pub(super) fn unseen(model: &str) -> Self {
        let about = ModelInfo { model: model.to_owned().into(), provider: None };
        let mut seen = Self::new(about);
        seen.unseen = true;
        seen
    }

    pub(super) fn response(&mut self, id: Option<String>, model: Option<String>) {
        self.response_id = id.or(self.response_id.take());
        self.model = model.or(self.model.take());
    }

    pub(super) fn usage(&mut self, usage: TokenUsage) {
        self.usage = usage;
    }

    pub(super) fn used(&self) -> TokenUsage {
        self.usage
    }

    /// The model, where the provider calls it otherwise than it was asked for.
    pub(super) fn model(&self) -> Option<String> {
        self.model.clone().filter(|model| *model != self.about.model)
    }

    pub(super) fn response_id(&self) -> Option<String> {
        self.response_id.clone()
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        if self.unseen || self.usage.is_empty() {
            return;
        }
        let model = self.model.take().map_or_else(|| std::mem::take(&mut self.about.model), Cow::Owned);
        let mut used = ModelUsage::new(model, self.usage);
        (used.provider, used.response_id) = (self.about.provider.take(), self.response_id.take());
        trace::observe(used);
    }
}
