//! Objects: their properties, and how those of several schemas become one.

use super::node::{Node, Own};
use crate::schema::{is_schema, join};
use serde_json::Value;
use std::collections::HashMap;

/// What a schema says of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape<'a> {
    pub(super) properties: Vec<(&'a str, Node<'a>)>,
    pub(super) required: Vec<&'a str>,
    pub(super) rest: Rest<'a>,
}

/// What a schema says of properties that it does not name.
#[derive(Clone, Debug, Default)]
pub(super) enum Rest<'a> {
    #[default]
    Open,
    Closed,
    Each(Node<'a>),
}

impl<'a> Shape<'a> {
    /// What one schema says. With `patterns` its `patternProperties` stand in the projection too; without, any property
    /// may be one of those.
    pub(super) fn of(own: &Own<'a>, patterns: bool) -> Self {
        let named = own.get("properties").and_then(Value::as_object);
        let under = join(&own.pointer, "properties");
        let schemas = named.into_iter().flatten().filter(|(_, schema)| is_schema(schema));
        let properties = schemas.map(|(name, schema)| (name.as_str(), Node::of(schema, join(&under, name)))).collect();
        let required = own.get("required").and_then(Value::as_array).into_iter().flatten();
        let known = patterns || own.get("patternProperties").is_none();
        let rest = match own.get("additionalProperties").filter(|_| known) {
            Some(Value::Bool(false)) => Rest::Closed,
            Some(Value::Object(map)) if !map.is_empty() => {
                own.under("additionalProperties").map_or(Rest::Open, Rest::Each)
            }
            _ => Rest::Open,
        };
        Self { properties, required: required.filter_map(Value::as_str).collect(), rest }
    }

    fn is_silent(&self) -> bool {
        self.properties.is_empty() && self.required.is_empty() && matches!(self.rest, Rest::Open)
    }

    /// Both. Where one is closed, nothing beyond the properties of the two gets through.
    pub(super) fn and(mut self, other: Self) -> Self {
        if self.is_silent() {
            return other;
        }
        if other.is_silent() {
            return self;
        }
        let mut at: HashMap<_, _> = self.properties.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
        for (name, node) in other.properties {
            if let Some((_, there)) = at.get(name).and_then(|at| self.properties.get_mut(*at)) {
                *there = std::mem::take(there).and(node);
            } else {
                at.insert(name, self.properties.len());
                self.properties.push((name, node));
            }
        }
        for name in other.required {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        self.rest = match (self.rest, other.rest) {
            (Rest::Open, rest) | (rest, Rest::Open) => rest,
            (Rest::Each(left), Rest::Each(right)) => Rest::Each(left.and(right)),
            (Rest::Closed, _) | (_, Rest::Closed) => Rest::Closed,
        };
        self
    }

    /// One of them, as one shape that accepts what any of them does.
    pub(super) fn any(shapes: &[Self]) -> Self {
        let mut names = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (name, _) in shapes.iter().flat_map(|shape| &shape.properties) {
            if seen.insert(*name) {
                names.push(*name);
            }
        }
        let indexed: Vec<HashMap<&str, &Node<'a>>> =
            shapes.iter().map(|shape| shape.properties.iter().map(|(name, node)| (*name, node)).collect()).collect();
        let properties = names.into_iter().map(|name| {
            let nodes = shapes.iter().zip(&indexed).filter_map(|(shape, index)| match (index.get(name), &shape.rest) {
                (Some(node), _) => Some((*node).clone()),
                (None, Rest::Open) => Some(Node::default()),
                (None, Rest::Each(node)) => Some(node.clone()),
                (None, Rest::Closed) => None,
            });
            (name, Node::any(distinct(nodes)))
        });
        let properties = properties.collect();
        let first = shapes.first().map(|shape| shape.required.as_slice()).unwrap_or_default();
        let everywhere = |name: &&&str| shapes.iter().all(|shape| shape.required.contains(name));
        let required = first.iter().filter(everywhere).copied().collect();
        Self { properties, required, rest: Rest::any(shapes) }
    }
}

impl<'a> Rest<'a> {
    fn any(shapes: &[Shape<'a>]) -> Self {
        let mut nodes = Vec::new();
        for shape in shapes {
            match &shape.rest {
                Self::Open => return Self::Open,
                Self::Closed => {}
                Self::Each(node) => nodes.push(node.clone()),
            }
        }
        if nodes.is_empty() { Self::Closed } else { Self::Each(Node::any(distinct(nodes.into_iter()))) }
    }
}

fn distinct<'a>(nodes: impl Iterator<Item = Node<'a>>) -> Vec<Node<'a>> {
    let mut kept: Vec<Node<'a>> = Vec::new();
    for node in nodes {
        if !kept.iter().any(|there| there.same(&node)) {
            kept.push(node);
        }
    }
    kept
}
