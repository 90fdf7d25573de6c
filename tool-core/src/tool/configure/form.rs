//! Form schemas: the compiled schema of settings or secrets, and the values that have to fit it.

use crate::arguments::defaults::fill;
#[cfg(feature = "agents")]
use crate::arguments::defaults::{may_be_object, wrong_defaults};
use crate::arguments::problem::Problem;
use crate::arguments::validate::{ValidationSubject, unknown_name, validate_as};
use crate::call::error::ErrorList;
use crate::json::nested::{MAX_DEPTH, is_nested_too_deep};
use crate::schema::validator::Validator;
use crate::schema::walk::join_pointer;
use crate::tool::configure::secret_document::{SecretTexts, wipe};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serde_path_to_error::{Path, Segment};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The treatment of top-level names that the schema does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownNames {
    /// Each is a problem, because a person who writes settings has mistyped it.
    Refuse,
    /// They are dropped, because an earlier version of the toolset used them.
    Drop,
}

/// A compiled schema of settings or secrets.
pub(crate) struct FormSchema {
    subject: ValidationSubject,
    validator: Validator,
}

impl FormSchema {
    /// Fills in the defaults, or returns every problem. A value that fits only without its
    /// defaults, because they turn it into another shape, is returned without them.
    pub(crate) fn fill(
        &self,
        given: &Value,
        unknown: UnknownNames,
    ) -> Result<Value, ErrorList<Problem>> {
        if is_nested_too_deep(given) {
            return Err(Problem::too_deep(MAX_DEPTH).into());
        }
        let mut known = given.clone();
        let mut problems = self.drop_unknown(&mut known, unknown, &[])?;
        let mut filled = known.clone();
        if let Ok(compiled) = self.validator.compiled() {
            fill(&mut filled, compiled);
        }
        let found = self.validate(&filled);
        if !found.is_empty() {
            if self.validator.is_valid(&known) {
                filled = known;
            } else {
                problems.extend(found);
            }
        }
        check_problems(problems).map(|()| filled)
    }

    /// Returns every problem, and drops the names that the schema does not have. Names in
    /// `reserved` are never a problem. Fails where the value is no object.
    pub(crate) fn check(
        &self,
        value: &mut Value,
        unknown: UnknownNames,
        reserved: &[&str],
    ) -> Result<Vec<Problem>, ErrorList<Problem>> {
        let mut problems = self.drop_unknown(value, unknown, reserved)?;
        problems.extend(self.validate(value));
        Ok(problems)
    }

    /// Returns the problems of the schema itself: it does not compile, is not one of an object, or
    /// has invalid defaults.
    #[cfg(feature = "agents")]
    pub(crate) fn problems(&self) -> Vec<String> {
        let schema = self.validator.schema();
        let name = self.subject.schema();
        let compiled = match self.validator.compiled() {
            Ok(compiled) => compiled,
            Err(reason) => return vec![format!("{name} does not compile: {reason}")],
        };
        let shape = format!(
            "{name} is not one of an object; use a struct, or `()` where there is nothing to set"
        );
        let shape = (!may_be_object(schema)).then_some(shape);
        shape
            .into_iter()
            .chain(
                wrong_defaults(compiled)
                    .into_iter()
                    .map(|wrong| format!("in {name}, {wrong}")),
            )
            .collect()
    }

    fn validate(&self, value: &Value) -> Vec<Problem> {
        validate_as(self.subject, &self.validator, value)
    }

    /// Drops the names that the schema does not have, and returns their problems. Fails where the
    /// value is no object.
    fn drop_unknown(
        &self,
        value: &mut Value,
        unknown: UnknownNames,
        reserved: &[&str],
    ) -> Result<Vec<Problem>, ErrorList<Problem>> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let Value::Object(members) = value else {
            return Err(Problem::new("", "an object", self.subject.value(value)).into());
        };
        let mut problems = Vec::new();
        members.retain(|name, value| {
            match unknown_name(self.subject, self.validator.schema(), name) {
                None => true,
                Some(problem) => {
                    if unknown == UnknownNames::Refuse && !reserved.contains(&name.as_str()) {
                        problems.push(problem);
                    }
                    wipe(value);
                    false
                }
            }
        });
        Ok(problems)
    }
}

/// Returns `Ok` for no problems, and otherwise all of them, sorted by pointer.
pub(crate) fn check_problems(mut problems: Vec<Problem>) -> Result<(), ErrorList<Problem>> {
    problems.sort();
    problems.dedup();
    ErrorList::check(problems)
}

/// A form schema that is compiled at first use, and again after its schema has changed.
#[derive(Clone, Default)]
pub(crate) struct CachedFormSchema(Arc<OnceLock<Arc<FormSchema>>>);

impl CachedFormSchema {
    /// Returns the form schema of `schema`, or that of an empty object where there is none.
    pub(crate) fn get(
        &self,
        subject: ValidationSubject,
        schema: Option<&Value>,
    ) -> Arc<FormSchema> {
        let empty = json!({"type": "object"});
        let schema = schema.unwrap_or(&empty);
        let compile = || {
            Arc::new(FormSchema {
                subject,
                validator: Validator::new(schema.clone()),
            })
        };
        let cached = self.0.get_or_init(compile);
        if cached.validator.schema() == schema {
            Arc::clone(cached)
        } else {
            compile()
        }
    }
}

impl PartialEq for CachedFormSchema {
    /// Returns true: the cache adds nothing to the schema it belongs to.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CachedFormSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// Decodes settings that fit their schema. The type may have stricter rules: the problem then has
/// the type's message, without the texts of the settings.
pub(crate) fn decode_settings<T: DeserializeOwned>(value: &Value) -> Result<T, ErrorList<Problem>> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let reason = SecretTexts::of_settings(value).remove_from(&error.inner().to_string());
        Problem::refused(pointer(error.path()), &reason).into()
    })
}

/// Decodes secrets that fit their schema. The type's message may derive from the secret, so the
/// problem has only the pointer.
pub(crate) fn decode_secrets<T: DeserializeOwned>(value: &Value) -> Result<T, ErrorList<Problem>> {
    let reason = "it is not what the toolset takes";
    serde_path_to_error::deserialize(value)
        .map_err(|error| Problem::refused(pointer(error.path()), reason).into())
}

fn pointer(path: &Path) -> String {
    path.iter()
        .fold(String::new(), |pointer, segment| match segment {
            Segment::Seq { index } => join_pointer(&pointer, &index.to_string()),
            Segment::Map { key } => join_pointer(&pointer, key),
            // Neither has a pointer: an enum's variant is no member, and an unknown segment has no
            // name.
            Segment::Enum { .. } | Segment::Unknown => pointer,
        })
}
