//! Checking a value by a compiled schema, in a limited number of steps.
//!
//! Each verdict on a subschema that several others lead to is remembered, so that a value is
//! checked against it once, however many ways there are.

use crate::json::number::{compare, compare_digits, exact, exact_text};
use crate::json::pointer::Path;
use crate::json::value::RoundedNumbers;
use crate::schema::compiled::CompiledSchema;
use crate::schema::node::{Choice, Keyword, NodeId, Properties};
use crate::schema::type_set::TypeSet;
use crate::schema::walk::address;
use foldhash::fast::RandomState;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Number, Value};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

/// The number of steps that checking one value may take.
pub(crate) const STEPS: usize = 3_000_000;
/// The steps that remembering a verdict counts as. It bounds the memory.
const STEPS_OF_A_VERDICT: usize = 6;
/// The number of subschemas that may be under way at once. It bounds the stack.
pub(crate) const DEPTH: usize = 600;

/// Checking the value takes more steps than it may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooCostly;

pub(crate) type Verdict = Result<bool, TooCostly>;

/// Returns true if a schema accepts a value.
pub(crate) fn check(schema: &CompiledSchema, value: &Value) -> Verdict {
    check_exact(schema, value, &RoundedNumbers::None)
}

/// Returns true if a schema accepts a value. The numbers that it holds rounded are compared by
/// their digits.
pub(crate) fn check_exact(
    schema: &CompiledSchema,
    value: &Value,
    rounded: &RoundedNumbers,
) -> Verdict {
    Evaluation::new(schema)
        .with_digits(value, rounded)
        .accepts_by(schema.root(), value)
}

/// Returns true if a schema accepts a value. A value that takes too many steps is not accepted.
pub(crate) fn is_valid(schema: &CompiledSchema, value: &Value) -> bool {
    check(schema, value).unwrap_or(false)
}

/// The check of one value and its members. Values do not change while it is in use.
pub(crate) struct Evaluation<'v> {
    schema: &'v CompiledSchema,
    steps: usize,
    depth: usize,
    verdicts: FxHashMap<(NodeId, usize), bool>,
    /// True if the verdicts on all arrays and objects are remembered, for a caller that asks about
    /// them again.
    remembers_all: bool,
    /// The digits of whole numbers that the value holds rounded, by their addresses.
    digits: FxHashMap<usize, String>,
    /// The addresses of the numbers that count as fractions.
    fractions: FxHashSet<usize>,
    /// The addresses of those that a `type` with `number` has taken.
    typed_fractions: FxHashSet<usize>,
}

impl<'v> Evaluation<'v> {
    pub(crate) fn new(schema: &'v CompiledSchema) -> Self {
        Self::with_steps(schema, STEPS)
    }

    pub(crate) fn with_steps(schema: &'v CompiledSchema, steps: usize) -> Self {
        let verdicts = FxHashMap::default();
        Self {
            schema,
            steps,
            depth: 0,
            verdicts,
            remembers_all: false,
            digits: FxHashMap::default(),
            fractions: FxHashSet::default(),
            typed_fractions: FxHashSet::default(),
        }
    }

    /// Compares the numbers that the value holds rounded by their digits.
    pub(crate) fn with_digits(mut self, value: &Value, rounded: &RoundedNumbers) -> Self {
        for_each_rounded(value, rounded, &Path::ROOT, &mut |number, digits, _| {
            // A fraction is compared by its float.
            if !digits.contains(['.', 'e', 'E']) {
                self.digits.insert(address(number), digits.to_owned());
            }
        });
        self
    }

    /// Counts the numbers that the value holds rounded as fractions, so that no place for an
    /// integer takes them.
    pub(crate) fn with_fractions(mut self, value: &Value, rounded: &RoundedNumbers) -> Self {
        for_each_rounded(value, rounded, &Path::ROOT, &mut |number, _, _| {
            self.fractions.insert(address(number));
        });
        self
    }

    /// Returns the place of the first whole number that the value holds rounded where no `type` has
    /// taken it as a number. The value has been checked.
    pub(crate) fn untyped_rounded(
        &self,
        value: &Value,
        rounded: &RoundedNumbers,
    ) -> Option<String> {
        let mut found = None;
        for_each_rounded(value, rounded, &Path::ROOT, &mut |number, _, path| {
            let is_typed = self.typed_fractions.contains(&address(number));
            if found.is_none() && !is_typed && self.digits(number).is_some() {
                found = Some(path.pointer());
            }
        });
        found
    }

    fn is_fraction(&self, value: &Value) -> bool {
        !self.fractions.is_empty() && self.fractions.contains(&address(value))
    }

    /// Returns the digits of a number that the value holds rounded.
    pub(crate) fn digits(&self, number: &Value) -> Option<&str> {
        self.digits.get(&address(number)).map(String::as_str)
    }

    /// Remembers the verdicts on all arrays and objects.
    pub(crate) fn remembering_all(self) -> Self {
        Self {
            remembers_all: true,
            ..self
        }
    }

    /// Returns the number of steps that are left.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Takes some steps, or fails if they are not left.
    pub(crate) fn charge(&mut self, steps: usize) -> Result<(), TooCostly> {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.map(|_| ()).ok_or(TooCostly)
    }

    /// Returns true if a subschema of the root accepts the value.
    pub(crate) fn accepts_by(&mut self, schema: &Value, value: &'v Value) -> Verdict {
        self.schema
            .id(schema)
            .map_or(Ok(true), |id| self.accepts(id, value))
    }

    /// Returns true if the schema of a node accepts the value.
    pub(crate) fn accepts(&mut self, id: NodeId, value: &'v Value) -> Verdict {
        let node = self.schema.node(id);
        self.charge(node.cost)?;
        let key = (id, address(value));
        let is_remembered =
            node.is_remembered() || self.remembers_all && (value.is_array() || value.is_object());
        if is_remembered && let Some(verdict) = self.verdicts.get(&key) {
            return Ok(*verdict);
        }
        self.depth = Some(self.depth + 1)
            .filter(|depth| *depth <= DEPTH)
            .ok_or(TooCostly)?;
        let mut verdict = true;
        for keyword in &node.keywords {
            if !self.satisfies(id, keyword, value)? {
                verdict = false;
                break;
            }
        }
        self.depth -= 1;
        if is_remembered {
            self.charge(STEPS_OF_A_VERDICT)?;
            self.verdicts.insert(key, verdict);
        }
        Ok(verdict)
    }

    /// Returns true if the value satisfies one keyword of a node.
    pub(crate) fn satisfies(&mut self, id: NodeId, keyword: &Keyword, value: &'v Value) -> Verdict {
        match keyword {
            Keyword::Reference(id) => self.accepts(*id, value),
            Keyword::AllOf(all) => self.all(all.iter().map(|id| (*id, value))),
            Keyword::AnyOf(choice) => Ok(self.accepting(choice, value, 1)? > 0),
            Keyword::OneOf(choice) => Ok(self.accepting(choice, value, 2)? == 1),
            Keyword::Not(id) => self.accepts(*id, value).map(|accepts| !accepts),
            Keyword::If {
                condition,
                then,
                otherwise,
            } => {
                let next = if self.accepts(*condition, value)? {
                    then
                } else {
                    otherwise
                };
                next.map_or(Ok(true), |id| self.accepts(id, value))
            }
            Keyword::DependentSchemas(all) => {
                let applies = |(name, _): &&(String, NodeId)| value.get(name).is_some();
                self.all(all.iter().filter(applies).map(|(_, id)| (*id, value)))
            }
            Keyword::Items { .. }
            | Keyword::Contains { .. }
            | Keyword::UniqueItems
            | Keyword::UnevaluatedItems(_) => value
                .as_array()
                .map_or(Ok(true), |items| self.items(id, keyword, value, items)),
            Keyword::Properties(_)
            | Keyword::PropertyNames(_)
            | Keyword::UnevaluatedProperties(_) => self.properties(id, keyword, value),
            Keyword::Type(types) if self.is_fraction(value) => {
                let takes_fractions = types.has(TypeSet::FRACTION);
                if takes_fractions {
                    self.typed_fractions.insert(address(value));
                }
                Ok(takes_fractions)
            }
            Keyword::Leaf(_, check) => {
                self.charge(check.cost(value.as_str().map_or(0, str::len)))?;
                if self.is_fraction(value) && !check.takes_fractions() {
                    return Ok(false);
                }
                Ok(match self.digits(value) {
                    Some(digits) => check.accepts_digits(digits),
                    None => check.accepts(value),
                })
            }
            Keyword::Enum(values) => {
                self.charge(value.as_str().map_or(0, str::len) / 64)?;
                Ok(match value {
                    Value::String(text) => values.strings.contains(text),
                    value => values.others.iter().any(|other| self.equal(other, value)),
                })
            }
            Keyword::Const(constant) => Ok(self.equal(constant, value)),
            Keyword::MinLength(_) | Keyword::MaxLength(_) => {
                self.charge(value.as_str().map_or(0, str::len) / 64)?;
                Ok(satisfies_alone(keyword, value))
            }
            keyword => {
                let digits = if self.digits.is_empty() {
                    None
                } else {
                    self.digits(value)
                };
                let within = digits.and_then(|digits| is_within(keyword, digits));
                Ok(within.unwrap_or_else(|| satisfies_alone(keyword, value)))
            }
        }
    }

    fn all(&mut self, checks: impl Iterator<Item = (NodeId, &'v Value)>) -> Verdict {
        for (id, value) in checks {
            if !self.accepts(id, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts the branches that accept the value, up to a number.
    pub(crate) fn accepting(
        &mut self,
        choice: &Choice,
        value: &'v Value,
        most: usize,
    ) -> Result<usize, TooCostly> {
        let schema = self.schema;
        match schema.index(choice) {
            Some(index) => {
                self.charge(value.as_object().map_or(0, serde_json::Map::len))?;
                self.count(index.candidates(value), value, most)
            }
            None => self.count(choice.branches.iter().copied(), value, most),
        }
    }

    fn count(
        &mut self,
        ids: impl Iterator<Item = NodeId>,
        value: &'v Value,
        most: usize,
    ) -> Result<usize, TooCostly> {
        let mut found = 0;
        for id in ids {
            found += usize::from(self.accepts(id, value)?);
            if found == most {
                break;
            }
        }
        Ok(found)
    }

    fn items(
        &mut self,
        id: NodeId,
        keyword: &Keyword,
        value: &'v Value,
        items: &'v [Value],
    ) -> Verdict {
        self.charge(items.len())?;
        match keyword {
            Keyword::Items { first, rest } => {
                let ids = first
                    .iter()
                    .map(|id| Some(*id))
                    .chain(std::iter::repeat(*rest));
                self.all(
                    items
                        .iter()
                        .zip(ids)
                        .filter_map(|(item, id)| Some((id?, item))),
                )
            }
            Keyword::Contains { item: id, min, max } => {
                let mut found = 0;
                for item in items {
                    found += u64::from(self.accepts(*id, item)?);
                }
                Ok((*min..=*max).contains(&found))
            }
            Keyword::UniqueItems => {
                let hashing = RandomState::default();
                let mut seen = FxHashMap::default();
                for item in items {
                    if let Some(other) = seen.insert(self.hash(item, &hashing)?, item)
                        && self.equal(other, item)
                    {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::UnevaluatedItems(rest) => {
                let evaluated = self.evaluated(id, value, items.len())?;
                let left = items
                    .iter()
                    .zip(evaluated)
                    .filter(|(_, evaluated)| !evaluated);
                self.all(left.map(|(item, _)| (*rest, item)))
            }
            _ => Ok(true),
        }
    }

    /// Returns a hash that equal values share.
    fn hash(&mut self, value: &Value, hashing: &RandomState) -> Result<u64, TooCostly> {
        self.charge(2)?;
        let mut hasher = hashing.build_hasher();
        std::mem::discriminant(value).hash(&mut hasher);
        match value {
            Value::Null => {}
            Value::Bool(value) => value.hash(&mut hasher),
            Value::Number(number) if !self.digits.is_empty() => {
                self.number_text(value, number).hash(&mut hasher);
            }
            Value::Number(number) => match exact(number) {
                Some(whole) => whole.hash(&mut hasher),
                None => number.as_f64().map(f64::to_bits).hash(&mut hasher),
            },
            Value::String(text) => {
                self.charge(text.len() / 64)?;
                text.hash(&mut hasher);
            }
            Value::Array(items) => {
                for item in items {
                    hasher.write_u64(self.hash(item, hashing)?);
                }
            }
            Value::Object(members) => {
                // The order of the members does not matter.
                let mut sum = 0_u64;
                for (name, member) in members {
                    sum = sum.wrapping_add(hashing.hash_one((name, self.hash(member, hashing)?)));
                }
                hasher.write_u64(sum);
            }
        }
        Ok(hasher.finish())
    }

    /// Returns true if two values are equal as JSON: numbers by their value, objects in any order.
    fn equal(&self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Number(first), Value::Number(second)) => {
                if self.digits(left).is_none() && self.digits(right).is_none() {
                    return compare(first, second) == Ordering::Equal;
                }
                self.number_text(left, first) == self.number_text(right, second)
            }
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right)
                        .all(|(left, right)| self.equal(left, right))
            }
            (Value::Object(left), Value::Object(right)) => {
                let same = |(name, left): (&String, &Value)| {
                    right.get(name).is_some_and(|right| self.equal(left, right))
                };
                left.len() == right.len() && left.iter().all(same)
            }
            (left, right) => left == right,
        }
    }

    /// Returns all digits of a whole number, and the text of another one.
    fn number_text(&self, value: &Value, number: &Number) -> Cow<'_, str> {
        match self.digits(value) {
            Some(digits) => Cow::Borrowed(digits),
            None => Cow::Owned(exact_text(number)),
        }
    }

    fn properties(&mut self, id: NodeId, keyword: &Keyword, value: &'v Value) -> Verdict {
        let Some(members) = value.as_object() else {
            return Ok(true);
        };
        match keyword {
            Keyword::Properties(properties) if properties.are_few_beside(members.len()) => {
                let named = &properties.named;
                self.charge(named.len())?;
                self.all(
                    named
                        .iter()
                        .filter_map(|(name, id)| Some((*id, members.get(name)?))),
                )
            }
            Keyword::Properties(properties) => {
                self.charge(members.len())?;
                for (name, member) in members {
                    for id in self.of_property(properties, name)? {
                        if !self.accepts(id, member)? {
                            return Ok(false);
                        }
                    }
                }
                Ok(true)
            }
            Keyword::PropertyNames(id) => {
                self.charge(members.len())?;
                for name in members.keys() {
                    if !self.accepts_name(*id, name)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::UnevaluatedProperties(rest) => {
                self.charge(members.len())?;
                let evaluated = self.evaluated(id, value, members.len())?;
                let left = members
                    .values()
                    .zip(evaluated)
                    .filter(|(_, evaluated)| !evaluated);
                self.all(left.map(|(member, _)| (*rest, member)))
            }
            _ => Ok(true),
        }
    }

    /// Returns true if the schema of a node accepts a property's name.
    pub(crate) fn accepts_name(&mut self, id: NodeId, name: &str) -> Verdict {
        self.charge(name.len() / 64)?;
        // The verdicts on a name end with it, because another name may get its address.
        let name = Value::String(name.to_owned());
        let mut evaluation = Evaluation::with_steps(self.schema, self.steps);
        let verdict = evaluation.accepts(id, &name);
        self.steps = evaluation.steps;
        verdict
    }

    /// Returns the nodes that a property must satisfy.
    pub(crate) fn of_property(
        &mut self,
        properties: &Properties,
        name: &str,
    ) -> Result<impl Iterator<Item = NodeId> + use<>, TooCostly> {
        self.charge(name.len() / 64)?;
        let named = properties.named.get(name).copied();
        let mut matched = Vec::new();
        if !properties.patterns.is_empty() {
            let text = Value::String(name.to_owned());
            for (pattern, id) in &properties.patterns {
                self.charge(pattern.cost(name.len()))?;
                matched.extend(pattern.accepts(&text).then_some(*id));
            }
        }
        let rest = properties
            .rest
            .filter(|_| named.is_none() && matched.is_empty());
        Ok(named.or(rest).into_iter().chain(matched))
    }

    /// Returns which members of a value the keywords of a node have evaluated, beside its own
    /// `unevaluated` ones.
    pub(crate) fn evaluated(
        &mut self,
        id: NodeId,
        value: &'v Value,
        members: usize,
    ) -> Result<Vec<bool>, TooCostly> {
        let mut marks = vec![false; members];
        let mut named = Properties {
            named: FxHashMap::default(),
            patterns: Vec::new(),
            rest: None,
        };
        let mut visited = FxHashSet::default();
        let mut left = vec![id];
        while let Some(at) = left.pop() {
            for keyword in &self.schema.node(at).keywords {
                self.charge(1)?;
                let is_own = at == id;
                match keyword {
                    Keyword::Properties(properties) if properties.named.len() < members => {
                        self.add_names(properties, &mut named)?;
                    }
                    keyword => self.mark(keyword, is_own, value, &mut marks)?,
                }
                for next in self.applied(keyword, value)? {
                    if visited.insert(next) && self.accepts(next, value)? {
                        left.push(next);
                    }
                }
            }
        }
        for (mark, name) in marks.iter_mut().zip(
            value
                .as_object()
                .into_iter()
                .flat_map(serde_json::Map::keys),
        ) {
            *mark |= self.of_property(&named, name)?.next().is_some();
        }
        Ok(marks)
    }

    /// Adds the names and patterns of some properties to those of others.
    fn add_names(
        &mut self,
        properties: &Properties,
        all: &mut Properties,
    ) -> Result<(), TooCostly> {
        self.charge(properties.named.len() + properties.patterns.len())?;
        all.named.extend(
            properties
                .named
                .iter()
                .map(|(name, id)| (name.clone(), *id)),
        );
        all.patterns.extend(
            properties
                .patterns
                .iter()
                .map(|(pattern, id)| (Arc::clone(pattern), *id)),
        );
        all.rest = all.rest.or(properties.rest);
        Ok(())
    }

    /// Marks the members that a keyword evaluates itself.
    fn mark(
        &mut self,
        keyword: &Keyword,
        is_own: bool,
        value: &'v Value,
        marks: &mut [bool],
    ) -> Result<(), TooCostly> {
        match (keyword, value) {
            (Keyword::Items { first, rest }, Value::Array(_)) => {
                let count = if rest.is_some() {
                    marks.len()
                } else {
                    first.len()
                };
                self.charge(count)?;
                marks.iter_mut().take(count).for_each(|mark| *mark = true);
            }
            (Keyword::Contains { item: id, .. }, Value::Array(items)) => {
                self.charge(marks.len())?;
                for (mark, item) in marks.iter_mut().zip(items) {
                    *mark |= self.accepts(*id, item)?;
                }
            }
            (Keyword::Properties(properties), Value::Object(members)) => {
                self.charge(marks.len())?;
                for (mark, name) in marks.iter_mut().zip(members.keys()) {
                    *mark |= self.of_property(properties, name)?.next().is_some();
                }
            }
            (Keyword::UnevaluatedItems(_), Value::Array(_))
            | (Keyword::UnevaluatedProperties(_), Value::Object(_))
                if !is_own =>
            {
                self.charge(marks.len())?;
                marks.fill(true);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the nodes that a keyword applies to the same value, whether they accept it or not.
    fn applied(&mut self, keyword: &Keyword, value: &'v Value) -> Result<Vec<NodeId>, TooCostly> {
        Ok(match keyword {
            Keyword::Not(_) => Vec::new(),
            Keyword::If {
                condition,
                then,
                otherwise,
            } => {
                let holds = self.accepts(*condition, value)?;
                std::iter::once(*condition)
                    .chain(if holds { *then } else { *otherwise })
                    .collect()
            }
            Keyword::DependentSchemas(all) => all
                .iter()
                .filter(|(name, _)| value.get(name).is_some())
                .map(|(_, id)| *id)
                .collect(),
            keyword => keyword.at_the_same_value(),
        })
    }
}

/// Returns true if a whole number satisfies a bound. Returns `None` for another keyword.
fn is_within(keyword: &Keyword, digits: &str) -> Option<bool> {
    Some(match keyword {
        Keyword::Minimum(limit) => compare_digits(digits, limit).is_ge(),
        Keyword::Maximum(limit) => compare_digits(digits, limit).is_le(),
        Keyword::ExclusiveMinimum(limit) => compare_digits(digits, limit).is_gt(),
        Keyword::ExclusiveMaximum(limit) => compare_digits(digits, limit).is_lt(),
        _ => return None,
    })
}

/// Returns true if a value satisfies a keyword without subschemas.
fn satisfies_alone(keyword: &Keyword, value: &Value) -> bool {
    let bounded = |limit: &Number, allowed: &[Ordering]| {
        value
            .as_number()
            .is_none_or(|number| allowed.contains(&compare(number, limit)))
    };
    let characters = || value.as_str().map(crate::text::characters);
    let items = || value.as_array().map(Vec::len);
    let members = || value.as_object().map(serde_json::Map::len);
    let at_least =
        |found: Option<usize>, limit: u64| found.is_none_or(|found| found as u64 >= limit);
    let at_most =
        |found: Option<usize>, limit: u64| found.is_none_or(|found| found as u64 <= limit);
    let has = |name: &String| {
        value
            .as_object()
            .is_none_or(|members| members.contains_key(name))
    };
    match keyword {
        Keyword::Never => false,
        Keyword::Type(types) => types.has(TypeSet::of(value)),
        Keyword::Minimum(limit) => bounded(limit, &[Ordering::Greater, Ordering::Equal]),
        Keyword::Maximum(limit) => bounded(limit, &[Ordering::Less, Ordering::Equal]),
        Keyword::ExclusiveMinimum(limit) => bounded(limit, &[Ordering::Greater]),
        Keyword::ExclusiveMaximum(limit) => bounded(limit, &[Ordering::Less]),
        Keyword::MinLength(limit) => at_least(characters(), *limit),
        Keyword::MaxLength(limit) => at_most(characters(), *limit),
        Keyword::MinItems(limit) => at_least(items(), *limit),
        Keyword::MaxItems(limit) => at_most(items(), *limit),
        Keyword::MinProperties(limit) => at_least(members(), *limit),
        Keyword::MaxProperties(limit) => at_most(members(), *limit),
        Keyword::Required(names) => names.iter().all(has),
        Keyword::DependentRequired(all) => all
            .iter()
            .filter(|(name, _)| value.get(name).is_some())
            .all(|(_, names)| names.iter().all(has)),
        _ => true,
    }
}

/// Calls `visit` with each number that a value holds rounded, its digits and its place.
fn for_each_rounded(
    value: &Value,
    rounded: &RoundedNumbers,
    path: &Path<'_>,
    visit: &mut dyn FnMut(&Value, &str, &Path<'_>),
) {
    match (value, rounded) {
        (_, RoundedNumbers::None) => {}
        (Value::Object(members), _) => {
            for (name, member) in members {
                for_each_rounded(member, rounded.member(name), &path.key(name), visit);
            }
        }
        (Value::Array(items), _) => {
            for (position, item) in items.iter().enumerate() {
                let inside = rounded.member(&position.to_string());
                for_each_rounded(item, inside, &path.index(position), visit);
            }
        }
        (number, rounded) => {
            if let Some(digits) = rounded.digits() {
                visit(number, digits, path);
            }
        }
    }
}
