//! The root of a strict schema.

use crate::providers::report::{Change, NotStrict};
use crate::providers::schema::document::SchemaPlace;
use crate::providers::strict::budget::StrictForm;
use crate::providers::strict::projector::StrictProjector;
use serde_json::Value;

/// Projects a schema to a strict form, and returns the changes. The projection accepts all values that the schema does,
/// with null for absent properties where the form requires every property.
///
/// # Errors
///
/// The reason for which the schema has no such form.
pub(crate) fn project_strict(form: &'static StrictForm, schema: &Value) -> Result<(Value, Vec<Change>), NotStrict> {
    let mut projector = StrictProjector::new(form, schema);
    let root = projector.node(SchemaPlace::root(schema))?;
    let mut root = root.ok_or(NotStrict::Untyped { pointer: String::new() })?;
    if root.contains_key("anyOf") {
        return Err(NotStrict::Keyword { pointer: String::new(), keyword: "anyOf".to_owned() });
    }
    let definitions = projector.write_definitions()?;
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), definitions.into());
    }
    (form.check_size)(&root)?;
    Ok((root.into(), projector.log.finish()))
}
