//! Schemas in a form that has nearly every keyword: copied, but for what would upset the provider.

use crate::providers::report::ChangeKind;
use crate::providers::schema::containers::Rest;
use crate::providers::schema::document::{Draft, Place, is_annotation};
use crate::providers::schema::node::{Node, Own, Part, Reads};
use crate::providers::schema::root::is_merged;
use crate::providers::schema::rules::{is_known_format, well_formed};
use crate::providers::schema::subset::insert_after_type;
use crate::providers::schema::types::Types;
use crate::providers::schema::walk::Walk;
use crate::providers::schema::words::{Lost, can_say, describe};
use serde_json::{Map, Value, json};
use tool_core::schema::{SCHEMA_KEYWORDS as HOLDS_ONE, is_schema, join_pointer as join};

impl<'a> Walk<'a> {
    /// A node that was merged from several schemas.
    pub(crate) fn whole_node(&mut self, node: Node<'a>) -> Value {
        let mut parts: Vec<Value> = Vec::new();
        for part in node.0 {
            let written = match part {
                Part::Schema(place) => self.whole(place),
                Part::Any(nodes) => {
                    let mut branches: Vec<Value> = Vec::new();
                    for branch in nodes.into_iter().map(|node| self.whole_node(node)) {
                        if !branches.contains(&branch) {
                            branches.push(branch);
                        }
                    }
                    json!({"anyOf": branches})
                }
                Part::Own(_) | Part::Types(_) => continue,
            };
            if !parts.contains(&written) {
                parts.push(written);
            }
        }
        match parts.len() {
            0 => json!({}),
            1 => parts.pop().unwrap_or_default(),
            _ => json!({"allOf": parts}),
        }
    }

    /// A schema, keyword by keyword.
    pub(crate) fn whole(&mut self, place: Place<'a>) -> Value {
        self.nodes += 1;
        let Value::Object(map) = place.schema else { return place.schema.clone() };
        if self.is_spent() {
            self.report_spent(&place.pointer);
            return map.get("type").map_or_else(|| json!({}), |kind| json!({"type": kind}));
        }
        self.depth += 1;
        let own = Own { map, pointer: place.pointer, reads: Reads::All };
        let alone = map.contains_key("$ref") && !self.document.draft().reads_beside_references();
        let mut written = Map::new();
        let mut lost = Vec::new();
        for (keyword, value) in map {
            if alone && keyword != "$ref" && !is_annotation(keyword) {
                let detail = "beside `$ref` it means nothing in the schema's draft";
                self.log.add(&own.pointer, keyword, ChangeKind::Dropped, detail);
                continue;
            }
            self.keyword(&own, keyword, value, &mut written, &mut lost);
        }
        if !lost.is_empty() {
            let text = map.get("description").and_then(Value::as_str).unwrap_or_default();
            written.extend(describe(&[text], &lost).map(|text| ("description".to_owned(), text.into())));
        }
        self.schema_of_items(&own, &mut written);
        let array = map.get("type").and_then(Types::of_keyword).is_some_and(|types| types.meets(Types::ARRAY));
        if array && !alone && !written.contains_key("items") && !written.contains_key("unevaluatedItems") {
            written.insert("items".to_owned(), json!({}));
        }
        self.depth -= 1;
        Value::Object(written)
    }

    /// Items as a schema: `OpenAI` answers a boolean, as an array without any, with "array schema missing items".
    fn schema_of_items(&mut self, own: &Own<'a>, written: &mut Map<String, Value>) {
        let Some(Value::Bool(any)) = written.get("items") else { return };
        let keyword = if own.map.get("items").is_some_and(Value::is_array) { "additionalItems" } else { "items" };
        if *any {
            self.log.add(&own.pointer, keyword, ChangeKind::Rewritten, "`items` as `{}`, which says the same");
        } else {
            let places = written.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
            let stated = written.get("maxItems").and_then(Value::as_f64);
            let most = f64::from(u32::try_from(places).unwrap_or(u32::MAX));
            if stated.is_none_or(|stated| stated > most) {
                written.insert("maxItems".to_owned(), places.into());
            }
            self.log.add(
                &own.pointer,
                keyword,
                ChangeKind::Rewritten,
                format!("`items` as `{{}}`, `maxItems` {places}"),
            );
        }
        written.insert("items".to_owned(), json!({}));
    }

    pub(crate) fn keyword(
        &mut self,
        own: &Own<'a>,
        keyword: &'a str,
        value: &'a Value,
        written: &mut Map<String, Value>,
        lost: &mut Vec<Lost<'a>>,
    ) {
        let draft = self.document.draft();
        let mut report = |kind, detail: &str| self.log.add(&own.pointer, keyword, kind, detail);
        if !draft.knows(keyword) {
            return report(ChangeKind::Dropped, "not of the schema's draft");
        }
        if !well_formed(keyword, value, draft) {
            return report(ChangeKind::Dropped, "its value is not one of this keyword");
        }
        match keyword {
            "$schema" | "$id" | "id" | "$comment" | "$vocabulary" | "$anchor" | "$dynamicAnchor"
            | "$recursiveAnchor" => {
                // A parameter of that name is none of them; here the keyword is meant. References are pointers now.
                if keyword == "id" && draft != Draft::D4 {
                    written.insert(keyword.to_owned(), value.clone());
                    return;
                }
                report(ChangeKind::Dropped, "it says nothing to a model");
            }
            "$defs" | "definitions" if own.pointer.is_empty() => {}
            "$defs" | "definitions" => report(ChangeKind::Rewritten, "`$defs` of the root"),
            "$dynamicRef" | "$recursiveRef" => {
                report(
                    ChangeKind::Weakened,
                    "what it leads to depends on where it is reached from; any value is taken",
                );
                self.inexact = true;
            }
            "$ref" => {
                let new = value.as_str().and_then(|reference| self.refer(reference, &own.pointer));
                written.extend(new.map(|new| ("$ref".to_owned(), new.into())));
            }
            "format" if !value.as_str().is_some_and(is_known_format) => {
                report(ChangeKind::Described, "told in the description");
                lost.push((keyword, value));
            }
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => {
                self.old_exclusive(own, keyword, value, written);
            }
            "items" if value.is_array() => self.moved(own, keyword, "prefixItems", written),
            "additionalItems" if own.map.get("items").is_some_and(Value::is_array) => {
                self.moved(own, keyword, "items", written);
            }
            "additionalItems" => report(ChangeKind::Dropped, "without a list of `items` it means nothing"),
            "dependencies" if draft < Draft::D2019 => self.dependencies(own, value, written),
            "not" | "if" | "then" | "else" | "unevaluatedProperties" | "unevaluatedItems" | "maxContains" | "oneOf" => {
                self.turning(own, keyword, value, written);
            }
            _ => {
                let inner = self.inner(own, keyword, value);
                written.insert(keyword.to_owned(), inner);
            }
        }
    }

    /// Keywords under which a weakened schema would refuse more. They stay where nothing was weakened.
    fn turning(&mut self, own: &Own<'a>, keyword: &'a str, value: &'a Value, written: &mut Map<String, Value>) {
        if !self.careful {
            self.sensitive = true;
            let inner = self.inner(own, keyword, value);
            written.insert(keyword.to_owned(), inner);
        } else if keyword == "oneOf" && !own.map.contains_key("anyOf") {
            self.log.add(&own.pointer, keyword, ChangeKind::Weakened, "`anyOf`: more than one may fit");
            let inner = self.inner(own, keyword, value);
            written.insert("anyOf".to_owned(), inner);
        } else {
            let detail = "another part of the schema had to be weakened, which it might turn round";
            self.log.add(&own.pointer, keyword, ChangeKind::Dropped, detail);
        }
    }

    /// A keyword's value with the schemas inside it written.
    pub(crate) fn inner(&mut self, own: &Own<'a>, keyword: &str, value: &'a Value) -> Value {
        match (keyword, value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                let under = join(&own.pointer, keyword);
                let mut schemas = Map::new();
                for (name, schema) in named {
                    if keyword == "properties" {
                        self.check_name(&own.pointer, name);
                    }
                    schemas.insert(name.clone(), self.whole(Place { schema, pointer: join(&under, name) }));
                }
                Value::Object(schemas)
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items" | "additionalItems", Value::Array(list)) => {
                let under = join(&own.pointer, keyword);
                let place = |(at, schema)| Place { schema, pointer: join(&under, &usize::to_string(&at)) };
                list.iter().enumerate().map(place).map(|place| self.whole(place)).collect()
            }
            (keyword, schema) if HOLDS_ONE.contains(&keyword) && is_schema(schema) => {
                self.whole(Place { schema, pointer: join(&own.pointer, keyword) })
            }
            _ => value.clone(),
        }
    }
}

// ---- The root in a form that has nearly every keyword.

impl<'a> Walk<'a> {
    /// The root: as it is where it is an object without a union, else merged into one.
    pub(crate) fn whole_root(&mut self) -> Option<Value> {
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
