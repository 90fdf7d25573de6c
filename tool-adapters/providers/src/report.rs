//! Reports on the way of tools into a provider's form.

use crate::Provider;
use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::Serialize;
use thiserror::Error;

/// The report on a declaration, tool by tool.
///
/// ```
/// use tool_adapters::{Provider, declare};
/// use tool_core::{ToolContext, tool};
///
/// /// Reserve a table.
/// #[tool]
/// fn reserve(#[arg(format = "email")] guest: &str) -> String {
///     guest.to_owned()
/// }
///
/// let tools = ToolContext::builder().with(reserve).build()?;
/// let declared = declare(Provider::Gemini, &tools);
/// for tool in &declared.report().tools {
///     println!("{}: about {} tokens", tool.tool, tool.tokens);
///     for change in &tool.changes {
///         println!("  `{}` at `{}`: {:?}, {}", change.keyword, change.pointer, change.kind, change.detail);
///     }
///     assert_eq!(tool.refused, None);
/// }
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// The provider.
    pub provider: Provider,
    /// The function tools in the order of the context, refused ones too.
    pub tools: Vec<ToolReport>,
    /// The provider tools that are left out.
    pub skipped: Vec<Skipped>,
    /// Warnings about the request as a whole, such as too many tools.
    pub warnings: Vec<String>,
}

/// The report on one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolReport {
    /// The tool's name.
    pub tool: String,
    /// The tool's name at the provider; `None` for a tool that is not declared.
    pub declared_as: Option<String>,
    /// True if the tool is declared as strict.
    pub strict: bool,
    /// The reason for which a tool is not strict although [`strict`](crate::DeclareOptions::strict)
    /// is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_strict: Option<NotStrict>,
    /// The reason for which the tool is not declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
    /// The changes of the schema, in its order.
    pub changes: Vec<Change>,
    /// An estimate of the tokens of the declaration: a quarter of its characters.
    pub tokens: usize,
}

impl ToolReport {
    /// The report on a tool without a declaration of its own.
    pub(crate) fn new(tool: &str, declared_as: Option<&str>) -> Self {
        let declared_as = declared_as.map(str::to_owned);
        Self {
            tool: tool.to_owned(),
            declared_as,
            ..Self::default()
        }
    }
}

/// A keyword that is not in the projected schema as it is in the tool's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Change {
    /// The JSON pointer to the schema that has the keyword.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// The kind of change.
    pub kind: ChangeKind,
    /// A sentence about the new form, or about what is lost.
    pub detail: String,
}

/// The kinds of changes.
///
/// ```
/// use tool_adapters::providers::report::ChangeKind;
/// use tool_adapters::{Provider, declare};
/// use tool_core::{ToolContext, tool};
///
/// /// Reserve a table.
/// #[tool]
/// fn reserve(#[arg(pattern = "^[A-Z]{3}$")] code: &str) -> String {
///     code.to_owned()
/// }
///
/// let tools = ToolContext::builder().with(reserve).build()?;
/// let declared = declare(Provider::Ollama, &tools);
/// let changes = &declared.report().tools[0].changes;
/// let pattern = changes.iter().find(|change| change.keyword == "pattern").expect("a change");
/// assert_eq!((pattern.kind, &*pattern.pointer), (ChangeKind::Described, "/properties/code"));
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The keyword has another form with the same meaning.
    Rewritten,
    /// A strict schema closes an object that does not mention further properties.
    Closed,
    /// The description tells the model about the keyword. The provider does not enforce it.
    Described,
    /// The new form accepts more values.
    Weakened,
    /// Nothing replaces the keyword.
    Dropped,
}

/// Collects the changes of a projection.
#[derive(Default)]
pub(crate) struct ChangeLog(IndexMap<(String, String), Change>);

impl ChangeLog {
    /// Adds a change. A keyword that is changed several times has the change that loses most.
    pub(crate) fn add(
        &mut self,
        pointer: &str,
        keyword: &str,
        kind: ChangeKind,
        detail: impl Into<String>,
    ) {
        let pointer = pointer.to_owned();
        let keyword = keyword.to_owned();
        match self.0.entry((pointer.clone(), keyword.clone())) {
            Entry::Occupied(known) if known.get().kind >= kind => {}
            entry => {
                _ = entry.insert_entry(Change {
                    pointer,
                    keyword,
                    kind,
                    detail: detail.into(),
                });
            }
        }
    }

    pub(crate) fn rewritten(&mut self, pointer: &str, keyword: &str, detail: impl Into<String>) {
        self.add(pointer, keyword, ChangeKind::Rewritten, detail);
    }

    pub(crate) fn described(&mut self, pointer: &str, keyword: &str, detail: impl Into<String>) {
        self.add(pointer, keyword, ChangeKind::Described, detail);
    }

    pub(crate) fn weakened(&mut self, pointer: &str, keyword: &str, detail: impl Into<String>) {
        self.add(pointer, keyword, ChangeKind::Weakened, detail);
    }

    pub(crate) fn dropped(&mut self, pointer: &str, keyword: &str, detail: impl Into<String>) {
        self.add(pointer, keyword, ChangeKind::Dropped, detail);
    }

    /// Returns one change for each keyword, in the order of the projection.
    pub(crate) fn finish(self) -> Vec<Change> {
        self.0.into_values().collect()
    }
}

/// The reason for which a tool cannot be declared to a provider.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
#[non_exhaustive]
pub enum Refusal {
    /// The provider does not accept the name of a parameter.
    #[error("the parameter `{}` at `{pointer}` has to match {allowed}", name.escape_debug())]
    PropertyName {
        /// The pointer to the schema that declares the parameter.
        pointer: String,
        /// The parameter.
        name: String,
        /// A pattern of the names that the provider accepts.
        allowed: &'static str,
    },
    /// The root accepts no object.
    #[error("the tool's parameters accept no object")]
    NoObject,
    /// The schema accepts no value.
    #[error("no value satisfies the schema at `{pointer}`")]
    Unsatisfiable {
        /// The pointer to the schema.
        pointer: String,
    },
}

/// The reason for which a tool is declared, but not as strict.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
#[non_exhaustive]
pub enum NotStrict {
    /// The provider has no strict form.
    #[error("the provider has no strict form")]
    Unsupported,
    /// An object accepts properties that it does not name, and a strict schema would lose them.
    #[error("the object at `{pointer}` accepts properties that it does not name")]
    OpenObject {
        /// The pointer to the object.
        pointer: String,
    },
    /// A schema accepts values of any type, and the provider requires a type.
    #[error("the schema at `{pointer}` has no type")]
    Untyped {
        /// The pointer to the schema.
        pointer: String,
    },
    /// The schema refers to itself.
    #[error("the schema at `{pointer}` refers to itself")]
    Recursive {
        /// The pointer to the reference.
        pointer: String,
    },
    /// A keyword has no strict form, and the schema would have another meaning without it.
    #[error("`{keyword}` at `{pointer}` has no strict form")]
    Keyword {
        /// The pointer to the schema that has the keyword.
        pointer: String,
        /// The keyword.
        keyword: String,
    },
    /// The tool or the request exceeds a limit of the provider.
    #[error("{found} {what}, but at most {most} are allowed")]
    Limit {
        /// The things that are counted.
        what: &'static str,
        /// Their number.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// The provider requires a required parameter, and there is none.
    #[error("at least one parameter has to be required")]
    NothingRequired,
    /// The provider treats all tools of a request alike, and another tool cannot be strict.
    #[error("`{}` cannot be strict, and the provider requires it of all tools", tool.escape_debug())]
    OtherTool {
        /// The other tool.
        tool: String,
    },
}

/// A provider tool that is not declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Skipped {
    /// The tool's id.
    pub id: String,
    /// The reason, as a sentence.
    pub reason: String,
}
