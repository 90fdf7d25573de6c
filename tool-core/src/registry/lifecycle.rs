//! Setup and close of a context's toolsets.

use crate::call::error::ToolError;
use crate::registry::context::ToolContext;
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
    /// Sets up all toolsets concurrently, nested ones too.
    ///
    /// Returns a context without the tools of toolsets that failed, and the failures.
    pub async fn setup(&self) -> (Self, Vec<SetupFailure>) {
        let results = for_each_toolset(self.toolsets(), |toolset| async move { toolset.setup().await }).await;
        let (failed, mut failures) = failures(self.toolsets(), results);
        if failed.is_empty() {
            return (self.clone(), failures);
        }
        let entries = self.entries().iter().filter_map(|entry| without(entry, &failed)).collect();
        // A toolset inside of one that failed is not offered either, so it is closed again.
        let mut unused = Vec::new();
        for toolset in &failed {
            flatten(Arc::clone(toolset), &mut unused);
        }
        unused.retain(|toolset| !failed.iter().any(|other| Arc::ptr_eq(other, toolset)));
        failures.append(&mut close_all(&unused).await);
        // A subset of valid tools is valid.
        (self.with_entries(entries).unwrap_or_else(|_| self.clone()), failures)
    }

    /// Closes all toolsets concurrently, nested ones too, and returns the failures.
    pub async fn close(&self) -> Vec<SetupFailure> {
        close_all(self.toolsets()).await
    }
}

async fn close_all(toolsets: &[Arc<dyn Toolset>]) -> Vec<SetupFailure> {
    let results = for_each_toolset(toolsets, |toolset| async move { toolset.close().await }).await;
    failures(toolsets, results).1
}

/// Returns the toolsets that failed and their errors, in the order of the toolsets.
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

/// Removes toolsets that failed. A toolset with a failed one inside is replaced by the rest of it.
fn without(entry: &Tool, failed: &[Arc<dyn Toolset>]) -> Option<Tool> {
    let Tool::Toolset(toolset) = entry else { return Some(entry.clone()) };
    if failed.iter().any(|other| Arc::ptr_eq(other, toolset)) {
        return None;
    }
    let nested = Arc::clone(toolset).tools();
    let rest = nested.iter().filter_map(|tool| without(tool, failed)).collect::<Vec<_>>();
    if rest == nested {
        return Some(entry.clone());
    }
    Some(Tool::toolset(MappedToolset::like(&**toolset, rest, vec![Arc::clone(toolset)])))
}
