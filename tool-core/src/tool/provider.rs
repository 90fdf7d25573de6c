//! Tools that a provider runs itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// The name of a provider. This crate knows no providers; adapters define the names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderId(Cow<'static, str>);

impl ProviderId {
    /// Creates the id of the provider of that name.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// Creates a constant id.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool that a provider runs, such as its own web search. It is declared here, and never called.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_core::tool::ProviderId;
/// use tool_core::ProviderTool;
///
/// struct WebSearch { max_uses: u32 }
///
/// impl ProviderTool for WebSearch {
///     fn id(&self) -> &str {
///         "web_search"
///     }
///
///     fn config(&self, provider: &ProviderId) -> Option<Value> {
///         (provider.as_str() == "anthropic").then(|| json!({"type": "web_search", "max_uses": self.max_uses}))
///     }
/// }
/// # assert!(WebSearch { max_uses: 3 }.config(&ProviderId::new("anthropic")).is_some());
/// ```
pub trait ProviderTool: Send + Sync + 'static {
    /// Returns the tool's id. Several provider tools may have the same id; they are not
    /// deduplicated.
    fn id(&self) -> &str;

    /// Returns the declaration for `provider`; `None` where another provider runs the tool.
    fn config(&self, provider: &ProviderId) -> Option<Value>;

    /// Returns the names of calls that the provider sends back instead of running the tool. A
    /// function tool of that name answers them, and is not declared a second time to a provider
    /// that takes the declaration. Defaults to none.
    fn answered_here(&self) -> Vec<&str> {
        Vec::new()
    }
}

impl fmt::Debug for dyn ProviderTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Provider({:?})", self.id())
    }
}
