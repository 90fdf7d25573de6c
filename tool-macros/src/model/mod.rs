//! What a block or a function means, borrowed from its syntax.

pub(crate) mod lend;
pub(crate) mod lower;
pub(crate) mod parameter;

use proc_macro2::{Ident, Span};
use syn::{Attribute, Expr, Type};

use crate::attr::agent::AgentOptions;
use crate::attr::tool::ToolOptions;
use crate::attr::toolset::ToolsetOptions;
use crate::docs::Described;
use crate::input::{Block, Function};
use parameter::Argument;

/// A text that a model reads.
pub(crate) enum Text {
    Words(String),
    /// A constant expression, from `description = EXPR`.
    Made(Box<Expr>),
}

/// A name that providers see, and the token to blame for it.
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// `#[toolset] impl T`.
pub(crate) struct Toolset<'a> {
    pub(crate) block: &'a Block,
    pub(crate) options: ToolsetOptions,
    pub(crate) name: Name,
    pub(crate) description: Text,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) setup: Vec<&'a Function>,
    pub(crate) close: Vec<&'a Function>,
}

/// `#[tool] fn`.
pub(crate) struct Tool<'a> {
    pub(crate) function: &'a Function,
    pub(crate) options: ToolOptions,
    pub(crate) name: Name,
    pub(crate) description: Option<Text>,
    pub(crate) returns: String,
    /// The `# Arguments` list.
    pub(crate) described: Vec<Described>,
    pub(crate) slots: Vec<Slot<'a>>,
    /// Its body is an agent's.
    pub(crate) agent: Option<Agent<'a>>,
}

/// `#[agent]` beside `#[tool]`.
pub(crate) struct Agent<'a> {
    pub(crate) attr: &'a Attribute,
    pub(crate) options: AgentOptions,
}

/// A parameter, as far as calls are concerned.
pub(crate) enum Slot<'a> {
    /// Injected: no model sees it.
    Context(&'a Type),
    Argument(Box<Argument<'a>>),
}

impl<'a> Tool<'a> {
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument<'a>> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Argument(argument) => Some(&**argument),
            Slot::Context(_) => None,
        })
    }

    pub(crate) fn ident(&self) -> &'a Ident {
        self.function.ident()
    }

    /// Whether the call runs on an instance.
    pub(crate) fn has_receiver(&self) -> bool {
        self.function.sig.receiver().is_some()
    }
}
