//! The toolsets that agents may have, by name.

use crate::agents::error::AgentErrorKind;
use crate::agents::record::is_id;
use crate::arguments::problem::nearest;
use crate::registry::discovery::{duplicate_names, parts_without_toolset};
use crate::registry::{RegistryError, RegistryErrors};
use crate::tool::configure::factory::LinkedFactory;
use crate::tool::registration::linked_toolsets;
use crate::tool::{Auth, SourceLocation, ToolsetFactory, ToolsetMetadata};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The factories of all toolsets: those that are linked in, and those that the program added.
#[derive(Default)]
pub(crate) struct Catalog(BTreeMap<String, Arc<dyn ToolsetFactory>>);

/// A factory, and the place of its toolset in the source if that is known.
pub(crate) type LocatedFactory = (Arc<dyn ToolsetFactory>, Option<SourceLocation>);

impl Catalog {
    /// Collects the factories, or reports every problem: invalid and duplicate names, schemas that
    /// no form can be made of, defaults that do not match their own schema, and authentication
    /// without secrets.
    pub(crate) fn discover(added: Vec<Arc<dyn ToolsetFactory>>) -> Result<Self, RegistryErrors> {
        let mut problems = parts_without_toolset();
        let mut factories = BTreeMap::new();
        let mut names = Vec::new();
        for (factory, source) in linked_factories()
            .into_iter()
            .chain(added.into_iter().map(|added| (added, None)))
        {
            let metadata = factory.metadata();
            problems.extend(problems_of(metadata).into_iter().map(|problem| {
                RegistryError::new(
                    format!("toolset `{}`: {problem}", metadata.name.escape_debug()),
                    source,
                )
            }));
            names.push((metadata.name.clone(), source));
            factories.insert(metadata.name.clone(), factory);
        }
        problems.extend(duplicate_names(names));
        RegistryErrors::check(problems)?;
        Ok(Self(factories))
    }

    /// Returns the factory of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn ToolsetFactory>> {
        self.0.get(name)
    }

    /// Returns the factory of this name, or the error that names the most similar one.
    pub(crate) fn require(&self, name: &str) -> Result<&Arc<dyn ToolsetFactory>, AgentErrorKind> {
        let similar = || nearest(name, self.0.keys().map(String::as_str)).map(str::to_owned);
        self.get(name)
            .ok_or_else(|| AgentErrorKind::NotRegistered { nearest: similar() })
    }

    /// Returns all factories, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<dyn ToolsetFactory>> {
        self.0.values()
    }
}

/// Returns the factories of all linked toolsets that can be created from settings or need none,
/// sorted by location.
pub(crate) fn linked_factories() -> Vec<LocatedFactory> {
    let mut factories = Vec::<LocatedFactory>::new();
    for (linked, discovery) in linked_toolsets() {
        let discovery = discovery();
        let source = Some(linked.toolset.source);
        if let Some(configured) = discovery.configured {
            factories.push((Arc::new(configured(linked)), source));
        } else if let Some(make) = discovery.default.filter(|_| linked.toolset.discover) {
            factories.push((Arc::new(LinkedFactory::default(linked, make)), source));
        }
    }
    factories.sort_by_key(|(_, source)| *source);
    factories
}

fn problems_of(metadata: &ToolsetMetadata) -> Vec<String> {
    let mut problems = metadata.problems();
    if !is_id(&metadata.name) {
        problems.push("expected a name of 1 to 512 bytes without control characters".to_owned());
    }
    if metadata.auth != Auth::None && metadata.secrets_schema.is_none() {
        problems.push(
            "`auth` requires secrets, and the toolset has none; add them as `Configure::Secrets`"
                .to_owned(),
        );
    }
    problems
}
