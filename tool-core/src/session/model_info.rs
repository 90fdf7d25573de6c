//! The identity of a model.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The identity of a model, for spans and price tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelInfo {
    /// The model's name, as its provider uses it.
    pub model: Cow<'static, str>,
    /// The provider, as price tables name it, for example `openai`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Cow<'static, str>>,
}
