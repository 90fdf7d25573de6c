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

use crate::providers::provider_tools::provider_tools;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use tool_core::Timestamp;

/// Searches the web with Google.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoogleSearch {
    /// True if images are found too.
    pub image_search: bool,
    /// Domains that are left out of the results. Vertex AI only.
    pub exclude_domains: Vec<String>,
    /// The period of the results. Not on Vertex AI.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeExecution {}

/// Reads the pages whose addresses are in the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UrlContext {}

provider_tools! {
    GoogleSearch: "google_search" for Gemini | GeminiJsonSchema | GeminiLive;
    CodeExecution: "code_execution" for Gemini | GeminiJsonSchema | GeminiLive;
    UrlContext: "url_context" for Gemini | GeminiJsonSchema | GeminiLive;
}

impl Serialize for GoogleSearch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Form<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            search_types: Option<SearchTypes>,
            #[serde(skip_serializing_if = "<[String]>::is_empty")]
            exclude_domains: &'a [String],
            #[serde(skip_serializing_if = "Option::is_none")]
            time_range_filter: Option<TimeRange>,
        }
        let form = Form {
            search_types: self.image_search.then(SearchTypes::default),
            exclude_domains: &self.exclude_domains,
            time_range_filter: self.time_range,
        };
        member("googleSearch", &form, serializer)
    }
}

impl Serialize for CodeExecution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        member("codeExecution", &Nothing {}, serializer)
    }
}

impl Serialize for UrlContext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        member("urlContext", &Nothing {}, serializer)
    }
}

/// The kinds of results. If one kind is named, all have to be.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct SearchTypes {
    web_search: Nothing,
    image_search: Nothing,
}

#[derive(Default, Serialize)]
struct Nothing {}

/// Writes a tool as `{"name": value}`, a member of the object that declares tools.
fn member<S: Serializer>(name: &str, value: &impl Serialize, serializer: S) -> Result<S::Ok, S::Error> {
    let mut tool = serializer.serialize_map(Some(1))?;
    tool.serialize_entry(name, value)?;
    tool.end()
}
