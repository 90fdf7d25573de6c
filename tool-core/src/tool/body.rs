//! The part of a definition that does not depend on the tool's name: how it is assembled, and its validators.

use crate::arguments::digest::Parameters;
use crate::arguments::prepare::CONFIRM_DUPLICATE;
use crate::arguments::validate::check_values;
use crate::call::mode::Modes;
use crate::json::keys::Names;
use crate::schema;
use crate::schema::nullable::Null;
use crate::schema::parameter::{Constraint, DefaultValue, Parameter};
use crate::schema::validator::Validator;
use crate::schema::{Canonical, ParameterInput};
use crate::tool::guide::Guide;
use crate::tool::options::{Category, Confirm, DuplicateScope, OnDuplicate, ToolAnnotations};
use crate::tool::spec;
use crate::tool::spec::{Place, ToolFacts};
use crate::trace::body;
use schemars::SchemaGenerator;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Duration;

/// The part of a definition that does not depend on the name.
pub(crate) struct Definition {
    pub(crate) description: Cow<'static, str>,
    pub(crate) title: Option<Cow<'static, str>>,
    pub(crate) category: Category,
    pub(crate) modes: Modes,
    pub(crate) confirm: Confirm,
    pub(crate) timeout: Option<Duration>,
    pub(crate) flags: ToolAnnotations,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) duplicate_scope: DuplicateScope,
    pub(crate) max_output: Option<usize>,
    pub(crate) max_calls: Option<u32>,
    pub(crate) guide: Option<Guide>,
    pub(crate) returns: Option<&'static str>,
    pub(crate) place: Place,
    /// By which the body of its fn knows a call that was dispatched to it.
    pub(crate) site: u32,
    pub(crate) schema: Canonical,
    /// Parameter names in the order of the signature; empty for a raw tool.
    pub(crate) order: Vec<&'static str>,
    /// The parameter table; empty for a raw tool.
    pub(crate) rows: &'static [Parameter],
    /// The JSON of the defaults that the instance decided, by the index of the parameter.
    pub(crate) frozen: Vec<(usize, String)>,
    pub(crate) output: Option<Value>,
    pub(crate) uses_context: bool,
    /// Whether arguments are held to the schema. A raw tool's are not unless it asks for it.
    pub(crate) validated: bool,
    pub(crate) raw: bool,
    /// What made it unfit to be offered. Reported when a context is built.
    pub(crate) problems: Vec<String>,
    validator: OnceLock<Validator>,
    output_validator: OnceLock<Option<Validator>>,
    parameters: OnceLock<Parameters>,
}

impl Definition {
    /// The definition of a macro's tool, as `instance` has it.
    /// `defaults` holds those that the instance decides, by the index of the parameter.
    pub(crate) fn of_facts(spec: &ToolFacts, defaults: &[(usize, Value)]) -> Self {
        let mut problems = Vec::new();
        let schema = canonical(spec, defaults).unwrap_or_else(|found| {
            problems = found;
            empty_schema()
        });
        let mut flags = spec.flags;
        flags.idempotent |= spec.category == Category::Retrieval;
        Self {
            description: spec.description.into(),
            title: spec.title.map(Cow::Borrowed),
            category: spec.category,
            modes: spec.modes,
            confirm: spec.confirm,
            timeout: spec.timeout_ms.map(Duration::from_millis),
            flags,
            on_duplicate: spec.on_duplicate,
            duplicate_scope: spec.duplicate_scope,
            max_output: spec.max_output,
            max_calls: spec.max_calls,
            guide: spec.guide.map(Guide::parse),
            returns: spec.returns,
            place: spec.place,
            site: body::id_of(spec.place.path),
            schema,
            order: spec.parameters.iter().filter(|row| !row.flatten).map(|row| row.name).collect(),
            rows: spec.parameters,
            frozen: defaults.iter().map(|(at, value)| (*at, value.to_string())).collect(),
            output: spec.output.and_then(output_schema),
            uses_context: spec.uses_context,
            validated: true,
            raw: false,
            problems,
            validator: OnceLock::new(),
            output_validator: OnceLock::new(),
            parameters: OnceLock::new(),
        }
    }

    /// The definition of a tool whose schema is given at run time.
    pub(crate) fn of_raw(description: String, parameters: Value, place: Place) -> Self {
        let text = parameters.to_string();
        Self {
            description: description.into(),
            title: None,
            category: Category::Utility,
            modes: Modes::BOTH,
            confirm: Confirm::Never,
            timeout: None,
            flags: ToolAnnotations::default(),
            on_duplicate: OnDuplicate::Allow,
            duplicate_scope: DuplicateScope::Name,
            max_output: None,
            max_calls: None,
            guide: None,
            returns: None,
            place,
            site: 0,
            schema: Canonical {
                value: parameters,
                text,
                needs_validator: true,
                nulls: Vec::new(),
                names: Names::default(),
            },
            order: Vec::new(),
            rows: &[],
            frozen: Vec::new(),
            output: None,
            uses_context: true,
            validated: false,
            raw: true,
            problems: Vec::new(),
            validator: OnceLock::new(),
            output_validator: OnceLock::new(),
            parameters: OnceLock::new(),
        }
    }

    /// A copy to change an option of.
    pub(crate) fn fork(&self) -> Self {
        Self {
            description: self.description.clone(),
            title: self.title.clone(),
            guide: self.guide.clone(),
            schema: self.schema.clone(),
            order: self.order.clone(),
            frozen: self.frozen.clone(),
            output: self.output.clone(),
            problems: self.problems.clone(),
            validator: OnceLock::new(),
            output_validator: OnceLock::new(),
            parameters: OnceLock::new(),
            ..*self
        }
    }

    #[inline]
    pub(crate) fn nulls(&self) -> &[Null] {
        &self.schema.nulls
    }

    #[inline]
    pub(crate) fn names(&self) -> &Names {
        &self.schema.names
    }

    #[inline]
    pub(crate) fn needs_validator(&self) -> bool {
        self.schema.needs_validator
    }

    /// The compiled schema, made at first use.
    pub(crate) fn validator(&self) -> &Validator {
        self.validator.get_or_init(|| match self.validated {
            true if self.raw => Validator::new(self.schema.value.clone()),
            true => Validator::for_tool(self.schema.value.clone())
                .confirming_duplicates(self.on_duplicate == OnDuplicate::Confirm),
            false => Validator::new(serde_json::json!({"type": "object"})),
        })
    }

    /// What calls of it are compared by, made at first use.
    #[inline]
    pub(crate) fn parameters(&self) -> &Parameters {
        self.parameters.get_or_init(|| match self.raw {
            true => Parameters::published(&self.schema.value),
            false => Parameters::declared(self.rows, &self.schema),
        })
    }

    /// The compiled schema of the result, where there is one.
    pub(crate) fn output_validator(&self) -> Option<&Validator> {
        self.output_validator.get_or_init(|| self.output.clone().map(Validator::new)).as_ref()
    }

    /// The JSON of the default that the instance decided for a parameter.
    pub(crate) fn frozen_default(&self, index: usize) -> &str {
        self.frozen.iter().find(|(at, _)| *at == index).map_or("null", |(_, text)| text)
    }

    /// Whether calling it twice does no more than calling it once, so that an unexpected end leaves nothing behind.
    pub(crate) fn harmless(&self) -> bool {
        self.flags.idempotent || self.category == Category::Retrieval
    }
}

fn empty_schema() -> Canonical {
    schema::canonical(Vec::new(), serde_json::Map::new(), check_values).unwrap_or_else(|_| Canonical {
        value: Value::Null,
        text: String::new(),
        needs_validator: true,
        nulls: Vec::new(),
        names: Names::default(),
    })
}

fn canonical(spec: &ToolFacts, defaults: &[(usize, Value)]) -> Result<Canonical, Vec<String>> {
    let mut generator = schema::generator();
    let own = |index: usize| defaults.iter().find(|(at, _)| *at == index).map(|(_, value)| value.clone());
    let rows = spec.parameters.iter().enumerate();
    let mut inputs: Vec<_> = rows.map(|(index, row)| input(row, own(index), &mut generator)).collect();
    if spec.on_duplicate != OnDuplicate::Confirm {
        return schema::canonical(inputs, generator.take_definitions(true), check_values);
    }
    inputs.push(confirm_duplicate());
    let schema = schema::canonical(inputs, generator.take_definitions(true), check_values)?;
    match schema.value.get("additionalProperties") {
        Some(Value::Bool(false)) => Ok(schema),
        // It would not come to the runtime.
        _ => Err(vec![format!(
            "a flattened parameter takes any name, `{CONFIRM_DUPLICATE}` too; choose another `on_duplicate`"
        )]),
    }
}

/// The parameter by which the model says that it means a call which another one repeats.
fn confirm_duplicate<'a>() -> ParameterInput<'a> {
    ParameterInput {
        name: CONFIRM_DUPLICATE,
        aliases: &[],
        description: "`true` to run this although another call of the tool is still running",
        schema: serde_json::json!({"type": ["boolean", "null"]}),
        optional: false,
        default: Some(Value::Null),
        constraints: &[],
        examples: Vec::new(),
        flatten: false,
    }
}

fn input<'a>(row: &'a Parameter, own: Option<Value>, generator: &mut SchemaGenerator) -> ParameterInput<'a> {
    let constraints: &'static [Constraint] = row.constraints;
    ParameterInput {
        name: row.name,
        aliases: row.aliases,
        description: row.description,
        schema: (row.schema)(generator).to_value(),
        optional: (row.optional)(),
        default: own.or_else(|| match row.default {
            // The macro wrote this text of a literal; were it broken, the type's own check would tell.
            DefaultValue::Literal(text) => Some(serde_json::from_str(text).unwrap_or(Value::Null)),
            DefaultValue::Computed(make) => Some(make()),
            DefaultValue::None | DefaultValue::Instance => None,
        }),
        constraints,
        examples: row.examples.iter().map(|make| make()).collect(),
        flatten: row.flatten,
    }
}

fn output_schema(make: spec::OutputSchema) -> Option<Value> {
    let mut generator = schema::output_generator();
    let mut value = make(&mut generator)?.to_value();
    let definitions = generator.take_definitions(true);
    if let (Value::Object(object), false) = (&mut value, definitions.is_empty()) {
        object.insert("$defs".into(), Value::Object(definitions));
    }
    let value = schema::canonical_value(value);
    // Nothing to say of a tool that returns nothing.
    (value.get("type").and_then(Value::as_str) != Some("null")).then_some(value)
}
