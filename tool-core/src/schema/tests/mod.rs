//! The canonical schema of a tool.

pub(crate) mod differential;
pub(crate) mod drafts;
pub(crate) mod evaluation;
pub(crate) mod example;
pub(crate) mod golden;
pub(crate) mod leaf;
pub(crate) mod meta;
pub(crate) mod nulls;
pub(crate) mod probe;
pub(crate) mod problems;
pub(crate) mod proof;
pub(crate) mod rules;
pub(crate) mod types;

#[cfg(test)]
mod canonical_json;

use crate::schema::build::{CanonicalSchema, build_schema};
use crate::schema::generator::argument_generator;
use crate::schema::parameter::{Parameter, ResolvedParameter};
use serde_json::Value;

/// The schema of a tool with these parameters, as the runtime builds it from the table.
fn build(parameters: &[Parameter]) -> Result<CanonicalSchema, Vec<String>> {
    let mut generator = argument_generator();
    let inputs = parameters
        .iter()
        .map(|row| ResolvedParameter::new(*row, None, &mut generator))
        .collect();
    build_schema(
        inputs,
        generator.take_definitions(false),
        crate::arguments::validate::check_values,
    )
}

/// The schema of a tool that has no mistake.
fn built(parameters: &[Parameter]) -> CanonicalSchema {
    build(parameters).expect("the parameters are sound")
}

/// The schema of the only parameter, `x`.
fn property(parameter: Parameter) -> Value {
    built(&[parameter]).value["properties"]["x"].clone()
}
