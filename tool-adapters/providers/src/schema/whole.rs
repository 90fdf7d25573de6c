//! Schemas in a form with nearly all keywords: copied without those that the provider refuses.

use crate::report::{Change, ChangeKind, Refusal};
use crate::schema::containers::{is_any, is_merged, refusal_of_root};
use crate::schema::document::{
    SchemaDocument, SchemaPlace, for_each_schema, insert_after_type, is_annotation, list_places,
    named_places,
};
use crate::schema::graph::{SchemaGraph, SchemaId};
use crate::schema::node::{KeywordFilter, KeywordSet, NodePart, SchemaNode};
use crate::schema::projector::{PLAIN_NAMES, Projector};
use crate::schema::rules::{TypeSet, WholeSchema, is_meant};
use crate::schema::words::{DroppedKeyword, can_describe, describe, describe_or_drop};
use indexmap::IndexSet;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use tool_core::schema::{
    SCHEMA_KEYWORDS as HOLDS_ONE, is_schema, is_standard_format, join_pointer as join,
};

/// Projects a schema to a form with nearly all keywords, and returns the changes.
pub(crate) fn project_whole(
    form: &'static WholeSchema,
    schema: &Value,
) -> Result<(Value, Vec<Change>), Refusal> {
    let mut losses = Losses::default();
    loop {
        let mut projector = WholeProjector::new(form, schema, losses);
        let written = projector.root();
        let WholeProjector {
            base,
            losses: known,
            weakened,
            has_inverting,
            ..
        } = projector;
        if !has_inverting || weakened.is_subset(&known.weakened) {
            let written = written.ok_or_else(|| refusal_of_root(schema))?;
            return Ok((written, base.log.finish()));
        }
        // Once more, without the keywords that would refuse more because of the losses.
        losses = known;
        losses.weakened.extend(weakened);
        let graph = SchemaGraph::of(&base.document);
        losses.around = graph.around(losses.weakened.iter().copied());
    }
}

/// The schemas of which a form loses something, so that they accept more.
#[derive(Default)]
struct Losses {
    weakened: HashSet<SchemaId>,
    /// The weakened schemas, and all that lead to them.
    around: HashSet<SchemaId>,
}

impl Losses {
    /// Returns true if a keyword's value is a schema that accepts more, or has one: in a list or by
    /// name.
    fn are_in(&self, value: &Value) -> bool {
        let has = |value: &Value| {
            let schema = value.as_object();
            schema.is_some_and(|schema| self.around.contains(&std::ptr::from_ref(schema)))
        };
        match value {
            Value::Object(named) => has(value) || named.values().any(has),
            Value::Array(list) => list.iter().any(has),
            _ => false,
        }
    }
}

/// Writes schemas in a form with nearly all keywords.
struct WholeProjector<'a> {
    form: &'static WholeSchema,
    base: Projector<'a>,
    /// The losses that are known from an earlier projection.
    losses: Losses,
    /// The schemas of which something was lost.
    weakened: HashSet<SchemaId>,
    /// True if there is an inverting keyword: `not`, `oneOf` and their like.
    has_inverting: bool,
    /// The schemas that keep the bounds of numeric types, as an inverting keyword depends on them.
    keeps_widths: HashSet<SchemaId>,
}

/// A schema that is being written, and the keywords that become part of its description.
#[derive(Default)]
struct WholeObject<'a> {
    written: Map<String, Value>,
    dropped: Vec<DroppedKeyword<'a>>,
}

impl<'a> WholeProjector<'a> {
    fn new(form: &'static WholeSchema, root: &'a Value, losses: Losses) -> Self {
        let base = Projector::new(root, &PLAIN_NAMES);
        let keeps_widths = schemas_with_widths(&base.document);
        Self {
            form,
            base,
            losses,
            weakened: HashSet::new(),
            has_inverting: false,
            keeps_widths,
        }
    }

    fn weaken(&mut self, schema: &Map<String, Value>) {
        self.weakened.insert(std::ptr::from_ref(schema));
    }

    /// Returns true for a keyword that would refuse more, as a schema that it depends on accepts
    /// more.
    fn would_refuse_more(&self, own: &KeywordSet<'a>, keyword: &str) -> bool {
        let is_lossy = |name: &str| {
            let value = own.map.get(name);
            value.is_some_and(|value| self.losses.are_in(value))
        };
        match keyword {
            "not" | "oneOf" => is_lossy(keyword),
            "if" | "then" | "else" => is_lossy("if"),
            "maxContains" => is_lossy("contains"),
            "unevaluatedProperties" | "unevaluatedItems" => {
                let is_weakened = self.losses.weakened.contains(&std::ptr::from_ref(own.map));
                is_weakened
                    || BESIDE_UNEVALUATED.into_iter().any(is_lossy)
                    || self.refers_to_loss(own)
            }
            _ => false,
        }
    }

    fn refers_to_loss(&self, own: &KeywordSet<'a>) -> bool {
        let reference = own.map.get("$ref").and_then(Value::as_str);
        let target =
            reference.and_then(|reference| self.base.document.resolve(&own.pointer, reference));
        target.is_some_and(|target| self.losses.are_in(target.schema))
    }

    /// Writes a node that was merged from several schemas.
    fn whole_node(&mut self, node: SchemaNode<'a>) -> Value {
        let mut parts = IndexSet::new();
        for part in node.0 {
            let written = match part {
                NodePart::Schema(place) => self.whole(place),
                NodePart::Any(nodes) => {
                    let branches = nodes
                        .into_iter()
                        .map(|node| self.whole_node(node))
                        .collect::<IndexSet<_>>();
                    json!({"anyOf": branches.into_iter().collect::<Value>()})
                }
                NodePart::KeywordSet(_) | NodePart::TypeSet(_) => continue,
            };
            parts.insert(written);
        }
        match parts.len() {
            0 => json!({}),
            1 => parts.pop().unwrap_or_default(),
            _ => json!({"allOf": parts.into_iter().collect::<Value>()}),
        }
    }

    /// Writes a schema, keyword by keyword.
    fn whole(&mut self, place: SchemaPlace<'a>) -> Value {
        self.base.nodes += 1;
        let Value::Object(map) = place.schema else {
            return place.schema.clone();
        };
        if self.base.is_exhausted() {
            self.base.report_exhausted(&place.pointer);
            self.weaken(map);
            return map
                .get("type")
                .map_or_else(|| json!({}), |kind| json!({"type": kind}));
        }
        self.base.depth += 1;
        let own = KeywordSet {
            map,
            pointer: place.pointer,
            reads: KeywordFilter::All,
        };
        let mut whole = WholeObject::default();
        for (keyword, value) in map {
            self.keyword(&own, (keyword, value), &mut whole);
        }
        let WholeObject {
            mut written,
            dropped,
        } = whole;
        if !dropped.is_empty() {
            let text = map
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default();
            written.extend(
                describe(&[text], &dropped).map(|text| ("description".to_owned(), text.into())),
            );
        }
        self.schema_of_items(&own, &mut written);
        let array = map
            .get("type")
            .and_then(TypeSet::of_keyword)
            .is_some_and(|types| types.intersects(TypeSet::ARRAY));
        if array && !written.contains_key("items") && !written.contains_key("unevaluatedItems") {
            written.insert("items".to_owned(), json!({}));
        }
        self.base.depth -= 1;
        Value::Object(written)
    }

    /// Writes `items` as an object: OpenAI refuses a boolean with "array schema missing items".
    fn schema_of_items(&mut self, own: &KeywordSet<'a>, written: &mut Map<String, Value>) {
        let Some(Value::Bool(any)) = written.get("items") else {
            return;
        };
        let keyword = "items";
        if *any {
            self.base.log.rewritten(
                &own.pointer,
                keyword,
                "`items` as `{}`, which means the same",
            );
        } else {
            let places = written
                .get("prefixItems")
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            let stated = written.get("maxItems").and_then(Value::as_f64);
            let most = f64::from(u32::try_from(places).unwrap_or(u32::MAX));
            if self.refuses("maxItems") {
                self.weaken(own.map);
            } else if stated.is_none_or(|stated| stated > most) {
                written.insert("maxItems".to_owned(), places.into());
            }
            self.base.log.rewritten(
                &own.pointer,
                keyword,
                format!("`items` as `{{}}`, `maxItems` {places}"),
            );
        }
        written.insert("items".to_owned(), json!({}));
    }

    fn refuses(&self, keyword: &str) -> bool {
        self.form.refuses.contains(&keyword)
    }

    /// Returns true for a keyword that would hold for the properties or items of one that the
    /// provider refuses.
    fn is_opened(&self, own: &KeywordSet<'a>, (keyword, value): DroppedKeyword<'a>) -> bool {
        let named_before = match keyword {
            "additionalProperties" => "patternProperties",
            "items" => "prefixItems",
            _ => return false,
        };
        let accepts_any =
            matches!(value, Value::Bool(true)) || value.as_object().is_some_and(Map::is_empty);
        self.refuses(named_before) && own.map.contains_key(named_before) && !accepts_any
    }

    /// Leaves out a keyword that would refuse what the description allows.
    fn open(&mut self, own: &KeywordSet<'a>, keyword: &str) {
        let detail = "others are accepted: the description says which";
        self.base.log.weakened(&own.pointer, keyword, detail);
        self.weaken(own.map);
    }

    /// Writes a `const` as an `enum`, and adds another keyword that the provider refuses to the
    /// description.
    fn refused(
        &mut self,
        own: &KeywordSet<'a>,
        (keyword, value): DroppedKeyword<'a>,
        whole: &mut WholeObject<'a>,
    ) {
        let log = &mut self.base.log;
        if keyword == "const" && !own.map.contains_key("enum") {
            log.rewritten(&own.pointer, keyword, "an `enum` of one value");
            whole.written.insert("enum".to_owned(), json!([value]));
            return;
        }
        describe_or_drop(log, &mut whole.dropped, &own.pointer, (keyword, value));
        self.weaken(own.map);
    }

    fn keyword(
        &mut self,
        own: &KeywordSet<'a>,
        (keyword, value): DroppedKeyword<'a>,
        whole: &mut WholeObject<'a>,
    ) {
        let keeps_width = self.keeps_widths.contains(&std::ptr::from_ref(own.map));
        let log = &mut self.base.log;
        if !is_meant(log, &own.pointer, (keyword, value), keeps_width) {
            return;
        }
        let is_refused = self.refuses(keyword);
        let is_lossy = self.would_refuse_more(own, keyword);
        self.has_inverting |= INVERTING.contains(&keyword) && !is_refused;
        if !is_refused && self.is_opened(own, (keyword, value)) {
            self.open(own, keyword);
            return;
        }

        let log = &mut self.base.log;
        let mut report = |kind, detail: &str| log.add(&own.pointer, keyword, kind, detail);
        match keyword {
            "oneOf" if (is_lossy || is_refused) && !own.map.contains_key("anyOf") => {
                report(ChangeKind::Weakened, "`anyOf`: more than one may fit");
                if is_refused {
                    self.weaken(own.map);
                }
                let inner = self.inner(own, keyword, value);
                whole.written.insert("anyOf".to_owned(), inner);
            }
            _ if is_refused => self.refused(own, (keyword, value), whole),
            "$schema" | "$id" | "$comment" | "$vocabulary" | "$anchor" | "$dynamicAnchor" => {
                report(ChangeKind::Dropped, "it means nothing to a model");
            }
            "$defs" if own.pointer.is_empty() => {}
            "$defs" => report(ChangeKind::Rewritten, "`$defs` of the root"),
            "$dynamicRef" => {
                report(
                    ChangeKind::Weakened,
                    "its target depends on the path to it; any value is accepted",
                );
                self.weaken(own.map);
            }
            "$ref" => {
                let new = value
                    .as_str()
                    .and_then(|reference| self.base.refer(reference, &own.pointer));
                if new.is_none() {
                    self.weaken(own.map);
                }
                whole
                    .written
                    .extend(new.map(|new| ("$ref".to_owned(), new.into())));
            }
            // Other formats, such as `uint64`, fail where schemas are compiled to grammars.
            "format" if !value.as_str().is_some_and(is_standard_format) => {
                report(ChangeKind::Described, "the description has it");
                whole.dropped.push((keyword, value));
            }
            _ if is_lossy => {
                let is_described = has_words(own.map, (keyword, value));
                let kind = if is_described {
                    ChangeKind::Described
                } else {
                    ChangeKind::Dropped
                };
                report(
                    kind,
                    "another part of the schema is weakened, which this keyword may invert",
                );
                whole
                    .dropped
                    .extend(is_described.then_some((keyword, value)));
            }
            _ => {
                let inner = self.inner(own, keyword, value);
                whole.written.insert(keyword.to_owned(), inner);
            }
        }
    }

    /// Writes the schemas inside a keyword's value.
    fn inner(&mut self, own: &KeywordSet<'a>, keyword: &str, value: &'a Value) -> Value {
        match (keyword, value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(_)) => {
                let mut schemas = Map::new();
                for (name, place) in named_places(value, &own.pointer, keyword) {
                    schemas.insert(name.to_owned(), self.whole(place));
                }
                Value::Object(schemas)
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(_)) => {
                list_places(value, &own.pointer, keyword)
                    .map(|place| self.whole(place))
                    .collect()
            }
            (keyword, schema) if HOLDS_ONE.contains(&keyword) && is_schema(schema) => {
                self.whole(SchemaPlace {
                    schema,
                    pointer: join(&own.pointer, keyword),
                })
            }
            _ => value.clone(),
        }
    }

    /// Writes the root: copied if it is a plain object, otherwise merged into one.
    fn root(&mut self) -> Option<Value> {
        let root = self.base.document.root();
        let place = SchemaPlace::root(root);
        let mut written = match root {
            Value::Object(map) if is_plain(map) => {
                self.base.definitions.root_stays = true;
                self.whole(place)
            }
            _ => self.merged_root(place)?,
        };
        let mut definitions = Map::new();
        while let Some((name, place)) = self.base.next_definition() {
            let schema = self.whole(place);
            definitions.insert(name, schema);
        }
        self.base.report_definitions();
        let written_map = written.as_object_mut()?;
        if !written_map.contains_key("properties") {
            insert_after_type(written_map, "properties", Value::Object(Map::new()));
        }
        if !definitions.is_empty() {
            written_map.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Some(written)
    }

    fn merged_root(&mut self, place: SchemaPlace<'a>) -> Option<Value> {
        let keeps_patterns = !self.refuses("patternProperties");
        let merged = self.base.merged(SchemaNode::of(place), keeps_patterns)?;
        self.base.report_root_type();
        let written = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        let mut whole = WholeObject {
            written,
            dropped: merged.dropped,
        };
        let mut texts = Vec::new();
        for (at, own) in merged.own.iter().enumerate() {
            texts.extend(own.map.get("description").and_then(Value::as_str));
            self.beside(own, at == 0, &mut whole);
            let rest = own.map.get("additionalProperties");
            if rest.is_some_and(|rest| self.is_opened(own, ("additionalProperties", rest))) {
                self.open(own, "additionalProperties");
            }
        }
        let WholeObject {
            mut written,
            dropped,
        } = whole;
        let mut properties = Map::new();
        for (name, node) in merged.shape.properties {
            properties.insert(name.to_owned(), self.whole_node(node));
        }
        written.insert("properties".to_owned(), Value::Object(properties));
        if !merged.shape.required.is_empty() {
            written.insert(
                "required".to_owned(),
                merged.shape.required.iter().copied().collect(),
            );
        }
        if !is_any(merged.shape.rest.as_ref()) && !self.refuses("additionalProperties") {
            let rest = merged
                .shape
                .rest
                .map_or(Value::Bool(false), |node| self.whole_node(node));
            written.insert("additionalProperties".to_owned(), rest);
        }
        if let Some(text) = describe(&texts, &dropped) {
            insert_after_type(&mut written, "description", text.into());
        }
        Some(Value::Object(written))
    }

    /// Writes the keywords of a merged root besides its properties. The root's own keywords stay.
    /// Those of other schemas may conflict, so they become part of the description.
    fn beside(&mut self, own: &KeywordSet<'a>, first: bool, whole: &mut WholeObject<'a>) {
        const REFUSED: [&str; 9] = [
            "not",
            "if",
            "then",
            "else",
            "enum",
            "const",
            "unevaluatedProperties",
            "$dynamicRef",
            "dependentSchemas",
        ];
        let unread = own.reads == KeywordFilter::Annotations;
        for (keyword, value) in own
            .map
            .iter()
            .filter(|(keyword, _)| !is_merged(keyword) && *keyword != "description")
        {
            let asserts = !is_annotation(keyword);
            if asserts && (unread || !first || REFUSED.contains(&keyword.as_str())) {
                let described = !unread && can_describe((keyword, value));
                let kind = if described {
                    ChangeKind::Described
                } else {
                    ChangeKind::Dropped
                };
                self.base.log.add(
                    &own.pointer,
                    keyword,
                    kind,
                    "the provider does not accept it at the root",
                );
                whole
                    .dropped
                    .extend(described.then_some((keyword.as_str(), value)));
            } else if asserts || first {
                self.keyword(own, (keyword, value), whole);
            }
        }
    }
}

/// If a schema inside one of these keywords is weakened, the keyword accepts less.
const INVERTING: [&str; 8] = [
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
    "maxContains",
    "oneOf",
];

/// The keywords that say which properties or items are evaluated, besides references.
const BESIDE_UNEVALUATED: [&str; 7] = [
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
];

/// Returns true for a keyword that can be described. What follows from a condition needs that
/// condition in words, too.
fn has_words(schema: &Map<String, Value>, (keyword, value): DroppedKeyword<'_>) -> bool {
    let condition = match keyword {
        "then" | "else" => schema.get("if"),
        _ => None,
    };
    can_describe((keyword, value))
        && condition.is_none_or(|condition| can_describe(("if", condition)))
}

/// Returns the schemas inside keywords that would refuse more without the bounds of numeric types.
fn schemas_with_widths(document: &SchemaDocument<'_>) -> HashSet<SchemaId> {
    let mut from = Vec::new();
    for_each_schema(document.root(), &mut |schema| {
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            let inverts = match keyword.as_str() {
                "not" | "if" => true,
                "oneOf" => !value
                    .as_array()
                    .is_some_and(|branches| are_tagged(branches)),
                "contains" => schema.get("maxContains").is_some(),
                _ => false,
            };
            if inverts {
                let branches = value.as_array().into_iter().flatten();
                let schemas = branches.chain([value]).filter_map(Value::as_object);
                from.extend(schemas.map(std::ptr::from_ref));
            }
        }
    });
    if from.is_empty() {
        return HashSet::new();
    }
    SchemaGraph::of(document).inside(from)
}

/// Returns true for branches that exclude each other by the value of one property, by the name of
/// their only property, or as single values. An enum's variants are such branches.
fn are_tagged(branches: &[Value]) -> bool {
    let only = |names: &'_ Value| {
        names
            .as_array()
            .filter(|names| names.len() == 1)?
            .first()?
            .as_str()
            .map(str::to_owned)
    };
    let tag = |branch: &Value| {
        if let Some(value) = branch.get("const") {
            return Some((None, value.to_string()));
        }
        let properties = branch.get("properties").and_then(Value::as_object)?;
        let required = branch.get("required")?;
        if *branch.get("type")? != "object" {
            return None;
        }
        let is_required = |name: &str| {
            required
                .as_array()
                .is_some_and(|names| names.iter().any(|known| known == name))
        };
        let constant = properties
            .iter()
            .find_map(|(name, schema)| Some((name, schema.get("const")?)));
        if let Some((name, value)) = constant.filter(|(name, _)| is_required(name)) {
            return Some((Some(name.clone()), value.to_string()));
        }
        let is_closed = branch
            .get("additionalProperties")
            .is_some_and(|rest| *rest == Value::Bool(false));
        only(required)
            .filter(|_| is_closed && properties.len() == 1)
            .map(|name| (Some(String::new()), name))
    };
    let Some(tags) = branches.iter().map(tag).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let names = tags
        .iter()
        .filter_map(|(name, _)| name.as_ref())
        .collect::<HashSet<_>>();
    names.len() <= 1 && tags.iter().collect::<HashSet<_>>().len() == tags.len()
}

/// Returns true for a root of type `object` without keywords that providers refuse there.
fn is_plain(map: &Map<String, Value>) -> bool {
    const REFUSED: [&str; 11] = [
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
    ];
    map.get("type").is_some_and(|kind| kind == "object")
        && !REFUSED.iter().any(|keyword| map.contains_key(*keyword))
}
