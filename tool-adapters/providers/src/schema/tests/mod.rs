//! The keywords that a projection keeps, moves and drops.

pub(crate) mod arbitrary;
pub(crate) mod arrays;
pub(crate) mod bounds;
pub(crate) mod converters;
pub(crate) mod drafts;
pub(crate) mod keywords;
pub(crate) mod oracle;
pub(crate) mod refused;
pub(crate) mod roots;
pub(crate) mod servers;
pub(crate) mod strictness;
pub(crate) mod widening;

#[cfg(test)]
mod places;
#[cfg(test)]
mod renames;
#[cfg(test)]
mod restore;

use crate::Provider;
use crate::projection;
use crate::projection::Projection;
use crate::report::{ChangeKind, Refusal};
use serde_json::{Value, json};
use tool_core::schema::to_draft_2020_12;

/// Tools as MCP servers declare them: lists by the name of the server.
const SERVERS: &str = include_str!("../../../../../tests/conformance/data/servers.json");

/// Projects a schema as a tool would have it, which is of draft 2020-12.
pub(crate) fn project(
    provider: Provider,
    schema: &Value,
    strict: bool,
) -> Result<Projection, Refusal> {
    projection::project(provider.spec(), &to_draft_2020_12(schema), strict)
}

/// A projection that is not refused.
fn projected(provider: Provider, schema: &Value) -> Projection {
    project(provider, schema, false).expect("the schema has a form")
}

/// Returns a parameter's schema in the provider's form.
fn parameter(provider: Provider, schema: &Value) -> Value {
    let defs = json!({"text": {"type": "string", "description": "A text"}});
    let root = json!({"type": "object", "properties": {"p": schema}, "$defs": defs});
    projected(provider, &root).schema["properties"]["p"].clone()
}

/// Returns the reported change of the keyword at a pointer.
fn reported(projection: &Projection, pointer: &str, keyword: &str) -> Option<ChangeKind> {
    let mut changes = projection.changes.iter();
    changes
        .find(|change| change.pointer == pointer && change.keyword == keyword)
        .map(|change| change.kind)
}
