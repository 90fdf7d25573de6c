//! The slow path: everything that can be put right is, everything that is wrong is said.

use super::{Caps, Coercions, Problem, Validator, coerce, exact, open, validate};
use crate::schema::numbers;
use serde_json::Value;

/// The parameter that a tool has beside its own where a duplicate of a running call is to be confirmed.
pub(crate) const CONFIRM_DUPLICATE: &str = "confirm_duplicate";

/// Arguments that the schema accepts.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// As compact JSON, the canonical form that goes into the history.
    pub(crate) text: String,
    /// What was corrected, one line each.
    pub(crate) coerced: Vec<String>,
    /// What was given for [`CONFIRM_DUPLICATE`], which is for the runtime and no longer in the text.
    pub(crate) confirm_duplicate: Option<bool>,
}

/// Reads, corrects and checks arguments, or returns every problem, sorted by place.
pub(crate) fn prepare(
    text: &str,
    schema: &Value,
    validator: &Validator,
    caps: Caps,
    switches: Coercions,
) -> Result<Prepared, Vec<Problem>> {
    let mut opened = open(text, caps, switches)?;
    let mut problems = std::mem::take(&mut opened.problems);
    // What is accepted as it stands is never touched.
    if !validator.is_valid(&opened.value) {
        opened.coerced.extend(coerce(&mut opened.value, schema, switches));
        problems.extend(validate(validator, &opened.value));
    }
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        return Err(problems);
    }
    let confirm_duplicate = validator.confirms_duplicates().then(|| take_confirmation(&mut opened.value)).flatten();
    whole_floats(&mut opened.value);
    let text = exact::text(&opened.value, &opened.rounded);
    Ok(Prepared { text, coerced: opened.coerced, confirm_duplicate })
}

fn take_confirmation(value: &mut Value) -> Option<bool> {
    value.as_object_mut()?.remove(CONFIRM_DUPLICATE)?.as_bool()
}

/// Writes `5.0` as `5`: the same number in JSON, and one that every decoder takes for an integer.
fn whole_floats(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            // A negative zero is the one whole float that no integer holds.
            let zero = number.as_f64().is_some_and(|float| float == 0.0 && float.is_sign_negative());
            let whole = numbers::exact(number).filter(|_| !zero).map(numbers::whole);
            if let Some(Value::Number(whole)) = whole {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_floats),
        Value::Object(members) => members.values_mut().for_each(whole_floats),
        _ => {}
    }
}
