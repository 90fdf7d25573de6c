//! Provider tools: what a provider offers besides the functions that we declare, as types. L4
//!
//! Each has its own fields and its own form. One context may hold those of several providers: a provider is told of its
//! own, skips another's, and the report says so.
//!
//! ```
//! use tool_adapters::provider_tools::{anthropic, gemini, openai};
//! use tool_adapters::{Provider, declare};
//! use tool_core::ToolContext;
//!
//! let tools = ToolContext::builder()
//!     .with(openai::WebSearch::default())
//!     .with(anthropic::WebSearch { max_uses: Some(3), ..anthropic::WebSearch::default() })
//!     .with(gemini::GoogleSearch::default())
//!     .build()?;
//! let declared = declare(Provider::Anthropic, &tools);
//! # let _ = declared;
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```
//!
//! A provider runs most of them itself; what they did stands among the items of its message. Some are only declared by
//! the provider and answered here, such as Anthropic's [`Bash`](anthropic::Bash): see [`anthropic`].
//!
//! What is not here is a dozen lines: implement [`ProviderTool`](tool_core::ProviderTool).

pub mod anthropic;
pub mod gemini;
pub mod openai;

#[cfg(test)]
mod tests;

use serde::Serialize;
use std::fmt;

/// Has types be declared in their serialised form to the providers that take them.
macro_rules! provider_tools {
    ($($tool:ty: $id:literal for $($provider:ident)|+ $(, answered as $calls:path)?;)+) => {
        $(impl tool_core::ProviderTool for $tool {
            fn id(&self) -> &str {
                $id
            }

            fn config(&self, provider: &tool_core::tool::ProviderId) -> Option<serde_json::Value> {
                let takes = [$($crate::Provider::$provider),+].iter().any(|taker| taker.name() == provider.as_str());
                // All of it is data that has a JSON form.
                takes.then(|| serde_json::to_value(self).ok()).flatten()
            }

            $(fn answered_here(&self) -> Vec<&str> {
                $calls(self)
            })?
        })+
    };
}
use provider_tools;

/// A text that is sent and never shown: its `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// About where the user is, for a search. What is not said is left open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "approximate")]
pub struct UserLocation {
    /// Such as `Berlin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// Two letters of ISO 3166-1, such as `DE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Such as `Bavaria`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// A name of the IANA time zone database, such as `Europe/Berlin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

/// For members that are left out unless they are on.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands it a reference
fn off(on: &bool) -> bool {
    !on
}
