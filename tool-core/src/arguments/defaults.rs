//! Defaults of a schema, put where the value leaves them out.

use super::branches::standalone;
use super::view::{Types, View};
use serde_json::{Map, Value};

/// How deep defaults are filled in. A default may hold an object whose schema has defaults again, so there has to be an
/// end.
const DEPTH: usize = 32;

/// Fills in what the schema has a default for and the value leaves out, in the objects that are there and in those that
/// a default brings along. Of several shapes, that of the one that the value has; none where that is not clear.
pub(crate) fn fill(value: &mut Value, root: &Value) {
    fill_as(value, root, root);
}

/// The same by a schema inside of `root`.
pub(super) fn fill_as(value: &mut Value, schema: &Value, root: &Value) {
    walk(value, &[schema], root, DEPTH);
}

fn walk(value: &mut Value, schemas: &[&Value], root: &Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1).filter(|_| !schemas.is_empty()) else { return };
    let view = View::of(schemas, root);
    match value {
        Value::Object(members) => {
            for name in view.names() {
                if !members.contains_key(name)
                    && let Some(default) = View::of(&view.declared(name), root).find("default")
                {
                    members.insert(name.to_owned(), default.clone());
                }
            }
            for (name, member) in members {
                walk(member, &view.property(name), root, depth);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter_mut().enumerate() {
                walk(item, &view.item(position), root, depth);
            }
        }
        _ => return,
    }
    for branches in view.choices() {
        choose(value, branches, root, depth);
    }
}

/// Fills in by the branch that the value is of.
fn choose(value: &mut Value, branches: &[Value], root: &Value, depth: usize) {
    let possible = branches.iter().filter(|branch| may_be(value, branch, root)).collect::<Vec<_>>();
    if let [only] = possible.as_slice() {
        return walk(value, &[only], root, depth);
    }
    let filled = possible.into_iter().filter_map(|branch| {
        let mut filled = value.clone();
        walk(&mut filled, &[branch], root, depth);
        standalone(branch, root)?.is_valid(&filled).then_some(filled)
    });
    // A second one, and it is not clear which was meant.
    if let [only] = &mut filled.take(2).collect::<Vec<_>>()[..] {
        *value = only.take();
    }
}

/// Whether the value can be of the branch at all: by its type, by the constants that tell shapes apart, and by what the
/// branch cannot do without.
fn may_be(value: &Value, branch: &Value, root: &Value) -> bool {
    let view = View::of(&[branch], root);
    match value {
        Value::Object(members) => view.types().has(Types::OBJECT) && !is_other(members, &view, root),
        Value::Array(_) => view.types().has(Types::ARRAY),
        _ => false,
    }
}

fn is_other(members: &Map<String, Value>, view: &View<'_>, root: &Value) -> bool {
    view.names().into_iter().any(|name| {
        let declared = View::of(&view.declared(name), root);
        match members.get(name) {
            Some(there) => declared.find("const").is_some_and(|tag| tag != there),
            None => view.requires(name) && declared.find("default").is_none(),
        }
    })
}
