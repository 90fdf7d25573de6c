//! The schema of settings or of secrets, compiled, and values held to it.

use crate::arguments::defaults::fill;
#[cfg(feature = "agents")]
use crate::arguments::defaults::{may_be_object, wrong_defaults};
use crate::arguments::problem::Problem;
use crate::arguments::validate::{Subject, unknown_name, validate_as};
use crate::schema::validator::Validator;
use crate::schema::walk::join_pointer;
use crate::tool::configure::scrub::Hidden;
use crate::tool::configure::secret::wipe;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serde_path_to_error::{Error, Path, Segment};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// What becomes of top-level names that the schema has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Each is a problem: somebody who writes settings has slipped.
    Refused,
    /// They are left out: an earlier version of the toolset took them.
    Ignored,
}

/// Holds values to a schema.
pub(crate) struct Sheet {
    subject: Subject,
    validator: Validator,
}

impl Sheet {
    /// Puts the defaults in where the value leaves them out, or tells every problem. A value that fits as it is, and
    /// would not with its defaults because they make another shape of it, stays as it is.
    pub(crate) fn fill(&self, given: &Value, unknown: Unknown) -> Result<Value, Vec<Problem>> {
        let mut known = given.clone();
        let mut problems = self.leave_out_unknown(&mut known, unknown, &[])?;
        let mut filled = known.clone();
        fill(&mut filled, self.validator.schema());
        let found = self.validate(&filled);
        if !found.is_empty() {
            if self.validator.is_valid(&known) {
                filled = known;
            } else {
                problems.extend(found);
            }
        }
        told(problems).map(|()| filled)
    }

    /// Tells every problem, and leaves in the value what the schema has a place for. Names of `own` are never a problem.
    pub(crate) fn hold(&self, value: &mut Value, unknown: Unknown, own: &[&str]) -> Vec<Problem> {
        match self.leave_out_unknown(value, unknown, own) {
            Ok(mut problems) => {
                problems.extend(self.validate(value));
                problems
            }
            Err(problems) => problems,
        }
    }

    /// What is wrong with the schema: it does not compile, is not one of an object, or has defaults that it refuses.
    #[cfg(feature = "agents")]
    pub(crate) fn problems(&self) -> Vec<String> {
        let schema = self.validator.schema();
        let what = self.subject.schema();
        if let Err(why) = self.validator.compiled() {
            return vec![format!("{what} does not compile: {why}")];
        }
        let shape = format!("{what} is not one of an object; use a struct, or `()` where there is nothing to set");
        let shape = (!may_be_object(schema)).then_some(shape);
        shape.into_iter().chain(wrong_defaults(schema).into_iter().map(|wrong| format!("in {what}, {wrong}"))).collect()
    }

    fn validate(&self, value: &Value) -> Vec<Problem> {
        validate_as(self.subject, &self.validator, value)
    }

    /// The problems with names that the schema has no place for; an error where the value is no object.
    fn leave_out_unknown(
        &self,
        value: &mut Value,
        unknown: Unknown,
        own: &[&str],
    ) -> Result<Vec<Problem>, Vec<Problem>> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let Value::Object(members) = value else {
            return Err(vec![Problem::new("", "an object", self.subject.value(value))]);
        };
        let mut problems = Vec::new();
        members.retain(|name, value| match unknown_name(self.subject, self.validator.schema(), name) {
            None => true,
            Some(problem) => {
                if unknown == Unknown::Refused && !own.contains(&name.as_str()) {
                    problems.push(problem);
                }
                wipe(value);
                false
            }
        });
        Ok(problems)
    }
}

/// No problems, or all of them by their places.
pub(crate) fn told(mut problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
    problems.sort();
    problems.dedup();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A sheet that is made when it is first needed, and again where the schema has become another one.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<OnceLock<Arc<Sheet>>>);

impl Kept {
    /// The sheet of a schema; without one, that of an object that is empty.
    pub(crate) fn of(&self, subject: Subject, schema: Option<&Value>) -> Arc<Sheet> {
        let nothing = json!({"type": "object"});
        let schema = schema.unwrap_or(&nothing);
        let make = || Arc::new(Sheet { subject, validator: Validator::new(schema.clone()) });
        let kept = self.0.get_or_init(make);
        if kept.validator.schema() == schema { Arc::clone(kept) } else { make() }
    }
}

// What was compiled says nothing that the schema does not.
impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

// ---- From checked JSON to the types of settings and secrets. Their own rules may refuse what the schema accepts.

/// The problem names the place, and says what the type says, without the texts that stand there.
pub(crate) fn settings<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<Problem>> {
    read(value).map_err(|error| {
        let why = Hidden::of_settings(value).removed_from(&error.inner().to_string());
        vec![Problem::refused(pointer(error.path()), &why)]
    })
}

/// The problem names the place alone: whatever the type says may be made of the secret.
pub(crate) fn secrets<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<Problem>> {
    let why = "it is not what the toolset takes";
    read(value).map_err(|error| vec![Problem::refused(pointer(error.path()), why)])
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Error<serde_json::Error>> {
    serde_path_to_error::deserialize(value)
}

fn pointer(path: &Path) -> String {
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => join_pointer(&pointer, &index.to_string()),
        Segment::Map { key } => join_pointer(&pointer, key),
        // They stand for no place of their own, or for one that is not known.
        Segment::Enum { .. } | Segment::Unknown => pointer,
    })
}
