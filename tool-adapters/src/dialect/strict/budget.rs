//! What a request may hold that is strict.

use crate::Provider;
use crate::dialect::{Projection, project};
use crate::report::{NotStrict, Refusal};
use crate::schema::for_each_child;
use serde_json::{Map, Value};
use std::ops::Add;
use tool_core::ToolDefinition;

type Projected = Result<Projection, Refusal>;

/// Leaves as many tools strict as the provider takes in one request.
pub(super) fn fit(provider: Provider, tools: &[ToolDefinition], projected: &mut [Projected]) {
    match provider {
        // Bedrock hands them on to the same compiler.
        Provider::Anthropic | Provider::Bedrock => greedy(provider, tools, projected),
        Provider::Cohere => all_or_none(provider, tools, projected),
        _ => {}
    }
}

/// What a tool takes of the budget.
#[derive(Clone, Copy, Default)]
struct Cost {
    tools: usize,
    optional: usize,
    unions: usize,
}

const ANTHROPIC: Cost = Cost { tools: 20, optional: 24, unions: 16 };

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tools: self.tools + other.tools,
            optional: self.optional + other.optional,
            unions: self.unions + other.unions,
        }
    }
}

impl Cost {
    fn of(schema: &Value) -> Self {
        let mut cost = Self { tools: 1, ..Self::default() };
        if let Value::Object(schema) = schema {
            cost.count(schema);
        }
        cost
    }

    fn count(&mut self, schema: &Map<String, Value>) {
        let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        let named = schema.get("properties").and_then(Value::as_object).map_or(0, Map::len);
        self.optional += named.saturating_sub(required);
        let union = schema.contains_key("anyOf") || schema.get("type").is_some_and(Value::is_array);
        self.unions += usize::from(union);
        for_each_child(schema, "", &mut |child| {
            if let Value::Object(schema) = child.schema {
                self.count(schema);
            }
        });
    }

    fn over(self) -> Option<NotStrict> {
        let counts = [
            ("strict tools in the request", self.tools, ANTHROPIC.tools),
            ("optional parameters in the strict tools of the request", self.optional, ANTHROPIC.optional),
            ("parameters of union types in the strict tools of the request", self.unions, ANTHROPIC.unions),
        ];
        let over = counts.into_iter().find(|(_, found, most)| found > most);
        over.map(|(what, found, most)| NotStrict::Limit { what, found, most })
    }
}

/// In the order of the tools: one that does not fit is not strict, a later one that does is.
fn greedy(provider: Provider, tools: &[ToolDefinition], projected: &mut [Projected]) {
    let mut spent = Cost::default();
    for (tool, projected) in tools.iter().zip(projected) {
        let Ok(projection) = projected else { continue };
        if projection.not_strict.is_some() {
            continue;
        }
        let with = spent + Cost::of(&projection.schema);
        match with.over() {
            None => spent = with,
            Some(why) => *projected = loose(provider, tool, why),
        }
    }
}

/// Cohere's limits, of a tool and of the request.
const FIELDS: usize = 200;

fn all_or_none(provider: Provider, tools: &[ToolDefinition], projected: &mut [Projected]) {
    let mut fields = 0;
    for projected in projected.iter_mut().flatten() {
        if projected.not_strict.is_none() && projected.schema.get("required").is_none() {
            projected.not_strict = Some(NotStrict::NothingRequired);
        }
        fields += count_fields(&projected.schema);
    }
    let reasons = projected.iter().map(|it| it.as_ref().ok().map(|it| it.not_strict.is_some())).collect::<Vec<_>>();
    let mut failing = tools.iter().zip(&reasons).filter(|(_, failed)| **failed == Some(true)).map(|(tool, _)| tool);
    let why = match failing.next() {
        Some(tool) => NotStrict::OtherTool { tool: tool.name().to_owned() },
        None if fields > FIELDS => {
            NotStrict::Limit { what: "parameters in the tools of the request", found: fields, most: FIELDS }
        }
        None => return,
    };
    for (tool, projected) in tools.iter().zip(projected) {
        let Ok(projection) = projected else { continue };
        let why = projection.not_strict.take().unwrap_or_else(|| why.clone());
        *projected = loose(provider, tool, why);
    }
}

fn count_fields(schema: &Value) -> usize {
    let Value::Object(map) = schema else { return 0 };
    let mut fields = map.get("properties").and_then(Value::as_object).map_or(0, Map::len);
    for_each_child(map, "", &mut |child| fields += count_fields(child.schema));
    fields
}

/// The tool as it is declared when it is not strict.
fn loose(provider: Provider, tool: &ToolDefinition, why: NotStrict) -> Projected {
    project(provider, tool.parameters(), false).map(|plain| Projection { not_strict: Some(why), ..plain })
}
