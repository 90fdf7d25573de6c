//! Schemas in a form that has nearly every keyword: copied, but for what would upset the provider.

use super::node::{Node, Own, Part, Reads};
use super::rules::is_known_format;
use super::walk::Walk;
use super::well_formed::well_formed;
use super::words::{Lost, describe};
use crate::report::ChangeKind;
use crate::schema::{Draft, HOLDS_ONE, Place, Types, is_annotation, is_schema, join};
use serde_json::{Map, Value, json};

impl<'a> Walk<'a> {
    /// A node that was merged from several schemas.
    pub(super) fn whole_node(&mut self, node: Node<'a>) -> Value {
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
    pub(super) fn whole(&mut self, place: Place<'a>) -> Value {
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

    pub(super) fn keyword(
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
    pub(super) fn inner(&mut self, own: &Own<'a>, keyword: &str, value: &'a Value) -> Value {
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
