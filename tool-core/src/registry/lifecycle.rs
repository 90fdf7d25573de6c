//! Setup and close of a context's toolsets.

use crate::call::error::ToolError;
use crate::registry::context::{FailedToolset, SetupFailure, ToolContext};
use crate::tool::derived_toolset::MappedToolset;
use crate::tool::instance::{LIFECYCLE_TIMEOUT, OpenToolsets, ToolsetInstance};
use crate::tool::toolset::{Tool, Toolset, flatten, for_each_toolset, for_each_toolset_detached};
use std::sync::Arc;

/// The toolsets that failed, and their errors.
type Failed = Vec<(Arc<ToolsetInstance>, ToolError)>;

impl ToolContext {
    /// Sets up all toolsets concurrently, nested ones too, except those that are open. They stay
    /// open until
    /// [`close`](Self::close).
    ///
    /// Sessions set up their toolsets themselves, so only bare calls need it. Returns a context
    /// without the tools of toolsets that failed, and the failures.
    pub async fn setup(&self) -> (Self, Vec<SetupFailure>) {
        let results = for_each_toolset(self.instances(), ToolsetInstance::set_up).await;
        let (opened, failed) = split(self.instances(), results);
        if failed.is_empty() {
            return (self.clone(), Vec::new());
        }
        let rest = self.without_toolsets(&failed);
        // Nothing offers a toolset inside of one that failed, so this call takes its setup back.
        let unused = opened
            .into_iter()
            .map(|(instance, ())| instance)
            .filter(|instance| !rest.has_instance(instance));
        let unused = unused.collect::<Vec<_>>();
        let taken_back = for_each_toolset(&unused, ToolsetInstance::take_back).await;
        let not_closed = split(&unused, taken_back).1;
        (
            rest,
            failed.iter().chain(&not_closed).map(failure).collect(),
        )
    }

    /// Closes all toolsets concurrently, nested ones too, and returns the failures.
    pub async fn close(&self) -> Vec<SetupFailure> {
        let results = for_each_toolset(self.instances(), ToolsetInstance::close).await;
        split(self.instances(), results)
            .1
            .iter()
            .map(failure)
            .collect()
    }

    /// Sets up the toolsets that are not open, and keeps all of them open. The context that it
    /// returns lacks the tools of toolsets that failed; it is `None` if all are open.
    pub(crate) async fn open(&self) -> (OpenToolsets, Option<Self>) {
        if let Some(open) = self
            .instances()
            .iter()
            .map(|instance| instance.share())
            .collect()
        {
            return (open, None);
        }
        let acquire = |instance: Arc<ToolsetInstance>| instance.acquire(LIFECYCLE_TIMEOUT);
        // Others may wait for the same setup. A toolset that no session takes closes itself.
        let results = for_each_toolset_detached(self.instances(), acquire).await;
        let (mut opened, failed) = split(self.instances(), results);
        let rest = (!failed.is_empty()).then(|| self.without_toolsets(&failed));
        if let Some(rest) = &rest {
            opened.retain(|(instance, _)| rest.has_instance(instance));
        }
        (opened.into_iter().map(|(_, open)| open).collect(), rest)
    }

    fn has_instance(&self, instance: &Arc<ToolsetInstance>) -> bool {
        self.instances()
            .iter()
            .any(|own| Arc::ptr_eq(own, instance))
    }

    fn without_toolsets(&self, failed: &Failed) -> Self {
        let mut builder = self.to_builder();
        let parts = &mut builder.parts;
        parts.entries = self
            .entries()
            .iter()
            .filter_map(|entry| without(entry, failed, &mut parts.enclosing))
            .collect();
        parts.failed.extend(failed.iter().map(left_out));
        // A subset of valid tools is valid.
        builder.build().unwrap_or_else(|_| self.clone())
    }
}

/// Returns the toolsets with their results, and those that failed.
fn split<R>(
    instances: &[Arc<ToolsetInstance>],
    results: Vec<Result<R, ToolError>>,
) -> (Vec<(Arc<ToolsetInstance>, R)>, Failed) {
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for (instance, result) in instances.iter().cloned().zip(results) {
        match result {
            Ok(result) => done.push((instance, result)),
            Err(error) => failed.push((instance, error)),
        }
    }
    (done, failed)
}

fn failure((instance, error): &(Arc<ToolsetInstance>, ToolError)) -> SetupFailure {
    SetupFailure {
        toolset: instance.toolset.id().to_owned(),
        error: error.clone(),
    }
}

fn left_out(failed: &(Arc<ToolsetInstance>, ToolError)) -> FailedToolset {
    let tools = flatten(Arc::clone(&failed.0.toolset), &mut Vec::new()).into_iter();
    let functions = tools.filter_map(|tool| {
        if let Tool::Function(tool) = tool {
            Some(tool)
        } else {
            None
        }
    });
    FailedToolset {
        failure: failure(failed),
        tools: functions.collect(),
    }
}

/// Removes toolsets that failed. A toolset with a failed one inside is replaced by the rest of it,
/// and added to `enclosing`.
fn without(entry: &Tool, failed: &Failed, enclosing: &mut Vec<Arc<dyn Toolset>>) -> Option<Tool> {
    let Tool::Toolset(toolset) = entry else {
        return Some(entry.clone());
    };
    if failed
        .iter()
        .any(|(other, _)| Arc::ptr_eq(&other.toolset, toolset))
    {
        return None;
    }
    let nested = Arc::clone(toolset).tools();
    let rest = nested
        .iter()
        .filter_map(|tool| without(tool, failed, enclosing))
        .collect::<Vec<_>>();
    if rest == nested {
        return Some(entry.clone());
    }
    enclosing.push(Arc::clone(toolset));
    let prompts = Arc::clone(toolset).prompts();
    let resources = Arc::clone(toolset).resources();
    Some(Tool::toolset(
        MappedToolset::like(&**toolset, rest, &[]).publishing(prompts, resources),
    ))
}
