//! What calls are made equal by: the names of a tool's parameters and what their absence means.

use super::table::Table;
use crate::arguments::Validator;
use crate::schema::{Null, allows_null};
use crate::tool::Definition;
use serde_json::{Map, Value, json};

/// The parameters of a tool, and the defaults that a flattened type adds.
pub(crate) struct Parameters {
    pub(super) all: Vec<Parameter>,
    pub(super) table: Table,
}

/// One of them.
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) aliases: &'static [&'static str],
    pub(super) null_is_absent: bool,
    /// What its absence means, where that is a value.
    pub(super) default: Option<Value>,
}

impl Parameters {
    pub(crate) fn of(definition: &Definition) -> Self {
        let all = if definition.raw { published(&definition.schema.value) } else { declared(definition) };
        Self { table: Table::new(&all), all }
    }
}

/// Those of a signature. Instance and computed defaults stand in the schema as well as literal ones.
fn declared(definition: &Definition) -> Vec<Parameter> {
    let named = definition.rows.iter().enumerate().filter(|(_, row)| !row.flatten);
    let parameter = |(index, row): (usize, &crate::__private::Parameter)| {
        let null_is_absent = definition.nulls().get(index) == Some(&Null::Absent);
        let default = definition.schema.value.get("properties").and_then(|all| all.get(row.name)?.get("default"));
        Parameter {
            name: row.name.to_owned(),
            aliases: row.aliases,
            null_is_absent,
            // A default that would count as absent again is none.
            default: default.filter(|default| !(null_is_absent && default.is_null())).cloned(),
        }
    };
    let mut all = named.map(parameter).collect::<Vec<_>>();
    if definition.rows.iter().any(|row| row.flatten) {
        // What a flattened type adds is known by the schema only.
        let more = published(&definition.schema.value);
        let more = more.into_iter().filter(|one| one.default.as_ref().is_some_and(|default| !default.is_null()));
        let more = more.filter(|one| definition.rows.iter().all(|row| row.flatten || row.name != one.name));
        all.extend(more.collect::<Vec<_>>());
    }
    all
}

/// Those of a schema that was given at run time, which may hold a default that it would not accept.
fn published(schema: &Value) -> Vec<Parameter> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let parameter = |(name, property): (&String, &Value)| {
        let default = property.get("default").filter(|default| accepts(schema, property, default))?;
        let default = Some(default.clone());
        Some(Parameter { name: name.clone(), aliases: &[], null_is_absent: false, default })
    };
    properties.filter_map(parameter).collect()
}

fn accepts(root: &Value, property: &Value, default: &Value) -> bool {
    if default.is_null() && !allows_null(property, root) {
        return false;
    }
    let mut alone = Map::new();
    for keyword in ["$schema", "$defs", "definitions"] {
        if let Some(there) = root.get(keyword) {
            alone.insert(keyword.to_owned(), there.clone());
        }
    }
    alone.insert("allOf".to_owned(), json!([property]));
    Validator::new(Value::Object(alone)).is_valid(default)
}
