//! The root in a form that has nearly every keyword.

use super::node::{Node, Own, Part, Reads};
use super::root::is_merged;
use super::shape::Rest;
use super::subset::insert_after_type;
use super::walk::Walk;
use super::words::{Lost, can_say, describe};
use crate::report::ChangeKind;
use crate::schema::{Place, is_annotation};
use serde_json::{Map, Value, json};

impl<'a> Walk<'a> {
    /// The root: as it is where it is an object without a union, else merged into one.
    pub(super) fn whole_root(&mut self) -> Option<Value> {
        let root = self.document.root();
        let place = Place { schema: root, pointer: String::new() };
        let mut written = match root {
            Value::Object(map) if is_plain(map) => {
                self.definitions.root_stays = true;
                self.whole(place)
            }
            _ => self.merged_root(place)?,
        };
        let definitions = self.write_definitions(Self::whole);
        if let Value::Object(map) = root {
            self.report_definitions(map, "");
        }
        let written_map = written.as_object_mut()?;
        if !written_map.contains_key("properties") {
            insert_after_type(written_map, "properties", Value::Object(Map::new()));
        }
        if !definitions.is_empty() {
            written_map.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Some(written)
    }

    fn merged_root(&mut self, place: Place<'a>) -> Option<Value> {
        let merged = self.merged(Node(vec![Part::Schema(place)]), true)?;
        self.report_root_type();
        let mut written = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        let mut lost = merged.lost;
        let mut texts = Vec::new();
        for (at, own) in merged.own.iter().enumerate() {
            texts.extend(own.map.get("description").and_then(Value::as_str));
            self.beside(own, at == 0, &mut written, &mut lost);
        }
        let mut properties = Map::new();
        for (name, node) in merged.shape.properties {
            self.check_name("", name);
            properties.insert(name.to_owned(), self.whole_node(node));
        }
        written.insert("properties".to_owned(), Value::Object(properties));
        if !merged.shape.required.is_empty() {
            written.insert("required".to_owned(), json!(merged.shape.required));
        }
        let rest = match merged.shape.rest {
            Rest::Open => None,
            Rest::Closed => Some(Value::Bool(false)),
            Rest::Each(node) => Some(self.whole_node(node)),
        };
        written.extend(rest.map(|rest| ("additionalProperties".to_owned(), rest)));
        if let Some(text) = describe(&texts, &lost) {
            insert_after_type(&mut written, "description", text.into());
        }
        Some(Value::Object(written))
    }

    /// What the schemas of a merged root say beside their properties. The root's own keywords stay; those of the
    /// others might stand in each other's way.
    fn beside(&mut self, own: &Own<'a>, first: bool, written: &mut Map<String, Value>, lost: &mut Vec<Lost<'a>>) {
        const REFUSED: [&str; 10] = [
            "not",
            "if",
            "then",
            "else",
            "enum",
            "const",
            "unevaluatedProperties",
            "$dynamicRef",
            "dependentSchemas",
            "dependencies",
        ];
        let unread = own.reads == Reads::Annotations;
        for (keyword, value) in own.map.iter().filter(|(keyword, _)| !is_merged(keyword) && *keyword != "description") {
            let asserts = !is_annotation(keyword);
            if asserts && (unread || !first || REFUSED.contains(&keyword.as_str())) {
                let told = !unread && can_say((keyword, value));
                let kind = if told { ChangeKind::Described } else { ChangeKind::Dropped };
                self.log.add(&own.pointer, keyword, kind, "the provider does not take it at the root");
                lost.extend(told.then_some((keyword.as_str(), value)));
            } else if asserts || first {
                self.keyword(own, keyword, value, written, lost);
            }
        }
    }
}

/// Whether the root is an object already, and says so without a keyword that providers refuse there.
fn is_plain(map: &Map<String, Value>) -> bool {
    const REFUSED: [&str; 12] = [
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "enum",
        "const",
        "$ref",
        "if",
        "then",
        "else",
        "$dynamicRef",
        "$recursiveRef",
    ];
    map.get("type").is_some_and(|kind| kind == "object") && !REFUSED.iter().any(|keyword| map.contains_key(*keyword))
}
