//! Toolsets, and what a tool context is made of.

use crate::call::error::ToolError;
use crate::text;
use crate::tool::function::FunctionTool;
use crate::tool::provider::ProviderTool;
use crate::tool::registration::{Registration, specs_of};
use crate::tool::spec::MainToolsetBlock;
use std::any::{TypeId, type_name};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use tokio::task::{JoinError, JoinSet};

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

// ---- What a tool context can be given.

/// Anything that `ToolContext::builder().with(..)` takes: a toolset value, a `#[tool]` fn by its name, a provider tool, a
/// tool.
///
/// A fn may have up to 16 parameters here; one with more is found by `discover`. The marker `M` tells the kinds apart; it
/// is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "`with` takes a value of a type with `#[toolset]`, the name of a fn with `#[tool]`, a `FunctionTool`, a `Tool`, or an `Arc` of a toolset"
)]
pub trait IntoTool<M> {
    /// The tool, or what is wrong with it.
    fn into_tool(self) -> Result<Tool, String>;
}

/// Marks a toolset given by value.
pub struct ByValue;
/// Marks a toolset that is shared.
pub struct ByArc;
/// Marks a provider tool given by value.
pub struct AsProvider;
/// Marks what is a tool already.
pub struct AsIs;

impl<T: Toolset> IntoTool<ByValue> for T {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Toolset(Arc::new(self)))
    }
}

impl<T: ProviderTool> IntoTool<AsProvider> for T {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Provider(Arc::new(self)))
    }
}

impl<T: Toolset> IntoTool<ByArc> for Arc<T> {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Toolset(self))
    }
}

impl IntoTool<AsIs> for Arc<dyn Toolset> {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Toolset(self))
    }
}

impl IntoTool<AsIs> for Arc<dyn ProviderTool> {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Provider(self))
    }
}

impl IntoTool<AsIs> for Tool {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(self)
    }
}

impl IntoTool<AsIs> for FunctionTool {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Function(self))
    }
}

impl IntoTool<AsIs> for &FunctionTool {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Function(self.clone()))
    }
}

/// A fn is found by the type of its own item, so that `#[tool]` leaks no handle beside it.
macro_rules! fns {
    ($(($($argument:ident)*))*) => {
        $(impl<F, $($argument,)* R> IntoTool<fn($($argument),*) -> R> for F
        where
            F: Fn($($argument),*) -> R + 'static,
        {
            fn into_tool(self) -> Result<Tool, String> {
                Registration::function_of(TypeId::of::<F>()).map(Tool::Function).ok_or_else(|| {
                    format!("`{}` is not a tool: put `#[tool]` on it", type_name::<F>())
                })
            }
        })*
    };
}

fns! {
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E G) (A B C D E G H) (A B C D E G H I) (A B C D E G H I J)
    (A B C D E G H I J K) (A B C D E G H I J K L) (A B C D E G H I J K L N) (A B C D E G H I J K L N O)
    (A B C D E G H I J K L N O P) (A B C D E G H I J K L N O P Q) (A B C D E G H I J K L N O P Q S)
}

// ---- Opening and closing several toolsets at the same time.

/// Does the work on all of them, whatever some say. The results stand in the order of the toolsets; a panic is one.
pub(crate) async fn each<F>(
    toolsets: &[Arc<dyn Toolset>],
    work: impl Fn(Arc<dyn Toolset>) -> F,
) -> Vec<Result<(), ToolError>>
where
    F: Future<Output = Result<(), ToolError>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    let ids = toolsets.iter().map(|toolset| tasks.spawn(work(Arc::clone(toolset))).id()).collect::<Vec<_>>();
    let mut results = vec![Ok(()); ids.len()];
    while let Some(ended) = tasks.join_next_with_id().await {
        let (id, result) = ended.unwrap_or_else(|error| (error.id(), Err(ToolError::internal(why_it_ended(error)))));
        if let Some((_, slot)) = ids.iter().zip(&mut results).find(|(known, _)| **known == id) {
            *slot = result;
        }
    }
    results
}

/// What a task says that did not come to its end: the text of its panic as it is, without the quotes and escapes in
/// which whoever takes secrets out of it would not know them.
pub(crate) fn why_it_ended(error: JoinError) -> String {
    match error.try_into_panic() {
        Err(cancelled) => format!("it did not end: {cancelled}"),
        Ok(panic) => format!("it panicked: {}", text::of_panic(panic)),
    }
}
