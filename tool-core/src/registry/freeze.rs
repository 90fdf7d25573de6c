//! Freezing: flattens a list of tools, validates each one, and reports every problem.

use crate::arguments::shared_schema::SharedSchema;
use crate::call::error::ErrorList;
use crate::registry::published::PromptsAndResources;
use crate::schema::meta;
use crate::text::Name;
use crate::tool::definition::{
    SourceLocation, ToolDefinition, check_name, check_raw_name, normalise_name,
};
use crate::tool::instance::ToolsetInstance;
use crate::tool::invocation::RequiredSetup;
use crate::tool::{FunctionTool, OnDuplicate, ProviderTool, Tool, Toolset};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A problem with a set of tools.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_core::{FunctionTool, RawTool, RunContext, ToolContext};
///
/// let tool = |name: &str| {
///     let raw = RawTool { name: name.into(), description: "Echo.".into(), parameters: json!({"type": "object"}) };
///     FunctionTool::raw(raw, async |arguments: Value, _ctx: &RunContext| Ok(arguments))
/// };
/// let errors = ToolContext::builder().with(tool("echo")).with(tool("echo")).with(tool("two words")).build().unwrap_err();
/// assert_eq!(errors.len(), 2); // the name that is there twice, and the invalid one
/// for error in errors {
///     println!("{}", error.message);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{message}{}", in_parentheses(locations))]
pub struct RegistryError {
    /// The problem, and its fix.
    pub message: String,
    /// The locations in the source: both for a collision, none if the location is not known.
    pub locations: Vec<SourceLocation>,
}

/// All problems of a set of tools, in the order of the tools.
///
/// ```
/// use tool_core::{RegistryErrors, ToolContext, tool};
///
/// /// Find a book by its title.
/// #[tool(name = "find")]
/// fn find_by_title(title: &str) -> Vec<String> {
///     vec![title.to_owned()]
/// }
///
/// /// Find a book by its author.
/// #[tool(name = "find")]
/// fn find_by_author(author: &str) -> Vec<String> {
///     vec![author.to_owned()]
/// }
///
/// fn tools() -> Result<ToolContext, RegistryErrors> {
///     ToolContext::builder().with(find_by_title).with(find_by_author).build()
/// }
///
/// let errors = tools().unwrap_err();
/// assert_eq!((errors.len(), errors[0].locations.len()), (1, 2)); // one collision, with the places of both tools
/// println!("{errors}"); // one problem a line
/// ```
pub type RegistryErrors = ErrorList<RegistryError>;

impl RegistryError {
    pub(crate) fn new(
        message: impl Into<String>,
        locations: impl IntoIterator<Item = SourceLocation>,
    ) -> Self {
        Self {
            message: message.into(),
            locations: locations.into_iter().collect(),
        }
    }
}

fn in_parentheses(locations: &[SourceLocation]) -> String {
    let locations = locations
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    if locations.is_empty() {
        String::new()
    } else {
        format!(" ({})", locations.join(", "))
    }
}

/// The tools of a context in the form in which it uses them.
#[derive(Clone, Default)]
pub(crate) struct FrozenTools {
    pub(crate) functions: Vec<FunctionTool>,
    /// The position of each function tool by its name.
    pub(crate) index: FxHashMap<Name, usize>,
    pub(crate) providers: Vec<Arc<dyn ProviderTool>>,
    pub(crate) toolsets: Vec<Arc<dyn Toolset>>,
    /// Those of the toolsets that are set up and closed.
    pub(crate) instances: Vec<Arc<ToolsetInstance>>,
    /// The toolset of each function tool that only works after a setup.
    pub(crate) needs_setup: FxHashMap<Name, Arc<dyn RequiredSetup>>,
    /// `None` if there are neither prompts nor resources.
    pub(crate) published: Option<Arc<PromptsAndResources>>,
}

/// The maximum nesting of toolsets. A toolset that contains itself exceeds it.
const MAX_DEPTH: usize = 32;

/// Freezes the tools. `problems` are those found before. Tools that are already `validated` are
/// only compared by name.
pub(crate) fn freeze(
    tools: &[Tool],
    mut published: PromptsAndResources,
    mut problems: Vec<RegistryError>,
    validated: bool,
) -> Result<FrozenTools, RegistryErrors> {
    let mut frozen = FrozenTools::default();
    for tool in tools {
        frozen.flatten(tool, None, (&mut published, &mut problems), MAX_DEPTH);
    }
    let mut published_problems = Vec::new();
    frozen.published = published.freeze(&mut published_problems);
    problems.extend(
        published_problems
            .into_iter()
            .map(|(message, at)| RegistryError::new(message, at)),
    );
    for tool in frozen.functions.iter().filter(|_| !validated) {
        problems.extend(
            check(tool.definition())
                .into_iter()
                .map(|message| error_at(message, [tool])),
        );
    }
    frozen.functions = unique(frozen.functions, &mut problems);
    ErrorList::check(problems)?;
    let names = frozen
        .functions
        .iter()
        .map(|tool| tool.definition().name.clone());
    frozen.index = names.enumerate().map(|(at, name)| (name, at)).collect();
    Ok(frozen)
}

impl FrozenTools {
    /// Adds a tool. `owner` is the setup of the toolset around it.
    fn flatten(
        &mut self,
        tool: &Tool,
        owner: Option<&Arc<dyn RequiredSetup>>,
        (published, problems): (&mut PromptsAndResources, &mut Vec<RegistryError>),
        depth: usize,
    ) {
        match tool {
            Tool::Function(tool) => {
                if let Some(setup) = tool.setup().or(owner) {
                    self.needs_setup
                        .insert(tool.definition().name.clone(), Arc::clone(setup));
                }
                self.functions.push(tool.clone());
            }
            Tool::Provider(tool) => self.providers.push(Arc::clone(tool)),
            Tool::Toolset(toolset) => {
                if self
                    .toolsets
                    .iter()
                    .any(|known| Arc::ptr_eq(known, toolset))
                {
                    return;
                }
                if depth == 0 {
                    let id = toolset.id();
                    let message = format!(
                        "toolset `{id}` is nested more than {MAX_DEPTH} levels deep; check whether it contains itself"
                    );
                    problems.push(RegistryError::new(message, []));
                    return;
                }
                self.toolsets.push(Arc::clone(toolset));
                let instance = ToolsetInstance::of(toolset);
                self.instances.extend(instance.clone());
                let setup = instance
                    .filter(|_| toolset.needs_setup())
                    .map(|instance| instance as Arc<dyn RequiredSetup>);
                let owner = setup.as_ref().or(owner);
                published.add(toolset, owner);
                for nested in Arc::clone(toolset).tools() {
                    self.flatten(&nested, owner, (&mut *published, &mut *problems), depth - 1);
                }
            }
        }
    }
}

fn error_at<const N: usize>(message: String, tools: [&FunctionTool; N]) -> RegistryError {
    RegistryError::new(message, tools.map(|tool| tool.definition().source()))
}

/// Returns the problems of one tool.
fn check(tool: &ToolDefinition) -> Vec<String> {
    let name = tool.name().escape_debug();
    let mut problems = tool.compiled.problems.clone();
    let schemas = check_schemas(tool);
    if schemas.is_empty() {
        problems.extend(check_compiled(tool));
    }
    problems.extend(schemas);
    problems.extend(check_limits(tool));
    problems.extend(check_retries(tool));
    problems.extend(check_duplicates(tool));
    let mut messages = problems
        .iter()
        .map(|problem| format!("tool `{name}`: {problem}"))
        .collect::<Vec<_>>();
    if !tool.is_raw() {
        messages.extend(check_name(tool.name()));
    } else if tool.compiled.problems.is_empty() {
        messages.extend(check_raw_name(tool.name()));
    }
    messages
}

/// Refuses limits under which no call can run.
fn check_limits(tool: &ToolDefinition) -> Vec<String> {
    let limits = [
        ("timeout", tool.timeout().is_some_and(|time| time.is_zero())),
        ("max_calls", tool.max_calls() == Some(0)),
    ];
    let zero = limits.into_iter().filter(|(_, is_zero)| *is_zero);
    zero.map(|(option, _)| {
        format!("a `{option}` of 0 would refuse every call; set a larger one, or remove it for no limit of its own")
    })
    .collect()
}

/// The most retries of a tool, as the macro takes them.
const MAX_RETRIES: u32 = 16;

/// Refuses retries of a tool whose calls may have further effects when they are repeated, and
/// numbers of retries that the macro refuses.
fn check_retries(tool: &ToolDefinition) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(retries) = tool.retries() else {
        return problems;
    };
    if !(1..=MAX_RETRIES).contains(&retries) {
        problems.push(format!(
            "expected `retries` of 1 to {MAX_RETRIES}, got {retries}; remove the option for no retries"
        ));
    }
    if !tool.flags().idempotent {
        problems.push(
            "`retries` needs a tool that can be called again without further effects; mark it `idempotent`, make it a `retrieval`, or remove `retries`"
                .to_owned(),
        );
    }
    problems
}

/// Refuses a raw tool whose duplicates the model has to confirm: it has the parameters of its schema
/// alone, and none to confirm with.
fn check_duplicates(tool: &ToolDefinition) -> Option<String> {
    (tool.is_raw() && tool.on_duplicate() == OnDuplicate::Confirm).then(|| {
        "a raw tool has no parameter by which the model confirms a duplicate; choose another `on_duplicate`"
            .to_owned()
    })
}

/// Returns the problems with the form of the schemas.
fn check_schemas(tool: &ToolDefinition) -> Vec<String> {
    let shared = tool.compiled.raw.as_deref();
    let schema = shared.map_or_else(|| tool.parameters(), SharedSchema::root);
    let mut problems = Vec::new();
    if !schema.is_object() || !schema.get("type").is_none_or(|kind| kind == "object") {
        problems.push(
            "the parameters schema is not one of an object; set `\"type\": \"object\"` at its root"
                .into(),
        );
    } else {
        let invalid =
            |problem| format!("the parameters schema is not a valid JSON Schema: {problem}");
        let found = shared.map_or_else(
            || meta::problems(schema),
            |shared| shared.form_problems().to_vec(),
        );
        problems.extend(found.into_iter().map(invalid));
    }
    let invalid = |problem| format!("the output schema is not a valid JSON Schema: {problem}");
    let output = tool
        .compiled
        .output
        .as_deref()
        .map(SharedSchema::form_problems);
    problems.extend(output.into_iter().flatten().cloned().map(invalid));
    problems
}

/// The maximum size of a schema as JSON, in bytes.
const SCHEMA_BYTES: usize = 1 << 20;

/// Compiles the schemas that the meta-schema cannot fully check: a pattern may be no regular
/// expression, a reference may have no target, and checking a value may have no bound. Generated
/// schemas without references have none of these, unless a type writes its own.
fn check_compiled(tool: &ToolDefinition) -> Option<String> {
    let compiled = &tool.compiled;
    let bytes = compiled
        .raw
        .as_ref()
        .map_or(compiled.schema.text.len(), |shared| shared.bytes());
    if bytes > SCHEMA_BYTES {
        return Some(format!(
            "the parameters schema has {bytes} bytes, expected at most {SCHEMA_BYTES}"
        ));
    }
    let does_not_compile = |error: &str| format!("the parameters schema does not compile: {error}");
    if let Some(shared) = &compiled.raw {
        let problem = if compiled.validated {
            shared.compile_problem(compiled.formats)
        } else {
            None
        };
        if let Some(problem) = problem {
            return Some(does_not_compile(problem));
        }
    } else if ["\"pattern", "\"$ref"]
        .iter()
        .any(|keyword| compiled.schema.text.contains(keyword))
    {
        let schema = match compiled.validator().compiled() {
            Ok(schema) => schema,
            Err(error) => return Some(does_not_compile(error)),
        };
        if let Some(name) = schema.repeated_choice() {
            return Some(format!(
                "an untagged enum contains itself under `{name}` in two variants, so decoding it takes exponential time; \
                 give it a tag, or name the fields differently"
            ));
        }
    }
    let error = compiled
        .output_validator()
        .filter(|_| compiled.raw.is_some())?
        .compiled()
        .err()?;
    Some(format!("the output schema does not compile: {error}"))
}

/// Removes repeated instances. Names that collide, exactly or in the form that a reader sees, are
/// problems. A raw tool has its name from elsewhere, so only an equal name is one: declarations
/// tell such names apart.
fn unique(tools: Vec<FunctionTool>, problems: &mut Vec<RegistryError>) -> Vec<FunctionTool> {
    let mut kept: Vec<FunctionTool> = Vec::with_capacity(tools.len());
    let mut names = FxHashMap::<String, usize>::default();
    let mut exact = FxHashMap::<Name, usize>::default();
    for tool in tools {
        let own = (!tool.definition().is_raw()).then(|| normalise_name(tool.name()));
        let same = exact
            .get(&tool.definition().name)
            .or_else(|| names.get(own.as_ref()?));
        let Some(other) = same.and_then(|index| kept.get(*index)) else {
            names.extend(own.map(|name| (name, kept.len())));
            exact.insert(tool.definition().name.clone(), kept.len());
            kept.push(tool);
            continue;
        };
        if other.same(&tool) {
            continue;
        }
        let first = other.name().escape_debug();
        let second = tool.name().escape_debug();
        let message = if other.name() == tool.name() {
            format!("duplicate function name: {second}; rename one, or give a toolset a `prefix`")
        } else {
            format!(
                "function names `{first}` and `{second}` are the same to a provider; rename one"
            )
        };
        problems.push(error_at(message, [other, &tool]));
    }
    kept
}
