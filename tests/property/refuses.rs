//! Refusals: every problem is reported at its place.

use crate::accepts::{config, numbers};
use crate::driver::{accepted, call, schema, tools};
use crate::generate::Maker;
use crate::oracle;
use crate::tape::Tape;
use crate::types::Case;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::cell::Cell;

/// A mistake for each parameter of `many`: the place, the value, and the place of the report.
fn mistakes() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("a", json!(256), "/a"),
        ("b", json!(null), "/b"),
        ("c", json!("yes"), "/c"),
        ("d", json!([1, 40_000, 2, "x"]), "/d/1"),
        ("e", json!("0.5 "), "/e"),
        ("f", json!("LOW"), "/f"),
        ("g", json!({"x": 1, "y": 0.5}), "/g/y"),
        ("h", json!(6), "/h"),
        ("i", json!("four"), "/i"),
        ("j", json!(1), "/j"),
        ("a~/b", json!(1), "/a~0~1b"),
    ]
}

// V2
#[test]
fn each_of_several_errors_is_reported_at_its_place() {
    let all = mistakes();
    for chosen in 1..1_usize << all.len() {
        let mut arguments =
            json!({"a": 1, "b": "", "c": true, "d": [], "f": "Low", "g": {"x": 1, "y": 2}});
        let wrong: Vec<_> = all
            .iter()
            .enumerate()
            .filter(|(at, _)| chosen & (1 << at) != 0)
            .map(|(_, it)| it)
            .collect();
        for (name, value, _) in &wrong {
            arguments[*name] = value.clone();
        }
        let response = call(&tools().coercing, "many", &arguments);
        let told: Vec<&str> = response
            .meta()
            .problems()
            .iter()
            .map(|problem| problem.pointer.as_str())
            .collect();
        for (_, _, pointer) in &wrong {
            assert!(
                told.contains(pointer),
                "{pointer} is not in {told:?} for {arguments}"
            );
        }
        let expected = wrong.len() + usize::from(chosen & (1 << 3) != 0);
        assert_eq!(told.len(), expected, "{told:?} for {arguments}");
    }
}

// The same for every type: a value that is invalid alone is reported also among others.
#[test]
fn every_invalid_place_is_reported() {
    let checked = Cell::new(0);
    let failures: Vec<String> = tools()
        .cases
        .iter()
        .filter_map(|case| untold(case, &checked).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let cases = tools().cases.len();
    assert!(
        checked.get() > 5 * cases,
        "{} refusals of {cases} types were compared",
        checked.get()
    );
}

fn untold(case: &Case, checked: &Cell<usize>) -> Result<(), String> {
    let attempt = |numbers: Vec<u32>| {
        let tape = Tape::new(&numbers);
        let compared = check(case, &tape).map_err(TestCaseError::fail)?;
        checked.set(checked.get() + usize::from(compared));
        Ok(())
    };
    TestRunner::new(config(30))
        .run(&numbers(), attempt)
        .map_err(|error| format!("{}: {error}", case.name))
}

/// Returns true if a refusal was compared, which needs a place that can be invalid.
fn check(case: &Case, tape: &Tape<'_>) -> Result<bool, String> {
    let published = schema(case.name);
    let Some(sound) = Maker {
        root: published,
        tape,
    }
    .arguments()
    .value() else {
        return Ok(false);
    };
    if !oracle::accepts(published, published, &sound) {
        return Ok(false);
    }
    let mut leaves = Vec::new();
    places(&sound, "", &mut leaves);
    let wrong = json!({"nothing": {"has": ["such", "a"]}, "value": []});
    // A tag decides how the rest is validated.
    let tag = |leaf: &str| leaf.ends_with("/kind") || leaf.ends_with("/type");
    let spoils = |pointer: &String| {
        !oracle::accepts(
            published,
            published,
            &with(&sound, std::slice::from_ref(pointer), &wrong),
        )
    };
    let chosen: Vec<String> = leaves
        .into_iter()
        .filter(|leaf| tape.one_in(2) && !tag(leaf) && spoils(leaf))
        .collect();
    let sent = with(&sound, &chosen, &wrong);
    // Two mistakes may turn one shape into another.
    if chosen.is_empty() || oracle::accepts(published, published, &sent) {
        return Ok(false);
    }
    let response = call(&tools().strict, case.name, &sent);
    if accepted(&response)? {
        return Err(format!("took {sent}"));
    }
    let told: Vec<&str> = response
        .meta()
        .problems()
        .iter()
        .map(|problem| problem.pointer.as_str())
        .collect();
    // A choice of shapes is reported as a whole.
    let near = |leaf: &str, told: &str| {
        !told.is_empty() && (leaf.starts_with(told) || told.starts_with(leaf))
    };
    match chosen
        .iter()
        .find(|leaf| !told.iter().any(|told| near(leaf, told)))
    {
        Some(leaf) => Err(format!("{leaf} is not reported: {told:?} for {sent}")),
        None => Ok(true),
    }
}

/// Replaces the values at these places.
fn with(sound: &Value, pointers: &[String], wrong: &Value) -> Value {
    let mut spoilt = sound.clone();
    for pointer in pointers {
        if let Some(place) = spoilt.pointer_mut(pointer) {
            place.clone_from(wrong);
        }
    }
    spoilt
}

/// Returns the pointers to all scalars.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{position}"), found);
            }
        }
        Value::Object(map) => {
            for (name, member) in map {
                places(
                    member,
                    &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        _ => found.push(at.to_owned()),
    }
}

#[test]
fn an_instant_beyond_the_last_one_is_told_the_last_one() {
    let response = call(
        &tools().coercing,
        "timestamp",
        r#"{"value":"9999-12-31T23:59:59Z"}"#,
    );
    let text = response.into_text();
    assert!(text.contains("before 9999-12-30T22:00:00Z"), "{text}");
}

#[test]
fn value_refused_by_its_type_is_reported_at_its_place() {
    let pointer = |tool: &str, text: &str| {
        let response = call(&tools().coercing, tool, text);
        let problems = response.meta().problems();
        assert_eq!(problems.len(), 1, "{}", response.to_json());
        problems
            .first()
            .map(|problem| problem.pointer.clone())
            .unwrap_or_default()
    };
    assert_eq!(
        pointer("timestamp", r#"{"value":"9999-12-31T23:59:59Z"}"#),
        "/value"
    );
    assert_eq!(
        pointer(
            "aliased_list",
            r#"{"value":[{"name":"a"},{"name":"a","nick":"b"}]}"#
        ),
        "/value/1"
    );
    assert_eq!(
        pointer("map_by_u32", r#"{"value":{"4294967296":"a"}}"#),
        "/value"
    );
}
