//! What the validator found, in words for a model.

use super::{Problem, Subject, Validator, known, nearest, shapes, words};
use crate::pointer::child;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

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
    (!known::takes(schema, name)).then(|| reporter.unknown_in(schema, "", name))
}

pub(super) struct Reporter<'a> {
    pub(super) root: &'a Value,
    pub(super) subject: Subject,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Reporter<'a> {
    pub(super) fn error(&mut self, error: &ValidationError<'_>) {
        let at = error.instance_path().as_str();
        match error.kind() {
            Kind::Required { property } => self.missing(error, property.as_str().unwrap_or_default()),
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    self.unknown(error, name);
                }
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => shapes::report(self, error, context),
            Kind::Enum { options } => {
                let values = options.as_array().map(Vec::as_slice).unwrap_or_default();
                let problem = Problem::new(at, words::one_of(values), self.subject.value(error.instance()));
                let guessed = if self.subject.may_guess() { error.instance() } else { &Value::Null };
                self.problems.push(with_nearest(problem, guessed, values));
            }
            Kind::PropertyNames { error: inner } => {
                let name = inner.instance().as_str().unwrap_or_default();
                let got = format!("the name {} is not allowed", words::value(inner.instance()));
                self.problems.push(Problem::new(child(at, name), "", got));
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
            Kind::Constant { expected_value } => (words::value(expected_value), value),
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
    pub(super) fn schema_of(&self, error: &ValidationError<'_>) -> &'a Value {
        let path = error.schema_path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.root.pointer(parent).unwrap_or(&Value::Bool(true))
    }

    fn missing(&mut self, error: &ValidationError<'_>, name: &str) {
        self.missing_in(self.schema_of(error), error.instance_path().as_str(), name);
    }

    pub(super) fn missing_in(&mut self, schema: &'a Value, at: &str, name: &str) {
        let property = schema.pointer("/properties").or_else(|| self.root.pointer("/properties"));
        let property = property.and_then(|all| all.get(name)).unwrap_or(&Value::Bool(true));
        let mut expected = words::schema(property, self.root);
        if let Some(text) = property.get("description").and_then(Value::as_str) {
            let first = text.lines().next().unwrap_or_default();
            expected = format!("{expected} (\"{}\")", words::shortened(first, 80));
        }
        self.problems.push(Problem::missing(child(at, name), expected));
    }

    fn unknown(&mut self, error: &ValidationError<'_>, name: &str) {
        self.problems.push(self.unknown_in(self.schema_of(error), error.instance_path().as_str(), name));
    }

    fn unknown_in(&self, schema: &Value, at: &str, name: &str) -> Problem {
        let noun = if at.is_empty() { self.subject.noun() } else { "property" };
        let hint = known::hint(name, &known::names(schema, self.root));
        Problem::new(child(at, &words::shortened(name, 60)), "", format!("unknown {noun}")).hint(hint)
    }

    /// `not` stands in our schemas for two names of one parameter given at once.
    fn refused(&mut self, error: &ValidationError<'_>, schema: &Value) {
        let at = error.instance_path().as_str();
        let names = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if let [Value::String(first), Value::String(second)] = names {
            let got = format!("given together with `{first}`, which is the same parameter");
            self.problems.push(Problem::new(child(at, second), "", got).hint("send one of them"));
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
