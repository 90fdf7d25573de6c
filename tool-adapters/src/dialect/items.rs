//! Arrays: their items, by place or all alike.

use super::node::{Node, Own};
use super::walk::Walk;
use crate::schema::Draft;
use serde_json::Value;

/// What the schemas of a node say of an array's items.
#[derive(Clone, Debug)]
pub(super) struct Items<'a> {
    /// The items by place, where one schema says it.
    pub(super) first: Vec<Node<'a>>,
    /// The items that follow, all where none have a place; nothing where there are none.
    pub(super) rest: Option<Node<'a>>,
}

impl Default for Items<'_> {
    fn default() -> Self {
        Self { first: Vec::new(), rest: Some(Node::default()) }
    }
}

impl<'a> Items<'a> {
    fn is_silent(&self) -> bool {
        self.first.is_empty() && self.rest.as_ref().is_some_and(|rest| rest.0.is_empty())
    }

    /// All of them as one node, whatever their places: as many as `most` can be there.
    pub(super) fn alike(self, most: Option<usize>) -> Option<Node<'a>> {
        if self.first.is_empty() {
            return self.rest;
        }
        let places = most.unwrap_or(usize::MAX).min(self.first.len());
        let follow = most.is_none_or(|most| most > self.first.len());
        let mut nodes: Vec<_> = self.first.into_iter().take(places).collect();
        nodes.extend(self.rest.filter(|_| follow));
        (!nodes.is_empty()).then(|| Node::any(nodes))
    }

    /// Both. Places are kept where only one of them has any.
    fn and(self, other: Self) -> Self {
        if self.is_silent() {
            return other;
        }
        if other.is_silent() {
            return self;
        }
        let longest = |items: &Self| items.rest.is_none().then_some(items.first.len());
        let most = longest(&self).into_iter().chain(longest(&other)).min();
        let both = |left: Option<Node<'a>>, right: Option<Node<'a>>| Some(left?.and(right?));
        let placed = !self.first.is_empty() || !other.first.is_empty();
        let node = both(self.alike(most), other.alike(most));
        match most.filter(|_| placed) {
            // Closed: the same node at each place, and nothing behind.
            Some(most) => Self { first: vec![node.unwrap_or_default(); most], rest: None },
            None => Self { first: Vec::new(), rest: node },
        }
    }
}

impl<'a> Walk<'a> {
    /// What the schemas of a node say of an array's items.
    pub(super) fn items(&self, own: &[Own<'a>]) -> Items<'a> {
        own.iter().map(|own| self.items_of(own)).fold(Items::default(), Items::and)
    }

    fn items_of(&self, own: &Own<'a>) -> Items<'a> {
        let listed = own.get("items").is_some_and(Value::is_array);
        let (places, rest) = match self.document.draft() {
            // A list under `items` is an error of today's draft, and was the form of places in the earlier ones.
            Draft::D2020 if !listed => ("prefixItems", "items"),
            _ if listed => ("items", "additionalItems"),
            _ => ("", "items"),
        };
        let first = own.list(places).unwrap_or_default();
        let rest = match own.get(rest) {
            Some(Value::Bool(false)) => None,
            _ => Some(own.under(rest).unwrap_or_default()),
        };
        Items { first, rest }
    }
}
