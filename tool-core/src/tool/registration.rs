//! What the macros register at link time, and how it is found.

use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::configure::{Configure, LinkedFactory, metadata_of};
use crate::tool::function::FunctionTool;
use crate::tool::spec::{MainToolsetBlock, Place, ToolFacts, ToolSpec, ToolsetFacts};
use crate::tool::toolset::Toolset;
use crate::trace::body;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Something that a macro registered.
pub struct Registration(pub(crate) Kind);

pub(crate) enum Kind {
    Function { id: fn() -> TypeId, spec: &'static ToolSpec<()> },
    Toolset(Linked),
    Part { owner: fn() -> TypeId, spec: &'static (dyn Any + Send + Sync), place: Place },
}

/// A toolset's type, before there is a value of it.
#[derive(Clone, Copy)]
pub(crate) struct Linked {
    pub(crate) id: fn() -> TypeId,
    pub(crate) facts: ToolsetFacts,
    pub(crate) discovery: fn() -> Discovery,
    /// What is known of its tools without a value of it.
    pub(crate) tools: fn() -> Vec<&'static ToolFacts>,
}

impl Linked {
    pub(crate) fn metadata(&self) -> ToolsetMetadata {
        metadata_of(&self.facts)
    }
}

inventory::collect!(Registration);

/// Whether a toolset can be made without being told anything.
pub struct Discovery {
    pub(crate) make: Option<fn() -> Arc<dyn Toolset>>,
    pub(crate) configured: Option<fn(Linked) -> LinkedFactory>,
}

/// The tools of a `#[toolset(part)]` block.
pub struct PartSpec<T: 'static> {
    tools: &'static [ToolSpec<T>],
    place: Place,
}

impl<T: 'static> PartSpec<T> {
    /// A part of these tools.
    #[must_use]
    pub const fn new(tools: &'static [ToolSpec<T>]) -> Self {
        Self { tools, place: Place { file: "", line: 0, path: "" } }
    }

    /// Where it stands.
    #[must_use]
    pub const fn at(self, file: &'static str, line: u32, path: &'static str) -> Self {
        Self { place: Place { file, line, path }, ..self }
    }
}

impl Registration {
    /// A free fn.
    #[must_use]
    pub const fn function(id: fn() -> TypeId, spec: &'static ToolSpec<()>) -> Self {
        Self(Kind::Function { id, spec })
    }

    /// A toolset.
    #[must_use]
    pub const fn toolset<T: MainToolsetBlock>(discovery: fn() -> Discovery) -> Self {
        let facts = T::TOOLSET.facts;
        Self(Kind::Toolset(Linked { id: TypeId::of::<T>, facts, discovery, tools: facts_of::<T> }))
    }

    /// A further block of a toolset.
    #[must_use]
    pub const fn part<T: Send + Sync + 'static>(spec: &'static PartSpec<T>) -> Self {
        Self(Kind::Part { owner: TypeId::of::<T>, spec, place: spec.place })
    }

    /// The tool that was made of the fn whose item has this type.
    pub(crate) fn function_of(wanted: TypeId) -> Option<FunctionTool> {
        inventory::iter::<Self>().find_map(|registration| match &registration.0 {
            Kind::Function { id, spec } if id() == wanted => Some(function_tool(spec)),
            _ => None,
        })
    }

    /// The name of the tool that was made of the fn whose item has this type, and the number of its path.
    pub(crate) fn function_named(wanted: TypeId) -> Option<(&'static str, u32)> {
        inventory::iter::<Self>().find_map(|registration| match &registration.0 {
            Kind::Function { id, spec } if id() == wanted => {
                Some((spec.facts.name, body::id_of(spec.facts.place.path)))
            }
            _ => None,
        })
    }
}

/// The tools of `T`: those of its main block, of the parts it names, and of the parts that are linked in.
pub(crate) fn specs_of<T: MainToolsetBlock>() -> Vec<&'static ToolSpec<T>> {
    let mut specs = Vec::new();
    specs.extend(T::TOOLSET.tools);
    for part in T::TOOLSET.parts {
        specs.extend(part());
    }
    for part in linked_parts(TypeId::of::<T>()) {
        specs.extend(part.downcast_ref::<PartSpec<T>>().map_or(&[] as &[_], |part| part.tools));
    }
    specs
}

fn facts_of<T: MainToolsetBlock>() -> Vec<&'static ToolFacts> {
    specs_of::<T>().into_iter().map(|spec| &spec.facts).collect()
}

/// The parts of a type, in the order of their places.
fn linked_parts(wanted: TypeId) -> Vec<&'static (dyn Any + Send + Sync)> {
    let mut parts = inventory::iter::<Registration>()
        .filter_map(|registration| match &registration.0 {
            Kind::Part { owner, spec, place } if owner() == wanted => Some((*place, *spec)),
            _ => None,
        })
        .collect::<Vec<_>>();
    parts.sort_by_key(|(place, _)| (place.file, place.line));
    parts.into_iter().map(|(_, spec)| spec).collect()
}

/// The type of a fn's own item.
pub fn type_id_of<F: 'static>(_: &F) -> TypeId {
    TypeId::of::<F>()
}

/// Stands for a toolset's type while method resolution finds out how a value of it is made.
pub struct Maker<T>(std::marker::PhantomData<T>);

impl<T> Maker<T> {
    /// Stands for `T`.
    #[must_use]
    pub const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T> Default for Maker<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A toolset that has to be configured.
pub trait MakeConfigured {
    /// How it is made.
    fn __tool_discovery(&self) -> Discovery;
}

impl<T: Configure + Toolset> MakeConfigured for &&Maker<T> {
    fn __tool_discovery(&self) -> Discovery {
        Discovery { make: None, configured: Some(LinkedFactory::configured::<T>) }
    }
}

/// A toolset that needs nothing.
pub trait MakeDefault {
    /// How it is made.
    fn __tool_discovery(&self) -> Discovery;
}

impl<T: Toolset + Default> MakeDefault for &Maker<T> {
    fn __tool_discovery(&self) -> Discovery {
        Discovery { make: Some(|| Arc::new(T::default())), configured: None }
    }
}

/// A toolset that somebody has to make.
pub trait MakeByHand {
    /// How it is made.
    fn __tool_discovery(&self) -> Discovery {
        Discovery { make: None, configured: None }
    }
}

impl<T> MakeByHand for Maker<T> {}

/// Finds out how a toolset is made.
#[doc(hidden)]
#[macro_export]
macro_rules! __discovery {
    ($type:ty) => {{
        #[allow(unused_imports)]
        use $crate::__private::{MakeByHand as _, MakeConfigured as _, MakeDefault as _};
        (&&&$crate::__private::Maker::<$type>::new()).__tool_discovery()
    }};
}

/// The tool of a free fn: always the same instance, however it is found.
pub(crate) fn function_tool(spec: &'static ToolSpec<()>) -> FunctionTool {
    static MADE: LazyLock<Mutex<HashMap<usize, FunctionTool>>> = LazyLock::new(Mutex::default);
    static NOTHING: LazyLock<Arc<()>> = LazyLock::new(Arc::default);

    let key = std::ptr::from_ref(spec).addr();
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    made.unwrap_or_else(|| {
        let tool = FunctionTool::bind(spec, &NOTHING, None);
        MADE.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(tool).clone()
    })
}
