//! Toolsets that are derived from others, with other names, with fewer tools, or visible to some
//! runs only.

use crate::call::context::RunContext;
use crate::tool::definition::ToolDefinition;
use crate::tool::function::FunctionTool;
use crate::tool::instance::{OpenToolsets, ToolsetInstance, give_up};
use crate::tool::invocation::{LifecycleFuture, Visible};
use crate::tool::prompt::Prompt;
use crate::tool::resource::Resource;
use crate::tool::toolset::{Tool, Toolset, flatten, for_each_toolset};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// A toolset that was derived from others with [`ToolsetExt`] or [`merge_toolsets`]. It opens the
/// originals and closes them, unless they are in use elsewhere.
pub struct MappedToolset {
    pub(crate) id: String,
    description: String,
    title: Option<String>,
    /// Created once, so that the instances stay the same.
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    originals: Vec<Arc<ToolsetInstance>>,
    /// Keeps the originals open from setup to close.
    open: Mutex<OpenToolsets>,
}

impl MappedToolset {
    fn new(id: String, tools: Vec<Tool>) -> Self {
        Self {
            id,
            description: String::new(),
            title: None,
            tools,
            prompts: Vec::new(),
            resources: Vec::new(),
            originals: Vec::new(),
            open: Mutex::default(),
        }
    }

    /// Creates a toolset that is described like `toolset`, with other tools. It opens and closes
    /// `originals`.
    pub(crate) fn like(
        toolset: &dyn Toolset,
        tools: Vec<Tool>,
        originals: &[Arc<dyn Toolset>],
    ) -> Self {
        Self {
            description: toolset.description().to_owned(),
            title: toolset.title().map(str::to_owned),
            originals: originals.iter().filter_map(ToolsetInstance::of).collect(),
            ..Self::new(toolset.id().to_owned(), tools)
        }
    }

    /// Sets the prompts and resources.
    pub(crate) fn publishing(self, prompts: Vec<Prompt>, resources: Vec<Resource>) -> Self {
        Self {
            prompts,
            resources,
            ..self
        }
    }
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

    fn prompts(self: Arc<Self>) -> Vec<Prompt> {
        self.prompts.clone()
    }

    fn resources(self: Arc<Self>) -> Vec<Resource> {
        self.resources.clone()
    }

    fn needs_setup(&self) -> bool {
        self.originals
            .iter()
            .any(|instance| instance.toolset.needs_setup())
    }

    fn has_lifecycle(&self) -> bool {
        !self.originals.is_empty()
    }

    /// Opens all originals or none: where one of them fails, those that opened are released again.
    fn setup(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            // The caller bounds the time.
            let acquire = |instance: Arc<ToolsetInstance>| instance.acquire(Duration::MAX);
            let results = for_each_toolset(&self.originals, acquire).await;
            let error = results
                .iter()
                .find_map(|result| result.as_ref().err().cloned());
            let open = results.into_iter().flatten().collect();
            let Some(error) = error else {
                *self.open.lock() = open;
                return Ok(());
            };
            for_each_toolset(&give_up(open), ToolsetInstance::close_unused).await;
            Err(error)
        })
    }

    /// Releases the originals. Those that are not in use elsewhere are closed.
    fn close(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            let open = std::mem::take(&mut *self.open.lock());
            for_each_toolset(&give_up(open), ToolsetInstance::close_unused)
                .await
                .into_iter()
                .collect()
        })
    }
}

/// Derives toolsets with other names, with fewer tools, or visible to some runs only.
///
/// ```
/// use tool_core::{ToolContext, ToolsetExt, tool, toolset};
///
/// struct Shop;
///
/// #[toolset]
/// impl Shop {
///     /// List the goods.
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
    /// Puts `prefix` and an underscore before the name of every function tool and every prompt.
    /// Resources keep their URIs.
    fn prefixed(self, prefix: &str) -> MappedToolset {
        derive(
            self,
            Changes {
                tool: |tool: FunctionTool| Some(tool.renamed(format!("{prefix}_{}", tool.name()))),
                prompt: |prompt: Prompt| prompt.renamed(format!("{prefix}_{}", prompt.name())),
                resource: same,
            },
        )
    }

    /// Keeps the function tools for which `keep` returns true, and all prompts and resources.
    fn filtered(self, keep: impl Fn(&ToolDefinition) -> bool) -> MappedToolset {
        let tool = |tool: FunctionTool| keep(tool.definition()).then_some(tool);
        derive(
            self,
            Changes {
                tool,
                prompt: same,
                resource: same,
            },
        )
    }

    /// Renames function tools. `rename` returns the new name, or `None` to keep the old one.
    fn renamed(self, rename: impl Fn(&str) -> Option<String>) -> MappedToolset {
        let tool = |tool: FunctionTool| match rename(tool.name()) {
            Some(name) => Some(tool.renamed(name)),
            None => Some(tool),
        };
        derive(
            self,
            Changes {
                tool,
                prompt: same,
                resource: same,
            },
        )
    }

    /// Hides the function tools, prompts and resources from runs for which `visible` returns false.
    /// It is called for each listing and each call.
    fn dynamic(
        self,
        visible: impl Fn(&RunContext) -> bool + Send + Sync + 'static,
    ) -> MappedToolset {
        let visible: Arc<Visible> = Arc::new(visible);
        derive(
            self,
            Changes {
                tool: |tool: FunctionTool| Some(tool.visible_where(Arc::clone(&visible))),
                prompt: |prompt: Prompt| prompt.visible_where(Arc::clone(&visible)),
                resource: |resource: Resource| resource.visible_where(Arc::clone(&visible)),
            },
        )
    }
}

impl<T: Toolset> ToolsetExt for T {}

/// Merges several toolsets into one with its own id. Each is opened and closed separately, so that
/// the others still work where one fails to open. A toolset that is derived from the merged one
/// opens all parts or none, so change the parts.
///
/// ```
/// use std::sync::Arc;
/// use tool_core::tool::merge_toolsets;
/// use tool_core::{ToolContext, Toolset, ToolsetExt, toolset};
///
/// struct Mail;
/// struct Calendar;
///
/// #[toolset(discover = false)]
/// impl Mail {
///     /// Send a message.
///     #[tool(category = "action")]
///     fn send(&self, text: String) -> usize {
///         text.len()
///     }
/// }
///
/// #[toolset(discover = false)]
/// impl Calendar {
///     /// List the appointments.
///     #[tool(category = "retrieval")]
///     fn appointments(&self) -> Vec<String> {
///         vec!["9:00 dentist".to_owned()]
///     }
/// }
///
/// let parts: [Arc<dyn Toolset>; 2] = [Arc::new(Mail.prefixed("office")), Arc::new(Calendar.prefixed("office"))];
/// let tools = ToolContext::builder().with(merge_toolsets("office", parts)).build()?;
/// assert!(tools.has_tool("office_send") && tools.has_tool("office_appointments"));
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub fn merge_toolsets(
    id: impl Into<String>,
    toolsets: impl IntoIterator<Item = Arc<dyn Toolset>>,
) -> MappedToolset {
    MappedToolset::new(id.into(), toolsets.into_iter().map(Tool::Toolset).collect())
}

/// Changes to the function tools, prompts and resources of a toolset.
struct Changes<F, P, R> {
    tool: F,
    prompt: P,
    resource: R,
}

fn derive<T: Toolset>(
    toolset: T,
    changes: Changes<
        impl Fn(FunctionTool) -> Option<FunctionTool>,
        impl Fn(Prompt) -> Prompt,
        impl Fn(Resource) -> Resource,
    >,
) -> MappedToolset {
    let toolset = Arc::new(toolset);
    let mut originals = Vec::new();
    let flattened = flatten(Arc::clone(&toolset) as Arc<dyn Toolset>, &mut originals);
    let tools = flattened.into_iter().filter_map(|tool| match tool {
        Tool::Function(tool) => (changes.tool)(tool).map(Tool::Function),
        other => Some(other),
    });
    let tools = tools.collect();
    let prompts = originals
        .iter()
        .flat_map(|original| Arc::clone(original).prompts())
        .map(changes.prompt)
        .collect();
    let resources = originals
        .iter()
        .flat_map(|original| Arc::clone(original).resources());
    let resources = resources.map(changes.resource).collect();
    MappedToolset::like(&*toolset, tools, &originals).publishing(prompts, resources)
}

fn same<T>(value: T) -> T {
    value
}
