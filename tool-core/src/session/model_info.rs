//! The identity of a model.

use std::borrow::Cow;

/// The identity of a model, for spans and price tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// The model's name, as its provider uses it.
    pub model: Cow<'static, str>,
    /// The provider, as price tables name it, for example `openai`.
    pub provider: Option<Cow<'static, str>>,
}
