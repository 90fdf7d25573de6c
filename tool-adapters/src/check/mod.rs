//! The lint: what providers will refuse, lose and rename of a context's tools, and what the tools cost in tokens.
//!
//! In a test of your own:
//!
//! ```
//! use tool_adapters::{Provider, check, check_for};
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
//! let check = check(&tools);
//! assert!(check.refuses_nothing(), "{check}");
//!
//! // Only what matters to whom it is declared:
//! let check = check_for(&tools, &[Provider::Anthropic, Provider::OpenAiChat], Default::default());
//! assert!(check.tokens(Provider::Anthropic) < Some(100), "{check}");
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```

mod display;
mod gather;
mod general;

#[cfg(test)]
mod tests;

use crate::declare::{DeclareOptions, declare_with};
use crate::provider::Provider;
use serde::Serialize;
use tool_core::ToolContext;

/// What was found, and what the declarations cost. Displays a finding a line, then a line for each provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Check {
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
pub fn check(tools: &ToolContext) -> Check {
    check_for(tools, &Provider::ALL, DeclareOptions::default())
}

/// Looks at the tools of a context for some providers, and as they are declared with these options.
pub fn check_for(tools: &ToolContext, providers: &[Provider], options: DeclareOptions) -> Check {
    let mut found = gather::Gathered::default();
    general::look_at(tools, &mut found);
    general::provider_tools(tools, providers, &mut found);
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
    Check { findings: found.findings(), costs }
}

fn costs(report: &crate::Report) -> Vec<ToolCost> {
    let declared = report.tools.iter().filter(|tool| tool.declared_as.is_some());
    declared.map(|tool| ToolCost { tool: tool.tool.clone(), tokens: tool.tokens }).collect()
}

impl Check {
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
