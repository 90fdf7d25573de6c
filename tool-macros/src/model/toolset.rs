//! Toolsets, tools and their parameters.

use proc_macro2::{Ident, Span};
use syn::{Attribute, Type};

use super::parameter::{Argument, ModelText};
use crate::attr::agent::AgentOptions;
use crate::attr::tool::{ItemKind, ItemOptions};
use crate::attr::toolset::ToolsetOptions;
use crate::docs::DocArgument;
use crate::input::{FunctionItem, ImplBlock};

/// A name for the model, and the place for errors about it.
pub(crate) struct SpannedName {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A toolset: `#[toolset] impl T`.
pub(crate) struct Toolset<'a> {
    pub(crate) block: &'a ImplBlock,
    pub(crate) options: ToolsetOptions,
    pub(crate) name: SpannedName,
    pub(crate) description: Option<ModelText>,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) setup: Vec<&'a FunctionItem>,
    pub(crate) close: Vec<&'a FunctionItem>,
}

/// A tool: `#[tool] fn`.
pub(crate) struct Tool<'a> {
    pub(crate) kind: ItemKind,
    pub(crate) function: &'a FunctionItem,
    pub(crate) options: ItemOptions,
    pub(crate) name: SpannedName,
    pub(crate) description: Option<ModelText>,
    pub(crate) returns: Option<ModelText>,
    /// The items of the `# Arguments` list.
    pub(crate) described: Vec<DocArgument>,
    pub(crate) parameters: Vec<Parameter<'a>>,
    /// The `#[agent]` on the same function.
    pub(crate) agent: Option<AgentAttribute<'a>>,
}

/// `#[agent]` beside `#[tool]`.
pub(crate) struct AgentAttribute<'a> {
    pub(crate) attr: &'a Attribute,
    pub(crate) options: AgentOptions,
}

/// A parameter of the function.
pub(crate) enum Parameter<'a> {
    /// A value that the run provides. It is not part of the schema.
    Context(&'a Type),
    /// A value that the model provides.
    Argument(Box<Argument<'a>>),
}

impl<'a> Tool<'a> {
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument<'a>> {
        self.parameters.iter().filter_map(|slot| match slot {
            Parameter::Argument(argument) => Some(&**argument),
            Parameter::Context(_) => None,
        })
    }

    pub(crate) fn ident(&self) -> &'a Ident {
        self.function.ident()
    }

    /// Returns whether the function takes `self`.
    pub(crate) fn has_receiver(&self) -> bool {
        self.function.sig.receiver().is_some()
    }
}
