//! The schema of settings or of secrets, compiled, and values held to it.

use super::document::wipe;
use crate::arguments::{Problem, Subject, Validator, fill, unknown_name, validate_as};
#[cfg(feature = "agents")]
use crate::arguments::{may_be_object, wrong_defaults};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// What becomes of top-level names that the schema has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Each is a problem: somebody who writes settings has slipped.
    Refused,
    /// They are left out: an earlier version of the toolset took them.
    Ignored,
}

/// Holds values to a schema.
pub(super) struct Sheet {
    subject: Subject,
    validator: Validator,
}

impl Sheet {
    /// Puts the defaults in where the value leaves them out, or tells every problem. A value that fits as it is, and
    /// would not with its defaults because they make another shape of it, stays as it is.
    pub(super) fn fill(&self, given: &Value, unknown: Unknown) -> Result<Value, Vec<Problem>> {
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
    pub(super) fn hold(&self, value: &mut Value, unknown: Unknown, own: &[&str]) -> Vec<Problem> {
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
    pub(super) fn problems(&self) -> Vec<String> {
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
pub(super) fn told(mut problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
    problems.sort();
    problems.dedup();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A sheet that is made when it is first needed, and again where the schema has become another one.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<OnceLock<Arc<Sheet>>>);

impl Kept {
    /// The sheet of a schema; without one, that of an object that is empty.
    pub(super) fn of(&self, subject: Subject, schema: Option<&Value>) -> Arc<Sheet> {
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
