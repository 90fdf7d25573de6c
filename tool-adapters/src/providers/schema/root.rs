//! The root: an object, whatever the schema says it by.

use crate::providers::report::ChangeKind;
use crate::providers::schema::containers::Shape;
use crate::providers::schema::document::Place;
use crate::providers::schema::facts::Facts;
use crate::providers::schema::node::{Gathered, Node, Own, Reads, Union};
use crate::providers::schema::rules;
use crate::providers::schema::rules::Subset;
use crate::providers::schema::subset::{Written, annotate, insert_after_type};
use crate::providers::schema::types::Types;
use crate::providers::schema::walk::Walk;
use crate::providers::schema::words::{Lost, can_say};
use serde_json::{Map, Value, json};

/// The root as one object: its shape, and the schemas that say more of it.
pub(crate) struct Merged<'a> {
    pub(crate) shape: Shape<'a>,
    pub(crate) own: Vec<Own<'a>>,
    /// Unions that can be told.
    pub(crate) lost: Vec<Lost<'a>>,
}

impl<'a> Walk<'a> {
    /// Merges everything that the node is said by into one object. Unions become the object that accepts what any of
    /// their branches does. Nothing where no object fits.
    pub(crate) fn merged(&mut self, node: Node<'a>, patterns: bool) -> Option<Merged<'a>> {
        let floor = self.active.len();
        self.depth += 1;
        let merged = if self.is_spent() {
            Some(Merged { shape: Shape::default(), own: Vec::new(), lost: Vec::new() })
        } else {
            self.gather(node).and_then(|gathered| self.merge(gathered, patterns))
        };
        self.depth -= 1;
        self.active.truncate(floor);
        merged
    }

    fn merge(&mut self, gathered: Gathered<'a>, patterns: bool) -> Option<Merged<'a>> {
        let Gathered { own, types, unions } = gathered;
        if !types.meets(Types::OBJECT) || !own.iter().all(takes_objects) {
            return None;
        }
        let shapes = own.iter().enumerate().map(|(at, own)| Shape::of(own, patterns && at == 0));
        let mut shape = shapes.fold(Shape::default(), Shape::and);
        let mut lost = Vec::new();
        for union in unions {
            lost.extend(self.report_merged(&union, &own));
            shape = shape.and(self.any(union)?);
        }
        Some(Merged { shape, own, lost })
    }

    fn any(&mut self, union: Union<'a>) -> Option<Shape<'a>> {
        let mut shapes = Vec::new();
        for node in union.nodes {
            let Some(merged) = self.merged(node, false) else { continue };
            for own in &merged.own {
                self.report_unmerged(own);
            }
            shapes.push(merged.shape);
        }
        (!shapes.is_empty()).then(|| Shape::any(&shapes))
    }

    fn report_merged(&mut self, union: &Union<'a>, own: &[Own<'a>]) -> Option<Lost<'a>> {
        let (keyword, pointer) = union.place.as_ref()?;
        let detail = "the branches are merged into one object that accepts what any of them does";
        self.log.add(pointer, keyword, ChangeKind::Weakened, detail);
        let holder = own.iter().find(|own| own.pointer == *pointer)?;
        let lost = (*keyword, holder.map.get(*keyword)?);
        can_say(lost).then_some(lost)
    }

    /// What a branch says beside its properties holds in that branch only, so it is not told either.
    fn report_unmerged(&mut self, own: &Own<'a>) {
        for (keyword, _) in own.reading(Reads::Assertions).keywords().filter(|(keyword, _)| !is_merged(keyword)) {
            self.log.add(&own.pointer, keyword, ChangeKind::Dropped, "it holds in one branch of a merged union only");
        }
    }

    /// The root in a form that knows few keywords.
    pub(crate) fn subset_root(&mut self, subset: &Subset) -> Option<Value> {
        let root = self.document.root();
        let merged = self.merged(Node::of(root, String::new()), false)?;
        self.active.push(root);
        let mut facts: Facts<'a> = self.facts(subset, &merged.own, Types::OBJECT);
        self.report_root_type();
        for (pointer, (keyword, _)) in &facts.listed {
            self.log.add(pointer, keyword, ChangeKind::Dropped, "the root may not be a list of values");
        }
        facts.values = None;
        facts.shape = merged.shape;
        facts.lost.extend(merged.lost);
        let mut written = self.one(subset, &mut facts, Types::OBJECT)?;
        if subset.leaves_out_empty() && !written.contains_key("properties") && !written.contains_key("required") {
            self.active.pop();
            return Some(self.no_parameters(subset, &merged.own));
        }
        annotate(&mut written, &mut facts);
        if !written.contains_key("properties") {
            insert_after_type(&mut written, "properties", Value::Object(Map::new()));
        }
        self.active.pop();
        let write = |walk: &mut Self, place: Place<'a>| walk.definition(place);
        let definitions = if subset.references { self.write_definitions(write) } else { Map::new() };
        if let Value::Object(map) = root
            && subset.references
        {
            self.report_definitions(map, "");
        }
        if !definitions.is_empty() {
            written.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Some(Value::Object(written))
    }

    /// Parameters of which none has a name: such an object is refused, so they are left out of the declaration.
    fn no_parameters(&mut self, subset: &Subset, own: &[Own<'a>]) -> Value {
        for own in own {
            for (keyword, value) in own.keywords() {
                let open = matches!(keyword, "additionalProperties" | "unevaluatedProperties")
                    && (value.is_boolean() || value.as_object().is_some_and(Map::is_empty));
                if !open && (!is_merged(keyword) || keyword == "additionalProperties") {
                    let detail = "parameters without a name are left out, as an object without properties is refused";
                    self.log.add(&own.pointer, keyword, ChangeKind::Dropped, detail);
                }
            }
        }
        json!({"type": if subset.typed { "OBJECT" } else { "object" }, "properties": {}})
    }

    fn definition(&mut self, place: Place<'a>) -> Value {
        let rules::Form::Subset(subset) = self.rules.form else { return Value::Object(Written::new()) };
        self.active.push(place.schema);
        let node = Node::of(place.schema, place.pointer);
        // What accepts nothing cannot be said; a definition that accepts anything is wider.
        let written = self.node(subset, node).unwrap_or_default();
        self.active.pop();
        Value::Object(written)
    }

    /// Reports a root whose `type` is not just `object`.
    pub(crate) fn report_root_type(&mut self) {
        let kind = self.document.root().get("type");
        if kind.is_some_and(|kind| kind != "object") {
            self.log.add("", "type", ChangeKind::Rewritten, "arguments are an object");
        }
    }
}

fn takes_objects(own: &Own<'_>) -> bool {
    let typed = own.get("type").and_then(Types::of_keyword).is_none_or(|types| types.meets(Types::OBJECT));
    let listed = own.get("enum").and_then(Value::as_array).is_none_or(|values| values.iter().any(Value::is_object));
    typed && listed && own.get("const").is_none_or(Value::is_object)
}

/// Keywords that `Shape` merges, or that only lead to others.
pub(crate) fn is_merged(keyword: &str) -> bool {
    matches!(
        keyword,
        "type" | "properties" | "required" | "additionalProperties" | "$ref" | "allOf" | "anyOf" | "oneOf"
    )
}
