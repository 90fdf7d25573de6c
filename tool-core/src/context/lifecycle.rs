//! Opening and closing the toolsets of a context.

use super::ToolContext;
use super::freeze::Parts;
use crate::response::ToolError;
use crate::tool::{Tool, Toolset};
use std::sync::Arc;
use tokio::task::JoinSet;

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
        let (failed, mut failures) = each(&self.0.toolsets, |toolset| async move { toolset.setup().await }).await;
        if failed.is_empty() {
            return (self.clone(), failures);
        }
        let entries = self.0.entries.iter().filter_map(|entry| without(entry, &failed)).collect();
        let parts = Parts {
            entries,
            unconfigured: self.0.unconfigured.clone(),
            settings: self.0.settings,
            problems: Vec::new(),
        };
        // What stands in a toolset that failed is not offered either, so it is closed if it did open.
        let mut lost = Vec::new();
        for toolset in &failed {
            nested(toolset, &mut lost);
        }
        lost.retain(|toolset| !failed.iter().any(|out| Arc::ptr_eq(out, toolset)));
        let (_, mut unclosed) = each(&lost, |toolset| async move { toolset.close().await }).await;
        failures.append(&mut unclosed);
        // Fewer tools of a sound context are a sound context.
        (Self::freeze(parts).unwrap_or_else(|_| self.clone()), failures)
    }

    /// Closes all toolsets, nested ones too, at the same time. All are closed, whatever some say.
    pub async fn close(&self) -> Vec<SetupFailure> {
        each(&self.0.toolsets, |toolset| async move { toolset.close().await }).await.1
    }
}

async fn each<F>(
    toolsets: &[Arc<dyn Toolset>],
    work: impl Fn(Arc<dyn Toolset>) -> F,
) -> (Vec<Arc<dyn Toolset>>, Vec<SetupFailure>)
where
    F: Future<Output = Result<(), ToolError>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    let mut waiting =
        toolsets.iter().map(|toolset| (tasks.spawn(work(Arc::clone(toolset))).id(), toolset)).collect::<Vec<_>>();
    let mut failed = Vec::new();
    while let Some(ended) = tasks.join_next_with_id().await {
        let (id, result) = match ended {
            Ok((id, result)) => (id, result),
            Err(error) => (error.id(), Err(ToolError::internal(format!("it panicked: {error}")))),
        };
        let Some(at) = waiting.iter().position(|(waiting, _)| *waiting == id) else { continue };
        let (_, toolset) = waiting.swap_remove(at);
        if let Err(error) = result {
            failed.push((toolset, error));
        }
    }
    // In the order of the context, not of the failing.
    failed.sort_by_key(|(toolset, _)| toolsets.iter().position(|known| Arc::ptr_eq(known, toolset)));
    let failures =
        failed.iter().map(|(toolset, error)| SetupFailure { toolset: toolset.id().to_owned(), error: error.clone() });
    (failed.iter().map(|(toolset, _)| Arc::clone(toolset)).collect(), failures.collect())
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
