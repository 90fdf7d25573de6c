//! Tools that a provider runs itself.

use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// The name of a provider. Opaque: this crate knows none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderId(Cow<'static, str>);

impl ProviderId {
    /// The provider of that name.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// A provider named by a constant.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool that a provider runs, such as its own web search: declared, never called here.
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
    /// The tool's id. Several provider tools may share one: they are not deduplicated.
    fn id(&self) -> &str;

    /// What to declare to `provider`; `None` where the tool is another's.
    fn config(&self, provider: &ProviderId) -> Option<Value>;

    /// The names of the calls that come back to be answered here, where the provider declares the tool but does not run
    /// it. A function tool of such a name answers them; to a provider that takes the declaration it is not declared a
    /// second time. None unless told.
    fn answered_here(&self) -> Vec<&str> {
        Vec::new()
    }
}
