//! The tool context: a frozen, checked, shared set of tools.

pub(crate) mod builder;
pub(crate) mod discovery;
pub(crate) mod errors;
pub(crate) mod freeze;
pub(crate) mod lifecycle;

pub use crate::registry::builder::ToolContextBuilder;
pub use crate::registry::discovery::Registry;
pub use crate::registry::errors::{RegistryError, RegistryErrors};
pub use crate::registry::lifecycle::SetupFailure;

use crate::call::context::RunContext;
use crate::call::response::ToolResponse;
use crate::call::tool_call::Arguments;
use crate::registry::freeze::Parts;
use crate::registry::lifecycle::{Keep, Kept, Memo};
use crate::text::Name;
use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::definition::ToolDefinition;
use crate::tool::dispatch;
use crate::tool::dispatch::Settings;
use crate::tool::function::FunctionTool;
use crate::tool::provider::ProviderTool;
use crate::tool::toolset::{Tool, Toolset};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use tokio::time::Instant;

/// A frozen set of tools: checked once, immutable, cheap to clone and to share.
///
/// The order is that of insertion, a toolset's tools where the toolset stands; [`discover`](Self::discover) sorts by
/// name. It stays the same from run to run, so that a provider's prompt cache holds.
#[derive(Clone)]
pub struct ToolContext(Arc<Inner>);

pub(crate) struct Inner {
    /// As they were given.
    entries: Vec<Tool>,
    functions: Vec<FunctionTool>,
    index: FxHashMap<Name, usize>,
    providers: Vec<Arc<dyn ProviderTool>>,
    toolsets: Vec<Arc<dyn Toolset>>,
    unconfigured: Vec<ToolsetMetadata>,
    settings: Settings,
    memo: Memo,
    keep: Keep,
    /// Whose tools they are, where they are an agent's.
    agent: Option<Arc<str>>,
}

impl ToolContext {
    /// A context put together by hand.
    pub fn builder() -> ToolContextBuilder {
        ToolContextBuilder::default()
    }

    /// A context of everything that is linked in and needs no configuration: free fns, and toolsets whose type is
    /// `Default` and not `Configure`, unless they say `discover = false`.
    ///
    /// A crate that no code names is not linked: `use my_tools as _;` names it.
    pub fn discover() -> Result<Self, RegistryErrors> {
        Ok(Registry::discover()?.context())
    }

    fn freeze(parts: Parts) -> Result<Self, RegistryErrors> {
        freeze::freeze(parts).map(|inner| Self(Arc::new(inner)))
    }

    /// Calls a tool: decoding, panic guard and size cap, and nothing else. Whatever happens, there is an answer.
    ///
    /// `arguments` is JSON text, bytes, a `serde_json::Value` or a `RawValue`.
    pub fn call<'a>(
        &self,
        name: &str,
        arguments: impl Into<Arguments<'a>>,
        ctx: &RunContext,
    ) -> impl Future<Output = ToolResponse> + Send {
        let arguments = arguments.into();
        async move {
            match self.0.index.get(name).and_then(|at| self.0.functions.get(*at)) {
                Some(tool) if tool.visible_in(ctx) => dispatch::run(tool, &arguments, ctx, &self.0.settings).await,
                _ => dispatch::unknown_tool(name, ctx.call_id_shared(), self.visible_names(ctx), Instant::now()),
            }
        }
    }

    /// The definitions of all function tools, in order.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.0.functions.iter().map(FunctionTool::definition)
    }

    /// The definitions that a run may see: without the tools of a `dynamic` toolset that its predicate hides.
    pub fn definitions_for(&self, ctx: &RunContext) -> impl Iterator<Item = &ToolDefinition> {
        self.0.functions.iter().filter(|tool| tool.visible_in(ctx)).map(FunctionTool::definition)
    }

    /// All function tools, in order.
    pub fn function_tools(&self) -> &[FunctionTool] {
        &self.0.functions
    }

    /// All provider tools, in order.
    pub fn provider_tools(&self) -> &[Arc<dyn ProviderTool>] {
        &self.0.providers
    }

    /// All toolsets, nested ones after the one that holds them.
    pub fn toolsets(&self) -> &[Arc<dyn Toolset>] {
        &self.0.toolsets
    }

    /// Function tools, then provider tools; no toolsets.
    pub fn flatten(&self) -> impl Iterator<Item = Tool> {
        let functions = self.0.functions.iter().cloned().map(Tool::Function);
        functions.chain(self.0.providers.iter().cloned().map(Tool::Provider))
    }

    /// Whether there is a function tool of that name or a provider tool of that id.
    pub fn has_tool(&self, id: &str) -> bool {
        self.0.index.contains_key(id) || self.0.providers.iter().any(|tool| tool.id() == id)
    }

    /// The function tool of that name.
    pub fn function_tool(&self, name: &str) -> Option<&FunctionTool> {
        self.0.index.get(name).and_then(|at| self.0.functions.get(*at))
    }

    /// The toolsets that [`discover`](Self::discover) left out because they have to be configured.
    pub fn unconfigured(&self) -> &[ToolsetMetadata] {
        &self.0.unconfigured
    }

    /// Puts other tools in the place of all there are. Contexts that were cloned before keep theirs; on an error this
    /// one does too.
    pub fn update_tools(&mut self, tools: impl IntoIterator<Item = Tool>) -> Result<(), RegistryErrors> {
        *self = Self::freeze(self.parts_with(tools.into_iter().collect()))?;
        Ok(())
    }

    /// A place for what is made of this context once and kept as long as it is, such as its declarations in a provider's
    /// form: one value for each type. A context is frozen, so what was made of it stays true; the contexts that
    /// [`update_tools`](Self::update_tools) makes begin anew.
    pub fn memo<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        self.0.memo.get_or_default()
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Where the tool of that name stands among the function tools.
    #[inline]
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.index.get(name).copied()
    }

    /// The entries as they were given, to build another context of.
    pub(crate) fn parts(&self) -> ToolContextBuilder {
        ToolContextBuilder::of(self.parts_with(self.0.entries.clone()))
    }

    /// What another context with these entries is built of.
    fn parts_with(&self, entries: Vec<Tool>) -> Parts {
        Parts {
            entries,
            unconfigured: self.0.unconfigured.clone(),
            settings: self.0.settings,
            keep: self.0.keep.derived(),
            agent: self.0.agent.clone(),
            ..Parts::default()
        }
    }

    /// What has to live while the tools are used.
    pub(crate) fn kept(&self) -> Option<Kept> {
        self.0.keep.kept()
    }

    /// The agent whose tools they are.
    pub(crate) fn agent(&self) -> Option<&Arc<str>> {
        self.0.agent.as_ref()
    }

    /// The same tools in a context of its own, which does not keep open what they need: whoever asks for it does.
    pub(crate) fn lent(&self) -> Self {
        let Inner { entries, functions, index, providers, toolsets, unconfigured, settings, keep, agent, .. } =
            &*self.0;
        Self(Arc::new(Inner {
            entries: entries.clone(),
            functions: functions.clone(),
            index: index.clone(),
            providers: providers.clone(),
            toolsets: toolsets.clone(),
            unconfigured: unconfigured.clone(),
            settings: *settings,
            memo: Memo::default(),
            keep: keep.lent(),
            agent: agent.clone(),
        }))
    }

    pub(crate) fn visible_names<'a>(&'a self, ctx: &'a RunContext) -> impl Iterator<Item = &'a str> {
        self.definitions_for(ctx).map(ToolDefinition::name)
    }
}

impl PartialEq for ToolContext {
    /// Every name has the same instance, and the provider tools and toolsets are the same instances in any order.
    fn eq(&self, other: &Self) -> bool {
        fn same<T: ?Sized>(a: &[Arc<T>], b: &[Arc<T>]) -> bool {
            let within =
                |x: &Arc<T>, all: &[Arc<T>]| all.iter().any(|y| std::ptr::addr_eq(Arc::as_ptr(x), Arc::as_ptr(y)));
            a.len() == b.len() && a.iter().all(|x| within(x, b)) && b.iter().all(|x| within(x, a))
        }
        let functions = self.0.functions.len() == other.0.functions.len()
            && self
                .0
                .functions
                .iter()
                .all(|tool| other.function_tool(tool.name()).is_some_and(|found| found.same(tool)));
        functions && same(&self.0.providers, &other.0.providers) && same(&self.0.toolsets, &other.0.toolsets)
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.flatten()).finish()
    }
}
