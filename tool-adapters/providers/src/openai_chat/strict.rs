//! OpenAI's strict schemas, and their limits.

use crate::report::NotStrict;
use crate::schema::document::{for_each_schema, for_each_subschema};
use crate::strict::budget::{StrictBudget, StrictForm, StrictRules, check_limits};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The strict tools of Chat Completions and Responses.
pub(crate) const STRICT: StrictRules = StrictRules {
    form: &StrictForm {
        all_required: true,
        references: true,
        bounds: true,
        lengths: true,
        pattern: is_regular,
        formats: &[
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uuid",
        ],
        check_size,
    },
    budget: StrictBudget::Unlimited,
};

const MAX_LEVELS: usize = 10;
const MAX_PROPERTIES: usize = 5_000;
const MAX_ENUM_VALUES: usize = 1_000;
const MAX_CHARACTERS: usize = 120_000;
/// An enum with more values than this has a limit of characters too.
const LONG_ENUM: usize = 250;
const MAX_LONG_ENUM_CHARACTERS: usize = 15_000;

#[derive(Default)]
struct SchemaSize {
    properties: usize,
    enum_values: usize,
    characters: usize,
    longest_enum: usize,
}

fn check_size(root: &Map<String, Value>) -> Result<(), NotStrict> {
    let root = Value::Object(root.clone());
    let mut size = SchemaSize::default();
    for_each_schema(&root, &mut |schema| size.add(schema));
    check_limits([
        ("levels", levels(&root), MAX_LEVELS),
        ("properties", size.properties, MAX_PROPERTIES),
        ("enum values", size.enum_values, MAX_ENUM_VALUES),
        (
            "characters of names and enum values",
            size.characters,
            MAX_CHARACTERS,
        ),
        (
            "characters of one enum",
            size.longest_enum,
            MAX_LONG_ENUM_CHARACTERS,
        ),
    ])
}

impl SchemaSize {
    fn add(&mut self, schema: &Value) {
        let names = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(Map::keys)
        };
        let characters = |text: &str| text.chars().count();
        self.properties += names("properties").count();
        self.characters += names("properties")
            .chain(names("$defs"))
            .map(|name| characters(name))
            .sum::<usize>();
        let values = schema
            .get("enum")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let length = values
            .iter()
            .chain(schema.get("const"))
            .filter_map(Value::as_str)
            .map(characters)
            .sum();
        self.enum_values += values.len();
        self.characters += length;
        if values.len() > LONG_ENUM {
            self.longest_enum = self.longest_enum.max(length);
        }
    }
}

/// Counts the nested objects and arrays, with those behind references. A recursive schema counts
/// once.
fn levels(root: &Value) -> usize {
    let mut deepest = 0;
    // What a reference adds below a level is the same each time.
    let mut followed_at = HashSet::new();
    let mut open = vec![(root, 0, Vec::<&str>::new())];
    while let Some((schema, above, followed)) = open.pop() {
        let Some(map) = schema.as_object() else {
            continue;
        };
        let is_level = map.contains_key("properties") || map.contains_key("items");
        let level = above + usize::from(is_level);
        deepest = deepest.max(level);
        if deepest > MAX_LEVELS {
            break;
        }
        if let Some(name) = map.get("$ref").and_then(Value::as_str)
            && !followed.contains(&name)
            && followed_at.insert((name, level))
            && let Some(target) = name
                .strip_prefix('#')
                .and_then(|pointer| root.pointer(pointer))
        {
            let followed = followed.iter().copied().chain([name]).collect();
            open.push((target, level, followed));
        }
        for_each_subschema(map, "", &mut |child| {
            if child.keyword != "$defs" {
                open.push((child.place.schema, level, followed.clone()));
            }
        });
    }
    deepest
}

/// Returns true for a pattern without lookaround and references to groups, which no finite
/// automaton has.
fn is_regular(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '(']) {
        let (_, found) = rest.split_at(at);
        let escaped = found.strip_prefix('\\');
        if ["(?=", "(?!", "(?<=", "(?<!"]
            .iter()
            .any(|start| found.starts_with(start))
            || escaped.is_some_and(|rest| {
                rest.starts_with(|it: char| it == 'k' || it.is_ascii_digit() && it != '0')
            })
        {
            return false;
        }
        let mut letters = found.chars();
        letters.next();
        if escaped.is_some() {
            letters.next();
        }
        rest = letters.as_str();
    }
    true
}
