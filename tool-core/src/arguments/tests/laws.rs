//! The laws of coercion for any schema and any value.

use crate::arguments::coerce::Coercions;
use crate::arguments::prepare::prepare;
use crate::arguments::tests::coerce_with;
use crate::arguments::validate::validate;
use crate::schema::example::minimal_example;
use crate::schema::tests::evaluation;
use crate::schema::validator::Validator;
use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-20i64..20).prop_map(Value::from),
        (-20i32..20).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        Union::new(
            [
                "",
                "5",
                "-3",
                "2.5",
                "1e2",
                "true",
                "false",
                "null",
                "[1]",
                "[\"1\"]",
                "{\"a\":\"1\"}",
                "a",
                " 5",
                "1e400"
            ]
            .map(|text| Just(Value::from(text)).boxed())
        ),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner.clone(), 0..4)
                .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            // Models send the JSON of a value in place of the value.
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = Union::new(
        [
            json!(true),
            json!({"type": "integer"}),
            json!({"type": "integer", "minimum": 0, "maximum": 10}),
            json!({"type": "number"}),
            json!({"type": "boolean"}),
            json!({"type": "string"}),
            json!({"type": "null"}),
            json!({"type": ["integer", "null"]}),
            json!({"enum": ["a", "5"]}),
            json!({"enum": [1, 2, true]}),
            json!({"const": 5}),
            json!({"$ref": "#/$defs/tree"}),
        ]
        .map(|schema| Just(schema).boxed()),
    );
    leaf.prop_recursive(3, 16, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            list.clone().prop_map(|items| json!({"type": "array", "prefixItems": items})),
            list.clone().prop_map(|branches| json!({"anyOf": branches})),
            list.clone().prop_map(|branches| json!({"oneOf": branches})),
            list.prop_map(|branches| json!({"allOf": branches})),
            inner.clone().prop_map(|rest| json!({"type": "object", "additionalProperties": rest})),
            (prop::collection::btree_map("[abc]", inner, 0..3), any::<bool>(), any::<bool>()).prop_map(
                |(properties, closed, required)| {
                    let names: Vec<_> = properties.keys().take(1).filter(|_| required).cloned().collect();
                    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": !closed})
                }
            ),
        ]
    })
    .prop_map(|schema| {
        let tree = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/tree"}}});
        json!({"allOf": [schema], "$defs": {"tree": tree}})
    })
}

/// `PROPTEST_CASES` asks for more.
fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(1000),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn coercion_leaves_alone_what_is_accepted(schema in schema(), value in value()) {
        let validator = Validator::new(schema.clone());
        if validator.is_valid(&value) {
            let mut copy = value.clone();
            let notes = coerce_with(&mut copy, &schema, Coercions::ALL);
            prop_assert_eq!(copy, value);
            prop_assert!(notes.is_empty());
        }
    }

    #[test]
    fn coercion_reports_a_change_exactly_if_it_makes_one(schema in schema(), value in value()) {
        let mut copy = value.clone();
        let notes = coerce_with(&mut copy, &schema, Coercions::ALL);
        prop_assert_eq!(copy == value, notes.is_empty(), "{:?}", notes);
    }

    #[test]
    fn coercing_twice_is_coercing_once(schema in schema(), value in value()) {
        let mut once = value;
        coerce_with(&mut once, &schema, Coercions::ALL);
        let mut twice = once.clone();
        coerce_with(&mut twice, &schema, Coercions::ALL);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn there_is_a_problem_exactly_if_the_schema_refuses(schema in schema(), value in value()) {
        let validator = Validator::new(schema);
        prop_assert_eq!(validate(&validator, &value).is_empty(), validator.is_valid(&value));
    }

    #[test]
    fn a_refusal_by_any_keyword_names_a_problem(schema in evaluation::schema(), value in evaluation::value()) {
        let validator = Validator::new(schema.clone());
        let problems = validate(&validator, &value);
        prop_assert_eq!(problems.is_empty(), validator.is_valid(&value), "{} {}", schema, value);
        prop_assert!(!problems.iter().any(|problem| problem.to_string().contains("steps")), "{} {}", schema, value);
    }

    #[test]
    fn what_is_prepared_is_accepted(schema in schema(), value in value()) {
        let validator = Validator::new(schema.clone());
        if let Ok(prepared) = prepare(&value.to_string(), None, &validator, 1 << 20, Coercions::ALL) {
            prop_assert!(validator.is_valid(&serde_json::from_str(&prepared.text).expect("it is JSON")));
        }
    }

    #[test]
    fn an_example_can_always_be_made(schema in schema()) {
        minimal_example(&schema, &schema);
    }

    #[test]
    fn a_text_becomes_the_number_that_it_spells(text in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?") {
        let mut value = Value::from(text.as_str());
        coerce_with(&mut value, &json!({"type": "number"}), Coercions::ALL);
        if let Value::Number(number) = &value {
            let spelled: f64 = text.parse().expect("the grammar is one that Rust reads");
            prop_assert_eq!(number.as_f64(), Some(spelled));
        }
    }
}
