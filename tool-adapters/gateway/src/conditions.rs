//! The calls about which a rule of a policy asks a person: all of them, or those that meet a
//! condition. Patterns of arguments are compared with values, not with their spelling.

use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use tool_core::text::matches_wildcards;

/// The calls about which a rule asks a person.
#[derive(Clone, Debug)]
pub(crate) enum Asks {
    /// None. The rule takes back what the rules before it ask.
    Never,
    /// All, for this reason.
    Always(String),
    /// Those with an argument that has its pattern.
    Arguments(BTreeMap<String, String>),
}

impl Asks {
    /// Returns the reason for which a person is asked about a call, or `None` if the call needs no
    /// approval. `schema` is that of the tool's arguments.
    pub(crate) fn reason(&self, arguments: &str, schema: &Value) -> Option<String> {
        match self {
            Self::Never => None,
            Self::Always(reason) => Some(reason.clone()),
            Self::Arguments(patterns) => met_patterns(patterns, arguments, schema),
        }
    }

    /// Returns the condition in words, for `--check`. Returns `None` if there is none.
    pub(crate) fn condition(&self) -> Option<String> {
        match self {
            Self::Never | Self::Always(_) => None,
            Self::Arguments(patterns) => {
                let words = patterns
                    .iter()
                    .map(|(argument, pattern)| in_words(argument, pattern));
                Some(words.collect::<Vec<_>>().join(" or "))
            }
        }
    }

    /// Returns the arguments that decide alone: a tool with none of them is never asked about.
    /// Returns `None` if something else decides.
    pub(crate) fn arguments(&self) -> Option<Vec<String>> {
        match self {
            Self::Arguments(patterns) => Some(patterns.keys().cloned().collect()),
            Self::Never | Self::Always(_) => None,
        }
    }
}

/// Returns true if the value of an argument, or a value in it, has a pattern. `schema` is that of
/// the tool's arguments.
fn is_met(argument: &str, pattern: &str, arguments: &Value, schema: &Value) -> bool {
    let Some(value) = arguments.get(argument) else {
        return false;
    };
    let takes_numbers = NumberSearch::new(schema).argument_takes_numbers(argument);
    has_match(value, pattern, takes_numbers)
}

/// Returns the patterns that arguments have, in words. Arguments that cannot be read are a reason
/// of their own.
fn met_patterns(
    patterns: &BTreeMap<String, String>,
    arguments: &str,
    schema: &Value,
) -> Option<String> {
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
        return Some("the arguments cannot be read".to_owned());
    };
    let met = patterns
        .iter()
        .filter(|(argument, pattern)| is_met(argument, pattern, &arguments, schema));
    let met = met.map(|(argument, pattern)| in_words(argument, pattern));
    let met = met.collect::<Vec<_>>();
    (!met.is_empty()).then(|| met.join(", "))
}

/// Says in words that an argument has its pattern.
fn in_words(argument: &str, pattern: &str) -> String {
    format!("`{argument}` matches `{pattern}`")
}

fn has_match(value: &Value, pattern: &str, takes_numbers: bool) -> bool {
    match value {
        Value::Array(items) => items
            .iter()
            .any(|item| has_match(item, pattern, takes_numbers)),
        Value::Object(members) => members
            .values()
            .any(|member| has_match(member, pattern, takes_numbers)),
        Value::Number(number) => matches_number(number, pattern),
        Value::String(text) => {
            // A server may read a text as a number where its schema takes both.
            let number = || number_in(text.trim());
            matches_wildcards(pattern, text)
                || (takes_numbers
                    && number().is_some_and(|number| matches_number(&number, pattern)))
        }
        other => matches_wildcards(pattern, &other.to_string()),
    }
}

/// Returns the number that a text spells. Servers read more spellings than JSON has, such as `+500`,
/// `0500` and `500.`.
fn number_in(text: &str) -> Option<Number> {
    let exact = serde_json::from_str::<Number>(text).ok();
    exact.or_else(|| Number::from_f64(text.parse::<f64>().ok()?))
}

/// Returns true if a number equals the number that the pattern spells. A pattern with `*` is
/// compared with the plain decimal digits: `500` for `5e2` and `500.0`.
fn matches_number(number: &Number, pattern: &str) -> bool {
    match serde_json::from_str::<Number>(pattern.trim()) {
        Ok(expected) => are_equal(number, &expected),
        Err(_) => matches_wildcards(pattern, &plain_digits(number)),
    }
}

fn are_equal(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one == other,
        // A float is the nearest one to what was written, so a number that is not told from it
        // counts as equal.
        _ => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => one.partial_cmp(&other) == Some(Ordering::Equal),
            _ => false,
        },
    }
}

fn plain_digits(number: &Number) -> String {
    match (number.as_i128(), number.as_f64()) {
        (None, Some(0.0)) => "0".to_owned(),
        // `Display` of a float writes neither an exponent nor a fraction of zero.
        (None, Some(float)) => float.to_string(),
        _ => number.to_string(),
    }
}

/// Maximum number of schemas in which numbers are searched for one argument. A schema may refer to
/// itself.
const MAX_SCHEMAS: usize = 256;

/// A search for a number that the schema of a tool's arguments allows. What it does not understand
/// allows numbers: a person is asked once too often then.
struct NumberSearch<'a> {
    /// The schema in which references are resolved.
    root: &'a Value,
    /// The schemas that may still be searched.
    left: Cell<usize>,
}

impl<'a> NumberSearch<'a> {
    fn new(root: &'a Value) -> Self {
        Self {
            root,
            left: Cell::new(MAX_SCHEMAS),
        }
    }

    /// Returns false if no value of an argument can be a number or have one in it.
    fn argument_takes_numbers(&self, argument: &str) -> bool {
        self.may_hold(self.root, &|schema| {
            let properties = schema.get("properties");
            let declared = properties.and_then(|properties| properties.get(argument));
            if declared.is_none() && schema.contains_key("patternProperties") {
                return true;
            }

            let declared = declared.or_else(|| schema.get("additionalProperties"));
            declared.is_none_or(|declared| self.takes_numbers(declared))
        })
    }

    /// Returns false if no value can be a number or have one in it.
    fn takes_numbers(&self, schema: &Value) -> bool {
        self.may_hold(schema, &|schema| self.takes_numbers_itself(schema))
    }

    /// Returns false if a condition does not hold for a schema, and so for none of its values. It
    /// has to hold for the schema itself, for all of `allOf`, for one of `anyOf` and of `oneOf`, and
    /// for the target of `$ref`.
    fn may_hold(&self, schema: &Value, holds_for: &dyn Fn(&Map<String, Value>) -> bool) -> bool {
        let Some(left) = self.left.get().checked_sub(1) else {
            return true;
        };
        self.left.set(left);
        let Value::Object(schema) = schema else {
            return *schema != Value::Bool(false);
        };
        let may_hold = |schema: &Value| self.may_hold(schema, holds_for);
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        let target = pointer.and_then(|pointer| self.root.pointer(pointer));
        if reference.is_some() && self.is_early_draft() {
            // What stands beside the reference is ignored.
            return target.is_none_or(may_hold);
        }
        if !holds_for(schema) {
            return false;
        }

        let for_all = schema.get("allOf").and_then(Value::as_array);
        if for_all.is_some_and(|schemas| !schemas.iter().all(may_hold)) {
            return false;
        }
        for keyword in ["anyOf", "oneOf"] {
            let for_one = schema.get(keyword).and_then(Value::as_array);
            if for_one.is_some_and(|schemas| !schemas.iter().any(may_hold)) {
                return false;
            }
        }
        target.is_none_or(may_hold)
    }

    /// Returns true for the drafts 3 to 7 of JSON Schema.
    fn is_early_draft(&self) -> bool {
        let draft = self.root.get("$schema").and_then(Value::as_str);
        draft.is_some_and(|draft| draft.contains("/draft-0"))
    }

    /// Returns false if the type or the listed values of a schema rule out a number.
    fn takes_numbers_itself(&self, schema: &Map<String, Value>) -> bool {
        if let Some(value) = schema.get("const")
            && !has_number(value)
        {
            return false;
        }
        if let Some(Value::Array(values)) = schema.get("enum")
            && !values.iter().any(has_number)
        {
            return false;
        }

        let is_type = |name: &str| match schema.get("type") {
            None => true,
            Some(Value::Array(types)) => types.iter().any(|one| one == name),
            Some(one) => one == name,
        };
        is_type("number")
            || is_type("integer")
            || (is_type("array") && self.items_take_numbers(schema))
            || (is_type("object") && self.members_take_numbers(schema))
    }

    fn items_take_numbers(&self, schema: &Map<String, Value>) -> bool {
        let items = match schema.get("items") {
            // Before 2020-12 an array has the schemas of the first items.
            None | Some(Value::Array(_)) => return true,
            Some(items) => items,
        };
        let first = schema.get("prefixItems").and_then(Value::as_array);
        self.takes_numbers(items)
            || first.is_some_and(|first| first.iter().any(|item| self.takes_numbers(item)))
    }

    fn members_take_numbers(&self, schema: &Map<String, Value>) -> bool {
        let Some(additional) = schema.get("additionalProperties") else {
            return true;
        };
        let mut declared = ["properties", "patternProperties"]
            .iter()
            .filter_map(|keyword| schema.get(*keyword)?.as_object())
            .flat_map(Map::values);
        self.takes_numbers(additional) || declared.any(|one| self.takes_numbers(one))
    }
}

/// The keywords of a schema that may declare arguments beside its `properties`.
const DECLARING: [&str; 8] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "patternProperties",
];

/// Returns false if the schema of a tool's arguments lists them all, without this one.
pub(crate) fn may_have_argument(schema: &Value, argument: &str) -> bool {
    let Value::Object(schema) = schema else {
        return true;
    };
    let properties = schema.get("properties");
    if properties.is_some_and(|properties| properties.get(argument).is_some()) {
        return true;
    }
    if DECLARING
        .iter()
        .any(|keyword| schema.contains_key(*keyword))
    {
        return true;
    }

    match schema.get("additionalProperties") {
        None => properties.is_none(),
        Some(additional) => *additional != Value::Bool(false),
    }
}

/// Returns true if a value is a number or has one in it.
fn has_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Array(items) => items.iter().any(has_number),
        Value::Object(members) => members.values().any(has_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_asked(pattern: &str, schema: &Value, value: &str) -> bool {
        let asks = with_patterns([("amount", pattern)]);
        let schema = json!({"properties": {"amount": schema}});
        let arguments = format!(r#"{{"amount": {value}}}"#);
        asks.reason(&arguments, &schema).is_some()
    }

    fn with_patterns<const N: usize>(patterns: [(&str, &str); N]) -> Asks {
        let owned = patterns.map(|(argument, pattern)| (argument.to_owned(), pattern.to_owned()));
        Asks::Arguments(BTreeMap::from(owned))
    }

    #[test]
    fn numbers_are_compared_by_their_value() {
        let number = json!({"type": "number"});
        for pattern in ["500", "500.0", "5e2", "5E+2", "50*", "5*"] {
            for value in ["500", "500.0", "500.00", "5e2", "5E+2", "0.5e3", "50000e-2"] {
                assert!(is_asked(pattern, &number, value), "{pattern} {value}");
                assert!(
                    is_asked(pattern, &number, &format!("[1, {{\"a\": {value}}}]")),
                    "{pattern} {value}"
                );
            }
        }
        for value in ["501", "50", "5e3", "-500", "500.5"] {
            assert!(!is_asked("500", &number, value), "{value}");
        }
        for value in ["0", "-0", "0.0", "-0.0", "0e5"] {
            assert!(is_asked("0", &number, value), "{value}");
            assert!(is_asked("-0.0", &number, value), "{value}");
        }
    }

    #[test]
    fn large_numbers_are_compared_by_their_value() {
        let number = json!({"type": "integer"});
        let large = "9007199254740993";
        assert!(is_asked(large, &number, large));
        assert!(!is_asked(large, &number, "9007199254740992"));
        for value in ["1e30", "1000000000000000000000000000000", "10e29"] {
            assert!(
                is_asked("1000000000000000000000000000000", &number, value),
                "{value}"
            );
            assert!(is_asked("1000000*", &number, value), "{value}");
        }
    }

    #[test]
    fn texts_are_compared_as_texts() {
        let text = json!({"type": "string"});
        assert!(is_asked("500", &text, r#""500""#));
        assert!(is_asked("500", &text, r#""5\u0030\u0030""#));
        for value in [r#""500.0""#, r#""5e2""#, r#"" 500""#] {
            assert!(!is_asked("500", &text, value), "{value}");
        }
    }

    #[test]
    fn texts_are_numbers_too_where_the_schema_takes_both() {
        let schemas = [
            json!({"type": ["number", "string"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}),
        ];
        for schema in schemas {
            assert!(is_asked("500", &schema, r#"["5e2"]"#), "{schema}");
            assert!(!is_asked("500", &schema, r#"["5e3"]"#), "{schema}");
        }
    }

    #[test]
    fn texts_are_numbers_in_spellings_that_json_has_not() {
        let schema = json!({"type": ["string", "integer"]});
        for value in ["+500", "0500", "500.", ".5e3", " +5e2 "] {
            assert!(
                is_asked("500", &schema, &json!(value).to_string()),
                "{value}"
            );
        }
        for value in ["+501", "nan", "inf", "+", ""] {
            assert!(
                !is_asked("500", &schema, &json!(value).to_string()),
                "{value}"
            );
        }
    }

    #[test]
    fn texts_are_numbers_too_where_no_type_rules_them_out() {
        let schemas = [
            json!(true),
            json!({"title": "Amount"}),
            json!({"type": "object"}),
            json!({"type": ["string", "array"]}),
            json!({"if": {"type": "string"}, "then": {}, "else": {}}),
            json!({"enum": ["5e2", 500]}),
            json!({"anyOf": [{"type": "string"}, {}]}),
            json!({"$ref": "other.json"}),
            json!({"$ref": "#/properties/amount"}),
        ];
        for schema in schemas {
            assert!(is_asked("500", &schema, r#"["5e2"]"#), "{schema}");
        }
    }

    #[test]
    fn arguments_are_searched_where_the_root_declares_them() {
        let number = json!({"properties": {"amount": {}}});
        let text = json!({"properties": {"amount": {"type": "string"}}});
        for (schema, is_asked) in [
            (json!({}), true),
            (json!({"additionalProperties": {"type": "string"}}), false),
            (
                json!({"patternProperties": {"^a": {}}, "additionalProperties": false}),
                true,
            ),
            (json!({"allOf": [number]}), true),
            (json!({"allOf": [number, text]}), false),
            (json!({"anyOf": [text, number]}), true),
            (json!({"oneOf": [text, text]}), false),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": number}}), true),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": text}}), false),
        ] {
            let asks = with_patterns([("amount", "500")]);
            let reason = asks.reason(r#"{"amount": "5e2"}"#, &schema);
            assert_eq!(reason.is_some(), is_asked, "{schema}");
        }
    }

    #[test]
    fn types_and_values_without_numbers_rule_them_out() {
        let schemas = [
            json!(false),
            json!({"const": "5e2"}),
            json!({"enum": ["5e2", ["5e2"]]}),
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}}),
            json!({"allOf": [{}, {"type": ["string", "null"]}]}),
        ];
        for schema in schemas {
            assert!(!is_asked("500", &schema, r#"["5e2"]"#), "{schema}");
        }
    }

    #[test]
    fn early_drafts_ignore_what_is_beside_a_reference() {
        let amount = json!({"$ref": "#/definitions/number", "type": "string"});
        for (draft, is_asked) in [
            ("http://json-schema.org/draft-07/schema#", true),
            ("https://json-schema.org/draft/2020-12/schema", false),
        ] {
            let schema = json!({
                "$schema": draft,
                "definitions": {"number": {}},
                "properties": {"amount": amount},
            });
            let asks = with_patterns([("amount", "500")]);
            let reason = asks.reason(r#"{"amount": "5e2"}"#, &schema);
            assert_eq!(reason.is_some(), is_asked, "{draft}");
        }
    }

    #[test]
    fn a_schema_of_many_references_is_searched_in_part() {
        let references = vec![json!({"$ref": "#/properties/amount"}); 100];
        let schema = json!({"allOf": references});
        assert!(is_asked("500", &schema, r#""5e2""#));
    }

    #[test]
    fn an_argument_is_missing_where_all_others_are_listed() {
        let text = json!({"text": {}});
        for (schema, may_have) in [
            (json!({"properties": {"amount": {}}}), true),
            (json!({"properties": text}), false),
            (
                json!({"properties": text, "additionalProperties": false}),
                false,
            ),
            (
                json!({"properties": text, "additionalProperties": true}),
                true,
            ),
            (json!({"type": "object"}), true),
            (json!({"additionalProperties": false}), false),
            (json!({"$ref": "#/$defs/a", "properties": text}), true),
            (
                json!({"patternProperties": {"^a": {}}, "properties": text}),
                true,
            ),
        ] {
            assert_eq!(may_have_argument(&schema, "amount"), may_have, "{schema}");
        }
    }

    #[test]
    fn reason_names_every_condition_that_is_met() {
        let asks = with_patterns([("path", "/etc/*"), ("mode", "w*"), ("size", "7")]);
        let arguments = r#"{"path": "/etc/passwd", "mode": "write", "size": 8}"#;
        let reason = asks.reason(arguments, &json!({}));
        let expected = "`mode` matches `w*`, `path` matches `/etc/*`";
        assert_eq!(reason.as_deref(), Some(expected));
    }

    #[test]
    fn patterns_are_shown_as_alternatives() {
        let asks = with_patterns([("path", "/etc/*"), ("mode", "w*")]);
        let expected = "`mode` matches `w*` or `path` matches `/etc/*`";
        assert_eq!(asks.condition().as_deref(), Some(expected));
    }

    #[test]
    fn arguments_that_cannot_be_read_are_asked_for() {
        assert!(is_asked("500", &json!({}), "}"));
    }
}
