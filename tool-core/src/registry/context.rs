//! The tool context and its builder.

use crate::arguments::coerce::Coercions;
use crate::call::{Arguments, Mode, RunContext, ToolError, ToolResponse};
use crate::json::string::push_string;
use crate::registry::freeze::{FrozenTools, RegistryError, RegistryErrors, freeze};
use crate::registry::published::PromptsAndResources;
use crate::time::CallInstant;
use crate::tool::bare_call::call_bare;
use crate::tool::call_settings::CallSettings;
use crate::tool::instance::ToolsetInstance;
use crate::tool::missing_tool::{left_out, not_set_up, unknown_tool};
use crate::tool::{
    FunctionTool, IntoPrompt, IntoResource, IntoTool, ProviderTool, Tool, ToolDefinition, Toolset,
    ToolsetMetadata,
};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

/// A frozen set of tools: validated once, immutable, cheap to clone and to share.
///
/// Tools are in the order of insertion, and a toolset's tools take the toolset's place;
/// [`discover`](Self::discover) sorts by name. The order is the same in every run, so that a provider's prompt cache
/// remains valid.
///
/// ```
/// use tool_core::{RunContext, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolContext::builder().with(add).build()?;
/// assert!(tools.has_tool("add"));
/// assert_eq!(tools.definitions().map(|tool| tool.name()).collect::<Vec<_>>(), ["add"]);
///
/// let response = tools.call("add", r#"{"a": 1, "b": 2}"#, &RunContext::detached()).await;
/// assert_eq!(response.data_json(), Some("3"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ToolContext(Arc<ContextInner>);

struct ContextInner {
    parts: ContextParts,
    tools: FrozenTools,
    memos: Mutex<FxHashMap<TypeId, SharedResource>>,
    definitions_json: OnceLock<String>,
}

/// A toolset whose `setup` or `close` failed.
///
/// ```
/// use tool_core::{ToolContext, ToolError, toolset};
///
/// struct Database;
///
/// #[toolset]
/// impl Database {
///     #[setup]
///     async fn open(&self) -> Result<(), ToolError> {
///         Err(ToolError::transient("the database is down"))
///     }
///
///     /// Count the rows.
///     #[tool]
///     fn count(&self) -> u64 {
///         0
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let (tools, failures) = ToolContext::builder().with(Database).build()?.setup().await;
/// assert_eq!(failures[0].error.message(), "the database is down");
/// assert!(!tools.has_tool("count"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
#[error("toolset `{toolset}` failed to open or close: {error}")]
pub struct SetupFailure {
    /// The toolset's id.
    pub toolset: String,
    /// The error that it returned.
    pub error: ToolError,
}

/// A toolset that is left out because its setup failed.
#[derive(Clone)]
pub(crate) struct FailedToolset {
    pub(crate) failure: SetupFailure,
    pub(crate) tools: Vec<FunctionTool>,
}

/// The input of a context.
#[derive(Clone, Default)]
pub(crate) struct ContextParts {
    /// The tools as they were added.
    pub(crate) entries: Vec<Tool>,
    pub(crate) unconfigured: Vec<ToolsetMetadata>,
    pub(crate) settings: CallSettings,
    /// The toolsets of which only a part is offered. They are set up and closed as well.
    pub(crate) enclosing: Vec<Arc<dyn Toolset>>,
    /// The toolsets that are left out.
    pub(crate) failed: Vec<FailedToolset>,
    /// The prompts and resources that were added outside any toolset.
    pub(crate) published: Option<Box<PromptsAndResources>>,
    /// The resource that lives while the tools are used, for example an agent's open toolsets.
    resource: Option<SharedResource>,
    /// The same in the tools of a session, which holds the resource itself until it ends.
    session_resource: Option<Weak<dyn Any + Send + Sync>>,
    /// The agent to which the tools belong.
    pub(crate) agent: Option<Arc<str>>,
    /// A digest of the settings of its toolsets.
    pub(crate) agent_settings: Option<Arc<str>>,
}

impl ToolContext {
    /// Returns a builder for a context of selected tools.
    pub fn builder() -> ToolContextBuilder {
        ToolContextBuilder::default()
    }

    /// Returns a builder with the same tools.
    pub(crate) fn to_builder(&self) -> ToolContextBuilder {
        let parts = ContextParts {
            resource: self.shared_resource(),
            session_resource: None,
            ..self.0.parts.clone()
        };
        ToolContextBuilder {
            parts,
            ..ToolContextBuilder::default()
        }
    }

    /// Calls a tool. This bare call decodes the arguments, catches panics and limits sizes; a
    /// [`Session`](crate::Session) enforces all other limits. Every call has a response.
    ///
    /// A tool of a toolset with a `#[setup]` needs [`setup`](Self::setup) first. A session runs it
    /// by itself.
    ///
    /// `arguments` is JSON text, bytes, a `serde_json::Value` or a `RawValue`.
    pub fn call<'a>(
        &self,
        name: &str,
        arguments: impl Into<Arguments<'a>>,
        ctx: &RunContext,
    ) -> impl Future<Output = ToolResponse> + Send {
        call_bare(
            move || self.callable(name, ctx),
            arguments.into(),
            ctx,
            true,
        )
    }

    /// Finds a tool that may be called now, or answers the call.
    #[inline]
    fn callable(
        &self,
        name: &str,
        ctx: &RunContext,
    ) -> Result<(&FunctionTool, &CallSettings), ToolResponse> {
        match self.function_tool(name) {
            Some(tool) if !tool.is_dynamic() || tool.visible_in(ctx) => {
                match self.missing_setup(name) {
                    Some(error) => Err(not_set_up(tool, error, ctx)),
                    None => Ok((tool, self.settings())),
                }
            }
            _ => {
                let call = MissedCall {
                    name,
                    call_id: ctx.call_id_shared(),
                    mode: None,
                    began: CallInstant::now(),
                };
                Err(self.answer_without_tool(&call, ctx, ""))
            }
        }
    }

    /// Returns the definitions of all function tools, in order.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.function_tools().iter().map(FunctionTool::definition)
    }

    /// Returns the definitions of all function tools as one JSON text, in order:
    /// `[{"name":..,"description":..,"parameters":{..}},..]`. The text is built at first use and
    /// kept.
    ///
    /// `declare` of `tool-adapters` gives them in the form of a provider.
    pub fn definitions_json(&self) -> &str {
        self.0
            .definitions_json
            .get_or_init(|| definitions_json(self.definitions()))
    }

    /// Returns the definitions that a run sees: those of a `dynamic` toolset only if its predicate
    /// returns true.
    pub fn definitions_for(&self, ctx: &RunContext) -> impl Iterator<Item = &ToolDefinition> {
        self.function_tools()
            .iter()
            .filter(|tool| tool.visible_in(ctx))
            .map(FunctionTool::definition)
    }

    /// Returns all function tools, in order.
    pub fn function_tools(&self) -> &[FunctionTool] {
        &self.0.tools.functions
    }

    /// Returns all provider tools, in order.
    pub fn provider_tools(&self) -> &[Arc<dyn ProviderTool>] {
        &self.0.tools.providers
    }

    /// Returns all toolsets. Nested toolsets follow the one that contains them.
    pub fn toolsets(&self) -> &[Arc<dyn Toolset>] {
        &self.0.tools.toolsets
    }

    /// Returns all function tools, followed by all provider tools.
    pub fn flatten(&self) -> impl Iterator<Item = Tool> {
        let functions = self.function_tools().iter().cloned().map(Tool::Function);
        functions.chain(self.provider_tools().iter().cloned().map(Tool::Provider))
    }

    /// Returns true if a function tool has that name or a provider tool has that id.
    pub fn has_tool(&self, id: &str) -> bool {
        self.position(id).is_some() || self.provider_tools().iter().any(|tool| tool.id() == id)
    }

    /// Returns the function tool of that name.
    pub fn function_tool(&self, name: &str) -> Option<&FunctionTool> {
        self.position(name)
            .and_then(|at| self.function_tools().get(at))
    }

    /// Returns the toolsets that [`discover`](Self::discover) left out because they must be
    /// configured.
    pub fn unconfigured(&self) -> &[ToolsetMetadata] {
        &self.0.parts.unconfigured
    }

    /// Returns the failures of toolsets that were left out because their setup failed. The tools of
    /// a session have those of its opening: `session.tools().setup_failures()`.
    pub fn setup_failures(&self) -> impl Iterator<Item = &SetupFailure> {
        self.0.parts.failed.iter().map(|failed| &failed.failure)
    }

    /// Replaces all tools, and the prompts and resources of toolsets. Clones of the context keep
    /// the old ones.
    ///
    /// # Errors
    ///
    /// All problems of the new tools. The context then keeps the old ones, too.
    pub fn update_tools(
        &mut self,
        tools: impl IntoIterator<Item = Tool>,
    ) -> Result<(), RegistryErrors> {
        let mut builder = self.to_builder();
        builder.parts.entries = tools.into_iter().collect();
        builder.parts.enclosing.clear();
        builder.parts.failed.clear();
        *self = builder.build()?;
        Ok(())
    }

    /// Returns a context of the same tools with other coercions of arguments, for example for the
    /// tools that
    /// [`discover`](Self::discover) has found.
    ///
    /// ```
    /// use tool_core::arguments::{Coercions, JsonRepair};
    /// use tool_core::{Runtime, ToolContext};
    ///
    /// # let discovered = ToolContext::builder().build()?;
    /// // let discovered = ToolContext::discover()?;
    /// let coercions = Coercions::ALL.with_repair(JsonRepair::ReadOnly);
    /// let runtime = Runtime::builder(discovered.with_coercions(coercions)).build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    #[must_use]
    pub fn with_coercions(&self, coercions: Coercions) -> Self {
        let mut parts = self.0.parts.clone();
        parts.settings.coercions = coercions;
        Self::new(parts, self.0.tools.clone())
    }

    /// Returns the context's memo of type `T`, which is created at first use. It holds values that
    /// are computed from the context, for example its declarations for a provider: a context is
    /// frozen, so they stay valid.
    ///
    /// There is one memo of each type. The context that [`update_tools`](Self::update_tools) makes
    /// begins with none.
    pub fn memo<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut memos = self.0.memos.lock();
        let memo = memos
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        // Each value has the type of its key.
        Arc::clone(memo).downcast().unwrap_or_default()
    }

    pub(crate) fn published(&self) -> Option<&PromptsAndResources> {
        self.0.tools.published.as_deref()
    }

    pub(crate) fn settings(&self) -> &CallSettings {
        &self.0.parts.settings
    }

    /// Returns the position of a tool among the function tools.
    #[inline]
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.tools.index.get(name).copied()
    }

    /// Returns the toolsets that are set up and closed.
    pub(crate) fn instances(&self) -> &[Arc<ToolsetInstance>] {
        &self.0.tools.instances
    }

    /// Returns the error of a bare call if the tool's toolset must be set up first.
    #[inline]
    fn missing_setup(&self, name: &str) -> Option<ToolError> {
        let needs_setup = &self.0.tools.needs_setup;
        // Most contexts have no such toolset, and search for nothing.
        if needs_setup.is_empty() {
            return None;
        }
        needs_setup.get(name)?.missing()
    }

    /// Answers a call of a tool that is not offered. It names no tool that the caller may not call.
    /// The hint follows the names.
    #[cold]
    pub(crate) fn answer_without_tool(
        &self,
        call: &MissedCall<'_>,
        ctx: &RunContext,
        hint: &str,
    ) -> ToolResponse {
        let MissedCall {
            name,
            call_id,
            mode,
            began,
        } = *call;
        let serves = |tool: &ToolDefinition| mode.is_none_or(|mode| tool.modes().contains(mode));
        for FailedToolset { failure, tools } in &self.0.parts.failed {
            let is_it = |tool: &&FunctionTool| {
                tool.name() == name && serves(tool.definition()) && tool.visible_in(ctx)
            };
            if let Some(tool) = tools.iter().find(is_it) {
                return left_out(tool, (&failure.toolset, &failure.error), call_id, began);
            }
        }
        let offered = self.definitions_for(ctx).filter(|tool| serves(tool));
        unknown_tool(
            name,
            call_id,
            offered.map(ToolDefinition::name),
            hint,
            began,
        )
    }

    /// Returns the tools as they were added.
    pub(crate) fn entries(&self) -> &[Tool] {
        &self.0.parts.entries
    }

    /// Returns the resource that must live while the tools are used.
    pub(crate) fn shared_resource(&self) -> Option<SharedResource> {
        let ContextParts {
            resource,
            session_resource,
            ..
        } = &self.0.parts;
        resource
            .clone()
            .or_else(|| session_resource.as_ref()?.upgrade())
    }

    /// Returns the digest of the settings of the agent's toolsets; empty if the tools belong to no
    /// agent.
    pub(crate) fn agent_settings(&self) -> &str {
        self.0.parts.agent_settings.as_deref().unwrap_or_default()
    }

    /// Returns the agent to which the tools belong.
    pub(crate) fn agent(&self) -> Option<&Arc<str>> {
        self.0.parts.agent.as_ref()
    }

    /// Returns a context of the same tools that holds their resource weakly. Its user holds the
    /// resource itself.
    pub(crate) fn downgraded(&self) -> Self {
        let session_resource = self.shared_resource().as_ref().map(Arc::downgrade);
        let parts = ContextParts {
            resource: None,
            session_resource,
            ..self.0.parts.clone()
        };
        Self::new(parts, self.0.tools.clone())
    }

    fn new(parts: ContextParts, tools: FrozenTools) -> Self {
        Self(Arc::new(ContextInner {
            parts,
            tools,
            memos: Mutex::default(),
            definitions_json: OnceLock::new(),
        }))
    }
}

/// A call that reached no tool.
pub(crate) struct MissedCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) call_id: Option<&'a Arc<str>>,
    /// The mode in which the call was made. A bare call may call the tools of both.
    pub(crate) mode: Option<Mode>,
    pub(crate) began: CallInstant,
}

fn definitions_json<'a>(definitions: impl Iterator<Item = &'a ToolDefinition>) -> String {
    let mut text = String::from("[");
    for tool in definitions {
        text.push_str(if text.len() == 1 {
            r#"{"name":"#
        } else {
            r#",{"name":"#
        });
        push_string(&mut text, tool.name());
        text.push_str(r#","description":"#);
        push_string(&mut text, tool.description());
        text.push_str(r#","parameters":"#);
        text.push_str(tool.parameters_json());
        text.push('}');
    }
    text.push(']');
    text
}

impl PartialEq for ToolContext {
    /// Compares by identity: function tools by name, provider tools and toolsets in any order,
    /// prompts and resources in order.
    fn eq(&self, other: &Self) -> bool {
        fn same<T: ?Sized>(a: &[Arc<T>], b: &[Arc<T>]) -> bool {
            let all_in =
                |a: &[Arc<T>], b: &[Arc<T>]| a.iter().all(|x| b.iter().any(|y| Arc::ptr_eq(x, y)));
            a.len() == b.len() && all_in(a, b) && all_in(b, a)
        }
        let in_other = |tool: &FunctionTool| {
            other
                .function_tool(tool.name())
                .is_some_and(|found| found.same(tool))
        };
        self.function_tools().len() == other.function_tools().len()
            && self.function_tools().iter().all(in_other)
            && same(self.provider_tools(), other.provider_tools())
            && same(self.toolsets(), other.toolsets())
            && self.prompts() == other.prompts()
            && self.resources() == other.resources()
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.flatten()).finish()
    }
}

/// Builds a [`ToolContext`]. [`build`](Self::build) checks all tools and reports every problem.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolsetExt, tool, toolset};
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
/// }
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let parameters = json!({"type": "object"});
/// let raw = RawTool { name: "echo".into(), description: "Echo the arguments.".into(), parameters };
/// let echo = FunctionTool::raw(raw, async |arguments: Value, _ctx: &RunContext| Ok(arguments));
///
/// // A toolset by value, a function by its name, and a tool.
/// let tools = ToolContext::builder().with(Shop.prefixed("shop")).with(add).with(echo).max_output_bytes(10_000).build()?;
/// assert_eq!(tools.definitions().map(|tool| tool.name()).collect::<Vec<_>>(), ["shop_list", "add", "echo"]);
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct ToolContextBuilder {
    pub(crate) parts: ContextParts,
    pub(crate) problems: Vec<RegistryError>,
    /// True if each tool was checked before, so that only their names are compared.
    pub(crate) validated: bool,
}

impl ToolContextBuilder {
    /// Adds a toolset by value or in an `Arc`, a `#[tool]` function by its name, or a tool. An
    /// instance that was added before is ignored.
    pub fn with<M>(mut self, tool: impl IntoTool<M>) -> Self {
        match tool.into_tool() {
            Ok(tool) => self.parts.entries.push(tool),
            Err(message) => self.problems.push(RegistryError::new(message, [])),
        }
        self
    }

    /// Adds several tools of the same type.
    pub fn with_all<M, T: IntoTool<M>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Self::with)
    }

    /// Adds a prompt, or the name of a function with `#[prompt]`. An instance that was added before
    /// is ignored.
    pub fn with_prompt<M>(mut self, prompt: impl IntoPrompt<M>) -> Self {
        match prompt.into_prompt() {
            Ok(prompt) => self
                .parts
                .published
                .get_or_insert_default()
                .prompts
                .push(prompt),
            Err(message) => self.problems.push(RegistryError::new(message, [])),
        }
        self
    }

    /// Adds a resource, or the name of a function with `#[resource]`. An instance that was added
    /// before is ignored.
    pub fn with_resource<M>(mut self, resource: impl IntoResource<M>) -> Self {
        match resource.into_resource() {
            Ok(resource) => self
                .parts
                .published
                .get_or_insert_default()
                .resources
                .push(resource),
            Err(message) => self.problems.push(RegistryError::new(message, [])),
        }
        self
    }

    /// Sets the lossless coercions of arguments that are allowed. Defaults to all.
    pub fn coercions(mut self, coercions: Coercions) -> Self {
        self.parts.settings.coercions = coercions;
        self
    }

    /// Sets the maximum size of a call's arguments in bytes. Defaults to 1 MiB.
    pub fn max_argument_bytes(mut self, bytes: usize) -> Self {
        self.parts.settings.argument_bytes = bytes;
        self
    }

    /// Sets the maximum size of a result in bytes. A longer result is cut. Defaults to 1 MiB. The
    /// `max_output` of a tool is a separate limit.
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.parts.settings.output_bytes = bytes;
        self
    }

    /// Removes function tools that were added outside any toolset.
    pub(crate) fn without(mut self, remove: impl Fn(&FunctionTool) -> bool) -> Self {
        self.parts
            .entries
            .retain(|entry| !matches!(entry, Tool::Function(tool) if remove(tool)));
        self
    }

    /// Builds the context of an agent from tools that were checked before; only their names are
    /// compared. The resource is kept alive for as long as the context, or a context made of it, is
    /// used.
    #[cfg(feature = "agents")]
    pub(crate) fn build_for_agent(
        mut self,
        agent: &Arc<str>,
        settings: &str,
        resource: SharedResource,
    ) -> Result<ToolContext, RegistryErrors> {
        self.parts.agent = Some(Arc::clone(agent));
        self.parts.agent_settings = Some(settings.into());
        self.parts.resource = Some(resource);
        self.validated = true;
        self.build()
    }

    /// Checks all tools and freezes them.
    ///
    /// # Errors
    ///
    /// Every problem: names that collide, invalid names, invalid schemas.
    pub fn build(self) -> Result<ToolContext, RegistryErrors> {
        CallInstant::calibrate();
        let published = self.parts.published.as_deref().cloned().unwrap_or_default();
        let mut tools = freeze(
            &self.parts.entries,
            published,
            self.problems,
            self.validated,
        )?;
        tools
            .instances
            .extend(self.parts.enclosing.iter().filter_map(ToolsetInstance::of));
        Ok(ToolContext::new(self.parts, tools))
    }
}

/// A resource that is released when its last reference is dropped, for example an agent's open
/// toolsets.
pub(crate) type SharedResource = Arc<dyn Any + Send + Sync>;
