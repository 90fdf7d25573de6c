//! Validation by the schema, with its errors worded for a model.

use crate::arguments::problem::{
    LISTED, MAX_PROBLEMS, Problem, count_noun, describe_choice, describe_format, describe_names,
    describe_schema, describe_value, join_alternatives, nearest,
};
use crate::arguments::shared_schema::SharedSchema;
use crate::arguments::view::{accepts_property, property_names};
use crate::json::number::digits_of;
use crate::json::pointer::Path;
use crate::json::value::RoundedNumbers;
use crate::schema::branches::Shape;
use crate::schema::compiled::{CompiledSchema, Formats};
use crate::schema::drafts::to_draft_2020_12;
use crate::schema::evaluation::{DEPTH, Evaluation, STEPS, TooCostly, check};
use crate::schema::node::{Choice, Keyword, NodeId, Properties};
use crate::schema::parameter::ResolvedParameter;
use crate::schema::validator::Validator;
use crate::schema::walk::{address, type_names};
use crate::text::truncate;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Number, Value, json};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Returns all problems of the arguments, sorted by place.
pub(crate) fn validate(validator: &Validator, value: &Value) -> Vec<Problem> {
    validate_as(ValidationSubject::Arguments, validator, value)
}

/// Returns the problems of a value, with as much of its content as the subject may show.
pub(crate) fn validate_as(
    subject: ValidationSubject,
    validator: &Validator,
    value: &Value,
) -> Vec<Problem> {
    let compiled = match validator.compiled() {
        Ok(compiled) => compiled,
        Err(reason) => return vec![not_compiled(subject, reason)],
    };
    match check(compiled, value) {
        Ok(true) => Vec::new(),
        Ok(false) => find_problems(subject, compiled, value, &RoundedNumbers::None),
        Err(TooCostly) => vec![too_costly(subject)],
    }
}

/// Returns the problems of a value that the schema does not accept. There is at least one.
pub(crate) fn find_problems(
    subject: ValidationSubject,
    compiled: &CompiledSchema,
    value: &Value,
    rounded: &RoundedNumbers,
) -> Vec<Problem> {
    let evaluation = Evaluation::new(compiled).with_digits(value, rounded);
    report(subject, compiled, value, evaluation)
}

/// Returns the place of a number that the arguments hold rounded: where the schema takes an integer,
/// or of an integer where the schema does not say `number`.
pub(crate) fn find_rounded_integer(
    compiled: &CompiledSchema,
    value: &Value,
    rounded: &RoundedNumbers,
) -> Option<String> {
    let evaluation = || {
        Evaluation::new(compiled)
            .with_digits(value, rounded)
            .with_fractions(value, rounded)
    };
    let mut checked = evaluation();
    match checked.accepts_by(compiled.root(), value) {
        Ok(true) => checked.untyped_rounded(value, rounded),
        Ok(false) => {
            let problems = report(ValidationSubject::Arguments, compiled, value, evaluation());
            problems.into_iter().next().map(|problem| problem.pointer)
        }
        Err(TooCostly) => None,
    }
}

fn report<'v>(
    subject: ValidationSubject,
    compiled: &'v CompiledSchema,
    value: &'v Value,
    evaluation: Evaluation<'v>,
) -> Vec<Problem> {
    let mut reporter = ProblemReporter {
        compiled,
        schemas: compiled.schemas(),
        subject,
        evaluation: evaluation.remembering_all(),
        choices: FxHashMap::default(),
        visited: FxHashSet::default(),
        depth: 0,
        problems: Vec::new(),
    };
    // Problems that were found before the steps ran out are true, and enough for an answer.
    let _ = reporter.value(compiled.root(), value, &Path::ROOT);
    let mut problems = reporter.problems;
    if problems.is_empty() {
        problems.push(too_costly(subject));
    }
    problems.sort();
    problems.dedup();
    problems
}

/// Reports a schema that does not compile.
pub(crate) fn not_compiled(subject: ValidationSubject, reason: &str) -> Problem {
    Problem::new(
        "",
        "",
        format!("{} does not compile: {reason}", subject.schema()),
    )
}

/// Reports a value that takes too many steps to check.
pub(crate) fn too_costly(subject: ValidationSubject) -> Problem {
    let expected = format!(
        "a value that {} can be checked against in {STEPS} steps",
        subject.schema()
    );
    Problem::new("", expected, "one that needs more").hint("send fewer or simpler values at once")
}

/// Returns the problem with a top-level name that the schema does not accept.
pub(crate) fn unknown_name(
    subject: ValidationSubject,
    schema: &Value,
    name: &str,
) -> Option<Problem> {
    (!accepts_property(schema, name)).then(|| unknown(subject, schema, schema, &Path::ROOT, name))
}

fn unknown(
    subject: ValidationSubject,
    root: &Value,
    schema: &Value,
    at: &Path<'_>,
    name: &str,
) -> Problem {
    let noun = if at.depth() == 0 {
        subject.noun()
    } else {
        "property"
    };
    let hint = match schema.as_object().and_then(describe_names) {
        Some(names) => format!("the {names}"),
        None => hint_for(name, &property_names(schema, root)),
    };
    Problem::new(
        at.key(&truncate(name, 60)).pointer(),
        "",
        format!("unknown {noun}"),
    )
    .hint(hint)
}

/// Looks for the problems of a value that its schema does not accept.
struct ProblemReporter<'v> {
    compiled: &'v CompiledSchema,
    schemas: FxHashMap<NodeId, &'v Value>,
    subject: ValidationSubject,
    evaluation: Evaluation<'v>,
    /// The forms of the choices that were met, by the addresses of the choices.
    choices: FxHashMap<usize, Rc<Forms<'v>>>,
    /// The shared nodes that were looked at, with the addresses of the values.
    visited: FxHashSet<(NodeId, usize)>,
    /// The number of nodes that are being looked at.
    depth: usize,
    problems: Vec<Problem>,
}

type Reported = Result<(), TooCostly>;

impl<'v> ProblemReporter<'v> {
    /// Reports the problems of a value with a schema, if there are any.
    fn value(&mut self, schema: &'v Value, value: &'v Value, path: &Path<'_>) -> Reported {
        self.compiled
            .id(schema)
            .map_or(Ok(()), |id| self.node(id, value, path))
    }

    fn node(&mut self, id: NodeId, value: &'v Value, path: &Path<'_>) -> Reported {
        let compiled = self.compiled;
        let node = compiled.node(id);
        if self.problems.len() >= MAX_PROBLEMS {
            return Ok(());
        }
        // Many ways may lead to a node, and its problems at one value are the same.
        if node.is_remembered()
            && (!self.visited.insert((id, address(value))) || self.evaluation.accepts(id, value)?)
        {
            return Ok(());
        }
        self.evaluation.charge(node.cost)?;
        self.depth = Some(self.depth + 1)
            .filter(|depth| *depth <= DEPTH)
            .ok_or(TooCostly)?;
        for keyword in &node.keywords {
            // The parts of these are looked at one by one, and those that are accepted have no
            // problems.
            if keyword.is_conjunction() || !self.evaluation.satisfies(id, keyword, value)? {
                self.keyword(id, keyword, value, path)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn schema(&self, id: NodeId) -> &'v Value {
        self.schemas.get(&id).copied().unwrap_or(&Value::Bool(true))
    }

    fn root(&self) -> &'v Value {
        self.compiled.root()
    }

    fn push(&mut self, path: &Path<'_>, expected: impl Into<String>, got: impl Into<String>) {
        self.problems
            .push(Problem::new(path.pointer(), expected, got));
    }

    /// Reports a keyword that the value does not satisfy.
    fn keyword(
        &mut self,
        id: NodeId,
        keyword: &'v Keyword,
        value: &'v Value,
        path: &Path<'_>,
    ) -> Reported {
        match keyword {
            Keyword::Required(names) => self.missing_names(id, names, value, path),
            Keyword::DependentRequired(all) => {
                for (_, names) in all.iter().filter(|(name, _)| value.get(name).is_some()) {
                    self.missing_names(id, names, value, path);
                }
            }
            Keyword::Enum(_) => self.not_listed(id, value, path),
            Keyword::Not(other) => self.refused(self.schema(*other), value, path),
            Keyword::AnyOf(choice) => self.choice(choice, value, path)?,
            Keyword::OneOf(choice) => {
                if self.evaluation.accepting(choice, value, 1)? == 0 {
                    self.choice(choice, value, path)?;
                } else {
                    let got = format!("{}, which fits several", self.subject.value(value));
                    self.push(path, "a value of exactly one form", got);
                }
            }
            Keyword::Reference(id) => self.node(*id, value, path)?,
            Keyword::AllOf(all) => {
                for id in all {
                    self.node(*id, value, path)?;
                }
            }
            Keyword::DependentSchemas(all) => {
                for (_, id) in all.iter().filter(|(name, _)| value.get(name).is_some()) {
                    self.node(*id, value, path)?;
                }
            }
            Keyword::If {
                condition,
                then,
                otherwise,
            } => {
                let next = if self.evaluation.accepts(*condition, value)? {
                    then
                } else {
                    otherwise
                };
                next.map_or(Ok(()), |id| self.node(id, value, path))?;
            }
            Keyword::Items { .. } | Keyword::UnevaluatedItems(_) => {
                self.items(id, keyword, value, path)?;
            }
            Keyword::Properties(_)
            | Keyword::PropertyNames(_)
            | Keyword::UnevaluatedProperties(_) => {
                self.properties(id, keyword, value, path)?;
            }
            keyword => {
                let (expected, got) = self.expectation(self.schema(id), keyword, value);
                self.push(path, expected, got);
            }
        }
        Ok(())
    }

    /// Returns the expected and the actual value for a keyword without subschemas.
    fn expectation(&self, schema: &Value, keyword: &Keyword, value: &Value) -> (String, String) {
        let shown = self.subject.value(value);
        let characters = |limit| self.subject.counted(value, "character", limit);
        let items = |limit| self.subject.counted(value, "item", limit);
        let text = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        match keyword {
            Keyword::Type(_) => (describe_schema(schema, self.root()), shown),
            Keyword::Minimum(limit) => self.bound("of at least", limit, schema, value),
            Keyword::Maximum(limit) => self.bound("of at most", limit, schema, value),
            Keyword::ExclusiveMinimum(limit) => self.bound("above", limit, schema, value),
            Keyword::ExclusiveMaximum(limit) => self.bound("below", limit, schema, value),
            Keyword::MinLength(limit) => (
                format!("at least {}", count_noun(*limit, "character")),
                characters(*limit),
            ),
            Keyword::MaxLength(limit) => (
                format!("at most {}", count_noun(*limit, "character")),
                characters(*limit),
            ),
            Keyword::MinItems(limit) => (
                format!("at least {}", count_noun(*limit, "item")),
                items(*limit),
            ),
            Keyword::MaxItems(limit) => (
                format!("at most {}", count_noun(*limit, "item")),
                items(*limit),
            ),
            Keyword::MinProperties(limit) => (
                format!("at least {}", count_noun(*limit, "property")),
                shown,
            ),
            Keyword::MaxProperties(limit) => {
                (format!("at most {}", count_noun(*limit, "property")), shown)
            }
            Keyword::UniqueItems => ("unique items".to_owned(), shown),
            Keyword::Contains { .. } => (
                "an array with an item that `contains` asks for".to_owned(),
                shown,
            ),
            Keyword::Const(constant) => (describe_value(constant), shown),
            Keyword::Leaf("format", _) => (describe_format(text("format")), shown),
            Keyword::Leaf("pattern", _) => (
                format!("a string that matches `{}`", text("pattern")),
                shown,
            ),
            Keyword::Leaf(keyword, _) => (
                format!(
                    "a multiple of {}",
                    schema.get(*keyword).unwrap_or(&Value::Null)
                ),
                shown,
            ),
            _ => ("no value here".to_owned(), shown),
        }
    }

    /// Returns the expected and the actual value for a bound. Integers have all their digits.
    fn bound(
        &self,
        relation: &str,
        limit: &Number,
        schema: &Value,
        value: &Value,
    ) -> (String, String) {
        let has_type = |wanted: &str| {
            schema
                .as_object()
                .is_some_and(|map| type_names(map).any(|name| name == wanted))
        };
        let is_integer = has_type("integer") && !has_type("number");
        let limit = if is_integer {
            digits_of(limit)
        } else {
            limit.to_string()
        };
        let shown = match (self.evaluation.digits(value), value) {
            (Some(digits), _) if self.subject != ValidationSubject::Secrets => truncate(digits, 60),
            (None, Value::Number(number))
                if is_integer && self.subject != ValidationSubject::Secrets =>
            {
                digits_of(number)
            }
            _ => self.subject.value(value),
        };
        (format!("a number {relation} {limit}"), shown)
    }

    fn items(
        &mut self,
        id: NodeId,
        keyword: &Keyword,
        value: &'v Value,
        path: &Path<'_>,
    ) -> Reported {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        self.evaluation.charge(items.len())?;
        let ids: Vec<Option<NodeId>> = match keyword {
            Keyword::Items { first, rest } => {
                let ids = first
                    .iter()
                    .map(|id| Some(*id))
                    .chain(std::iter::repeat(*rest));
                ids.take(items.len()).collect()
            }
            Keyword::UnevaluatedItems(rest) => {
                let evaluated = self.evaluation.evaluated(id, value, items.len())?;
                evaluated
                    .into_iter()
                    .map(|evaluated| (!evaluated).then_some(*rest))
                    .collect()
            }
            _ => Vec::new(),
        };
        // Of an array that is too long, the length is the problem.
        let surplus = ids
            .iter()
            .position(|id| id.is_some_and(|id| *self.schema(id) == Value::Bool(false)));
        if let Some(limit) = surplus {
            let limit = count(limit);
            self.push(
                path,
                format!("at most {}", count_noun(limit, "item")),
                self.subject.counted(value, "item", limit),
            );
        }
        for (position, (item, id)) in items.iter().zip(ids).enumerate() {
            if self.problems.len() >= MAX_PROBLEMS {
                break;
            }
            if let Some(id) = id.filter(|id| *self.schema(*id) != Value::Bool(false)) {
                self.node(id, item, &path.index(position))?;
            }
        }
        Ok(())
    }

    fn properties(
        &mut self,
        id: NodeId,
        keyword: &Keyword,
        value: &'v Value,
        path: &Path<'_>,
    ) -> Reported {
        let Some(members) = value.as_object() else {
            return Ok(());
        };
        self.evaluation.charge(members.len())?;
        let evaluated = match keyword {
            Keyword::UnevaluatedProperties(_) => {
                self.evaluation.evaluated(id, value, members.len())?
            }
            _ => Vec::new(),
        };
        for (position, (name, member)) in members.iter().enumerate() {
            if self.problems.len() >= MAX_PROBLEMS {
                break;
            }
            let ids = match keyword {
                Keyword::Properties(properties) => {
                    self.evaluation.of_property(properties, name)?.collect()
                }
                Keyword::UnevaluatedProperties(rest) if evaluated.get(position) == Some(&false) => {
                    vec![*rest]
                }
                Keyword::PropertyNames(id) if !self.evaluation.accepts_name(*id, name)? => {
                    let got = format!(
                        "the name {} is not allowed",
                        describe_value(&name.as_str().into())
                    );
                    let expected = describe_schema(self.schema(*id), self.root());
                    let problem = Problem::new(path.key(name).pointer(), "", got);
                    self.problems.push(match expected.as_str() {
                        "a value" => problem,
                        expected => problem.hint(format!("names are {expected}")),
                    });
                    continue;
                }
                _ => continue,
            };
            let is_rest =
                !matches!(keyword, Keyword::Properties(all) if all.named.contains_key(name));
            for inner in ids {
                if is_rest && *self.schema(inner) == Value::Bool(false) {
                    // Problems that are only counted need no hint.
                    let problem = match self.problems.len() {
                        ..LISTED => unknown(self.subject, self.root(), self.schema(id), path, name),
                        _ => Problem::new(path.key(name).pointer(), "", "unknown"),
                    };
                    self.problems.push(problem);
                } else {
                    self.node(inner, member, &path.key(name))?;
                }
            }
        }
        Ok(())
    }

    fn not_listed(&mut self, id: NodeId, value: &Value, path: &Path<'_>) {
        let values = self
            .schema(id)
            .get("enum")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let problem = Problem::new(
            path.pointer(),
            describe_choice(values),
            self.subject.value(value),
        );
        // The nearest value would reveal much of a secret.
        let is_listed = self.problems.len() < LISTED;
        let given = value
            .as_str()
            .filter(|_| is_listed && self.subject != ValidationSubject::Secrets);
        let near = given
            .and_then(|text| nearest(text, values.iter().filter_map(Value::as_str).take(COMPARED)));
        self.problems.push(match near {
            Some(near) => problem.hint(format!("did you mean \"{near}\"?")),
            None => problem,
        });
    }

    fn missing_names(&mut self, id: NodeId, names: &[String], value: &Value, path: &Path<'_>) {
        let schema = self.schema(id);
        for name in names
            .iter()
            .filter(|name| value.get(name.as_str()).is_none())
            .take(MAX_PROBLEMS)
        {
            self.missing(schema, path, name);
        }
    }

    fn missing(&mut self, schema: &Value, path: &Path<'_>, name: &str) {
        let property = schema
            .pointer("/properties")
            .or_else(|| self.root().pointer("/properties"));
        let property = property
            .and_then(|all| all.get(name))
            .unwrap_or(&Value::Bool(true));
        let mut expected = describe_schema(property, self.root());
        if let Some(text) = property.get("description").and_then(Value::as_str) {
            let first = text.lines().next().unwrap_or_default();
            expected = format!("{expected} (\"{}\")", truncate(first, 80));
        }
        self.problems
            .push(Problem::missing(path.key(name).pointer(), expected));
    }

    /// Reports a failed `not`. In a tool's own schema that is two names of one parameter given
    /// together.
    fn refused(&mut self, schema: &Value, value: &Value, path: &Path<'_>) {
        let names = schema
            .get("required")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        if let [Value::String(first), Value::String(second)] = names {
            let got = format!("given together with `{first}`, which is the same parameter");
            self.problems
                .push(Problem::new(path.key(second).pointer(), "", got).hint("send one of them"));
        } else {
            let expected = format!("anything but {}", describe_schema(schema, self.root()));
            self.push(path, expected, self.subject.value(value));
        }
    }

    /// Reports a failed choice by the branch that was probably meant, or else by the alternatives.
    fn choice(&mut self, choice: &'v Choice, value: &'v Value, path: &Path<'_>) -> Reported {
        // The index finds the branch of a tag.
        if let Some(index) = self.compiled.index(choice) {
            let mut candidates = index.candidates(value);
            if let (Some(only), None) = (candidates.next(), candidates.next()) {
                return self.node(only, value, path);
            }
        }
        let forms = self.forms(choice)?;
        if let Some(name) = forms.required {
            self.missing(&Value::Null, path, name);
            return Ok(());
        }
        if let Some(problem) = forms.wrong_tag(self.subject, value, path) {
            self.problems.push(problem);
            return Ok(());
        }
        let mut possible = Vec::new();
        let mut meant = Vec::new();
        for (id, shape) in choice
            .branches
            .iter()
            .zip(&forms.shapes)
            .filter(|_| forms.shapes.len() <= COMPARED)
        {
            if !shape.fits(value) || !forms.has_tag_of(shape, value) {
                continue;
            }
            possible.push(*id);
            if self.fits(*id, value)? {
                meant.push(*id);
            }
        }
        // A text may be meant for any form, and an array or object for the only one of its type or
        // tag.
        let is_structure = value.is_array() || value.is_object();
        match (meant.as_slice(), possible.as_slice()) {
            ([only], _) => return self.node(*only, value, path),
            ([], [only]) if is_structure => return self.node(*only, value, path),
            _ => {}
        }
        self.push(path, forms.described.clone(), self.subject.value(value));
        Ok(())
    }

    fn forms(&mut self, choice: &'v Choice) -> Result<Rc<Forms<'v>>, TooCostly> {
        let address = std::ptr::from_ref(choice).addr();
        if let Some(known) = self.choices.get(&address) {
            return Ok(Rc::clone(known));
        }
        self.evaluation.charge(16 * choice.branches.len())?;
        let schemas: Vec<&Value> = choice.branches.iter().map(|id| self.schema(*id)).collect();
        let forms = Rc::new(Forms::of(self.compiled, choice, &schemas));
        self.choices.insert(address, Rc::clone(&forms));
        Ok(forms)
    }

    /// Returns false for a branch that is certainly not the one that was meant: the value has
    /// another type, an unknown property or another constant.
    fn fits(&mut self, id: NodeId, value: &'v Value) -> Result<bool, TooCostly> {
        let compiled = self.compiled;
        for keyword in &compiled.node(id).keywords {
            let fits = match keyword {
                Keyword::Reference(id) => self.fits(*id, value)?,
                Keyword::AllOf(all) => {
                    let mut fits = true;
                    for id in all {
                        fits = fits && self.fits(*id, value)?;
                    }
                    fits
                }
                Keyword::Type(_) | Keyword::Enum(_) | Keyword::Const(_) | Keyword::Required(_) => {
                    self.evaluation.satisfies(id, keyword, value)?
                }
                Keyword::Properties(properties) => self.fits_properties(properties, value)?,
                _ => true,
            };
            self.evaluation.charge(1)?;
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fits_properties(
        &mut self,
        properties: &Properties,
        value: &'v Value,
    ) -> Result<bool, TooCostly> {
        let Some(members) = value.as_object() else {
            return Ok(true);
        };
        if properties.are_few_beside(members.len()) {
            self.evaluation.charge(properties.named.len())?;
            for (name, id) in &properties.named {
                if let Some(member) = members.get(name)
                    && !self.fits_property(*id, member, false)?
                {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        self.evaluation.charge(members.len())?;
        for (name, member) in members {
            let is_rest = !properties.named.contains_key(name);
            for id in self.evaluation.of_property(properties, name)? {
                if !self.fits_property(id, member, is_rest)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns false for an unknown property and for another constant.
    fn fits_property(
        &mut self,
        id: NodeId,
        member: &'v Value,
        is_rest: bool,
    ) -> Result<bool, TooCostly> {
        let compiled = self.compiled;
        for keyword in &compiled.node(id).keywords {
            let is_unknown = is_rest && matches!(keyword, Keyword::Never);
            let is_constant = matches!(keyword, Keyword::Const(_));
            if is_unknown || is_constant && !self.evaluation.satisfies(id, keyword, member)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The forms between which a value may choose.
struct Forms<'v> {
    /// The name of a required parameter with aliases, if each form only requires one of its names.
    required: Option<&'v str>,
    shapes: Vec<Shape>,
    /// The tag that all forms have, and its values.
    tag: Option<(String, Vec<Value>)>,
    /// The forms in words.
    described: String,
}

impl<'v> Forms<'v> {
    fn of(compiled: &CompiledSchema, choice: &Choice, schemas: &[&'v Value]) -> Self {
        let shapes: Vec<_> = choice
            .branches
            .iter()
            .map(|id| Shape::of(*id, &|id| compiled.node(id)))
            .collect();
        let described =
            join_alternatives(schemas, |schema| describe_schema(schema, compiled.root()));
        Self {
            required: first_required_name(schemas),
            tag: common_tag(&shapes),
            shapes,
            described,
        }
    }

    /// Returns true unless the forms have a tag, and the value has that of another form.
    fn has_tag_of(&self, shape: &Shape, value: &Value) -> bool {
        let Some((name, _)) = &self.tag else {
            return true;
        };
        let given = value.get(name).and_then(Value::as_str);
        shape.tags().any(|(other, values)| {
            other == name && given.is_some_and(|given| values.iter().any(|it| it == given))
        })
    }

    /// Reports a tag that is missing, or has no form.
    fn wrong_tag(
        &self,
        subject: ValidationSubject,
        value: &Value,
        path: &Path<'_>,
    ) -> Option<Problem> {
        let (members, (name, tags)) = (value.as_object()?, self.tag.as_ref()?);
        let place = path.key(name).pointer();
        match members.get(name) {
            None => Some(Problem::missing(place, describe_choice(tags))),
            Some(given) if tags.contains(given) => None,
            Some(given) => Some(Problem::new(
                place,
                describe_choice(tags),
                subject.value(given),
            )),
        }
    }
}

/// The number of properties that are looked at to find a common tag.
const TAGS: usize = 20;

/// Returns the tag that all shapes have, with its values.
fn common_tag(shapes: &[Shape]) -> Option<(String, Vec<Value>)> {
    let is_common = |name: &String| {
        shapes
            .iter()
            .all(|shape| shape.tags().any(|(other, _)| other == name))
    };
    let (name, _) = shapes
        .first()?
        .tags()
        .take(TAGS)
        .find(|(name, _)| is_common(name))?;
    let tags = shapes
        .iter()
        .flat_map(|shape| shape.tags().filter(|(other, _)| other == name));
    let values = tags
        .flat_map(|(_, values)| values.iter().map(|value| value.as_str().into()))
        .collect();
    Some((name.clone(), values))
}

/// The number of names that an unknown one is compared with, and of forms that a value without one
/// is compared with.
const COMPARED: usize = 200;

/// Returns the hint for an unknown name: the nearest known one, or those that there are.
fn hint_for(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied().take(COMPARED)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => {
            let listed: Vec<String> = known
                .iter()
                .take(20)
                .map(|name| format!("`{}`", truncate(name, 60)))
                .collect();
            format!("known: {}", listed.join(", "))
        }
    }
}

/// Returns the name of a required parameter with aliases:
/// `anyOf: [{required: [name]}, {required: [alias]}]`.
fn first_required_name<'v>(schemas: &[&'v Value]) -> Option<&'v str> {
    let single = |schema: &&Value| {
        let map = schema.as_object()?;
        let list = map.get("required")?.as_array()?;
        (map.len() == 1 && list.len() == 1).then_some(())
    };
    schemas.iter().try_for_each(single)?;
    schemas.first()?.pointer("/required/0")?.as_str()
}

/// Checks values against a JSON Schema that is given at run time, for example the results of a tool
/// that another process runs.
///
/// ```
/// use serde_json::json;
/// use tool_core::arguments::SchemaChecker;
///
/// let checker = SchemaChecker::new(&json!({"type": "object", "properties": {"id": {"type": "integer"}}}));
/// assert!(checker.accepts(&json!({"id": 1})));
/// let problems = checker.problems(&json!({"id": "x"}));
/// assert_eq!(problems[0].pointer, "/id");
/// ```
pub struct SchemaChecker {
    schema: Arc<SharedSchema>,
    formats: Formats,
}

impl fmt::Debug for SchemaChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaChecker").finish_non_exhaustive()
    }
}

impl SchemaChecker {
    /// Creates a checker of a schema of any draft. It compiles the schema at the first use.
    pub fn new(schema: &Value) -> Self {
        Self {
            schema: SharedSchema::of(to_draft_2020_12(schema), None),
            formats: Formats::Asserted,
        }
    }

    /// Reads `format` as a description that no value must fit, as draft 2020-12 has it by default.
    /// By default formats are asserted.
    #[must_use]
    pub fn annotates_formats(self) -> Self {
        Self {
            formats: Formats::Annotated,
            ..self
        }
    }

    /// Returns true if the schema accepts a value. A schema that does not compile accepts nothing.
    pub fn accepts(&self, value: &Value) -> bool {
        self.schema.results(self.formats).is_valid(value)
    }

    /// Returns all problems of a value, sorted by place. A schema that does not compile is a
    /// problem of every value.
    pub fn problems(&self, value: &Value) -> Vec<Problem> {
        validate_as(
            ValidationSubject::Result,
            self.schema.results(self.formats),
            value,
        )
    }
}

/// The kind of value that is validated. It decides how much of the value a problem may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValidationSubject {
    /// The arguments of a call. Problems go to the model that sent them, and show everything.
    Arguments,
    /// The result of a tool. Problems go to the model, which would read the result, and show
    /// everything.
    Result,
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
            Self::Result => "the tool's output schema",
            Self::Settings => "the schema of the settings",
            Self::Secrets => "the schema of the secrets",
        }
    }

    /// Returns the name of a top-level property.
    fn noun(self) -> &'static str {
        match self {
            Self::Arguments => "parameter",
            Self::Result => "member",
            Self::Settings => "setting",
            Self::Secrets => "secret",
        }
    }

    /// Describes a value as far as it may be shown.
    pub(crate) fn value(self, value: &Value) -> String {
        match (self, value) {
            (Self::Arguments | Self::Result, _)
            | (_, Value::Null)
            | (Self::Settings, Value::Bool(_) | Value::Number(_)) => describe_value(value),
            (Self::Settings, Value::String(text)) => {
                format!(
                    "a string of {}",
                    count_noun(count(text.chars().count()), "character")
                )
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
            Self::Secrets => if count(found) < limit {
                "fewer"
            } else {
                "more"
            }
            .to_owned(),
            Self::Arguments | Self::Result | Self::Settings => count_noun(count(found), noun),
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
    let default = parameter
        .default
        .as_ref()
        .filter(|value| !(value.is_null() && parameter.optional));
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
