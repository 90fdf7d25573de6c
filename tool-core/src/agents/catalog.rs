//! The toolsets that agents may have, by name.

use crate::arguments::nearest;
use crate::configure::{Auth, ToolsetFactory, ToolsetMetadata};
use crate::context::{self, RegistryError, RegistryErrors};
use crate::tool::Source;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The factories of all toolsets: those that are linked in, and those that the program brings.
#[derive(Default)]
pub(super) struct Catalog(BTreeMap<String, Arc<dyn ToolsetFactory>>);

/// A factory, and where its toolset stands, where that is known.
type Found = (Arc<dyn ToolsetFactory>, Option<Source>);

impl Catalog {
    /// Finds everything, or tells every problem: names that are used twice or are none, schemas that no form could be
    /// made of, defaults that their own schema refuses, auth without secrets.
    pub(super) fn discover(extra: Vec<Arc<dyn ToolsetFactory>>) -> Result<Self, RegistryErrors> {
        let (linked, mut problems) = context::linked_factories();
        let linked = linked.into_iter().map(|(factory, source)| (factory, Some(source)));
        let found = linked.chain(extra.into_iter().map(|factory| (factory, None))).collect::<Vec<Found>>();
        let mut named = BTreeMap::<String, Vec<Found>>::new();
        for (factory, source) in found {
            let metadata = factory.metadata();
            problems.extend(problems_of(metadata).into_iter().map(|what| {
                let message = format!("toolset `{}`: {what}", metadata.name.escape_debug());
                RegistryError { message, places: source.into_iter().collect() }
            }));
            named.entry(metadata.name.clone()).or_default().push((factory, source));
        }
        problems.extend(named.iter().filter_map(|(name, found)| namesakes(name, found)));
        RegistryErrors::check(problems)?;
        let first = |found: Vec<Found>| found.into_iter().next().map(|(factory, _)| factory);
        Ok(Self(named.into_iter().filter_map(|(name, found)| Some((name, first(found)?))).collect()))
    }

    /// The factory of that name.
    pub(super) fn get(&self, name: &str) -> Option<&Arc<dyn ToolsetFactory>> {
        self.0.get(name)
    }

    /// The known name that was probably meant.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        nearest(name, self.0.keys().map(String::as_str)).map(str::to_owned)
    }

    /// All of them, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<dyn ToolsetFactory>> {
        self.0.values()
    }
}

fn problems_of(metadata: &ToolsetMetadata) -> Vec<String> {
    let mut problems = metadata.problems();
    if !super::record::is_id(&metadata.name) {
        problems.push("its name is empty, longer than 512 bytes, or has control characters".to_owned());
    }
    if metadata.auth != Auth::None && metadata.secrets_schema.is_none() {
        problems.push(
            "it says how it proves who it works for (`auth = ..`), and takes no secrets to do so; give it some as `Configure::Secrets`"
                .to_owned(),
        );
    }
    problems
}

fn namesakes(name: &str, found: &[Found]) -> Option<RegistryError> {
    let message = format!("duplicate toolset name: {}; give one of them another `name`", name.escape_debug());
    let places = found.iter().filter_map(|(_, source)| *source).collect();
    (found.len() > 1).then_some(RegistryError { message, places })
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
