//! Function tools: the methods that the macros describe, and raw tools.

use crate::arguments::coerce::Coercions;
use crate::call::approval_reason::{ApprovalNeed, ApprovalReason};
use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::text;
use crate::tool::conditions::{self, HostCondition, strictest};
use crate::tool::definition::{CompiledDefinition, SourceLocation, ToolDefinition, ToolDescriptor};
use crate::tool::invocation::{
    ClosedGate, HandlerResult, Invocation, InvocationFrame, Rejection, RequiredSetup, Scrub,
    Visible,
};
use crate::tool::options::{Confirm, ToolOptions};
use crate::tool::spec::{ToolSpec, Wrapper};
use serde_json::Value;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A tool that runs in this process. Cloning is cheap, and a clone is the same instance.
///
/// ```
/// use tool_core::{Category, ToolContext, tool};
///
/// /// Find articles.
/// #[tool(category = "retrieval", max_calls = 3)]
/// fn search(query: String) -> Vec<String> {
///     vec![query]
/// }
///
/// let tools = ToolContext::builder().with(search).build()?;
/// let tool = tools.function_tool("search").expect("it was added");
/// assert_eq!((tool.name(), tool.definition().category()), ("search", Category::Retrieval));
/// assert_eq!(tool.definition().max_calls(), Some(3));
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct FunctionTool(pub(crate) Arc<FunctionInner>);

#[derive(Clone)]
pub(crate) struct FunctionInner {
    definition: ToolDefinition,
    pub(crate) handler: Arc<dyn Handler>,
    visible: Option<Arc<Visible>>,
    /// The conditions of approval that the host has added to the tool's own. Empty for most tools.
    conditions: Vec<HostCondition>,
    /// The tool's own condition of approval, once the host has added others.
    own_confirm: Option<Confirm>,
    /// The setup without which a method does not work.
    setup: Option<Arc<dyn RequiredSetup>>,
    /// Removes secrets from the tool's errors and panics before they are shown.
    scrub: Option<Arc<Scrub>>,
    /// The address of the toolset, for a tool that is as its macro made it. A toolset binds its
    /// tools again whenever it is asked for them, and the results count as the same instances. The
    /// tool keeps the toolset alive, so that no other toolset can take its address.
    toolset: Option<usize>,
}

/// The predicate of a tool that a macro describes.
pub(crate) type VisibleFn = fn(&RunContext) -> bool;

/// Starts the calls of a tool.
pub(crate) trait Handler: Send + Sync {
    fn start<'a>(&'a self, call: Invocation<'a>) -> HandlerResult<'a>;
}

/// A method and the toolset on which it is called.
struct BoundMethod<T: 'static> {
    instance: Arc<T>,
    wrapper: Wrapper<T>,
}

impl<T: Send + Sync + 'static> Handler for BoundMethod<T> {
    #[inline]
    fn start<'a>(&'a self, call: Invocation<'a>) -> HandlerResult<'a> {
        (self.wrapper)(&self.instance, call)
    }
}

impl FunctionTool {
    /// Binds a macro's spec to an instance, with `prefix` before the name.
    pub(crate) fn bind<T: Send + Sync>(
        spec: &ToolSpec<T>,
        instance: &Arc<T>,
        prefix: Option<&str>,
    ) -> Self {
        let mut defaults = Vec::new();
        for (index, make) in spec.defaults {
            // After a panic the default is null. The schema refuses it and names the parameter.
            let default = catch_unwind(AssertUnwindSafe(|| make(instance)));
            defaults.push((*index, default.unwrap_or(Value::Null)));
        }
        let mut options = spec.tool.options;
        if let Some(confirm) = spec.confirm {
            // If the function panics, a person decides.
            let asks = catch_unwind(AssertUnwindSafe(|| confirm(instance))).unwrap_or(true);
            options.confirm = if asks {
                Confirm::Always
            } else {
                Confirm::Never
            };
        }
        let handler = Arc::new(BoundMethod {
            instance: Arc::clone(instance),
            wrapper: spec.call,
        });
        Self::of_descriptor(
            &spec.tool,
            (options, &defaults, spec.visible),
            handler,
            Arc::as_ptr(instance).addr(),
            prefix,
        )
    }

    // Not generic, so that it is compiled once.
    fn of_descriptor(
        tool: &ToolDescriptor,
        (options, defaults, visible): (ToolOptions, &[(usize, Value)], Option<VisibleFn>),
        handler: Arc<dyn Handler>,
        toolset: usize,
        prefix: Option<&str>,
    ) -> Self {
        let mut definition = ToolDefinition::of_descriptor(tool, defaults, prefix);
        if let Some(compiled) = Arc::get_mut(&mut definition.compiled) {
            compiled.options = options;
            compiled.schema.needs_validator |= !are_types_proven(compiled, &*handler);
            compiled.schema.probe = None;
        }
        let visible = visible.map(|visible| Arc::new(visible) as Arc<Visible>);
        Self(Arc::new(FunctionInner {
            visible,
            ..FunctionInner::new(definition, handler, Some(toolset))
        }))
    }

    pub(crate) fn new(
        definition: ToolDefinition,
        handler: Arc<dyn Handler>,
        toolset: Option<usize>,
    ) -> Self {
        Self(Arc::new(FunctionInner::new(definition, handler, toolset)))
    }

    /// Returns the tool's definition.
    pub fn definition(&self) -> &ToolDefinition {
        &self.0.definition
    }

    /// Returns the tool's name.
    pub fn name(&self) -> &str {
        self.0.definition.name()
    }

    /// Returns the tool's id, which is its name.
    pub fn id(&self) -> &str {
        self.name()
    }

    /// Returns true where a run sees the tool. A predicate that panics hides it.
    pub fn visible_in(&self, ctx: &RunContext) -> bool {
        let Some(visible) = &self.0.visible else {
            return true;
        };
        catch_unwind(AssertUnwindSafe(|| visible(ctx))).unwrap_or_else(|_| {
            tracing::error!(
                tool = self.name(),
                "the predicate of a dynamic tool panicked; the tool is hidden"
            );
            false
        })
    }

    /// Returns the setup that the tool needs by itself, in whatever toolset it is.
    pub(crate) fn setup(&self) -> Option<&Arc<dyn RequiredSetup>> {
        self.0.setup.as_ref()
    }

    /// Binds a method that was just bound to the setup of its toolset.
    pub(crate) fn after_setup(mut self, setup: &Arc<dyn RequiredSetup>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.setup = Some(Arc::clone(setup));
        }
        self
    }

    /// Returns true where a predicate decides which runs see the tool.
    #[inline]
    pub(crate) fn is_dynamic(&self) -> bool {
        self.0.visible.is_some()
    }

    /// Returns true where both are the same instance.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.toolset.is_some() && self.origin() == other.origin())
    }

    /// Returns the toolset and the method of a tool that is as its macro made it.
    fn origin(&self) -> Option<(usize, &str, SourceLocation, &str)> {
        Some((
            self.0.toolset?,
            self.name(),
            self.definition().source(),
            self.definition().path(),
        ))
    }

    /// Returns a new instance of the tool with another name.
    pub fn renamed(&self, name: impl Into<String>) -> Self {
        let name = name.into().into();
        self.derived(|tool| tool.definition.name = name)
    }

    /// Returns a new instance of the tool with a further condition under which a person has to approve
    /// a call. It is a condition of the host's policy. Those that the tool has stay, so
    /// [`Confirm::Never`] changes nothing.
    pub fn confirm(&self, confirm: Confirm) -> Self {
        match HostCondition::of(confirm) {
            Some(condition) => self.with_condition(condition),
            None => self.clone(),
        }
    }

    /// Returns a new instance of the tool whose every call needs approval, for this reason. The person
    /// who decides reads it.
    ///
    /// ```
    /// use tool_core::FunctionTool;
    ///
    /// fn paid(tool: &FunctionTool) -> FunctionTool {
    ///     tool.confirm_because("each call costs the guest money")
    /// }
    /// ```
    pub fn confirm_because(&self, reason: impl Into<String>) -> Self {
        self.with_condition(HostCondition::Always(reason.into().into()))
    }

    /// Returns a new instance of the tool with a further condition, as [`confirm`](Self::confirm) does. A call needs approval if
    /// `asks` returns true or a reason for the arguments' JSON text, or panics. The text is in canonical form, with the defaults
    /// that the tool gets and without escapes that JSON does not need. Unlike [`Confirm::When`] the condition may capture values.
    ///
    /// ```
    /// use tool_core::FunctionTool;
    ///
    /// fn careful(tool: &FunctionTool, word: String) -> FunctionTool {
    ///     tool.confirm_where(move |arguments| arguments.contains(&word))
    /// }
    ///
    /// fn says_why(tool: &FunctionTool) -> FunctionTool {
    ///     tool.confirm_where(|arguments| arguments.contains("/etc/").then_some("it is a file of the system"))
    /// }
    /// ```
    pub fn confirm_where<N: Into<ApprovalNeed>>(
        &self,
        asks: impl Fn(&str) -> N + Send + Sync + 'static,
    ) -> Self {
        let asks = move |arguments: &str| asks(arguments).into();
        self.with_condition(HostCondition::When(Arc::new(asks)))
    }

    fn with_condition(&self, condition: HostCondition) -> Self {
        let before = self.definition().confirm();
        let shown = strictest(before, &condition);
        self.changed(|definition| definition.options.confirm = shown)
            .derived(|tool| {
                tool.own_confirm.get_or_insert(before);
                tool.conditions.push(condition);
            })
    }

    /// Adds the reasons for which a call with these arguments needs approval to a list: of the tool,
    /// and of the conditions that the host has added.
    pub(crate) fn add_approval_reasons(&self, arguments: &str, reasons: &mut Vec<ApprovalReason>) {
        let definition = &self.definition().compiled;
        let own = self.0.own_confirm.unwrap_or(definition.options.confirm);
        let arguments = definition.approved_text(arguments);
        conditions::add_reasons(own, &self.0.conditions, &arguments, reasons);
    }

    /// Returns a new instance of the tool that only those runs see for which `visible` returns
    /// true. It is called for each listing and each call. A tool that is already dynamic has to
    /// pass both.
    ///
    /// `#[tool(dynamic = function)]` does the same where a function is declared, and
    /// [`ToolsetExt::dynamic`](crate::ToolsetExt::dynamic) for a whole toolset.
    ///
    /// ```
    /// use tool_core::FunctionTool;
    ///
    /// struct Staff;
    ///
    /// fn for_staff(tool: &FunctionTool) -> FunctionTool {
    ///     tool.dynamic(|ctx| ctx.user_data::<Staff>().is_some())
    /// }
    /// ```
    pub fn dynamic(&self, visible: impl Fn(&RunContext) -> bool + Send + Sync + 'static) -> Self {
        self.visible_where(Arc::new(visible))
    }

    /// Returns a new instance of the tool that only those runs see for which `visible` returns
    /// true.
    pub(crate) fn visible_where(&self, visible: Arc<Visible>) -> Self {
        self.derived(|tool| {
            tool.visible = Some(match tool.visible.take() {
                None => visible,
                Some(before) => Arc::new(move |ctx: &RunContext| before(ctx) && visible(ctx)),
            });
        })
    }

    /// Returns a new instance of the tool with the name of the service behind it. The tools of one
    /// service share its limits and its circuit breaker
    /// ([`LimitScope::Upstream`](crate::session::LimitScope::Upstream)). The tools of an imported MCP
    /// server have the name of the server.
    ///
    /// ```
    /// use tool_core::FunctionTool;
    ///
    /// fn of_github(tool: &FunctionTool) -> FunctionTool {
    ///     tool.upstream("github")
    /// }
    /// ```
    pub fn upstream(&self, name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        self.changed(|definition| definition.upstream = Some(name))
    }

    /// Returns a new instance of the tool with a changed definition.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut CompiledDefinition)) -> Self {
        self.derived(|tool| {
            let mut compiled = (*tool.definition.compiled).clone();
            change(&mut compiled);
            tool.definition.compiled = Arc::new(compiled);
        })
    }

    fn derived(&self, change: impl FnOnce(&mut FunctionInner)) -> Self {
        let mut inner = FunctionInner {
            toolset: None,
            ..(*self.0).clone()
        };
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Returns the tool with a function that scrubs its errors. It remains the same instance.
    #[cfg(feature = "agents")]
    pub(crate) fn scrubbed_by(&self, scrub: Arc<Scrub>) -> Self {
        Self(Arc::new(FunctionInner {
            scrub: Some(scrub),
            ..(*self.0).clone()
        }))
    }

    /// Removes secrets from an error of the tool.
    #[cold]
    pub(crate) fn scrub(&self, error: ToolError) -> ToolError {
        match &self.0.scrub {
            Some(scrub) => scrub(error),
            None => error,
        }
    }
}

impl FunctionInner {
    fn new(definition: ToolDefinition, handler: Arc<dyn Handler>, toolset: Option<usize>) -> Self {
        Self {
            definition,
            handler,
            visible: None,
            conditions: Vec::new(),
            own_confirm: None,
            setup: None,
            scrub: None,
            toolset,
        }
    }
}

/// Returns true if decoding alone enforces the schema of a tool: its types read the tool's probe as
/// its schema says.
fn are_types_proven(compiled: &CompiledDefinition, handler: &dyn Handler) -> bool {
    let Some(probe) = &compiled.schema.probe else {
        return false;
    };
    let ctx = RunContext::detached();
    let decodes = |text: &str| {
        let frame = InvocationFrame {
            text,
            ctx: &ctx,
            reporting: &ctx,
            tool: compiled,
            coercions: Coercions::NONE,
            validated: true,
            output_bytes: 0,
            nulls: AtomicU64::new(0),
            // The arguments are decoded before the gate refuses, and the method does not run.
            gate: Some(&ClosedGate),
        };
        let started = catch_unwind(AssertUnwindSafe(|| handler.start(Invocation(&frame))));
        matches!(
            started.map_err(text::of_panic),
            Ok(Err(Rejection::NotAdmitted))
        )
    };
    probe.proves(decodes)
}

impl PartialEq for FunctionTool {
    /// Compares by identity.
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl Eq for FunctionTool {}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FunctionTool")
            .field(&self.0.definition)
            .finish()
    }
}
