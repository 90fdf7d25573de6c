//! The lint: findings on a context's tools, such as refused, weakened and renamed ones, and their
//! cost in tokens.
//!
//! In a test of your tools:
//!
//! ```
//! use tool_adapters::{Provider, lint, lint_for};
//! use tool_core::{ToolContext, tool};
//!
//! /// Add two numbers.
//! ///
//! /// # Parameters
//! /// - `a`: The one
//! /// - `b`: The other
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! let tools = ToolContext::builder().with(add).build()?;
//! let lint = lint(&tools);
//! assert!(lint.refuses_nothing(), "{lint}");
//!
//! // For the providers that you use:
//! let lint = lint_for(&tools, &[Provider::Anthropic, Provider::OpenAiChat], Default::default());
//! assert!(lint.tokens(Provider::Anthropic) < Some(100), "{lint}");
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```

use crate::Provider;
use crate::declarations::DeclareOptions;
use crate::declare::declare_with;
use crate::report::{Change, ChangeKind, NotStrict, Report, ToolReport};
use crate::schema::document::is_annotation;
use crate::schema::words::says_nothing_of_names;
use crate::tool_names::NameRule;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use tool_core::{ToolContext, ToolDefinition};

/// The findings, and the costs of the declarations. Displays a line for each finding and then for
/// each provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LintReport {
    /// The findings, errors first, then by tool. Those of several providers are joined.
    pub findings: Vec<Finding>,
    /// The costs by provider.
    pub costs: Vec<DeclarationCost>,
}

/// A finding on a tool or on all tools together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The function tool, or the id of the provider tool; `None` for a finding on all tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The providers with this finding. Empty if it does not depend on one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<Provider>,
    /// The finding, and the fix if it is not obvious.
    pub message: String,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The declaration differs, with the same meaning.
    Note,
    /// A constraint is lost or not enforced, or the tool is harder to use.
    Warning,
    /// The tool is not declared.
    Error,
}

/// The estimated tokens of the declarations for one provider: a quarter of their characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeclarationCost {
    /// The provider.
    pub provider: Provider,
    /// The tokens of all declarations, provider tools included.
    pub tokens: usize,
    /// The declared function tools.
    pub tools: Vec<ToolCost>,
}

/// The estimated tokens of one declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCost {
    /// The tool's name.
    pub tool: String,
    /// The tokens.
    pub tokens: usize,
}

/// Checks the tools of a context for all providers.
pub fn lint(tools: &ToolContext) -> LintReport {
    lint_for(tools, &Provider::ALL, DeclareOptions::default())
}

/// Checks the tools of a context for some providers, declared with these options.
pub fn lint_for(
    tools: &ToolContext,
    providers: &[Provider],
    options: DeclareOptions,
) -> LintReport {
    let mut found = FindingCollector::default();
    check_tools(tools, &mut found);
    check_provider_tools(tools, providers, &mut found);
    let costs = providers.iter().map(|provider| {
        let declared = declare_with(*provider, tools, options);
        found.report(declared.report(), tools);
        DeclarationCost {
            provider: *provider,
            tokens: declared.json().get().chars().count().div_ceil(4),
            tools: costs(declared.report()),
        }
    });
    let costs = costs.collect();
    LintReport {
        findings: found.findings(),
        costs,
    }
}

fn costs(report: &Report) -> Vec<ToolCost> {
    let declared = report
        .tools
        .iter()
        .filter(|tool| tool.declared_as.is_some());
    declared
        .map(|tool| ToolCost {
            tool: tool.tool.clone(),
            tokens: tool.tokens,
        })
        .collect()
}

impl LintReport {
    /// Returns true if every tool is declared to every provider.
    pub fn refuses_nothing(&self) -> bool {
        self.errors().is_empty()
    }

    /// Returns the findings on tools that are not declared.
    pub fn errors(&self) -> Vec<&Finding> {
        self.of(Severity::Error)
    }

    /// Returns the findings on lost or weakened constraints and on tools that are hard to use.
    pub fn warnings(&self) -> Vec<&Finding> {
        self.of(Severity::Warning)
    }

    /// Returns the findings of one severity.
    pub fn of(&self, severity: Severity) -> Vec<&Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .collect()
    }

    /// Keeps the findings that satisfy a condition, such as
    /// `|finding| finding.severity >= Severity::Warning`.
    #[must_use]
    pub fn keep(mut self, condition: impl FnMut(&Finding) -> bool) -> Self {
        self.findings.retain(condition);
        self
    }

    /// Returns the tokens of all declarations for a provider; `None` for a provider that was not
    /// checked.
    pub fn tokens(&self, provider: Provider) -> Option<usize> {
        self.costs
            .iter()
            .find(|cost| cost.provider == provider)
            .map(|cost| cost.tokens)
    }
}

/// The severity, the tool's position in the context and the message.
type FindingKey = (Severity, usize, String);

/// Collects findings, and joins those that several providers have.
#[derive(Default)]
pub(crate) struct FindingCollector {
    findings: IndexMap<FindingKey, (Option<String>, Vec<Provider>)>,
}

/// The position of findings on all tools, which is the last.
const ALL_TOOLS: usize = usize::MAX;

impl FindingCollector {
    /// Adds a finding. `at` is the tool's position in the context and its name.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        at: Option<(usize, &str)>,
        provider: Option<Provider>,
        message: String,
    ) {
        let key = (severity, at.map_or(ALL_TOOLS, |(at, _)| at), message);
        let new = || (at.map(|(_, tool)| tool.to_owned()), Vec::new());
        let (_, providers) = self.findings.entry(key).or_insert_with(new);
        let known = |provider: &Provider| providers.last() == Some(provider);
        providers.extend(provider.filter(|provider| !known(provider)));
    }

    /// Adds the findings of a report.
    pub(crate) fn report(&mut self, report: &Report, tools: &ToolContext) {
        let provider = Some(report.provider);
        for (at, (tool, definition)) in report.tools.iter().zip(tools.definitions()).enumerate() {
            self.tool(report.provider, (at, definition), tool);
        }
        for skipped in &report.skipped {
            // A tool of another provider is not a finding.
            let own = tools.provider_tools().iter().any(|tool| {
                tool.id() == skipped.id && tool.config(&report.provider.id()).is_some()
            });
            if own {
                let message = format!("this provider tool is left out: {}", skipped.reason);
                self.add(
                    Severity::Warning,
                    Some((ALL_TOOLS - 1, &skipped.id)),
                    provider,
                    message,
                );
            }
        }
        for warning in &report.warnings {
            self.add(Severity::Warning, None, provider, warning.clone());
        }
    }

    fn tool(
        &mut self,
        provider: Provider,
        (at, definition): (usize, &ToolDefinition),
        tool: &ToolReport,
    ) {
        let mut add = |severity, message| {
            self.add(
                severity,
                Some((at, definition.name())),
                Some(provider),
                message,
            );
        };
        if let Some(refusal) = &tool.refused {
            add(Severity::Error, format!("it is not declared: {refusal}"));
            return;
        }
        match &tool.declared_as {
            Some(name) if *name != tool.tool => {
                add(Severity::Note, format!("it is declared as `{name}`"));
            }
            _ => {}
        }
        match &tool.not_strict {
            Some(reason @ NotStrict::Unsupported) => {
                add(Severity::Note, format!("it is not strict: {reason}"));
            }
            Some(reason) => add(Severity::Warning, format!("it is not strict: {reason}")),
            None => {}
        }
        for change in &tool.changes {
            add(
                severity_of(change, definition.parameters()),
                describe_change(change),
            );
        }
    }

    /// Returns the findings, errors first, then by tool.
    pub(crate) fn findings(mut self) -> Vec<Finding> {
        self.findings
            .sort_by_key(|(severity, at, _), _| (std::cmp::Reverse(*severity), *at));
        let finding = |((severity, _, message), (tool, providers))| Finding {
            severity,
            tool,
            providers,
            message,
        };
        self.findings.into_iter().map(finding).collect()
    }
}

fn severity_of(change: &Change, parameters: &Value) -> Severity {
    // Calls are validated against the closed object, and a default is filled in, whatever the
    // provider enforces. The author need not change anything.
    let value = || {
        parameters
            .pointer(&change.pointer)
            .and_then(|schema| schema.get(&change.keyword))
    };
    let ours = match change.keyword.as_str() {
        "default" => true,
        "additionalProperties" => value() == Some(&Value::Bool(false)),
        "propertyNames" => value().is_some_and(says_nothing_of_names),
        _ => false,
    };
    // Nothing is lost of a keyword that constrains nothing.
    let says_nothing = is_annotation(&change.keyword);
    match change.kind {
        ChangeKind::Rewritten | ChangeKind::Closed => Severity::Note,
        ChangeKind::Described | ChangeKind::Dropped if ours || says_nothing => Severity::Note,
        ChangeKind::Described | ChangeKind::Weakened | ChangeKind::Dropped => Severity::Warning,
    }
}

fn describe_change(change: &Change) -> String {
    let Change {
        pointer,
        keyword,
        kind,
        detail,
    } = change;
    let became = match kind {
        ChangeKind::Rewritten => "is rewritten",
        ChangeKind::Described => "is not enforced",
        ChangeKind::Weakened => "is weakened",
        ChangeKind::Dropped => "is dropped",
        ChangeKind::Closed => "is closed",
    };
    let place = if pointer.is_empty() {
        "the root"
    } else {
        &format!("`{pointer}`")
    };
    let detail = if detail.is_empty() {
        ""
    } else {
        &format!(": {detail}")
    };
    format!("`{keyword}` at {place} {became}{detail}")
}

/// Returns the number of tools that every provider accepts in a request.
fn portable_count() -> usize {
    let limits = Provider::ALL.into_iter();
    limits
        .filter_map(|provider| provider.spec().max_tools)
        .min()
        .unwrap_or(usize::MAX)
}

/// The names of tools that every provider accepts.
struct PortableNames {
    rules: [NameRule; Provider::ALL.len()],
}

impl PortableNames {
    fn new() -> Self {
        Self {
            rules: Provider::ALL.map(|provider| provider.spec().tool_names),
        }
    }

    fn accepts(&self, name: &str) -> bool {
        self.rules.iter().all(|rule| rule.accepts(name))
    }

    fn max_length(&self) -> usize {
        let lengths = self.rules.iter().map(|rule| rule.max_length);
        lengths.min().unwrap_or_default()
    }

    /// Returns the characters that every provider accepts in a name.
    fn characters(&self) -> String {
        let mut characters = "A-Z a-z 0-9 _".to_owned();
        let punctuation = self.rules.first().map_or("", |rule| rule.punctuation);
        for letter in punctuation.chars() {
            let takes = |rule: &NameRule| rule.punctuation.contains(letter);
            if self.rules.iter().all(takes) {
                characters.push(' ');
                characters.push(letter);
            }
        }
        characters
    }
}

/// The length in characters from which a description is long. A model reads it with every request.
const LONG_DESCRIPTION: usize = 2000;
/// The number of names in one finding.
const MAX_NAMES: usize = 8;

pub(crate) fn check_tools(tools: &ToolContext, found: &mut FindingCollector) {
    let portable = PortableNames::new();
    for (at, tool) in tools.definitions().enumerate() {
        for (severity, message) in problems(tool, &portable) {
            found.add(severity, Some((at, tool.name())), None, message);
        }
    }
    let count = tools.function_tools().len();
    let most = portable_count();
    if count > most {
        let message = format!(
            "{count} tools: some providers accept at most {most} in a request, and models choose worse among many; \
             show a session the tools that it needs"
        );
        found.add(Severity::Warning, None, None, message);
    }
}

fn problems(tool: &ToolDefinition, portable: &PortableNames) -> Vec<(Severity, String)> {
    let mut problems = Vec::new();
    let length = tool.description().chars().count();
    if tool.description().trim().is_empty() {
        problems.push((
            Severity::Warning,
            "it has no description; the model chooses a tool by it".to_owned(),
        ));
    } else if length > LONG_DESCRIPTION {
        let message = format!(
            "its description has {length} characters, which a model reads each time; the details may go into its guide"
        );
        problems.push((Severity::Warning, message));
    }
    if !portable.accepts(tool.name()) {
        let longest = portable.max_length();
        let characters = portable.characters();
        let message = format!(
            "some providers do not accept its name and rename it; every provider accepts 1-{longest} of `{characters}`, beginning with a letter or `_`"
        );
        problems.push((Severity::Note, message));
    }
    let silent = undescribed(tool.parameters());
    if !silent.is_empty() {
        let more = silent.len().saturating_sub(MAX_NAMES);
        let names = silent
            .iter()
            .take(MAX_NAMES)
            .map(|name| format!("`{}`", name.escape_debug()))
            .collect::<Vec<_>>();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        problems.push((
            Severity::Note,
            format!(
                "parameters without a description: {}{more}",
                names.join(", ")
            ),
        ));
    }
    problems
}

/// Returns the parameters without a description. The type that a parameter refers to may have one.
fn undescribed(schema: &Value) -> Vec<&str> {
    let parameters = schema.get("properties").and_then(Value::as_object);
    let silent = |parameter: &Value| {
        let says = |keyword| parameter.get(keyword).is_some();
        parameter.is_object()
            && !["description", "$ref", "const", "enum"]
                .into_iter()
                .any(says)
    };
    let silent = parameters
        .into_iter()
        .flatten()
        .filter(|(_, parameter)| silent(parameter));
    silent.map(|(name, _)| name.as_str()).collect()
}

/// Finds provider tools that no provider accepts, and those whose calls no function tool answers.
pub(crate) fn check_provider_tools(
    tools: &ToolContext,
    providers: &[Provider],
    found: &mut FindingCollector,
) {
    let first = tools.function_tools().len();
    for (at, tool) in tools.provider_tools().iter().enumerate() {
        let at = Some((first + at, tool.id()));
        let takers = providers
            .iter()
            .filter(|provider| tool.config(&provider.id()).is_some())
            .collect::<Vec<_>>();
        if takers.is_empty() {
            found.add(
                Severity::Warning,
                at,
                None,
                "none of these providers accepts this provider tool".to_owned(),
            );
            continue;
        }
        let names = tool.answered_here();
        if !names.is_empty() && !names.iter().any(|name| tools.function_tool(name).is_some()) {
            let name = names.first().copied().unwrap_or_default();
            let message = format!(
                "the provider declares this tool and does not run it: calls come as `{name}`{}, and no function tool answers them",
                if names.len() > 1 { " and others" } else { "" }
            );
            for taker in takers {
                found.add(Severity::Warning, at, Some(*taker), message.clone());
            }
        }
    }
}

/// The number of equal findings from which they are one line.
const FOLDED: usize = 3;

impl LintReport {
    /// Returns the report as text, in which equal findings on several places or tools are one line.
    pub fn folded(&self) -> String {
        let mut groups = IndexMap::<(Severity, String, String), Vec<&Finding>>::new();
        for finding in &self.findings {
            let (message, _) = finding.without_place();
            groups
                .entry((finding.severity, message, finding.provider_names()))
                .or_default()
                .push(finding);
        }
        let lines = groups.iter().flat_map(|((severity, message, providers), same)| {
            let tools = same.iter().filter_map(|finding| finding.tool.as_deref()).collect::<HashSet<_>>().len();
            match same.as_slice() {
                [first, ..] if same.len() >= FOLDED => {
                    let tool = first.tool.as_deref().unwrap_or_default().escape_debug();
                    let place = Some(first.without_place().1).filter(|place| !place.is_empty());
                    let place = place.map_or_else(String::new, |place| format!(" at `{place}`"));
                    let tools = if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
                    let count = same.len();
                    vec![format!("{severity}: {message}: {count} times in {tools}, first {tool}{place}{providers}\n")]
                }
                few => few.iter().map(|finding| format!("{finding}\n")).collect(),
            }
        });
        let mut text = lines.collect::<String>();
        let costs = Self {
            findings: Vec::new(),
            costs: self.costs.clone(),
        }
        .to_string();
        if !text.is_empty() && !costs.is_empty() {
            text.push('\n');
        }
        text + &costs
    }
}

impl fmt::Display for LintReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        if !self.findings.is_empty() && !self.costs.is_empty() {
            writeln!(f)?;
        }
        let width = self
            .costs
            .iter()
            .map(|cost| cost.provider.name().len())
            .max()
            .unwrap_or_default();
        for cost in &self.costs {
            writeln!(f, "{:width$}  {cost}", cost.provider.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity)?;
        if let Some(tool) = &self.tool {
            write!(f, "{}: ", tool.escape_debug())?;
        }
        write!(f, "{}{}", self.message, self.provider_names())
    }
}

impl Finding {
    /// Returns the providers in parentheses, or nothing.
    fn provider_names(&self) -> String {
        match &*self.providers {
            [] => String::new(),
            all if all.len() == Provider::ALL.len() => " (all providers)".to_owned(),
            some => format!(
                " ({})",
                some.iter()
                    .map(|provider| provider.name())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }
    }

    /// Returns the message without the place that it is about, and the place.
    fn without_place(&self) -> (String, &str) {
        let place = self.message.split_once(" at ").and_then(|(before, rest)| {
            let (place, after) = match rest.strip_prefix("the root") {
                Some(after) => ("", after),
                None => rest.strip_prefix('`')?.split_once('`')?,
            };
            Some((format!("{before}{after}"), place))
        });
        place.unwrap_or_else(|| (self.message.clone(), ""))
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

impl fmt::Display for DeclarationCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.tools.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        write!(f, "{count:5} {tools:5} {:8} tokens", self.tokens)?;
        match self.tools.iter().max_by_key(|tool| tool.tokens) {
            Some(dearest) if count > 1 => {
                write!(
                    f,
                    ", the most for {} ({})",
                    dearest.tool.escape_debug(),
                    dearest.tokens
                )
            }
            _ => Ok(()),
        }
    }
}
