//! Link-time registration: what the macros register, and the tools and toolsets that result.

use crate::tool::configure::factory::{Configure, LinkedFactory};
use crate::tool::definition::{SourceLocation, ToolDescriptor};
use crate::tool::function::FunctionTool;
use crate::tool::instance::ToolsetInstance;
use crate::tool::invocation::{LifecycleFuture, RequiredSetup};
use crate::tool::prompt::Prompt;
use crate::tool::resource::Resource;
use crate::tool::returns::Probe;
use crate::tool::spec::{LinkedToolset, PartSpec, PromptSpec, ResourceSpec, ToolSpec, ToolsetSpec};
use crate::tool::toolset::{IntoPrompt, IntoResource, IntoTool, Tool, Toolset, no_lifecycle};
use crate::trace::body;
use parking_lot::Mutex;
use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// An item that a macro registered.
#[must_use]
pub struct Registration(RegisteredItem);

enum RegisteredItem {
    Function {
        id: fn() -> TypeId,
        spec: &'static ToolSpec<()>,
    },
    Prompt {
        id: fn() -> TypeId,
        spec: &'static PromptSpec<()>,
    },
    Resource {
        id: fn() -> TypeId,
        spec: &'static ResourceSpec<()>,
    },
    Toolset {
        toolset: LinkedToolset,
        discovery: Discover,
    },
    Part(LinkedPart),
}

/// A registered `#[toolset(part)]` block.
#[derive(Clone, Copy)]
pub(crate) struct LinkedPart {
    pub(crate) owner: fn() -> TypeId,
    /// A `PartSpec` of the owner's type.
    spec: &'static (dyn Any + Send + Sync),
    pub(crate) source: SourceLocation,
    pub(crate) path: &'static str,
}

inventory::collect!(Registration);

/// A type whose methods are tools. `#[toolset]` implements it.
pub trait MainToolsetBlock: Send + Sync + Sized + 'static {
    /// The spec of the toolset.
    const TOOLSET: ToolsetSpec<Self>;
    /// The tools of the block.
    const TOOLS: &'static [ToolSpec<Self>] = &[];

    /// Finds the ways in which discovery can create a value.
    const DISCOVERY: Discover = Discovery::none;
}

/// Finds the ways in which a value of a toolset's type can be created.
pub type Discover = fn() -> Discovery;

/// The ways in which a value of a toolset's type can be created.
pub struct Discovery {
    pub(crate) default: Option<fn() -> Arc<dyn Toolset>>,
    pub(crate) configured: Option<fn(LinkedToolset) -> LinkedFactory>,
}

impl Registration {
    /// Registers a free function.
    pub const fn function(id: fn() -> TypeId, spec: &'static ToolSpec<()>) -> Self {
        Self(RegisteredItem::Function { id, spec })
    }

    /// Registers a free function that is a prompt.
    pub const fn prompt(id: fn() -> TypeId, spec: &'static PromptSpec<()>) -> Self {
        Self(RegisteredItem::Prompt { id, spec })
    }

    /// Registers a free function that is a resource.
    pub const fn resource(id: fn() -> TypeId, spec: &'static ResourceSpec<()>) -> Self {
        Self(RegisteredItem::Resource { id, spec })
    }

    /// Registers a toolset.
    pub const fn toolset<T: MainToolsetBlock>() -> Self {
        let toolset = LinkedToolset {
            id: TypeId::of::<T>,
            toolset: T::TOOLSET.toolset,
            tools: tool_descriptors::<T>,
        };
        Self(RegisteredItem::Toolset {
            toolset,
            discovery: T::DISCOVERY,
        })
    }

    /// Registers a further block of a toolset.
    pub const fn part<T: Send + Sync + 'static>(spec: &'static PartSpec<T>) -> Self {
        let PartSpec { source, path, .. } = *spec;
        Self(RegisteredItem::Part(LinkedPart {
            owner: TypeId::of::<T>,
            spec,
            source,
            path,
        }))
    }
}

/// Returns the specs of all linked functions, each with the type of its item.
pub(crate) fn linked_functions() -> impl Iterator<Item = (fn() -> TypeId, &'static ToolSpec<()>)> {
    inventory::iter::<Registration>().filter_map(|registration| match registration.0 {
        RegisteredItem::Function { id, spec } => Some((id, spec)),
        _ => None,
    })
}

/// Returns all linked functions that are prompts, each with the type of its item.
pub(crate) fn linked_prompts() -> impl Iterator<Item = (TypeId, Prompt)> {
    inventory::iter::<Registration>().filter_map(|registration| match registration.0 {
        RegisteredItem::Prompt { id, spec } => Some((id(), (spec.bind)(spec, &UNIT, None))),
        _ => None,
    })
}

/// Returns all linked functions that are resources, each with the type of its item.
pub(crate) fn linked_resources() -> impl Iterator<Item = (TypeId, Resource)> {
    inventory::iter::<Registration>().filter_map(|registration| match registration.0 {
        RegisteredItem::Resource { id, spec } => Some((id(), (spec.bind)(spec, &UNIT))),
        _ => None,
    })
}

/// The instance of free functions.
static UNIT: LazyLock<Arc<()>> = LazyLock::new(Arc::default);

/// Returns all linked toolsets, with the ways to create them.
pub(crate) fn linked_toolsets() -> impl Iterator<Item = (LinkedToolset, Discover)> {
    inventory::iter::<Registration>().filter_map(|registration| match registration.0 {
        RegisteredItem::Toolset { toolset, discovery } => Some((toolset, discovery)),
        _ => None,
    })
}

/// Returns all linked `#[toolset(part)]` blocks.
pub(crate) fn linked_parts() -> impl Iterator<Item = LinkedPart> {
    inventory::iter::<Registration>().filter_map(|registration| match registration.0 {
        RegisteredItem::Part(part) => Some(part),
        _ => None,
    })
}

/// Returns the spec of the function whose item has this type.
fn function_spec(wanted: TypeId) -> Option<&'static ToolSpec<()>> {
    linked_functions()
        .find(|(id, _)| id() == wanted)
        .map(|(_, spec)| spec)
}

/// Returns the tool name of the function whose item has this type, and the id of its trace site.
pub(crate) fn function_name_and_site(wanted: TypeId) -> Option<(&'static str, u32)> {
    function_spec(wanted).map(|spec| (spec.tool.name, body::function_id(spec.tool.path)))
}

/// Returns the tool of a free function. It is the same instance each time.
pub(crate) fn function_tool(spec: &'static ToolSpec<()>) -> FunctionTool {
    static TOOLS: LazyLock<Mutex<HashMap<usize, FunctionTool>>> = LazyLock::new(Mutex::default);

    let key = std::ptr::from_ref(spec).addr();
    let known = TOOLS.lock().get(&key).cloned();
    known.unwrap_or_else(|| {
        // Bound without the lock, because binding runs the user's code.
        let tool = FunctionTool::bind(spec, &UNIT, None);
        TOOLS.lock().entry(key).or_insert(tool).clone()
    })
}

/// Returns the tools of `T`: those of its main block, of the parts it names, and of the linked
/// parts by their location.
fn tool_specs<T: MainToolsetBlock>() -> Vec<&'static ToolSpec<T>> {
    blocks::<T>()
        .into_iter()
        .flat_map(|block| block.tools)
        .collect()
}

/// Returns the main block of `T`, the parts it names, and the linked parts by their location.
fn blocks<T: MainToolsetBlock>() -> Vec<&'static PartSpec<T>> {
    let named = T::TOOLSET.parts.iter().map(|part| part());
    let linked = parts_of(TypeId::of::<T>())
        .into_iter()
        .filter_map(|part| part.downcast_ref());
    [&const { T::TOOLSET.methods.tools(T::TOOLS) }]
        .into_iter()
        .chain(named)
        .chain(linked)
        .collect()
}

// Not generic, so that it is compiled once.
fn parts_of(owner: TypeId) -> Vec<&'static (dyn Any + Send + Sync)> {
    let mut parts = linked_parts()
        .filter(|part| (part.owner)() == owner)
        .collect::<Vec<_>>();
    parts.sort_by_key(|part| (part.source.file, part.source.line));
    parts.into_iter().map(|part| part.spec).collect()
}

fn tool_descriptors<T: MainToolsetBlock>() -> Vec<&'static ToolDescriptor> {
    tool_specs::<T>()
        .into_iter()
        .map(|spec| &spec.tool)
        .collect()
}

impl<T: MainToolsetBlock> Toolset for T {
    fn id(&self) -> &str {
        T::TOOLSET.toolset.name
    }

    fn description(&self) -> &str {
        T::TOOLSET.toolset.description
    }

    fn title(&self) -> Option<&str> {
        T::TOOLSET.toolset.title
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        let this = Arc::clone(&self) as Arc<dyn Toolset>;
        let setup = ToolsetInstance::of(&this)
            .filter(|_| self.needs_setup())
            .map(|setup| setup as Arc<dyn RequiredSetup>);
        let mut tools = Vec::new();
        for spec in tool_specs::<T>() {
            let tool = FunctionTool::bind(spec, &self, T::TOOLSET.toolset.prefix);
            tools.push(Tool::Function(match &setup {
                Some(setup) => tool.after_setup(setup),
                None => tool,
            }));
        }
        tools
    }

    fn prompts(self: Arc<Self>) -> Vec<Prompt> {
        let specs = blocks::<T>().into_iter().flat_map(|block| block.prompts);
        specs
            .map(|spec| (spec.bind)(spec, &self, T::TOOLSET.toolset.prefix))
            .collect()
    }

    fn resources(self: Arc<Self>) -> Vec<Resource> {
        let specs = blocks::<T>().into_iter().flat_map(|block| block.resources);
        specs.map(|spec| (spec.bind)(spec, &self)).collect()
    }

    fn needs_setup(&self) -> bool {
        T::TOOLSET.setup.is_some()
    }

    fn has_lifecycle(&self) -> bool {
        T::TOOLSET.setup.is_some() || T::TOOLSET.close.is_some()
    }

    fn setup(&self) -> LifecycleFuture<'_> {
        T::TOOLSET
            .setup
            .map_or_else(no_lifecycle, |setup| setup(self))
    }

    fn close(&self) -> LifecycleFuture<'_> {
        T::TOOLSET
            .close
            .map_or_else(no_lifecycle, |close| close(self))
    }
}

/// Returns the prompt of the function whose item has this type.
fn function_prompt<F: 'static>() -> Result<Prompt, String> {
    let found = linked_prompts().find(|(id, _)| *id == TypeId::of::<F>());
    found.map(|(_, prompt)| prompt).ok_or_else(|| {
        format!(
            "`{}` is not a prompt; add `#[prompt]` to it",
            type_name::<F>()
        )
    })
}

/// Returns the resource of the function whose item has this type.
fn function_resource<F: 'static>() -> Result<Resource, String> {
    let found = linked_resources().find(|(id, _)| *id == TypeId::of::<F>());
    let missing = || {
        format!(
            "`{}` is not a resource; add `#[resource]` to it",
            type_name::<F>()
        )
    };
    found.map(|(_, resource)| resource).ok_or_else(missing)
}

/// A function is looked up by the type of its item, so that `#[tool]` adds no public name beside
/// it.
macro_rules! into_tool_for_functions {
    ($(($($argument:ident)*))*) => {
        $(impl<F, $($argument,)* R> IntoTool<fn($($argument),*) -> R> for F
        where
            F: Fn($($argument),*) -> R + 'static,
        {
            fn into_tool(self) -> Result<Tool, String> {
                let spec = function_spec(TypeId::of::<F>());
                spec.map(|spec| Tool::Function(function_tool(spec))).ok_or_else(|| {
                    format!("`{}` is not a tool; add `#[tool]` to it", type_name::<F>())
                })
            }
        }

        impl<F, $($argument,)* R> IntoPrompt<fn($($argument),*) -> R> for F
        where
            F: Fn($($argument),*) -> R + 'static,
        {
            fn into_prompt(self) -> Result<Prompt, String> {
                function_prompt::<F>()
            }
        }

        impl<F, $($argument,)* R> IntoResource<fn($($argument),*) -> R> for F
        where
            F: Fn($($argument),*) -> R + 'static,
        {
            fn into_resource(self) -> Result<Resource, String> {
                function_resource::<F>()
            }
        })*
    };
}

into_tool_for_functions! {
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E G) (A B C D E G H) (A B C D E G H I) (A B C D E G H I J)
    (A B C D E G H I J K) (A B C D E G H I J K L) (A B C D E G H I J K L N) (A B C D E G H I J K L N O)
    (A B C D E G H I J K L N O P) (A B C D E G H I J K L N O P Q) (A B C D E G H I J K L N O P Q S)
}

/// Returns the type of a function's item.
pub fn type_id_of<F: 'static>(_: &F) -> TypeId {
    TypeId::of::<F>()
}

impl<T: Configure + Toolset> Probe<T, 0> {
    /// Returns the way of a toolset that is made of settings.
    #[must_use]
    pub fn __discovery(&self) -> Discovery {
        Discovery {
            default: None,
            configured: Some(LinkedFactory::configured::<T>),
        }
    }
}

impl<T: Toolset + Default> Probe<T, 1> {
    /// Returns the way of a toolset with a default.
    #[must_use]
    pub fn __discovery(&self) -> Discovery {
        Discovery {
            default: Some(|| Arc::new(T::default())),
            configured: None,
        }
    }
}

impl<T> Probe<T, 2> {
    /// Returns no way, as only the program can create a value.
    #[must_use]
    pub fn __discovery(&self) -> Discovery {
        Discovery::none()
    }
}

impl Discovery {
    /// The discovery of a toolset that only the program can create.
    pub(crate) fn none() -> Self {
        Self {
            default: None,
            configured: None,
        }
    }
}
