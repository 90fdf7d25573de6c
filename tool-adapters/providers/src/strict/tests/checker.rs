//! The providers' strict rules as their documents state them, read independently of what writes the schemas.

use crate::Provider;
use serde_json::{Map, Value};

/// Everything that a provider would refuse.
pub(crate) fn problems(provider: Provider, schema: &Value) -> Vec<String> {
    let mut checker = Checker {
        open_ai: is_open_ai(provider),
        root: schema,
        found: Vec::new(),
    };
    checker.root();
    checker.schema(schema, "", 1);
    checker.found
}

fn is_open_ai(provider: Provider) -> bool {
    matches!(provider, Provider::OpenAiChat | Provider::OpenAiResponses)
}

const OPEN_AI: [&str; 20] = [
    "type",
    "description",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "anyOf",
    "$ref",
    "$defs",
];
const ANTHROPIC: [&str; 10] = [
    "type",
    "description",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "anyOf",
];
const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

struct Checker<'a> {
    open_ai: bool,
    root: &'a Value,
    found: Vec<String>,
}

impl<'a> Checker<'a> {
    fn problem(&mut self, at: &str, what: &str) {
        self.found.push(format!("{at}: {what}"));
    }

    fn root(&mut self) {
        if self.root["type"] != "object" || self.root.get("anyOf").is_some() {
            self.problem("", "the root is one object");
        }
    }

    fn schema(&mut self, schema: &'a Value, at: &str, level: usize) {
        let Some(map) = schema.as_object() else {
            self.problem(at, "not an object");
            return;
        };
        self.keywords(map, at);
        let nested = map.contains_key("properties") || map.contains_key("items");
        if self.open_ai && nested && level > 10 {
            self.problem(at, "deeper than ten levels");
        }
        if let Some(reference) = map.get("$ref") {
            let target = reference
                .as_str()
                .and_then(|it| self.root.pointer(it.strip_prefix('#')?));
            if map.len() > 1 || target.is_none() {
                self.problem(at, "a reference stands alone and leads somewhere");
            }
            return;
        }
        if let Some(branches) = map.get("anyOf").and_then(Value::as_array) {
            for (number, branch) in branches.iter().enumerate() {
                self.schema(branch, &format!("{at}/anyOf/{number}"), level);
            }
        } else {
            self.types(map, at, level);
        }
        for (name, schema) in map
            .get("$defs")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            self.schema(schema, &format!("{at}/$defs/{name}"), 1);
        }
    }

    fn keywords(&mut self, map: &Map<String, Value>, at: &str) {
        for (keyword, value) in map {
            let known = if self.open_ai {
                OPEN_AI.contains(&keyword.as_str())
            } else {
                ANTHROPIC.contains(&keyword.as_str())
            };
            let format = keyword == "format"
                && (FORMATS.iter().any(|it| value == it) || !self.open_ai && value == "uri");
            if !known && !format {
                self.problem(at, &format!("`{keyword}` is not supported"));
            }
            if keyword == "format" && !format {
                self.problem(at, &format!("format {value} is not supported"));
            }
            if keyword == "pattern"
                && ["(?=", "(?!", "(?<"]
                    .iter()
                    .any(|it| value.as_str().is_some_and(|text| text.contains(it)))
            {
                self.problem(at, "lookaround");
            }
            if keyword == "minItems"
                && !self.open_ai
                && value.as_u64().is_none_or(|least| least > 1)
            {
                self.problem(at, "minItems is 0 or 1");
            }
            if keyword == "enum"
                && value.as_array().is_none_or(|values| {
                    values.is_empty() || values.iter().any(|it| it.is_object() || it.is_array())
                })
            {
                self.problem(at, "an enum lists scalars");
            }
        }
    }

    fn types(&mut self, map: &'a Map<String, Value>, at: &str, level: usize) {
        let types: Vec<&str> = match map.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => {
                self.problem(at, "no type");
                return;
            }
        };
        if types.contains(&"null")
            && types.len() > 1
            && map
                .get("enum")
                .and_then(Value::as_array)
                .is_some_and(|values| !values.contains(&Value::Null))
        {
            self.problem(at, "null is a type and not in the enum");
        }
        if types.contains(&"object") {
            self.object(map, at, level);
        }
        if types.contains(&"array") {
            match map.get("items") {
                Some(items) => self.schema(items, &format!("{at}/items"), level + 1),
                None => self.problem(at, "an array without items"),
            }
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>, at: &str, level: usize) {
        if map.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.problem(at, "an open object");
        }
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let Some(named) = map.get("properties").and_then(Value::as_object) else {
            self.problem(at, "no properties");
            return;
        };
        if required.iter().any(|name| !named.contains_key(*name)) {
            self.problem(at, "a required property that is not there");
        }
        for (name, schema) in named {
            if self.open_ai && !required.contains(&name.as_str()) {
                self.problem(at, &format!("`{name}` is not required"));
            }
            self.schema(schema, &format!("{at}/properties/{name}"), level + 1);
        }
    }
}

#[test]
fn the_checker_sees_what_is_wrong() {
    use serde_json::json;
    let good = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    assert_eq!(problems(Provider::OpenAiChat, &good), Vec::<String>::new());
    for (pointer, value) in [
        ("/additionalProperties", json!(true)),
        ("/required", json!([])),
        ("/properties/a", json!({})),
        ("/properties/a", json!({"type": "string", "minLength": 1})),
        ("/properties/a", json!({"type": "array"})),
        (
            "/properties/a",
            json!({"type": ["string", "null"], "enum": ["a"]}),
        ),
        ("/properties/a", json!({"$ref": "#", "description": "x"})),
        (
            "/properties/a",
            json!({"type": "string", "pattern": "(?=a)"}),
        ),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect("a place") = value;
        assert!(!problems(Provider::OpenAiChat, &bad).is_empty(), "{bad}");
    }
}
