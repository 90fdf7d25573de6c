//! What has to hold at one place of a projection, gathered from wherever the schema says it.

use crate::providers::report::{ChangeKind, ChangeLog};
use crate::providers::schema::document::{SchemaPlace, is_annotation};
use crate::providers::schema::projector::Projector;
use crate::providers::schema::types::TypeSet;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use tool_core::schema::{is_schema, join_pointer as join};

/// What has to hold at one place: all of its parts. Without parts, anything does.
#[derive(Clone, Debug, Default)]
pub(crate) struct SchemaNode<'a>(pub(crate) Vec<NodePart<'a>>);

#[derive(Clone, Debug)]
pub(crate) enum NodePart<'a> {
    /// A schema of the document.
    Schema(SchemaPlace<'a>),
    /// A schema of the document, without its references and unions.
    KeywordSet(KeywordSet<'a>),
    /// One of these types.
    TypeSet(TypeSet),
    /// One of these.
    Any(Vec<SchemaNode<'a>>),
}

/// A schema's own keywords: all but references, `allOf`, `anyOf` and `oneOf`.
#[derive(Clone, Debug)]
pub(crate) struct KeywordSet<'a> {
    pub(crate) map: &'a Map<String, Value>,
    pub(crate) pointer: String,
    pub(crate) reads: KeywordFilter,
}

/// Which of the keywords count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeywordFilter {
    All,
    Assertions,
    Annotations,
}

/// A node with its references followed and its conjunctions flattened.
#[derive(Debug)]
pub(crate) struct FlatNode<'a> {
    pub(crate) own: Vec<KeywordSet<'a>>,
    pub(crate) types: TypeSet,
    pub(crate) unions: Vec<SchemaUnion<'a>>,
}

/// `anyOf` or `oneOf`, and where it stands; nowhere for one that the projection made.
#[derive(Clone, Debug)]
pub(crate) struct SchemaUnion<'a> {
    pub(crate) place: Option<(&'static str, String)>,
    pub(crate) nodes: Vec<SchemaNode<'a>>,
}

impl<'a> SchemaNode<'a> {
    pub(crate) fn of(schema: &'a Value, pointer: String) -> Self {
        Self(vec![NodePart::Schema(SchemaPlace { schema, pointer })])
    }

    /// Both.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// One of them; anything, where one of them is.
    pub(crate) fn any(nodes: Vec<Self>) -> Self {
        match nodes.len() {
            1 => nodes.into_iter().next().unwrap_or_default(),
            _ => Self(vec![NodePart::Any(nodes)]),
        }
    }

    /// Whether the document says the same of both, letter by letter.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self.0.as_slice(), other.0.as_slice()) {
            ([], []) => true,
            ([NodePart::Schema(left)], [NodePart::Schema(right)]) => left.schema == right.schema,
            _ => false,
        }
    }
}

impl<'a> KeywordSet<'a> {
    pub(crate) fn reading(&self, reads: KeywordFilter) -> Self {
        Self { reads, ..self.clone() }
    }

    /// The keywords that count.
    pub(crate) fn keywords(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let reads = self.reads;
        self.map.iter().map(|(keyword, value)| (keyword.as_str(), value)).filter(move |(keyword, _)| match reads {
            KeywordFilter::All => true,
            KeywordFilter::Assertions => !is_annotation(keyword),
            KeywordFilter::Annotations => is_annotation(keyword),
        })
    }

    /// A keyword's value, where it counts and the value can be its.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.map.get(keyword).filter(|_| self.reads != KeywordFilter::Annotations)
    }

    /// The node of the schema that a keyword holds.
    pub(crate) fn under(&self, keyword: &str) -> Option<SchemaNode<'a>> {
        let schema = self.get(keyword).filter(|value| is_schema(value))?;
        Some(SchemaNode::of(schema, join(&self.pointer, keyword)))
    }

    /// The nodes of the schemas that a keyword lists.
    pub(crate) fn list(&self, keyword: &str) -> Option<Vec<SchemaNode<'a>>> {
        let list = self.get(keyword)?.as_array()?;
        let under = join(&self.pointer, keyword);
        let schemas = list.iter().enumerate().filter(|(_, schema)| is_schema(schema));
        Some(schemas.map(|(at, schema)| SchemaNode::of(schema, join(&under, &at.to_string()))).collect())
    }
}

impl<'a> Projector<'a> {
    /// Follows references and flattens `allOf`. Nothing where a part of it accepts nothing.
    ///
    /// What is followed stays in `active` until the caller has projected what stands beneath.
    pub(crate) fn gather(&mut self, node: SchemaNode<'a>) -> Option<FlatNode<'a>> {
        let floor = self.active.len();
        let mut gathered = FlatNode { own: Vec::new(), types: TypeSet::ALL, unions: Vec::new() };
        let mut open = node.0;
        open.reverse();
        while let Some(part) = open.pop() {
            match part {
                NodePart::TypeSet(types) => gathered.types = gathered.types & types,
                NodePart::Any(nodes) => gathered.unions.push(SchemaUnion { place: None, nodes }),
                NodePart::KeywordSet(own) => gathered.own.push(own),
                NodePart::Schema(SchemaPlace { schema: Value::Bool(false), .. }) => return None,
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
        let own = KeywordSet { map, pointer, reads: KeywordFilter::All };
        if map.contains_key("$dynamicRef") {
            let detail = "what it leads to depends on where it is reached from; any value is taken there";
            self.log.add(&own.pointer, "$dynamicRef", ChangeKind::Weakened, detail);
        }
        let mut further = Vec::new();
        if let Some(all) = own.list("allOf") {
            self.log.add(&own.pointer, "allOf", ChangeKind::Rewritten, "merged into the schema that holds it");
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

    /// What a reference leads to. Of a schema that is being written already, only its types.
    fn follow(&mut self, reference: &str, pointer: &str, floor: usize) -> Option<NodePart<'a>> {
        let Some(target) = self.document.resolve(pointer, reference) else {
            not_found(&mut self.log, pointer, reference);
            return None;
        };
        match self.active.iter().position(|active| std::ptr::eq(*active, target.schema)) {
            Some(at) if at >= floor => None,
            Some(_) => {
                let detail = format!("`{reference}` refers to itself; of what is inside, only the type is kept");
                self.log.add(pointer, "$ref", ChangeKind::Weakened, detail);
                Some(NodePart::TypeSet(types_of(target.schema)))
            }
            None => {
                let detail = format!("what `{reference}` leads to stands in its place");
                self.log.add(pointer, "$ref", ChangeKind::Rewritten, detail);
                self.active.push(target.schema);
                Some(NodePart::Schema(target))
            }
        }
    }
}

/// Reports a reference that leads to nothing.
pub(crate) fn not_found(log: &mut ChangeLog, pointer: &str, reference: &str) {
    let detail = if reference.starts_with('#') {
        format!("nothing is at `{reference}`; any value is taken there")
    } else {
        format!("`{reference}` is not part of the schema and never fetched; any value is taken there")
    };
    log.add(pointer, "$ref", ChangeKind::Weakened, detail);
}

/// The types that a schema names itself.
pub(crate) fn types_of(schema: &Value) -> TypeSet {
    schema.get("type").and_then(TypeSet::of_keyword).unwrap_or(TypeSet::ALL)
}

// ---- Numbers as bounds.

/// How two numbers compare; exactly where both are integers.
pub(crate) fn compare(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => float(left).total_cmp(&float(right)),
    }
}

/// Whether two values are the same to JSON Schema, where `1` and `1.0` are.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// The integer next to an exclusive bound that is the inclusive one for integers.
pub(crate) fn next_integer(bound: &Number, upwards: bool) -> Option<Number> {
    // Beyond this, doubles have gaps: the nearest one might lie on the wrong side.
    const EXACT: f64 = 9_007_199_254_740_991.0;
    if let Some(whole) = whole(bound) {
        let next = i64::try_from(if upwards { whole + 1 } else { whole - 1 });
        return next.ok().map(Number::from);
    }
    let value = bound.as_f64().filter(|value| value.abs() < EXACT)?;
    let next = if upwards { value.floor() + 1.0 } else { value.ceil() - 1.0 };
    #[allow(clippy::cast_possible_truncation)] // it is whole, and small enough
    Some(Number::from(next as i64))
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}
