//! Provider tools: what a provider offers besides the functions that we declare, as types. L4
//!
//! Each has its own fields and its own form. One context may hold those of several providers: a provider is told of its
//! own, skips another's, and the report says so.
//!
//! ```
//! use tool_adapters::providers::anthropic::tools;
//! use tool_adapters::providers::gemini::tools;
//! use tool_adapters::providers::openai_responses::tools;
//! use tool_adapters::{Provider, declare};
//! use tool_core::ToolContext;
//!
//! let tools = ToolContext::builder()
//!     .with(tools::WebSearch::default())
//!     .with(tools::WebSearch { max_uses: Some(3), ..anthropic::WebSearch::default() })
//!     .with(tools::GoogleSearch::default())
//!     .build()?;
//! let declared = declare(Provider::Anthropic, &tools);
//! # let _ = declared;
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```
//!
//! A provider runs most of them itself; what they did stands among the items of its message. Some are only declared by
//! the provider and answered here, such as Anthropic's [`Bash`](tools::Bash): see [`tools`].
//!
//! What is not here is a dozen lines: implement [`ProviderTool`](tool_core::ProviderTool).

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

pub(crate) use provider_tools;

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
pub(crate) fn off(on: &bool) -> bool {
    !on
}

/// Declares the versions of a tool, the newest first.
macro_rules! versions {
    ($($(#[$doc:meta])* $name:ident { $newest:ident = $last:literal $(, $variant:ident = $sent:literal)* })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        #[non_exhaustive]
        pub enum $name {
            #[doc = concat!("`", $last, "`, the newest.")]
            #[serde(rename = $last)]
            #[default]
            $newest,
            $(#[doc = concat!("`", $sent, "`.")]
            #[serde(rename = $sent)]
            $variant,)*
        })+
    };
}

pub(crate) use versions;
