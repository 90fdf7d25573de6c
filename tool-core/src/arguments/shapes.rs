//! A value that fits none of several shapes: which of them was meant, and what is wrong by that one.

use super::validate::Reporter;
use super::{Problem, Subject, words};
use crate::pointer::child;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

type Branches = [Vec<ValidationError<'static>>];

/// Reports a failed choice by the branch that the value comes nearest to, or by naming what there is to choose from.
pub(super) fn report(reporter: &mut Reporter<'_>, error: &ValidationError<'_>, branches: &Branches) {
    let at = error.instance_path().as_str();
    let schemas = reporter.root.pointer(error.schema_path().as_str()).and_then(Value::as_array);
    let schemas = schemas.map(Vec::as_slice).unwrap_or_default();
    if let Some(name) = first_of_required_names(schemas) {
        reporter.missing_in(&Value::Null, at, name);
        return;
    }
    if let Some(problem) = wrong_tag(reporter.subject, at, branches).or_else(|| missing_tag(at, schemas, branches)) {
        reporter.problems.push(problem);
        return;
    }
    let meant: Vec<_> =
        branches.iter().filter(|errors| !errors.iter().any(|error| is_other_shape(at, error))).collect();
    if let [only] = meant.as_slice() {
        only.iter().for_each(|error| reporter.error(error));
        return;
    }
    let expected = words::alternatives(schemas.iter().map(|schema| words::schema(schema, reporter.root)));
    reporter.problems.push(Problem::new(at, expected, reporter.subject.value(error.instance())));
}

/// A parameter with aliases is required by `anyOf: [{required: [name]}, {required: [alias]}]`.
fn first_of_required_names(schemas: &[Value]) -> Option<&str> {
    let single = |schema: &'_ Value| {
        let map = schema.as_object()?;
        let list = map.get("required")?.as_array()?;
        (map.len() == 1 && list.len() == 1).then_some(())
    };
    schemas.iter().try_for_each(single)?;
    schemas.first()?.pointer("/required/0")?.as_str()
}

/// All branches name a constant for the same property, and the value has another.
fn wrong_tag(subject: Subject, at: &str, branches: &Branches) -> Option<Problem> {
    let tag = |errors: &Vec<ValidationError<'static>>| {
        errors.iter().find_map(|error| match error.kind() {
            Kind::Constant { expected_value } if is_child(at, error.instance_path().as_str()) => Some((
                error.instance_path().as_str().to_owned(),
                expected_value.as_ref().clone(),
                subject.value(error.instance()),
            )),
            _ => None,
        })
    };
    let tags = branches.iter().map(tag).collect::<Option<Vec<_>>>()?;
    let (place, _, got) = tags.first()?;
    let values: Vec<Value> =
        tags.iter().filter(|(other, ..)| other == place).map(|(_, value, _)| value.clone()).collect();
    (values.len() == tags.len()).then(|| Problem::new(place, words::one_of(&values), got))
}

/// All branches name a constant for the same property, and the value does not have it.
fn missing_tag(at: &str, schemas: &[Value], branches: &Branches) -> Option<Problem> {
    let constants = schemas.first()?.get("properties")?.as_object()?;
    for name in constants.keys() {
        let constant = |schema: &Value| schema.get("properties")?.get(name)?.get("const").cloned();
        let is_missing = |errors: &Vec<ValidationError<'static>>| {
            errors.iter().any(|error| matches!(error.kind(), Kind::Required { property } if property == name))
        };
        if let Some(values) = schemas.iter().map(constant).collect::<Option<Vec<_>>>()
            && branches.iter().all(is_missing)
        {
            return Some(Problem::missing(child(at, name), words::one_of(&values)));
        }
    }
    None
}

/// Whether the error says that the branch is about another shape altogether.
fn is_other_shape(at: &str, error: &ValidationError<'_>) -> bool {
    let place = error.instance_path().as_str();
    match error.kind() {
        Kind::Type { .. } | Kind::Enum { .. } | Kind::Required { .. } | Kind::AdditionalProperties { .. } => {
            place == at
        }
        Kind::Constant { .. } => place == at || is_child(at, place),
        _ => false,
    }
}

fn is_child(at: &str, place: &str) -> bool {
    place.strip_prefix(at).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| !rest.contains('/'))
}
