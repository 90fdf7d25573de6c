//! The targets of `$ref` in one document: pointers, anchors and embedded resources with an `$id`.

use crate::schema::walk::{address, for_each_child, percent_decode};
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::collections::HashMap;

pub(crate) struct References<'a> {
    /// The embedded resources, and the root, by their absolute identifiers.
    resources: HashMap<String, &'a Value>,
    /// The identifiers of the resources by their addresses.
    bases: FxHashMap<usize, String>,
    /// The anchors of each resource.
    anchors: HashMap<(usize, &'a str), &'a Value>,
    /// The number of schemas with each dynamic anchor.
    dynamic: HashMap<&'a str, usize>,
}

impl<'a> References<'a> {
    pub(crate) fn of(root: &'a Value) -> Self {
        let (resources, bases, anchors, dynamic) = Default::default();
        let mut references = Self {
            resources,
            bases,
            anchors,
            dynamic,
        };
        references.add(root, root);
        let mut left = vec![(root, root)];
        while let Some((schema, resource)) = left.pop() {
            let Some(map) = schema.as_object() else {
                continue;
            };
            let resource = if map.get("$id").is_some_and(Value::is_string) {
                schema
            } else {
                resource
            };
            for_each_child(map, &mut |child| {
                references.add(child, resource);
                left.push((child, resource));
            });
        }
        references
    }

    /// Adds the identifier and the anchors of a schema inside a resource.
    fn add(&mut self, schema: &'a Value, resource: &'a Value) {
        let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        let mut resource = address(resource);
        if let Some(id) = text("$id") {
            let id = join(
                self.bases.get(&resource).map_or("", String::as_str),
                id.trim_end_matches('#'),
            );
            resource = address(schema);
            self.bases.insert(resource, id.clone());
            self.resources.insert(id, schema);
        }
        if let Some(anchor) = text("$dynamicAnchor") {
            *self.dynamic.entry(anchor).or_default() += 1;
        }
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            self.anchors.entry((resource, anchor)).or_insert(schema);
        }
    }

    /// Returns true for a dynamic reference whose target depends on the way to it.
    pub(crate) fn is_ambiguous(&self, reference: &str) -> bool {
        let anchor = reference.rsplit_once('#').map_or("", |(_, anchor)| anchor);
        self.dynamic.get(anchor).is_some_and(|count| *count > 1)
    }

    /// Returns the target of a reference that is used inside a resource, and the target's own
    /// resource.
    pub(crate) fn resolve(
        &self,
        reference: &str,
        resource: &'a Value,
    ) -> Option<(&'a Value, &'a Value)> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() {
            resource
        } else {
            let base = self
                .bases
                .get(&address(resource))
                .map_or("", String::as_str);
            self.resources
                .get(&join(base, uri))
                .or_else(|| self.resources.get(uri))
                .copied()?
        };
        let fragment = percent_decode(fragment)?;
        let target = match fragment.as_str() {
            "" => resource,
            pointer if pointer.starts_with('/') => resource.pointer(pointer)?,
            anchor => self.anchors.get(&(address(resource), anchor)).copied()?,
        };
        Some((target, resource))
    }
}

/// Resolves a URI against a base: one with a scheme stays as it is, and a path replaces the last
/// part of the base's.
fn join(base: &str, uri: &str) -> String {
    let has_scheme = uri
        .split(['/', '?'])
        .next()
        .is_some_and(|head| head.contains(':'));
    let authority = base.find("://").map_or(0, |at| at + 3);
    let path = base
        .get(authority..)
        .and_then(|rest| rest.find('/'))
        .map_or(base.len(), |at| authority + at);
    let kept = match uri {
        _ if has_scheme => 0,
        path_only if path_only.starts_with('/') => path,
        _ => base
            .rfind('/')
            .filter(|at| *at >= path)
            .map_or(0, |at| at + 1),
    };
    format!("{}{uri}", base.get(..kept).unwrap_or_default())
}
