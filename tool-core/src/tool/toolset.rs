//! Toolsets, the `Tool` enum, and the values that a tool context accepts.

use crate::call::error::ToolError;
use crate::text;
use crate::tool::function::FunctionTool;
use crate::tool::invocation::LifecycleFuture;
use crate::tool::prompt::Prompt;
use crate::tool::provider::ProviderTool;
use crate::tool::resource::Resource;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

/// A group of tools with an id and a lifecycle.
///
/// `#[toolset]` implements it. Implement it by hand for tools that are only known at run time.
/// `tools` is called for each context that is built, and has to return the same instances each
/// time.
///
/// ```
/// use serde_json::{Value, json};
/// use std::sync::Arc;
/// use tool_core::{FunctionTool, RawTool, RunContext, Tool, ToolContext, Toolset};
///
/// /// A tool for each name that the program reads at run time.
/// struct Greetings(Vec<FunctionTool>);
///
/// impl Greetings {
///     fn new(names: &[&str]) -> Self {
///         Self(names.iter().map(|name| {
///             let description = format!("Greet {name}.");
///             let raw = RawTool { name: format!("greet_{name}"), description, parameters: json!({"type": "object"}) };
///             FunctionTool::raw(raw, async |_arguments: Value, _ctx: &RunContext| Ok(json!("hello")))
///         }).collect())
///     }
/// }
///
/// impl Toolset for Greetings {
///     fn id(&self) -> &str {
///         "greetings"
///     }
///
///     fn tools(self: Arc<Self>) -> Vec<Tool> {
///         self.0.iter().cloned().map(Tool::Function).collect()
///     }
/// }
///
/// let tools = ToolContext::builder().with(Greetings::new(&["ada", "bob"])).build()?;
/// assert!(tools.has_tool("greet_ada") && tools.has_tool("greet_bob"));
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub trait Toolset: Send + Sync + 'static {
    /// Returns the id.
    fn id(&self) -> &str;

    /// Returns a description of the toolset; may be empty.
    #[allow(clippy::unnecessary_literal_bound)] // an implementation may return its own text
    fn description(&self) -> &str {
        ""
    }

    /// Returns the title for people. `None` derives it from the id.
    fn title(&self) -> Option<&str> {
        None
    }

    /// Returns the tools, in the order in which the model sees them.
    ///
    /// A toolset that offers the tools of another one returns that one as a [`Tool::Toolset`], so
    /// that it is set up and closed.
    fn tools(self: Arc<Self>) -> Vec<Tool>;

    /// Returns the prompts, in order. Defaults to none.
    fn prompts(self: Arc<Self>) -> Vec<Prompt> {
        Vec::new()
    }

    /// Returns the resources, in order. Defaults to none.
    fn resources(self: Arc<Self>) -> Vec<Resource> {
        Vec::new()
    }

    /// Returns true if the tools only work after [`setup`](Self::setup). A bare call then fails
    /// until the toolset is set up. Defaults to false; `#[toolset]` returns true where the block
    /// has a `#[setup]`.
    fn needs_setup(&self) -> bool {
        false
    }

    /// Returns false if `setup` and `close` do nothing.
    #[doc(hidden)]
    fn has_lifecycle(&self) -> bool {
        true
    }

    /// Opens the resources of the tools. Where it fails, the tools are not offered.
    ///
    /// The first session that uses the toolset runs it, or [`ToolContext::setup`](crate::ToolContext::setup).
    fn setup(&self) -> LifecycleFuture<'_> {
        no_lifecycle()
    }

    /// Releases the resources that `setup` opened. Runs once the last runtime and session with the
    /// toolset are gone, or in
    /// [`ToolContext::close`](crate::ToolContext::close).
    fn close(&self) -> LifecycleFuture<'_> {
        no_lifecycle()
    }
}

pub(crate) fn no_lifecycle<'a>() -> LifecycleFuture<'a> {
    Box::pin(std::future::ready(Ok(())))
}

/// A function tool, a provider tool or a toolset. Two are equal where they are the same instance.
///
/// ```
/// use tool_core::tool::ToolKind;
/// use tool_core::{Tool, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let tools = ToolContext::builder().with(add).build()?;
/// let all = tools.flatten().collect::<Vec<Tool>>();
/// assert_eq!((all[0].id(), all[0].kind()), ("add", ToolKind::Function));
///
/// // A context of some of them.
/// let some = ToolContext::builder().with_all(all.into_iter().filter(|tool| tool.id() == "add")).build()?;
/// assert_eq!(some, tools);
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone)]
pub enum Tool {
    /// A tool that runs in this process.
    Function(FunctionTool),
    /// A tool that a provider runs.
    Provider(Arc<dyn ProviderTool>),
    /// A group of tools.
    Toolset(Arc<dyn Toolset>),
}

/// The kind of a [`Tool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// A tool that runs in this process.
    Function,
    /// A tool that a provider runs.
    Provider,
    /// A group of tools.
    Toolset,
}

impl Tool {
    /// Wraps a provider tool.
    pub fn provider(tool: impl ProviderTool) -> Self {
        Self::Provider(Arc::new(tool))
    }

    /// Wraps a toolset.
    pub fn toolset(toolset: impl Toolset) -> Self {
        Self::Toolset(Arc::new(toolset))
    }

    /// Returns the name of a function tool, or the id of a provider tool or toolset.
    pub fn id(&self) -> &str {
        match self {
            Self::Function(tool) => tool.id(),
            Self::Provider(tool) => tool.id(),
            Self::Toolset(toolset) => toolset.id(),
        }
    }

    /// Returns the kind.
    pub fn kind(&self) -> ToolKind {
        match self {
            Self::Function(_) => ToolKind::Function,
            Self::Provider(_) => ToolKind::Provider,
            Self::Toolset(_) => ToolKind::Toolset,
        }
    }

    /// Returns true for a function tool.
    pub fn is_function_tool(&self) -> bool {
        self.kind() == ToolKind::Function
    }

    /// Returns true for a provider tool.
    pub fn is_provider_tool(&self) -> bool {
        self.kind() == ToolKind::Provider
    }

    /// Returns true for a toolset.
    pub fn is_toolset(&self) -> bool {
        self.kind() == ToolKind::Toolset
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function(a), Self::Function(b)) => a.same(b),
            (Self::Provider(a), Self::Provider(b)) => Arc::ptr_eq(a, b),
            (Self::Toolset(a), Self::Toolset(b)) => Arc::ptr_eq(a, b),
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
        write!(f, "{:?}({:?})", self.kind(), self.id())
    }
}

/// A value that `ToolContext::builder().with(..)` accepts: a toolset, a `#[tool]` function by its
/// name, a provider tool, or a tool.
///
/// A function may have up to 16 parameters here. Discovery finds functions with more, and a method
/// of a toolset may have more. The marker `M` distinguishes the implementations, and is always
/// inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "`with` takes a value of a type with `#[toolset]`, the name of a fn with `#[tool]`, a `FunctionTool`, a `Tool`, or an `Arc` of a toolset",
    note = "`with` takes a fn of at most 16 parameters; if it has more, write it as a method of a `#[toolset]` block, or let discovery find it"
)]
pub trait IntoTool<M> {
    /// Converts to a tool, or returns the problem.
    fn into_tool(self) -> Result<Tool, String>;
}

/// Marks a toolset that is passed by value.
pub struct ToolsetByValue;
/// Marks a toolset that is passed in an `Arc`.
pub struct ToolsetByArc;
/// Marks a provider tool that is passed by value.
pub struct ProviderByValue;
/// Marks a value that is a tool already.
pub struct ExistingTool;

impl<T: Toolset> IntoTool<ToolsetByValue> for T {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::toolset(self))
    }
}

impl<T: ProviderTool> IntoTool<ProviderByValue> for T {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::provider(self))
    }
}

impl<T: Toolset> IntoTool<ToolsetByArc> for Arc<T> {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Toolset(self))
    }
}

/// A value that `ToolContext::builder().with_prompt(..)` accepts: a [`Prompt`], or a `#[prompt]`
/// function by its name.
///
/// The marker `M` distinguishes the implementations, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prompt",
    note = "`with_prompt` takes a `Prompt`, or the name of a fn with `#[prompt]` and at most 16 parameters"
)]
pub trait IntoPrompt<M> {
    /// Converts to a prompt, or returns the problem.
    fn into_prompt(self) -> Result<Prompt, String>;
}

/// A value that `ToolContext::builder().with_resource(..)` accepts: a [`Resource`], or a
/// `#[resource]` function by its name.
///
/// The marker `M` distinguishes the implementations, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    note = "`with_resource` takes a `Resource`, or the name of a fn with `#[resource]` and at most 16 parameters"
)]
pub trait IntoResource<M> {
    /// Converts to a resource, or returns the problem.
    fn into_resource(self) -> Result<Resource, String>;
}

impl IntoPrompt<ExistingTool> for Prompt {
    fn into_prompt(self) -> Result<Prompt, String> {
        Ok(self)
    }
}

impl IntoResource<ExistingTool> for Resource {
    fn into_resource(self) -> Result<Resource, String> {
        Ok(self)
    }
}

macro_rules! existing_tool {
    ($($type:ty, $tool:ident => $value:expr;)*) => {$(
        impl IntoTool<ExistingTool> for $type {
            fn into_tool(self) -> Result<Tool, String> {
                let $tool = self;
                Ok($value)
            }
        }
    )*};
}

existing_tool! {
    Arc<dyn Toolset>, toolset => Tool::Toolset(toolset);
    Arc<dyn ProviderTool>, tool => Tool::Provider(tool);
    Tool, tool => tool;
    FunctionTool, tool => Tool::Function(tool);
    &FunctionTool, tool => Tool::Function(tool.clone());
}

/// Runs `work` on all toolsets concurrently, and waits for all of them. The results are in the
/// order of the toolsets. A panic becomes an error.
pub(crate) async fn for_each_toolset<T, F, R>(
    toolsets: &[Arc<T>],
    work: impl Fn(Arc<T>) -> F,
) -> Vec<Result<R, ToolError>>
where
    T: ?Sized,
    F: Future<Output = Result<R, ToolError>> + Send + 'static,
    R: Send + 'static,
{
    // Dropping the returned future aborts the tasks.
    let spawn = |toolset: &Arc<T>| AbortOnDropHandle::new(tokio::spawn(work(Arc::clone(toolset))));
    let tasks = toolsets.iter().map(spawn).collect::<Vec<_>>();
    let results = join_all(tasks).await;
    results.into_iter().map(result_of_task).collect()
}

/// Does the same as [`for_each_toolset`], except that the work goes on if the returned future is
/// dropped: it may be work that others wait for too.
pub(crate) async fn for_each_toolset_detached<T, F, R>(
    toolsets: &[Arc<T>],
    work: impl Fn(Arc<T>) -> F,
) -> Vec<Result<R, ToolError>>
where
    T: ?Sized,
    F: Future<Output = Result<R, ToolError>> + Send + 'static,
    R: Send + 'static,
{
    let spawn = |toolset: &Arc<T>| tokio::spawn(work(Arc::clone(toolset)));
    let tasks = toolsets.iter().map(spawn).collect::<Vec<_>>();
    let results = join_all(tasks).await;
    results.into_iter().map(result_of_task).collect()
}

fn result_of_task<R>(ended: Result<Result<R, ToolError>, JoinError>) -> Result<R, ToolError> {
    ended.unwrap_or_else(|error| Err(ToolError::internal(join_error_message(error))))
}

/// Describes the end of a task that did not complete. The text of a panic is kept as it is: quotes
/// and escapes would hide a secret in it from the code that removes secrets.
pub(crate) fn join_error_message(error: JoinError) -> String {
    match error.try_into_panic() {
        Err(cancelled) => format!("the task did not complete: {cancelled}"),
        Ok(panic) => format!("the task panicked: {}", text::of_panic(panic)),
    }
}

/// Returns the tools of a toolset, with those of nested toolsets in their place. Adds all these
/// toolsets to `all`.
pub(crate) fn flatten(toolset: Arc<dyn Toolset>, all: &mut Vec<Arc<dyn Toolset>>) -> Vec<Tool> {
    all.push(Arc::clone(&toolset));
    let mut tools = Vec::new();
    for tool in toolset.tools() {
        match tool {
            Tool::Toolset(nested) => tools.extend(flatten(nested, all)),
            other => tools.push(other),
        }
    }
    tools
}
