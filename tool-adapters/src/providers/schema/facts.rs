//! What the schemas of one node say together, sorted by what a form with few keywords does with it.

use crate::providers::report::ChangeKind;
use crate::providers::schema::containers::{Items, Shape};
use crate::providers::schema::document::{Draft, is_annotation};
use crate::providers::schema::node::{Own, Reads, compare, next_integer, same};
use crate::providers::schema::rules::{Subset, well_formed};
use crate::providers::schema::types::Types;
use crate::providers::schema::walk::Walk;
use crate::providers::schema::words::{Lost, can_say};
use serde_json::{Number, Value};

/// The facts of one node.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) types: Types,
    /// Whether it is told by `type` or by the values: else every type is meant.
    pub(crate) values: Option<Vec<&'a Value>>,
    /// Where the values are listed, and how.
    pub(crate) listed: Vec<(String, Lost<'a>)>,
    pub(crate) descriptions: Vec<&'a str>,
    /// Assertions that stay.
    pub(crate) kept: Vec<Kept<'a>>,
    /// Annotations that stay.
    pub(crate) notes: Vec<Kept<'a>>,
    /// Keywords that the description tells.
    pub(crate) lost: Vec<Lost<'a>>,
    pub(crate) shape: Shape<'a>,
    pub(crate) items: Items<'a>,
    /// Where something is said of what is inside of objects and arrays.
    pub(crate) inside: Vec<(String, &'a str)>,
}

/// A keyword that stays.
#[derive(Clone, Debug)]
pub(crate) struct Kept<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) value: Value,
    /// Where it comes from, and what the schema has there.
    pub(crate) pointer: String,
    pub(crate) source: Lost<'a>,
}

impl<'a> Kept<'a> {
    fn new(keyword: &'a str, value: Value, pointer: &str, source: Lost<'a>) -> Self {
        Self { keyword, value, pointer: pointer.to_owned(), source }
    }
}

impl<'a> Facts<'a> {
    pub(crate) fn new(types: Types) -> Self {
        Self {
            types,
            values: None,
            listed: Vec::new(),
            descriptions: Vec::new(),
            kept: Vec::new(),
            notes: Vec::new(),
            lost: Vec::new(),
            shape: Shape::default(),
            items: Items::default(),
            inside: Vec::new(),
        }
    }

    /// Keeps a keyword, where none stands against it; of two bounds, the one that the other implies goes.
    fn keep(&mut self, new: Kept<'a>) -> bool {
        let list = if is_annotation(new.keyword) { &mut self.notes } else { &mut self.kept };
        let Some(there) = list.iter_mut().find(|known| known.keyword == new.keyword) else {
            list.push(new);
            return true;
        };
        if same(&there.value, &new.value) {
            return true;
        }
        let (Value::Number(old), Value::Number(bound)) = (&there.value, &new.value) else { return false };
        let tighter = match new.keyword.get(..3) {
            Some("min") => compare(bound, old).is_gt(),
            Some("max") => compare(bound, old).is_lt(),
            _ => return false,
        };
        if tighter {
            *there = new;
        }
        true
    }

    fn narrow(&mut self, values: &'a [Value], pointer: &str, source: Lost<'a>) {
        let known = self.values.take();
        let both = |value: &&Value| known.as_ref().is_none_or(|known| known.iter().any(|there| same(there, value)));
        self.values = Some(values.iter().filter(both).collect());
        self.listed.push((pointer.to_owned(), source));
    }
}

impl<'a> Walk<'a> {
    /// Sorts the keywords of a node's schemas. The caller takes care of references and unions.
    pub(crate) fn facts(&mut self, subset: &Subset, own: &[Own<'a>], types: Types) -> Facts<'a> {
        let mut facts = Facts::new(types);
        let declared = own.iter().filter(|own| own.reads != Reads::Annotations).filter_map(|own| own.map.get("type"));
        facts.types = declared.filter_map(Types::of_keyword).fold(types, |all, one| all & one);
        for one in own {
            for (keyword, value) in one.keywords() {
                self.fact(subset, &mut facts, one, keyword, value);
            }
            if one.map.contains_key("$ref") && !self.document.draft().reads_beside_references() {
                self.report_unread(one);
            }
            facts.shape = facts.shape.and(Shape::of(one, false));
        }
        facts.items = self.items(own);
        if let Some(values) = &mut facts.values {
            values.retain(|value| facts.types.contains(Types::of_value(value)));
            facts.types = facts.types & values.iter().fold(Types::NONE, |all, value| all | Types::of_value(value));
        }
        facts
    }

    fn fact(&mut self, subset: &Subset, facts: &mut Facts<'a>, own: &Own<'a>, keyword: &'a str, value: &'a Value) {
        let (pointer, draft) = (own.pointer.as_str(), self.document.draft());
        if !draft.knows(keyword) || !well_formed(keyword, value, draft) {
            let why =
                if draft.knows(keyword) { "its value is not one of this keyword" } else { "not of the schema's draft" };
            self.log.add(pointer, keyword, ChangeKind::Dropped, why);
            return;
        }
        match keyword {
            "type" if value.is_array() && subset.typed => {
                self.log.add(pointer, keyword, ChangeKind::Rewritten, "`anyOf`, one type each, and `nullable`");
            }
            "required" | "properties" => facts.inside.push((pointer.to_owned(), keyword)),
            "type" | "$ref" | "$dynamicRef" | "allOf" | "anyOf" | "oneOf" => {}
            "$defs" | "definitions" if subset.references && pointer.is_empty() => {}
            "$defs" | "definitions" if subset.references => {
                self.log.add(pointer, keyword, ChangeKind::Rewritten, "`$defs` of the root");
            }
            "$defs" | "definitions" => {
                self.log.add(pointer, keyword, ChangeKind::Rewritten, "they stand where they were referred to");
            }
            "items" | "prefixItems" | "additionalItems" => self.places(subset, facts, own, keyword, value),
            "additionalProperties" => self.additional(subset, facts, own, value),
            "description" => facts.descriptions.extend(value.as_str()),
            "enum" => {
                facts.narrow(value.as_array().map(Vec::as_slice).unwrap_or_default(), pointer, (keyword, value));
            }
            "const" => {
                facts.narrow(std::slice::from_ref(value), pointer, (keyword, value));
                self.log.add(pointer, keyword, ChangeKind::Rewritten, "an `enum` of one value");
            }
            "exclusiveMinimum" | "exclusiveMaximum" => self.exclusive(subset, facts, own, keyword, value),
            "format" if !value.as_str().is_some_and(|it| (subset.formats)(facts.types.without(Types::NULL), it)) => {
                self.lose(facts, pointer, keyword, value);
            }
            "default" if value.is_null() && !facts.types.contains(Types::NULL) => {
                self.log.add(pointer, keyword, ChangeKind::Dropped, "it may be left out, which says the same");
            }
            _ if subset.keeps.contains(&keyword)
                && facts.keep(Kept::new(keyword, value.clone(), pointer, (keyword, value))) => {}
            _ => self.lose(facts, pointer, keyword, value),
        }
    }

    /// Moves a keyword into the description, or reports that it is gone.
    pub(crate) fn lose(&mut self, facts: &mut Facts<'a>, pointer: &str, keyword: &'a str, value: &'a Value) {
        if can_say((keyword, value)) {
            self.log.add(pointer, keyword, ChangeKind::Described, "told in the description");
            facts.lost.push((keyword, value));
        } else {
            self.log.add(pointer, keyword, ChangeKind::Dropped, "the provider's form does not have it");
        }
    }

    fn additional(&mut self, subset: &Subset, facts: &mut Facts<'a>, own: &Own<'a>, value: &'a Value) {
        let pointer = own.pointer.as_str();
        match value {
            Value::Object(map) if !map.is_empty() && !subset.maps => {
                self.lose(facts, pointer, "additionalProperties", value);
            }
            Value::Bool(false) if !subset.maps => {
                let detail = "the provider's form cannot close an object; a call with further properties is refused";
                self.log.add(pointer, "additionalProperties", ChangeKind::Dropped, detail);
            }
            Value::Bool(true) | Value::Object(_) if !subset.maps => {
                self.log.add(
                    pointer,
                    "additionalProperties",
                    ChangeKind::Rewritten,
                    "further properties are taken anyway",
                );
            }
            Value::Bool(false) | Value::Object(_) if own.map.contains_key("patternProperties") => {
                let detail = "further properties are taken: one may match `patternProperties`, which is told only";
                self.log.add(pointer, "additionalProperties", ChangeKind::Weakened, detail);
            }
            _ => {}
        }
    }

    /// The forms have no places, but one schema for all items, and the description tells the places.
    fn places(&mut self, subset: &Subset, facts: &mut Facts<'a>, own: &Own<'a>, keyword: &'a str, value: &'a Value) {
        let pointer = own.pointer.as_str();
        facts.inside.push((pointer.to_owned(), keyword));
        let listed = own.map.get("items").is_some_and(Value::is_array);
        match keyword {
            "additionalItems" if !listed => {
                self.log.add(pointer, keyword, ChangeKind::Dropped, "without a list of `items` it means nothing");
            }
            "additionalItems" | "prefixItems" | "items" if keyword != "items" || listed => {
                self.lose(facts, pointer, keyword, value);
                self.log.add(pointer, keyword, ChangeKind::Weakened, "one schema for all items, whatever their places");
            }
            _ if *value == Value::Bool(false) && !subset.keeps.contains(&"maxItems") => {
                self.log.add(pointer, keyword, ChangeKind::Dropped, "the provider's form cannot close an array");
            }
            _ if *value == Value::Bool(false) => {
                self.log.add(pointer, keyword, ChangeKind::Rewritten, "`maxItems`");
            }
            "items" if *value == Value::Bool(true) => {
                self.log.add(pointer, keyword, ChangeKind::Rewritten, "`{}`, which says the same");
            }
            _ => {}
        }
    }

    /// An exclusive bound is an inclusive one for integers; for other numbers the inclusive one accepts the bound too.
    fn exclusive(&mut self, subset: &Subset, facts: &mut Facts<'a>, own: &Own<'a>, keyword: &'a str, value: &'a Value) {
        let inclusive = if keyword == "exclusiveMinimum" { "minimum" } else { "maximum" };
        let pointer = own.pointer.as_str();
        let Some(bound) = exclusive_bound(own, inclusive, value, self.document.draft()) else {
            self.log.add(pointer, keyword, ChangeKind::Rewritten, "false says nothing");
            return;
        };
        if !subset.keeps.contains(&inclusive) && value.is_number() {
            self.lose(facts, pointer, keyword, value);
            return;
        }
        let whole = !(facts.types & Types::NUMBER).contains(Types::NUMBER);
        if whole && let Some(next) = next_integer(bound, inclusive == "minimum") {
            self.log.add(pointer, keyword, ChangeKind::Rewritten, format!("`{inclusive}` {next}"));
            facts.keep(Kept::new(inclusive, Value::Number(next), pointer, (keyword, value)));
        } else {
            self.log.add(
                pointer,
                keyword,
                ChangeKind::Weakened,
                format!("`{inclusive}` {bound}, and told in the description"),
            );
            facts.keep(Kept::new(inclusive, Value::Number(bound.clone()), pointer, (keyword, value)));
            if value.is_number() {
                facts.lost.push((keyword, value));
            }
        }
    }

    /// Beside a reference of an old draft, only annotations mean something.
    fn report_unread(&mut self, own: &Own<'a>) {
        for keyword in own.map.keys().filter(|it| *it != "$ref" && !is_annotation(it)) {
            self.log.add(
                &own.pointer,
                keyword,
                ChangeKind::Dropped,
                "beside `$ref` it means nothing in the schema's draft",
            );
        }
    }
}

/// The number that an exclusive bound excludes. In draft 4 it is the inclusive bound that stands beside it.
fn exclusive_bound<'v>(own: &Own<'v>, inclusive: &str, value: &'v Value, draft: Draft) -> Option<&'v Number> {
    match value {
        Value::Number(bound) => Some(bound),
        Value::Bool(true) if draft == Draft::D4 => match own.map.get(inclusive) {
            Some(Value::Number(bound)) => Some(bound),
            _ => None,
        },
        _ => None,
    }
}
