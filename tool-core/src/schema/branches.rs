//! The outer shape of a branch of `anyOf` or `oneOf`, and an index of branches by it: a tagged
//! value is checked against the branch of its tag alone.

use crate::schema::node::{Keyword, Node, NodeId};
use crate::schema::type_set::TypeSet;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

/// The number of references and `allOf` that are followed to find a shape.
const DEPTH: usize = 8;
/// The number of nodes and listed strings that one shape looks at. A shape that stops early accepts
/// more.
const STEPS: usize = 2_000;

/// The values that a schema accepts, as far as its types, tags and required names say.
pub(crate) struct Shape {
    types: TypeSet,
    /// The strings that are accepted, if they are listed.
    strings: Option<Vec<String>>,
    required: FxHashSet<String>,
    /// The properties with listed strings.
    constants: Vec<(String, Vec<String>)>,
}

impl Shape {
    /// Returns the shape of the schema of a node.
    pub(crate) fn of<'n>(id: NodeId, nodes: &dyn Fn(NodeId) -> &'n Node) -> Self {
        let mut shape = Self::any();
        shape.add(id, nodes, DEPTH, &mut { STEPS }, true);
        shape
    }

    fn any() -> Self {
        Self {
            types: TypeSet::ALL,
            strings: None,
            required: FxHashSet::default(),
            constants: Vec::new(),
        }
    }

    fn add<'n>(
        &mut self,
        id: NodeId,
        nodes: &dyn Fn(NodeId) -> &'n Node,
        depth: usize,
        steps: &mut usize,
        is_outer: bool,
    ) {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), steps.checked_sub(1)) else {
            return;
        };
        *steps = left;
        for keyword in &nodes(id).keywords {
            match keyword {
                Keyword::Type(types) => self.types = self.types.and(*types),
                Keyword::Const(Value::String(text)) => self.strings = Some(vec![text.clone()]),
                Keyword::Enum(values)
                    if values.others.is_empty() && values.strings.len() <= *steps =>
                {
                    *steps -= values.strings.len();
                    self.strings = Some(values.strings.iter().cloned().collect());
                }
                Keyword::Required(names) => self.required.extend(names.iter().cloned()),
                Keyword::Properties(properties) if is_outer => {
                    for (name, id) in &properties.named {
                        let mut inner = Self::any();
                        inner.add(*id, nodes, depth, steps, false);
                        self.constants
                            .extend(inner.strings.map(|strings| (name.clone(), strings)));
                    }
                }
                Keyword::Reference(id) => self.add(*id, nodes, depth, steps, is_outer),
                Keyword::AllOf(all) => all
                    .iter()
                    .for_each(|id| self.add(*id, nodes, depth, steps, is_outer)),
                _ => {}
            }
        }
        if is_outer && self.strings.is_some() {
            self.types = self.types.and(TypeSet::STRING);
        }
    }

    /// Returns false for a value of another type.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        self.types.has(TypeSet::of(value))
    }

    /// Returns the required properties with listed strings, which distinguish tagged branches.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &(String, Vec<String>)> {
        self.constants
            .iter()
            .filter(|(name, _)| self.required.contains(name))
    }
}

/// The branches of a choice by the values that they may accept.
pub(crate) struct BranchIndex {
    /// The branches that a value of a type may match, unless one of the other maps has them.
    types: Vec<(TypeSet, Vec<NodeId>)>,
    strings: FxHashMap<String, Vec<NodeId>>,
    tags: FxHashMap<String, FxHashMap<String, Vec<NodeId>>>,
    required: FxHashMap<String, Vec<NodeId>>,
}

impl BranchIndex {
    pub(crate) fn new<'n>(branches: &[NodeId], nodes: &dyn Fn(NodeId) -> &'n Node) -> Self {
        let (strings, tags, required) = Default::default();
        let types = TypeSet::EACH.map(|kind| (kind, Vec::new())).to_vec();
        let mut index = Self {
            types,
            strings,
            tags,
            required,
        };
        for id in branches {
            index.add(*id, &Shape::of(*id, nodes));
        }
        index
    }

    fn add(&mut self, id: NodeId, shape: &Shape) {
        let is_tagged = shape.tags().next().map(|(name, strings)| {
            let values = self.tags.entry(name.clone()).or_default();
            add_all(values, strings, id);
        });
        let is_named = is_tagged.or_else(|| {
            self.required
                .entry(shape.required.iter().next()?.clone())
                .or_default()
                .push(id);
            Some(())
        });
        let is_listed = shape.strings.as_ref().map(|strings| {
            add_all(&mut self.strings, strings, id);
        });
        for (kind, branches) in &mut self.types {
            let is_indexed = match *kind {
                TypeSet::OBJECT => is_named.is_some(),
                TypeSet::STRING => is_listed.is_some(),
                _ => false,
            };
            if shape.types.has(*kind) && !is_indexed {
                branches.push(id);
            }
        }
    }

    /// Returns the branches that may accept a value.
    pub(crate) fn candidates<'s>(&'s self, value: &'s Value) -> impl Iterator<Item = NodeId> + 's {
        let of_type = self
            .types
            .iter()
            .filter(|(kind, _)| *kind == TypeSet::of(value))
            .flat_map(|(_, all)| all);
        let listed = value
            .as_str()
            .and_then(|text| self.strings.get(text))
            .into_iter()
            .flatten();
        let named = value
            .as_object()
            .into_iter()
            .flatten()
            .flat_map(|(name, member)| {
                let tagged = self
                    .tags
                    .get(name)
                    .zip(member.as_str())
                    .and_then(|(values, tag)| values.get(tag));
                self.required.get(name).into_iter().chain(tagged).flatten()
            });
        of_type.chain(listed).chain(named).copied()
    }
}

fn add_all(branches: &mut FxHashMap<String, Vec<NodeId>>, texts: &[String], id: NodeId) {
    for text in texts {
        branches.entry(text.clone()).or_default().push(id);
    }
}
