//! Anthropic's own tools, for Messages. Their type names are dated: the version is a field, the newest unless told.
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
//! # Tools that are answered here
//!
//! [`Bash`], [`TextEditor`], [`Memory`], [`Computer`] and [`ComputerToolset`] have a schema that the model was trained
//! on, but Anthropic does not run them: a call of `bash` comes as any other call. A function tool of that name answers
//! it. Anthropic is then told of its own `bash` and not of ours; all other providers are told of ours.
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
//! /// - `restart`: Whether to start the shell anew
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
//! The names are `bash`, `str_replace_based_edit_tool` (`str_replace_editor` in the version of January 2025), `memory`,
//! `computer`, and for the toolset those of its [members](ComputerMember), such as `left_click`.

pub use crate::providers::anthropic::computer::{
    Computer, ComputerMember, ComputerToolset, ComputerToolsetVersion, ComputerVersion,
};
use crate::providers::provider_tools::{UserLocation, off, provider_tools, versions};
use serde::Serialize;
use serde_json::{Map, Value};

provider_tools! {
    WebSearch: "web_search" for Anthropic;
    WebFetch: "web_fetch" for Anthropic;
    CodeExecution: "code_execution" for Anthropic;
    Bash: "bash" for Anthropic, answered as Bash::calls;
    TextEditor: "text_editor" for Anthropic, answered as TextEditor::calls;
    Memory: "memory" for Anthropic, answered as Memory::calls;
    Computer: "computer" for Anthropic, answered as Computer::calls;
    ComputerToolset: "computer" for Anthropic, answered as ComputerToolset::calls;
}

/// What all of Anthropic's tools take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Who may call it; the model directly unless told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_callers: Vec<Caller>,
    /// Whether the prompt is cached up to and with this tool, and for how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// Whether it is found by tool search instead of being listed at once.
    #[serde(skip_serializing_if = "off")]
    pub defer_loading: bool,
    /// Whether calls are held to the schema.
    #[serde(skip_serializing_if = "off")]
    pub strict: bool,
}

/// Who calls a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// The model.
    Direct,
    /// Code of the model, in the code execution tool of that version.
    #[serde(rename = "code_execution_20250825")]
    CodeExecution20250825,
    /// The same, in the version of January 2026.
    #[serde(rename = "code_execution_20260120")]
    CodeExecution20260120,
    /// The same, in the version of May 2026.
    #[serde(rename = "code_execution_20260521")]
    CodeExecution20260521,
}

/// A point up to which the prompt is cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
pub struct CacheControl {
    /// For how long; five minutes unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<CacheTtl>,
}

/// How long a prompt is cached.
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

// ---- The tools that Anthropic declares and the host runs: a shell, an editor, a memory.

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
    /// The newest unless told.
    #[serde(rename = "type")]
    pub version: BashVersion,
    /// Calls as they should be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<InputExample>,
    /// What all of Anthropic's tools take.
    #[serde(flatten)]
    pub options: Options,
}

impl Bash {
    #[allow(clippy::unused_self)] // as the others
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        vec!["bash"]
    }
}

/// Views and edits files: `command` is `view`, `create`, `str_replace` or `insert`, `path` is the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(into = "NamedEditor")]
pub struct TextEditor {
    /// The newest unless told.
    pub version: TextEditorVersion,
    /// From `V20250728` on: the characters of a file that `view` shows; all unless told.
    pub max_characters: Option<u32>,
    /// Calls as they should be.
    pub input_examples: Vec<InputExample>,
    /// What all of Anthropic's tools take.
    pub options: Options,
}

impl TextEditor {
    fn name(&self) -> &'static str {
        match self.version {
            TextEditorVersion::V20250124 => "str_replace_editor",
            TextEditorVersion::V20250429 | TextEditorVersion::V20250728 => "str_replace_based_edit_tool",
        }
    }

    pub(crate) fn calls(&self) -> Vec<&'static str> {
        vec![self.name()]
    }
}

#[derive(Serialize)]
struct NamedEditor {
    name: &'static str,
    #[serde(rename = "type")]
    version: TextEditorVersion,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_characters: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    input_examples: Vec<InputExample>,
    #[serde(flatten)]
    options: Options,
}

impl From<TextEditor> for NamedEditor {
    fn from(editor: TextEditor) -> Self {
        let name = editor.name();
        let TextEditor { version, max_characters, input_examples, options } = editor;
        Self { name, version, max_characters, input_examples, options }
    }
}

/// Files under `/memories` that outlast the conversation: `command` is `view`, `create`, `str_replace`, `insert`,
/// `delete` or `rename`. Hold the paths to that folder: a model may be talked into others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "name", rename = "memory")]
pub struct Memory {
    /// The newest unless told.
    #[serde(rename = "type")]
    pub version: MemoryVersion,
    /// Calls as they should be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<InputExample>,
    /// What all of Anthropic's tools take.
    #[serde(flatten)]
    pub options: Options,
}

impl Memory {
    #[allow(clippy::unused_self)] // as the others
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        vec!["memory"]
    }
}

// ---- The tools that Anthropic runs.

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
    #[serde(serialize_with = "enabled", skip_serializing_if = "off")]
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
