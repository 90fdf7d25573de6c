//! What is inside of arrays and objects, in a form that knows few keywords.

use super::items::Items;
use super::node::{Node, Part};
use super::rules::Subset;
use super::shape::{Rest, Shape};
use super::subset::Written;
use super::walk::Walk;
use crate::report::ChangeKind;
use serde_json::{Value, json};
use std::collections::HashSet;

impl<'a> Walk<'a> {
    /// Writes what is said of items.
    pub(super) fn array(&mut self, subset: &Subset, items: Items<'a>, inside: &mut Written) {
        let closed = items.rest.is_none().then_some(items.first.len());
        let stated = inside.get("maxItems").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
        let most = closed.into_iter().chain(stated).min();
        let item = items.alike(most).and_then(|node| self.node(subset, node));
        // Where no item fits, the empty array does.
        let most = if item.is_none() { Some(0) } else { most };
        if subset.keeps.contains(&"maxItems")
            && let Some(most) = most
        {
            inside.insert("maxItems".to_owned(), most.into());
        }
        let item = item.unwrap_or_default();
        // Gemini refuses an array without it, in both of its forms.
        let wanted = subset.typed || subset.maps && inside.contains_key("type");
        if wanted || !item.is_empty() {
            inside.insert("items".to_owned(), Self::placed(subset, item));
        }
    }

    /// Writes what is said of properties; nothing where no object fits.
    pub(super) fn object(&mut self, subset: &Subset, shape: Shape<'a>, inside: &mut Written) -> Option<()> {
        let mut missing: HashSet<&str> = shape.required.iter().copied().collect();
        let mut properties = Written::new();
        for (name, node) in shape.properties {
            let required = missing.remove(name);
            self.report_absent(&node);
            match self.property(subset, node, required) {
                Some(written) => {
                    properties.insert(name.to_owned(), Self::placed(subset, written));
                }
                None if required => return None,
                None => {}
            }
        }
        if subset.typed {
            // What is required has to be among the properties.
            for name in shape.required.iter().filter(|name| missing.contains(*name)) {
                let node = match &shape.rest {
                    Rest::Open => Node::default(),
                    Rest::Closed => return None,
                    Rest::Each(node) => node.clone(),
                };
                let written = self.property(subset, node, true)?;
                properties.insert((*name).to_owned(), Self::placed(subset, written));
            }
            let order: Vec<&str> = properties.keys().map(String::as_str).collect();
            if !order.is_empty() {
                inside.insert("propertyOrdering".to_owned(), order.into());
            }
        }
        if !properties.is_empty() {
            inside.insert("properties".to_owned(), Value::Object(properties));
        }
        if !shape.required.is_empty() {
            inside.insert("required".to_owned(), json!(shape.required));
        }
        if subset.maps {
            let further = match shape.rest {
                Rest::Open => None,
                Rest::Closed => Some(Value::Bool(false)),
                Rest::Each(node) => Some(self.property(subset, node, false).map_or(Value::Bool(false), Value::Object)),
            };
            inside.extend(further.map(|further| ("additionalProperties".to_owned(), further)));
        }
        Some(())
    }

    fn property(&mut self, subset: &Subset, node: Node<'a>, required: bool) -> Option<Written> {
        let before = self.definitions.optional;
        self.definitions.optional = before || !required;
        let written = self.node(subset, node);
        self.definitions.optional = before;
        written
    }

    /// Reports a property that is declared as one that must not be given.
    fn report_absent(&mut self, node: &Node<'_>) {
        let Some(Part::Schema(place)) = node.0.iter().find(|part| is_false(part)) else { return };
        let holder = place.pointer.rsplit_once("/properties/").map_or("", |(holder, _)| holder);
        self.log.add(holder, "properties", ChangeKind::Dropped, "a property that must not be given is left out");
    }
}

fn is_false(part: &Part<'_>) -> bool {
    matches!(part, Part::Schema(place) if *place.schema == Value::Bool(false))
}
