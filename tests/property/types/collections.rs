//! Lists, tuples, maps and sets.

use super::echoes;
use super::enums::{Documented, Level};
use super::structs::Point;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

echoes! {
    bytes: Vec<u8>;
    integers: Vec<i64>;
    wide_list: Vec<u128>;
    strings: Vec<String>;
    option_strings: Option<Vec<String>>;
    nullable_items: Vec<Option<i32>>;
    matrix: Vec<Vec<f64>>;
    points: Vec<Point>;
    values: Vec<Value>;
    lent: &[i32];
    option_lent: Option<&[String]>;
    deque: VecDeque<bool>;
    array_of_three: [u8; 3];
    array_of_none: [u8; 0];
    array_of_options: [Option<bool>; 2];
    pair: (i64, String);
    triple: (u8, Option<bool>, Point);
    single_tuple: (i64,);
    tuples: Vec<(String, f64)>;
    map: HashMap<String, i32>;
    map_of_lists: BTreeMap<String, Vec<u8>>;
    map_of_options: BTreeMap<String, Option<u8>>;
    map_of_values: BTreeMap<String, Value>;
    map_by_u32: BTreeMap<u32, String>;
    map_by_i64: BTreeMap<i64, bool>;
    map_by_level: BTreeMap<Level, u8>;
    map_by_documented: BTreeMap<Documented, u8>;
    map_by_char: BTreeMap<char, u8>;
    option_map: Option<HashMap<String, bool>>;
    map_of_maps: HashMap<String, HashMap<String, u8>>;
    set: HashSet<u8>, sorted;
    set_of_texts: BTreeSet<String>, sorted;
}

/// Sets are compared without their order.
fn sorted(value: &mut Value) {
    if let Some(items) = value.get_mut("value").and_then(Value::as_array_mut) {
        items.sort_by_key(|item| {
            item.as_f64()
                .map_or_else(|| item.to_string(), |number| format!("{number:09}"))
        });
    }
}
