//! Toolsets made of others: with other names, with fewer tools, together, or visible to some runs only.

use super::function::Visible;
use super::toolset::LifecycleFuture;
use super::{FunctionTool, Tool, ToolDefinition, Toolset};
use crate::run::RunContext;
use std::sync::Arc;

/// A toolset whose tools were made of another's. Its `setup` and `close` are the other's.
pub struct Derived {
    id: String,
    description: String,
    /// Made once, so that the instances stay the same.
    tools: Vec<Tool>,
    inner: Vec<Arc<dyn Toolset>>,
}

impl Toolset for Derived {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    fn setup(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            for toolset in &self.inner {
                toolset.setup().await?;
            }
            Ok(())
        })
    }

    fn close(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            // All are closed, whatever some say; the first error is told.
            let mut told = Ok(());
            for toolset in &self.inner {
                told = told.and(toolset.close().await);
            }
            told
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
    fn prefixed(self, prefix: &str) -> Derived {
        derive(self, |tool| Some(tool.renamed(format!("{prefix}_{}", tool.name()))))
    }

    /// Only the function tools that `keep` holds of.
    fn filtered(self, keep: impl Fn(&ToolDefinition) -> bool) -> Derived {
        derive(self, |tool| keep(tool.definition()).then_some(tool))
    }

    /// Other names for some function tools: `rename` gives the new name, or `None` to keep the old one.
    fn renamed(self, rename: impl Fn(&str) -> Option<String>) -> Derived {
        derive(self, |tool| match rename(tool.name()) {
            Some(name) => Some(tool.renamed(name)),
            None => Some(tool),
        })
    }

    /// Function tools that only some runs may see and call, as `visible` decides at each.
    fn dynamic(self, visible: impl Fn(&RunContext) -> bool + Send + Sync + 'static) -> Derived {
        let visible: Arc<Visible> = Arc::new(visible);
        derive(self, |tool| Some(tool.visible_where(Arc::clone(&visible))))
    }
}

impl<T: Toolset> ToolsetExt for T {}

/// Several toolsets as one, with an id of its own.
pub fn combined(id: impl Into<String>, toolsets: impl IntoIterator<Item = Arc<dyn Toolset>>) -> Derived {
    let inner = toolsets.into_iter().collect::<Vec<_>>();
    let tools = inner.iter().flat_map(|toolset| flat(&Arc::clone(toolset))).collect();
    Derived { id: id.into(), description: String::new(), tools, inner }
}

fn derive<T: Toolset>(toolset: T, change: impl Fn(FunctionTool) -> Option<FunctionTool>) -> Derived {
    let id = toolset.id().to_owned();
    let description = toolset.description().to_owned();
    let inner: Arc<dyn Toolset> = Arc::new(toolset);
    let changed = flat(&inner).into_iter().filter_map(|tool| match tool {
        Tool::Function(tool) => change(tool).map(Tool::Function),
        other => Some(other),
    });
    Derived { id, description, tools: changed.collect(), inner: vec![inner] }
}

/// The tools of a toolset, those of nested ones in their place.
fn flat(toolset: &Arc<dyn Toolset>) -> Vec<Tool> {
    let spread = |tool| match tool {
        Tool::Toolset(nested) => flat(&nested),
        other => vec![other],
    };
    Arc::clone(toolset).tools().into_iter().flat_map(spread).collect()
}
