//! Values are accepted exactly where the jsonschema crate accepts them.

use crate::schema::compiled::CompiledSchema;
use crate::schema::evaluation::{Evaluation, STEPS, is_valid};
use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

fn any_of(values: &[Value]) -> Union<BoxedStrategy<Value>> {
    Union::new(values.iter().map(|value| Just(value.clone()).boxed()))
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let edges = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.0),
        json!(-3),
        json!(2.5),
        json!(1e300),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(""),
        json!("a"),
        json!("ab"),
        json!("ä"),
        json!("2026-01-31"),
        json!("k"),
    ];
    any_of(&edges).prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abk]", inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    any_of(&[
        json!(true),
        json!(false),
        json!({"type": "integer"}),
        json!({"type": ["number", "string"]}),
        json!({"type": "object", "required": ["a"]}),
        json!({"minimum": 0, "exclusiveMaximum": 2.5}),
        json!({"maximum": 9_007_199_254_740_992_u64}),
        json!({"multipleOf": 0.5}),
        json!({"minLength": 1, "maxLength": 1}),
        json!({"pattern": "^a"}),
        json!({"pattern": "^(?!a)"}),
        json!({"format": "date"}),
        json!({"enum": ["a", 1, null, {"a": 1}]}),
        json!({"const": 1}),
        json!({"const": {"k": "a"}}),
        json!({"minItems": 1, "maxItems": 2, "uniqueItems": true}),
        json!({"minProperties": 1, "maxProperties": 2}),
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"properties": {"k": {"const": "a"}}, "required": ["k"], "type": "object"}),
        json!({"properties": {"k": {"const": "ab"}, "a": {"type": "integer"}}, "required": ["k"], "type": "object"}),
        json!({"$ref": "#/$defs/tree"}),
        json!({"$ref": "#leaf"}),
    ])
}

pub(crate) fn schema() -> impl Strategy<Value = Value> {
    let inner = leaf().prop_recursive(3, 24, 4, |inner| {
        let list = || prop::collection::vec(inner.clone(), 1..5);
        let many = prop::collection::vec(inner.clone(), 9..12);
        let keyword = |name: &'static str| inner.clone().prop_map(move |inner| json!({name: inner}));
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            list().prop_map(|all| json!({"allOf": all})),
            list().prop_map(|all| json!({"anyOf": all})),
            many.clone().prop_map(|all| json!({"anyOf": all})),
            many.prop_map(|all| json!({"oneOf": all})),
            list().prop_map(|all| json!({"oneOf": all})),
            keyword("not"),
            keyword("items"),
            keyword("propertyNames"),
            keyword("additionalProperties"),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(condition, then, other)| json!({"if": condition, "then": then, "else": other})),
            pair.clone().prop_map(|(first, rest)| json!({"prefixItems": [first], "items": rest})),
            pair.clone().prop_map(|(first, rest)| json!({"prefixItems": [first], "unevaluatedItems": rest})),
            pair.clone().prop_map(|(item, rest)| json!({"contains": item, "unevaluatedItems": rest})),
            (inner.clone(), 0..3_u8, 0..3_u8)
                .prop_map(|(item, min, max)| json!({"contains": item, "minContains": min, "maxContains": max})),
            pair.clone().prop_map(|(a, rest)| json!({"properties": {"a": a}, "additionalProperties": rest})),
            pair.clone().prop_map(|(a, rest)| json!({"patternProperties": {"[ab]": a}, "additionalProperties": rest})),
            pair.clone().prop_map(|(a, b)| json!({"dependentSchemas": {"a": a, "b": b}})),
            (list(), inner.clone()).prop_map(|(all, rest)| json!({"anyOf": all, "unevaluatedProperties": rest})),
            (list(), inner.clone()).prop_map(|(all, rest)| json!({"allOf": all, "unevaluatedItems": rest})),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(
                |(a, then, rest)| json!({"properties": {"a": a}, "if": {"required": ["b"]}, "then": then, "unevaluatedProperties": rest})
            ),
        ]
    });
    inner.prop_map(|schema| {
        let tree = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}}, "maxProperties": 2});
        let leaf = json!({"$anchor": "leaf", "type": ["string", "null"]});
        json!({"allOf": [schema], "$defs": {"tree": tree, "leaf": leaf}})
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2_000), ..ProptestConfig::default() })]

    #[test]
    fn accepts_what_the_jsonschema_crate_accepts(schema in schema(), values in prop::collection::vec(value(), 8)) {
        let other = jsonschema::options().should_validate_formats(true).build(&schema).expect("a sound schema");
        let compiled = CompiledSchema::new(&schema).expect("a bounded schema");
        for value in values {
            prop_assert_eq!(is_valid(&compiled, &value), other.is_valid(&value), "{} {}", schema, value);
        }
    }
}

/// The files of the JSON Schema test suite that ask for other documents, or for formats that are not checked.
const OTHER: &[&str] = &["refRemote.json", "vocabulary.json", "format.json"];

/// The drafts by their folders in the suite.
const DRAFTS: &[(&str, &str)] = &[
    ("draft4", "http://json-schema.org/draft-04/schema#"),
    ("draft6", "http://json-schema.org/draft-06/schema#"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
    (
        "draft2019-09",
        "https://json-schema.org/draft/2019-09/schema",
    ),
    (
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    ),
];

/// `JSON_SCHEMA_SUITE` names the folder of the suite with one folder for each draft.
#[test]
fn agrees_with_the_json_schema_test_suite() {
    let Some(suite) = std::env::var_os("JSON_SCHEMA_SUITE") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "expected JSON_SCHEMA_SUITE to name the suite's folder"
        );
        println!("skipped: JSON_SCHEMA_SUITE is not set");
        return;
    };
    let mut checked = 0;
    let mut wrong = Vec::new();
    for (draft, name) in DRAFTS {
        for entry in std::fs::read_dir(std::path::Path::new(&suite).join(draft))
            .expect("a folder of the suite")
        {
            let path = entry.expect("an entry").path();
            let is_other = OTHER.iter().any(|file| path.ends_with(file));
            if path.is_dir() || is_other {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a file of the suite");
            for mut group in serde_json::from_str::<Vec<Value>>(&text).expect("groups of tests") {
                // It is read as a plain reference.
                if group["schema"].to_string().contains("$recursiveRef") {
                    continue;
                }
                if let Some(map) = group["schema"].as_object_mut() {
                    map.insert("$schema".to_owned(), (*name).into());
                }
                let (found, problems) = disagreements(&group);
                checked += found;
                wrong.extend(
                    problems
                        .into_iter()
                        .map(|problem| format!("{}: {problem}", path.display())),
                );
            }
        }
    }
    assert!(checked > 4_000, "only {checked} tests were found");
    assert_eq!(wrong, Vec::<String>::new());
}

/// The number of tests in a group, and those whose verdict is another one.
fn disagreements(group: &Value) -> (usize, Vec<String>) {
    let tests = group["tests"].as_array().expect("tests");
    match CompiledSchema::new(&group["schema"]) {
        // Other documents are never fetched, and targets that depend on the way to them are not followed.
        Err(problem) if problem.contains("no single target") => (0, Vec::new()),
        Err(problem) => (0, vec![format!("{}: {problem}", group["description"])]),
        Ok(compiled) => {
            let differs =
                |test: &&Value| is_valid(&compiled, &test["data"]) != (test["valid"] == true);
            let wrong = tests
                .iter()
                .filter(differs)
                .map(|test| format!("{}: {test}", group["description"]));
            (tests.len(), wrong.collect())
        }
    }
}

#[test]
fn deep_values_are_refused_without_a_deep_stack() {
    let compiled = CompiledSchema::new(&json!({"properties": {"a": {"$ref": "#"}}}))
        .expect("a bounded schema");
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!({"a": inner}));
    assert!(is_valid(&compiled, &nested(128)));
    assert!(!is_valid(&compiled, &nested(1_000)));
}

#[test]
fn many_ways_to_one_schema_take_steps_once() {
    let chain = |length: usize| {
        let link = |n: usize| {
            (
                format!("d{n}"),
                json!({"anyOf": [{"$ref": format!("#/$defs/d{}", n + 1)}, {"$ref": format!("#/$defs/d{}", n + 1)}]}),
            )
        };
        let mut all: Map<String, Value> = (0..length).map(link).collect();
        all.insert(format!("d{length}"), json!({"type": "integer"}));
        let schema = CompiledSchema::new(&json!({"$ref": "#/$defs/d0", "$defs": all}))
            .expect("a bounded schema");
        let value = json!("x");
        let mut evaluation = Evaluation::new(&schema);
        assert!(
            !evaluation
                .accepts_by(schema.root(), &value)
                .expect("few steps")
        );
        STEPS - evaluation.steps()
    };
    let short = chain(20);
    let long = chain(40);
    assert!(long <= 2 * short + 10, "{short} steps, then {long}");
}

#[test]
fn tagged_values_are_checked_against_the_branch_of_their_tag() {
    let steps = |count: usize| {
        let branch = |n| json!({"type": "object", "properties": {"t": {"const": format!("t{n}")}}, "required": ["t"]});
        let branches: Vec<_> = (0..count).map(branch).collect();
        let schema = CompiledSchema::new(&json!({"oneOf": branches})).expect("a bounded schema");
        let value = json!({"t": "t7"});
        let mut evaluation = Evaluation::new(&schema);
        assert!(
            evaluation
                .accepts_by(schema.root(), &value)
                .expect("few steps")
        );
        STEPS - evaluation.steps()
    };
    assert_eq!(steps(30), steps(3_000));
}
