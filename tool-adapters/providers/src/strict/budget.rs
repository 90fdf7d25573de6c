//! The strict form of a provider, and the limits of strict tools in one request.

use crate::report::NotStrict;
use crate::schema::document::for_each_schema;
use serde_json::{Map, Value};

/// The strict tools that a provider accepts.
#[derive(Clone, Copy)]
pub(crate) struct StrictRules {
    pub(crate) form: &'static StrictForm,
    pub(crate) budget: StrictBudget,
}

/// The strict schemas that a provider accepts and enforces.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // The rules are independent.
pub(crate) struct StrictForm {
    /// True if every property is required. An optional one accepts null instead.
    pub(crate) all_required: bool,
    /// True if schemas may refer to definitions, and to themselves.
    pub(crate) references: bool,
    /// True for `minimum`, `maximum`, their exclusive forms and `multipleOf`.
    pub(crate) bounds: bool,
    /// True for any `minItems` and `maxItems`, false for a `minItems` of 0 or 1 only.
    pub(crate) lengths: bool,
    /// Returns true for an accepted `pattern`.
    pub(crate) pattern: fn(&str) -> bool,
    pub(crate) formats: &'static [&'static str],
    /// Checks the size of a tool's strict schema.
    pub(crate) check_size: fn(&Map<String, Value>) -> Result<(), NotStrict>,
}

/// The limit of a provider for all strict tools of a request.
#[derive(Clone, Copy)]
pub(crate) enum StrictBudget {
    Unlimited,
    /// The tools share an amount.
    Shared(StrictCost),
    /// All tools are strict or none is.
    AllOrNone {
        /// The maximum number of parameters of all tools together.
        max_fields: usize,
    },
}

/// The share of a budget that strict tools take.
#[derive(Clone, Copy, Default)]
pub(crate) struct StrictCost {
    pub(crate) tools: usize,
    /// The optional parameters.
    pub(crate) optional: usize,
    /// The parameters of several types.
    pub(crate) unions: usize,
}

impl StrictCost {
    /// Returns the sum of two costs.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            tools: self.tools + other.tools,
            optional: self.optional + other.optional,
            unions: self.unions + other.unions,
        }
    }

    /// Returns the cost of one tool by its strict schema.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut cost = Self {
            tools: 1,
            ..Self::default()
        };
        for_each_schema(schema, &mut |schema| {
            let required = schema
                .get("required")
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            cost.optional += count_properties(schema).saturating_sub(required);
            let is_union =
                schema.get("anyOf").is_some() || schema.get("type").is_some_and(Value::is_array);
            cost.unions += usize::from(is_union);
        });
        cost
    }

    /// Checks that the cost is within a budget.
    pub(crate) fn check(self, budget: Self) -> Result<(), NotStrict> {
        check_limits([
            ("strict tools in the request", self.tools, budget.tools),
            (
                "optional parameters in the strict tools of the request",
                self.optional,
                budget.optional,
            ),
            (
                "parameters of union types in the strict tools of the request",
                self.unions,
                budget.unions,
            ),
        ])
    }
}

/// Checks numbers, each given with its name and its limit.
pub(crate) fn check_limits<const N: usize>(
    counts: [(&'static str, usize, usize); N],
) -> Result<(), NotStrict> {
    match counts.into_iter().find(|(_, found, most)| found > most) {
        Some((what, found, most)) => Err(NotStrict::Limit { what, found, most }),
        None => Ok(()),
    }
}

/// Counts the properties of a schema, with those of the schemas inside it.
pub(crate) fn count_fields(schema: &Value) -> usize {
    let mut fields = 0;
    for_each_schema(schema, &mut |schema| fields += count_properties(schema));
    fields
}

fn count_properties(schema: &Value) -> usize {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .map_or(0, Map::len)
}
