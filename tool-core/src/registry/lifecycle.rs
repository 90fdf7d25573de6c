//! Opening and closing the toolsets of a context.

use crate::call::error::ToolError;
use crate::registry::ToolContext;
use crate::tool::toolset::{Tool, Toolset, each};
use std::any::{Any, TypeId};
use std::sync::{Arc, PoisonError, RwLock, Weak};

/// A toolset that did not open, or did not close.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SetupFailure {
    /// The toolset's id.
    pub toolset: String,
    /// What it said.
    pub error: ToolError,
}

impl ToolContext {
    /// Opens all toolsets, nested ones too, at the same time.
    ///
    /// Gives the context without the tools of those that failed, and the failures. The rest works.
    pub async fn setup(&self) -> (Self, Vec<SetupFailure>) {
        let opened = each(&self.0.toolsets, |toolset| async move { toolset.setup().await }).await;
        let (failed, mut told) = failures(&self.0.toolsets, opened);
        if failed.is_empty() {
            return (self.clone(), told);
        }
        let entries = self.0.entries.iter().filter_map(|entry| without(entry, &failed)).collect();
        let parts = self.parts_with(entries);
        // What stands in a toolset that failed is not offered either, so it is closed if it did open.
        let mut lost = Vec::new();
        for toolset in &failed {
            nested(toolset, &mut lost);
        }
        lost.retain(|toolset| !failed.iter().any(|out| Arc::ptr_eq(out, toolset)));
        told.append(&mut close_all(&lost).await);
        // Fewer tools of a sound context are a sound context.
        (Self::freeze(parts).unwrap_or_else(|_| self.clone()), told)
    }

    /// Closes all toolsets, nested ones too, at the same time. All are closed, whatever some say.
    pub async fn close(&self) -> Vec<SetupFailure> {
        close_all(&self.0.toolsets).await
    }
}

async fn close_all(toolsets: &[Arc<dyn Toolset>]) -> Vec<SetupFailure> {
    let closed = each(toolsets, |toolset| async move { toolset.close().await }).await;
    failures(toolsets, closed).1
}

/// The toolsets of which the work failed, and what each said, in the order of the toolsets.
fn failures(
    toolsets: &[Arc<dyn Toolset>],
    results: Vec<Result<(), ToolError>>,
) -> (Vec<Arc<dyn Toolset>>, Vec<SetupFailure>) {
    let failed = toolsets.iter().zip(results).filter_map(|(toolset, result)| {
        let failure = SetupFailure { toolset: toolset.id().to_owned(), error: result.err()? };
        Some((Arc::clone(toolset), failure))
    });
    failed.unzip()
}

/// The toolsets in a toolset, however deep.
fn nested(toolset: &Arc<dyn Toolset>, found: &mut Vec<Arc<dyn Toolset>>) {
    for tool in Arc::clone(toolset).tools() {
        if let Tool::Toolset(inner) = tool {
            nested(&inner, found);
            found.push(inner);
        }
    }
}

/// A toolset whose nested toolset failed is replaced by what is left of it.
fn without(entry: &Tool, failed: &[Arc<dyn Toolset>]) -> Option<Tool> {
    let Tool::Toolset(toolset) = entry else { return Some(entry.clone()) };
    if failed.iter().any(|out| Arc::ptr_eq(out, toolset)) {
        return None;
    }
    let nested = Arc::clone(toolset).tools();
    let left = nested.iter().filter_map(|tool| without(tool, failed)).collect::<Vec<_>>();
    if left == nested {
        return Some(entry.clone());
    }
    Some(Tool::toolset(Left { toolset: Arc::clone(toolset), tools: left }))
}

/// What is left of a toolset.
struct Left {
    toolset: Arc<dyn Toolset>,
    tools: Vec<Tool>,
}

impl Toolset for Left {
    fn id(&self) -> &str {
        self.toolset.id()
    }

    fn description(&self) -> &str {
        self.toolset.description()
    }

    fn title(&self) -> Option<&str> {
        self.toolset.title()
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    fn close(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + '_>> {
        self.toolset.close()
    }
}

// ---- What has to live for as long as a context is used.

/// Something that does its work when nobody holds it any more: an agent's toolsets are closed then.
pub(crate) type Kept = Arc<dyn Any + Send + Sync>;

/// What a context keeps.
#[derive(Clone, Default)]
pub(crate) enum Keep {
    #[default]
    Nothing,
    Held(Kept),
    /// A session holds it, until it ends.
    Lent(Weak<dyn Any + Send + Sync>),
}

impl Keep {
    /// The thing itself, where it is still there.
    pub(crate) fn kept(&self) -> Option<Kept> {
        match self {
            Self::Nothing => None,
            Self::Held(kept) => Some(Arc::clone(kept)),
            Self::Lent(kept) => kept.upgrade(),
        }
    }

    /// The same for a context that is made of this one.
    pub(crate) fn derived(&self) -> Self {
        self.kept().map_or(Self::Nothing, Self::Held)
    }

    /// The same for a context whose holder keeps it by other means.
    pub(crate) fn lent(&self) -> Self {
        self.kept().map_or(Self::Nothing, |kept| Self::Lent(Arc::downgrade(&kept)))
    }
}

// ---- What others have made of a context, kept with it.

type Memoized = (TypeId, Arc<dyn Any + Send + Sync>);

/// One value of each type.
#[derive(Default)]
pub(crate) struct Memo(RwLock<Vec<Memoized>>);

impl Memo {
    pub(crate) fn get_or_default<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        if let Some(found) = find(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return found;
        }
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        find(&kept).unwrap_or_else(|| {
            let made = Arc::new(T::default());
            kept.push((TypeId::of::<T>(), Arc::clone(&made) as Arc<dyn Any + Send + Sync>));
            made
        })
    }
}

fn find<T: Any + Send + Sync>(kept: &[Memoized]) -> Option<Arc<T>> {
    let (_, value) = kept.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
    Arc::clone(value).downcast().ok()
}
