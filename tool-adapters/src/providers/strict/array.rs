//! Arrays, with one schema for all items, and schemas by type.

use crate::providers::report::{ChangeKind, NotStrict};
use crate::providers::schema::document::SchemaPlace;
use crate::providers::schema::types::TypeSet;
use crate::providers::strict::node::{PlacedKeyword, StrictFacts, joined};
use crate::providers::strict::projector::{KeywordSet, SchemaObject, StrictProjector};
use serde_json::{Number, Value};
use tool_core::schema::join_pointer as join;

/// The schemas of an array's items.
struct StrictItems<'a> {
    /// The schemas by position.
    first: Vec<SchemaPlace<'a>>,
    /// The schema of the items after them; `None` if there are no more.
    rest: Option<SchemaPlace<'a>>,
}

impl<'a> StrictProjector<'a> {
    pub(crate) fn array(
        &mut self,
        own: &[KeywordSet<'a>],
        facts: &mut StrictFacts<'a>,
        written: &mut SchemaObject,
    ) -> Result<(), NotStrict> {
        let holder = own.first().map(|own| own.pointer.clone()).unwrap_or_default();
        let most = of_type(facts, &["maxItems"]).into_iter().filter_map(|keyword| keyword.value.as_u64()).min();
        let items = items(own, facts).ok_or_else(|| NotStrict::Untyped { pointer: join(&holder, "items") })?;
        let places = items.first.len();
        let follow = most.is_none_or(|most| usize::try_from(most).is_ok_and(|most| most > places));
        let rest = items.rest.clone().filter(|_| follow || places == 0);
        let all = items.first.into_iter().chain(rest.clone());
        let mut branches: Vec<SchemaObject> = Vec::new();
        for place in all {
            if let Some(written) = self.node(place)?
                && !branches.contains(&written)
            {
                branches.push(written);
            }
        }
        let alike = joined(branches).ok_or_else(|| NotStrict::Untyped { pointer: join(&holder, "items") })?;
        written.insert("items".to_owned(), alike.into());
        for keyword in of_type(facts, &["minItems", "maxItems"]) {
            let few = keyword.name == "minItems" && keyword.value.as_u64().is_some_and(|least| least <= 1);
            self.keep(own, facts, written, keyword, self.form.lengths || few);
        }
        if places > 0 {
            for keyword in
                of_type(facts, &["prefixItems", "items"]).into_iter().filter(|keyword| keyword.value.is_array())
            {
                self.describe_or_drop(facts, &holder, keyword);
                self.log.add(
                    &holder,
                    keyword.name,
                    ChangeKind::Weakened,
                    "one schema for all items, whatever their positions",
                );
            }
            let closed = rest.is_none() && most.is_none() && self.form.lengths;
            if closed {
                written.insert("maxItems".to_owned(), places.into());
            }
        }
        Ok(())
    }
}

/// Returns the schemas of items; `None` if an item may have any value.
fn items<'a>(own: &[KeywordSet<'a>], facts: &StrictFacts<'a>) -> Option<StrictItems<'a>> {
    let keywords = of_type(facts, &["prefixItems", "items"]);
    let at = keywords.first()?.own;
    let own = own.get(at)?;
    let under = |keyword: &str| {
        let schema = own.map.get(keyword)?;
        Some(SchemaPlace { schema, pointer: join(&own.pointer, keyword) })
    };
    let places = own.map.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let pointer = join(&own.pointer, "prefixItems");
    let first = places.iter().enumerate();
    let first =
        first.map(|(at, schema)| SchemaPlace { schema, pointer: join(&pointer, &at.to_string()) }).collect::<Vec<_>>();
    let most = own.map.get("maxItems").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
    match under("items") {
        Some(rest) if *rest.schema == Value::Bool(false) => Some(StrictItems { first, rest: None }),
        Some(rest) => Some(StrictItems { first, rest: Some(rest) }),
        None if !first.is_empty() && most.is_some_and(|most| most <= first.len()) => {
            Some(StrictItems { first, rest: None })
        }
        None => None,
    }
}

impl<'a> StrictProjector<'a> {
    /// Writes a node by its types; `None` without any.
    pub(crate) fn write_types(
        &mut self,
        own: &[KeywordSet<'a>],
        mut facts: StrictFacts<'a>,
    ) -> Result<Option<SchemaObject>, NotStrict> {
        if facts.types == TypeSet::ALL {
            let pointer = own.first().map(|own| own.pointer.clone()).unwrap_or_default();
            return Err(NotStrict::Untyped { pointer });
        }
        for keyword in facts.rest.clone() {
            let means = facts.types.overlaps(types_of(keyword.name));
            if let (false, Some(own)) = (means, own.get(keyword.own)) {
                self.log.add(
                    &own.pointer,
                    keyword.name,
                    ChangeKind::Dropped,
                    "it does not constrain values of these types",
                );
            }
        }
        let mut branches = Vec::new();
        for (name, types) in facts.types.each() {
            let mut written = SchemaObject::from_iter([("type".to_owned(), Value::from(name))]);
            match name {
                "object" => self.object(own, &mut facts, &mut written)?,
                "array" => self.array(own, &mut facts, &mut written)?,
                "string" => self.string(own, &mut facts, &mut written),
                "number" | "integer" => self.number(own, &mut facts, &mut written),
                _ => {}
            }
            if name != "null" {
                list_values(&facts, types, &mut written);
            }
            branches.push(written);
        }
        let Some(mut written) = joined(branches) else { return Ok(None) };
        facts.describe(&mut written);
        Ok(Some(written))
    }

    fn string(&mut self, own: &[KeywordSet<'a>], facts: &mut StrictFacts<'a>, written: &mut SchemaObject) {
        for keyword in of_type(facts, &["pattern", "format"]) {
            let text = keyword.value.as_str().unwrap_or_default();
            let known = match keyword.name {
                "pattern" => (self.form.pattern)(text),
                _ => self.form.formats.contains(&text),
            };
            self.keep(own, facts, written, keyword, known);
        }
    }

    fn number(&mut self, own: &[KeywordSet<'a>], facts: &mut StrictFacts<'a>, written: &mut SchemaObject) {
        let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
        for keyword in of_type(facts, &bounds) {
            let known = self.form.bounds && compiles(keyword.name, keyword.value);
            self.keep(own, facts, written, keyword, known);
        }
    }

    /// Writes a keyword, or adds it to the description.
    pub(crate) fn keep(
        &mut self,
        own: &[KeywordSet<'a>],
        facts: &mut StrictFacts<'a>,
        written: &mut SchemaObject,
        keyword: PlacedKeyword<'a>,
        known: bool,
    ) {
        let pointer = own.get(keyword.own).map(|own| own.pointer.as_str()).unwrap_or_default();
        match written.get(keyword.name) {
            None if known => {
                written.insert(keyword.name.to_owned(), keyword.value.clone());
            }
            Some(there) if there == keyword.value => {}
            _ => self.describe_or_drop(facts, pointer, keyword),
        }
    }
}

/// Returns true for a number that compilers of grammars accept: each digit of a bound is a branch, and a multiple is
/// counted in units of its last decimal.
fn compiles(keyword: &str, value: &Value) -> bool {
    /// Up to this, every integer is a double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let Some(mut number) = value.as_f64() else { return false };
    if keyword != "multipleOf" {
        return number.abs() <= EXACT;
    }
    while number.fract() != 0.0 && number <= f64::from(u32::MAX) {
        number *= 10.0;
    }
    number <= f64::from(u32::MAX)
}

/// Returns the keywords of these names.
pub(crate) fn of_type<'a>(facts: &StrictFacts<'a>, names: &[&str]) -> Vec<PlacedKeyword<'a>> {
    facts.rest.iter().filter(|keyword| names.contains(&keyword.name)).copied().collect()
}

/// Writes the values of a type.
fn list_values(facts: &StrictFacts<'_>, types: TypeSet, written: &mut SchemaObject) {
    let Some(values) = &facts.values else { return };
    let mut values =
        values.iter().filter(|value| types.contains(TypeSet::of_value(value))).copied().collect::<Vec<_>>();
    values.dedup();
    match values.as_slice() {
        [only] if facts.constant => written.insert("const".to_owned(), (*only).clone()),
        _ => written.insert("enum".to_owned(), values.into_iter().cloned().map(whole).collect()),
    };
}

/// Returns `5` for `5.0`, as models write it.
fn whole(value: Value) -> Value {
    match value.as_f64() {
        #[allow(clippy::cast_possible_truncation)] // it is whole, and small enough
        Some(float) if value.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
            Number::from(float as i64).into()
        }
        _ => value,
    }
}

/// Returns the types that a keyword constrains.
fn types_of(keyword: &str) -> TypeSet {
    match keyword {
        "format" => TypeSet::STRING,
        keyword => TypeSet::of_assertion(keyword),
    }
}
