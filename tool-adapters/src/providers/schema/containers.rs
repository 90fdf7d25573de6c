//! The items of arrays and the properties of objects, as the schemas of a node have them together, and the root as one object.

use crate::providers::report::Refusal;
use crate::providers::schema::document::named_places;
use crate::providers::schema::node::{FlatNode, KeywordFilter, KeywordSet, SchemaNode, SchemaUnion};
use crate::providers::schema::projector::Projector;
use crate::providers::schema::rules::TypeSet;
use crate::providers::schema::words::{DroppedKeyword, can_describe};
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;
use tool_core::schema::is_schema;

/// The schemas of an array's items.
#[derive(Clone, Debug)]
pub(crate) struct ArrayItems<'a> {
    /// The schemas of the first items, by position.
    pub(crate) first: Vec<SchemaNode<'a>>,
    /// The schema of the items after them; `None` if there are no more.
    pub(crate) rest: Option<SchemaNode<'a>>,
}

impl Default for ArrayItems<'_> {
    fn default() -> Self {
        Self { first: Vec::new(), rest: Some(SchemaNode::default()) }
    }
}

impl<'a> ArrayItems<'a> {
    fn is_silent(&self) -> bool {
        self.first.is_empty() && is_any(self.rest.as_ref())
    }

    /// Returns the items of all schemas of a node together.
    pub(crate) fn of(own: &[KeywordSet<'a>]) -> Self {
        own.iter().map(Self::of_one).fold(Self::default(), Self::and)
    }

    fn of_one(own: &KeywordSet<'a>) -> Self {
        let first = own.list("prefixItems").unwrap_or_default();
        let rest = match own.get("items") {
            Some(Value::Bool(false)) => None,
            _ => Some(own.under("items").unwrap_or_default()),
        };
        Self { first, rest }
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
        let longest = |items: &Self| items.rest.is_none().then_some(items.first.len());
        let most = longest(&self).into_iter().chain(longest(&other)).min();
        let both = |left: Option<SchemaNode<'a>>, right: Option<SchemaNode<'a>>| Some(left?.and(right?));
        let placed = !self.first.is_empty() || !other.first.is_empty();
        let node = both(self.alike(most), other.alike(most));
        match most.filter(|_| placed) {
            // Closed: the same schema at each position, and none after them.
            Some(most) => Self { first: vec![node.unwrap_or_default(); most], rest: None },
            None => Self { first: Vec::new(), rest: node },
        }
    }
}

/// The properties of an object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectShape<'a> {
    pub(crate) properties: IndexMap<&'a str, SchemaNode<'a>>,
    pub(crate) required: Vec<&'a str>,
    /// The schema of all other properties. `None` if there may be none, an empty node if any value fits.
    pub(crate) rest: Option<SchemaNode<'a>>,
}

impl Default for ObjectShape<'_> {
    fn default() -> Self {
        Self { properties: IndexMap::new(), required: Vec::new(), rest: Some(SchemaNode::default()) }
    }
}

impl<'a> ObjectShape<'a> {
    /// Returns the properties of one schema. `patterns` is true if the projection keeps `patternProperties`. Otherwise any
    /// property may be one of them.
    pub(crate) fn of(own: &KeywordSet<'a>, patterns: bool) -> Self {
        let named = own.get("properties").into_iter();
        let places = named.flat_map(|named| named_places(named, &own.pointer, "properties"));
        let schemas = places.filter(|(_, place)| is_schema(place.schema));
        let properties = schemas.map(|(name, place)| (name, SchemaNode::of(place))).collect();
        let required = own.get("required").and_then(Value::as_array).into_iter().flatten();
        let known = patterns || own.get("patternProperties").is_none();
        let rest = match own.get("additionalProperties").filter(|_| known) {
            Some(Value::Bool(false)) => None,
            Some(Value::Object(map)) if !map.is_empty() => own.under("additionalProperties"),
            _ => Some(SchemaNode::default()),
        };
        Self { properties, required: required.filter_map(Value::as_str).collect(), rest }
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
        for name in other.required {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        self.rest = self.rest.zip(other.rest).map(|(left, right)| left.and(right));
        self
    }

    /// Returns properties that accept every object that one of the shapes accepts.
    pub(crate) fn any(shapes: &[Self]) -> Self {
        let names = shapes.iter().flat_map(|shape| shape.properties.keys().copied()).collect::<IndexSet<_>>();
        let properties = names.into_iter().map(|name| {
            let nodes = shapes.iter().filter_map(|shape| shape.properties.get(name).or(shape.rest.as_ref()));
            (name, SchemaNode::any(distinct(nodes)))
        });
        let properties = properties.collect();
        let first = shapes.first().map(|shape| shape.required.as_slice()).unwrap_or_default();
        let everywhere = |name: &&&str| shapes.iter().all(|shape| shape.required.contains(name));
        let required = first.iter().filter(everywhere).copied().collect();
        let rest = distinct(shapes.iter().filter_map(|shape| shape.rest.as_ref()));
        let is_open = rest.iter().any(|node| is_any(Some(node)));
        let rest = if is_open { vec![SchemaNode::default()] } else { rest };
        let rest = (!rest.is_empty()).then(|| SchemaNode::any(rest));
        Self { properties, required, rest }
    }
}

/// Returns true for the schema of items or properties that accepts every value.
pub(crate) fn is_any(node: Option<&SchemaNode<'_>>) -> bool {
    node.is_some_and(|node| node.0.is_empty())
}

fn distinct<'n, 'a: 'n>(nodes: impl Iterator<Item = &'n SchemaNode<'a>>) -> Vec<SchemaNode<'a>> {
    let mut kept: Vec<SchemaNode<'a>> = Vec::new();
    for node in nodes {
        if !kept.iter().any(|there| there.same(node)) {
            kept.push(node.clone());
        }
    }
    kept
}

/// The root as one object.
pub(crate) struct MergedRoot<'a> {
    pub(crate) shape: ObjectShape<'a>,
    pub(crate) own: Vec<KeywordSet<'a>>,
    /// The unions that become part of the description.
    pub(crate) dropped: Vec<DroppedKeyword<'a>>,
}

impl<'a> Projector<'a> {
    /// Merges all schemas of a node into one object, which accepts every object that a branch of a union accepts. Returns
    /// `None` if no object is accepted.
    pub(crate) fn merged(&mut self, node: SchemaNode<'a>, patterns: bool) -> Option<MergedRoot<'a>> {
        let floor = self.active.len();
        self.depth += 1;
        let merged = if self.is_exhausted() {
            Some(MergedRoot { shape: ObjectShape::default(), own: Vec::new(), dropped: Vec::new() })
        } else {
            self.gather(node).and_then(|gathered| self.merge(gathered, patterns))
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
        let shapes = own.iter().enumerate().map(|(at, own)| ObjectShape::of(own, patterns && at == 0));
        let mut shape = shapes.fold(ObjectShape::default(), ObjectShape::and);
        let mut dropped = Vec::new();
        for union in unions {
            dropped.extend(self.report_merged(&union, &own));
            shape = shape.and(self.any(union)?);
        }
        Some(MergedRoot { shape, own, dropped })
    }

    fn any(&mut self, union: SchemaUnion<'a>) -> Option<ObjectShape<'a>> {
        let mut shapes = Vec::new();
        for node in union.nodes {
            let Some(merged) = self.merged(node, false) else { continue };
            for own in &merged.own {
                self.report_unmerged(own);
            }
            shapes.push(merged.shape);
        }
        (!shapes.is_empty()).then(|| ObjectShape::any(&shapes))
    }

    fn report_merged(&mut self, union: &SchemaUnion<'a>, own: &[KeywordSet<'a>]) -> Option<DroppedKeyword<'a>> {
        let (keyword, pointer) = union.place.as_ref()?;
        let detail = "the branches are merged into one object that accepts what any of them does";
        self.log.weakened(pointer, keyword, detail);
        let holder = own.iter().find(|own| own.pointer == *pointer)?;
        let dropped = (*keyword, holder.map.get(*keyword)?);
        can_describe(dropped).then_some(dropped)
    }

    /// Reports the keywords of a branch besides its properties: they hold in that branch only.
    fn report_unmerged(&mut self, own: &KeywordSet<'a>) {
        for (keyword, _) in own.reading(KeywordFilter::Assertions).keywords().filter(|(keyword, _)| !is_merged(keyword))
        {
            self.log.dropped(&own.pointer, keyword, "it holds in one branch of a merged union only");
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
    let typed = own.get("type").and_then(TypeSet::of_keyword).is_none_or(|types| types.intersects(TypeSet::OBJECT));
    let listed = own.get("enum").and_then(Value::as_array).is_none_or(|values| values.iter().any(Value::is_object));
    typed && listed && own.get("const").is_none_or(Value::is_object)
}

/// Returns true for a keyword that merging takes into account.
pub(crate) fn is_merged(keyword: &str) -> bool {
    matches!(
        keyword,
        "type" | "properties" | "required" | "additionalProperties" | "$ref" | "allOf" | "anyOf" | "oneOf"
    )
}

/// Returns the reason for which nothing is written of a schema.
pub(crate) fn refusal_of_root(schema: &Value) -> Refusal {
    if TypeSet::of_schema(schema).intersects(TypeSet::OBJECT) {
        Refusal::Unsatisfiable { pointer: String::new() }
    } else {
        Refusal::NoObject
    }
}
