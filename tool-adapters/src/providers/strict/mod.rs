//! Strict declarations: the provider then holds the model to the schema.
//!
//! - `form`: what each strict form knows
//! - `walk`, `definitions`: what a node is, through references and `allOf`
//! - `node`, `typed`, `object`, `array`, `nullable`: how it is written
//! - `limits`: what a tool may hold; `budget`: what a request may
//!
//! What is strict accepts whatever the schema does, with null for what is absent where every property is required.
//! Where a schema cannot be said so, the tool is not strict, and the first reason is told.

pub(crate) mod array;
pub(crate) mod limits;
pub(crate) mod node;
pub(crate) mod nullable;
pub(crate) mod object;
pub(crate) mod walk;

#[cfg(test)]
pub(crate) mod tests;

use crate::providers::provider::Provider;
use crate::providers::report::{Change, NotStrict, Refusal};
use crate::providers::schema::document::Place;
use crate::providers::schema::{Projection, project};
use crate::providers::strict::limits::Form;
use crate::providers::strict::walk::Walk;
use serde_json::Value;
use tool_core::ToolDefinition;

/// Projects the tools of a request. Some providers have limits for the whole, so strictness is decided here.
pub(crate) fn project_all(
    provider: Provider,
    tools: &[ToolDefinition],
    strict: bool,
) -> Vec<Result<Projection, Refusal>> {
    let mut projected = tools.iter().map(|tool| project(provider, tool.parameters(), strict)).collect::<Vec<_>>();
    if strict {
        limits::fit(provider, tools, &mut projected);
    }
    projected
}

/// The strict form of a schema where it has one, else `plain` and the reason.
pub(crate) fn strict(provider: Provider, schema: &Value, plain: Projection) -> Projection {
    let written = Form::of(provider).ok_or(NotStrict::Unsupported).and_then(|form| write(form, schema));
    match written {
        Ok((schema, changes)) => Projection { schema, changes, not_strict: None },
        Err(why) => Projection { not_strict: Some(why), ..plain },
    }
}

fn write(form: &'static Form, schema: &Value) -> Result<(Value, Vec<Change>), NotStrict> {
    let mut walk = Walk::new(form, schema);
    let root = walk.node(Place { schema, pointer: String::new() })?;
    let mut root = root.ok_or(NotStrict::Untyped { pointer: String::new() })?;
    if root.contains_key("anyOf") {
        return Err(NotStrict::Keyword { pointer: String::new(), keyword: "anyOf".to_owned() });
    }
    let definitions = walk.write_definitions()?;
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), definitions.into());
    }
    if form.limited {
        limits::check(&root)?;
    }
    Ok((root.into(), walk.log.finish()))
}
