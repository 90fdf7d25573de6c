//! A server of the Model Context Protocol that OpenAI calls itself.

use crate::provider_tools::{Secret, off};
use serde::Serialize;
use std::collections::BTreeMap;

/// Has the provider list and call the tools of a remote MCP server. What it called comes back among the items.
///
/// ```
/// use tool_adapters::provider_tools::openai::{Approval, RemoteMcp};
///
/// let docs = RemoteMcp {
///     allowed_tools: vec!["search".into()],
///     require_approval: Some(Approval::Never),
///     authorization: Some("token".into()),
///     ..RemoteMcp::new("docs", "https://example.com/mcp")
/// };
/// assert!(format!("{docs:?}").contains("authorization: Some(Secret(..))"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "mcp")]
pub struct RemoteMcp {
    /// How its tools are told from others.
    pub server_label: String,
    /// Where it is.
    pub server_url: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_description: Option<String>,
    /// Only these of its tools; all where it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// An OAuth access token. The request holds it, and so does what is printed of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization: Option<Secret>,
    /// Headers that are sent to the server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
    /// Which calls wait for an approval; all of them unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_approval: Option<Approval>,
    /// Whether its tools are found by tool search instead of being listed at once.
    #[serde(skip_serializing_if = "off")]
    pub defer_loading: bool,
}

impl RemoteMcp {
    /// The server at that place.
    pub fn new(label: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            server_label: label.into(),
            server_url: url.into(),
            server_description: None,
            allowed_tools: Vec::new(),
            authorization: None,
            headers: BTreeMap::new(),
            require_approval: None,
            defer_loading: false,
        }
    }
}

/// Which calls wait for an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// All.
    Always,
    /// None.
    Never,
    /// All but those of these tools.
    #[serde(rename = "never")]
    NeverFor(ToolNames),
}

/// The names of some tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolNames {
    /// They.
    pub tool_names: Vec<String>,
}
