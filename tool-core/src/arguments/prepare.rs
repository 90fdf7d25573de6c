//! The slow path: everything that can be put right is, everything that is wrong is said.

use crate::arguments::coerce::{Coercions, coerce};
use crate::arguments::problem::Problem;
use crate::arguments::validate::validate;
use crate::arguments::words;
use crate::json::value;
use crate::schema::numbers;
use crate::schema::validator::Validator;
use crate::schema::walk::join_pointer;
use serde_json::{Map, Value};

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
    let text = exact_text(&opened.value, &opened.rounded);
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

// ---- From the text of the arguments to an object.

/// What arguments may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    /// The longest text, in bytes.
    pub(crate) bytes: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { bytes: 1 << 20 }
    }
}

/// Arguments that are an object.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The object.
    pub(crate) value: Value,
    /// What was corrected on the way.
    pub(crate) coerced: Vec<String>,
    /// Keys that stand twice: the object is whole, but which of the two was meant is not known.
    pub(crate) problems: Vec<Problem>,
    /// Whole numbers that the value holds rounded: their places and digits.
    pub(crate) rounded: Vec<(String, String)>,
}

/// Reads the arguments as an object. Says nothing about what is in it.
pub(crate) fn open(text: &str, caps: Caps, switches: Coercions) -> Result<Opened, Vec<Problem>> {
    if text.len() > caps.bytes {
        let problem = Problem::new("", format!("at most {} bytes", caps.bytes), format!("{} bytes", text.len()));
        return Err(vec![problem.hint("send less at once")]);
    }
    let mut opened = Opened { value: Value::Null, coerced: Vec::new(), problems: Vec::new(), rounded: Vec::new() };
    opened.read(text)?;
    if switches.double_encoded
        && let Value::String(inner) = &opened.value
    {
        let inner = inner.clone();
        opened.coerced.push("arguments: text to object".to_owned());
        // Text that is no JSON is reported as what it is: a text where an object should be.
        if opened.read(&inner).is_err() {
            opened.value = Value::String(inner);
        }
    }
    if switches.empty && opened.value.is_null() {
        opened.value = Value::Object(Map::new());
        opened.coerced.push("arguments: empty to object".to_owned());
    }
    if !opened.value.is_object() {
        let problem = Problem::new("", "a JSON object", words::value_in_words(&opened.value));
        return Err(vec![problem.hint("send the parameters by name: {\"name\": value}")]);
    }
    Ok(opened)
}

impl Opened {
    fn read(&mut self, text: &str) -> Result<(), Vec<Problem>> {
        if text.trim().is_empty() {
            self.value = Value::Null;
            return Ok(());
        }
        let parsed = value::parse(text).map_err(|error| vec![not_json(&error.message, error.line, error.column)])?;
        self.value = parsed.value;
        self.rounded = parsed.rounded;
        self.problems.extend(parsed.duplicates.into_iter().map(repeated));
        Ok(())
    }
}

fn not_json(message: &str, line: usize, column: usize) -> Problem {
    let got = format!("text that is not JSON: {message} at line {line}, column {column}");
    Problem::new("", "one JSON object", got).hint("send the arguments again as valid JSON")
}

fn repeated(pointer: String) -> Problem {
    Problem::new(pointer, "one value", "several: the key stands more than once")
}

// ---- Arguments written out again, with every digit that they came with.

/// Compact JSON of the value, in which the numbers at these pointers stand as they were spelled: a value holds a whole
/// number of more than 64 bits as a float, and a parameter of 128 bits wants it whole.
pub(crate) fn exact_text(value: &Value, spelled: &[(String, String)]) -> String {
    if spelled.is_empty() {
        return value.to_string();
    }
    let mut out = String::new();
    write(value, "", spelled, &mut out);
    out
}

/// Recursion is bounded by the depth that arguments may have.
fn write(value: &Value, pointer: &str, spelled: &[(String, String)], out: &mut String) {
    match value {
        Value::Number(number) => match spelled.iter().find(|(place, _)| place == pointer) {
            Some((_, digits)) => out.push_str(digits),
            None => out.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                write(item, &format!("{pointer}/{position}"), spelled, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (position, (name, member)) in members.iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(member, &join_pointer(pointer, name), spelled, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
