//! The messages that a model reads about its mistakes.
#![expect(
    clippy::needless_pass_by_value,
    reason = "literals read better without a `&`"
)]

use crate::arguments::problem::{Problem, report};
use crate::arguments::tests::{event, problems};
use serde_json::json;

const START: &str = "2026-01-31T09:00:00Z";

fn event_with(name: &str, value: serde_json::Value) -> Vec<String> {
    problems(
        &json!({"title": "a", "start_time": START, name: value}),
        &event(),
    )
}

#[test]
fn a_bound_is_told_with_what_was_sent() {
    assert_eq!(
        event_with("duration_minutes", json!(3)),
        ["`/duration_minutes`: expected a number of at least 5, got 3"]
    );
    assert_eq!(
        event_with("title", json!("a".repeat(81))),
        ["`/title`: expected at most 80 characters, got 81 characters"]
    );
}

#[test]
fn a_type_is_told_with_its_bounds() {
    assert_eq!(
        event_with("duration_minutes", json!("soon")),
        ["`/duration_minutes`: expected an integer from 5 to 480, got \"soon\""]
    );
}
#[test]
fn an_unknown_parameter_is_told_with_the_nearest_name() {
    assert_eq!(
        event_with("colour", json!("red")),
        ["`/colour`: unknown parameter, did you mean `color`?"]
    );
    assert_eq!(
        event_with("start", json!("")),
        ["`/start`: unknown parameter, did you mean `start_time`?"]
    );
    assert_eq!(
        event_with("durationMinutes", json!(5)),
        ["`/durationMinutes`: unknown parameter, did you mean `duration_minutes`?"]
    );
    assert_eq!(
        event_with("xyz", json!("")),
        [
            "`/xyz`: unknown parameter, known: `title`, `start_time`, `duration_minutes`, `attendees`, `color`"
        ]
    );
}

#[test]
fn a_missing_parameter_is_told_with_its_description() {
    assert_eq!(
        problems(&json!({}), &event()),
        [
            "`/start_time`: missing, expected an RFC 3339 date and time, such as \"2026-01-31T09:00:00Z\" (\"Start of the event, RFC 3339\")",
            "`/title`: missing, expected a string (\"Event title\")",
        ]
    );
}

#[test]
fn a_choice_is_told_with_what_there_is_to_choose_from() {
    assert_eq!(
        event_with("color", json!("gren")),
        ["`/color`: expected one of \"red\", \"green\", got \"gren\", did you mean \"green\"?"]
    );
}

#[test]
fn a_format_is_told_in_words() {
    assert_eq!(
        event_with("attendees", json!(["x"])),
        ["`/attendees/0`: expected an e-mail address, got \"x\""]
    );
}

#[test]
fn values_are_shortened_at_a_character() {
    let told = event_with("duration_minutes", json!("ü".repeat(100))).remove(0);
    assert!(told.ends_with("ü..."), "{told}");
    assert!(told.chars().count() < 130, "{told}");
}

#[test]
fn a_tagged_choice_is_judged_by_the_branch_that_was_meant() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"type": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["type", "radius"]},
        {"type": "object", "properties": {"type": {"const": "square"}, "side": {"type": "number"}}, "required": ["type", "side"]},
    ]});
    assert_eq!(
        problems(&json!({"type": "square", "side": "x"}), &schema),
        ["`/side`: expected a number, got \"x\""]
    );
    assert_eq!(
        problems(&json!({"type": "oval"}), &schema),
        ["`/type`: expected one of \"circle\", \"square\", got \"oval\""]
    );
    assert_eq!(
        problems(&json!({"side": 1}), &schema),
        ["`/type`: missing, expected one of \"circle\", \"square\""]
    );
}

#[test]
fn a_choice_by_key_is_judged_by_the_key() {
    let variant = |name: &str| json!({"type": "object", "properties": {name: {"type": "integer"}}, "required": [name], "additionalProperties": false});
    let schema = json!({"oneOf": [variant("a"), variant("b"), {"type": "string", "enum": ["c"]}]});
    assert_eq!(
        problems(&json!({"b": "x"}), &schema),
        ["`/b`: expected an integer, got \"x\""]
    );
    assert_eq!(
        problems(&json!({"d": 1}), &schema),
        ["arguments: expected an object with `a` or an object with `b` or \"c\", got {\"d\":1}"]
    );
}

#[test]
fn an_optional_value_is_judged_by_its_type() {
    let schema = json!({"anyOf": [{"type": "integer", "minimum": 5}, {"type": "null"}]});
    assert_eq!(
        problems(&json!(3), &schema),
        ["arguments: expected a number of at least 5, got 3"]
    );
}

#[test]
fn aliases_are_told_as_the_one_parameter_that_they_are() {
    let schema = json!({
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What"}, "q": {"type": "string"}},
        "additionalProperties": false,
        "allOf": [{"anyOf": [{"required": ["query"]}, {"required": ["q"]}]}, {"not": {"required": ["query", "q"]}}],
    });
    assert_eq!(
        problems(&json!({}), &schema),
        ["`/query`: missing, expected a string (\"What\")"]
    );
    assert_eq!(
        problems(&json!({"query": "a", "q": "b"}), &schema),
        ["`/q`: given together with `query`, which is the same parameter, send one of them"]
    );
}

#[test]
fn other_rules_are_told_in_words_too() {
    assert_eq!(
        problems(&json!([1, 1]), &json!({"uniqueItems": true})),
        ["arguments: expected unique items, got [1,1]"]
    );
    assert_eq!(
        problems(&json!([]), &json!({"minItems": 1})),
        ["arguments: expected at least 1 item, got 0 items"]
    );
    assert_eq!(
        problems(&json!(7), &json!({"multipleOf": 5})),
        ["arguments: expected a multiple of 5, got 7"]
    );
    assert_eq!(
        problems(&json!("B"), &json!({"pattern": "^b$"})),
        ["arguments: expected a string that matches `^b$`, got \"B\""]
    );
    assert_eq!(
        problems(&json!("b"), &json!({"const": "a"})),
        ["arguments: expected \"a\", got \"b\""]
    );
    assert_eq!(
        problems(
            &json!({"from": 1}),
            &json!({"properties": {"to": {"type": "string"}}, "dependentRequired": {"from": ["to"]}})
        ),
        ["`/to`: missing, expected a string"]
    );
}

#[test]
fn a_schema_that_does_not_compile_says_so() {
    let told = problems(&json!({}), &json!({"type": "strange"}));
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("arguments: the tool's schema does not compile"),
        "{told:?}"
    );
}
#[test]
fn the_answer_lists_the_problems_and_shows_valid_arguments() {
    let told = report(
        "create_event",
        &[
            Problem::missing("/title", "a string"),
            Problem::new("", "one JSON object", "[]"),
        ],
        Some(&json!({"title": "text"})),
    );
    assert_eq!(
        told,
        "invalid arguments for `create_event`:\n- /title: missing, expected a string\n- arguments: expected one JSON object, got []\nexample of valid arguments: {\"title\":\"text\"}"
    );
}

#[test]
fn the_answer_stays_short() {
    let many: Vec<Problem> = (0..25)
        .map(|n| Problem::new(format!("/{n}"), "a string", "1"))
        .collect();
    let told = report("t", &many, Some(&json!({})));
    assert_eq!(told.lines().count(), 23);
    assert!(told.contains("\nand 5 more\n"), "{told}");
}

#[test]
fn the_answer_shows_no_arguments_where_none_are_known_to_be_valid() {
    assert_eq!(
        report("t", &[Problem::missing("/a", "a string")], None),
        "invalid arguments for `t`:\n- /a: missing, expected a string"
    );
}

#[test]
fn a_text_of_one_of_several_formats_is_told_by_the_formats() {
    let schema = json!({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]});
    for (value, got) in [(json!("x"), "\"x\""), (json!(7), "7")] {
        let expected = format!("arguments: expected an IPv4 address or an IPv6 address, got {got}");
        assert_eq!(problems(&value, &schema), [expected]);
    }
}

#[test]
fn a_form_without_a_type_is_told_by_its_keywords() {
    let schema = json!({"anyOf": [{"required": ["a"]}, {"pattern": "^x"}, {"minimum": 5}, {"maxItems": 0}], "not": {}});
    let told = problems(
        &json!(null),
        &json!({"properties": {"a": schema}, "required": ["a"]}),
    );
    assert_eq!(told, Vec::<String>::new(), "a null has no property");
    let told = problems(
        &json!({}),
        &json!({"properties": {"a": schema}, "required": ["a"]}),
    );
    let forms =
        "an object with `a` or a string that matches `^x` or a number of at least 5 or an array";
    assert_eq!(told, [format!("`/a`: missing, expected {forms}")]);
}

#[test]
fn keys_that_are_numbers_are_told_so() {
    let map = |pattern: &str| json!({"type": "object", "patternProperties": {pattern: {"type": "integer"}}, "additionalProperties": false});
    let natural = "keys are whole numbers as text, such as \"7\"";
    let schema = map(r"^(0|[1-9]\d*)$");
    assert_eq!(
        problems(&json!({"a": 1}), &schema),
        [format!("`/a`: unknown parameter, the {natural}")]
    );
    assert_eq!(
        problems(&json!([]), &schema),
        [format!(
            "arguments: expected an object whose {natural}, got []"
        )]
    );
    let schema = map(r"^(0|-?[1-9]\d*)$");
    assert_eq!(
        problems(&json!({"a": 1}), &schema),
        [format!("`/a`: unknown parameter, the {natural} or \"-7\"")]
    );
    assert_eq!(
        problems(&json!({"a": 1}), &map("^x-")),
        ["`/a`: unknown parameter, the keys match `^x-`"]
    );
}

#[test]
fn names_that_are_not_allowed_are_told_with_those_that_are() {
    let schema = json!({"type": "object", "propertyNames": {"enum": ["red", "green"]}});
    assert_eq!(
        problems(&json!({"blue": 1}), &schema),
        ["`/blue`: the name \"blue\" is not allowed, names are one of \"red\", \"green\""]
    );
}

#[test]
fn integers_at_a_bound_have_all_their_digits() {
    let of = |bounds: serde_json::Value| json!({"type": "integer", "minimum": bounds[0], "exclusiveMaximum": bounds[1]});
    let two_128 = of(json!([0, 3.402_823_669_209_385e38]));
    assert_eq!(
        problems(&json!(3.402_823_669_209_385e38), &two_128),
        [format!(
            "arguments: expected a number below {0}, got {0}",
            "340282366920938463463374607431768211456"
        )]
    );
    assert_eq!(
        problems(&json!(1e19), &of(json!([0, 9_007_199_254_740_993_u64]))),
        ["arguments: expected a number below 9007199254740993, got 10000000000000000000"]
    );
    let fraction = json!({"type": "number", "maximum": 1.5});
    assert_eq!(
        problems(&json!(1e30), &fraction),
        ["arguments: expected a number of at most 1.5, got 1e+30"]
    );
}

#[test]
fn a_tuple_is_told_with_its_items() {
    let schema = json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2});
    assert_eq!(
        problems(&json!(7), &schema),
        ["arguments: expected an array of 2 items: an integer, a string, got 7"]
    );
    let schema =
        json!({"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 3});
    assert_eq!(
        problems(&json!(7), &schema),
        ["arguments: expected an array of 3 items, each item `true` or `false`, got 7"]
    );
    let letter = json!({"type": "string", "minLength": 1, "maxLength": 1});
    assert_eq!(
        problems(&json!(7), &letter),
        ["arguments: expected a string of 1 character, got 7"]
    );
}

#[test]
fn an_object_is_judged_by_the_only_form_that_it_can_have() {
    let form = |required: &[&str]| json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": required});
    let schema = json!({"anyOf": [{"type": "integer"}, {"type": "string"}, form(&["a", "b"])]});
    assert_eq!(
        problems(&json!({"a": 1}), &schema),
        ["`/b`: missing, expected a value"]
    );
    let schema = json!({"anyOf": [{"type": "integer"}, form(&["b"]), form(&["c"])]});
    assert_eq!(
        problems(&json!({"a": 1}), &schema),
        [
            "arguments: expected an integer or an object with `b` or an object with `c`, got {\"a\":1}"
        ]
    );
}

#[test]
fn a_tag_decides_what_is_missing() {
    let form = |tag: &str, name: &str| json!({"type": "object", "properties": {"kind": {"const": tag}, name: {"type": "integer"}}, "required": ["kind", name]});
    let schema = json!({"oneOf": [form("a", "x"), form("b", "y")]});
    assert_eq!(
        problems(&json!({"kind": "a"}), &schema),
        ["`/x`: missing, expected an integer"]
    );
}
