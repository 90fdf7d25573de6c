//! Tool definitions: the view of a tool that the model and the runtime share, and its compiled
//! form.

use crate::arguments::equality::{AS_SENT, EqualityRules};
use crate::arguments::prepare::CONFIRM_DUPLICATE;
use crate::arguments::shared_schema::SharedSchema;
use crate::arguments::validate::check_values;
use crate::call::mode::Modes;
use crate::schema::build::{CanonicalSchema, build_schema, normalize_result};
use crate::schema::compiled::Formats;
use crate::schema::generator::{argument_generator, result_generator};
use crate::schema::parameter::{Parameter, ResolvedParameter};
use crate::schema::probe::write_probe;
use crate::schema::validator::Validator;
use crate::text::{Name, first_sentence};
use crate::tool::guide::Guide;
use crate::tool::options::{
    Category, Confirm, DuplicateScope, OnDuplicate, SetOption, ToolAnnotations, ToolOptions,
    for_each_option,
};
use crate::trace::body;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The definition of a tool, as the model and the runtime see it.
///
/// Cloning is cheap. A derived toolset gives a tool another name and shares everything else.
///
/// ```
/// use tool_core::{Category, ToolContext, tool};
///
/// /// Find articles about a subject.
/// #[tool(category = "retrieval")]
/// fn search(
///     /// The subject
///     query: String,
///     #[arg(default = 10, range(1..=50))] limit: u32,
/// ) -> Vec<String> {
///     vec![query; limit as usize]
/// }
///
/// let tools = ToolContext::builder().with(search).build()?;
/// let definition = tools.definitions().next().expect("a tool");
/// assert_eq!(definition.name(), "search");
/// assert_eq!(definition.description(), "Find articles about a subject.");
/// assert_eq!(definition.category(), Category::Retrieval);
/// assert_eq!(definition.parameters()["properties"]["limit"]["maximum"], 50);
/// assert_eq!(definition.parameters()["required"][0], "query");
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone)]
pub struct ToolDefinition {
    pub(crate) name: Name,
    pub(crate) compiled: Arc<CompiledDefinition>,
}

/// The location of a tool in the source, displayed as `file:line`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLocation {
    /// The file's path, as the compiler names it.
    pub file: &'static str,
    /// The line, counted from 1.
    pub line: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

macro_rules! option_getters {
    ($(
        $(#[$get:meta])* get $name:ident: $type:ty = $default:expr;
        $(#[$set:meta])* set($argument:ident: $given:ty) => $value:expr;
    )*) => {
        $($(#[$get])*
        pub fn $name(&self) -> $type {
            self.compiled.options.$name
        })*
    };
}

impl ToolDefinition {
    /// Compiles the descriptor of a macro's tool. `defaults` are those that the instance decides,
    /// by parameter index.
    pub(crate) fn of_descriptor(
        tool: &ToolDescriptor,
        defaults: &[(usize, Value)],
        prefix: Option<&str>,
    ) -> Self {
        let name = match prefix {
            None => Name::Static(tool.name),
            Some(prefix) => format!("{prefix}_{}", tool.name).into(),
        };
        Self {
            name,
            compiled: Arc::new(CompiledDefinition::of_descriptor(tool, defaults)),
        }
    }

    /// Returns true where both are the same definition under the same name, so that a declaration
    /// made of one is valid for the other.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled) && self.name() == other.name()
    }

    /// Returns the name by which the model calls the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description for the model: the doc text without its lists of parameters, errors
    /// and examples.
    pub fn description(&self) -> &str {
        &self.compiled.description
    }

    /// Returns the tool's purpose in a sentence or two: the guide's summary, or the first sentence
    /// of the description.
    ///
    /// ```
    /// use tool_core::{ToolContext, tool};
    ///
    /// /// Add two numbers. Overflow wraps.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a.wrapping_add(b)
    /// }
    ///
    /// let tools = ToolContext::builder().with(add).build()?;
    /// assert_eq!(tools.definitions().next().unwrap().summary(), "Add two numbers.");
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn summary(&self) -> Cow<'_, str> {
        match self.guide().map(Guide::summary) {
            Some(summary) if !summary.is_empty() => summary.into(),
            _ => first_sentence(self.description()).into(),
        }
    }

    /// Returns the tool's full documentation: the guide, or the description where there is no
    /// guide.
    pub fn documentation(&self) -> &str {
        self.guide().map_or_else(|| self.description(), Guide::text)
    }

    /// Returns the title for people, where it is set.
    pub fn title(&self) -> Option<&str> {
        self.compiled.title.as_deref()
    }

    /// Returns the JSON Schema of the arguments, draft 2020-12. The published schema is the
    /// enforced one.
    pub fn parameters(&self) -> &Value {
        self.compiled.parameters()
    }

    /// Returns the same schema as compact JSON, with parameters in the order of the signature and
    /// flattened properties by name.
    pub fn parameters_json(&self) -> &str {
        match &self.compiled.raw {
            Some(shared) => shared.text(),
            None => &self.compiled.schema.text,
        }
    }

    /// Returns the JSON Schema of the result, where its type has one.
    pub fn output(&self) -> Option<&Value> {
        self.compiled
            .output
            .as_ref()
            .map(|schema| &**schema.value())
    }

    for_each_option!(option_getters);

    /// Lists the options that have another value than their default, apart from [`flags`](Self::flags),
    /// [`category`](Self::category), [`modes`](Self::modes) and [`confirm`](Self::confirm).
    pub fn set_options(&self) -> Vec<SetOption> {
        self.compiled.options.set()
    }

    /// Returns the yes-or-no options. A retrieval is always idempotent.
    pub fn flags(&self) -> ToolAnnotations {
        let options = &self.compiled.options;
        ToolAnnotations {
            idempotent: options.is_idempotent(),
            ..options.annotations
        }
    }

    /// Returns the name of the service behind the tool, where it is set. See
    /// [`FunctionTool::upstream`](crate::FunctionTool::upstream).
    pub fn upstream(&self) -> Option<&str> {
        self.compiled.upstream.as_deref()
    }

    /// Returns the guide, which explains the use of the tool at more length than the description.
    pub fn guide(&self) -> Option<&Guide> {
        self.compiled.guide.as_ref()
    }

    /// Returns the text of the `# Returns` section.
    pub fn returns(&self) -> Option<&str> {
        self.compiled.returns.as_deref()
    }

    /// Returns the location in the source; for a raw tool, that of the call which created it.
    pub fn source(&self) -> SourceLocation {
        self.compiled.source
    }

    /// Returns the Rust path of the method; empty for a raw tool.
    pub fn path(&self) -> &'static str {
        self.compiled.path
    }

    /// Returns true for a raw tool, whose schema was given at run time.
    pub fn is_raw(&self) -> bool {
        self.compiled.raw.is_some()
    }

    /// Returns the declaration of a tool of another server, as that server has sent it.
    #[doc(hidden)]
    pub fn declared(&self) -> Option<&Map<String, Value>> {
        self.compiled.declared.as_deref()
    }

    /// Returns true for the control tool that takes a typed answer
    /// ([`TypedAnswer`](crate::session::TypedAnswer)). Its parameters are the schema of the answer.
    ///
    /// A model whose provider has a form for structured output asks for that form instead of
    /// declaring the tool.
    pub fn takes_answer(&self) -> bool {
        self.compiled.takes_answer
    }

    /// Returns the definition of the control tool that takes a typed answer.
    pub(crate) fn taking_answer(&self) -> Self {
        let compiled = CompiledDefinition {
            takes_answer: true,
            ..(*self.compiled).clone()
        };
        Self {
            name: self.name.clone(),
            compiled: Arc::new(compiled),
        }
    }

    /// Returns the parameter names in the order of the signature, without flattened properties;
    /// empty for a raw tool.
    pub fn parameter_order(&self) -> &[&'static str] {
        &self.compiled.parameter_order
    }

    /// Estimates the tokens that the declaration costs a model: a quarter of its characters.
    pub fn token_estimate(&self) -> usize {
        (self.name.len()
            + self.description().chars().count()
            + self.parameters_json().chars().count())
        .div_ceil(4)
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition")
            .field("name", &self.name)
            .field("description", &self.description())
            .field("parameters", &self.parameters_json())
            .field("source", &self.source())
            .finish_non_exhaustive()
    }
}

/// A function that generates the schema of a tool's result, where its type has one.
pub(crate) type OutputSchema = fn(&mut SchemaGenerator) -> Option<Schema>;

/// A macro's description of a tool, without the type of its toolset, so that the code that reads it
/// is compiled once.
#[derive(Clone, Copy)]
pub(crate) struct ToolDescriptor {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) source: SourceLocation,
    pub(crate) path: &'static str,
    pub(crate) title: Option<&'static str>,
    pub(crate) guide: Option<&'static str>,
    pub(crate) returns: Option<&'static str>,
    pub(crate) options: ToolOptions,
    pub(crate) output: Option<OutputSchema>,
    pub(crate) uses_context: bool,
}

/// The part of a definition that does not depend on the tool's name, with its compiled schemas.
#[derive(Clone)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about the tool"
)]
pub(crate) struct CompiledDefinition {
    pub(crate) description: Cow<'static, str>,
    pub(crate) title: Option<Cow<'static, str>>,
    pub(crate) guide: Option<Guide>,
    pub(crate) returns: Option<Cow<'static, str>>,
    pub(crate) options: ToolOptions,
    source: SourceLocation,
    path: &'static str,
    /// The id by which the function's body recognises a dispatched call of itself.
    pub(crate) site: u32,
    /// The schema of a macro's tool. A raw tool has no value and no text here.
    pub(crate) schema: CanonicalSchema,
    /// The schema of a raw tool, which others may share.
    pub(crate) raw: Option<Arc<SharedSchema>>,
    /// The meaning of `format` in the schemas of a raw tool.
    pub(crate) formats: Formats,
    parameter_order: Vec<&'static str>,
    /// The parameter table; empty for a raw tool.
    pub(crate) rows: &'static [Parameter],
    /// The defaults that the instance decided, as JSON, by parameter index.
    instance_defaults: Vec<(usize, String)>,
    pub(crate) output: Option<Arc<SharedSchema>>,
    pub(crate) uses_context: bool,
    /// True where arguments have to fit the schema. A raw tool asks for it with `validate`.
    pub(crate) validated: bool,
    /// True for the control tool that takes a typed answer.
    takes_answer: bool,
    /// True if the handler of a raw tool checks its results against the output schema itself.
    pub(crate) checks_output: bool,
    /// The declaration of a tool of another server, as that server has sent it.
    pub(crate) declared: Option<Arc<Map<String, Value>>>,
    /// The name of the service behind the tool, if the host has set one.
    pub(crate) upstream: Option<Arc<str>>,
    /// The problems that make the tool unusable. Building a context reports them.
    pub(crate) problems: Vec<String>,
    lazy: CompiledSchemas,
}

/// The compiled schemas of a definition, each built at first use.
#[derive(Default)]
struct CompiledSchemas {
    arguments: OnceLock<Validator>,
    equality: OnceLock<EqualityRules>,
}

impl Clone for CompiledSchemas {
    /// Returns an empty value, because a definition is cloned in order to change it.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl CompiledDefinition {
    fn new(
        description: Cow<'static, str>,
        schema: CanonicalSchema,
        source: SourceLocation,
    ) -> Self {
        Self {
            description,
            title: None,
            guide: None,
            returns: None,
            options: ToolOptions::DEFAULT,
            source,
            path: "",
            site: 0,
            schema,
            raw: None,
            formats: Formats::Asserted,
            parameter_order: Vec::new(),
            rows: &[],
            instance_defaults: Vec::new(),
            output: None,
            uses_context: true,
            validated: true,
            takes_answer: false,
            checks_output: false,
            declared: None,
            upstream: None,
            problems: Vec::new(),
            lazy: CompiledSchemas::default(),
        }
    }

    fn of_descriptor(tool: &ToolDescriptor, defaults: &[(usize, Value)]) -> Self {
        let confirms = tool.options.on_duplicate == OnDuplicate::Confirm;
        let (schema, problems) = match canonical_schema(tool.parameters, defaults, confirms) {
            Ok(schema) => (schema, Vec::new()),
            Err(problems) => {
                let schema = json!({"type": "object", "properties": {}});
                let text = schema.to_string();
                (unchecked_schema(schema, text), problems)
            }
        };
        Self {
            title: tool.title.map(Cow::Borrowed),
            guide: tool.guide.map(Guide::parse),
            returns: tool.returns.map(Cow::Borrowed),
            options: tool.options,
            path: tool.path,
            site: body::function_id(tool.path),
            parameter_order: tool
                .parameters
                .iter()
                .filter(|row| !row.flatten)
                .map(|row| row.name)
                .collect(),
            rows: tool.parameters,
            instance_defaults: defaults
                .iter()
                .map(|(at, value)| (*at, value.to_string()))
                .collect(),
            output: tool
                .output
                .and_then(output_schema)
                .map(SharedSchema::unshared),
            uses_context: tool.uses_context,
            problems,
            ..Self::new(tool.description.into(), schema, tool.source)
        }
    }

    /// Creates the definition of a tool whose schema is given at run time.
    pub(crate) fn of_raw(description: String, parameters: Value, source: SourceLocation) -> Self {
        let new = Self::new(
            description.into(),
            unchecked_schema(Value::Null, String::new()),
            source,
        );
        Self {
            validated: false,
            raw: Some(SharedSchema::of(parameters, None)),
            ..new
        }
    }

    /// Sets the treatment of a call while another call of the tool runs. The parameter by which the
    /// model confirms a duplicate comes and goes with it.
    pub(crate) fn set_on_duplicate(&mut self, treatment: OnDuplicate) {
        let confirmed = self.options.on_duplicate == OnDuplicate::Confirm;
        let confirms = treatment == OnDuplicate::Confirm;
        self.options.on_duplicate = treatment;
        // A raw tool has the parameters of its schema alone. Building a context reports it.
        if confirms == confirmed || self.raw.is_some() {
            return;
        }

        let defaults = self.instance_defaults.iter();
        let defaults = defaults
            .map(|(at, text)| (*at, serde_json::from_str(text).unwrap_or_default()))
            .collect::<Vec<_>>();
        match canonical_schema(self.rows, &defaults, confirms) {
            Ok(schema) => {
                self.schema = CanonicalSchema {
                    // The types were proven, or not, when the tool was made.
                    needs_validator: schema.needs_validator || self.schema.needs_validator,
                    probe: None,
                    ..schema
                }
            }
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// Returns the schema of the arguments.
    pub(crate) fn parameters(&self) -> &Value {
        match &self.raw {
            Some(shared) => shared.value(),
            None => &self.schema.value,
        }
    }

    /// Returns the validator of the arguments.
    pub(crate) fn validator(&self) -> &Validator {
        if let (Some(shared), true) = (&self.raw, self.validated) {
            return shared.arguments(self.formats);
        }
        self.lazy.arguments.get_or_init(|| {
            if let Some(shared) = &self.raw {
                return Validator::unchecked(shared.root());
            }
            let confirms = self.options.on_duplicate == OnDuplicate::Confirm;
            Validator::for_tool(self.schema.value.clone()).confirming_duplicates(confirms)
        })
    }

    /// Returns the parameters by which calls are compared.
    #[inline]
    pub(crate) fn equality(&self) -> &EqualityRules {
        if let Some(shared) = &self.raw {
            return shared.equality();
        }
        self.lazy
            .equality
            .get_or_init(|| EqualityRules::of_signature(self.rows, &self.schema))
    }

    /// Returns the canonical JSON of arguments to which a person agrees. Each number is the one
    /// that the tool receives: a raw tool receives a `Value`, and no default of its schema.
    pub(crate) fn approved_text(&self, text: &str) -> String {
        if self.raw.is_some() {
            return AS_SENT.approved_text(text, &Value::Bool(true));
        }
        self.equality().approved_text(text, &self.schema.value)
    }

    /// Returns the canonical JSON of arguments as the history has them: with the defaults that the
    /// tool itself fills in. A raw tool fills in none.
    pub(crate) fn history_text(&self, text: &str) -> String {
        if self.raw.is_some() {
            return AS_SENT.canonical_text(text);
        }
        self.equality().canonical_text(text)
    }

    /// Returns the validator of the result, where there is a schema.
    pub(crate) fn output_validator(&self) -> Option<&Validator> {
        Some(self.output.as_ref()?.results(self.formats))
    }

    /// Returns the default that the instance decided for a parameter, as JSON.
    pub(crate) fn instance_default(&self, index: usize) -> &str {
        self.instance_defaults
            .iter()
            .find(|(at, _)| *at == index)
            .map_or("null", |(_, text)| text)
    }

    /// Returns true where an unexpected end leaves no effects that a repeated call would not have.
    pub(crate) fn is_harmless(&self) -> bool {
        self.options.is_idempotent()
    }
}

/// Wraps a schema without any knowledge of its parameters, so that every call goes through the
/// validator.
fn unchecked_schema(value: Value, text: String) -> CanonicalSchema {
    CanonicalSchema {
        value,
        text,
        needs_validator: true,
        fields: Vec::new(),
        probe: None,
    }
}

/// Builds the schema of a macro's tool. `confirms` adds the parameter by which the model confirms a
/// duplicate.
fn canonical_schema(
    parameters: &[Parameter],
    defaults: &[(usize, Value)],
    confirms: bool,
) -> Result<CanonicalSchema, Vec<String>> {
    let mut generator = argument_generator();
    let instance_default = |index: usize| {
        defaults
            .iter()
            .find(|(at, _)| *at == index)
            .map(|(_, value)| value.clone())
    };
    let rows = parameters.iter().enumerate();
    let mut inputs: Vec<_> = rows
        .map(|(index, row)| ResolvedParameter::new(*row, instance_default(index), &mut generator))
        .collect();
    let probe = write_probe(&inputs, generator.definitions());
    if confirms {
        inputs.push(confirm_duplicate(&mut generator));
    }
    let mut schema = build_schema(inputs, generator.take_definitions(true), check_values)?;
    let is_closed = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.value.get(*keyword) == Some(&Value::Bool(false)));
    if confirms && !is_closed {
        return Err(vec![format!(
            "a flattened parameter takes every name, also the runtime's `{CONFIRM_DUPLICATE}`; choose another `on_duplicate`"
        )]);
    }
    schema.needs_validator |= probe.is_none();
    schema.probe = probe.filter(|_| !schema.needs_validator).map(Arc::new);
    Ok(schema)
}

/// Returns the parameter by which the model confirms a call that duplicates a running one.
fn confirm_duplicate(generator: &mut SchemaGenerator) -> ResolvedParameter {
    const DESCRIPTION: &str =
        "`true` to run this although another call of the tool is still running";
    let row =
        Parameter::new::<Option<bool>>(CONFIRM_DUPLICATE, DESCRIPTION).default_literal("null");
    // A `null` is published, because it is the default.
    ResolvedParameter {
        optional: false,
        ..ResolvedParameter::new(row, None, generator)
    }
}

fn output_schema(make: OutputSchema) -> Option<Value> {
    let mut generator = result_generator();
    let mut value = make(&mut generator)?.to_value();
    let definitions = generator.take_definitions(true);
    if let (Value::Object(object), false) = (&mut value, definitions.is_empty()) {
        object.insert("$defs".into(), Value::Object(definitions));
    }
    let value = normalize_result(value);
    // A tool that returns nothing has no output schema.
    (value.get("type").and_then(Value::as_str) != Some("null")).then_some(value)
}

/// Checks the name of a macro's tool: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`. Returns the problem, if
/// there is one.
pub(crate) fn check_name(name: &str) -> Option<String> {
    let mut bytes = name.bytes();
    let first = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    (!first || !rest || name.len() > 64).then(|| {
        format!(
            "invalid tool name `{}`: names are 1-64 of `A-Z a-z 0-9 _ -` and begin with a letter or `_`",
            name.escape_debug()
        )
    })
}

/// Checks the name of a raw tool: `^[A-Za-z0-9_.:/-]{1,128}$`. Returns the problem, if there is
/// one.
pub(crate) fn check_raw_name(name: &str) -> Option<String> {
    let valid = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte));
    (!valid || name.is_empty() || name.len() > 128).then(|| {
        format!(
            "invalid raw tool name `{}`: names are 1-128 of `A-Z a-z 0-9 _ . : / -`",
            name.escape_debug()
        )
    })
}

/// Normalises a name. Names with the same normal form are the same to a provider or to a reader.
pub(crate) fn normalise_name(name: &str) -> String {
    name.to_ascii_lowercase()
        .replace(['-', '.', ':', '/', ' '], "_")
}
