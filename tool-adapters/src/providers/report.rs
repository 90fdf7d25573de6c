//! What became of tools on their way into a provider's form.

use crate::providers::provider::Provider;
use serde::Serialize;
use std::fmt;

/// What was dropped, weakened, renamed and refused, tool by tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// The provider.
    pub provider: Provider,
    /// The function tools, in the order of the context; those that were refused too.
    pub tools: Vec<ToolReport>,
    /// The ids of the provider tools that were left out, and why.
    pub skipped: Vec<Skipped>,
    /// What holds for the request as a whole: too many tools, kinds that do not mix.
    pub warnings: Vec<String>,
}

/// What became of one tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolReport {
    /// The tool's name.
    pub tool: String,
    /// The name that the provider knows it by; `None` where it is not declared.
    pub declared_as: Option<String>,
    /// Whether it is declared strict.
    pub strict: bool,
    /// Why it is not strict although it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_strict: Option<NotStrict>,
    /// Why it is not declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
    /// What the projection changed, in the order of the schema.
    pub changes: Vec<Change>,
    /// About what the declaration costs a model to read, in tokens: a quarter of its characters.
    pub tokens: usize,
}

/// A keyword that does not stand in the projection as it stands in the schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Change {
    /// Where the schema has the keyword, as a JSON pointer to the schema that holds it.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// What became of it.
    pub kind: ChangeKind,
    /// What it became, or what is lost, in words.
    pub detail: String,
}

/// What became of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ChangeKind {
    /// It says the same in another form: nothing is lost.
    Rewritten,
    /// The model reads it in the description; the provider does not enforce it.
    Described,
    /// What stands in its place accepts more.
    Weakened,
    /// Nothing stands in its place.
    Dropped,
    /// Strict: an object that says nothing of further properties takes none.
    Closed,
}

/// Why a tool cannot be declared to a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
#[non_exhaustive]
pub enum Refusal {
    /// A parameter has a name that the provider does not take.
    PropertyName {
        /// Where it is declared.
        pointer: String,
        /// The parameter.
        name: String,
        /// What the provider takes.
        allowed: &'static str,
    },
    /// The root accepts no object.
    NoObject,
    /// The schema accepts nothing, so there is no call of it.
    Unsatisfiable {
        /// The schema that nothing satisfies.
        pointer: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PropertyName { pointer, name, allowed } => {
                write!(f, "the parameter `{}` at `{pointer}` has to match {allowed}", name.escape_debug())
            }
            Self::NoObject => f.write_str("its parameters accept no object"),
            Self::Unsatisfiable { pointer } => write!(f, "nothing satisfies the schema at `{pointer}`"),
        }
    }
}

/// Why a tool is declared, but not strict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
#[non_exhaustive]
pub enum NotStrict {
    /// The provider has no strict form.
    Unsupported,
    /// An object takes properties that it does not name; closing it would lose them.
    OpenObject {
        /// The object.
        pointer: String,
    },
    /// The provider wants a type where the schema accepts anything.
    Untyped {
        /// The schema.
        pointer: String,
    },
    /// The schema refers to itself.
    Recursive {
        /// The reference.
        pointer: String,
    },
    /// A keyword has no strict form, and leaving it out would change what a value means.
    Keyword {
        /// The schema that holds it.
        pointer: String,
        /// The keyword.
        keyword: String,
    },
    /// A limit of the provider, on the tool or on the request.
    Limit {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// No parameter is required, and the provider wants one that is.
    NothingRequired,
    /// The provider is strict for all tools of a request or for none, and another tool cannot be.
    OtherTool {
        /// That tool.
        tool: String,
    },
}

impl fmt::Display for NotStrict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str("the provider has no strict form"),
            Self::OpenObject { pointer } => {
                write!(f, "the object at `{pointer}` takes properties that it does not name")
            }
            Self::Untyped { pointer } => write!(f, "the schema at `{pointer}` has no type"),
            Self::Recursive { pointer } => write!(f, "the schema at `{pointer}` refers to itself"),
            Self::Keyword { pointer, keyword } => write!(f, "`{keyword}` at `{pointer}` has no strict form"),
            Self::Limit { what, found, most } => write!(f, "{found} {what}, and at most {most} are allowed"),
            Self::NothingRequired => f.write_str("no parameter is required, and at least one has to be"),
            Self::OtherTool { tool } => write!(f, "`{}` cannot be strict, and all have to be", tool.escape_debug()),
        }
    }
}

/// A provider tool that is not declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Skipped {
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: String,
}
