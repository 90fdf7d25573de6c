//! From the text of the arguments to an object.

use super::{Coercions, Problem};
use crate::json;
use serde_json::{Map, Value};

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
        let problem = Problem::new("", "a JSON object", super::words::value(&opened.value));
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
        let parsed = json::parse(text).map_err(|error| vec![not_json(&error.message, error.line, error.column)])?;
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
