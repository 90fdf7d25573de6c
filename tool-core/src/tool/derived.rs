//! Toolsets made of others: with other names, with fewer tools, together, or visible to some runs only.

use crate::call::context::RunContext;
use crate::tool::definition::ToolDefinition;
use crate::tool::function::{FunctionTool, Visible};
use crate::tool::toolset::{LifecycleFuture, Tool, Toolset, for_each_toolset};
use std::sync::Arc;

/// A toolset whose tools were made of another's. Its `setup` and `close` are the other's.
pub struct MappedToolset {
    id: String,
    description: String,
    title: Option<String>,
    /// Made once, so that the instances stay the same.
    tools: Vec<Tool>,
    inner: Vec<Arc<dyn Toolset>>,
}

impl Toolset for MappedToolset {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    /// All or none: what opened is closed again where one of them fails, as its tools are not offered.
    fn setup(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            let opened = for_each_toolset(&self.inner, |toolset| async move { toolset.setup().await }).await;
            let failed = opened.iter().position(Result::is_err);
            let Some(first) = failed.and_then(|at| opened.get(at).cloned()) else { return Ok(()) };
            let sound = self.inner.iter().zip(&opened).filter(|(_, result)| result.is_ok());
            let sound = sound.map(|(toolset, _)| Arc::clone(toolset)).collect::<Vec<_>>();
            for_each_toolset(&sound, |toolset| async move { toolset.close().await }).await;
            first
        })
    }

    fn close(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            let closed = for_each_toolset(&self.inner, |toolset| async move { toolset.close().await }).await;
            closed.into_iter().find(Result::is_err).unwrap_or(Ok(()))
        })
    }
}

/// Makes toolsets of others.
///
/// ```
/// use tool_core::{ToolContext, ToolsetExt, tool, toolset};
///
/// struct Shop;
///
/// #[toolset]
/// impl Shop {
///     /// List what there is.
///     #[tool]
///     fn list(&self) -> Vec<String> {
///         vec![]
///     }
///
///     /// Buy something.
///     #[tool]
///     fn buy(&self, what: String) -> String {
///         what
///     }
/// }
///
/// let tools = ToolContext::builder().with(Shop.filtered(|tool| tool.name() != "buy").prefixed("shop")).build()?;
/// assert!(tools.has_tool("shop_list") && !tools.has_tool("shop_buy"));
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub trait ToolsetExt: Toolset + Sized {
    /// Every function tool's name behind `prefix` and an underscore.
    fn prefixed(self, prefix: &str) -> MappedToolset {
        derive(self, |tool| Some(tool.renamed(format!("{prefix}_{}", tool.name()))))
    }

    /// Only the function tools that `keep` holds of.
    fn filtered(self, keep: impl Fn(&ToolDefinition) -> bool) -> MappedToolset {
        derive(self, |tool| keep(tool.definition()).then_some(tool))
    }

    /// Other names for some function tools: `rename` gives the new name, or `None` to keep the old one.
    fn renamed(self, rename: impl Fn(&str) -> Option<String>) -> MappedToolset {
        derive(self, |tool| match rename(tool.name()) {
            Some(name) => Some(tool.renamed(name)),
            None => Some(tool),
        })
    }

    /// Function tools that only some runs may see and call, as `visible` decides at each.
    fn dynamic(self, visible: impl Fn(&RunContext) -> bool + Send + Sync + 'static) -> MappedToolset {
        let visible: Arc<Visible> = Arc::new(visible);
        derive(self, |tool| Some(tool.visible_where(Arc::clone(&visible))))
    }
}

impl<T: Toolset> ToolsetExt for T {}

/// Several toolsets as one, with an id of its own. They are opened and closed one by one, and one that does not open
/// leaves the others working.
pub fn merge_toolsets(id: impl Into<String>, toolsets: impl IntoIterator<Item = Arc<dyn Toolset>>) -> MappedToolset {
    let tools = toolsets.into_iter().map(Tool::Toolset).collect();
    MappedToolset { id: id.into(), description: String::new(), title: None, tools, inner: Vec::new() }
}

fn derive<T: Toolset>(toolset: T, change: impl Fn(FunctionTool) -> Option<FunctionTool>) -> MappedToolset {
    let id = toolset.id().to_owned();
    let description = toolset.description().to_owned();
    let title = toolset.title().map(str::to_owned);
    let mut inner = Vec::new();
    let flat = flat(Arc::new(toolset), &mut inner);
    let changed = flat.into_iter().filter_map(|tool| match tool {
        Tool::Function(tool) => change(tool).map(Tool::Function),
        other => Some(other),
    });
    MappedToolset { id, description, title, tools: changed.collect(), inner }
}

/// The tools of a toolset, those of nested ones in their place; and all those toolsets.
fn flat(toolset: Arc<dyn Toolset>, all: &mut Vec<Arc<dyn Toolset>>) -> Vec<Tool> {
    all.push(Arc::clone(&toolset));
    let mut tools = Vec::new();
    for tool in toolset.tools() {
        match tool {
            Tool::Toolset(nested) => tools.extend(flat(nested, all)),
            other => tools.push(other),
        }
    }
    tools
}
