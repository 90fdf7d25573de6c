//! Coercion of arguments, and the problems of the rest.

pub(crate) mod coercion;
pub(crate) mod confirmation;
pub(crate) mod flattening;
pub(crate) mod laws;
pub(crate) mod messages;
pub(crate) mod preparation;
pub(crate) mod spelling;

#[cfg(test)]
mod equality;

use crate::arguments::coerce::{Coercions, Notes, coerce};
use crate::arguments::prepare::{PreparedArguments, prepare};
use crate::arguments::problem::Problem;
use crate::arguments::validate::validate;
use crate::schema::compiled::CompiledSchema;
use crate::schema::validator::Validator;
use serde_json::{Value, json};

/// The value after coercion, and what was done.
fn coerced(mut value: Value, schema: &Value) -> (Value, Vec<String>) {
    let notes = coerce_with(&mut value, schema, Coercions::ALL);
    (value, notes)
}

/// Corrects the value and returns what was done. A schema that cannot be checked guides no correction.
fn coerce_with(value: &mut Value, schema: &Value, switches: Coercions) -> Vec<String> {
    let mut notes = Notes::default();
    if let Ok(compiled) = CompiledSchema::new(schema) {
        coerce(value, &compiled, switches, &mut notes);
    }
    notes.into_lines()
}

/// The problems of the value, as the model reads them.
fn problems(value: &Value, schema: &Value) -> Vec<String> {
    validate(&Validator::new(schema.clone()), value)
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn prepared(text: &str, schema: &Value) -> Result<PreparedArguments, Vec<Problem>> {
    prepare(
        text,
        None,
        &Validator::for_tool(schema.clone()),
        1 << 20,
        Coercions::ALL,
    )
}

/// The schema of `create_event`.
fn event() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Event title", "maxLength": 80},
            "start_time": {"type": "string", "format": "date-time", "description": "Start of the event, RFC 3339"},
            "duration_minutes": {"type": "integer", "minimum": 5, "maximum": 480, "default": 30},
            "attendees": {"type": "array", "items": {"type": "string", "format": "email"}, "default": null},
            "color": {"type": "string", "enum": ["red", "green"], "default": null},
        },
        "required": ["title", "start_time"],
        "additionalProperties": false,
    })
}
