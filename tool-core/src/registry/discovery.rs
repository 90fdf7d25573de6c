//! Discovery of the tools that are linked into the program.

use crate::registry::context::{ContextParts, ToolContext, ToolContextBuilder};
use crate::registry::freeze::{RegistryError, RegistryErrors};
use crate::registry::published::PromptsAndResources;
use crate::tool::registration::{
    function_tool, linked_functions, linked_parts, linked_prompts, linked_resources,
    linked_toolsets,
};
use crate::tool::{SourceLocation, Tool, ToolsetFactory, ToolsetMetadata};
use std::any::TypeId;

/// All tools and toolsets that `#[tool]` and `#[toolset]` registered in the linked crates, sorted
/// by name.
///
/// ```standalone_crate
/// use tool_core::{Registry, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let registry = Registry::discover()?;
/// assert!(registry.context().has_tool("add"));
/// assert!(registry.toolsets().is_empty());
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub struct Registry {
    context: ToolContext,
    toolsets: Vec<ToolsetMetadata>,
}

impl ToolContext {
    /// Builds a context of all linked tools that need no configuration: free functions, and
    /// toolsets whose type implements `Default` and not `Configure`. Toolsets with
    /// `discover = false` are left out; one without `Default` or `Configure` must say so.
    ///
    /// A crate that no code refers to is not linked. `use my_tools as _;` links it.
    ///
    /// # Errors
    ///
    /// Every problem: names that collide, invalid names, invalid schemas, toolsets that cannot be
    /// created.
    pub fn discover() -> Result<Self, RegistryErrors> {
        Ok(Registry::discover()?.context())
    }
}

impl Registry {
    /// Finds everything that is linked.
    ///
    /// # Errors
    ///
    /// Every problem: names that collide, invalid names, invalid schemas.
    pub fn discover() -> Result<Self, RegistryErrors> {
        let mut parts = ContextParts::default();
        let mut toolsets = Vec::new();
        parts.published = linked_published();
        parts
            .entries
            .extend(linked_functions().map(|(_, spec)| Tool::Function(function_tool(spec))));
        let mut found = Vec::new();
        let mut problems = parts_without_toolset();
        for (linked, discovery) in linked_toolsets() {
            let discovery = discovery();
            let named = (linked.toolset.name.to_owned(), Some(linked.toolset.source));
            let mut metadata = ToolsetMetadata::of_linked(&linked.toolset);
            if let Some(configured) = discovery.configured {
                metadata = configured(linked).metadata().clone();
                parts.unconfigured.push(metadata.clone());
                found.push(named);
            } else if let (Some(make), true) = (discovery.default, linked.toolset.discover) {
                parts.entries.push(Tool::Toolset(make()));
                found.push(named);
            } else if linked.toolset.discover {
                let message = format!(
                    "toolset `{}` cannot be discovered, as its type implements neither `Default` nor `Configure`; implement \
                     one of them, or set `discover = false` and add the toolset with `.with(..)`",
                    linked.toolset.name
                );
                problems.push(RegistryError::new(message, [linked.toolset.source]));
            }
            toolsets.push(metadata);
        }
        problems.extend(duplicate_names(found));
        parts.entries.sort_by(|a, b| a.id().cmp(b.id()));
        parts.unconfigured.sort_by(|a, b| a.name.cmp(&b.name));
        toolsets.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            context: ToolContextBuilder {
                parts,
                problems,
                validated: false,
            }
            .build()?,
            toolsets,
        })
    }

    /// Returns a context of the tools that need no configuration.
    pub fn context(&self) -> ToolContext {
        self.context.clone()
    }

    /// Returns the metadata of every toolset, including those that must be configured.
    pub fn toolsets(&self) -> &[ToolsetMetadata] {
        &self.toolsets
    }
}

/// Returns the functions that are prompts and resources, sorted by name and URI.
fn linked_published() -> Option<Box<PromptsAndResources>> {
    let mut prompts = linked_prompts()
        .map(|(_, prompt)| prompt)
        .collect::<Vec<_>>();
    let mut resources = linked_resources()
        .map(|(_, resource)| resource)
        .collect::<Vec<_>>();
    prompts.sort_by(|a, b| a.name().cmp(b.name()));
    resources.sort_by(|a, b| a.uri().cmp(b.uri()));
    let is_empty = prompts.is_empty() && resources.is_empty();
    (!is_empty).then(|| {
        Box::new(PromptsAndResources {
            prompts,
            resources,
            ..PromptsAndResources::default()
        })
    })
}

/// Reports toolsets of the same name, which settings and the manifest could not tell apart. `found`
/// has the name and, if it is known, the location of each toolset.
pub(crate) fn duplicate_names(
    mut found: Vec<(String, Option<SourceLocation>)>,
) -> Vec<RegistryError> {
    found.sort();
    let same = found
        .chunk_by(|(a, _), (b, _)| a == b)
        .filter(|chunk| chunk.len() > 1);
    let error = |chunk: &[(String, Option<SourceLocation>)]| {
        let name = chunk
            .first()
            .map_or_else(String::new, |(name, _)| name.escape_debug().to_string());
        let message = format!("duplicate toolset name: {name}; give one of them another `name`");
        RegistryError::new(message, chunk.iter().filter_map(|(_, location)| *location))
    };
    same.map(error).collect()
}

/// Reports parts whose type has no main block. Without the error their tools would be missing
/// silently.
pub(crate) fn parts_without_toolset() -> Vec<RegistryError> {
    let owners = linked_toolsets()
        .map(|(linked, _)| (linked.id)())
        .collect::<Vec<TypeId>>();
    let orphans = linked_parts().filter(|part| !owners.contains(&(part.owner)()));
    let error = |path: &str| {
        format!(
            "`{path}` has a `#[toolset(part)]` block and no main one; add `#[toolset]` to one of its blocks"
        )
    };
    orphans
        .map(|part| RegistryError::new(error(part.path), [part.source]))
        .collect()
}
