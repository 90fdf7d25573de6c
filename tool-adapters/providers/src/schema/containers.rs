//! The items of arrays and the properties of objects, as the schemas of a node have them together,
//! and the root as one object.

use crate::report::Refusal;
use crate::schema::document::named_places;
use crate::schema::node::{FlatNode, KeywordFilter, KeywordSet, SchemaNode, SchemaUnion};
use crate::schema::projector::Projector;
use crate::schema::rules::TypeSet;
use crate::schema::words::{DroppedKeyword, can_describe};
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use tool_core::schema::is_schema;

/// The schemas of an array's items.
#[derive(Clone, Debug)]
pub(crate) struct ArrayItems<'a> {
    /// The schemas of the first items, by position.
    pub(crate) first: Vec<SchemaNode<'a>>,
    /// The schema of the items after them; `None` if there are no more.
    pub(crate) rest: Option<SchemaNode<'a>>,
    /// The maximum number of items, of schemas that were merged.
    most: Option<usize>,
}

impl Default for ArrayItems<'_> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            rest: Some(SchemaNode::default()),
            most: None,
        }
    }
}

impl<'a> ArrayItems<'a> {
    fn is_silent(&self) -> bool {
        self.first.is_empty() && self.most.is_none() && is_any(self.rest.as_ref())
    }

    /// Returns the maximum number of items; `None` if there may be any number.
    pub(crate) fn closed(&self) -> Option<usize> {
        self.rest
            .is_none()
            .then_some(self.first.len())
            .or(self.most)
    }

    /// Returns the items of all schemas of a node together.
    pub(crate) fn of(own: &[KeywordSet<'a>]) -> Self {
        own.iter()
            .map(Self::of_one)
            .fold(Self::default(), Self::and)
    }

    fn of_one(own: &KeywordSet<'a>) -> Self {
        let first = own.list("prefixItems").unwrap_or_default();
        let rest = match own.get("items") {
            Some(Value::Bool(false)) => None,
            _ => Some(own.under("items").unwrap_or_default()),
        };
        Self {
            first,
            rest,
            most: None,
        }
    }

    /// Merges the schemas of at most `most` items into one for all; `None` if the array is empty.
    pub(crate) fn alike(self, most: Option<usize>) -> Option<SchemaNode<'a>> {
        if self.first.is_empty() {
            return self.rest;
        }
        let places = most.unwrap_or(usize::MAX).min(self.first.len());
        let follow = most.is_none_or(|most| most > self.first.len());
        let mut nodes: Vec<_> = self.first.into_iter().take(places).collect();
        nodes.extend(self.rest.filter(|_| follow));
        (!nodes.is_empty()).then(|| SchemaNode::any(nodes))
    }

    /// Returns the items that satisfy both. Positions are kept if only one of the two has some.
    fn and(self, other: Self) -> Self {
        if self.is_silent() {
            return other;
        }
        if other.is_silent() {
            return self;
        }
        let most = self.closed().into_iter().chain(other.closed()).min();
        let both =
            |left: Option<SchemaNode<'a>>, right: Option<SchemaNode<'a>>| Some(left?.and(right?));
        let rest = both(self.alike(most), other.alike(most));
        Self {
            first: Vec::new(),
            most: most.filter(|most| rest.is_some() && *most > 0),
            rest: rest.filter(|_| most != Some(0)),
        }
    }
}

/// The properties of an object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectShape<'a> {
    pub(crate) properties: IndexMap<&'a str, SchemaNode<'a>>,
    pub(crate) required: IndexSet<&'a str>,
    /// The schema of all other properties. `None` if there may be none, an empty node if any value
    /// fits.
    pub(crate) rest: Option<SchemaNode<'a>>,
}

impl Default for ObjectShape<'_> {
    fn default() -> Self {
        Self {
            properties: IndexMap::new(),
            required: IndexSet::new(),
            rest: Some(SchemaNode::default()),
        }
    }
}

impl<'a> ObjectShape<'a> {
    /// Returns the properties of one schema. `patterns` is true if the projection keeps
    /// `patternProperties`. Otherwise any property may be one of them.
    pub(crate) fn of(own: &KeywordSet<'a>, patterns: bool) -> Self {
        let named = own.get("properties").into_iter();
        let places = named.flat_map(|named| named_places(named, &own.pointer, "properties"));
        let schemas = places.filter(|(_, place)| is_schema(place.schema));
        let properties = schemas
            .map(|(name, place)| (name, SchemaNode::of(place)))
            .collect();
        let required = own
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let known = patterns || own.get("patternProperties").is_none();
        let rest = match own.get("additionalProperties").filter(|_| known) {
            Some(Value::Bool(false)) => None,
            Some(Value::Object(map)) if !map.is_empty() => own.under("additionalProperties"),
            _ => Some(SchemaNode::default()),
        };
        Self {
            properties,
            required: required.filter_map(Value::as_str).collect(),
            rest,
        }
    }

    fn is_silent(&self) -> bool {
        self.properties.is_empty() && self.required.is_empty() && is_any(self.rest.as_ref())
    }

    /// Returns the properties of an object that satisfies both. If one is closed, so is the result.
    pub(crate) fn and(mut self, other: Self) -> Self {
        if self.is_silent() {
            return other;
        }
        if other.is_silent() {
            return self;
        }
        for (name, node) in other.properties {
            let there = self.properties.entry(name).or_default();
            *there = std::mem::take(there).and(node);
        }
        self.required.extend(other.required);
        self.rest = self
            .rest
            .zip(other.rest)
            .map(|(left, right)| left.and(right));
        self
    }

    /// Returns properties that accept every object that one of the shapes accepts.
    pub(crate) fn any(shapes: &[Self]) -> Self {
        let rests = RestSchemas::of(shapes);
        let mut holders = IndexMap::<&str, Vec<usize>>::new();
        for (at, shape) in shapes.iter().enumerate() {
            for name in shape.properties.keys() {
                holders.entry(*name).or_default().push(at);
            }
        }
        let node_of = |name: &str, holders: &[usize]| {
            let own = holders
                .iter()
                .filter_map(|at| Some((*at, shapes.get(*at)?.properties.get(name)?)));
            let own = distinct(own);
            let others = rests
                .of_others(holders)
                .filter(|(_, rest)| !own.iter().any(|(_, node)| node.same(rest)));
            let mut nodes = own.iter().copied().chain(others).collect::<Vec<_>>();
            nodes.sort_by_key(|(at, _)| *at);
            SchemaNode::any(nodes.into_iter().map(|(_, node)| node.clone()).collect())
        };
        let properties = holders
            .iter()
            .map(|(name, holders)| (*name, node_of(name, holders)))
            .collect();
        let mut counts = IndexMap::<&str, usize>::new();
        for name in shapes.iter().flat_map(|shape| &shape.required) {
            *counts.entry(*name).or_default() += 1;
        }
        let required = counts
            .into_iter()
            .filter(|(_, count)| *count == shapes.len())
            .map(|(name, _)| name)
            .collect();
        Self {
            properties,
            required,
            rest: rests.node(),
        }
    }
}

/// The schemas that the shapes of a union have for all other properties, each once.
struct RestSchemas<'n, 'a>(Vec<(&'n SchemaNode<'a>, Vec<usize>)>);

impl<'n, 'a> RestSchemas<'n, 'a> {
    /// The maximum number of different schemas. More accept any value, as each property would have
    /// all of them.
    const MAX: usize = 16;

    fn of(shapes: &'n [ObjectShape<'a>]) -> Self {
        let mut rests = IndexMap::<_, (&SchemaNode<'_>, Vec<usize>)>::new();
        for (at, node) in shapes
            .iter()
            .enumerate()
            .filter_map(|(at, shape)| Some((at, shape.rest.as_ref()?)))
        {
            rests
                .entry(node.identity())
                .or_insert_with(|| (node, Vec::new()))
                .1
                .push(at);
        }
        if rests.len() > Self::MAX {
            const ANY: &SchemaNode<'static> = &SchemaNode(Vec::new());
            let mut all = rests
                .into_values()
                .flat_map(|(_, shapes)| shapes)
                .collect::<Vec<_>>();
            all.sort_unstable();
            return Self(vec![(ANY, all)]);
        }
        Self(rests.into_values().collect())
    }

    /// Returns the schemas of the shapes that are not listed, each with the first such shape.
    fn of_others(&self, listed: &[usize]) -> impl Iterator<Item = (usize, &'n SchemaNode<'a>)> {
        self.0.iter().filter_map(|(node, shapes)| {
            let first = shapes.iter().find(|at| listed.binary_search(at).is_err())?;
            Some((*first, *node))
        })
    }

    /// Returns the schema of the union; `None` if no shape accepts other properties.
    fn node(&self) -> Option<SchemaNode<'a>> {
        let is_open = self.0.iter().any(|(node, _)| is_any(Some(node)));
        let nodes = self.0.iter().map(|(node, _)| (*node).clone());
        let nodes = if is_open {
            vec![SchemaNode::default()]
        } else {
            nodes.collect()
        };
        (!nodes.is_empty()).then(|| SchemaNode::any(nodes))
    }
}

/// Returns true for the schema of items or properties that accepts every value.
pub(crate) fn is_any(node: Option<&SchemaNode<'_>>) -> bool {
    node.is_some_and(|node| node.0.is_empty())
}

/// Returns the nodes with different schemas.
fn distinct<'n, 'a: 'n>(
    nodes: impl Iterator<Item = (usize, &'n SchemaNode<'a>)>,
) -> Vec<(usize, &'n SchemaNode<'a>)> {
    let mut known = HashSet::new();
    nodes
        .filter(|(_, node)| known.insert(node.identity()))
        .collect()
}

/// The root as one object.
pub(crate) struct MergedRoot<'a> {
    pub(crate) shape: ObjectShape<'a>,
    pub(crate) own: Vec<KeywordSet<'a>>,
    /// The unions that become part of the description.
    pub(crate) dropped: Vec<DroppedKeyword<'a>>,
}

impl<'a> Projector<'a> {
    /// Merges all schemas of a node into one object, which accepts every object that a branch of a
    /// union accepts. Returns `None` if no object is accepted.
    pub(crate) fn merged(
        &mut self,
        node: SchemaNode<'a>,
        patterns: bool,
    ) -> Option<MergedRoot<'a>> {
        let floor = self.active.len();
        self.depth += 1;
        let merged = if self.is_exhausted() {
            Some(MergedRoot {
                shape: ObjectShape::default(),
                own: Vec::new(),
                dropped: Vec::new(),
            })
        } else {
            self.gather(node)
                .and_then(|gathered| self.merge(gathered, patterns))
        };
        self.depth -= 1;
        self.active.truncate(floor);
        merged
    }

    fn merge(&mut self, gathered: FlatNode<'a>, patterns: bool) -> Option<MergedRoot<'a>> {
        let FlatNode { own, types, unions } = gathered;
        if !types.intersects(TypeSet::OBJECT) || !own.iter().all(accepts_objects) {
            return None;
        }
        let shapes = own
            .iter()
            .enumerate()
            .map(|(at, own)| ObjectShape::of(own, patterns && at == 0));
        let mut shape = shapes.fold(ObjectShape::default(), ObjectShape::and);
        let mut dropped = Vec::new();
        let holders = own
            .iter()
            .map(|own| (own.pointer.as_str(), own))
            .collect::<HashMap<_, _>>();
        for union in unions {
            dropped.extend(self.report_merged(&union, &holders));
            shape = shape.and(self.any(union)?);
        }
        Some(MergedRoot {
            shape,
            own,
            dropped,
        })
    }

    fn any(&mut self, union: SchemaUnion<'a>) -> Option<ObjectShape<'a>> {
        let mut shapes = Vec::new();
        for node in union.nodes {
            let Some(merged) = self.merged(node, false) else {
                continue;
            };
            for own in &merged.own {
                self.report_unmerged(own);
            }
            shapes.push(merged.shape);
        }
        (!shapes.is_empty()).then(|| ObjectShape::any(&shapes))
    }

    fn report_merged(
        &mut self,
        union: &SchemaUnion<'a>,
        holders: &HashMap<&str, &KeywordSet<'a>>,
    ) -> Option<DroppedKeyword<'a>> {
        let (keyword, pointer) = union.place.as_ref()?;
        let detail = "the branches are merged into one object that accepts what any of them does";
        self.log.weakened(pointer, keyword, detail);
        let holder = holders.get(pointer.as_str())?;
        let dropped = (*keyword, holder.map.get(*keyword)?);
        can_describe(dropped).then_some(dropped)
    }

    /// Reports the keywords of a branch besides its properties: they hold in that branch only.
    fn report_unmerged(&mut self, own: &KeywordSet<'a>) {
        for (keyword, _) in own
            .reading(KeywordFilter::Assertions)
            .keywords()
            .filter(|(keyword, _)| !is_merged(keyword))
        {
            self.log.dropped(
                &own.pointer,
                keyword,
                "it holds in one branch of a merged union only",
            );
        }
    }

    /// Reports a root with another `type` than `object`.
    pub(crate) fn report_root_type(&mut self) {
        let kind = self.document.root().get("type");
        if kind.is_some_and(|kind| kind != "object") {
            self.log.rewritten("", "type", "arguments are an object");
        }
    }
}

fn accepts_objects(own: &KeywordSet<'_>) -> bool {
    let typed = own
        .get("type")
        .and_then(TypeSet::of_keyword)
        .is_none_or(|types| types.intersects(TypeSet::OBJECT));
    let listed = own
        .get("enum")
        .and_then(Value::as_array)
        .is_none_or(|values| values.iter().any(Value::is_object));
    typed && listed && own.get("const").is_none_or(Value::is_object)
}

/// Returns true for a keyword that merging takes into account.
pub(crate) fn is_merged(keyword: &str) -> bool {
    matches!(
        keyword,
        "type"
            | "properties"
            | "required"
            | "additionalProperties"
            | "$ref"
            | "allOf"
            | "anyOf"
            | "oneOf"
    )
}

/// Returns the reason for which nothing is written of a schema.
pub(crate) fn refusal_of_root(schema: &Value) -> Refusal {
    if TypeSet::of_schema(schema).intersects(TypeSet::OBJECT) {
        Refusal::Unsatisfiable {
            pointer: String::new(),
        }
    } else {
        Refusal::NoObject
    }
}
