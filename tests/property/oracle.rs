//! The `jsonschema` crate as the oracle: draft 2020-12, with the nine formats of rule V7 asserted and no others.

use jsonschema::{Draft, Validator};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The formats that the crate would assert in addition.
const NOTES: &[&str] = &[
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "uri",
    "uri-reference",
    "uri-template",
];

thread_local! {
    static COMPILED: RefCell<HashMap<String, Rc<Validator>>> = RefCell::default();
}

/// Returns whether the schema accepts the value. References lead to the definitions of the root.
pub(crate) fn accepts(schema: &Value, root: &Value, value: &Value) -> bool {
    let whole = match (schema == root, root.get("$defs")) {
        (false, Some(definitions)) => json!({"allOf": [schema], "$defs": definitions}),
        _ => schema.clone(),
    };
    compiled(&whole).is_valid(value)
}

fn compiled(schema: &Value) -> Rc<Validator> {
    let key = schema.to_string();
    COMPILED.with_borrow_mut(|known| {
        let made = || {
            let options = jsonschema::options()
                .with_draft(Draft::Draft202012)
                .should_validate_formats(true)
                .offline();
            let options = NOTES.iter().fold(options, |options, name| {
                options.with_format(*name, |_: &str| true)
            });
            Rc::new(options.build(schema).expect("a published schema compiles"))
        };
        Rc::clone(known.entry(key).or_insert_with(made))
    })
}
