//! Declarations of the tools of a context: of its functions, and of the provider tools beside them.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions, DeclaredTools};
use crate::declared_tool::{DeclaredTool, ObjectText, json_array, write_schema};
use crate::projection::{Projection, ProjectionResult, StrictShare, project_all};
use crate::report::{Report, Skipped, ToolReport};
use crate::schema::renames::PropertyRenames;
use crate::schema::restore::NullRules;
use crate::spec::{DeclaredKinds, ProviderSpec, ToolListForm};
use crate::strict::budget::StrictCost;
use crate::structured::{DeclaredAnswer, declare_answer};
use crate::tool_names::DeclaredNames;
use foldhash::HashMap;
use parking_lot::RwLock;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;
use tool_core::json::unless_too_deep;
use tool_core::session::SEARCH_TOOL;
use tool_core::{ProviderTool, ToolContext, ToolDefinition};

/// Declares the tools of a context to a provider.
///
/// The first call for a context makes the declarations; later calls clone them.
///
/// ```
/// use tool_adapters::{Provider, declare};
/// use tool_core::{ToolContext, tool};
///
/// /// Greet a person.
/// #[tool]
/// fn greet(name: &str) -> String {
///     format!("Hello, {name}!")
/// }
///
/// let tools = ToolContext::builder().with(greet).build()?;
/// let declared = declare(Provider::OpenAiChat, &tools);
/// assert!(declared.json().get().starts_with(r#"[{"type":"function","function":{"name":"greet""#));
/// assert!(declared.report().tools[0].changes.is_empty());
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub fn declare(provider: Provider, tools: &ToolContext) -> Declarations {
    declare_with(provider, tools, DeclareOptions::default())
}

/// Declares the tools of a context to a provider, with options.
pub fn declare_with(
    provider: Provider,
    tools: &ToolContext,
    options: DeclareOptions,
) -> Declarations {
    let cache = tools.memo::<DeclarationCache>();
    let is_wanted = |made: &&Declarations| (made.0.provider, made.0.options) == (provider, options);
    let find = |cached: &[Declarations]| cached.iter().find(is_wanted).cloned();
    if let Some(cached) = find(&cache.0.read()) {
        return cached;
    }
    // Made outside the lock. Of two threads that make the same declarations, the first keeps its
    // own.
    let made = declare_tools(
        provider,
        tools.definitions(),
        tools.provider_tools(),
        options,
    );
    let mut cached = cache.0.write();
    find(&cached).unwrap_or_else(|| {
        cached.push(made.clone());
        made
    })
}

/// Declares tools that are not all tools of one context, such as those that a session shows. The
/// result is not cached.
pub fn declare_tools<'a>(
    provider: Provider,
    tools: impl IntoIterator<Item = &'a ToolDefinition>,
    provider_tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> Declarations {
    let definitions = tools.into_iter().cloned().collect();
    RequestTools {
        definitions,
        deferred: 0,
        structured: false,
    }
    .declare(provider, provider_tools, options)
}

/// Declares the tools of a session whose model searches ([`Policy::search_tools`](tool_core::Policy::search_tools)):
/// `tools` are its [`definitions`](tool_core::Session::definitions), `searchable` its
/// [`searchable_definitions`](tool_core::Session::searchable_definitions).
///
/// With [`DeclareOptions::defer`] and a provider that has a search of its own, the searchable tools
/// are deferred, and the provider's search is declared in place of `search_tools`. Otherwise
/// `tools` are declared. The result is not cached.
///
/// ```
/// use tool_adapters::{DeclareOptions, Provider, declare_searchable};
/// use tool_core::session::ToolSearch;
/// use tool_core::{Mode, Policy, Runtime, ToolContext, tool};
///
/// /// Say what you can do.
/// #[tool]
/// fn help() {}
///
/// /// Send a letter.
/// #[tool]
/// fn send_letter() {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolContext::builder().with(help).with(send_letter).build()?;
/// let policy = Policy::text().search_tools(ToolSearch::over_tools(1).always(["help"]));
/// let session = Runtime::builder(tools).policy(policy).build()?.session("s-1", Mode::Text).await?;
///
/// let (tools, searchable) = (session.definitions(), session.searchable_definitions());
/// let options = DeclareOptions { defer: true, ..DeclareOptions::default() };
/// let declared = declare_searchable(Provider::Anthropic, &tools, &searchable, &[], options);
/// let body: serde_json::Value = serde_json::from_str(declared.json().get())?;
/// assert_eq!((&body[0]["name"], &body[0]["defer_loading"]), (&"help".into(), &serde_json::Value::Null));
/// assert_eq!((&body[1]["name"], &body[1]["defer_loading"]), (&"send_letter".into(), &true.into()));
/// assert_eq!(body[2]["name"], "tool_search_tool_bm25");
/// # Ok(())
/// # }
/// ```
pub fn declare_searchable(
    provider: Provider,
    tools: &[ToolDefinition],
    searchable: &[ToolDefinition],
    provider_tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> Declarations {
    RequestTools::new(provider, tools, searchable, options).declare(
        provider,
        provider_tools,
        options,
    )
}

/// The function tools of a request.
pub struct RequestTools {
    definitions: Vec<ToolDefinition>,
    /// The number of deferred tools, which are the last.
    deferred: usize,
    /// True if a typed answer is asked for in the provider's form for structured output, instead of
    /// declaring its tool.
    structured: bool,
}

impl RequestTools {
    /// Creates the tools of a request.
    pub fn new(
        provider: Provider,
        tools: &[ToolDefinition],
        searchable: &[ToolDefinition],
        options: DeclareOptions,
    ) -> Self {
        let defers =
            options.defer && provider.spec().search_tool.is_some() && !searchable.is_empty();
        if !defers {
            return Self {
                definitions: tools.to_vec(),
                deferred: 0,
                structured: false,
            };
        }
        let replaced = searchable
            .iter()
            .map(ToolDefinition::name)
            .chain([SEARCH_TOOL])
            .collect::<HashSet<_>>();
        let shown = tools.iter().filter(|tool| !replaced.contains(tool.name()));
        let definitions = shown.chain(searchable).cloned().collect();
        Self {
            definitions,
            deferred: searchable.len(),
            structured: false,
        }
    }

    /// Asks for a typed answer in the provider's form for structured output, where there is one for
    /// its schema.
    #[must_use]
    pub fn structured(self, structured: bool) -> Self {
        Self { structured, ..self }
    }

    /// Returns true if declarations are of these tools.
    pub fn are_of(&self, declarations: &Declarations) -> bool {
        let declared = &declarations.0;
        declared.deferred == self.deferred
            && declared.structured == self.structured
            && declarations.of_same_tools(&self.definitions)
    }

    /// Declares the tools in the provider's form.
    pub fn declare(
        self,
        provider: Provider,
        provider_tools: &[Arc<dyn ProviderTool>],
        options: DeclareOptions,
    ) -> Declarations {
        let Self {
            definitions,
            deferred,
            structured,
        } = self;
        let spec = provider.spec();
        let first_deferred = definitions.len() - deferred;
        let mut mixed =
            choose_provider_tools(provider, !definitions.is_empty(), provider_tools, options);
        if let Some(search) = spec.search_tool.filter(|_| deferred > 0) {
            mixed.add_search(search);
        }
        let provider_tools_share = StrictShare {
            answered: &mixed.answered,
            cost: mixed.strict_cost(),
        };
        let projections = project_all(spec, &definitions, &provider_tools_share, options.strict);
        let mut answer = None;
        if structured {
            answer = structured_answer(
                spec,
                &definitions,
                &projections,
                &provider_tools_share,
                options,
            );
        }
        if let Some(answer) = &answer {
            mixed.answered.insert(answer.report.tool.clone());
        }
        let declared = definitions.iter().zip(&projections).enumerate();
        let declared = declared.filter(|(_, (definition, projection))| {
            projection.is_ok() && !mixed.answered.contains(definition.name())
        });
        let declared = declared.map(|(index, (definition, _))| (index, definition.name()));
        let mut names = DeclaredNames::new(spec.tool_names, declared, &mixed.names());
        let mut reports = Vec::with_capacity(definitions.len());
        let mut functions = Vec::new();
        let mut renames = HashMap::default();
        for (index, (definition, mut projection)) in definitions.iter().zip(projections).enumerate()
        {
            if let Some(answer) = answer
                .as_mut()
                .filter(|answer| answer.report.tool == definition.name())
            {
                names.insert(index, definition.name(), definition.name().to_owned());
                reports.push(answer.report.clone());
                renames.extend(answer.renames.take().map(|own| (index, own)));
                continue;
            }
            if mixed.answered.contains(definition.name()) {
                names.insert(index, definition.name(), definition.name().to_owned());
                reports.push(ToolReport::new(definition.name(), Some(definition.name())));
                continue;
            }
            let own_renames = projection
                .as_mut()
                .ok()
                .and_then(|projection| projection.renames.take());
            let wire = WireNames {
                tool: names.wire(definition.name()),
                properties: own_renames.as_deref(),
            };
            let deferred = index >= first_deferred;
            let (report, function) =
                declare_one(provider, definition, wire, projection, (options, deferred));
            renames.extend(own_renames.map(|own| (index, own)));
            reports.push(report);
            functions.extend(function);
        }
        mixed.warnings.extend(excess_warning(
            provider,
            functions.len(),
            mixed.chosen.len(),
        ));
        let kinds = DeclaredKinds {
            functions: !functions.is_empty(),
            provider_tools: !mixed.chosen.is_empty(),
            strict: reports
                .iter()
                .any(|report| report.strict && report.declared_as.is_some()),
        };
        let settings = (spec.request_settings)(kinds);
        Declarations(Arc::new(DeclaredTools {
            provider,
            options,
            deferred,
            structured,
            answer,
            // The parts are JSON, so the whole is.
            json: RawValue::from_string(tool_list(spec.tool_list, &functions, &mixed))
                .unwrap_or_default(),
            settings: settings
                .and_then(|settings| settings.as_object().cloned())
                .unwrap_or_default(),
            name_rule: spec.tool_names,
            names,
            renames: (!renames.is_empty()).then(|| Box::new(renames)),
            null_rules: definitions.iter().map(|_| NullRules::default()).collect(),
            definitions,
            report: Report {
                provider,
                tools: reports,
                skipped: mixed.skipped,
                warnings: mixed.warnings,
            },
        }))
    }
}

/// Returns the typed answer of a request in the provider's form for structured output.
fn structured_answer(
    spec: &ProviderSpec,
    definitions: &[ToolDefinition],
    projections: &[ProjectionResult],
    provider_tools: &StrictShare<'_>,
    options: DeclareOptions,
) -> Option<DeclaredAnswer> {
    let definition = definitions
        .iter()
        .find(|definition| definition.takes_answer())?;
    let mut cost = provider_tools.cost;
    for (tool, projection) in definitions.iter().zip(projections) {
        let is_declared = !tool.takes_answer() && !provider_tools.answered.contains(tool.name());
        if let Ok(projection) = projection
            && options.strict
            && projection.not_strict.is_none()
            && is_declared
        {
            cost = cost.plus(StrictCost::of(&projection.schema));
        }
    }
    declare_answer(spec, definition, cost, |schema, renames| {
        write_schema(definition, schema, renames)
    })
}

/// The names of a tool and of its properties at the provider.
#[derive(Clone, Copy)]
struct WireNames<'a> {
    tool: Option<&'a str>,
    properties: Option<&'a PropertyRenames>,
}

/// Returns the report on a tool, and its declaration unless the provider refuses it.
fn declare_one(
    provider: Provider,
    definition: &ToolDefinition,
    wire: WireNames<'_>,
    projection: ProjectionResult,
    (options, deferred): (DeclareOptions, bool),
) -> (ToolReport, Option<String>) {
    let report = ToolReport::new(definition.name(), wire.tool);
    let Projection {
        schema,
        changes,
        not_strict,
        ..
    } = match projection {
        Ok(projection) => projection,
        Err(refusal) => {
            return (
                ToolReport {
                    refused: Some(refusal),
                    ..report
                },
                None,
            );
        }
    };
    let strict = options.strict && not_strict.is_none();
    let declaration = wire.tool.map(|name| {
        let schema = write_schema(definition, &schema, wire.properties);
        (provider.spec().declaration)(&DeclaredTool {
            definition,
            name,
            schema: &schema,
            strict,
            deferred,
        })
    });
    let tokens = declaration
        .as_ref()
        .map_or(0, |declaration| declaration.chars().count().div_ceil(4));
    (
        ToolReport {
            strict,
            not_strict,
            changes,
            tokens,
            ..report
        },
        declaration,
    )
}

/// Returns a warning about more tools than the provider accepts in a request.
fn excess_warning(provider: Provider, functions: usize, others: usize) -> Option<String> {
    let spec = provider.spec();
    let max = spec.max_tools?;
    // Gemini counts functions only.
    let count = match spec.tool_list {
        ToolListForm::Flat => functions + others,
        ToolListForm::Grouped | ToolListForm::Merged => functions,
    };
    (count > max).then(|| {
        format!("{count} tools are declared, but {provider} accepts at most {max}: declare fewer in one request")
    })
}

/// Writes the value of a request's `tools`.
fn tool_list(form: ToolListForm, functions: &[String], mixed: &MixedTools) -> String {
    let group = ObjectText::new().raw("functionDeclarations", &json_array(functions));
    let group = (!functions.is_empty()).then_some(group);
    let configs = mixed.configs().map(Value::to_string);
    match form {
        ToolListForm::Flat => {
            json_array(&functions.iter().cloned().chain(configs).collect::<Vec<_>>())
        }
        ToolListForm::Grouped => json_array(
            &group
                .map(ObjectText::finish)
                .into_iter()
                .chain(configs)
                .collect::<Vec<_>>(),
        ),
        ToolListForm::Merged if group.is_none() && mixed.chosen.is_empty() => "[]".to_owned(),
        ToolListForm::Merged => {
            let members = mixed.configs().filter_map(Value::as_object).flatten();
            let object = members.fold(
                group.unwrap_or_else(ObjectText::new),
                |object, (name, value)| object.with(name, value.clone()),
            );
            json_array(&[object.finish()])
        }
    }
}

/// The declarations of a context, of which there are few.
#[derive(Default)]
struct DeclarationCache(RwLock<Vec<Declarations>>);

/// The provider tools of a request.
#[derive(Default)]
struct MixedTools {
    /// The configurations to declare, with the ids of the tools.
    chosen: Vec<(String, Value)>,
    /// The names of their calls that function tools answer.
    answered: HashSet<String>,
    skipped: Vec<Skipped>,
    warnings: Vec<String>,
}

/// Chooses among the provider tools of a request. `has_functions` is true if the request has
/// function tools.
fn choose_provider_tools(
    provider: Provider,
    has_functions: bool,
    tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> MixedTools {
    let form = provider.spec().tool_list;
    let mut mixed = MixedTools::default();
    let only_functions = has_functions && options.only_single_type && form != ToolListForm::Flat;
    for tool in tools {
        if only_functions {
            mixed.skip(
                tool.id(),
                "`only_single_type` is set, and the request has function tools",
            );
            continue;
        }
        match tool.config(&provider.id()).map(unless_too_deep) {
            Some(Some(config)) => {
                mixed.chosen.push((tool.id().to_owned(), config));
                mixed
                    .answered
                    .extend(tool.answered_here().into_iter().map(str::to_owned));
            }
            Some(None) => mixed.skip(tool.id(), "its configuration nests deeper than 128"),
            None => mixed.skip(tool.id(), &format!("it is not a tool of {provider}")),
        }
    }
    match form {
        ToolListForm::Grouped if has_functions && !options.model_mixes => mixed.skip_all(provider),
        ToolListForm::Merged => mixed.skip_conflicting(),
        _ => {}
    }
    mixed
}

impl MixedTools {
    fn skip(&mut self, id: &str, reason: &str) {
        self.skipped.push(Skipped {
            id: id.to_owned(),
            reason: reason.to_owned(),
        });
    }

    fn configs(&self) -> impl Iterator<Item = &Value> {
        self.chosen.iter().map(|(_, config)| config)
    }

    /// Returns the share of the strict tools in what a request may have.
    fn strict_cost(&self) -> StrictCost {
        let mut cost = StrictCost::default();
        for config in self.configs() {
            let tool = config.get("toolSpec").unwrap_or(config);
            if tool["strict"] == true {
                let schema = tool.pointer("/inputSchema/json");
                let schema = schema.or(tool.get("input_schema"));
                cost = cost.plus(StrictCost::of(schema.unwrap_or(&Value::Null)));
            }
        }
        cost
    }

    /// Adds the provider's search over deferred tools, unless the host has done so.
    fn add_search(&mut self, search: &str) {
        // The text is a constant of the provider's folder.
        let Ok(search) = serde_json::from_str::<Value>(search) else {
            return;
        };
        if self
            .configs()
            .all(|config| config.get("type") != search.get("type"))
        {
            self.chosen.push(("tool_search".to_owned(), search));
        }
    }

    /// Returns the names of the tools' calls, which no other function tool may have.
    fn names(&self) -> HashSet<String> {
        let name = |config: &Value| {
            config
                .get("name")
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let nested = |config: &Value| {
            ["function", "custom"]
                .iter()
                .find_map(|kind| name(config.get(*kind)?))
        };
        let names = self
            .configs()
            .filter_map(|config| name(config).or_else(|| nested(config)));
        names.chain(self.answered.iter().cloned()).collect()
    }

    /// Leaves out all tools, for a model that may refuse them beside function tools.
    fn skip_all(&mut self, provider: Provider) {
        let chosen = std::mem::take(&mut self.chosen);
        self.answered.clear();
        if chosen.is_empty() {
            return;
        }
        let ids = chosen
            .iter()
            .map(|(id, _)| format!("`{}`", id.escape_debug()))
            .collect::<Vec<_>>()
            .join(", ");
        self.warnings.push(format!(
            "most models of {provider} do not accept function tools and provider tools in one request, so {ids} \
             {are} left out; set `model_mixes` for a model that accepts both",
            are = if chosen.len() == 1 { "is" } else { "are" },
        ));
        for (id, _) in chosen {
            self.skip(&id, "the model does not accept it beside function tools");
        }
    }

    /// Leaves out tools that cannot be members of one object with those before them.
    fn skip_conflicting(&mut self) {
        let mut taken = HashSet::from(["functionDeclarations".to_owned()]);
        for (id, config) in std::mem::take(&mut self.chosen) {
            let members = config
                .as_object()
                .map(|config| config.keys().cloned().collect::<Vec<_>>());
            match members {
                Some(members) if members.iter().all(|member| !taken.contains(member)) => {
                    taken.extend(members);
                    self.chosen.push((id, config));
                }
                Some(_) => self.skip(&id, "another tool of its kind is declared"),
                None => self.skip(&id, "its configuration is not an object"),
            }
        }
    }
}
