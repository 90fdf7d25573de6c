//! Arrays: one schema for all items.

use super::node::{Facts, joined};
use super::typed::of_type;
use super::walk::{Own, Walk, Written};
use crate::report::{ChangeKind, NotStrict};
use crate::schema::{Place, join};
use serde_json::Value;

/// What a node says of an array's items.
struct Items<'a> {
    /// By place.
    first: Vec<Place<'a>>,
    /// All others; nothing where there are none.
    rest: Option<Place<'a>>,
}

impl<'a> Walk<'a> {
    pub(super) fn array(
        &mut self,
        own: &[Own<'a>],
        facts: &mut Facts<'a>,
        written: &mut Written,
    ) -> Result<(), NotStrict> {
        let holder = own.first().map(|own| own.pointer.clone()).unwrap_or_default();
        let most = of_type(facts, &["maxItems"]).into_iter().filter_map(|keyword| keyword.value.as_u64()).min();
        let modern = self.document.draft().knows("prefixItems");
        let items = items(own, facts, modern).ok_or_else(|| NotStrict::Untyped { pointer: join(&holder, "items") })?;
        let places = items.first.len();
        let follow = most.is_none_or(|most| usize::try_from(most).is_ok_and(|most| most > places));
        let rest = items.rest.clone().filter(|_| follow || places == 0);
        let all = items.first.into_iter().chain(rest.clone());
        let mut branches: Vec<Written> = Vec::new();
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
                self.lose(facts, &holder, keyword);
                self.log.add(
                    &holder,
                    keyword.name,
                    ChangeKind::Weakened,
                    "one schema for all items, whatever their places",
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

/// Nothing where an item may be anything.
fn items<'a>(own: &[Own<'a>], facts: &Facts<'a>, modern: bool) -> Option<Items<'a>> {
    let said = of_type(facts, &["prefixItems", "items"]);
    let at = said.first()?.own;
    let own = own.get(at)?;
    let under = |keyword: &str| {
        let schema = own.map.get(keyword).filter(|value| !value.is_array())?;
        Some(Place { schema, pointer: join(&own.pointer, keyword) })
    };
    // Before draft 2020-12 `items` had the places, and `additionalItems` the rest.
    let (listed, rest) = match own.map.get("items").is_some_and(Value::is_array) {
        true => ("items", "additionalItems"),
        false if modern => ("prefixItems", "items"),
        false => ("", "items"),
    };
    let places = own.map.get(listed).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let pointer = join(&own.pointer, listed);
    let first = places.iter().enumerate();
    let first =
        first.map(|(at, schema)| Place { schema, pointer: join(&pointer, &at.to_string()) }).collect::<Vec<_>>();
    let most = own.map.get("maxItems").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
    match under(rest) {
        Some(rest) if *rest.schema == Value::Bool(false) => Some(Items { first, rest: None }),
        Some(rest) => Some(Items { first, rest: Some(rest) }),
        None if !first.is_empty() && most.is_some_and(|most| most <= first.len()) => Some(Items { first, rest: None }),
        None => None,
    }
}
