//! Function tools: what the macro makes of a method, and what is made at run time.

use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::response::ToolResponse;
use crate::call::tool_call::Arguments;
use crate::tool::body::Definition;
use crate::tool::definition::ToolDefinition;
use crate::tool::dispatch;
use crate::tool::dispatch::Settings;
use crate::tool::invocation::{Call, Started};
use crate::tool::spec::{Place, ToolFacts, ToolSpec, Wrapper};
use serde_json::Value;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A tool that runs here. Cheap to clone; a clone is the same instance.
#[derive(Clone)]
pub struct FunctionTool(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) definition: ToolDefinition,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) visible: Option<Arc<Visible>>,
    /// What its errors and panics go through before anybody sees them.
    scrub: Option<Arc<Scrub>>,
    /// Where it comes from, for a tool that is as the macro made it.
    origin: Option<Origin>,
}

/// A method of one instance of a toolset. A toolset binds its tools whenever it is asked for them, and what it then
/// gives counts as the same instances. The tool keeps the toolset alive, so that no other can take its address.
#[derive(Clone, Copy, PartialEq)]
struct Origin {
    instance: usize,
    name: &'static str,
    file: &'static str,
    line: u32,
    path: &'static str,
}

/// Decides whether a run may see a tool.
pub(crate) type Visible = dyn Fn(&RunContext) -> bool + Send + Sync;

/// Takes out of an error what nobody may see.
pub(crate) type Scrub = dyn Fn(ToolError) -> ToolError + Send + Sync;

/// What starts a call.
pub(crate) trait Handler: Send + Sync {
    fn start<'a>(&'a self, call: Call<'a>) -> Started<'a>;
}

/// A method and the toolset that it is called on.
struct Bound<T: 'static> {
    instance: Arc<T>,
    wrapper: Wrapper<T>,
}

impl<T: Send + Sync + 'static> Handler for Bound<T> {
    #[inline]
    fn start<'a>(&'a self, call: Call<'a>) -> Started<'a> {
        (self.wrapper)(&self.instance, call)
    }
}

impl FunctionTool {
    /// The tool of a macro's description, on an instance. `prefix` goes before the name.
    pub(crate) fn bind<T: Send + Sync>(spec: &ToolSpec<T>, instance: &Arc<T>, prefix: Option<&str>) -> Self {
        let mut defaults = Vec::new();
        for (index, make) in spec.defaults {
            // A panic leaves the default null, which its schema refuses with the parameter's name.
            let made = catch_unwind(AssertUnwindSafe(|| make(instance)));
            defaults.push((*index, made.unwrap_or(Value::Null)));
        }
        let handler = Arc::new(Bound { instance: Arc::clone(instance), wrapper: spec.call });
        Self::of_facts(&spec.facts, &defaults, handler, Arc::as_ptr(instance).addr(), prefix)
    }

    /// The part that is the same for all types.
    fn of_facts(
        facts: &ToolFacts,
        defaults: &[(usize, Value)],
        handler: Arc<dyn Handler>,
        instance: usize,
        prefix: Option<&str>,
    ) -> Self {
        let definition = ToolDefinition::of_facts(facts, defaults, prefix);
        let Place { file, line, path } = facts.place;
        let origin = Origin { instance, name: facts.name, file, line, path };
        Self(Arc::new(Inner { definition, handler, visible: None, scrub: None, origin: Some(origin) }))
    }

    pub(crate) fn from_parts(definition: ToolDefinition, handler: Arc<dyn Handler>) -> Self {
        Self(Arc::new(Inner { definition, handler, visible: None, scrub: None, origin: None }))
    }

    /// What the model and the runtime know of it.
    pub fn definition(&self) -> &ToolDefinition {
        &self.0.definition
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.definition.name()
    }

    /// Its id: the name.
    pub fn id(&self) -> &str {
        self.name()
    }

    /// Whether a run may see it. A predicate that panics hides it.
    pub fn visible_in(&self, ctx: &RunContext) -> bool {
        let Some(visible) = &self.0.visible else { return true };
        catch_unwind(AssertUnwindSafe(|| visible(ctx))).unwrap_or_else(|_| {
            tracing::error!(tool = self.name(), "the predicate of a dynamic toolset panicked; the tool is hidden");
            false
        })
    }

    /// Whether a predicate decides who may see it.
    #[inline]
    pub(crate) fn is_dynamic(&self) -> bool {
        self.0.visible.is_some()
    }

    /// Whether both are the same instance.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.origin.is_some() && self.0.origin == other.0.origin)
    }

    /// The same tool under another name: another instance.
    #[must_use]
    pub fn renamed(&self, name: impl Into<String>) -> Self {
        let definition = ToolDefinition { name: name.into().into(), body: Arc::clone(&self.0.definition.body) };
        self.with(definition, self.0.visible.clone())
    }

    /// The same tool, offered only to runs of which `visible` holds: another instance.
    #[must_use]
    pub(crate) fn visible_where(&self, visible: Arc<Visible>) -> Self {
        let before = self.0.visible.clone();
        let both: Arc<Visible> = match before {
            None => visible,
            Some(before) => Arc::new(move |ctx: &RunContext| before(ctx) && visible(ctx)),
        };
        self.with(self.0.definition.clone(), Some(both))
    }

    /// The same tool with a changed definition: another instance.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut Definition)) -> Self {
        let mut body = self.0.definition.body.fork();
        change(&mut body);
        let definition = ToolDefinition { name: self.0.definition.name.clone(), body: Arc::new(body) };
        self.with(definition, self.0.visible.clone())
    }

    fn with(&self, definition: ToolDefinition, visible: Option<Arc<Visible>>) -> Self {
        let (handler, scrub) = (Arc::clone(&self.0.handler), self.0.scrub.clone());
        Self(Arc::new(Inner { definition, handler, visible, scrub, origin: None }))
    }

    /// The same tool, whose errors go through `scrub`. It stays the same instance.
    #[cfg(feature = "agents")]
    pub(crate) fn scrubbed_by(&self, scrub: Arc<Scrub>) -> Self {
        let Inner { definition, handler, visible, origin, .. } = &*self.0;
        let (definition, handler, visible) = (definition.clone(), Arc::clone(handler), visible.clone());
        Self(Arc::new(Inner { definition, handler, visible, scrub: Some(scrub), origin: *origin }))
    }

    /// An error of it as it may be shown.
    #[cold]
    pub(crate) fn scrubbed(&self, error: ToolError) -> ToolError {
        match &self.0.scrub {
            Some(scrub) => scrub(error),
            None => error,
        }
    }

    /// Calls it outside any tool context, with the default limits.
    pub async fn call(&self, arguments: impl Into<Arguments<'_>>, ctx: &RunContext) -> ToolResponse {
        let arguments = arguments.into();
        dispatch::run(self, &arguments, ctx, &Settings::DEFAULT).await
    }
}

impl PartialEq for FunctionTool {
    /// By identity.
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl Eq for FunctionTool {}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FunctionTool").field(&self.0.definition).finish()
    }
}
