//! Dialects: the canonical schema in the form that a provider accepts.
//!
//! One table of [`rules`] says what each form has, and two walkers read it: [`whole`] copies schemas for providers that
//! take nearly any, [`subset`] writes them anew for those that know few keywords. What a schema says in several places
//! (`allOf`, references, branches) is gathered in a [`node`] first. Everything a projection does only ever widens.

pub(crate) mod containers;
pub(crate) mod document;
pub(crate) mod emit;
pub(crate) mod facts;
pub(crate) mod fit;
pub(crate) mod node;
pub(crate) mod references;
pub(crate) mod restore;
pub(crate) mod root;
pub(crate) mod rules;
pub(crate) mod subset;
pub(crate) mod types;
pub(crate) mod walk;
pub(crate) mod whole;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use crate::providers::provider::Provider;
use crate::providers::report::{Change, ChangeKind, NotStrict, Refusal};
use crate::providers::schema::rules::{Form, Rules};
use crate::providers::schema::types::Types;
use crate::providers::schema::walk::Walk;
use crate::providers::strict;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A schema in a provider's form.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    pub(crate) schema: Value,
    pub(crate) changes: Vec<Change>,
    /// Why it is not strict, where that was asked for.
    pub(crate) not_strict: Option<NotStrict>,
}

/// Projects a schema, or says why there is no form of it that the provider accepts. It accepts every instance that
/// `schema` does (in strict with null for what is absent), and may accept more.
pub(crate) fn project(provider: Provider, schema: &Value, strict: bool) -> Result<Projection, Refusal> {
    let plain = plain(provider, schema)?;
    Ok(if strict { strict::strict(provider, schema, plain) } else { plain })
}

/// The form that is not strict.
fn plain(provider: Provider, schema: &Value) -> Result<Projection, Refusal> {
    let rules = Rules::of(provider);
    if let Form::AsIs = rules.form {
        return as_is(schema);
    }
    let mut walk = Walk::new(rules, schema, false);
    let mut written = write(&mut walk);
    if walk.inexact && walk.sensitive {
        walk = Walk::new(rules, schema, true);
        written = write(&mut walk);
    }
    if let Some(refused) = walk.refused.take() {
        return Err(refused);
    }
    let schema = written.ok_or_else(|| nothing(schema))?;
    Ok(Projection { schema, changes: walk.log.finish(), not_strict: None })
}

fn write(walk: &mut Walk<'_>) -> Option<Value> {
    match walk.rules.form {
        Form::AsIs => Some(walk.document.root().clone()),
        Form::Whole => walk.whole_root(),
        Form::Subset(subset) => walk.subset_root(subset),
    }
}

/// MCP takes any schema whose root says that it is an object.
fn as_is(schema: &Value) -> Result<Projection, Refusal> {
    let kind = schema.get("type");
    if kind.is_some_and(|kind| kind == "object") {
        return Ok(Projection { schema: schema.clone(), ..Projection::default() });
    }
    if !kind.and_then(Types::of_keyword).unwrap_or(Types::ALL).meets(Types::OBJECT) || *schema == Value::Bool(false) {
        return Err(nothing(schema));
    }
    let mut log = Log::default();
    if kind.is_some() {
        log.add("", "type", ChangeKind::Rewritten, "arguments are an object");
    }
    let mut typed = Map::from_iter([("type".to_owned(), Value::from("object"))]);
    let rest = schema.as_object().into_iter().flatten().filter(|(keyword, _)| *keyword != "type");
    typed.extend(rest.map(|(keyword, value)| (keyword.clone(), value.clone())));
    Ok(Projection { schema: Value::Object(typed), changes: log.finish(), not_strict: None })
}

/// Why nothing was written of a schema.
fn nothing(schema: &Value) -> Refusal {
    let types = schema.get("type").and_then(Types::of_keyword);
    if types.is_some_and(|types| !types.meets(Types::OBJECT)) {
        return Refusal::NoObject;
    }
    Refusal::Unsatisfiable { pointer: String::new() }
}

// ---- The changes of a projection.

/// Gathers changes. A schema that is reached twice is reported once.
#[derive(Default)]
pub(crate) struct Log(Vec<Change>);

impl Log {
    pub(crate) fn add(&mut self, pointer: &str, keyword: &str, kind: ChangeKind, detail: impl Into<String>) {
        self.0.push(Change { pointer: pointer.to_owned(), keyword: keyword.to_owned(), kind, detail: detail.into() });
    }

    /// In the order of the walk; of one keyword what cost most.
    pub(crate) fn finish(self) -> Vec<Change> {
        if self.0.len() < 2 {
            return self.0;
        }
        let mut kept: Vec<Change> = Vec::with_capacity(self.0.len());
        let mut at = HashMap::with_capacity(self.0.len());
        for change in self.0 {
            match at.entry((change.pointer.clone(), change.keyword.clone())) {
                Entry::Vacant(entry) => {
                    entry.insert(kept.len());
                    kept.push(change);
                }
                Entry::Occupied(entry) => {
                    if let Some(known) = kept.get_mut(*entry.get())
                        && cost(known.kind) < cost(change.kind)
                    {
                        *known = change;
                    }
                }
            }
        }
        kept
    }
}

fn cost(kind: ChangeKind) -> u8 {
    match kind {
        ChangeKind::Rewritten => 0,
        ChangeKind::Closed => 1,
        ChangeKind::Described => 2,
        ChangeKind::Weakened => 3,
        ChangeKind::Dropped => 4,
    }
}
