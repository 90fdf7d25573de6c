//! OpenAI's web search.

use crate::provider_tools::UserLocation;
use serde::{Serialize, Serializer, ser::SerializeMap};

/// Searches the web.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "web_search")]
pub struct WebSearch {
    /// Only these domains and what is below them, such as `pubmed.ncbi.nlm.nih.gov`; all where it is empty.
    #[serde(rename = "filters", serialize_with = "filters", skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Whether pages are fetched; otherwise only what is cached is found. Fetched unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_web_access: Option<bool>,
    /// How much of the context the results may take; medium unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_context_size: Option<ContextSize>,
    /// About where the user is; the United States unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_location: Option<UserLocation>,
}

/// How much of the context results may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // they say it themselves
pub enum ContextSize {
    Low,
    Medium,
    High,
}

fn filters<S: Serializer>(allowed: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    let mut filters = serializer.serialize_map(Some(1))?;
    filters.serialize_entry("allowed_domains", allowed)?;
    filters.end()
}
