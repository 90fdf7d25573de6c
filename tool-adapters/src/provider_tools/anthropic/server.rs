//! The tools that Anthropic runs.

use super::{Options, versions};
use crate::provider_tools::UserLocation;
use serde::Serialize;

versions! {
    /// The versions of [`WebSearch`].
    WebSearchVersion {
        V20260318 = "web_search_20260318", V20260209 = "web_search_20260209", V20250305 = "web_search_20250305"
    }
    /// The versions of [`WebFetch`].
    WebFetchVersion {
        V20260318 = "web_fetch_20260318", V20260309 = "web_fetch_20260309", V20260209 = "web_fetch_20260209",
        V20250910 = "web_fetch_20250910"
    }
    /// The versions of [`CodeExecution`].
    CodeExecutionVersion {
        V20260521 = "code_execution_20260521", V20260120 = "code_execution_20260120",
        V20250825 = "code_execution_20250825", V20250522 = "code_execution_20250522"
    }
}

/// Searches the web.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename = "web_search")]
pub struct WebSearch {
    /// The newest unless told.
    #[serde(rename = "type")]
    pub version: WebSearchVersion,
    /// Only these domains; all where it is empty. Not together with `blocked_domains`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Never these domains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
    /// How often it may be used in one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u32>,
    /// From `V20260318` on: whether results that code has consumed come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_inclusion: Option<ResponseInclusion>,
    /// About where the user is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_location: Option<UserLocation>,
    /// What all of Anthropic's tools take.
    #[serde(flatten)]
    pub options: Options,
}

/// Whether results that code has consumed come back; in full unless told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseInclusion {
    /// In full.
    Full,
    /// Not at all.
    Excluded,
}

/// Fetches pages whose addresses stand in the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename = "web_fetch")]
pub struct WebFetch {
    /// The newest unless told.
    #[serde(rename = "type")]
    pub version: WebFetchVersion,
    /// Only these domains; all where it is empty. Not together with `blocked_domains`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Never these domains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
    /// Whether places in the pages are cited; not unless told.
    #[serde(serialize_with = "enabled", skip_serializing_if = "super::off")]
    pub citations: bool,
    /// About how many tokens of a page's text are kept; PDF files are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_content_tokens: Option<u32>,
    /// How often it may be used in one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u32>,
    /// From `V20260318` on: whether results that code has consumed come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_inclusion: Option<ResponseInclusion>,
    /// From `V20260309` on: whether pages may come from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_cache: Option<bool>,
    /// What all of Anthropic's tools take.
    #[serde(flatten)]
    pub options: Options,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands it a reference
fn enabled<S: serde::Serializer>(on: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    std::collections::BTreeMap::from([("enabled", on)]).serialize(serializer)
}

/// Runs code that the model writes, in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename = "code_execution")]
pub struct CodeExecution {
    /// The newest unless told.
    #[serde(rename = "type")]
    pub version: CodeExecutionVersion,
    /// What all of Anthropic's tools take.
    #[serde(flatten)]
    pub options: Options,
}
