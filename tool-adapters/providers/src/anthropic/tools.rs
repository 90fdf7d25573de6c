//! Anthropic's own tools, for Messages. The version of a tool is a field, which defaults to the
//! newest.
//!
//! ```
//! use serde_json::json;
//! use tool_adapters::Provider;
//! use tool_adapters::providers::anthropic::tools::{WebSearch, WebSearchVersion};
//! use tool_core::ProviderTool;
//!
//! let search = WebSearch { version: WebSearchVersion::V20250305, max_uses: Some(3), ..WebSearch::default() };
//! let expected = json!({"name": "web_search", "type": "web_search_20250305", "max_uses": 3});
//! assert_eq!(search.config(&Provider::Anthropic.id()), Some(expected));
//! ```
//!
//! # Tools that a function answers
//!
//! [`Bash`], [`TextEditor`], [`Memory`], [`Computer`] and [`ComputerToolset`] have a schema that the model was trained
//! on, but Anthropic does not run them: a call of `bash` arrives like any other call, and a
//! function tool of that name answers it. The declarations for Anthropic then have its own `bash`,
//! those for other providers the function tool.
//!
//! ```
//! use tool_adapters::providers::anthropic::tools::Bash;
//! use tool_adapters::{Provider, declare};
//! use tool_core::{ToolContext, tool};
//!
//! /// Run a command in a shell that keeps its state from call to call.
//! ///
//! /// # Parameters
//! /// - `command`: The command to run; not needed for a restart
//! /// - `restart`: True to restart the shell
//! #[tool]
//! fn bash(command: Option<String>, #[arg(default)] restart: bool) -> String {
//!     format!("would run {command:?}, restart: {restart}")
//! }
//!
//! let tools = ToolContext::builder().with(bash).with(Bash::default()).build()?;
//! let declared = declare(Provider::Anthropic, &tools);
//! # let _ = declared;
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```
//!
//! The names are `bash`, `str_replace_based_edit_tool` (`str_replace_editor` in the version of
//! January 2025), `memory`, `computer`, and for the toolset those of its [members](ComputerMember),
//! such as `left_click`.

use crate::provider_tools::{UserLocation, off, provider_tools, versions};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

provider_tools! {
    WebSearch: "web_search" for Anthropic;
    WebFetch: "web_fetch" for Anthropic;
    CodeExecution: "code_execution" for Anthropic;
    Bash: "bash" for Anthropic, answered as |_| vec!["bash"];
    TextEditor: "text_editor" for Anthropic, answered as |editor| vec![editor.version.tool_name()];
    Memory: "memory" for Anthropic, answered as |_| vec!["memory"];
    Computer: "computer" for Anthropic, answered as |_| vec!["computer"];
    ComputerToolset: "computer" for Anthropic, answered as ComputerToolset::calls;
}

/// The options of all of Anthropic's tools.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::providers::anthropic::tools::{CacheControl, CacheTtl, Options, WebSearch};
/// use tool_core::ProviderTool;
///
/// let cache_control = Some(CacheControl { ttl: Some(CacheTtl::Hour) });
/// let search = WebSearch { options: Options { cache_control, ..Options::default() }, ..WebSearch::default() };
/// let config = search.config(&Provider::Anthropic.id()).expect("a tool");
/// assert_eq!(config["cache_control"]["ttl"], "1h");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Options {
    /// The allowed callers. Defaults to the model itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_callers: Vec<Caller>,
    /// A cache breakpoint after this tool.
    pub cache_control: Option<CacheControl>,
    /// True if the model finds the tool by tool search only.
    #[serde(skip_serializing_if = "off")]
    pub defer_loading: bool,
    /// True if calls have to satisfy the schema.
    #[serde(skip_serializing_if = "off")]
    pub strict: bool,
}

/// A caller of a tool.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::providers::anthropic::tools::{Caller, Options, WebSearch};
/// use tool_core::ProviderTool;
///
/// // Only the model's code searches, so that it can filter the results.
/// let options = Options { allowed_callers: vec![Caller::CodeExecution20260521], ..Options::default() };
/// let config = WebSearch { options, ..WebSearch::default() }.config(&Provider::Anthropic.id()).expect("a tool");
/// assert_eq!(config["allowed_callers"][0], "code_execution_20260521");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// The model itself.
    Direct,
    /// The model's code in the code execution tool of August 2025.
    #[serde(rename = "code_execution_20250825")]
    CodeExecution20250825,
    /// The model's code in the version of January 2026.
    #[serde(rename = "code_execution_20260120")]
    CodeExecution20260120,
    /// The model's code in the version of May 2026.
    #[serde(rename = "code_execution_20260521")]
    CodeExecution20260521,
}

/// A cache breakpoint: the prompt is cached up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
pub struct CacheControl {
    /// The lifetime. Defaults to five minutes.
    pub ttl: Option<CacheTtl>,
}

/// The lifetime of a cached prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CacheTtl {
    /// Five minutes.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour.
    #[serde(rename = "1h")]
    Hour,
}

/// An example of a call's input.
pub type InputExample = Map<String, Value>;

versions! {
    /// The versions of [`Bash`].
    BashVersion { V20250124 = "bash_20250124" }
    /// The versions of [`TextEditor`].
    TextEditorVersion {
        V20250728 = "text_editor_20250728", V20250429 = "text_editor_20250429", V20250124 = "text_editor_20250124"
    }
    /// The versions of [`Memory`].
    MemoryVersion { V20250818 = "memory_20250818" }
}

/// A shell that keeps its state: `bash` with `command`, or `restart`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "name", rename = "bash")]
pub struct Bash {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: BashVersion,
    /// Examples of inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<InputExample>,
    /// The options of all of Anthropic's tools.
    #[serde(flatten)]
    pub options: Options,
}

/// Views and edits files: `command` is `view`, `create`, `str_replace` or `insert`, `path` is the
/// file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TextEditor {
    /// The version. Defaults to the newest.
    #[serde(flatten, serialize_with = "name_and_version")]
    pub version: TextEditorVersion,
    /// The maximum number of characters that `view` shows. Defaults to all. From `V20250728` on.
    pub max_characters: Option<u32>,
    /// Examples of inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<InputExample>,
    /// The options of all of Anthropic's tools.
    #[serde(flatten)]
    pub options: Options,
}

impl TextEditorVersion {
    fn tool_name(self) -> &'static str {
        match self {
            Self::V20250124 => "str_replace_editor",
            Self::V20250429 | Self::V20250728 => "str_replace_based_edit_tool",
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
fn name_and_version<S: Serializer>(
    version: &TextEditorVersion,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    json!({"name": version.tool_name(), "type": version}).serialize(serializer)
}

/// Files under `/memories` that outlast the conversation: `command` is `view`, `create`,
/// `str_replace`, `insert`, `delete` or `rename`. Refuse paths outside of that folder, as a prompt
/// may make the model try them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "name", rename = "memory")]
pub struct Memory {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: MemoryVersion,
    /// Examples of inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<InputExample>,
    /// The options of all of Anthropic's tools.
    #[serde(flatten)]
    pub options: Options,
}

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
///
/// ```
/// use tool_adapters::providers::anthropic::tools::WebSearch;
/// use tool_adapters::{Provider, declare};
/// use tool_core::ToolContext;
///
/// let search = WebSearch { max_uses: Some(3), blocked_domains: vec!["spam.example".into()], ..WebSearch::default() };
/// let tools = ToolContext::builder().with(search).build()?;
/// assert!(declare(Provider::Anthropic, &tools).json().get().contains(r#""max_uses":3"#));
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename = "web_search")]
pub struct WebSearch {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: WebSearchVersion,
    /// The allowed domains. Empty for all. Excludes `blocked_domains`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// The domains that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
    /// The maximum number of uses in one request.
    pub max_uses: Option<u32>,
    /// The form of results that code has consumed. From `V20260318` on.
    pub response_inclusion: Option<ResponseInclusion>,
    /// The approximate location of the user.
    pub user_location: Option<UserLocation>,
    /// The options of all of Anthropic's tools.
    #[serde(flatten)]
    pub options: Options,
}

/// The form of results that code has consumed. Defaults to the full results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseInclusion {
    /// The full results.
    Full,
    /// No results.
    Excluded,
}

/// Fetches pages whose addresses are in the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename = "web_fetch")]
pub struct WebFetch {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: WebFetchVersion,
    /// The allowed domains. Empty for all. Excludes `blocked_domains`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// The domains that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
    /// True if the model cites the pages. Defaults to false.
    #[serde(serialize_with = "enabled", skip_serializing_if = "off")]
    pub citations: bool,
    /// The approximate maximum of tokens of a page's text. PDF files are not limited.
    pub max_content_tokens: Option<u32>,
    /// The maximum number of uses in one request.
    pub max_uses: Option<u32>,
    /// The form of results that code has consumed. From `V20260318` on.
    pub response_inclusion: Option<ResponseInclusion>,
    /// True if pages may come from a cache. From `V20260309` on.
    pub use_cache: Option<bool>,
    /// The options of all of Anthropic's tools.
    #[serde(flatten)]
    pub options: Options,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands it a reference
fn enabled<S: Serializer>(on: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    json!({"enabled": on}).serialize(serializer)
}

/// Runs code that the model writes, in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename = "code_execution")]
pub struct CodeExecution {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: CodeExecutionVersion,
    /// The options of all of Anthropic's tools.
    #[serde(flatten)]
    pub options: Options,
}

versions! {
    /// The versions of [`Computer`]. They are beta: the request needs the header `anthropic-beta`
    /// of the version.
    ComputerVersion { V20251124 = "computer_20251124", V20250124 = "computer_20250124" }
    /// The versions of [`ComputerToolset`].
    ComputerToolsetVersion { V20260801 = "computer_toolset_20260801" }
}

/// Uses a computer by one tool, `computer`, with an `action`. For models before August 2026. Later
/// models accept
/// [`ComputerToolset`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "name", rename = "computer")]
pub struct Computer {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: ComputerVersion,
    /// The width in pixels.
    pub display_width_px: u32,
    /// The height in pixels.
    pub display_height_px: u32,
    /// The number of the X11 display.
    pub display_number: Option<u32>,
    /// True if the model may zoom into a part of the screen. From `V20251124` on.
    #[serde(skip_serializing_if = "off")]
    pub enable_zoom: bool,
    /// Examples of inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<InputExample>,
    /// The options of all of Anthropic's tools.
    #[serde(flatten)]
    pub options: Options,
}

impl Computer {
    /// Makes the tool for a display of this size in pixels.
    pub fn new(width: u32, height: u32) -> Self {
        Self {
            version: ComputerVersion::default(),
            display_width_px: width,
            display_height_px: height,
            display_number: None,
            enable_zoom: false,
            input_examples: Vec::new(),
            options: Options::default(),
        }
    }
}

/// Uses a computer by a tool for each kind of action: calls have names such as `left_click`,
/// `screenshot` and `type`.
///
/// ```
/// use serde_json::json;
/// use tool_adapters::providers::anthropic::tools::{ComputerMember, ComputerToolset};
/// use tool_core::ProviderTool;
/// use tool_core::tool::ProviderId;
///
/// let computer = ComputerToolset { disabled: vec![ComputerMember::Zoom], ..ComputerToolset::default() };
/// let expected = json!({"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": false}}});
/// assert_eq!(computer.config(&ProviderId::new("anthropic")), Some(expected));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ComputerToolset {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: ComputerToolsetVersion,
    /// The members that are not offered to the model.
    #[serde(
        rename = "configs",
        serialize_with = "withheld",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub disabled: Vec<ComputerMember>,
    /// A cache breakpoint after this tool.
    pub cache_control: Option<CacheControl>,
}

impl ComputerToolset {
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        let offered = ComputerMember::ALL
            .iter()
            .filter(|member| !self.disabled.contains(member));
        offered.map(|member| member.name()).collect()
    }
}

fn withheld<S: Serializer>(members: &[ComputerMember], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        members
            .iter()
            .map(|member| (member.name(), json!({"enabled": false}))),
    )
}

/// Declares the members and their names.
macro_rules! members {
    ($($variant:ident = $name:literal,)+) => {
        /// An action of [`ComputerToolset`]. Calls have its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ComputerMember {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl ComputerMember {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name of calls.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

members! {
    CursorPosition = "cursor_position",
    DoubleClick = "double_click",
    HoldKey = "hold_key",
    Key = "key",
    LeftClick = "left_click",
    LeftClickDrag = "left_click_drag",
    LeftMouseDown = "left_mouse_down",
    LeftMouseUp = "left_mouse_up",
    MiddleClick = "middle_click",
    MouseMove = "mouse_move",
    RightClick = "right_click",
    Screenshot = "screenshot",
    Scroll = "scroll",
    TripleClick = "triple_click",
    Type = "type",
    Wait = "wait",
    Zoom = "zoom",
}
