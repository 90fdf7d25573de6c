//! Setup and close of a context's toolsets.

use crate::call::error::ToolError;
use crate::registry::context::ToolContext;
use crate::registry::instance::{OpenToolsets, ToolsetInstance};
use crate::tool::toolset::{MappedToolset, Tool, Toolset, flatten, for_each_toolset};
use std::sync::Arc;

/// A toolset whose `setup` or `close` failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
#[error("toolset `{toolset}` failed to open or close: {error}")]
pub struct SetupFailure {
    /// The toolset's id.
    pub toolset: String,
    /// The error that it returned.
    pub error: ToolError,
}

impl ToolContext {
    /// Sets up all toolsets concurrently, nested ones too, except those that are open. They stay open until
    /// [`close`](Self::close).
    ///
    /// Sessions set up their toolsets themselves, so only bare calls need it. Returns a context without the tools of toolsets
    /// that failed, and the failures.
    pub async fn setup(&self) -> (Self, Vec<SetupFailure>) {
        let results = for_each_toolset(self.instances(), ToolsetInstance::set_up).await;
        let (failed, mut failures) = failures(self.instances(), results);
        if failed.is_empty() {
            return (self.clone(), failures);
        }
        // A toolset inside of one that failed is not offered either, so it is closed again.
        let mut unused = Vec::new();
        for toolset in &failed {
            flatten(Arc::clone(toolset), &mut unused);
        }
        unused.retain(|toolset| !failed.iter().any(|other| Arc::ptr_eq(other, toolset)));
        let unused = unused.iter().filter_map(ToolsetInstance::of).collect::<Vec<_>>();
        failures.append(&mut close_all(&unused).await);
        (self.without_toolsets(&failed), failures)
    }

    /// Closes all toolsets concurrently, nested ones too, and returns the failures.
    pub async fn close(&self) -> Vec<SetupFailure> {
        close_all(self.instances()).await
    }

    /// Sets up the toolsets that are not open, and keeps all of them open. The context that it returns lacks the tools of
    /// toolsets that failed; it is `None` where all are open.
    pub(crate) async fn open(&self) -> (OpenToolsets, Option<Self>, Vec<SetupFailure>) {
        if let Some(open) = self.instances().iter().map(|instance| instance.share()).collect() {
            return (open, None, Vec::new());
        }
        let results = for_each_toolset(self.instances(), ToolsetInstance::acquire).await;
        let open = results.iter().flatten().cloned().collect();
        let (failed, failures) = failures(self.instances(), results);
        (open, (!failed.is_empty()).then(|| self.without_toolsets(&failed)), failures)
    }

    fn without_toolsets(&self, failed: &[Arc<dyn Toolset>]) -> Self {
        let mut builder = self.to_builder();
        let enclosing = &mut builder.parts.enclosing;
        builder.parts.entries = self.entries().iter().filter_map(|entry| without(entry, failed, enclosing)).collect();
        // A subset of valid tools is valid.
        builder.build().unwrap_or_else(|_| self.clone())
    }
}

async fn close_all(instances: &[Arc<ToolsetInstance>]) -> Vec<SetupFailure> {
    let results = for_each_toolset(instances, ToolsetInstance::close).await;
    failures(instances, results).1
}

/// Returns the toolsets that failed and their errors, in the order of the toolsets.
fn failures<R>(
    instances: &[Arc<ToolsetInstance>],
    results: Vec<Result<R, ToolError>>,
) -> (Vec<Arc<dyn Toolset>>, Vec<SetupFailure>) {
    let failed = instances.iter().zip(results).filter_map(|(instance, result)| {
        let toolset = &instance.toolset;
        let failure = SetupFailure { toolset: toolset.id().to_owned(), error: result.err()? };
        Some((Arc::clone(toolset), failure))
    });
    failed.unzip()
}

/// Removes toolsets that failed. A toolset with a failed one inside is replaced by the rest of it, and added to
/// `enclosing`.
fn without(entry: &Tool, failed: &[Arc<dyn Toolset>], enclosing: &mut Vec<Arc<dyn Toolset>>) -> Option<Tool> {
    let Tool::Toolset(toolset) = entry else { return Some(entry.clone()) };
    if failed.iter().any(|other| Arc::ptr_eq(other, toolset)) {
        return None;
    }
    let nested = Arc::clone(toolset).tools();
    let rest = nested.iter().filter_map(|tool| without(tool, failed, enclosing)).collect::<Vec<_>>();
    if rest == nested {
        return Some(entry.clone());
    }
    enclosing.push(Arc::clone(toolset));
    Some(Tool::toolset(MappedToolset::like(&**toolset, rest, Vec::new())))
}
