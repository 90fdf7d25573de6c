//! The texts of the gateway's files: their values, and the line and column of each.

use crate::problems::{Position, Positions, Problems, join};
use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

/// Finds positions in a text.
struct Lines<'a> {
    text: &'a str,
    /// The offsets at which the lines begin.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let later = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(later).collect(),
        }
    }

    fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Position {
            line,
            column: before.chars().count() + 1,
        }
    }
}

/// Reads JSON with comments and trailing commas. Reports what is not JSON, and names that an object
/// has twice.
pub(crate) fn json(text: &str, problems: &Problems) -> Option<Value> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let lines = Lines::new(text);
    let node = match parse_to_ast(text, &CollectOptions::default(), &options) {
        Ok(parsed) => parsed.value,
        Err(error) => {
            let position = lines.position(error.range().start);
            let kind = error.kind().to_string();
            problems.add_at(
                position,
                "",
                format_args!("expected JSON: {}", lower_first(&kind)),
            );
            return None;
        }
    };
    let Some(node) = node else {
        problems.add_at(lines.position(0), "", "expected JSON, got an empty file");
        return None;
    };
    let mut reader = JsonReader {
        lines,
        positions: Positions::new(),
        problems,
    };
    let value = reader.value(&node, "");
    problems.set_positions(reader.positions);
    Some(value)
}

struct JsonReader<'a> {
    lines: Lines<'a>,
    positions: Positions,
    problems: &'a Problems,
}

impl JsonReader<'_> {
    fn value(&mut self, node: &Node<'_>, place: &str) -> Value {
        match node {
            Node::StringLit(text) => Value::String(text.value.to_string()),
            Node::NumberLit(number) => number
                .value
                .parse::<Number>()
                .map_or_else(|_| number.value.into(), Value::Number),
            Node::BooleanLit(flag) => Value::Bool(flag.value),
            Node::NullKeyword(_) => Value::Null,
            Node::Array(items) => {
                let items = items.elements.iter().enumerate();
                Value::Array(
                    items
                        .map(|(at, item)| self.item(item, format!("{place}[{at}]")))
                        .collect(),
                )
            }
            Node::Object(object) => {
                let mut members = Map::new();
                for member in &object.properties {
                    let name = member.name.as_str();
                    let place = join(place, name);
                    let position = self.lines.position(member.range.start);
                    let value = self.value(&member.value, &place);
                    if members.insert(name.to_owned(), value).is_some() {
                        // The later value would replace the earlier one.
                        self.problems.add_at(
                            position,
                            &place,
                            "expected a name of its own, got one that is there already; rename or remove one of them",
                        );
                    }
                    self.positions.insert(place, position);
                }
                Value::Object(members)
            }
        }
    }

    fn item(&mut self, node: &Node<'_>, place: String) -> Value {
        let value = self.value(node, &place);
        self.positions
            .insert(place, self.lines.position(node.range().start));
        value
    }
}

/// Reads TOML. Reports each place that is not TOML, and reads the rest.
pub(crate) fn toml(text: &str, problems: &Problems) -> Value {
    let lines = Lines::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut positions = Positions::new();
    let table = toml_table(document.get_ref(), "", &lines, &mut positions);
    problems.set_positions(positions);
    for error in errors {
        // The error's own text has the line, which may have a secret.
        let position = lines.position(error.span().map_or(0, |span| span.start));
        problems.add_broken(
            position,
            format_args!("expected TOML: {}", error.message().replace('\n', "; ")),
        );
    }
    table
}

fn toml_table(
    table: &DeTable<'_>,
    place: &str,
    lines: &Lines<'_>,
    positions: &mut Positions,
) -> Value {
    let mut members = Map::new();
    // In the order of the file, as problems are.
    let mut ordered = table.iter().collect::<Vec<_>>();
    ordered.sort_by_key(|(name, _)| name.span().start);
    for (name, value) in ordered {
        let key = name.get_ref().to_string();
        let place = join(place, &key);
        positions.insert(place.clone(), lines.position(name.span().start));
        members.insert(key, toml_value(value.get_ref(), &place, lines, positions));
    }
    Value::Object(members)
}

fn toml_value(
    value: &DeValue<'_>,
    place: &str,
    lines: &Lines<'_>,
    positions: &mut Positions,
) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            let text = number.as_str();
            i64::from_str_radix(text, number.radix()).map_or_else(|_| text.into(), Value::from)
        }
        DeValue::Float(number) => {
            let text = number.as_str();
            text.parse::<f64>()
                .ok()
                .and_then(Number::from_f64)
                .map_or_else(|| text.into(), Value::Number)
        }
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => {
            let mut values = Vec::new();
            for (at, item) in items.iter().enumerate() {
                let place = format!("{place}[{at}]");
                positions.insert(place.clone(), lines.position(item.span().start));
                values.push(toml_value(item.get_ref(), &place, lines, positions));
            }
            Value::Array(values)
        }
        DeValue::Table(table) => toml_table(table, place, lines, positions),
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let lines = Lines::new("ab\nä€c\n");
        for (offset, line, column) in [(0, 1, 1), (2, 1, 3), (3, 2, 1), (8, 2, 3), (10, 3, 1)] {
            assert_eq!(
                lines.position(offset),
                Position { line, column },
                "{offset}"
            );
        }
    }

    #[test]
    fn deep_json_is_refused() {
        let problems = Problems::new("mcp.json");
        assert_eq!(json(&"[".repeat(100_000), &problems), None);
        let problems = problems.into_vec();
        assert!(problems[0].contains("nesting depth"), "{problems:?}");
    }

    #[test]
    fn numbers_of_both_formats_are_read() {
        let problems = Problems::new("f");
        assert_eq!(
            json("{\"a\": -1.5e2, // b\n}", &problems),
            Some(serde_json::json!({"a": -150.0}))
        );
        assert_eq!(
            toml("a = 0x1F\nb = 1_000\nc = 1.5", &problems),
            serde_json::json!({"a": 31, "b": 1000, "c": 1.5})
        );
        assert_eq!(problems.into_vec(), [""; 0]);
    }
}
