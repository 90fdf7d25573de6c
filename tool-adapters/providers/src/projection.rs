//! The schemas of tools in a provider's form, strict where the tool and the request allow it.

use crate::report::{Change, ChangeLog, NotStrict, Refusal};
use crate::schema::containers::refusal_of_root;
use crate::schema::renames::{PropertyRenames, refused_name, rename_properties};
use crate::schema::rules::{SchemaForm, TypeSet};
use crate::schema::subset::project_subset;
use crate::schema::whole::project_whole;
use crate::spec::ProviderSpec;
use crate::strict::budget::{StrictBudget, StrictCost, count_fields};
use crate::strict::projector::project_strict;
use serde_json::{Map, Value};
use std::collections::HashSet;
use tool_core::ToolDefinition;

/// A schema in a provider's form.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    pub(crate) schema: Value,
    pub(crate) changes: Vec<Change>,
    /// The reason for which the schema is not strict, if strictness was asked for.
    pub(crate) not_strict: Option<NotStrict>,
    /// The properties that have other names in the schema.
    pub(crate) renames: Option<Box<PropertyRenames>>,
}

/// A projection, or the reason for which the provider has no form of the schema.
pub(crate) type ProjectionResult = Result<Projection, Refusal>;

/// Projects a schema. The projection accepts all values that the schema does, in a strict form with
/// null for absent properties, and may accept more.
///
/// # Errors
///
/// The reason for which the provider has no form of the schema.
pub(crate) fn project(spec: &ProviderSpec, schema: &Value, strict: bool) -> ProjectionResult {
    let Some(names) = spec.property_names else {
        return project_named(spec, schema, strict);
    };
    let Some(renamed) = rename_properties(names, schema)? else {
        return project_named(spec, schema, strict);
    };
    let mut projection = project_named(spec, &renamed.schema, strict)?;
    // A reference may lead to a place that is no part of the schema otherwise.
    if let Some(refusal) = refused_name(names, &projection.schema) {
        return Err(refusal);
    }
    for change in &mut projection.changes {
        change.pointer = renamed.renames.own_pointer(&change.pointer);
    }
    projection.changes.splice(0..0, renamed.changes);
    projection.renames = Some(Box::new(renamed.renames));
    Ok(projection)
}

/// Projects a schema whose properties have names that the provider accepts.
fn project_named(spec: &ProviderSpec, schema: &Value, strict: bool) -> ProjectionResult {
    let (plain, plain_changes) = project_plain(spec.schema, schema)?;
    let plain = |not_strict| Projection {
        schema: plain,
        changes: plain_changes,
        not_strict,
        renames: None,
    };
    if !strict {
        return Ok(plain(None));
    }
    let strict = spec
        .strict
        .ok_or(NotStrict::Unsupported)
        .and_then(|strict| project_strict(strict.form, schema));
    Ok(match strict {
        Ok((schema, changes)) => Projection {
            schema,
            changes,
            not_strict: None,
            renames: None,
        },
        Err(reason) => plain(Some(reason)),
    })
}

/// Projects the tools of a request, and keeps as many strict as the provider accepts in one
/// request, beside its provider tools.
pub(crate) fn project_all(
    spec: &ProviderSpec,
    tools: &[ToolDefinition],
    provider_tools: &StrictShare<'_>,
    strict: bool,
) -> Vec<ProjectionResult> {
    let mut projections = tools
        .iter()
        .map(|tool| project(spec, tool.parameters(), strict))
        .collect::<Vec<_>>();
    let mut declared = Vec::with_capacity(tools.len());
    for (tool, projection) in tools.iter().zip(&mut projections) {
        if !provider_tools.answered.contains(tool.name()) {
            declared.push(ProjectedTool { tool, projection });
        }
    }
    match spec.strict.map(|strict| strict.budget).filter(|_| strict) {
        Some(StrictBudget::Shared(budget)) => {
            share_budget(spec, budget, provider_tools, &mut declared);
        }
        Some(StrictBudget::AllOrNone { max_fields }) => {
            all_or_none(spec, max_fields, &mut declared);
        }
        Some(StrictBudget::Unlimited) | None => {}
    }
    projections
}

/// The share of provider tools in the strict tools of a request.
pub(crate) struct StrictShare<'a> {
    /// The names of the function tools that are not declared, as provider tools are in their place.
    pub(crate) answered: &'a HashSet<String>,
    /// The cost of the provider tools.
    pub(crate) cost: StrictCost,
}

/// A tool of a request, and its schema in the provider's form.
struct ProjectedTool<'a> {
    tool: &'a ToolDefinition,
    projection: &'a mut ProjectionResult,
}

impl ProjectedTool<'_> {
    /// Returns true for a tool that has a form, but not a strict one.
    fn is_loose(&self) -> bool {
        let projection = self.projection.as_ref();
        projection.is_ok_and(|projection| projection.not_strict.is_some())
    }
}

/// Spends the budget in the order of the tools. A tool that exceeds it is not strict; a later one
/// may be.
fn share_budget(
    spec: &ProviderSpec,
    budget: StrictCost,
    provider_tools: &StrictShare<'_>,
    tools: &mut [ProjectedTool<'_>],
) {
    let mut spent = provider_tools.cost;
    for declared in tools {
        let Ok(strict) = &*declared.projection else {
            continue;
        };
        if strict.not_strict.is_some() {
            continue;
        }
        let with = spent.plus(StrictCost::of(&strict.schema));
        match with.check(budget) {
            Ok(()) => spent = with,
            Err(reason) => *declared.projection = not_strict(spec, declared.tool, reason),
        }
    }
}

/// Makes no tool strict if one cannot be, or if all together have too many parameters.
fn all_or_none(spec: &ProviderSpec, max_fields: usize, tools: &mut [ProjectedTool<'_>]) {
    let mut fields = 0;
    for declared in &mut *tools {
        let Ok(projection) = &mut *declared.projection else {
            continue;
        };
        if projection.not_strict.is_none() && projection.schema.get("required").is_none() {
            projection.not_strict = Some(NotStrict::NothingRequired);
        }
        fields += count_fields(&projection.schema);
    }
    let loose = tools.iter().find(|declared| declared.is_loose());
    let reason = match loose {
        Some(loose) => NotStrict::OtherTool {
            tool: loose.tool.name().to_owned(),
        },
        None if fields > max_fields => NotStrict::Limit {
            what: "parameters in the tools of the request",
            found: fields,
            most: max_fields,
        },
        None => return,
    };
    for declared in tools {
        if let Ok(known) = &mut *declared.projection {
            let reason = known.not_strict.take().unwrap_or_else(|| reason.clone());
            *declared.projection = not_strict(spec, declared.tool, reason);
        }
    }
}

/// Projects a tool that is not strict.
fn not_strict(spec: &ProviderSpec, tool: &ToolDefinition, reason: NotStrict) -> ProjectionResult {
    project(spec, tool.parameters(), false).map(|plain| Projection {
        not_strict: Some(reason),
        ..plain
    })
}

/// Projects a schema, and returns the changes. The projection accepts all values that the schema
/// does, and may accept more.
///
/// # Errors
///
/// The reason for which the provider has no form of the schema.
fn project_plain(form: SchemaForm, schema: &Value) -> Result<(Value, Vec<Change>), Refusal> {
    match form {
        SchemaForm::AsIs => project_as_is(schema),
        SchemaForm::Whole(form) => project_whole(form, schema),
        SchemaForm::Subset(subset) => {
            project_subset(subset, schema).ok_or_else(|| refusal_of_root(schema))
        }
    }
}

/// Returns the schema with an object as its root.
fn project_as_is(schema: &Value) -> Result<(Value, Vec<Change>), Refusal> {
    let kind = schema.get("type");
    if kind.is_some_and(|kind| kind == "object") {
        return Ok((schema.clone(), Vec::new()));
    }
    if !TypeSet::of_schema(schema).intersects(TypeSet::OBJECT) || *schema == Value::Bool(false) {
        return Err(refusal_of_root(schema));
    }
    let mut log = ChangeLog::default();
    if kind.is_some() {
        log.rewritten("", "type", "arguments are an object");
    }
    let mut typed = Map::from_iter([("type".to_owned(), Value::from("object"))]);
    let rest = schema
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(keyword, _)| *keyword != "type");
    typed.extend(rest.map(|(keyword, value)| (keyword.clone(), value.clone())));
    Ok((Value::Object(typed), log.finish()))
}
