//! The tools that Anthropic declares and the host runs: a shell, an editor, a memory.

use super::{InputExample, Options, versions};
use serde::Serialize;

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
    pub(super) fn calls(&self) -> Vec<&'static str> {
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

    pub(super) fn calls(&self) -> Vec<&'static str> {
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
    pub(super) fn calls(&self) -> Vec<&'static str> {
        vec!["memory"]
    }
}
