//! `OpenAI`'s limits on the schema of a tool.

use super::walk::Written;
use crate::report::NotStrict;
use crate::schema::for_each_child;
use serde_json::{Map, Value};

const LEVELS: usize = 10;
const PROPERTIES: usize = 5_000;
const ENUM_VALUES: usize = 1_000;
const CHARACTERS: usize = 120_000;
/// An enum with more values than this may not be long in all.
const LONG_ENUM: usize = 250;
const LONG_ENUM_CHARACTERS: usize = 15_000;

#[derive(Default)]
struct Counts {
    properties: usize,
    enum_values: usize,
    characters: usize,
    longest_enum: usize,
}

pub(super) fn check(root: &Written) -> Result<(), NotStrict> {
    let mut counts = Counts::default();
    count(root, &mut counts);
    let levels = levels(&Value::Object(root.clone()));
    let limits = [
        ("levels", levels, LEVELS),
        ("properties", counts.properties, PROPERTIES),
        ("enum values", counts.enum_values, ENUM_VALUES),
        ("characters of names and enum values", counts.characters, CHARACTERS),
        ("characters of one enum", counts.longest_enum, LONG_ENUM_CHARACTERS),
    ];
    let over = limits.into_iter().find(|(_, found, most)| found > most);
    over.map_or(Ok(()), |(what, found, most)| Err(NotStrict::Limit { what, found, most }))
}

fn count(schema: &Map<String, Value>, counts: &mut Counts) {
    let names = |keyword: &str| schema.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let characters = |text: &str| text.chars().count();
    counts.properties += names("properties").count();
    counts.characters += names("properties").chain(names("$defs")).map(|name| characters(name)).sum::<usize>();
    let values = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let length = values.iter().chain(schema.get("const")).filter_map(Value::as_str).map(characters).sum();
    counts.enum_values += values.len();
    counts.characters += length;
    if values.len() > LONG_ENUM {
        counts.longest_enum = counts.longest_enum.max(length);
    }
    for_each_child(schema, "", &mut |child| {
        if let Value::Object(schema) = child.schema {
            count(schema, counts);
        }
    });
}

/// The objects and arrays that stand inside each other, with what is referred to; a schema that refers to itself
/// counts once.
fn levels(root: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(root, 0, Vec::<&str>::new())];
    while let Some((schema, above, followed)) = open.pop() {
        let Some(map) = schema.as_object() else { continue };
        let own = map.contains_key("properties") || map.contains_key("items");
        let level = above + usize::from(own);
        deepest = deepest.max(level);
        if deepest > LEVELS {
            break;
        }
        if let Some(name) = map.get("$ref").and_then(Value::as_str)
            && !followed.contains(&name)
            && let Some(target) = name.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
        {
            let followed = followed.iter().copied().chain([name]).collect();
            open.push((target, level, followed));
        }
        for_each_child(map, "", &mut |child| {
            if child.keyword != "$defs" {
                open.push((child.schema, level, followed.clone()));
            }
        });
    }
    deepest
}
