//! Prompts and resources: collected from toolsets, compared and indexed.

use crate::tool::invocation::RequiredSetup;
use crate::tool::published::Published;
use crate::tool::{Prompt, Resource, SourceLocation, Toolset};
use rustc_hash::FxHashMap;
use std::str::EscapeDebug;
use std::sync::Arc;

/// A problem, and the locations in the source that have it.
pub(crate) type Problem = (String, Vec<SourceLocation>);

/// Prompts and resources, as they were added to a context or as it uses them.
#[derive(Clone, Default)]
pub(crate) struct PromptsAndResources {
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    /// The position of each prompt by its name.
    pub(crate) prompt_index: FxHashMap<String, usize>,
    /// The position of each resource by its URI or template.
    pub(crate) resource_index: FxHashMap<String, usize>,
}

impl PromptsAndResources {
    /// Adds those of a toolset. `owner` is the setup that they need.
    pub(crate) fn add(
        &mut self,
        toolset: &Arc<dyn Toolset>,
        owner: Option<&Arc<dyn RequiredSetup>>,
    ) {
        self.prompts.extend(
            Arc::clone(toolset)
                .prompts()
                .into_iter()
                .map(|prompt| prompt.after_setup(owner)),
        );
        self.resources.extend(
            Arc::clone(toolset)
                .resources()
                .into_iter()
                .map(|resource| resource.after_setup(owner)),
        );
    }

    /// Removes repeated instances, and indexes the rest. Names and URIs that collide are problems.
    /// Returns `None` if there are neither prompts nor resources.
    pub(crate) fn freeze(self, problems: &mut Vec<Problem>) -> Option<Arc<Self>> {
        if self.prompts.is_empty() && self.resources.is_empty() {
            return None;
        }
        for prompt in &self.prompts {
            let found = prompt
                .definition()
                .problems()
                .into_iter()
                .chain(prompt.0.problems.iter().cloned());
            problems
                .extend(found.map(|message| (message, prompt.0.source().into_iter().collect())));
        }
        for resource in &self.resources {
            let found = resource.0.problems.iter().cloned();
            problems
                .extend(found.map(|message| (message, resource.0.source().into_iter().collect())));
        }
        let (prompts, prompt_index) = index(
            self.prompts,
            |prompt| (prompt.name(), &prompt.0),
            |name| {
                format!("duplicate prompt name: {name}; rename one, or give a toolset a `prefix`")
            },
            problems,
        );
        let (resources, resource_index) = index(
            self.resources,
            |resource| (resource.uri(), &resource.0),
            |uri| format!("duplicate resource URI: {uri}; change one"),
            problems,
        );
        Some(Arc::new(Self {
            prompts,
            resources,
            prompt_index,
            resource_index,
        }))
    }
}

/// Removes repeated instances, and indexes the rest by name. A name of two is a problem, worded by
/// `duplicate`.
fn index<T, D, H: ?Sized>(
    all: Vec<T>,
    parts: fn(&T) -> (&str, &Published<D, H>),
    duplicate: fn(EscapeDebug<'_>) -> String,
    problems: &mut Vec<Problem>,
) -> (Vec<T>, FxHashMap<String, usize>) {
    let mut kept = Vec::<T>::new();
    let mut index = FxHashMap::<String, usize>::default();
    for item in all {
        let (name, published) = parts(&item);
        match index
            .get(name)
            .and_then(|at| kept.get(*at))
            .map(|first| parts(first).1)
        {
            None => {
                index.insert(name.to_owned(), kept.len());
                kept.push(item);
            }
            Some(first) if first.same(published) => {}
            Some(first) => {
                let sources = [first.source(), published.source()]
                    .into_iter()
                    .flatten()
                    .collect();
                problems.push((duplicate(name.escape_debug()), sources));
            }
        }
    }
    (kept, index)
}
