//! Gemini's own tools, for generateContent and Live. The model decides which of them are accepted, and whether beside
//! functions: see [`DeclareOptions::model_mixes`](crate::DeclareOptions::model_mixes).
//!
//! ```
//! use serde_json::json;
//! use tool_adapters::Provider;
//! use tool_adapters::providers::gemini::tools::GoogleSearch;
//! use tool_core::ProviderTool;
//!
//! assert_eq!(GoogleSearch::default().config(&Provider::Gemini.id()), Some(json!({"googleSearch": {}})));
//! ```

use crate::provider_tools::{off, provider_tools};
use serde::{Serialize, Serializer};
use serde_json::json;
use tool_core::Timestamp;

/// Searches the web with Google.
///
/// ```
/// use tool_adapters::providers::gemini::tools::{GoogleSearch, TimeRange};
/// use tool_adapters::{Provider, declare};
/// use tool_core::ToolContext;
///
/// let october = TimeRange { start_time: "2026-10-01T00:00:00Z".parse()?, end_time: "2026-11-01T00:00:00Z".parse()? };
/// let search = GoogleSearch { time_range: Some(october), ..GoogleSearch::default() };
/// let tools = ToolContext::builder().with(search).build()?;
/// assert!(declare(Provider::Gemini, &tools).json().get().contains("2026-10-01T00:00:00Z"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GoogleSearch {
    /// True if images are found too.
    #[serde(
        rename = "searchTypes",
        serialize_with = "search_types",
        skip_serializing_if = "off"
    )]
    pub image_search: bool,
    /// Domains that are left out of the results. Vertex AI only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_domains: Vec<String>,
    /// The period of the results. Not on Vertex AI.
    #[serde(rename = "timeRangeFilter")]
    pub time_range: Option<TimeRange>,
}

/// A period, from `start_time` up to but not including `end_time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimeRange {
    /// The beginning.
    pub start_time: Timestamp,
    /// The end, which is not included.
    pub end_time: Timestamp,
}

/// Runs Python that the model writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CodeExecution {}

/// Reads the pages whose addresses are in the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UrlContext {}

provider_tools! {
    GoogleSearch: "google_search" for Gemini | GeminiJsonSchema | GeminiLive, in "googleSearch";
    CodeExecution: "code_execution" for Gemini | GeminiJsonSchema | GeminiLive, in "codeExecution";
    UrlContext: "url_context" for Gemini | GeminiJsonSchema | GeminiLive, in "urlContext";
}

/// Adds images to the kinds of results. Without it the provider finds pages.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
fn search_types<S: Serializer>(_image_search: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    json!({"webSearch": {}, "imageSearch": {}}).serialize(serializer)
}
