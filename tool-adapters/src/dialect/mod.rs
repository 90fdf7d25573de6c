//! Dialects: the canonical schema in the form that a provider accepts.

pub(crate) mod strict;

use crate::Provider;
use crate::report::{Change, NotStrict, Refusal};
use serde_json::Value;

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
pub(crate) fn project(_provider: Provider, schema: &Value, _strict: bool) -> Result<Projection, Refusal> {
    Ok(Projection { schema: schema.clone(), ..Projection::default() })
}
