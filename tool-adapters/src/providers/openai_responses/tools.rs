//! OpenAI's own tools, for Responses; [`RemoteMcp`] for Realtime too. Chat Completions has none.
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
//! [`Computer`] is answered by the host and not by a function tool: its calls are items of the type `computer_call`.

pub use crate::providers::openai_responses::file_search::{
    Combination, Comparison, FileSearch, Filter, HybridSearch, Ranking,
};
use crate::providers::provider_tools::{Secret, UserLocation, off, provider_tools};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

provider_tools! {
    WebSearch: "web_search" for OpenAiResponses;
    FileSearch: "file_search" for OpenAiResponses;
    CodeInterpreter: "code_interpreter" for OpenAiResponses;
    Computer: "computer" for OpenAiResponses;
    ComputerUsePreview: "computer_use_preview" for OpenAiResponses;
    ImageGeneration: "image_generation" for OpenAiResponses;
    RemoteMcp: "mcp" for OpenAiResponses | OpenAiRealtime;
}

// ---- OpenAI's computer use.

/// Has the model work a computer: it sends actions as `computer_call` items, and the host sends screenshots back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "computer")]
pub struct Computer {}

/// The form that the model `computer-use-preview` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "computer_use_preview")]
pub struct ComputerUsePreview {
    /// In pixels.
    pub display_width: u32,
    /// In pixels.
    pub display_height: u32,
    /// What runs on it.
    pub environment: Environment,
}

/// What runs on a computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // they say it themselves
pub enum Environment {
    Windows,
    Mac,
    Linux,
    Ubuntu,
    Browser,
}

// ---- OpenAI's image generation.

/// Makes and edits images. All is left to the provider unless told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "image_generation")]
pub struct ImageGeneration {
    /// Whether an image is made or edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ImageAction>,
    /// What stands behind the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// How closely faces and style of input images are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_fidelity: Option<InputFidelity>,
    /// Where an image is edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_image_mask: Option<Mask>,
    /// The image model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How strictly images are moderated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moderation: Option<Moderation>,
    /// 0 to 100, for JPEG and WebP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_compression: Option<u8>,
    /// PNG unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_format: Option<ImageFormat>,
    /// 0 to 3: the unfinished images that are sent while streaming.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_images: Option<u8>,
    /// How much work is put into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<ImageQuality>,
    /// `auto`, or width x height in pixels, such as `1536x1024`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
}

/// Where an image is edited: the transparent places of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// An uploaded file.
    FileId(String),
    /// A `data:` URL.
    ImageUrl(String),
}

/// Declares enums whose variants are sent by their names in lower case.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident),+ })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "lowercase")]
        #[allow(missing_docs)] // they say it themselves
        pub enum $name { $($variant),+ })+
    };
}

words! {
    /// Whether an image is made or edited.
    ImageAction { Generate, Edit, Auto }
    /// What stands behind an image.
    Background { Transparent, Opaque, Auto }
    /// How closely input images are kept.
    InputFidelity { Low, High }
    /// How strictly images are moderated.
    Moderation { Low, Auto }
    /// The format of an image.
    ImageFormat { Png, Webp, Jpeg, Gif, Svg }
    /// How much work is put into an image. `Xhigh` and `Max` are for the newer models.
    ImageQuality { Low, Medium, High, Xhigh, Max, Auto }
}

// ---- OpenAI's code interpreter.

/// Runs Python that the model writes, in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "code_interpreter")]
pub struct CodeInterpreter {
    /// Where it runs; in a container of its own unless told.
    pub container: Container,
}

/// Where code runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Container {
    /// In the container of this id.
    Id(String),
    /// In one that is made for it.
    Auto(AutoContainer),
}

impl Default for Container {
    fn default() -> Self {
        Self::Auto(AutoContainer::default())
    }
}

/// A container that is made for the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "auto")]
pub struct AutoContainer {
    /// The uploaded files that the code can read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_ids: Vec<String>,
    /// How much memory it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<MemoryLimit>,
    /// What of the network it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// What of the network a container reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum NetworkPolicy {
    /// Nothing.
    Disabled,
    /// Some domains.
    Allowlist {
        /// Which.
        allowed_domains: Vec<String>,
    },
}

// ---- A server of the Model Context Protocol that OpenAI calls itself.

/// Has the provider list and call the tools of a remote MCP server. What it called comes back among the items.
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

// ---- OpenAI's web search.

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
