//! Everything that is linked in.

use crate::registry::ToolContext;
use crate::registry::errors::{RegistryError, RegistryErrors};
use crate::registry::freeze::Parts;
#[cfg(feature = "agents")]
use crate::tool::configure::LinkedFactory;
use crate::tool::configure::ToolsetFactory;
use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::definition::SourceLocation;
use crate::tool::registration::{Kind, Linked, Registration, function_tool};
use crate::tool::spec::{Place, ToolSpec};
use crate::tool::toolset::Tool;
#[cfg(feature = "agents")]
use std::sync::Arc;

/// Everything that `#[tool]` and `#[toolset]` registered in the crates that are linked in, in a stable order: by name.
pub struct Registry {
    context: ToolContext,
    toolsets: Vec<ToolsetMetadata>,
}

impl Registry {
    /// Finds everything, or tells every problem: names that collide, invalid names, invalid schemas.
    pub fn discover() -> Result<Self, RegistryErrors> {
        let mut parts = Parts::default();
        let mut toolsets = Vec::new();
        parts.entries.extend(functions().map(|spec| Tool::Function(function_tool(spec))));
        let (mut owners, mut found) = (Vec::new(), Vec::new());
        for linked in linked() {
            let mut metadata = linked.metadata();
            let discovery = (linked.discovery)();
            owners.push(linked.id);
            if let Some(configured) = discovery.configured {
                metadata = configured(linked).metadata().clone();
                parts.unconfigured.push(metadata.clone());
                found.push(linked);
            } else if let (Some(make), true) = (discovery.make, linked.facts.discover) {
                parts.entries.push(Tool::Toolset(make()));
                found.push(linked);
            } else if linked.facts.discover {
                tracing::warn!(
                    toolset = linked.facts.name,
                    "linked and not discovered: its type is neither `Default` nor `Configure`; put it in with `.with(..)`, or say `discover = false`"
                );
            }
            toolsets.push(metadata);
        }
        parts.problems.extend(orphans(&owners));
        parts.problems.extend(namesakes(&found));
        parts.entries.sort_by(|a, b| a.id().cmp(b.id()));
        parts.unconfigured.sort_by(|a, b| a.name.cmp(&b.name));
        toolsets.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { context: ToolContext::freeze(parts)?, toolsets })
    }

    /// The tools that need no configuration.
    pub fn context(&self) -> ToolContext {
        self.context.clone()
    }

    /// Every toolset's metadata, of those too that have to be configured.
    pub fn toolsets(&self) -> &[ToolsetMetadata] {
        &self.toolsets
    }
}

pub(crate) fn functions() -> impl Iterator<Item = &'static ToolSpec<()>> {
    inventory::iter::<Registration>().filter_map(|registration| match &registration.0 {
        Kind::Function { spec, .. } => Some(*spec),
        _ => None,
    })
}

pub(crate) fn linked() -> impl Iterator<Item = Linked> {
    inventory::iter::<Registration>().filter_map(|registration| match &registration.0 {
        Kind::Toolset(linked) => Some(*linked),
        _ => None,
    })
}

/// A factory, and where its toolset stands.
#[cfg(feature = "agents")]
type LinkedToolset = (Arc<dyn ToolsetFactory>, SourceLocation);

/// The factories of all toolsets that can be made of settings, or need none, with their places; and parts without a
/// toolset.
#[cfg(feature = "agents")]
pub(crate) fn linked_factories() -> (Vec<LinkedToolset>, Vec<RegistryError>) {
    let mut factories = Vec::<LinkedToolset>::new();
    let mut owners = Vec::new();
    for linked in linked() {
        let discovery = (linked.discovery)();
        let Place { file, line, .. } = linked.facts.place;
        owners.push(linked.id);
        if let Some(configured) = discovery.configured {
            factories.push((Arc::new(configured(linked)), SourceLocation { file, line }));
        } else if let Some(make) = discovery.make.filter(|_| linked.facts.discover) {
            factories.push((Arc::new(LinkedFactory::default(linked, make)), SourceLocation { file, line }));
        }
    }
    factories.sort_by_key(|(_, source)| (source.file, source.line));
    (factories, orphans(&owners))
}

/// Toolsets of one name could not be told apart in settings and in the manifest. Those that nobody finds by themselves
/// may share one.
fn namesakes(found: &[Linked]) -> Vec<RegistryError> {
    let mut named = found.iter().map(|linked| (linked.facts.name, linked.facts.place)).collect::<Vec<_>>();
    named.sort_by_key(|(name, place)| (*name, place.file, place.line));
    let same = named.chunk_by(|a, b| a.0 == b.0).filter(|chunk| chunk.len() > 1);
    same.map(|chunk| {
        let name = chunk.first().map_or("", |(name, _)| name);
        let message = format!("duplicate toolset name: {name}; give one of them another `name`");
        let places = chunk.iter().map(|(_, place)| SourceLocation { file: place.file, line: place.line }).collect();
        RegistryError { message, places }
    })
    .collect()
}

/// Parts whose type has no main block would be silently absent.
fn orphans(owners: &[fn() -> std::any::TypeId]) -> Vec<RegistryError> {
    let orphan = |registration: &Registration| match &registration.0 {
        Kind::Part { owner, place: Place { file, line, path }, .. }
            if !owners.iter().any(|known| known() == owner()) =>
        {
            let message = format!(
                "`{path}` has a `#[toolset(part)]` block and no main one; add `#[toolset]` to one of its blocks"
            );
            Some(RegistryError { message, places: vec![SourceLocation { file, line: *line }] })
        }
        _ => None,
    };
    inventory::iter::<Registration>().filter_map(orphan).collect()
}
