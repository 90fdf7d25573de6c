//! The slow path of a call: arguments that did not decode are parsed, corrected and validated, or
//! all their problems are reported.

use crate::arguments::coerce::{Coercions, JsonRepair, Notes, coerce};
use crate::arguments::problem::{Problem, describe_value};
use crate::arguments::validate::{ValidationSubject, find_problems, not_compiled, too_costly};
use crate::json::canonical::ordered_exact;
use crate::json::pointer::Path;
use crate::json::repair::repair;
use crate::json::value;
use crate::json::value::{ParsedValue, RoundedNumbers, SyntaxError};
use crate::schema::compiled::CompiledSchema;
use crate::schema::evaluation::{TooCostly, Verdict, check_exact};
use crate::schema::validator::Validator;
use serde_json::{Map, Value};

/// The parameter that the runtime adds to a tool whose duplicate calls are confirmed by the model.
pub(crate) const CONFIRM_DUPLICATE: &str = "confirm_duplicate";

/// Arguments that the schema accepts.
#[derive(Debug)]
pub(crate) struct PreparedArguments {
    /// The arguments as compact JSON.
    pub(crate) text: String,
    /// The corrections, one line each.
    pub(crate) coerced: Vec<String>,
    /// The value of [`CONFIRM_DUPLICATE`], which is for the runtime and is removed from the text.
    pub(crate) confirm_duplicate: Option<bool>,
}

/// Arguments that the fast path has parsed and their schema refuses, so that the slow path does not
/// start again.
#[derive(Debug)]
pub struct RefusedArguments {
    pub(crate) parsed: ParsedValue,
    /// The schema's verdict, if it was asked.
    pub(crate) verdict: Option<Verdict>,
}

/// Parses, corrects and validates arguments, or returns all problems, sorted by place.
pub(crate) fn prepare(
    text: &str,
    refused: Option<Box<RefusedArguments>>,
    validator: &Validator,
    max_bytes: usize,
    switches: Coercions,
) -> Result<PreparedArguments, Vec<Problem>> {
    check_length(text, max_bytes).map_err(|problem| vec![problem])?;
    let (parsed, verdict) = refused
        .map(|refused| (refused.parsed, refused.verdict))
        .unzip();
    let mut arguments = ParsedArguments::parse(text, parsed, switches)?;
    if switches.unknown_as_absent && validator.takes_nothing() {
        arguments.ignore_members();
    }
    let verdict = verdict.flatten().filter(|_| arguments.notes.is_empty());
    let mut problems = std::mem::take(&mut arguments.problems);
    // Arguments that are accepted as they are stay as they are.
    match validator.compiled() {
        Ok(compiled) => match verdict.unwrap_or_else(|| arguments.check(compiled)) {
            Ok(true) => {}
            Ok(false) => problems.extend(correct(&mut arguments, compiled, switches)),
            Err(TooCostly) => problems.push(too_costly(ValidationSubject::Arguments)),
        },
        Err(reason) => problems.push(not_compiled(ValidationSubject::Arguments, reason)),
    }
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        return Err(problems);
    }
    let confirm_duplicate = validator
        .confirms_duplicates()
        .then(|| take_confirmation(&mut arguments.value))
        .flatten();
    let text = ordered_exact(&arguments.value, &arguments.rounded);
    Ok(PreparedArguments {
        text,
        coerced: arguments.notes.into_lines(),
        confirm_duplicate,
    })
}

/// Corrects arguments that the schema does not accept, or returns their problems.
fn correct(
    arguments: &mut ParsedArguments,
    compiled: &CompiledSchema,
    switches: Coercions,
) -> Vec<Problem> {
    let is_changed = coerce(
        &mut arguments.value,
        compiled,
        switches,
        &mut arguments.notes,
    );
    if is_changed && arguments.check(compiled).unwrap_or(false) {
        return Vec::new();
    }
    find_problems(
        ValidationSubject::Arguments,
        compiled,
        &arguments.value,
        &arguments.rounded,
    )
}

fn take_confirmation(value: &mut Value) -> Option<bool> {
    value.as_object_mut()?.remove(CONFIRM_DUPLICATE)?.as_bool()
}

/// Checks that a text of arguments has at most `max_bytes` bytes.
#[inline]
pub(crate) fn check_length(text: &str, max_bytes: usize) -> Result<(), Problem> {
    if text.len() <= max_bytes {
        Ok(())
    } else {
        Err(too_long(text.len(), max_bytes))
    }
}

#[cold]
fn too_long(bytes: usize, max_bytes: usize) -> Problem {
    let problem = Problem::new(
        "",
        format!("at most {max_bytes} bytes of JSON"),
        format!("{bytes} bytes"),
    );
    problem.hint("send less at once")
}

/// Arguments that are an object.
struct ParsedArguments {
    value: Value,
    /// The corrections on the way.
    notes: Notes,
    /// One problem for each repeated key, because it is not known which of its values was meant.
    problems: Vec<Problem>,
    /// The integers that the value holds rounded.
    rounded: RoundedNumbers,
}

impl ParsedArguments {
    /// Parses arguments as an object. Its properties are not checked.
    fn parse(
        text: &str,
        parsed: Option<ParsedValue>,
        switches: Coercions,
    ) -> Result<Self, Vec<Problem>> {
        let mut arguments = Self {
            value: Value::Null,
            notes: Notes::default(),
            problems: Vec::new(),
            rounded: RoundedNumbers::None,
        };
        match parsed {
            Some(parsed) => arguments.take(parsed),
            None => arguments
                .read(text, switches)
                .map_err(|error| vec![not_json(&error)])?,
        }
        if switches.double_encoded
            && let Value::String(inner) = &arguments.value
        {
            let inner = inner.clone();
            arguments.notes.add(&Path::ROOT, "text to object");
            // A string that is not JSON is reported as a string where an object is expected.
            if arguments.read(&inner, switches).is_err() {
                arguments.value = Value::String(inner);
            }
        }
        if switches.empty && arguments.value.is_null() {
            arguments.value = Value::Object(Map::new());
            arguments.notes.add(&Path::ROOT, "empty to object");
        }
        if !arguments.value.is_object() {
            let problem = Problem::new("", "a JSON object", describe_value(&arguments.value));
            return Err(vec![
                problem.hint("send the parameters by name: {\"name\": value}"),
            ]);
        }
        Ok(arguments)
    }

    /// Checks the arguments by a schema.
    fn check(&self, compiled: &CompiledSchema) -> Verdict {
        check_exact(compiled, &self.value, &self.rounded)
    }

    /// Removes the members of arguments for a tool without parameters.
    fn ignore_members(&mut self) {
        let Some(members) = self.value.as_object_mut() else {
            return;
        };
        for name in std::mem::take(members).keys() {
            self.notes.add(
                &Path::ROOT.key(name),
                "ignored, as the tool has no parameters",
            );
        }
    }

    fn read(&mut self, text: &str, switches: Coercions) -> Result<(), SyntaxError> {
        if text.trim().is_empty() {
            self.value = Value::Null;
            return Ok(());
        }
        match value::parse(text) {
            Ok(parsed) => self.take(parsed),
            Err(_) if switches.repair != JsonRepair::Off && self.read_repaired(text) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads a text that is nearly JSON. Returns true if it has become JSON.
    fn read_repaired(&mut self, text: &str) -> bool {
        let Some(repaired) = repair(text) else {
            return false;
        };
        let Ok(parsed) = value::parse(&repaired.text) else {
            return false;
        };
        self.take(parsed);
        self.notes.add(
            &Path::ROOT,
            format_args!("repaired JSON: {}", repaired.changes.join(", ")),
        );
        true
    }

    fn take(&mut self, parsed: ParsedValue) {
        self.value = parsed.value;
        self.rounded = parsed.rounded;
        self.problems
            .extend(parsed.duplicates.into_iter().map(repeated));
    }
}

fn not_json(error: &SyntaxError) -> Problem {
    let SyntaxError {
        message,
        line,
        column,
    } = error;
    let got = format!("text that is not JSON: {message} at line {line}, column {column}");
    Problem::new("", "one JSON object", got).hint("send the arguments again as valid JSON")
}

fn repeated(pointer: String) -> Problem {
    Problem::new(pointer, "one value", "several: the key is repeated")
}
