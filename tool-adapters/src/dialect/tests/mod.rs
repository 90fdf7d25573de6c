//! What a projection keeps, moves and loses.

mod arbitrary;
mod arrays;
mod bounds;
mod converters;
mod drafts;
mod keywords;
mod oracle;
mod real;
mod roots;
mod strictness;
mod widening;

use super::{Projection, project};
use crate::Provider;
use crate::report::ChangeKind;
use serde_json::{Value, json};

/// A projection that is not refused.
fn projected(provider: Provider, schema: &Value) -> Projection {
    project(provider, schema, false).expect("the schema has a form")
}

/// What becomes of one parameter, as the provider reads it.
fn parameter(provider: Provider, schema: &Value) -> Value {
    let defs = json!({"text": {"type": "string", "description": "A text"}});
    let root = json!({"type": "object", "properties": {"p": schema}, "$defs": defs});
    projected(provider, &root).schema["properties"]["p"].clone()
}

/// What a keyword at a pointer is reported as.
fn reported(projection: &Projection, pointer: &str, keyword: &str) -> Option<ChangeKind> {
    let mut changes = projection.changes.iter();
    changes.find(|change| change.pointer == pointer && change.keyword == keyword).map(|change| change.kind)
}
