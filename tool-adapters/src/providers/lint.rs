//! The lint: what providers will refuse, lose and rename of a context's tools, and what the tools cost in tokens.
//!
//! In a test of your own:
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
//! // Only what matters to whom it is declared:
//! let lint = lint_for(&tools, &[Provider::Anthropic, Provider::OpenAiChat], Default::default());
//! assert!(lint.tokens(Provider::Anthropic) < Some(100), "{lint}");
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```

use crate::providers::declarations::DeclareOptions;
use crate::providers::declare::declare_with;
use crate::providers::lint::Severity::{Note, Warning};
use crate::providers::provider::Provider;
use crate::providers::report;
use crate::providers::report::{Change, ChangeKind, NotStrict, Report, ToolReport};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use tool_core::{ToolContext, ToolDefinition};

/// What was found, and what the declarations cost. Displays a finding a line, then a line for each provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LintReport {
    /// What was found: errors first, then by tool. What is the same for several providers is told once.
    pub findings: Vec<Finding>,
    /// What the declarations cost, by provider.
    pub costs: Vec<Cost>,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The function tool, or the id of the provider tool; `None` where it is a matter of the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The providers for which it holds; empty where it has nothing to do with one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<Provider>,
    /// What was found, and what to do where that is not plain.
    pub message: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It reads otherwise and says the same.
    Note,
    /// Something is lost or not enforced, or makes the tool harder to use.
    Warning,
    /// The tool is not declared.
    Error,
}

/// What the declarations for one provider cost a model to read, in tokens: a quarter of their characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Cost {
    /// The provider.
    pub provider: Provider,
    /// All of them together, provider tools too.
    pub tokens: usize,
    /// Each function tool that is declared.
    pub tools: Vec<ToolCost>,
}

/// What one declaration costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCost {
    /// The tool's name.
    pub tool: String,
    /// In tokens.
    pub tokens: usize,
}

/// Looks at the tools of a context for all providers.
pub fn lint(tools: &ToolContext) -> LintReport {
    lint_for(tools, &Provider::ALL, DeclareOptions::default())
}

/// Looks at the tools of a context for some providers, and as they are declared with these options.
pub fn lint_for(tools: &ToolContext, providers: &[Provider], options: DeclareOptions) -> LintReport {
    let mut found = Gathered::default();
    look_at(tools, &mut found);
    provider_tools(tools, providers, &mut found);
    let costs = providers.iter().map(|provider| {
        let declared = declare_with(*provider, tools, options);
        found.report(declared.report(), tools);
        Cost {
            provider: *provider,
            tokens: declared.json().get().chars().count().div_ceil(4),
            tools: costs(declared.report()),
        }
    });
    let costs = costs.collect();
    LintReport { findings: found.findings(), costs }
}

fn costs(report: &report::Report) -> Vec<ToolCost> {
    let declared = report.tools.iter().filter(|tool| tool.declared_as.is_some());
    declared.map(|tool| ToolCost { tool: tool.tool.clone(), tokens: tool.tokens }).collect()
}

impl LintReport {
    /// Whether every tool is declared to every provider that was asked for.
    pub fn refuses_nothing(&self) -> bool {
        self.errors().is_empty()
    }

    /// The tools that are not declared.
    pub fn errors(&self) -> Vec<&Finding> {
        self.of(Severity::Error)
    }

    /// What is lost, not enforced or hard to use.
    pub fn warnings(&self) -> Vec<&Finding> {
        self.of(Severity::Warning)
    }

    /// The findings of one severity.
    pub fn of(&self, severity: Severity) -> Vec<&Finding> {
        self.findings.iter().filter(|finding| finding.severity == severity).collect()
    }

    /// Only the findings that satisfy a condition, such as `|finding| finding.severity >= Severity::Warning`.
    #[must_use]
    pub fn keep(mut self, condition: impl FnMut(&Finding) -> bool) -> Self {
        self.findings.retain(condition);
        self
    }

    /// What all declarations for a provider cost, in tokens; `None` where it was not asked for.
    pub fn tokens(&self, provider: Provider) -> Option<usize> {
        self.costs.iter().find(|cost| cost.provider == provider).map(|cost| cost.tokens)
    }
}

// ---- From reports to findings: what several providers have in common is told once.

/// A tool (by its place, so that the order is that of the context), how bad it is, and what.
type Key = (Severity, usize, String);

/// Findings as they come.
#[derive(Default)]
pub(crate) struct Gathered {
    order: Vec<(Key, Option<String>)>,
    providers: HashMap<Key, Vec<Provider>>,
}

/// The place of what is no single tool's matter: after all tools.
const WHOLE: usize = usize::MAX;

impl Gathered {
    /// Notes something; `at` is the tool's place in the context.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        at: Option<(usize, &str)>,
        provider: Option<Provider>,
        message: String,
    ) {
        let key = (severity, at.map_or(WHOLE, |(at, _)| at), message);
        let providers = self.providers.entry(key.clone()).or_insert_with(|| {
            self.order.push((key, at.map(|(_, tool)| tool.to_owned())));
            Vec::new()
        });
        let known = |provider: &Provider| providers.last() == Some(provider);
        providers.extend(provider.filter(|provider| !known(provider)));
    }

    /// Notes what a report tells.
    pub(crate) fn report(&mut self, report: &Report, tools: &ToolContext) {
        let provider = Some(report.provider);
        for (at, (tool, definition)) in report.tools.iter().zip(tools.definitions()).enumerate() {
            self.tool(report.provider, (at, definition), tool);
        }
        for skipped in &report.skipped {
            // That it is another's tool is no news.
            let own = tools
                .provider_tools()
                .iter()
                .any(|tool| tool.id() == skipped.id && tool.config(&report.provider.id()).is_some());
            if own {
                let message = format!("this provider tool is left out: {}", skipped.reason);
                self.add(Severity::Warning, Some((WHOLE - 1, &skipped.id)), provider, message);
            }
        }
        for warning in &report.warnings {
            self.add(Severity::Warning, None, provider, warning.clone());
        }
    }

    fn tool(&mut self, provider: Provider, (at, definition): (usize, &ToolDefinition), tool: &ToolReport) {
        let mut add = |severity, message| self.add(severity, Some((at, definition.name())), Some(provider), message);
        if let Some(refusal) = &tool.refused {
            add(Severity::Error, format!("it is not declared: {refusal}"));
            return;
        }
        match &tool.declared_as {
            Some(name) if *name != tool.tool => add(Severity::Note, format!("it is declared as `{name}`")),
            _ => {}
        }
        match &tool.not_strict {
            Some(reason @ NotStrict::Unsupported) => add(Severity::Note, format!("it is not strict: {reason}")),
            Some(reason) => add(Severity::Warning, format!("it is not strict: {reason}")),
            None => {}
        }
        for change in &tool.changes {
            add(severity(change, definition.parameters()), told(change));
        }
    }

    /// Errors first, then by tool; otherwise as they came.
    pub(crate) fn findings(mut self) -> Vec<Finding> {
        self.order.sort_by_key(|((severity, at, _), _)| (std::cmp::Reverse(*severity), *at));
        let mut findings = Vec::with_capacity(self.order.len());
        for (key, tool) in self.order {
            let providers = self.providers.remove(&key).unwrap_or_default();
            let (severity, _, message) = key;
            findings.push(Finding { severity, tool, providers, message });
        }
        findings
    }
}

fn severity(change: &Change, parameters: &Value) -> Severity {
    // What is closed stays so here, whether or not the model is told, and a default is filled in here: nothing that
    // the author could put right.
    let closed =
        || parameters.pointer(&change.pointer).and_then(|schema| schema.get("additionalProperties")?.as_bool());
    let ours = match change.keyword.as_str() {
        "default" => true,
        "additionalProperties" => closed() == Some(false),
        _ => false,
    };
    match change.kind {
        ChangeKind::Rewritten | ChangeKind::Closed => Severity::Note,
        ChangeKind::Described | ChangeKind::Dropped if ours => Severity::Note,
        ChangeKind::Described | ChangeKind::Weakened | ChangeKind::Dropped => Severity::Warning,
    }
}

fn told(change: &Change) -> String {
    let Change { pointer, keyword, kind, detail } = change;
    let became = match kind {
        ChangeKind::Rewritten => "is rewritten",
        ChangeKind::Described => "is not enforced",
        ChangeKind::Weakened => "is weakened",
        ChangeKind::Dropped => "is dropped",
        ChangeKind::Closed => "is closed",
    };
    let place = if pointer.is_empty() { "the root" } else { &format!("`{pointer}`") };
    let detail = if detail.is_empty() { "" } else { &format!(": {detail}") };
    format!("`{keyword}` at {place} {became}{detail}")
}

// ---- What is amiss with tools whatever the provider.

/// What every provider takes.
const MOST_TOOLS: usize = 128;
const LONGEST_NAME: usize = 64;
/// In characters. A model reads it with every request, and attends less to each sentence the more there are.
const LONG_DESCRIPTION: usize = 2000;
/// The names that one finding tells.
const SHOWN: usize = 8;

pub(crate) fn look_at(tools: &ToolContext, found: &mut Gathered) {
    for (at, tool) in tools.definitions().enumerate() {
        for (severity, message) in problems(tool) {
            found.add(severity, Some((at, tool.name())), None, message);
        }
    }
    let count = tools.function_tools().len();
    if count > MOST_TOOLS {
        let message = format!(
            "{count} tools: several providers take {MOST_TOOLS} in a request, and a model chooses worse among many; \
             show a session those that it needs"
        );
        found.add(Warning, None, None, message);
    }
}

fn problems(tool: &ToolDefinition) -> Vec<(Severity, String)> {
    let mut problems = Vec::new();
    let length = tool.description().chars().count();
    if tool.description().trim().is_empty() {
        problems.push((Warning, "it has no description; the model chooses a tool by it".to_owned()));
    } else if length > LONG_DESCRIPTION {
        let message = format!(
            "its description has {length} characters, which a model reads each time; the details may go into its guide"
        );
        problems.push((Warning, message));
    }
    if !portable(tool.name()) {
        let message = format!(
            "its name is not one that every provider takes: 1-{LONGEST_NAME} of `A-Z a-z 0-9 _ -`, beginning with a letter or `_`"
        );
        problems.push((Note, message));
    }
    let silent = undescribed(tool.parameters());
    if !silent.is_empty() {
        let more = silent.len().saturating_sub(SHOWN);
        let names = silent.iter().take(SHOWN).map(|name| format!("`{}`", name.escape_debug())).collect::<Vec<_>>();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        problems.push((Note, format!("parameters without a description: {}{more}", names.join(", "))));
    }
    problems
}

/// Whether every provider takes the name as it is.
fn portable(name: &str) -> bool {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    begins && name.len() <= LONGEST_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The parameters that say nothing about themselves. One that refers to a type is told of there.
fn undescribed(schema: &Value) -> Vec<&str> {
    let parameters = schema.get("properties").and_then(Value::as_object);
    let silent = |parameter: &Value| {
        let says = |keyword| parameter.get(keyword).is_some();
        parameter.is_object() && !["description", "$ref", "const", "enum"].into_iter().any(says)
    };
    let silent = parameters.into_iter().flatten().filter(|(_, parameter)| silent(parameter));
    silent.map(|(name, _)| name.as_str()).collect()
}

/// Provider tools that nobody takes, and such as are called here with nobody to answer.
pub(crate) fn provider_tools(tools: &ToolContext, providers: &[Provider], found: &mut Gathered) {
    let first = tools.function_tools().len();
    for (at, tool) in tools.provider_tools().iter().enumerate() {
        let at = Some((first + at, tool.id()));
        let takers = providers.iter().filter(|provider| tool.config(&provider.id()).is_some()).collect::<Vec<_>>();
        if takers.is_empty() {
            found.add(Warning, at, None, "none of these providers takes this provider tool".to_owned());
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
                found.add(Warning, at, Some(*taker), message.clone());
            }
        }
    }
}

// ---- Findings as text for people.

impl fmt::Display for LintReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        if !self.findings.is_empty() && !self.costs.is_empty() {
            writeln!(f)?;
        }
        let width = self.costs.iter().map(|cost| cost.provider.name().len()).max().unwrap_or_default();
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
        f.write_str(&self.message)?;
        match &*self.providers {
            [] => Ok(()),
            all if all.len() == Provider::ALL.len() => f.write_str(" (all providers)"),
            some => write!(f, " ({})", some.iter().map(|provider| provider.name()).collect::<Vec<_>>().join(", ")),
        }
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

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.tools.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        write!(f, "{count:5} {tools:5} {:8} tokens", self.tokens)?;
        match self.tools.iter().max_by_key(|tool| tool.tokens) {
            Some(dearest) if count > 1 => {
                write!(f, ", the most for {} ({})", dearest.tool.escape_debug(), dearest.tokens)
            }
            _ => Ok(()),
        }
    }
}
