//! Structured output: a typed answer as the model's text, in a form that the provider enforces.

use crate::projection::{Projection, project};
use crate::report::ToolReport;
use crate::schema::renames::PropertyRenames;
use crate::spec::ProviderSpec;
use crate::strict::budget::{StrictBudget, StrictCost};
use serde_json::{Map, Value};
use tool_core::ToolDefinition;

/// The requests in which a server enforces the form of a typed answer.
///
/// In other requests the model gives the answer by calling the control tool `final_answer`. An
/// answer is checked in either case.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::transport::http::{HttpModel, StructuredOutput};
///
/// // A gateway in front of OpenAI's models.
/// let model = HttpModel::new(Provider::OpenAiChat, "gpt-5")
///     .base_url("https://gateway.example/v1")
///     .structured_output(StructuredOutput::BesideTools);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StructuredOutput {
    /// Every request. The form is that of the final text, and the model may call tools before.
    BesideTools,
    /// Requests in which the model may not call tools. The form is that of everything that the
    /// model writes, so that it could not call any. Many servers that speak OpenAI's protocol do
    /// this.
    WithoutCalls,
    /// Requests that declare no tools. The server refuses others.
    WithoutTools,
    /// None.
    Never,
}

impl StructuredOutput {
    /// Returns true if a server takes a form of the answer in a request, which may have tools and
    /// allow calls.
    pub fn takes(self, has_tools: bool, may_call: bool) -> bool {
        match self {
            Self::BesideTools => true,
            Self::WithoutCalls => !may_call,
            Self::WithoutTools => !has_tools,
            Self::Never => false,
        }
    }
}

/// A provider's form for structured output.
#[derive(Clone, Copy)]
pub struct AnswerForm {
    /// Writes the members of a request that ask for an answer of a schema.
    pub write: fn(&AnswerSchema<'_>) -> Value,
    /// True if the provider refuses a schema that is not strict.
    pub needs_strict: bool,
    /// Returns the requests that take the form, by the model and the server's host in lower case.
    pub support: fn(model: &str, host: &str) -> StructuredOutput,
}

/// The schema of a typed answer in a provider's form.
pub struct AnswerSchema<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub schema: Value,
    pub strict: bool,
}

/// A typed answer that a request asks for in the provider's form.
pub struct DeclaredAnswer {
    /// The members of the request.
    pub members: Map<String, Value>,
    /// The schema as JSON.
    pub schema: String,
    pub report: ToolReport,
    pub(crate) renames: Option<Box<PropertyRenames>>,
}

impl AnswerForm {
    /// Returns true if the settings of a program have a form of their own.
    pub fn is_set_in(&self, settings: &Map<String, Value>) -> bool {
        let probe = AnswerSchema {
            name: "",
            description: "",
            schema: Value::Null,
            strict: true,
        };
        (self.write)(&probe)
            .as_object()
            .is_some_and(|members| overlap(members, settings))
    }
}

/// Returns true if two objects have a member in common that is no object in one of them.
fn overlap(ours: &Map<String, Value>, theirs: &Map<String, Value>) -> bool {
    ours.iter()
        .any(|(name, ours)| match (ours, theirs.get(name)) {
            (_, None) => false,
            (Value::Object(ours), Some(Value::Object(theirs))) => overlap(ours, theirs),
            (_, Some(_)) => true,
        })
}

/// Writes the schema of a typed answer in the provider's form. `None` if the provider has none, or
/// none for this schema. `strict_cost` is that of the strict tools in the request.
pub(crate) fn declare_answer(
    spec: &ProviderSpec,
    definition: &ToolDefinition,
    strict_cost: StrictCost,
    write_schema: impl Fn(&Value, Option<&PropertyRenames>) -> String,
) -> Option<DeclaredAnswer> {
    let form = spec.answer_form?;
    let Projection {
        schema,
        changes,
        not_strict,
        renames,
    } = project(spec, definition.parameters(), true).ok()?;
    let is_over_budget = match spec.strict.map(|strict| strict.budget) {
        Some(StrictBudget::Shared(budget)) => strict_cost
            .plus(StrictCost::of(&schema))
            .check(budget)
            .is_err(),
        _ => false,
    };
    let strict = not_strict.is_none() && !is_over_budget;
    if form.needs_strict && !strict {
        return None;
    }
    let schema = write_schema(&schema, renames.as_deref());
    let members = (form.write)(&AnswerSchema {
        name: definition.name(),
        description: definition.description(),
        schema: serde_json::from_str(&schema).ok()?,
        strict,
    });
    let Value::Object(members) = members else {
        return None;
    };
    let report = ToolReport {
        strict,
        not_strict,
        changes,
        ..ToolReport::new(definition.name(), None)
    };
    Some(DeclaredAnswer {
        members,
        schema,
        report,
        renames,
    })
}
