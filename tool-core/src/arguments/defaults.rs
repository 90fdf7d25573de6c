//! The defaults of a schema, filled in where a value leaves them out.

use crate::arguments::coerce::BranchTrials;
use crate::arguments::problem::describe_value;
use crate::arguments::view::SchemaView;
use crate::schema::compiled::CompiledSchema;
use crate::schema::evaluation::Evaluation;
use crate::schema::type_set::TypeSet;
use crate::schema::walk;
use crate::schema::walk::join_pointer;
use serde_json::{Map, Value};

/// The depth to which defaults are filled in.
const DEPTH: usize = 32;
/// The number of steps that trying branches may take.
const STEPS: usize = 200_000;
/// The number of defaults that are filled in.
const DEFAULTS: usize = 10_000;
/// The number of defaults inside one another that are filled in. Without a limit, a recursive
/// schema would have no end.
const NESTED_DEFAULTS: u8 = 4;

/// Fills in the defaults of absent properties, also in objects that are defaults themselves. Of
/// several branches, those of the one that the value matches are filled in; none are if that is not
/// clear.
pub(crate) fn fill(value: &mut Value, schema: &CompiledSchema) {
    fill_by(value, schema.root(), schema);
}

/// Fills in the defaults of a subschema.
fn fill_by(value: &mut Value, schema: &Value, compiled: &CompiledSchema) {
    let branches = BranchTrials {
        compiled,
        steps: STEPS,
    };
    let mut filler = DefaultFiller {
        root: compiled.root(),
        left: DEFAULTS,
        nested: 0,
        branches,
    };
    filler.value(value, &[schema], DEPTH);
}

struct DefaultFiller<'a> {
    root: &'a Value,
    /// The number of defaults that may still be filled in.
    left: usize,
    /// The number of defaults around the current value.
    nested: u8,
    branches: BranchTrials<'a>,
}

impl<'a> DefaultFiller<'a> {
    fn value(&mut self, value: &mut Value, schemas: &[&'a Value], depth: usize) {
        let Some(depth) = depth.checked_sub(1).filter(|_| !schemas.is_empty()) else {
            return;
        };
        let view = SchemaView::of(schemas, self.root);
        match value {
            Value::Object(members) => {
                let missing = self.insert(members, &view);
                for (name, member) in members {
                    let inserted = u8::from(missing.contains(&name.as_str()));
                    self.nested += inserted;
                    self.value(member, &view.property(name), depth);
                    self.nested -= inserted;
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    self.value(item, &view.item(position), depth);
                }
            }
            _ => return,
        }
        for branches in view.choices() {
            self.choose(value, branches, depth);
        }
    }

    /// Inserts the defaults of absent properties and returns their names.
    fn insert(&mut self, members: &mut Map<String, Value>, view: &SchemaView<'a>) -> Vec<&'a str> {
        let mut missing = Vec::new();
        for name in view
            .names()
            .into_iter()
            .filter(|_| self.nested < NESTED_DEFAULTS)
        {
            if !members.contains_key(name)
                && let Some(default) =
                    SchemaView::of(&view.declared(name), self.root).find("default")
            {
                let Some(left) = self.left.checked_sub(1) else {
                    break;
                };
                self.left = left;
                members.insert(name.to_owned(), default.clone());
                missing.push(name);
            }
        }
        missing
    }

    /// Fills in the defaults of the branch that the value matches.
    fn choose(&mut self, value: &mut Value, branches: &'a [Value], depth: usize) {
        let possible = branches
            .iter()
            .filter(|branch| may_match(value, branch, self.root))
            .collect::<Vec<_>>();
        if let [only] = possible.as_slice() {
            return self.value(value, &[only], depth);
        }
        let mut found = None;
        for branch in possible {
            let Some(mut filled) = self.branches.copy(value) else {
                return;
            };
            self.value(&mut filled, &[branch], depth);
            if self.branches.accepts(branch, &filled) && found.replace(filled).is_some() {
                // Two branches match, so it is not clear which one was meant.
                return;
            }
        }
        if let Some(filled) = found {
            *value = filled;
        }
    }
}

/// Returns true if a value may match a branch, by its type, the constants of tagged branches and
/// the required properties.
fn may_match(value: &Value, branch: &Value, root: &Value) -> bool {
    let view = SchemaView::of(&[branch], root);
    match value {
        Value::Object(members) => {
            view.types().has(TypeSet::OBJECT) && !contradicts(members, &view, root)
        }
        Value::Array(_) => view.types().has(TypeSet::ARRAY),
        _ => false,
    }
}

/// Returns true if an object has another tag than the branch, or lacks a required property without
/// a default.
fn contradicts(members: &Map<String, Value>, view: &SchemaView<'_>, root: &Value) -> bool {
    let required = view.required();
    view.names().into_iter().any(|name| {
        let declared = SchemaView::of(&view.declared(name), root);
        match members.get(name) {
            Some(member) => declared.find("const").is_some_and(|tag| tag != member),
            None => required.contains(name) && declared.find("default").is_none(),
        }
    })
}

/// Returns true if a schema may accept an object.
#[cfg_attr(not(feature = "agents"), allow(dead_code))]
pub(crate) fn may_be_object(root: &Value) -> bool {
    may_accept_object(root, root, 8)
}

fn may_accept_object(schema: &Value, root: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return true;
    };
    let view = SchemaView::of(&[schema], root);
    let choices = view.choices();
    schema != &Value::Bool(false)
        && view.types().has(TypeSet::OBJECT)
        && choices.iter().all(|branches| {
            branches
                .iter()
                .any(|branch| may_accept_object(branch, root, depth))
        })
}

/// Returns one line for each default that its own schema refuses.
#[cfg_attr(not(feature = "agents"), allow(dead_code))]
pub(crate) fn wrong_defaults(compiled: &CompiledSchema) -> Vec<String> {
    let mut wrong = Vec::new();
    for_each_schema(compiled.root(), "", &mut |pointer, schema| {
        let Some(default) = schema.get("default") else {
            return;
        };
        let mut filled = default.clone();
        fill_by(&mut filled, schema, compiled);
        let accepts = |value: &Value| {
            Evaluation::new(compiled)
                .accepts_by(schema, value)
                .unwrap_or(false)
        };
        if !accepts(default) && !accepts(&filled) {
            wrong.push(format!(
                "`{pointer}` has the default {}, which is not accepted there",
                describe_value(default)
            ));
        }
    });
    wrong
}

/// Calls `visit` with each subschema and its pointer.
fn for_each_schema<'a>(schema: &'a Value, pointer: &str, visit: &mut dyn FnMut(&str, &'a Value)) {
    let Some(map) = schema.as_object() else {
        return;
    };
    visit(pointer, schema);
    for (keyword, inner) in map {
        let pointer = join_pointer(pointer, keyword);
        let keyword = keyword.as_str();
        match inner {
            Value::Object(_) if walk::SCHEMA_KEYWORDS.contains(&keyword) => {
                for_each_schema(inner, &pointer, visit);
            }
            Value::Array(list) if walk::LIST_KEYWORDS.contains(&keyword) => {
                list.iter().enumerate().for_each(|(at, inner)| {
                    for_each_schema(inner, &join_pointer(&pointer, &at.to_string()), visit);
                });
            }
            Value::Object(named) if walk::MAP_KEYWORDS.contains(&keyword) => {
                named.iter().for_each(|(name, inner)| {
                    for_each_schema(inner, &join_pointer(&pointer, name), visit);
                });
            }
            _ => {}
        }
    }
}
