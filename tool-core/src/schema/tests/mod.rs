//! What the canonical schema of a tool is.

pub(crate) mod differential;
pub(crate) mod drafts;
pub(crate) mod example;
pub(crate) mod golden;
pub(crate) mod nulls;
pub(crate) mod problems;
pub(crate) mod proof;
pub(crate) mod rules;
pub(crate) mod types;

#[cfg(test)]
mod canonical_json;

use crate::schema::parameter::{DefaultValue, Parameter};
use crate::schema::{Canonical, ParameterInput, canonical, generator};
use serde_json::Value;

/// The schema of a tool with these parameters, as the runtime builds it from the table.
fn build(parameters: &[Parameter]) -> Result<Canonical, Vec<String>> {
    let mut generator = generator();
    let inputs = parameters.iter().map(|parameter| ParameterInput {
        name: parameter.name,
        aliases: parameter.aliases,
        description: parameter.description,
        schema: (parameter.schema)(&mut generator).to_value(),
        optional: (parameter.optional)(),
        default: default(parameter.default),
        constraints: parameter.constraints,
        examples: parameter.examples.iter().map(|make| make()).collect(),
        flatten: parameter.flatten,
    });
    let inputs: Vec<_> = inputs.collect();
    canonical(inputs, generator.take_definitions(false), crate::arguments::validate::check_values)
}

fn default(default: DefaultValue) -> Option<Value> {
    match default {
        DefaultValue::None | DefaultValue::Instance => None,
        DefaultValue::Literal(json) => Some(serde_json::from_str(json).expect("a literal is JSON")),
        DefaultValue::Computed(make) => Some(make()),
    }
}

/// The schema of a tool that has no mistake.
fn built(parameters: &[Parameter]) -> Canonical {
    build(parameters).expect("the parameters are sound")
}

/// The schema of the only parameter, `x`.
fn property(parameter: Parameter) -> Value {
    built(&[parameter]).value["properties"]["x"].clone()
}
