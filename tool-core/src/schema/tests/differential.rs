//! A type that needs no validator accepts the same texts as its schema.

use crate::json::decoder::Decoder;
use crate::schema::example::minimal_example;
use crate::schema::parameter::Parameter;
use crate::schema::tests::built;
use crate::schema::tests::types::{
    Closed, Color, Keywords, Level, Named, Paging, Point, Tree, Window,
};
use crate::schema::validator::Validator;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Values at the edges of types.
fn edges() -> Vec<Value> {
    let texts = ["", "a", "low", "Low", "red", "5", "null"].map(Value::from);
    let whole = [
        0_i64,
        -1,
        1,
        127,
        128,
        -128,
        -129,
        255,
        256,
        65_535,
        65_536,
        -32_769,
        2_147_483_647,
        2_147_483_648,
    ];
    let large = [1 << 32, (1 << 53) + 1, i64::MAX, i64::MIN].map(Value::from);
    let floats = [
        5.0,
        100.0,
        0.5,
        -0.5,
        3.402_823_466_385_288_6e38,
        3.5e38,
        -3.5e38,
        1e300,
        1e20,
        1.9e19,
        9.3e18,
    ];
    let rest = [
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!([1]),
        json!({"a": 1}),
        json!({"red": 1}),
        json!(u64::MAX),
    ];
    texts
        .into_iter()
        .chain(whole.map(Value::from))
        .chain(large)
        .chain(floats.map(Value::from))
        .chain(rest)
        .collect()
}

/// A change somewhere in a value: the node, what is done there, and with what.
type Change = (prop::sample::Index, u8, prop::sample::Index);

fn change(value: &mut Value, (node, what, with): &Change) {
    let count = size(value);
    let edges = edges();
    let edge = with.get(&edges).clone();
    let Some(node) = nth(value, &mut node.index(count)) else {
        return;
    };
    match (what % 5, node) {
        (0, Value::Object(members)) => {
            let name = members.keys().next().cloned().unwrap_or_default();
            members.remove(&name);
        }
        (1, Value::Object(members)) => {
            let names = [
                "zzz", "x", "y", "limit", "note", "parent", "children", "tags", "green", "$ref",
                "cursor",
            ];
            members.insert((*with.get(&names)).to_owned(), edge);
        }
        (0, Value::Array(items)) => {
            items.pop();
        }
        (1, Value::Array(items)) => items.push(edge),
        (_, node) => *node = edge,
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, left)),
        _ => None,
    }
}

fn agree<T: JsonSchema + for<'de> Deserialize<'de>>(
    changes: &[Change],
) -> Result<(), TestCaseError> {
    let canonical = built(&[Parameter::new::<T>("x", "")]);
    assert!(
        !canonical.needs_validator,
        "a type that needs the validator is not compared"
    );
    let definitions = canonical
        .value
        .get("$defs")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let schema = json!({"allOf": [canonical.value["properties"]["x"]], "$defs": definitions});
    let mut value = minimal_example(&schema, &schema);
    let validator = Validator::new(schema);
    for step in changes {
        let text = value.to_string();
        let mut decoder = Decoder::new(&text);
        let taken = T::deserialize(&mut decoder).and_then(|_| decoder.end());
        prop_assert_eq!(
            taken.is_ok(),
            validator.is_valid(&value),
            "{} as {}: {:?}",
            text,
            std::any::type_name::<T>(),
            taken.err()
        );
        change(&mut value, step);
    }
    Ok(())
}

macro_rules! agreement {
    ($($name:ident: $type:ty;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
            $(
                #[test]
                fn $name(changes in prop::collection::vec(any::<Change>(), 1..5)) {
                    agree::<$type>(&changes)?;
                }
            )*
        }
    };
}

agreement! {
    integers_accept_what_they_publish: (i8, u8, i16, u16, i32, u32, i64, u64, isize, usize);
    wide_integers_accept_what_they_publish: (i128, u128);
    floats_accept_what_they_publish: (f32, f64);
    scalars_accept_what_they_publish: (String, bool, ());
    structs_accept_what_they_publish: Point;
    closed_structs_accept_what_they_publish: Closed;
    structs_with_defaults_accept_what_they_publish: (Paging, Window, Named);
    structs_with_the_names_of_keywords_accept_what_they_publish: Keywords;
    enums_accept_what_they_publish: (Level, Color, Vec<Level>);
    optional_types_accept_what_they_publish: (Vec<Option<u8>>, Point, HashMap<String, Option<Color>>);
    maps_accept_what_they_publish: (HashMap<String, Point>, HashMap<Color, u8>);
    recursive_types_accept_what_they_publish: Tree;
}
