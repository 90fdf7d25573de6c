//! Provider tools: tools that a provider offers itself, as types.
//!
//! A context may have those of several providers. The declarations for a provider have its own, and
//! their report lists the others as skipped.
//!
//! ```
//! use tool_adapters::providers::{anthropic, gemini, openai_responses};
//! use tool_adapters::{Provider, declare};
//! use tool_core::ToolContext;
//!
//! let tools = ToolContext::builder()
//!     .with(openai_responses::tools::WebSearch::default())
//!     .with(anthropic::tools::WebSearch { max_uses: Some(3), ..Default::default() })
//!     .with(gemini::tools::GoogleSearch::default())
//!     .build()?;
//! let declared = declare(Provider::Anthropic, &tools);
//! # let _ = declared;
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```
//!
//! A provider runs most of them itself, and their results are items of its message. A function tool answers the others,
//! such as Anthropic's [`Bash`](super::anthropic::tools::Bash): see [`anthropic::tools`](super::anthropic::tools).
//!
//! [`ProviderTool::config`](tool_core::ProviderTool::config) returns a tool in the provider's form. Serialised with serde
//! alone, a tool writes null for each option that is not set.
//!
//! For another tool, implement [`ProviderTool`](tool_core::ProviderTool), which takes a dozen
//! lines.

use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// Implements `ProviderTool` for types by their serialised form, or by an object with it, for the
/// providers that accept them.
macro_rules! provider_tools {
    ($($tool:ty: $id:literal for $($provider:ident)|+ $(, in $member:literal)? $(, answered as $calls:expr)?;)+) => {
        $(impl tool_core::ProviderTool for $tool {
            fn id(&self) -> &str {
                $id
            }

            fn config(&self, provider: &tool_core::tool::ProviderId) -> Option<serde_json::Value> {
                let takes = [$($crate::Provider::$provider),+].iter().any(|taker| taker.name() == provider.as_str());
                let config = takes.then(|| $crate::provider_tools::config_of(self)).flatten()?;
                $(let config = serde_json::json!({ $member: config });)?
                Some(config)
            }

            $(fn answered_here(&self) -> Vec<&str> {
                let calls: fn(&$tool) -> Vec<&'static str> = $calls;
                calls(self)
            })?
        })+
    };
}

pub(crate) use provider_tools;

/// Returns the serialised form of a tool without the options that are not set.
pub(crate) fn config_of(tool: &impl Serialize) -> Option<Value> {
    // The types are data, which always has a JSON form.
    let mut config = serde_json::to_value(tool).ok()?;
    remove_nulls(&mut config);
    Some(config)
}

fn remove_nulls(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|_, member| !member.is_null());
        members.values_mut().for_each(remove_nulls);
    }
}

/// A text that is sent to the provider, and that `Debug` hides.
///
/// ```
/// use tool_adapters::providers::provider_tools::Secret;
/// use tool_core::serde_json::to_string;
///
/// let token = Secret::from("token-1"); // for `RemoteMcp::authorization`, for example
/// assert_eq!(format!("{token:?}"), "Secret(..)");
/// assert_eq!(to_string(&token)?, r#""token-1""#); // the request has it
/// # Ok::<(), tool_core::serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Makes a secret of a text.
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

/// The approximate location of the user, for a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "approximate")]
pub struct UserLocation {
    /// The city, such as `Berlin`.
    pub city: Option<String>,
    /// The country as two letters of ISO 3166-1, such as `DE`.
    pub country: Option<String>,
    /// The region, such as `Bavaria`.
    pub region: Option<String>,
    /// The time zone by its IANA name, such as `Europe/Berlin`.
    pub timezone: Option<String>,
}

/// Returns true for a member that is left out.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
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
