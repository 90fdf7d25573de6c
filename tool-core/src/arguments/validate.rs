//! Validation by the schema, with its errors worded for a model.

use crate::arguments::problem::{
    Problem, count_noun, describe_choice, describe_format, describe_schema, describe_value, join_alternatives, nearest,
};
use crate::arguments::view::{accepts_property, property_names};
use crate::schema::parameter::ResolvedParameter;
use crate::schema::validator::Validator;
use crate::schema::walk::join_pointer;
use crate::text::truncate;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value, json};

/// Returns all problems of the arguments, sorted by place.
pub(crate) fn validate(validator: &Validator, value: &Value) -> Vec<Problem> {
    validate_as(ValidationSubject::Arguments, validator, value)
}

/// Returns all problems of a value, with as much of its content as the subject may show.
pub(crate) fn validate_as(subject: ValidationSubject, validator: &Validator, value: &Value) -> Vec<Problem> {
    let compiled = match validator.compiled() {
        Ok(compiled) => compiled,
        Err(reason) => return vec![Problem::new("", "", format!("{} does not compile: {reason}", subject.schema()))],
    };
    if compiled.is_valid(value) {
        return Vec::new();
    }
    let mut reporter = ProblemReporter { root: validator.schema(), subject, problems: Vec::new() };
    for error in compiled.iter_errors(value) {
        reporter.error(&error);
    }
    reporter.problems.sort();
    reporter.problems.dedup();
    reporter.problems
}

/// Returns the problem with a top-level name that the schema does not accept.
pub(crate) fn unknown_name(subject: ValidationSubject, schema: &Value, name: &str) -> Option<Problem> {
    let reporter = ProblemReporter { root: schema, subject, problems: Vec::new() };
    (!accepts_property(schema, name)).then(|| reporter.unknown(schema, "", name))
}

struct ProblemReporter<'a> {
    root: &'a Value,
    subject: ValidationSubject,
    problems: Vec<Problem>,
}

impl<'a> ProblemReporter<'a> {
    fn error(&mut self, error: &ValidationError<'_>) {
        let at = error.instance_path().as_str();
        match error.kind() {
            Kind::Required { property } => {
                self.missing(self.schema_of(error), at, property.as_str().unwrap_or_default());
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let schema = self.schema_of(error);
                let unknown = unexpected.iter().map(|name| self.unknown(schema, at, name)).collect::<Vec<_>>();
                self.problems.extend(unknown);
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => self.choice(error, context),
            Kind::Enum { options } => {
                let values = options.as_array().map(Vec::as_slice).unwrap_or_default();
                let problem = Problem::new(at, describe_choice(values), self.subject.value(error.instance()));
                // The nearest value would reveal much of a secret.
                let given = error.instance().as_str().filter(|_| self.subject != ValidationSubject::Secrets);
                let near = given.and_then(|text| nearest(text, values.iter().filter_map(Value::as_str)));
                self.problems.push(match near {
                    Some(near) => problem.hint(format!("did you mean \"{near}\"?")),
                    None => problem,
                });
            }
            Kind::PropertyNames { error: inner } => {
                let name = inner.instance().as_str().unwrap_or_default();
                let got = format!("the name {} is not allowed", describe_value(inner.instance()));
                self.problems.push(Problem::new(join_pointer(at, name), "", got));
            }
            Kind::Not { schema } => self.refused(error, schema),
            kind => {
                let (expected, got) = self.expectation(error, kind);
                self.problems.push(Problem::new(at, expected, got));
            }
        }
    }

    /// Returns the expected and the actual value for an error of one keyword at one place.
    fn expectation(&self, error: &ValidationError<'_>, kind: &Kind) -> (String, String) {
        let instance = error.instance();
        let value = self.subject.value(instance);
        let characters = |limit| self.subject.counted(instance, "character", limit);
        let items = |limit| self.subject.counted(instance, "item", limit);
        match kind {
            Kind::Type { .. } => (describe_schema(self.schema_of(error), self.root), value),
            Kind::Minimum { limit } => (format!("a number of at least {limit}"), value),
            Kind::Maximum { limit } => (format!("a number of at most {limit}"), value),
            Kind::ExclusiveMinimum { limit } => (format!("a number above {limit}"), value),
            Kind::ExclusiveMaximum { limit } => (format!("a number below {limit}"), value),
            Kind::MultipleOf { multiple_of } => (format!("a multiple of {multiple_of}"), value),
            Kind::MinLength { limit } => (format!("at least {}", count_noun(*limit, "character")), characters(*limit)),
            Kind::MaxLength { limit } => (format!("at most {}", count_noun(*limit, "character")), characters(*limit)),
            Kind::MinItems { limit } => (format!("at least {}", count_noun(*limit, "item")), items(*limit)),
            Kind::MaxItems { limit } => (format!("at most {}", count_noun(*limit, "item")), items(*limit)),
            Kind::MinProperties { limit } => (format!("at least {}", count_noun(*limit, "property")), value),
            Kind::MaxProperties { limit } => (format!("at most {}", count_noun(*limit, "property")), value),
            Kind::AdditionalItems { limit } => {
                let limit = u64::try_from(*limit).unwrap_or(u64::MAX);
                (format!("at most {}", count_noun(limit, "item")), items(limit))
            }
            Kind::UnevaluatedItems { .. } => ("no further items".to_owned(), value),
            Kind::UniqueItems => ("unique items".to_owned(), value),
            Kind::Contains => ("an array with an item that `contains` asks for".to_owned(), value),
            Kind::Constant { expected_value } => (describe_value(expected_value), value),
            Kind::Format { format } => (describe_format(format), value),
            Kind::Pattern { pattern } => (format!("a string that matches `{pattern}`"), value),
            Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
                ("a string short enough for its pattern".to_owned(), value)
            }
            Kind::FalseSchema => ("no value here".to_owned(), value),
            Kind::OneOfMultipleValid { .. } => {
                ("a value of exactly one form".to_owned(), format!("{value}, which fits several"))
            }
            other => (format!("a value that satisfies `{}`", other.keyword()), value),
        }
    }

    /// Returns the schema with the keyword that failed.
    fn schema_of(&self, error: &ValidationError<'_>) -> &'a Value {
        let path = error.schema_path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.root.pointer(parent).unwrap_or(&Value::Bool(true))
    }

    fn missing(&mut self, schema: &'a Value, at: &str, name: &str) {
        let property = schema.pointer("/properties").or_else(|| self.root.pointer("/properties"));
        let property = property.and_then(|all| all.get(name)).unwrap_or(&Value::Bool(true));
        let mut expected = describe_schema(property, self.root);
        if let Some(text) = property.get("description").and_then(Value::as_str) {
            let first = text.lines().next().unwrap_or_default();
            expected = format!("{expected} (\"{}\")", truncate(first, 80));
        }
        self.problems.push(Problem::missing(join_pointer(at, name), expected));
    }

    fn unknown(&self, schema: &Value, at: &str, name: &str) -> Problem {
        let noun = if at.is_empty() { self.subject.noun() } else { "property" };
        let hint = hint_for(name, &property_names(schema, self.root));
        Problem::new(join_pointer(at, &truncate(name, 60)), "", format!("unknown {noun}")).hint(hint)
    }

    /// Reports a failed `not`. In a tool's own schema that is two names of one parameter given together.
    fn refused(&mut self, error: &ValidationError<'_>, schema: &Value) {
        let at = error.instance_path().as_str();
        let names = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if let [Value::String(first), Value::String(second)] = names {
            let got = format!("given together with `{first}`, which is the same parameter");
            self.problems.push(Problem::new(join_pointer(at, second), "", got).hint("send one of them"));
        } else {
            let expected = format!("anything but {}", describe_schema(schema, self.root));
            self.problems.push(Problem::new(at, expected, self.subject.value(error.instance())));
        }
    }

    /// Reports a failed choice by the branch that was probably meant, or else by the alternatives.
    fn choice(&mut self, error: &ValidationError<'_>, branches: &BranchErrors) {
        let at = error.instance_path().as_str();
        let schemas = self.root.pointer(error.schema_path().as_str()).and_then(Value::as_array);
        let schemas = schemas.map(Vec::as_slice).unwrap_or_default();
        if let Some(name) = first_required_name(schemas) {
            self.missing(&Value::Null, at, name);
            return;
        }
        if let Some(problem) = wrong_tag(self.subject, at, branches).or_else(|| missing_tag(at, schemas, branches)) {
            self.problems.push(problem);
            return;
        }
        let meant: Vec<_> =
            branches.iter().filter(|errors| !errors.iter().any(|error| rules_out_branch(at, error))).collect();
        if let [only] = meant.as_slice() {
            only.iter().for_each(|error| self.error(error));
            return;
        }
        let expected = join_alternatives(schemas.iter().map(|schema| describe_schema(schema, self.root)));
        self.problems.push(Problem::new(at, expected, self.subject.value(error.instance())));
    }
}

/// Returns the hint for an unknown name: the nearest known one, or those that there are.
fn hint_for(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => {
            let listed: Vec<String> = known.iter().take(20).map(|name| format!("`{}`", truncate(name, 60))).collect();
            format!("known: {}", listed.join(", "))
        }
    }
}

/// The errors of each branch of a choice.
type BranchErrors = [Vec<ValidationError<'static>>];

/// Returns the name of a required parameter with aliases: `anyOf: [{required: [name]}, {required: [alias]}]`.
fn first_required_name(schemas: &[Value]) -> Option<&str> {
    let single = |schema: &'_ Value| {
        let map = schema.as_object()?;
        let list = map.get("required")?.as_array()?;
        (map.len() == 1 && list.len() == 1).then_some(())
    };
    schemas.iter().try_for_each(single)?;
    schemas.first()?.pointer("/required/0")?.as_str()
}

/// Reports a wrong tag: all branches have a constant for the same property, and the value has another one.
fn wrong_tag(subject: ValidationSubject, at: &str, branches: &BranchErrors) -> Option<Problem> {
    let tag = |errors: &Vec<ValidationError<'static>>| {
        errors.iter().find_map(|error| match error.kind() {
            Kind::Constant { expected_value } if is_child(at, error.instance_path().as_str()) => Some((
                error.instance_path().as_str().to_owned(),
                expected_value.as_ref().clone(),
                subject.value(error.instance()),
            )),
            _ => None,
        })
    };
    let tags = branches.iter().map(tag).collect::<Option<Vec<_>>>()?;
    let (place, _, got) = tags.first()?;
    let values: Vec<Value> =
        tags.iter().filter(|(other, ..)| other == place).map(|(_, value, _)| value.clone()).collect();
    (values.len() == tags.len()).then(|| Problem::new(place, describe_choice(&values), got))
}

/// Reports a missing tag: all branches have a constant for the same property, and the value lacks the property.
fn missing_tag(at: &str, schemas: &[Value], branches: &BranchErrors) -> Option<Problem> {
    let constants = schemas.first()?.get("properties")?.as_object()?;
    for name in constants.keys() {
        let constant = |schema: &Value| schema.get("properties")?.get(name)?.get("const").cloned();
        let is_missing = |errors: &Vec<ValidationError<'static>>| {
            errors.iter().any(|error| matches!(error.kind(), Kind::Required { property } if property == name))
        };
        if let Some(values) = schemas.iter().map(constant).collect::<Option<Vec<_>>>()
            && branches.iter().all(is_missing)
        {
            return Some(Problem::missing(join_pointer(at, name), describe_choice(&values)));
        }
    }
    None
}

/// Returns true for an error by which the branch is certainly not the one that was meant.
fn rules_out_branch(at: &str, error: &ValidationError<'_>) -> bool {
    let place = error.instance_path().as_str();
    match error.kind() {
        Kind::Type { .. } | Kind::Enum { .. } | Kind::Required { .. } | Kind::AdditionalProperties { .. } => {
            place == at
        }
        Kind::Constant { .. } => place == at || is_child(at, place),
        _ => false,
    }
}

fn is_child(at: &str, place: &str) -> bool {
    place.strip_prefix(at).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| !rest.contains('/'))
}

/// The kind of value that is validated. It decides how much of the value a problem may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValidationSubject {
    /// The arguments of a call. Problems go to the model that sent them, and show everything.
    Arguments,
    /// Settings. Problems go to logs, and show only the type and the length of strings and arrays.
    Settings,
    /// Secrets. Problems show only types.
    Secrets,
}

impl ValidationSubject {
    /// Returns the name of the schema.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Self::Arguments => "the tool's schema",
            Self::Settings => "the schema of the settings",
            Self::Secrets => "the schema of the secrets",
        }
    }

    /// Returns the name of a top-level property.
    fn noun(self) -> &'static str {
        match self {
            Self::Arguments => "parameter",
            Self::Settings => "setting",
            Self::Secrets => "secret",
        }
    }

    /// Describes a value as far as it may be shown.
    pub(crate) fn value(self, value: &Value) -> String {
        match (self, value) {
            (Self::Arguments, _) | (_, Value::Null) | (Self::Settings, Value::Bool(_) | Value::Number(_)) => {
                describe_value(value)
            }
            (Self::Settings, Value::String(text)) => {
                format!("a string of {}", count_noun(count(text.chars().count()), "character"))
            }
            (Self::Settings, Value::Array(items)) => {
                format!("an array of {}", count_noun(count(items.len()), "item"))
            }
            (_, Value::String(_)) => "a string".to_owned(),
            (_, Value::Bool(_)) => "a boolean".to_owned(),
            (_, Value::Number(_)) => "a number".to_owned(),
            (_, Value::Array(_)) => "an array".to_owned(),
            (_, Value::Object(_)) => "an object".to_owned(),
        }
    }

    /// Describes a count, or for secrets on which side of the limit it is.
    fn counted(self, value: &Value, noun: &str, limit: u64) -> String {
        let found = match value {
            Value::String(text) => text.chars().count(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        match self {
            Self::Secrets => if count(found) < limit { "fewer" } else { "more" }.to_owned(),
            Self::Arguments | Self::Settings => count_noun(count(found), noun),
        }
    }
}

fn count(found: usize) -> u64 {
    u64::try_from(found).unwrap_or(u64::MAX)
}

/// Returns one line for each problem with the default and the examples of a parameter.
pub(crate) fn check_values(
    parameter: &ResolvedParameter,
    schema: &Value,
    definitions: &Map<String, Value>,
) -> Vec<String> {
    let default = parameter.default.as_ref().filter(|value| !(value.is_null() && parameter.optional));
    let values: Vec<(&str, &Value)> = default
        .map(|value| ("default", value))
        .into_iter()
        .chain(parameter.examples.iter().map(|value| ("example", value)))
        .collect();
    if values.is_empty() || accepts_anything(schema) {
        return Vec::new();
    }
    let validator = Validator::new(json!({"allOf": [schema], "$defs": definitions}));
    let mut found = Vec::new();
    for (kind, value) in values {
        for problem in validate(&validator, value) {
            found.push(format!("the {kind} `{value}` does not fit: {problem}"));
        }
    }
    found
}

fn accepts_anything(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty)
}
