//! The entries of the arguments that belong to a flattened parameter.

use crate::schema::generator::argument_generator;
use crate::schema::parameter::Parameter;
use crate::schema::walk;
use rustc_hash::FxHashSet;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The depth to which the branches of a type's schema are followed.
const MAX_DEPTH: usize = 32;

/// The names that the type of a flattened parameter publishes. Entries with these names belong to
/// the parameter.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlattenedNames {
    pub(crate) names: BTreeSet<String>,
    /// True for a type that takes names which no schema lists, for example a map.
    pub(crate) takes_others: bool,
    /// True for a type that does not take every value under these names.
    pub(crate) limits_others: bool,
}

impl FlattenedNames {
    /// Returns the names in a schema. References lead into the `$defs` of `root`.
    pub(crate) fn of_schema(schema: &Value, root: &Value) -> Self {
        let mut names = Self::default();
        names.add(schema, root, MAX_DEPTH, &mut FxHashSet::default());
        names
    }

    /// Returns the names of each flattened parameter of a table, and `None` for other parameters.
    pub(crate) fn of_table(parameters: &[Parameter]) -> Vec<Option<Self>> {
        let mut generator = argument_generator();
        let mut schemas = Vec::new();
        for row in parameters {
            let schema = row.flatten.then(|| (row.schema)(&mut generator).to_value());
            schemas.push(schema);
        }

        let root = json!({ "$defs": generator.take_definitions(true) });
        schemas
            .iter()
            .map(|schema| Some(Self::of_schema(schema.as_ref()?, &root)))
            .collect()
    }

    /// Adds the names in a schema, unless it was visited before.
    fn add(&mut self, schema: &Value, root: &Value, depth: usize, visited: &mut FxHashSet<usize>) {
        let schema = walk::follow(root, schema);
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        if !visited.insert(walk::address(schema)) {
            return;
        }

        self.takes_others |= *schema == Value::Bool(true);
        let Some(map) = schema.as_object() else {
            return;
        };

        let properties = map.get("properties").and_then(Value::as_object);
        self.names
            .extend(properties.into_iter().flat_map(Map::keys).cloned());
        self.takes_others |= is_open(map);
        self.limits_others |= rests(map).any(Value::is_object);

        let branches = ["allOf", "anyOf", "oneOf"]
            .into_iter()
            .flat_map(|keyword| walk::branches(map, keyword));
        let conditional = ["then", "else"]
            .into_iter()
            .filter_map(|keyword| map.get(keyword));
        for schema in walk::referenced(map, root)
            .into_iter()
            .chain(branches)
            .chain(conditional)
        {
            self.add(schema, root, depth, visited);
        }
    }
}

/// Returns the schemas of further properties of an object.
fn rests(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .filter_map(|keyword| map.get(*keyword))
}

/// Returns true for the schema of an object that takes further names than its properties.
fn is_open(map: &Map<String, Value>) -> bool {
    let takes_rest = rests(map).any(|rest| *rest != Value::Bool(false));
    let patterns = map.get("patternProperties").and_then(Value::as_object);
    takes_rest || patterns.is_some_and(|patterns| !patterns.is_empty())
}

/// Returns the position of the flattened parameter that an entry belongs to: the one that has its
/// name, or else one that takes names which no other has.
pub(crate) fn owner<'n>(
    mut names: impl Iterator<Item = Option<&'n FlattenedNames>> + Clone,
    key: &str,
) -> Option<usize> {
    let has_name = |names: Option<&FlattenedNames>| names.is_some_and(|it| it.names.contains(key));
    let takes_others = |names: Option<&FlattenedNames>| names.is_some_and(|it| it.takes_others);
    names
        .clone()
        .position(has_name)
        .or_else(|| names.position(takes_others))
}
