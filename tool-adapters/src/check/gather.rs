//! From reports to findings: what several providers have in common is told once.

use super::{Finding, Severity};
use crate::provider::Provider;
use crate::report::{Change, ChangeKind, NotStrict, Report, ToolReport};
use serde_json::Value;
use std::collections::HashMap;
use tool_core::{ToolContext, ToolDefinition};

/// A tool (by its place, so that the order is that of the context), how bad it is, and what.
type Key = (Severity, usize, String);

/// Findings as they come.
#[derive(Default)]
pub(super) struct Gathered {
    order: Vec<(Key, Option<String>)>,
    providers: HashMap<Key, Vec<Provider>>,
}

/// The place of what is no single tool's matter: after all tools.
const WHOLE: usize = usize::MAX;

impl Gathered {
    /// Notes something; `at` is the tool's place in the context.
    pub(super) fn add(
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
    pub(super) fn report(&mut self, report: &Report, tools: &ToolContext) {
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
    pub(super) fn findings(mut self) -> Vec<Finding> {
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
