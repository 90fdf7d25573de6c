//! Schemas in a provider's form that is not strict.

use crate::providers::report::{Change, ChangeKind, ChangeLog, Refusal};
use crate::providers::schema::projector::Projector;
use crate::providers::schema::rules::{SchemaForm, SchemaRules};
use crate::providers::schema::types::TypeSet;
use serde_json::{Map, Value};

/// Projects a schema, and returns the changes. The projection accepts all values that the schema does, and may accept
/// more.
///
/// # Errors
///
/// The reason for which the provider has no form of the schema.
pub(crate) fn project_plain(rules: &SchemaRules, schema: &Value) -> Result<(Value, Vec<Change>), Refusal> {
    if let SchemaForm::AsIs = rules.form {
        return project_as_is(schema);
    }
    let mut projector = Projector::new(rules, schema, false);
    let mut written = write(&mut projector);
    if projector.inexact && projector.has_inverting {
        projector = Projector::new(rules, schema, true);
        written = write(&mut projector);
    }
    if let Some(refusal) = projector.refusal.take() {
        return Err(refusal);
    }
    let schema = written.ok_or_else(|| refusal_of_root(schema))?;
    Ok((schema, projector.log.finish()))
}

fn write(projector: &mut Projector<'_>) -> Option<Value> {
    match projector.rules.form {
        SchemaForm::AsIs => Some(projector.document.root().clone()),
        SchemaForm::Whole => projector.whole_root(),
        SchemaForm::Subset(subset) => projector.subset_root(subset),
    }
}

/// Returns the schema with an object as its root.
fn project_as_is(schema: &Value) -> Result<(Value, Vec<Change>), Refusal> {
    let kind = schema.get("type");
    if kind.is_some_and(|kind| kind == "object") {
        return Ok((schema.clone(), Vec::new()));
    }
    if !TypeSet::of_schema(schema).overlaps(TypeSet::OBJECT) || *schema == Value::Bool(false) {
        return Err(refusal_of_root(schema));
    }
    let mut log = ChangeLog::default();
    if kind.is_some() {
        log.add("", "type", ChangeKind::Rewritten, "arguments are an object");
    }
    let mut typed = Map::from_iter([("type".to_owned(), Value::from("object"))]);
    let rest = schema.as_object().into_iter().flatten().filter(|(keyword, _)| *keyword != "type");
    typed.extend(rest.map(|(keyword, value)| (keyword.clone(), value.clone())));
    Ok((Value::Object(typed), log.finish()))
}

/// Returns the reason for which nothing is written of a schema.
fn refusal_of_root(schema: &Value) -> Refusal {
    if TypeSet::of_schema(schema).overlaps(TypeSet::OBJECT) {
        Refusal::Unsatisfiable { pointer: String::new() }
    } else {
        Refusal::NoObject
    }
}
