//! The keywords of a node, sorted by their form in a schema with few keywords.

use crate::report::ChangeLog;
use crate::schema::containers::{ArrayItems, ObjectShape};
use crate::schema::document::is_annotation;
use crate::schema::grammar::GrammarKeyword;
use crate::schema::node::{KeywordFilter, KeywordSet, ValueSet, compare, next_integer, same};
use crate::schema::rules::{SchemaSubset, TypeSet, is_meant, narrow_to_each_other};
use crate::schema::words::{DroppedKeyword, describe_or_drop};
use serde_json::{Map, Value};

/// The sorted keywords of a node.
#[derive(Debug, Default)]
pub(crate) struct NodeFacts<'a> {
    pub(crate) types: TypeSet,
    /// The values that `enum` and `const` leave.
    pub(crate) values: Option<Vec<&'a Value>>,
    /// The keywords that list the values, by pointer.
    pub(crate) listed: Vec<(String, DroppedKeyword<'a>)>,
    pub(crate) descriptions: Vec<&'a str>,
    /// The assertions that are kept.
    pub(crate) kept: Vec<KeptKeyword<'a>>,
    /// The annotations that are kept.
    pub(crate) notes: Vec<KeptKeyword<'a>>,
    /// The keywords that become part of the description.
    pub(crate) dropped: Vec<DroppedKeyword<'a>>,
    pub(crate) shape: ObjectShape<'a>,
    /// True if the schema says that there may be further properties, or may have some by pattern.
    pub(crate) is_open: bool,
    pub(crate) items: ArrayItems<'a>,
    /// The keywords about properties and items, by pointer.
    pub(crate) inside: Vec<(String, &'a str)>,
}

/// A keyword that is kept.
#[derive(Clone, Debug)]
pub(crate) struct KeptKeyword<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) value: Value,
    /// The pointer to the schema that has the keyword.
    pub(crate) pointer: String,
    pub(crate) source: DroppedKeyword<'a>,
}

impl<'a> KeptKeyword<'a> {
    fn new(keyword: &'a str, value: Value, pointer: &str, source: DroppedKeyword<'a>) -> Self {
        Self {
            keyword,
            value,
            pointer: pointer.to_owned(),
            source,
        }
    }
}

impl<'a> NodeFacts<'a> {
    pub(crate) fn new(types: TypeSet) -> Self {
        Self {
            types,
            ..Self::default()
        }
    }

    /// Keeps a keyword; returns false if another value of it is kept. Of two bounds the tighter one
    /// is kept.
    fn keep(&mut self, new: KeptKeyword<'a>) -> bool {
        let list = if is_annotation(new.keyword) {
            &mut self.notes
        } else {
            &mut self.kept
        };
        let Some(there) = list.iter_mut().find(|known| known.keyword == new.keyword) else {
            list.push(new);
            return true;
        };
        if same(&there.value, &new.value) {
            return true;
        }
        let (Value::Number(old), Value::Number(bound)) = (&there.value, &new.value) else {
            return false;
        };
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

    fn narrow(&mut self, values: &'a [Value], pointer: &str, source: DroppedKeyword<'a>) {
        let known = self.values.take().map(ValueSet::of);
        let both = |value: &&Value| known.as_ref().is_none_or(|known| known.contains(value));
        self.values = Some(values.iter().filter(both).collect());
        self.listed.push((pointer.to_owned(), source));
    }
}

/// Sorts the keywords of one node.
pub(crate) struct KeywordSorter<'l, 'a> {
    pub(crate) subset: &'static SchemaSubset,
    pub(crate) log: &'l mut ChangeLog,
    pub(crate) facts: NodeFacts<'a>,
}

impl<'a> KeywordSorter<'_, 'a> {
    /// Sorts the keywords of a node's schemas, except references and unions.
    pub(crate) fn sort(mut self, own: &[KeywordSet<'a>]) -> NodeFacts<'a> {
        let declared = own
            .iter()
            .filter(|own| own.reads != KeywordFilter::Annotations)
            .filter_map(|own| own.map.get("type"));
        self.facts.types = declared
            .filter_map(TypeSet::of_keyword)
            .fold(self.facts.types, |all, one| all & one);
        for one in own {
            for (keyword, value) in one.keywords() {
                self.sort_keyword(one, keyword, value);
            }
            self.facts.shape =
                std::mem::take(&mut self.facts.shape).and(ObjectShape::of(one, false));
        }
        if self.subset.grammar.is_some() {
            self.drop_lengths();
        }
        let mut facts = self.facts;
        facts.items = ArrayItems::of(own);
        if let Some(values) = &mut facts.values {
            narrow_to_each_other(values, &mut facts.types);
        }
        facts
    }

    fn sort_keyword(&mut self, own: &KeywordSet<'a>, keyword: &'a str, value: &'a Value) {
        let pointer = own.pointer.as_str();
        if !is_meant(self.log, pointer, (keyword, value), false) {
            return;
        }
        match keyword {
            "type" if value.is_array() && self.subset.typed => {
                self.log
                    .rewritten(pointer, keyword, "`anyOf`, one type each, and `nullable`");
            }
            "required" | "properties" => self.facts.inside.push((pointer.to_owned(), keyword)),
            "type" | "$ref" | "$dynamicRef" | "allOf" | "anyOf" | "oneOf" => {}
            "$defs" if self.subset.references && pointer.is_empty() => {}
            "$defs" if self.subset.references => {
                self.log.rewritten(pointer, keyword, "`$defs` of the root");
            }
            "$defs" => {
                self.log.rewritten(
                    pointer,
                    keyword,
                    "the schemas replace the references to them",
                );
            }
            "items" | "prefixItems" => self.places(own, keyword, value),
            "additionalProperties" => self.additional(own, value),
            "description" => self.facts.descriptions.extend(value.as_str()),
            "enum" => {
                self.facts.narrow(
                    value.as_array().map(Vec::as_slice).unwrap_or_default(),
                    pointer,
                    (keyword, value),
                );
            }
            "const" => {
                self.facts
                    .narrow(std::slice::from_ref(value), pointer, (keyword, value));
                self.log
                    .rewritten(pointer, keyword, "an `enum` of one value");
            }
            "exclusiveMinimum" | "exclusiveMaximum" => self.exclusive(own, keyword, value),
            "format"
                if !value.as_str().is_some_and(|it| {
                    (self.subset.formats)(self.facts.types.difference(TypeSet::NULL), it)
                }) =>
            {
                self.describe_or_drop(pointer, (keyword, value));
            }
            "default" if value.is_null() && !self.facts.types.contains(TypeSet::NULL) => {
                self.log.dropped(
                    pointer,
                    keyword,
                    "the parameter may be left out, which means the same",
                );
            }
            _ if self.subset.keeps.contains(&keyword) && self.keep(keyword, value, pointer) => {}
            _ => {
                self.facts.is_open |= keyword == "patternProperties";
                self.describe_or_drop(pointer, (keyword, value));
            }
        }
    }

    /// Keeps a keyword that the form has. Returns false for a value that it does not have, or
    /// beside another one.
    fn keep(&mut self, keyword: &'a str, value: &'a Value, pointer: &str) -> bool {
        let source = (keyword, value);
        let types = self.facts.types;
        match self
            .subset
            .grammar
            .map(|grammar| grammar.keyword(types, keyword, value))
        {
            Some(GrammarKeyword::Refused) => false,
            Some(GrammarKeyword::Rewritten(written)) => {
                let detail = format!("{written}, which means the same");
                let is_kept = self
                    .facts
                    .keep(KeptKeyword::new(keyword, written, pointer, source));
                if is_kept {
                    self.log.rewritten(pointer, keyword, detail);
                }
                is_kept
            }
            Some(GrammarKeyword::Kept) | None => {
                self.facts
                    .keep(KeptKeyword::new(keyword, value.clone(), pointer, source))
            }
        }
    }

    /// Moves limits of length into the description where a pattern or a format is kept: the grammar
    /// has one of the two.
    fn drop_lengths(&mut self) {
        let has_form = self
            .facts
            .kept
            .iter()
            .any(|kept| matches!(kept.keyword, "pattern" | "format"));
        if !has_form {
            return;
        }
        for kept in std::mem::take(&mut self.facts.kept) {
            if matches!(kept.keyword, "minLength" | "maxLength") {
                self.describe_or_drop(&kept.pointer, kept.source);
            } else {
                self.facts.kept.push(kept);
            }
        }
    }

    fn describe_or_drop(&mut self, pointer: &str, source: DroppedKeyword<'a>) {
        describe_or_drop(self.log, &mut self.facts.dropped, pointer, source);
    }

    fn additional(&mut self, own: &KeywordSet<'a>, value: &'a Value) {
        let pointer = own.pointer.as_str();
        self.facts.is_open |=
            *value == Value::Bool(true) || value.as_object().is_some_and(Map::is_empty);
        match value {
            Value::Object(map) if !map.is_empty() && !self.subset.maps => {
                self.describe_or_drop(pointer, ("additionalProperties", value));
            }
            Value::Bool(false) if !self.subset.maps => {
                let detail = "the provider's form cannot close an object; a call with further properties is refused";
                self.log.dropped(pointer, "additionalProperties", detail);
            }
            Value::Bool(true) | Value::Object(_) if !self.subset.maps => {
                self.log.rewritten(
                    pointer,
                    "additionalProperties",
                    "further properties are accepted anyway",
                );
            }
            Value::Bool(false) | Value::Object(_) if own.map.contains_key("patternProperties") => {
                let detail = "further properties are accepted: one may match `patternProperties`, which the description has";
                self.log.weakened(pointer, "additionalProperties", detail);
            }
            _ => {}
        }
    }

    /// Sorts a keyword about items. The forms have one schema for all items, and the description
    /// has the positions.
    fn places(&mut self, own: &KeywordSet<'a>, keyword: &'a str, value: &'a Value) {
        let pointer = own.pointer.as_str();
        self.facts.inside.push((pointer.to_owned(), keyword));
        match keyword {
            "prefixItems" => {
                self.describe_or_drop(pointer, (keyword, value));
                self.log.weakened(
                    pointer,
                    keyword,
                    "one schema for all items, whatever their positions",
                );
            }
            _ if *value == Value::Bool(false) && !self.subset.keeps.contains(&"maxItems") => {
                self.log.dropped(
                    pointer,
                    keyword,
                    "the provider's form cannot close an array",
                );
            }
            _ if *value == Value::Bool(false) => {
                self.log.rewritten(pointer, keyword, "`maxItems`");
            }
            "items" if *value == Value::Bool(true) => {
                self.log
                    .rewritten(pointer, keyword, "`{}`, which means the same");
            }
            _ => {}
        }
    }

    /// Writes an exclusive bound as an inclusive one: the next integer, or the bound itself for
    /// other numbers.
    fn exclusive(&mut self, own: &KeywordSet<'a>, keyword: &'a str, value: &'a Value) {
        let inclusive = if keyword == "exclusiveMinimum" {
            "minimum"
        } else {
            "maximum"
        };
        let pointer = own.pointer.as_str();
        let Value::Number(bound) = value else { return };
        let is_refused = self.subset.grammar.is_some_and(|grammar| {
            matches!(
                grammar.keyword(self.facts.types, inclusive, value),
                GrammarKeyword::Refused
            )
        });
        if is_refused || !self.subset.keeps.contains(&inclusive) {
            self.describe_or_drop(pointer, (keyword, value));
            return;
        }
        let whole = !(self.facts.types & TypeSet::NUMBER).contains(TypeSet::NUMBER);
        if whole && let Some(next) = next_integer(bound, inclusive == "minimum") {
            self.log
                .rewritten(pointer, keyword, format!("`{inclusive}` {next}"));
            self.facts.keep(KeptKeyword::new(
                inclusive,
                Value::Number(next),
                pointer,
                (keyword, value),
            ));
        } else {
            self.log.weakened(
                pointer,
                keyword,
                format!("`{inclusive}` {bound}; the description has the exclusive bound"),
            );
            self.facts.keep(KeptKeyword::new(
                inclusive,
                Value::Number(bound.clone()),
                pointer,
                (keyword, value),
            ));
            self.facts.dropped.push((keyword, value));
        }
    }
}
