//! What is known of a tool: what the model reads, and what the runtime goes by.

use crate::call::mode::Modes;
use crate::text::Name;
use crate::tool::body::Definition;
use crate::tool::guide::Guide;
use crate::tool::options::{Category, Confirm, DuplicateScope, OnDuplicate, ToolAnnotations};
use crate::tool::spec::ToolFacts;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What the model and the runtime know of a tool.
///
/// Cheap to clone. A derived toolset gives a tool another name; all else is shared.
#[derive(Clone)]
pub struct ToolDefinition {
    pub(crate) name: Name,
    pub(crate) body: Arc<Definition>,
}

/// Where a tool stands in the source, as `file:line`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// As the compiler names the file.
    pub file: &'static str,
    /// Counted from 1.
    pub line: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl ToolDefinition {
    pub(crate) fn of_facts(facts: &ToolFacts, defaults: &[(usize, Value)], prefix: Option<&str>) -> Self {
        let name = match prefix {
            None => Name::Static(facts.name),
            Some(prefix) => format!("{prefix}_{}", facts.name).into(),
        };
        Self { name, body: Arc::new(Definition::of_facts(facts, defaults)) }
    }

    /// Whether both are the same definition under the same name, so that what was made of the one holds for the other.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.body, &other.body) && self.name() == other.name()
    }

    /// The name by which the model calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the model reads: the doc text without its lists of parameters, errors and examples.
    pub fn description(&self) -> &str {
        &self.body.description
    }

    /// A name for people.
    pub fn title(&self) -> Option<&str> {
        self.body.title.as_deref()
    }

    /// The JSON Schema of the arguments, draft 2020-12: what is published is what is enforced.
    pub fn parameters(&self) -> &Value {
        &self.body.schema.value
    }

    /// The same as compact JSON, parameters in the order of the signature, what flattened types add by name.
    pub fn parameters_json(&self) -> &str {
        &self.body.schema.text
    }

    /// The JSON Schema of the result, where its type has one.
    pub fn output(&self) -> Option<&Value> {
        self.body.output.as_ref()
    }

    /// What the tool is for.
    pub fn category(&self) -> Category {
        self.body.category
    }

    /// Where it may be called.
    pub fn modes(&self) -> Modes {
        self.body.modes
    }

    /// Its yes-or-no options.
    pub fn flags(&self) -> ToolAnnotations {
        self.body.flags
    }

    /// Whether a call waits for a person's word.
    pub fn confirm(&self) -> Confirm {
        self.body.confirm
    }

    /// How long a call may take, where the tool says so.
    pub fn timeout(&self) -> Option<Duration> {
        self.body.timeout
    }

    /// What happens to a call while another runs.
    pub fn on_duplicate(&self) -> OnDuplicate {
        self.body.on_duplicate
    }

    /// Which calls count as duplicates.
    pub fn duplicate_scope(&self) -> DuplicateScope {
        self.body.duplicate_scope
    }

    /// The Unicode scalars that a result may have, where the tool says so.
    pub fn max_output(&self) -> Option<usize> {
        self.body.max_output
    }

    /// The calls a turn may make of it, where the tool says so.
    pub fn max_calls(&self) -> Option<u32> {
        self.body.max_calls
    }

    /// The guide: how to use the tool well, at more length than a description.
    pub fn guide(&self) -> Option<&Guide> {
        self.body.guide.as_ref()
    }

    /// What the `# Returns` section says.
    pub fn returns(&self) -> Option<&str> {
        self.body.returns
    }

    /// Where it stands in the source; for a raw tool, where it was made.
    pub fn source(&self) -> SourceLocation {
        SourceLocation { file: self.body.place.file, line: self.body.place.line }
    }

    /// The Rust path of the method, empty for a raw tool.
    pub fn path(&self) -> &'static str {
        self.body.place.path
    }

    /// Whether the schema was given at run time.
    pub fn is_raw(&self) -> bool {
        self.body.raw
    }

    /// Parameter names in the order of the signature, without what flattened types add; empty for a raw tool.
    pub fn parameter_order(&self) -> &[&'static str] {
        &self.body.order
    }

    /// About what the declaration costs a model to read, in tokens: a quarter of its characters.
    pub fn token_estimate(&self) -> usize {
        (self.name.len() + self.description().chars().count() + self.parameters_json().chars().count()).div_ceil(4)
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition")
            .field("name", &self.name)
            .field("description", &self.body.description)
            .field("parameters", &self.body.schema.text)
            .field("source", &self.source())
            .finish_non_exhaustive()
    }
}

// ---- Names of tools: which are allowed, and which collide.

/// What is wrong with a macro tool's name, if anything: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`.
pub(crate) fn check_name(name: &str) -> Option<String> {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    (!first || !rest || name.len() > 64).then(|| {
        format!(
            "invalid tool name `{}`: names are 1-64 of `A-Z a-z 0-9 _ -` and begin with a letter or `_`",
            name.escape_debug()
        )
    })
}

/// What is wrong with a raw tool's name, if anything: `^[A-Za-z0-9_.:/-]{1,128}$`.
pub(crate) fn check_raw_name(name: &str) -> Option<String> {
    let sound = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte));
    (!sound || name.is_empty() || name.len() > 128)
        .then(|| format!("invalid raw tool name `{}`: names are 1-128 of `A-Z a-z 0-9 _ . : / -`", name.escape_debug()))
}

/// The form in which two names are the same to a provider or to a reader.
pub(crate) fn normalised(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '-' | '.' | ':' | '/' | ' ' => '_',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}
