//! Prompts and resources: collected from toolsets, compared and indexed.

use crate::tool::invocation::RequiredSetup;
use crate::tool::published::Published;
use crate::tool::{Prompt, Resource, SourceLocation, Toolset};
use rustc_hash::FxHashMap;
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
    pub(crate) fn add(&mut self, toolset: &Arc<dyn Toolset>, owner: Option<&Arc<dyn RequiredSetup>>) {
        self.prompts.extend(Arc::clone(toolset).prompts().into_iter().map(|prompt| prompt.after_setup(owner)));
        self.resources.extend(Arc::clone(toolset).resources().into_iter().map(|resource| resource.after_setup(owner)));
    }

    /// Removes repeated instances, and indexes the rest. Names and URIs that collide are problems. Returns `None` if there
    /// are neither prompts nor resources.
    pub(crate) fn freeze(self, problems: &mut Vec<Problem>) -> Option<Arc<Self>> {
        if self.prompts.is_empty() && self.resources.is_empty() {
            return None;
        }
        for prompt in &self.prompts {
            let found = prompt.definition().problems().into_iter().chain(prompt.0.problems.iter().cloned());
            problems.extend(found.map(|message| (message, prompt.0.source().into_iter().collect())));
        }
        for resource in &self.resources {
            let found = resource.0.problems.iter().cloned();
            problems.extend(found.map(|message| (message, resource.0.source().into_iter().collect())));
        }
        let mut frozen = Self::default();
        for prompt in self.prompts {
            let name = prompt.name().to_owned();
            match frozen.prompt_index.get(&name).and_then(|at| frozen.prompts.get(*at)) {
                None => {
                    frozen.prompt_index.insert(name, frozen.prompts.len());
                    frozen.prompts.push(prompt);
                }
                Some(other) if other.0.same(&prompt.0) => {}
                Some(other) => {
                    let message = format!(
                        "duplicate prompt name: {}; rename one, or give a toolset a `prefix`",
                        name.escape_debug()
                    );
                    problems.push(collision(message, &other.0, &prompt.0));
                }
            }
        }
        for resource in self.resources {
            let uri = resource.uri().to_owned();
            match frozen.resource_index.get(&uri).and_then(|at| frozen.resources.get(*at)) {
                None => {
                    frozen.resource_index.insert(uri, frozen.resources.len());
                    frozen.resources.push(resource);
                }
                Some(other) if other.0.same(&resource.0) => {}
                Some(other) => {
                    let message = format!("duplicate resource URI: {}; change one", uri.escape_debug());
                    problems.push(collision(message, &other.0, &resource.0));
                }
            }
        }
        Some(Arc::new(frozen))
    }
}

fn collision<D, H: ?Sized>(message: String, first: &Published<D, H>, second: &Published<D, H>) -> Problem {
    (message, [first.source(), second.source()].into_iter().flatten().collect())
}
