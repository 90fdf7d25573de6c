//! What the validator found, in words for a model.

use crate::arguments::problem::{Problem, nearest};
use crate::arguments::{view, words};
use crate::schema::ParameterInput;
use crate::schema::validator::Validator;
use crate::schema::walk::join_pointer;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value, json};

/// Every problem of the value, sorted by place. None where the schema accepts it.
pub(crate) fn validate(validator: &Validator, value: &Value) -> Vec<Problem> {
    validate_as(Subject::Arguments, validator, value)
}

/// The same of something else than arguments, with its values shown as far as they may be.
pub(crate) fn validate_as(subject: Subject, validator: &Validator, value: &Value) -> Vec<Problem> {
    let compiled = match validator.compiled() {
        Ok(compiled) => compiled,
        Err(reason) => return vec![Problem::new("", "", format!("{} does not compile: {reason}", subject.schema()))],
    };
    if compiled.is_valid(value) {
        return Vec::new();
    }
    let mut reporter = Reporter { root: validator.schema(), subject, problems: Vec::new() };
    for error in compiled.iter_errors(value) {
        reporter.error(&error);
    }
    reporter.problems.sort();
    reporter.problems.dedup();
    reporter.problems
}

/// The problem with a top-level name that the schema has no place for; nothing where it has one.
pub(crate) fn unknown_name(subject: Subject, schema: &Value, name: &str) -> Option<Problem> {
    let reporter = Reporter { root: schema, subject, problems: Vec::new() };
    (!view::takes(schema, name)).then(|| reporter.unknown_in(schema, "", name))
}

pub(crate) struct Reporter<'a> {
    pub(crate) root: &'a Value,
    pub(crate) subject: Subject,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Reporter<'a> {
    pub(crate) fn error(&mut self, error: &ValidationError<'_>) {
        let at = error.instance_path().as_str();
        match error.kind() {
            Kind::Required { property } => self.missing(error, property.as_str().unwrap_or_default()),
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    self.unknown(error, name);
                }
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => report(self, error, context),
            Kind::Enum { options } => {
                let values = options.as_array().map(Vec::as_slice).unwrap_or_default();
                let problem = Problem::new(at, words::one_of(values), self.subject.value(error.instance()));
                let guessed = if self.subject.may_guess() { error.instance() } else { &Value::Null };
                self.problems.push(with_nearest(problem, guessed, values));
            }
            Kind::PropertyNames { error: inner } => {
                let name = inner.instance().as_str().unwrap_or_default();
                let got = format!("the name {} is not allowed", words::value_in_words(inner.instance()));
                self.problems.push(Problem::new(join_pointer(at, name), "", got));
            }
            Kind::Not { schema } => self.refused(error, schema),
            kind => {
                let (expected, got) = self.plain(error, kind);
                self.problems.push(Problem::new(at, expected, got));
            }
        }
    }

    /// Where one place of the arguments breaks one simple rule: what was expected, and what is there.
    fn plain(&self, error: &ValidationError<'_>, kind: &Kind) -> (String, String) {
        let instance = error.instance();
        let value = self.subject.value(instance);
        let characters = |limit| self.subject.counted(instance, "character", limit);
        let items = |limit| self.subject.counted(instance, "item", limit);
        match kind {
            Kind::Type { .. } => (words::schema(self.schema_of(error), self.root), value),
            Kind::Minimum { limit } => (format!("a number of at least {limit}"), value),
            Kind::Maximum { limit } => (format!("a number of at most {limit}"), value),
            Kind::ExclusiveMinimum { limit } => (format!("a number above {limit}"), value),
            Kind::ExclusiveMaximum { limit } => (format!("a number below {limit}"), value),
            Kind::MultipleOf { multiple_of } => (format!("a multiple of {multiple_of}"), value),
            Kind::MinLength { limit } => {
                (format!("at least {}", words::counted(*limit, "character")), characters(*limit))
            }
            Kind::MaxLength { limit } => {
                (format!("at most {}", words::counted(*limit, "character")), characters(*limit))
            }
            Kind::MinItems { limit } => (format!("at least {}", words::counted(*limit, "item")), items(*limit)),
            Kind::MaxItems { limit } => (format!("at most {}", words::counted(*limit, "item")), items(*limit)),
            Kind::MinProperties { limit } => (format!("at least {}", words::counted(*limit, "property")), value),
            Kind::MaxProperties { limit } => (format!("at most {}", words::counted(*limit, "property")), value),
            Kind::AdditionalItems { limit } => {
                let limit = u64::try_from(*limit).unwrap_or(u64::MAX);
                (format!("at most {}", words::counted(limit, "item")), items(limit))
            }
            Kind::UnevaluatedItems { .. } => ("no further items".to_owned(), value),
            Kind::UniqueItems => ("items that all differ".to_owned(), value),
            Kind::Contains => ("an array with the items that its schema asks for".to_owned(), value),
            Kind::Constant { expected_value } => (words::value_in_words(expected_value), value),
            Kind::Format { format } => (words::format(format), value),
            Kind::Pattern { pattern } => (format!("a string that matches `{pattern}`"), value),
            Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
                ("a string that its pattern can be tried on".to_owned(), value)
            }
            Kind::FalseSchema => ("nothing here".to_owned(), value),
            Kind::OneOfMultipleValid { .. } => {
                ("a value of exactly one shape".to_owned(), format!("{value}, which has several"))
            }
            other => (format!("a value that holds to `{}`", other.keyword()), value),
        }
    }

    /// The schema whose keyword failed.
    pub(crate) fn schema_of(&self, error: &ValidationError<'_>) -> &'a Value {
        let path = error.schema_path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.root.pointer(parent).unwrap_or(&Value::Bool(true))
    }

    fn missing(&mut self, error: &ValidationError<'_>, name: &str) {
        self.missing_in(self.schema_of(error), error.instance_path().as_str(), name);
    }

    pub(crate) fn missing_in(&mut self, schema: &'a Value, at: &str, name: &str) {
        let property = schema.pointer("/properties").or_else(|| self.root.pointer("/properties"));
        let property = property.and_then(|all| all.get(name)).unwrap_or(&Value::Bool(true));
        let mut expected = words::schema(property, self.root);
        if let Some(text) = property.get("description").and_then(Value::as_str) {
            let first = text.lines().next().unwrap_or_default();
            expected = format!("{expected} (\"{}\")", words::shortened(first, 80));
        }
        self.problems.push(Problem::missing(join_pointer(at, name), expected));
    }

    fn unknown(&mut self, error: &ValidationError<'_>, name: &str) {
        self.problems.push(self.unknown_in(self.schema_of(error), error.instance_path().as_str(), name));
    }

    fn unknown_in(&self, schema: &Value, at: &str, name: &str) -> Problem {
        let noun = if at.is_empty() { self.subject.noun() } else { "property" };
        let hint = view::hint(name, &view::names(schema, self.root));
        Problem::new(join_pointer(at, &words::shortened(name, 60)), "", format!("unknown {noun}")).hint(hint)
    }

    /// `not` stands in our schemas for two names of one parameter given at once.
    fn refused(&mut self, error: &ValidationError<'_>, schema: &Value) {
        let at = error.instance_path().as_str();
        let names = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if let [Value::String(first), Value::String(second)] = names {
            let got = format!("given together with `{first}`, which is the same parameter");
            self.problems.push(Problem::new(join_pointer(at, second), "", got).hint("send one of them"));
        } else {
            let expected = format!("anything but {}", words::schema(schema, self.root));
            self.problems.push(Problem::new(at, expected, self.subject.value(error.instance())));
        }
    }
}

fn with_nearest(problem: Problem, instance: &Value, options: &[Value]) -> Problem {
    let near = instance.as_str().and_then(|text| nearest(text, options.iter().filter_map(Value::as_str)));
    match near {
        Some(near) => problem.hint(format!("did you mean \"{near}\"?")),
        None => problem,
    }
}

// ---- A value that fits none of several shapes: which of them was meant, and what is wrong by that one.

type Branches = [Vec<ValidationError<'static>>];

/// Reports a failed choice by the branch that the value comes nearest to, or by naming what there is to choose from.
pub(crate) fn report(reporter: &mut Reporter<'_>, error: &ValidationError<'_>, branches: &Branches) {
    let at = error.instance_path().as_str();
    let schemas = reporter.root.pointer(error.schema_path().as_str()).and_then(Value::as_array);
    let schemas = schemas.map(Vec::as_slice).unwrap_or_default();
    if let Some(name) = first_of_required_names(schemas) {
        reporter.missing_in(&Value::Null, at, name);
        return;
    }
    if let Some(problem) = wrong_tag(reporter.subject, at, branches).or_else(|| missing_tag(at, schemas, branches)) {
        reporter.problems.push(problem);
        return;
    }
    let meant: Vec<_> =
        branches.iter().filter(|errors| !errors.iter().any(|error| is_other_shape(at, error))).collect();
    if let [only] = meant.as_slice() {
        only.iter().for_each(|error| reporter.error(error));
        return;
    }
    let expected = words::alternatives(schemas.iter().map(|schema| words::schema(schema, reporter.root)));
    reporter.problems.push(Problem::new(at, expected, reporter.subject.value(error.instance())));
}

/// A parameter with aliases is required by `anyOf: [{required: [name]}, {required: [alias]}]`.
fn first_of_required_names(schemas: &[Value]) -> Option<&str> {
    let single = |schema: &'_ Value| {
        let map = schema.as_object()?;
        let list = map.get("required")?.as_array()?;
        (map.len() == 1 && list.len() == 1).then_some(())
    };
    schemas.iter().try_for_each(single)?;
    schemas.first()?.pointer("/required/0")?.as_str()
}

/// All branches name a constant for the same property, and the value has another.
fn wrong_tag(subject: Subject, at: &str, branches: &Branches) -> Option<Problem> {
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
    (values.len() == tags.len()).then(|| Problem::new(place, words::one_of(&values), got))
}

/// All branches name a constant for the same property, and the value does not have it.
fn missing_tag(at: &str, schemas: &[Value], branches: &Branches) -> Option<Problem> {
    let constants = schemas.first()?.get("properties")?.as_object()?;
    for name in constants.keys() {
        let constant = |schema: &Value| schema.get("properties")?.get(name)?.get("const").cloned();
        let is_missing = |errors: &Vec<ValidationError<'static>>| {
            errors.iter().any(|error| matches!(error.kind(), Kind::Required { property } if property == name))
        };
        if let Some(values) = schemas.iter().map(constant).collect::<Option<Vec<_>>>()
            && branches.iter().all(is_missing)
        {
            return Some(Problem::missing(join_pointer(at, name), words::one_of(&values)));
        }
    }
    None
}

/// Whether the error says that the branch is about another shape altogether.
fn is_other_shape(at: &str, error: &ValidationError<'_>) -> bool {
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

// ---- What is being checked, which decides how much of it a problem may show.

/// What is being checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The arguments of a call, which go back to the model that sent them.
    Arguments,
    /// Settings, which end up in logs: of texts only kind and length are shown.
    Settings,
    /// Secrets: only kinds are.
    Secrets,
}

impl Subject {
    /// What its schema is called.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Self::Arguments => "the tool's schema",
            Self::Settings => "the schema of the settings",
            Self::Secrets => "the schema of the secrets",
        }
    }

    /// What a top-level property is called.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Arguments => "parameter",
            Self::Settings => "setting",
            Self::Secrets => "secret",
        }
    }

    /// A value, as far as it may be shown.
    pub(crate) fn value(self, value: &Value) -> String {
        match (self, value) {
            (Self::Arguments, _) | (_, Value::Null) | (Self::Settings, Value::Bool(_) | Value::Number(_)) => {
                words::value_in_words(value)
            }
            (Self::Settings, Value::String(text)) => {
                format!("a text of {}", words::counted(count(text.chars().count()), "character"))
            }
            (Self::Settings, Value::Array(items)) => {
                format!("an array of {}", words::counted(count(items.len()), "item"))
            }
            (_, Value::String(_)) => "a text".to_owned(),
            (_, Value::Bool(_)) => "a boolean".to_owned(),
            (_, Value::Number(_)) => "a number".to_owned(),
            (_, Value::Array(_)) => "an array".to_owned(),
            (_, Value::Object(_)) => "an object".to_owned(),
        }
    }

    /// How much of something there is, or which side of the limit that is.
    pub(crate) fn counted(self, value: &Value, noun: &str, limit: u64) -> String {
        let found = match value {
            Value::String(text) => text.chars().count(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        match self {
            Self::Secrets => if count(found) < limit { "fewer" } else { "more" }.to_owned(),
            Self::Arguments | Self::Settings => words::counted(count(found), noun),
        }
    }

    /// Whether a hint may tell which allowed value comes near to what is there.
    pub(crate) fn may_guess(self) -> bool {
        self != Self::Secrets
    }
}

fn count(found: usize) -> u64 {
    u64::try_from(found).unwrap_or(u64::MAX)
}

/// What is wrong with the default and the examples of one parameter.
pub(crate) fn check_values(
    parameter: &ParameterInput<'_>,
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
