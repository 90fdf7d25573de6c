//! Instances of a schema, and some that nearly match it.

use crate::json::Json;
use crate::tape::Tape;
use serde_json::{Map, Value, json};

/// The depth below which only required properties are generated.
const DEPTH: usize = 7;

/// Generates instances of one schema.
pub(crate) struct Maker<'a> {
    pub root: &'a Value,
    pub tape: &'a Tape<'a>,
}

impl Maker<'_> {
    /// Generates an instance of the whole schema.
    pub(crate) fn arguments(&self) -> Json {
        self.make(self.root, 0)
    }

    fn make(&self, schema: &Value, depth: usize) -> Json {
        let Some(map) = schema.as_object() else {
            return self.anything(depth);
        };
        if depth > 3 * DEPTH {
            return Json::raw("null");
        }
        for keyword in ["$ref", "allOf", "anyOf", "oneOf"] {
            if let Some(inner) = map.get(keyword) {
                return self.make(&self.merged(map, keyword, inner, depth), depth + 1);
            }
        }
        if let Some(value) = map.get("const") {
            return Json::of(value);
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            return Json::of(self.tape.pick(values));
        }
        for known in ["default", "examples"] {
            if let Some(value) = map.get(known).filter(|_| self.tape.one_in(8)) {
                return Json::of(value);
            }
        }
        self.of_type(map, depth)
    }

    /// Replaces one keyword of the schema by its meaning.
    fn merged(
        &self,
        map: &Map<String, Value>,
        keyword: &str,
        inner: &Value,
        depth: usize,
    ) -> Value {
        let mut all = map.clone();
        all.remove(keyword);
        let parts: Vec<&Value> = match inner {
            Value::String(name) => self
                .root
                .pointer(name.trim_start_matches('#'))
                .into_iter()
                .collect(),
            Value::Array(list) if keyword == "allOf" => list.iter().collect(),
            // The last alternatives are `null` and those that are not recursive.
            Value::Array(list) if depth > DEPTH => list.iter().take(1).collect(),
            Value::Array(list) => vec![self.tape.pick(list)],
            _ => Vec::new(),
        };
        for part in parts.into_iter().filter_map(Value::as_object) {
            for (key, value) in part {
                match (all.get_mut(key), value) {
                    (Some(Value::Object(there)), Value::Object(more)) => there.extend(more.clone()),
                    (Some(Value::Array(there)), Value::Array(more)) if key != "enum" => {
                        there.extend(more.clone());
                    }
                    _ => {
                        all.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        Value::Object(all)
    }

    fn of_type(&self, map: &Map<String, Value>, depth: usize) -> Json {
        let kind = match map.get("type") {
            Some(Value::Array(names)) => self.tape.pick(names).as_str().unwrap_or_default(),
            Some(Value::String(name)) => name,
            _ if map.contains_key("properties") => "object",
            _ if map.contains_key("format") || map.contains_key("pattern") => "string",
            _ => return self.anything(depth),
        };
        match kind {
            "object" => self.object(map, depth),
            "array" => self.array(map, depth),
            "string" => Json::Text(self.text(map)),
            "integer" => Json::Raw(self.number(map, true)),
            "number" => Json::Raw(self.number(map, false)),
            "boolean" => Json::raw(self.tape.one_in(2)),
            _ => Json::raw("null"),
        }
    }

    fn object(&self, map: &Map<String, Value>, depth: usize) -> Json {
        let required: Vec<&Value> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .collect();
        let is_required = |name: &str| required.iter().any(|there| **there == name);
        let mut entries = Vec::new();
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if is_required(name) || (depth < DEPTH && self.tape.one_in(2)) {
                entries.push((name.clone(), self.make(schema, depth + 1)));
            }
        }
        let more = if depth < DEPTH { self.tape.below(4) } else { 0 };
        for at in 0..more {
            let key = self
                .tape
                .pick(&["extra", "b c", "", "é", "X", "longer name", "a~/b"]);
            if let Some((_, by_pattern)) = map
                .get("patternProperties")
                .and_then(|all| all.as_object()?.iter().next())
            {
                let key = self.tape.pick(&[
                    "0",
                    "7",
                    "-3",
                    "4294967295",
                    "4294967296",
                    "007",
                    "x",
                    "٣",
                    "1.0",
                    "-0",
                ]);
                entries.push((
                    format!("{key}{}", "0".repeat(at)),
                    self.make(by_pattern, depth + 1),
                ));
            } else if let Some(schema) = map
                .get("additionalProperties")
                .filter(|schema| **schema != json!(false))
            {
                entries.push((format!("{key}{at}"), self.make(schema, depth + 1)));
            } else if !map.contains_key("additionalProperties") && self.tape.one_in(3) {
                entries.push((format!("unknown{at}"), self.anything(depth + 1)));
            }
        }
        let at = self.tape.below(entries.len().max(1));
        entries.rotate_left(at);
        Json::Object(entries)
    }

    fn array(&self, map: &Map<String, Value>, depth: usize) -> Json {
        let bound = |keyword: &str| {
            map.get(keyword)
                .and_then(Value::as_u64)
                .and_then(|count| usize::try_from(count).ok())
        };
        let least = bound("minItems").unwrap_or(0);
        let most = bound("maxItems").unwrap_or(least + 3).max(least);
        let mut count = if depth < DEPTH {
            least + self.tape.below(most - least + 1)
        } else {
            least
        };
        if self.tape.one_in(12) {
            count = if self.tape.one_in(2) {
                most + 1
            } else {
                least.saturating_sub(1)
            };
        }
        let first = map
            .get("prefixItems")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let any = Value::Bool(true);
        let item = |at: usize| {
            first
                .get(at)
                .or_else(|| map.get("items"))
                .filter(|item| item.is_object())
                .unwrap_or(&any)
        };
        Json::List(
            (0..count)
                .map(|at| self.make(item(at), depth + 1))
                .collect(),
        )
    }

    fn text(&self, map: &Map<String, Value>) -> String {
        let has = |keyword: &str| map.get(keyword).and_then(Value::as_str);
        if let Some(samples) = has("format")
            .map(of_format)
            .filter(|samples| !samples.is_empty())
        {
            return (*self.tape.pick(samples)).to_owned();
        }
        if has("pattern").is_some() {
            let samples = [
                "abc", "ab", "a", "1", "123", "ff", "00c0ffee", "", "abcdef", "xyz", "x1", "1234",
                "ABC", "abc\n",
            ];
            return (*self.tape.pick(&samples)).to_owned();
        }
        let bound = |keyword: &str| {
            map.get(keyword)
                .and_then(Value::as_u64)
                .and_then(|count| usize::try_from(count).ok())
        };
        let least = bound("minLength").unwrap_or(0);
        let most = bound("maxLength").unwrap_or(least + 6);
        let mut count = least + self.tape.below(most.saturating_sub(least) + 1);
        if self.tape.one_in(12) {
            count = if self.tape.one_in(2) {
                most + 1
            } else {
                least.saturating_sub(1)
            };
        }
        (0..count).map(|_| *self.tape.pick(&LETTERS)).collect()
    }

    fn number(&self, map: &Map<String, Value>, whole: bool) -> String {
        let bound = |keyword: &str| map.get(keyword).filter(|bound| bound.is_number());
        let low = bound("minimum").or_else(|| bound("exclusiveMinimum"));
        let high = bound("maximum").or_else(|| bound("exclusiveMaximum"));
        let near = match (self.tape.below(5), low, high) {
            (0, Some(low), _) | (1, Some(low), None) => Some(low),
            (1, _, Some(high)) | (0, None, Some(high)) => Some(high),
            _ => None,
        };
        if let Some(bound) = near {
            return beside(bound, self.tape);
        }
        let least = low.and_then(Value::as_i64).unwrap_or(-1000).max(-1000);
        let most = high
            .and_then(Value::as_i64)
            .unwrap_or(1000)
            .clamp(least, least.saturating_add(2000));
        let span = usize::try_from(most.abs_diff(least)).unwrap_or(0);
        let value = least + i64::try_from(self.tape.below(span + 1)).unwrap_or(0);
        match self.tape.below(if whole { 8 } else { 6 }) {
            1 | 2 if !whole => format!("{value}.{}", self.tape.below(1000)),
            3 => format!("{value}.0"),
            4 => format!("{value}e0"),
            5 if value != 0 => format!("{value}0E-1"),
            _ => value.to_string(),
        }
    }

    /// Generates any JSON value.
    pub(crate) fn anything(&self, depth: usize) -> Json {
        let leaf = || {
            Json::raw(self.tape.pick(&[
                "null",
                "true",
                "0",
                "-1",
                "5.0",
                "0.5",
                "18446744073709551616",
            ]))
        };
        match self.tape.below(if depth < DEPTH { 7 } else { 3 }) {
            0..=2 => leaf(),
            3 | 4 => Json::Text(
                (0..self.tape.below(4))
                    .map(|_| *self.tape.pick(&LETTERS))
                    .collect(),
            ),
            5 => Json::List(
                (0..self.tape.below(3))
                    .map(|_| self.anything(depth + 2))
                    .collect(),
            ),
            _ => {
                let entry = |at: usize| (format!("key{at}"), self.anything(depth + 2));
                Json::Object((0..self.tape.below(3)).map(entry).collect())
            }
        }
    }
}

const LETTERS: [char; 12] = [
    'a', 'b', 'Z', '7', ' ', 'é', '"', '\\', '\n', '𝄞', '\u{7f}', 'ß',
];

/// Generates a bound, or a number next to it, in some spelling.
fn beside(bound: &Value, tape: &Tape<'_>) -> String {
    let step = [0, 1, -1][tape.below(3)];
    if let Some(exact) = bound
        .as_u64()
        .map(i128::from)
        .or_else(|| bound.as_i64().map(i128::from))
    {
        let value = exact + step;
        return match tape.below(4) {
            3 => format!("{value}.0"),
            2 if value % 10 == 0 => format!("{}e1", value / 10),
            _ => value.to_string(),
        };
    }
    let float = bound.as_f64().unwrap_or(0.0);
    let moved = match step {
        1 => float.next_up(),
        -1 => float.next_down(),
        _ => float,
    };
    if moved.is_finite() {
        Value::from(moved).to_string()
    } else {
        "1e308".to_owned()
    }
}

/// Generates texts of a format, and some that nearly match it.
fn of_format(format: &str) -> &'static [&'static str] {
    match format {
        "date-time" => &[
            "2026-11-20T09:30:00Z",
            "2026-11-20T09:30:00+01:00",
            "2026-11-20t09:30:00.123456789z",
            "2026-11-20T09:30:00-00:00",
            "2026-11-20 09:30:00Z",
            "2026-11-20T09:30:00",
            "2026-11-20",
            "2026-02-29T00:00:00Z",
            "2024-02-29T00:00:00Z",
            "2016-12-31T23:59:60Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T09:30Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "2026-11-20T09:30:00.1234567890123Z",
            "2026-11-20T09:30:00+25:00",
            "2026-11-20T09:30:00+24:00",
            "2026-11-20T09:30:00-23:59",
            "2026-11-20T09:30:00+01:60",
            "2026-11-20T09:30:60Z",
            "2026-11-20T00:59:60+01:00",
            "2026-11-20T23:59:60+01:00",
            "2026-11-20T23:59:60.5-00:00",
            "2026-11-20T23:59:61Z",
            "2026-11-31T09:30:00Z",
            "2026-00-10T09:30:00Z",
            "2026-11-20T09:30:00+0100",
            "-026-11-20T09:30:00Z",
            "2026-11-20T+9:30:00Z",
            "2026-11-20T09:30:00+-1:00",
            "2026-11-20T09:30:00+01:00[Europe/Berlin]",
            "2026-11-20T09:30:00.Z",
            "2026-11-20T09:30:00,5Z",
            "+002026-11-20T09:30:00Z",
        ],
        "date" => &[
            "2026-11-20",
            "2024-02-29",
            "2026-02-29",
            "2026-13-01",
            "2026-1-1",
            "20261120",
            "2026-11-20Z",
        ],
        "time" => &[
            "09:30:00Z",
            "09:30:00+01:00",
            "09:30:00.5z",
            "09:30:00",
            "24:00:00Z",
            "23:59:60Z",
            "9:30:00Z",
        ],
        "duration" => &[
            "PT30M",
            "P1DT2H",
            "P1W",
            "P1W2D",
            "PT",
            "P",
            "30M",
            "PT0.5S",
            "-PT1S",
            "P1Y2M3DT4H5M6S",
        ],
        "email" => &[
            "a@example.com",
            "a.b+c@example.com",
            "a",
            "@example.com",
            "a@",
            "a b@example.com",
            "a@[127.0.0.1]",
        ],
        "hostname" => &[
            "example.com",
            "localhost",
            "a-b.example",
            "-a.example",
            "a_b.example",
            "",
            "example.com.",
            "é.example",
        ],
        "ipv4" => &[
            "192.0.2.1",
            "0.0.0.0",
            "256.0.0.1",
            "1.2.3",
            "01.2.3.4",
            "1.2.3.4 ",
            "::1",
        ],
        "ipv6" => &[
            "2001:db8::1",
            "::",
            "::ffff:192.0.2.1",
            "2001:db8:::1",
            "g::1",
            "fe80::1%eth0",
            "1.2.3.4",
            "2001:DB8::1",
        ],
        "uuid" => &[
            "0190a6f0-7b3c-7cc4-8e6f-2f9d1c5b4a32",
            "0190A6F0-7B3C-7CC4-8E6F-2F9D1C5B4A32",
            "0190a6f07b3c7cc48e6f2f9d1c5b4a32",
            "{0190a6f0-7b3c-7cc4-8e6f-2f9d1c5b4a32}",
            "0190a6f0-7b3c-7cc4-8e6f-2f9d1c5b4a3",
        ],
        "uri" => &["https://example.com/", "no uri"],
        _ => &[],
    }
}
