//! Anthropic's own tools, for Messages. Their type names are dated: the version is a field, the newest unless told.
//!
//! ```
//! use serde_json::json;
//! use tool_adapters::Provider;
//! use tool_adapters::provider_tools::anthropic::{WebSearch, WebSearchVersion};
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
//! use tool_adapters::provider_tools::anthropic::Bash;
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

mod client;
mod computer;
mod server;

pub use client::{Bash, BashVersion, Memory, MemoryVersion, TextEditor, TextEditorVersion};
pub use computer::{Computer, ComputerMember, ComputerToolset, ComputerToolsetVersion, ComputerVersion};
pub use server::{
    CodeExecution, CodeExecutionVersion, ResponseInclusion, WebFetch, WebFetchVersion, WebSearch, WebSearchVersion,
};

use super::off;
use serde::Serialize;
use serde_json::{Map, Value};

super::provider_tools! {
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

/// Declares the versions of a tool, the newest first.
macro_rules! versions {
    ($($(#[$doc:meta])* $name:ident { $newest:ident = $last:literal $(, $variant:ident = $sent:literal)* })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        #[non_exhaustive]
        pub enum $name {
            #[doc = concat!("`", $last, "`, the newest.")]
            #[serde(rename = $last)]
            #[default]
            $newest,
            $(#[doc = concat!("`", $sent, "`.")]
            #[serde(rename = $sent)]
            $variant,)*
        })+
    };
}
use versions;
