//! The constraints on one value, collected from the schemas that have them.

use crate::schema::document::{SchemaPlace, is_annotation, list_places};
use crate::schema::projector::{Projector, report_missing_target};
use crate::schema::rules::TypeSet;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use tool_core::schema::{is_schema, join_pointer as join};

/// The constraints on one value. All parts have to hold. A node without parts accepts any value.
#[derive(Clone, Debug, Default)]
pub(crate) struct SchemaNode<'a>(pub(crate) Vec<NodePart<'a>>);

#[derive(Clone, Debug)]
pub(crate) enum NodePart<'a> {
    /// A schema of the document.
    Schema(SchemaPlace<'a>),
    /// A schema of the document without its references and unions.
    KeywordSet(KeywordSet<'a>),
    /// One of these types.
    TypeSet(TypeSet),
    /// One of these nodes.
    Any(Vec<SchemaNode<'a>>),
}

/// The keywords of a schema, without references, `allOf`, `anyOf` and `oneOf`.
#[derive(Clone, Debug)]
pub(crate) struct KeywordSet<'a> {
    pub(crate) map: &'a Map<String, Value>,
    pub(crate) pointer: String,
    pub(crate) reads: KeywordFilter,
}

/// The keywords of a schema that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeywordFilter {
    All,
    /// The keywords beside a union, which each of its branches has.
    Assertions,
    /// The keywords around a union or a reference.
    Annotations,
}

/// A node with its references followed and its conjunctions flattened.
#[derive(Debug)]
pub(crate) struct FlatNode<'a> {
    pub(crate) own: Vec<KeywordSet<'a>>,
    pub(crate) types: TypeSet,
    pub(crate) unions: Vec<SchemaUnion<'a>>,
}

/// `anyOf` or `oneOf`, with its pointer; without one if the projection made it.
#[derive(Clone, Debug)]
pub(crate) struct SchemaUnion<'a> {
    pub(crate) place: Option<(&'static str, String)>,
    pub(crate) nodes: Vec<SchemaNode<'a>>,
}

impl<'a> SchemaNode<'a> {
    pub(crate) fn of(place: SchemaPlace<'a>) -> Self {
        Self(vec![NodePart::Schema(place)])
    }

    /// Requires both nodes.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Requires one of the nodes.
    pub(crate) fn any(nodes: Vec<Self>) -> Self {
        match nodes.len() {
            1 => nodes.into_iter().next().unwrap_or_default(),
            _ => Self(vec![NodePart::Any(nodes)]),
        }
    }

    /// Returns true if both are the same schema.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.0.len() < 2 && self.identity() == other.identity()
    }

    /// Returns what two nodes of the same schema have in common: nothing but itself for a node of
    /// several parts.
    pub(crate) fn identity(&self) -> (Option<&'a Value>, *const Self) {
        match self.0.as_slice() {
            [] => (None, std::ptr::null()),
            [NodePart::Schema(place)] => (Some(place.schema), std::ptr::null()),
            _ => (None, self),
        }
    }
}

impl<'a> KeywordSet<'a> {
    pub(crate) fn reading(&self, reads: KeywordFilter) -> Self {
        Self {
            reads,
            ..self.clone()
        }
    }

    /// Returns the keywords that count.
    pub(crate) fn keywords(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let reads = self.reads;
        self.map
            .iter()
            .map(|(keyword, value)| (keyword.as_str(), value))
            .filter(move |(keyword, _)| match reads {
                KeywordFilter::All => true,
                KeywordFilter::Assertions => !is_note(keyword) && !is_union(keyword),
                KeywordFilter::Annotations => is_note(keyword),
            })
    }

    /// Returns the value of a keyword that counts.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.map
            .get(keyword)
            .filter(|_| self.reads != KeywordFilter::Annotations)
    }

    /// Returns the schema of a keyword.
    pub(crate) fn under(&self, keyword: &str) -> Option<SchemaNode<'a>> {
        let schema = self.get(keyword).filter(|value| is_schema(value))?;
        Some(SchemaNode::of(SchemaPlace {
            schema,
            pointer: join(&self.pointer, keyword),
        }))
    }

    /// Returns the schemas of a list keyword.
    pub(crate) fn list(&self, keyword: &str) -> Option<Vec<SchemaNode<'a>>> {
        let list = self.get(keyword).filter(|list| list.is_array())?;
        let schemas =
            list_places(list, &self.pointer, keyword).filter(|place| is_schema(place.schema));
        Some(schemas.map(SchemaNode::of).collect())
    }
}

impl<'a> Projector<'a> {
    /// Follows references and flattens `allOf`; `None` if a part accepts no value.
    ///
    /// The targets of references stay in `active` until the caller has projected the schemas inside
    /// them.
    pub(crate) fn gather(&mut self, node: SchemaNode<'a>) -> Option<FlatNode<'a>> {
        let floor = self.active.len();
        let mut gathered = FlatNode {
            own: Vec::new(),
            types: TypeSet::ALL,
            unions: Vec::new(),
        };
        let mut open = node.0;
        open.reverse();
        while let Some(part) = open.pop() {
            match part {
                NodePart::TypeSet(types) => gathered.types &= types,
                NodePart::Any(nodes) => gathered.unions.push(SchemaUnion { place: None, nodes }),
                NodePart::KeywordSet(own) => gathered.own.push(own),
                NodePart::Schema(SchemaPlace {
                    schema: Value::Bool(false),
                    ..
                }) => return None,
                NodePart::Schema(SchemaPlace { schema, pointer }) => {
                    self.nodes += 1;
                    if let Value::Object(map) = schema {
                        self.open(map, pointer, floor, &mut gathered, &mut open);
                    }
                }
            }
        }
        Some(gathered)
    }

    fn open(
        &mut self,
        map: &'a Map<String, Value>,
        pointer: String,
        floor: usize,
        gathered: &mut FlatNode<'a>,
        open: &mut Vec<NodePart<'a>>,
    ) {
        let reference = map.get("$ref").and_then(Value::as_str);
        let own = KeywordSet {
            map,
            pointer,
            reads: KeywordFilter::All,
        };
        if map.contains_key("$dynamicRef") {
            let detail = "its target depends on the path to it; any value is accepted";
            self.log.weakened(&own.pointer, "$dynamicRef", detail);
        }
        let mut further = Vec::new();
        if let Some(all) = own.list("allOf") {
            self.log.rewritten(
                &own.pointer,
                "allOf",
                "merged into the schema that holds it",
            );
            further.extend(all.into_iter().flat_map(|node| node.0));
        }
        if let Some(reference) = reference {
            further.extend(self.follow(reference, &own.pointer, floor));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(nodes) = own.list(keyword) {
                let place = Some((keyword, own.pointer.clone()));
                gathered.unions.push(SchemaUnion { place, nodes });
            }
        }
        gathered.own.push(own);
        open.extend(further.into_iter().rev());
    }

    /// Returns the target of a reference, or only its types if the target is being written already.
    fn follow(&mut self, reference: &str, pointer: &str, floor: usize) -> Option<NodePart<'a>> {
        let Some(target) = self.document.resolve(pointer, reference) else {
            report_missing_target(&mut self.log, pointer, reference);
            return None;
        };
        match self.active.get_index_of(&std::ptr::from_ref(target.schema)) {
            Some(at) if at >= floor => None,
            Some(_) => {
                let detail =
                    format!("`{reference}` refers to itself; inside, only the type is kept");
                self.log.weakened(pointer, "$ref", detail);
                Some(NodePart::TypeSet(TypeSet::of_schema(target.schema)))
            }
            None => {
                self.log.rewritten(
                    pointer,
                    "$ref",
                    format!("the target of `{reference}` replaces it"),
                );
                self.active.insert(target.schema);
                Some(NodePart::Schema(target))
            }
        }
    }
}

/// Returns true for a keyword that does not constrain values.
fn is_note(keyword: &str) -> bool {
    is_annotation(keyword) || keyword == "discriminator"
}

pub(crate) fn is_union(keyword: &str) -> bool {
    matches!(keyword, "anyOf" | "oneOf")
}

/// Compares two numbers, exactly if both are integers.
pub(crate) fn compare(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => float(left).total_cmp(&float(right)),
    }
}

/// Returns true if two values are equal in JSON Schema, where `1` equals `1.0`.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// Values by a hash that does not tell `1` from `1.0`.
pub(crate) struct ValueSet<'a> {
    hasher: RandomState,
    values: HashMap<u64, Vec<&'a Value>>,
}

impl<'a> ValueSet<'a> {
    pub(crate) fn of(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut set = Self {
            hasher: RandomState::new(),
            values: HashMap::new(),
        };
        for value in values {
            set.values.entry(set.hash(value)).or_default().push(value);
        }
        set
    }

    /// Returns true if one of the values is the [same].
    pub(crate) fn contains(&self, value: &Value) -> bool {
        self.values
            .get(&self.hash(value))
            .is_some_and(|values| values.iter().any(|there| same(there, value)))
    }

    fn hash(&self, value: &Value) -> u64 {
        match value {
            // `-0.0` and `0.0` have one hash.
            Value::Number(number) => self.hasher.hash_one((float(number) + 0.0).to_bits()),
            Value::Array(items) => self
                .hasher
                .hash_one(items.iter().map(|item| self.hash(item)).collect::<Vec<_>>()),
            Value::Object(members) => members.iter().fold(0, |all, (name, value)| {
                all ^ self.hasher.hash_one((name, self.hash(value)))
            }),
            _ => self.hasher.hash_one(value),
        }
    }
}

/// Returns the inclusive bound for integers that an exclusive bound means.
pub(crate) fn next_integer(bound: &Number, upwards: bool) -> Option<Number> {
    // Above this, not every integer is a double, and the nearest one may be on the wrong side.
    const EXACT: f64 = 9_007_199_254_740_991.0;
    if let Some(whole) = whole(bound) {
        let next = i64::try_from(if upwards { whole + 1 } else { whole - 1 });
        return next.ok().map(Number::from);
    }
    let value = bound.as_f64().filter(|value| value.abs() < EXACT)?;
    let next = if upwards {
        value.floor() + 1.0
    } else {
        value.ceil() - 1.0
    };
    #[allow(clippy::cast_possible_truncation)] // it is whole, and small enough
    Some(Number::from(next as i64))
}

fn whole(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}
