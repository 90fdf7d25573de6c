//! OpenAI's own tools, for Responses. Realtime accepts [`RemoteMcp`] too, Chat Completions none.
//!
//! ```
//! use serde_json::json;
//! use tool_adapters::Provider;
//! use tool_adapters::providers::openai_responses::tools::{FileSearch, WebSearch};
//! use tool_core::ProviderTool;
//!
//! let files = FileSearch { max_num_results: Some(5), ..FileSearch::new(["vs_1"]) };
//! let expected = json!({"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 5});
//! assert_eq!(files.config(&Provider::OpenAiResponses.id()), Some(expected));
//! assert_eq!(WebSearch::default().config(&Provider::OpenAiChat.id()), None);
//! ```
//!
//! No function tool answers [`Computer`]: its calls are items of the type `computer_call`, which
//! the program answers.

use crate::provider_tools::{Secret, UserLocation, off, provider_tools};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

provider_tools! {
    WebSearch: "web_search" for OpenAiResponses;
    FileSearch: "file_search" for OpenAiResponses;
    CodeInterpreter: "code_interpreter" for OpenAiResponses;
    Computer: "computer" for OpenAiResponses;
    ComputerUsePreview: "computer_use_preview" for OpenAiResponses;
    ImageGeneration: "image_generation" for OpenAiResponses;
    RemoteMcp: "mcp" for OpenAiResponses | OpenAiRealtime;
}

/// Uses a computer: the model sends actions as `computer_call` items, and the program sends
/// screenshots back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "computer")]
pub struct Computer {}

/// The form for the model `computer-use-preview`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "computer_use_preview")]
pub struct ComputerUsePreview {
    /// The width in pixels.
    pub display_width: u32,
    /// The height in pixels.
    pub display_height: u32,
    /// The operating system, or a browser.
    pub environment: Environment,
}

/// Makes and edits images. The provider decides on options that are not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "image_generation")]
pub struct ImageGeneration {
    /// The action.
    pub action: Option<ImageAction>,
    /// The background.
    pub background: Option<Background>,
    /// The fidelity to faces and style of input images.
    pub input_fidelity: Option<InputFidelity>,
    /// The mask of an edit.
    pub input_image_mask: Option<Mask>,
    /// The image model's name.
    pub model: Option<String>,
    /// The strictness of moderation.
    pub moderation: Option<Moderation>,
    /// The compression from 0 to 100, for JPEG and WebP.
    pub output_compression: Option<u8>,
    /// The format. Defaults to PNG.
    pub output_format: Option<ImageFormat>,
    /// The number of partial images in a stream, 0 to 3.
    pub partial_images: Option<u8>,
    /// The quality.
    pub quality: Option<ImageQuality>,
    /// The size: `auto`, or width x height in pixels, such as `1536x1024`.
    pub size: Option<String>,
}

/// A mask: an image whose transparent areas mark the part to edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// An uploaded file.
    FileId(String),
    /// A `data:` URL.
    ImageUrl(String),
}

/// Declares enums whose variants are written in lower case.
macro_rules! lowercase_enums {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident),+ })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "lowercase")]
        #[allow(missing_docs)] // they say it themselves
        pub enum $name { $($variant),+ })+
    };
}

lowercase_enums! {
    /// An operating system, or a browser.
    Environment { Windows, Mac, Linux, Ubuntu, Browser }
    /// A share of the context.
    ContextSize { Low, Medium, High }
    /// The action on an image.
    ImageAction { Generate, Edit, Auto }
    /// The background of an image.
    Background { Transparent, Opaque, Auto }
    /// The fidelity to input images.
    InputFidelity { Low, High }
    /// The strictness of moderation.
    Moderation { Low, Auto }
    /// The format of an image.
    ImageFormat { Png, Webp, Jpeg, Gif, Svg }
    /// The quality of an image. `Xhigh` and `Max` are for newer models.
    ImageQuality { Low, Medium, High, Xhigh, Max, Auto }
    /// A comparison of an attribute: equal, not equal, greater, greater or equal, less, less or
    /// equal, one of a list, none of a list.
    Comparison { Eq, Ne, Gt, Gte, Lt, Lte, In, Nin }
    /// A combination of conditions: all of them hold, or at least one does.
    Combination { And, Or }
}

/// Runs Python that the model writes, in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "code_interpreter")]
pub struct CodeInterpreter {
    /// The container. Defaults to a new one.
    pub container: Container,
}

/// The container of the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Container {
    /// The container of this id.
    Id(String),
    /// A new container.
    Auto(AutoContainer),
}

impl Default for Container {
    fn default() -> Self {
        Self::Auto(AutoContainer::default())
    }
}

/// The options of a new container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "auto")]
pub struct AutoContainer {
    /// The uploaded files that the code can read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_ids: Vec<String>,
    /// The memory.
    pub memory_limit: Option<MemoryLimit>,
    /// The access to the network.
    pub network_policy: Option<NetworkPolicy>,
}

/// The memory of a container, in GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // they say it themselves
pub enum MemoryLimit {
    #[serde(rename = "1g")]
    G1,
    #[serde(rename = "4g")]
    G4,
    #[serde(rename = "16g")]
    G16,
    #[serde(rename = "64g")]
    G64,
}

/// The access of a container to the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum NetworkPolicy {
    /// No access.
    Disabled,
    /// Access to some domains.
    Allowlist {
        /// The domains.
        allowed_domains: Vec<String>,
    },
}

/// Lets the provider list and call the tools of a remote MCP server. Its calls are items of the
/// message.
///
/// ```
/// use tool_adapters::providers::openai_responses::tools::{Approval, RemoteMcp};
///
/// let docs = RemoteMcp {
///     allowed_tools: vec!["search".into()],
///     require_approval: Some(Approval::Never),
///     authorization: Some("token".into()),
///     ..RemoteMcp::new("docs", "https://example.com/mcp")
/// };
/// assert!(format!("{docs:?}").contains("authorization: Some(Secret(..))"));
/// ```
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "mcp")]
pub struct RemoteMcp {
    /// The label of the server, which distinguishes its tools.
    pub server_label: String,
    /// The URL.
    pub server_url: String,
    /// The purpose of the server, for the model.
    pub server_description: Option<String>,
    /// The allowed tools. Empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// An OAuth access token. The request contains it, so do not print the request.
    pub authorization: Option<Secret>,
    /// Headers of requests to the server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
    /// The calls that need an approval. Defaults to all.
    pub require_approval: Option<Approval>,
    /// True if the model finds the tools by tool search only.
    #[serde(skip_serializing_if = "off")]
    pub defer_loading: bool,
}

impl RemoteMcp {
    /// Makes the tool for the server at a URL.
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

/// Leaves out the user name, the password and the query of the URL, which may be secret.
impl fmt::Debug for RemoteMcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, query) = self
            .server_url
            .split_once('?')
            .map_or((&*self.server_url, ""), |(head, _)| (head, "?.."));
        let shown = match head
            .split_once("://")
            .and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)))
        {
            Some((scheme, rest)) => format!("{scheme}://..@{rest}{query}"),
            None => format!("{head}{query}"),
        };
        f.debug_struct("RemoteMcp")
            .field("server_label", &self.server_label)
            .field("server_url", &shown)
            .field("allowed_tools", &self.allowed_tools)
            .field("authorization", &self.authorization)
            .field("headers", &self.headers)
            .field("require_approval", &self.require_approval)
            .finish_non_exhaustive()
    }
}

/// The calls that need an approval.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::providers::openai_responses::tools::{Approval, RemoteMcp, ToolNames};
/// use tool_core::ProviderTool;
///
/// let reads = ToolNames { tool_names: vec!["search".into(), "fetch".into()] };
/// let docs = RemoteMcp { require_approval: Some(Approval::NeverFor(reads)), ..RemoteMcp::new("docs", "https://example.com/mcp") };
/// let config = docs.config(&Provider::OpenAiResponses.id()).expect("a tool");
/// assert_eq!(config["require_approval"]["never"]["tool_names"][0], "search");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// All calls.
    Always,
    /// No call.
    Never,
    /// All calls except those of these tools.
    #[serde(rename = "never")]
    NeverFor(ToolNames),
}

/// The names of some tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolNames {
    /// The names.
    pub tool_names: Vec<String>,
}

/// Searches the web.
///
/// ```
/// use tool_adapters::providers::openai_responses::tools::WebSearch;
/// use tool_adapters::{Provider, declare};
/// use tool_core::ToolContext;
///
/// let search = WebSearch { allowed_domains: vec!["pubmed.ncbi.nlm.nih.gov".into()], ..WebSearch::default() };
/// let tools = ToolContext::builder().with(search).build()?;
/// assert!(declare(Provider::OpenAiResponses, &tools).json().get().contains("pubmed.ncbi.nlm.nih.gov"));
/// assert!(declare(Provider::Mistral, &tools).is_empty()); // the report lists it as skipped
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "web_search")]
pub struct WebSearch {
    /// The allowed domains with their subdomains, such as `pubmed.ncbi.nlm.nih.gov`. Empty for all.
    #[serde(
        rename = "filters",
        serialize_with = "filters",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub allowed_domains: Vec<String>,
    /// True if pages are fetched, false if results come from a cache. Defaults to true.
    pub external_web_access: Option<bool>,
    /// The share of the context for results. Defaults to medium.
    pub search_context_size: Option<ContextSize>,
    /// The approximate location of the user. Defaults to the United States.
    pub user_location: Option<UserLocation>,
}

fn filters<S: Serializer>(allowed: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    json!({"allowed_domains": allowed}).serialize(serializer)
}

/// Searches files that were uploaded to vector stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "type", rename = "file_search")]
pub struct FileSearch {
    /// The vector stores, at least one.
    pub vector_store_ids: Vec<String>,
    /// A condition on the attributes of files.
    pub filters: Option<Filter>,
    /// The maximum number of results, 1 to 50.
    pub max_num_results: Option<u32>,
    /// The ranking of results.
    #[serde(rename = "ranking_options")]
    pub ranking: Option<Ranking>,
}

impl FileSearch {
    /// Makes a search of these vector stores.
    pub fn new<T: Into<String>>(vector_store_ids: impl IntoIterator<Item = T>) -> Self {
        Self {
            vector_store_ids: vector_store_ids.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

/// A condition on the attributes of a file.
///
/// ```
/// use serde_json::json;
/// use tool_adapters::providers::openai_responses::tools::{Comparison, Filter};
///
/// let recent = Filter::compare("year", Comparison::Gte, 2025).and(Filter::compare("region", Comparison::Eq, "eu"));
/// let expected = json!({"type": "and", "filters": [
///     {"type": "gte", "key": "year", "value": 2025}, {"type": "eq", "key": "region", "value": "eu"},
/// ]});
/// assert_eq!(serde_json::to_value(recent)?, expected);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Filter {
    /// An attribute compared with a value.
    Compare {
        /// The comparison.
        #[serde(rename = "type")]
        how: Comparison,
        /// The attribute.
        key: String,
        /// The value: a text, a number or a boolean, or a list of texts and numbers for `In` and
        /// `Nin`.
        value: Value,
    },
    /// Several conditions.
    Combine {
        /// The combination.
        #[serde(rename = "type")]
        how: Combination,
        /// The conditions.
        filters: Vec<Self>,
    },
}

impl Filter {
    /// Compares an attribute with a value.
    pub fn compare(key: impl Into<String>, how: Comparison, value: impl Into<Value>) -> Self {
        Self::Compare {
            how,
            key: key.into(),
            value: value.into(),
        }
    }

    /// Requires both conditions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::Combine {
            how: Combination::And,
            filters: vec![self, other],
        }
    }

    /// Requires one of the conditions, or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::Combine {
            how: Combination::Or,
            filters: vec![self, other],
        }
    }
}

/// A ranking of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ranking {
    /// The ranker. Defaults to `auto`.
    pub ranker: Option<String>,
    /// The lowest score of results, 0 to 1.
    pub score_threshold: Option<f64>,
    /// The weights of meaning and words.
    pub hybrid_search: Option<HybridSearch>,
}

/// The weights of a search by meaning and by words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HybridSearch {
    /// The weight of meaning.
    pub embedding_weight: f64,
    /// The weight of words.
    pub text_weight: f64,
}
