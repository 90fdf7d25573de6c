//! Toolsets, and what a tool context is made of.

use super::{FunctionTool, ProviderTool};
use crate::__private::{MainToolsetBlock, specs_of};
use crate::response::ToolError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// What `setup` and `close` return.
pub type LifecycleFuture<'a> = Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + 'a>>;

/// Tools that belong together, with an id and a life of their own.
///
/// `#[toolset]` implements it. Implement it by hand where the tools are only known at run time; `tools` is called for
/// each context that is built, and must give the same instances each time.
pub trait Toolset: Send + Sync + 'static {
    /// The id.
    fn id(&self) -> &str;

    /// What the toolset is for; may be empty.
    #[allow(clippy::unnecessary_literal_bound)] // an implementation may have one of its own
    fn description(&self) -> &str {
        ""
    }

    /// A name for people, where it is not the id's own words.
    fn title(&self) -> Option<&str> {
        None
    }

    /// Its tools, in the order in which they are offered.
    fn tools(self: Arc<Self>) -> Vec<Tool>;

    /// Opens what the tools need. A toolset that fails here is not offered.
    fn setup(&self) -> LifecycleFuture<'_> {
        nothing()
    }

    /// Gives back what `setup` opened.
    fn close(&self) -> LifecycleFuture<'_> {
        nothing()
    }
}

impl<T: MainToolsetBlock> Toolset for T {
    fn id(&self) -> &str {
        T::TOOLSET.facts.name
    }

    fn description(&self) -> &str {
        T::TOOLSET.facts.description
    }

    fn title(&self) -> Option<&str> {
        T::TOOLSET.facts.title
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        let mut tools = Vec::new();
        for spec in specs_of::<T>() {
            tools.push(Tool::Function(FunctionTool::bind(spec, &self, T::TOOLSET.facts.prefix)));
        }
        tools
    }

    fn setup(&self) -> LifecycleFuture<'_> {
        T::TOOLSET.setup.map_or_else(nothing, |setup| setup(self))
    }

    fn close(&self) -> LifecycleFuture<'_> {
        T::TOOLSET.close.map_or_else(nothing, |close| close(self))
    }
}

fn nothing<'a>() -> LifecycleFuture<'a> {
    Box::pin(std::future::ready(Ok(())))
}

/// A function tool, a provider tool or a toolset.
#[derive(Clone)]
pub enum Tool {
    /// It runs here.
    Function(FunctionTool),
    /// A provider runs it.
    Provider(Arc<dyn ProviderTool>),
    /// Tools that belong together.
    Toolset(Arc<dyn Toolset>),
}

/// Which of the three a [`Tool`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// It runs here.
    Function,
    /// A provider runs it.
    Provider,
    /// Tools that belong together.
    Toolset,
}

impl Tool {
    /// A provider tool.
    pub fn provider(tool: impl ProviderTool) -> Self {
        Self::Provider(Arc::new(tool))
    }

    /// A toolset.
    pub fn toolset(toolset: impl Toolset) -> Self {
        Self::Toolset(Arc::new(toolset))
    }

    /// The name of a function tool, the id of the others.
    pub fn id(&self) -> &str {
        match self {
            Self::Function(tool) => tool.id(),
            Self::Provider(tool) => tool.id(),
            Self::Toolset(toolset) => toolset.id(),
        }
    }

    /// Which of the three it is.
    pub fn kind(&self) -> ToolKind {
        match self {
            Self::Function(_) => ToolKind::Function,
            Self::Provider(_) => ToolKind::Provider,
            Self::Toolset(_) => ToolKind::Toolset,
        }
    }

    /// Whether it runs here.
    pub fn is_function_tool(&self) -> bool {
        self.kind() == ToolKind::Function
    }

    /// Whether a provider runs it.
    pub fn is_provider_tool(&self) -> bool {
        self.kind() == ToolKind::Provider
    }

    /// Whether it is several.
    pub fn is_toolset(&self) -> bool {
        self.kind() == ToolKind::Toolset
    }
}

impl PartialEq for Tool {
    /// By identity.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function(a), Self::Function(b)) => a.same(b),
            (Self::Provider(a), Self::Provider(b)) => std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b)),
            (Self::Toolset(a), Self::Toolset(b)) => std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b)),
            _ => false,
        }
    }
}

impl From<FunctionTool> for Tool {
    fn from(tool: FunctionTool) -> Self {
        Self::Function(tool)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(match self.kind() {
            ToolKind::Function => "Function",
            ToolKind::Provider => "Provider",
            ToolKind::Toolset => "Toolset",
        })
        .field(&self.id())
        .finish()
    }
}
