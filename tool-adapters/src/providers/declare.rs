//! Declarations: a context's tools in a provider's form, made once and kept as bytes.

use crate::providers::declaration::Item;
use crate::providers::mixing::ProviderTools;
use crate::providers::names::Names;
use crate::providers::provider::Provider;
use crate::providers::report::{Refusal, Report, ToolReport};
use crate::providers::schema::{Projection, restore};
use crate::providers::{mixing, names, strict};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use tool_core::{ProviderTool, ToolCall, ToolContext, ToolDefinition};

/// How tools are declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools)] // each is a setting of its own
pub struct DeclareOptions {
    /// Whether tools are declared strict where they can be: the provider then holds the model to the schema. Strictness
    /// is computed for each tool; the report says why one is not.
    pub strict: bool,
    /// Gemini Live: with any function tool, no provider tools. L32
    pub only_single_type: bool,
    /// Gemini: the model takes function tools and provider tools in one request. L31
    pub model_mixes: bool,
}

/// Tools in a provider's form. Cheap to clone.
#[derive(Clone)]
pub struct Declarations(Arc<Inner>);

struct Inner {
    provider: Provider,
    /// The value of the request's `tools`.
    json: Box<RawValue>,
    settings: Map<String, Value>,
    names: names::Names,
    /// By the index of the tool among `definitions`.
    strict: Vec<bool>,
    definitions: Vec<ToolDefinition>,
    report: Report,
}

/// Declares the tools of a context to a provider.
///
/// Made once for a context; from then on a clone of what is kept.
///
/// ```
/// use tool_adapters::{Provider, declare};
/// use tool_core::{ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, #[arg(default)] b: i64) -> i64 {
///     a + b
/// }
///
/// let tools = ToolContext::builder().with(add).build()?;
/// let declared = declare(Provider::OpenAiChat, &tools);
/// assert!(declared.json().get().starts_with(r#"[{"type":"function","function":{"name":"add""#));
/// assert!(declared.report().tools[0].changes.is_empty());
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub fn declare(provider: Provider, tools: &ToolContext) -> Declarations {
    declare_with(provider, tools, DeclareOptions::default())
}

/// Like [`declare`], with options.
pub fn declare_with(provider: Provider, tools: &ToolContext, options: DeclareOptions) -> Declarations {
    tools.memo::<Cache>().get_or_make(provider, options, || {
        declare_tools(provider, tools.definitions(), tools.provider_tools(), options)
    })
}

/// Declares tools that are not, or not all, of one context, such as those that a session shows. Not kept.
pub fn declare_tools<'a>(
    provider: Provider,
    tools: impl IntoIterator<Item = &'a ToolDefinition>,
    provider_tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> Declarations {
    let definitions = tools.into_iter().cloned().collect::<Vec<_>>();
    Declarations(Arc::new(assemble(provider, definitions, provider_tools, options)))
}

impl Declarations {
    /// The provider.
    pub fn provider(&self) -> Provider {
        self.0.provider
    }

    /// The value of the request's `tools` (Bedrock: of `toolConfig.tools`): an array, in the order of the context.
    pub fn json(&self) -> &RawValue {
        &self.0.json
    }

    /// What the request has to say besides, such as Cohere's `strict_tools`; mostly nothing.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.0.settings
    }

    /// What was dropped, weakened, renamed and refused, tool by tool.
    pub fn report(&self) -> &Report {
        &self.0.report
    }

    /// Whether nothing is declared: some providers refuse an empty list.
    pub fn is_empty(&self) -> bool {
        self.json().get() == "[]"
    }

    /// The name that the provider knows a tool by; `None` where it is not declared.
    pub fn wire_name(&self, tool: &str) -> Option<&str> {
        self.0.names.wire(tool)
    }

    /// The name to write in a request for any tool: the one it is declared by or, for a tool that is not declared (any
    /// more), such as one of an older call in the history, the nearest that the provider takes.
    pub fn written_name<'a>(&'a self, tool: &'a str) -> Cow<'a, str> {
        match self.wire_name(tool) {
            Some(wire) => Cow::Borrowed(wire),
            None => names::NameRule::of(self.0.provider).nearest(tool),
        }
    }

    /// The tool that the provider knows by a name.
    pub fn tool_name(&self, wire: &str) -> Option<&str> {
        self.0.names.tool(wire)
    }

    /// A call as the tool knows it: under its own name, and in strict without the nulls that stand for what is absent.
    /// A name that is not declared stays, and so do arguments that are not JSON: the answer will say so.
    #[must_use]
    pub fn restore(&self, call: ToolCall) -> ToolCall {
        let Some(at) = self.0.names.position(call.name()) else { return call };
        let Some(tool) = self.0.definitions.get(at) else { return call };
        let strict = self.0.strict.get(at).copied().unwrap_or_default();
        let arguments = if strict {
            restore::restore(tool.parameters(), call.arguments())
        } else {
            Cow::Borrowed(call.arguments())
        };
        match (arguments, tool.name() == call.name()) {
            (Cow::Borrowed(_), true) => call,
            (Cow::Borrowed(_), false) => call.renamed(tool.name()),
            (Cow::Owned(arguments), _) => call.with_arguments(arguments).renamed(tool.name()),
        }
    }

    /// Whether these are the declarations of the same tools under the same names, so that they need not be made again.
    pub fn of_same_tools(&self, tools: &[ToolDefinition]) -> bool {
        let ours = &self.0.definitions;
        ours.len() == tools.len() && ours.iter().zip(tools).all(|(a, b)| a.same(b))
    }
}

impl std::fmt::Debug for Declarations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the declarations: provider tools may hold secrets that are only for the provider.
        f.debug_struct("Declarations").field("report", self.report()).finish_non_exhaustive()
    }
}

// ---- From definitions to declarations.

pub(crate) fn assemble(
    provider: Provider,
    definitions: Vec<ToolDefinition>,
    provider_tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> Inner {
    let functions = !definitions.is_empty();
    let mut beside = mixing::choose(provider, functions, provider_tools.iter().map(AsRef::as_ref), options);
    let projected = strict::project_all(provider, &definitions, options.strict);
    let accepted = definitions.iter().zip(&projected).enumerate().filter(|(_, (_, projected))| projected.is_ok());
    let names = accepted.map(|(at, (definition, _))| (at, definition.name()));
    let mut names = Names::of(provider, names.filter(|(_, name)| !beside.declares(name)), &beside.names());
    for (at, definition) in definitions.iter().enumerate().filter(|(_, tool)| beside.declares(tool.name())) {
        names.insert(at, definition.name(), definition.name().to_owned());
    }
    let mut items = Vec::with_capacity(definitions.len());
    let mut tools = Vec::with_capacity(definitions.len());
    for (definition, projected) in definitions.iter().zip(projected) {
        let wire = names.wire(definition.name());
        let (report, item) = if beside.declares(definition.name()) {
            (unchanged(definition, wire), None)
        } else {
            one(provider, definition, wire, projected, options.strict)
        };
        tools.push(report);
        items.extend(item);
    }
    let strict = tools.iter().map(|tool| tool.strict).collect::<Vec<_>>();
    beside.warnings.extend(too_many(provider, items.len(), beside.len()));
    // What is written here is JSON, so there is no error to tell of.
    let json = write_list(provider, &items, &beside).unwrap_or_else(|_| RawValue::NULL.to_owned());
    let settings = settings(provider, &items, &beside, &strict);
    let report = Report { provider, tools, skipped: beside.skipped, warnings: beside.warnings };
    Inner { provider, json, settings, names, strict, definitions, report }
}

/// What is reported of a tool of which nothing is said in a declaration of its own.
fn unchanged(definition: &ToolDefinition, wire: Option<&str>) -> ToolReport {
    ToolReport {
        tool: definition.name().to_owned(),
        declared_as: wire.map(str::to_owned),
        strict: false,
        not_strict: None,
        refused: None,
        changes: Vec::new(),
        tokens: 0,
    }
}

/// What is reported of a tool, and what is declared of it.
fn one(
    provider: Provider,
    definition: &ToolDefinition,
    wire: Option<&str>,
    projected: Result<Projection, Refusal>,
    strict_wanted: bool,
) -> (ToolReport, Option<String>) {
    let mut report = unchanged(definition, None);
    let Projection { schema, changes, not_strict } = match projected {
        Ok(projection) => projection,
        Err(refusal) => {
            report.refused = Some(refusal);
            return (report, None);
        }
    };
    let strict = strict_wanted && not_strict.is_none();
    let item = wire.and_then(|name| {
        let schema = write_schema(definition, &schema).ok()?;
        Item { definition, name, schema: &schema, strict }.write(provider).ok()
    });
    report.declared_as = wire.map(str::to_owned);
    report.tokens = item.as_ref().map_or(0, |item| item.chars().count().div_ceil(4));
    (ToolReport { strict, not_strict, changes, ..report }, item)
}

/// What the request has to say besides its tools.
fn settings(provider: Provider, functions: &[String], beside: &ProviderTools, strict: &[bool]) -> Map<String, Value> {
    let setting = match provider {
        Provider::Cohere if strict.contains(&true) => json!({"strict_tools": true}),
        // L31
        _ if mixing::is_chat(provider) && !functions.is_empty() && !beside.is_empty() => {
            json!({"toolConfig": {"includeServerSideToolInvocations": true}})
        }
        _ => return Map::new(),
    };
    setting.as_object().cloned().unwrap_or_default()
}

/// A warning where there are more tools than the provider takes. It decides what it does with them.
fn too_many(provider: Provider, functions: usize, others: usize) -> Option<String> {
    let (found, most) = match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses | Provider::OpenAiRealtime | Provider::Mistral => {
            (functions + others, 128)
        }
        Provider::Gemini | Provider::GeminiJsonSchema | Provider::GeminiLive => (functions, 512),
        _ => return None,
    };
    (found > most).then(|| format!("{found} tools are declared, and {provider} takes {most}: declare fewer at a time"))
}

// ---- The declarations that were made of a context.

type Key = (Provider, DeclareOptions);

/// Kept with the context, by provider and options: a handful of each.
#[derive(Default)]
pub(crate) struct Cache(RwLock<Vec<(Key, Declarations)>>);

impl Cache {
    pub(crate) fn get_or_make(
        &self,
        provider: Provider,
        options: DeclareOptions,
        declare: impl FnOnce() -> Declarations,
    ) -> Declarations {
        let key = (provider, options);
        if let Some(found) = find(&self.0.read().unwrap_or_else(PoisonError::into_inner), key) {
            return found;
        }
        // Made outside the lock: two that ask at once make it twice, and the first is kept.
        let made = declare();
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        find(&kept, key).unwrap_or_else(|| {
            kept.push((key, made.clone()));
            made
        })
    }
}

fn find(kept: &[(Key, Declarations)], key: Key) -> Option<Declarations> {
    kept.iter().find(|(known, _)| *known == key).map(|(_, made)| made.clone())
}

// ---- The value of a request's `tools`, of the texts of its tools.

/// Joins what has been written of the function tools with the provider tools.
pub(crate) fn write_list(
    provider: Provider,
    functions: &[String],
    provider_tools: &ProviderTools,
) -> serde_json::Result<Box<RawValue>> {
    let configs = provider_tools.configs().map(Value::to_string);
    let gemini = || (!functions.is_empty()).then(|| format!(r#"{{"functionDeclarations":{}}}"#, list(functions)));
    let text = match provider {
        Provider::Gemini | Provider::GeminiJsonSchema => list(&gemini().into_iter().chain(configs).collect::<Vec<_>>()),
        Provider::GeminiLive => list(&live(gemini(), provider_tools).into_iter().collect::<Vec<_>>()),
        _ if provider_tools.is_empty() => list(functions),
        _ => list(&functions.iter().cloned().chain(configs).collect::<Vec<_>>()),
    };
    RawValue::from_string(text)
}

/// One object for all. L32
fn live(functions: Option<String>, provider_tools: &ProviderTools) -> Option<String> {
    if provider_tools.is_empty() {
        return functions;
    }
    let others = Value::from(provider_tools.merged()).to_string();
    Some(match (functions, others.strip_prefix('{')) {
        (Some(functions), Some(members)) => format!("{},{members}", functions.strip_suffix('}').unwrap_or(&functions)),
        _ => others,
    })
}

fn list(items: &[String]) -> String {
    let mut text = String::with_capacity(items.iter().map(|item| item.len() + 1).sum::<usize>() + 2);
    text.push('[');
    for item in items {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(item);
    }
    text.push(']');
    text
}

// ---- A projected schema as text, its parameters in the order of the tool.
//
// Models write arguments in the order in which they read parameters; a map of `serde_json` would sort them.

/// What comes first in the root, as in the canonical text.
const FIRST: [&str; 3] = ["type", "properties", "required"];

/// The text of `schema`, which is a projection of the tool's parameters.
pub(crate) fn write_schema(tool: &ToolDefinition, schema: &Value) -> serde_json::Result<Box<RawValue>> {
    if schema == tool.parameters() {
        return RawValue::from_string(tool.parameters_json().to_owned());
    }
    let order = Order::of(tool);
    let text = match schema {
        Value::Object(root) if order.says_something() => order.root(root),
        other => other.to_string(),
    };
    RawValue::from_string(text)
}

struct Order<'a>(HashMap<&'a str, usize>);

impl<'a> Order<'a> {
    fn of(tool: &'a ToolDefinition) -> Self {
        Self(tool.parameter_order().iter().enumerate().map(|(at, name)| (*name, at)).collect())
    }

    fn says_something(&self) -> bool {
        self.0.len() > 1
    }

    /// Those of the signature first, then the others by name.
    fn sort<T>(&self, members: &mut [T], name: impl Fn(&T) -> Option<&str>) {
        members.sort_by_key(|member| name(member).and_then(|name| self.0.get(name)).copied().unwrap_or(usize::MAX));
    }

    fn root(&self, root: &Map<String, Value>) -> String {
        let mut text = String::from("{");
        let first = FIRST.iter().filter_map(|keyword| root.get_key_value(*keyword));
        let rest = root.iter().filter(|(keyword, _)| !FIRST.contains(&keyword.as_str()));
        for (keyword, value) in first.chain(rest) {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(named)) => self.properties(named, &mut text),
                ("required" | "propertyOrdering", Value::Array(names)) => {
                    let mut names = names.clone();
                    self.sort(&mut names, Value::as_str);
                    push(&mut text, keyword, &Value::Array(names).to_string());
                }
                _ => push(&mut text, keyword, &value.to_string()),
            }
        }
        text.push('}');
        text
    }

    fn properties(&self, named: &Map<String, Value>, text: &mut String) {
        let mut members = named.iter().collect::<Vec<_>>();
        self.sort(&mut members, |(name, _)| Some(name.as_str()));
        let mut inner = String::from("{");
        for (name, schema) in members {
            push(&mut inner, name, &schema.to_string());
        }
        inner.push('}');
        push(text, "properties", &inner);
    }
}

/// Adds a member whose value is JSON already.
fn push(text: &mut String, name: &str, json: &str) {
    if !text.ends_with('{') {
        text.push(',');
    }
    text.push_str(&Value::from(name).to_string());
    text.push(':');
    text.push_str(json);
}
