//! What is wrong with a schema that a form is made of.

use super::branches::standalone;
use super::defaults::fill_as;
use super::view::{Types, View};
use super::words;
use crate::pointer::child;
use crate::schema::walk;
use serde_json::Value;

/// Whether the schema has room for objects.
pub(crate) fn may_be_object(root: &Value) -> bool {
    may_be(root, root, 8)
}

fn may_be(schema: &Value, root: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let view = View::of(&[schema], root);
    let choices = view.choices();
    schema != &Value::Bool(false)
        && view.types().has(Types::OBJECT)
        && choices.iter().all(|branches| branches.iter().any(|branch| may_be(branch, root, depth)))
}

/// Defaults that the schema itself refuses, each with its place.
pub(crate) fn wrong_defaults(root: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    each(root, "", &mut |pointer, schema| {
        let Some(default) = schema.get("default") else { return };
        let mut filled = default.clone();
        fill_as(&mut filled, schema, root);
        let accepts = |value: &Value| standalone(schema, root).is_some_and(|schema| schema.is_valid(value));
        if !accepts(default) && !accepts(&filled) {
            wrong.push(format!("`{pointer}` has the default {}, which is not accepted there", words::value(default)));
        }
    });
    wrong
}

/// Shows `visit` every schema in the schema, with its pointer.
fn each<'a>(schema: &'a Value, pointer: &str, visit: &mut dyn FnMut(&str, &'a Value)) {
    let Some(map) = schema.as_object() else { return };
    visit(pointer, schema);
    for (keyword, inner) in map {
        let pointer = child(pointer, keyword);
        let keyword = keyword.as_str();
        match inner {
            Value::Object(_) if walk::ONE.contains(&keyword) => each(inner, &pointer, visit),
            Value::Array(list) if walk::LIST.contains(&keyword) => {
                list.iter().enumerate().for_each(|(at, inner)| each(inner, &child(&pointer, &at.to_string()), visit));
            }
            Value::Object(named) if walk::NAMED.contains(&keyword) => {
                named.iter().for_each(|(name, inner)| each(inner, &child(&pointer, name), visit));
            }
            _ => {}
        }
    }
}
