//! Schemas over all keywords.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NAMES: [&str; 7] = ["a", "b", "x1", "$ref", "x[1]", "type", "properties"];
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "null", "array", "object",
];
const COUNTS: &[&str] = &[
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];
const BOUNDS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const REFERENCES: [&str; 6] = [
    "#/$defs/d0",
    "#/$defs/d1",
    "#",
    "#/properties/a",
    "#here",
    "https://example.com/schema.json",
];

/// A tool's parameters: an object, with whatever else.
pub(crate) fn root() -> impl Strategy<Value = Value> {
    (schema(), schema(), schema(), 0..8_u8).prop_map(|(root, first, second, kind)| {
        let mut map = root.as_object().cloned().unwrap_or_default();
        if kind > 0 {
            map.insert("type".to_owned(), json!("object"));
        }
        map.insert("$defs".to_owned(), json!({"d0": first, "d1": second}));
        let mut root = Value::Object(map);
        if kind > 5 {
            make_older(&mut root);
            root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        }
        root
    })
}

/// Tuples as draft 7 has them.
fn make_older(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(make_older),
        Value::Object(map) => {
            map.values_mut().for_each(make_older);
            if let Some(places @ Value::Array(_)) = map.get("prefixItems").cloned() {
                let rest = map.insert("items".to_owned(), places);
                map.extend(rest.map(|rest| ("additionalItems".to_owned(), rest)));
            }
        }
        _ => {}
    }
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![4 => keywords(Just(json!({})).boxed(), 4), 1 => any::<bool>().prop_map(Value::Bool)];
    leaf.prop_recursive(4, 48, 4, |inner| keywords(inner.boxed(), 5))
}

fn keywords(inner: BoxedStrategy<Value>, most: usize) -> impl Strategy<Value = Value> {
    proptest::collection::vec(keyword(inner), 0..most)
        .prop_map(|pairs| Value::Object(pairs.into_iter().flatten().collect::<Map<_, _>>()))
}

fn keyword(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Vec<(String, Value)>> {
    prop_oneof![
        6 => kinds(),
        5 => limits(),
        2 => annotations(),
        2 => values(),
        6 => objects(inner.clone()),
        4 => arrays(inner.clone()),
        4 => combinators(inner),
        2 => proptest::sample::select(&REFERENCES[..]).prop_map(|to| vec![("$ref".to_owned(), json!(to))]),
    ]
}

fn kinds() -> impl Strategy<Value = Vec<(String, Value)>> {
    prop_oneof![
        4 => proptest::sample::select(&TYPES[..]).prop_map(|name| json!(name)),
        1 => proptest::sample::subsequence(&TYPES[..], 1..4).prop_map(|names| json!(names)),
    ]
    .prop_map(|value| vec![("type".to_owned(), value)])
}

fn limits() -> impl Strategy<Value = Vec<(String, Value)>> {
    let one = |keyword: &str, value| vec![(keyword.to_owned(), value)];
    prop_oneof![
        (proptest::sample::select(COUNTS), 0..4_u8)
            .prop_map(move |(keyword, count)| one(keyword, json!(count))),
        (proptest::sample::select(BOUNDS), -4..10_i32)
            .prop_map(move |(keyword, twice)| one(keyword, json!(f64::from(twice) / 2.0))),
        (proptest::sample::select(BOUNDS), -2..5_i32)
            .prop_map(move |(keyword, bound)| one(keyword, json!(bound))),
        (1..4_u8).prop_map(move |step| one("multipleOf", json!(step))),
        proptest::sample::select(&["^a", "1$", "^.{1,3}$"][..])
            .prop_map(move |it| one("pattern", json!(it))),
        proptest::sample::select(&["date", "uint64", "date-time", "int32"][..])
            .prop_map(move |it| one("format", json!(it))),
        Just(one("uniqueItems", json!(true))),
    ]
}

fn annotations() -> impl Strategy<Value = Vec<(String, Value)>> {
    let all = [
        ("title", json!("T")),
        ("description", json!("what it is")),
        ("default", json!(3)),
        ("default", json!(null)),
        ("examples", json!(["a", 1])),
        ("deprecated", json!(true)),
        ("$comment", json!("x")),
        ("$anchor", json!("here")),
        ("optional", json!(true)),
        ("nullable", json!(true)),
        ("contentEncoding", json!("base64")),
    ];
    proptest::sample::select(all.to_vec())
        .prop_map(|(keyword, value)| vec![(keyword.to_owned(), value)])
}

fn values() -> impl Strategy<Value = Vec<(String, Value)>> {
    let all = [
        json!("a"),
        json!("x1"),
        json!(""),
        json!(1),
        json!(1.0),
        json!(2.5),
        json!(true),
        json!(false),
        json!(null),
        json!([1, "a"]),
        json!({"a": 1}),
    ];
    prop_oneof![
        proptest::sample::subsequence(all.to_vec(), 1..5)
            .prop_map(|list| vec![("enum".to_owned(), json!(list))]),
        proptest::sample::select(all.to_vec()).prop_map(|value| vec![("const".to_owned(), value)]),
    ]
}

fn objects(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Vec<(String, Value)>> {
    let named =
        proptest::collection::hash_map(proptest::sample::select(&NAMES[..]), inner.clone(), 1..4);
    let some = proptest::sample::subsequence(&NAMES[..], 0..3);
    let one = |keyword: &str, value| vec![(keyword.to_owned(), value)];
    prop_oneof![
        5 => (named, some.clone()).prop_map(|(named, names)| {
            vec![
                ("type".to_owned(), json!("object")),
                ("properties".to_owned(), json!(named)),
                ("required".to_owned(), json!(names)),
            ]
        }),
        1 => some.clone().prop_map(move |names| one("required", json!(names))),
        1 => Just(one("additionalProperties", json!(false))),
        1 => inner.clone().prop_map(move |schema| one("additionalProperties", schema)),
        1 => inner.clone().prop_map(move |schema| one("patternProperties", json!({"^x": schema}))),
        1 => Just(one("propertyNames", json!({"minLength": 1}))),
        1 => some.prop_map(move |names| one("dependentRequired", json!({"a": names}))),
        1 => inner.clone().prop_map(move |schema| one("dependentSchemas", json!({"a": schema}))),
        1 => inner.prop_map(move |schema| one("unevaluatedProperties", schema)),
    ]
}

fn arrays(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Vec<(String, Value)>> {
    let places = proptest::collection::vec(inner.clone(), 1..3);
    let array = |keyword: &str, value| {
        vec![
            ("type".to_owned(), json!("array")),
            (keyword.to_owned(), value),
        ]
    };
    prop_oneof![
        3 => inner.clone().prop_map(move |schema| array("items", schema)),
        2 => (places.clone(), any::<bool>()).prop_map(move |(places, closed)| {
            let mut pairs = array("prefixItems", json!(places));
            pairs.extend(closed.then(|| ("items".to_owned(), json!(false))));
            pairs
        }),
        1 => places.prop_map(move |places| vec![("prefixItems".to_owned(), json!(places))]),
        1 => (inner.clone(), 0..2_u8).prop_map(move |(schema, count)| {
            vec![("contains".to_owned(), schema), ("minContains".to_owned(), json!(count)), ("maxContains".to_owned(), json!(count + 1))]
        }),
        1 => inner.prop_map(move |schema| array("unevaluatedItems", schema)),
    ]
}

fn combinators(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Vec<(String, Value)>> {
    let list = proptest::collection::vec(inner.clone(), 1..4);
    let combined = (
        proptest::sample::select(&["anyOf", "oneOf", "allOf"][..]),
        list,
    );
    prop_oneof![
        6 => combined.prop_map(|(keyword, list)| vec![(keyword.to_owned(), json!(list))]),
        1 => inner.clone().prop_map(|schema| vec![("not".to_owned(), schema)]),
        1 => (inner.clone(), inner.clone(), inner).prop_map(|(test, then, other)| {
            vec![("if".to_owned(), test), ("then".to_owned(), then), ("else".to_owned(), other)]
        }),
    ]
}
