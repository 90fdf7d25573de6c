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
/// request.
pub(crate) fn project_all(
    spec: &ProviderSpec,
    tools: &[ToolDefinition],
    strict: bool,
) -> Vec<ProjectionResult> {
    let mut projections = tools
        .iter()
        .map(|tool| project(spec, tool.parameters(), strict))
        .collect::<Vec<_>>();
    match spec.strict.map(|strict| strict.budget).filter(|_| strict) {
        Some(StrictBudget::Shared(budget)) => share_budget(spec, budget, tools, &mut projections),
        Some(StrictBudget::AllOrNone { max_fields }) => {
            all_or_none(spec, max_fields, tools, &mut projections);
        }
        Some(StrictBudget::Unlimited) | None => {}
    }
    projections
}

/// Spends the budget in the order of the tools. A tool that exceeds it is not strict; a later one
/// may be.
fn share_budget(
    spec: &ProviderSpec,
    budget: StrictCost,
    tools: &[ToolDefinition],
    projections: &mut [ProjectionResult],
) {
    let mut spent = StrictCost::default();
    for (tool, projection) in tools.iter().zip(projections) {
        let Some(strict) = projection
            .as_ref()
            .ok()
            .filter(|projection| projection.not_strict.is_none())
        else {
            continue;
        };
        let with = spent.plus(StrictCost::of(&strict.schema));
        match with.check(budget) {
            Ok(()) => spent = with,
            Err(reason) => *projection = not_strict(spec, tool, reason),
        }
    }
}

/// Makes no tool strict if one cannot be, or if all together have too many parameters.
fn all_or_none(
    spec: &ProviderSpec,
    max_fields: usize,
    tools: &[ToolDefinition],
    projections: &mut [ProjectionResult],
) {
    let mut fields = 0;
    for projection in projections.iter_mut().flatten() {
        if projection.not_strict.is_none() && projection.schema.get("required").is_none() {
            projection.not_strict = Some(NotStrict::NothingRequired);
        }
        fields += count_fields(&projection.schema);
    }
    let is_loose =
        |projection: &ProjectionResult| projection.as_ref().is_ok_and(|it| it.not_strict.is_some());
    let loose = tools
        .iter()
        .zip(&*projections)
        .find(|(_, projection)| is_loose(projection));
    let reason = match loose {
        Some((tool, _)) => NotStrict::OtherTool {
            tool: tool.name().to_owned(),
        },
        None if fields > max_fields => NotStrict::Limit {
            what: "parameters in the tools of the request",
            found: fields,
            most: max_fields,
        },
        None => return,
    };
    for (tool, projection) in tools.iter().zip(projections) {
        if let Ok(known) = projection {
            let reason = known.not_strict.take().unwrap_or_else(|| reason.clone());
            *projection = not_strict(spec, tool, reason);
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
