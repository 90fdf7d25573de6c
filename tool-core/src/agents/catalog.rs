//! The toolsets that agents may have, by name.

use crate::agents::record::is_id;
use crate::arguments::problem::nearest;
use crate::registry::{RegistryError, RegistryErrors, discovery};
use crate::tool::{Auth, SourceLocation, ToolsetFactory, ToolsetMetadata};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The factories of all toolsets: those that are linked in, and those that the program added.
#[derive(Default)]
pub(crate) struct Catalog(BTreeMap<String, Arc<dyn ToolsetFactory>>);

/// A factory, and the place of its toolset in the source if that is known.
type Candidate = (Arc<dyn ToolsetFactory>, Option<SourceLocation>);

impl Catalog {
    /// Collects the factories, or reports every problem: invalid and duplicate names, schemas that no form can be made
    /// of, defaults that do not match their own schema, and authentication without secrets.
    pub(crate) fn discover(added: Vec<Arc<dyn ToolsetFactory>>) -> Result<Self, RegistryErrors> {
        let (linked, mut problems) = discovery::linked_factories();
        let linked = linked.into_iter().map(|(factory, source)| (factory, Some(source)));
        let mut candidates = BTreeMap::<String, Vec<Candidate>>::new();
        for (factory, source) in linked.chain(added.into_iter().map(|factory| (factory, None))) {
            let metadata = factory.metadata();
            problems.extend(problems_of(metadata).into_iter().map(|problem| {
                let message = format!("toolset `{}`: {problem}", metadata.name.escape_debug());
                RegistryError { message, locations: source.into_iter().collect() }
            }));
            candidates.entry(metadata.name.clone()).or_default().push((factory, source));
        }
        let mut factories = BTreeMap::new();
        for (name, candidates) in candidates {
            if candidates.len() > 1 {
                let message =
                    format!("duplicate toolset name: {}; give one of them another `name`", name.escape_debug());
                let locations = candidates.iter().filter_map(|(_, source)| *source).collect();
                problems.push(RegistryError { message, locations });
            }
            factories.extend(candidates.into_iter().map(|(factory, _)| (name.clone(), factory)));
        }
        RegistryErrors::check(problems)?;
        Ok(Self(factories))
    }

    /// Returns the factory of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn ToolsetFactory>> {
        self.0.get(name)
    }

    /// Returns the most similar known name.
    pub(crate) fn nearest(&self, name: &str) -> Option<String> {
        nearest(name, self.0.keys().map(String::as_str)).map(str::to_owned)
    }

    /// Returns all factories, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<dyn ToolsetFactory>> {
        self.0.values()
    }
}

fn problems_of(metadata: &ToolsetMetadata) -> Vec<String> {
    let mut problems = metadata.problems();
    if !is_id(&metadata.name) {
        problems.push("expected a name of 1 to 512 bytes without control characters".to_owned());
    }
    if metadata.auth != Auth::None && metadata.secrets_schema.is_none() {
        problems.push("`auth` requires secrets, and the toolset has none; add them as `Configure::Secrets`".to_owned());
    }
    problems
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
