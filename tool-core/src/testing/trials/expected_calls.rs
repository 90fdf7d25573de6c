//! The calls that a trial expects, and the problems of those that a model made.

use crate::arguments::problem::nearest;
use crate::session::Session;
use crate::session::control_tools::CONTROL_TOOL_NAMES;
use crate::session::pipeline::governed_call::canonical_sent_arguments;
use crate::testing::trials::argument_match::ArgumentMatch;
use crate::text::{escape_invisible, truncate};
use crate::tool::ToolDefinition;
use serde_json::Value;
use std::collections::BTreeSet;

/// The number of characters of a call, or of another text of a model, that a problem shows.
pub(crate) const SHOWN: usize = 300;

/// A call that a model made.
#[derive(Clone, Debug)]
pub(crate) struct MadeCall {
    pub(crate) tool: String,
    /// The arguments as the tool receives them. Those of a refused call are as they were sent.
    pub(crate) arguments: String,
    /// The reason for which the call did not reach the tool, if it was refused for its name or its
    /// arguments.
    pub(crate) refusal: Option<String>,
}

impl MadeCall {
    /// Returns the call for a person.
    pub(crate) fn shown(&self) -> String {
        let call = format!("{}({})", self.tool, self.arguments);
        escape_invisible(&truncate(&call, SHOWN))
    }

    fn value(&self) -> Value {
        serde_json::from_str(&self.arguments).unwrap_or_default()
    }
}

/// A tool, and the arguments with which it is called.
#[derive(Clone, Debug)]
pub(crate) struct CallPattern {
    tool: String,
    arguments: ArgumentMatch,
}

impl CallPattern {
    pub(crate) fn new(tool: impl Into<String>, arguments: ArgumentMatch) -> Self {
        Self {
            tool: tool.into(),
            arguments,
        }
    }

    fn matches(&self, call: &MadeCall, session: &Session) -> bool {
        let fill = |arguments: &Value| received(session, &self.tool, arguments);
        self.tool == call.tool && self.arguments.accepts(&call.value(), fill)
    }
}

/// Returns arguments as the tool receives them.
fn received(session: &Session, tool: &str, arguments: &Value) -> Value {
    let Some((_, tool)) = session.0.tools.find(tool) else {
        return arguments.clone();
    };
    let text = canonical_sent_arguments(&session.0, tool, &arguments.to_string());
    serde_json::from_str(&text).unwrap_or_else(|_| arguments.clone())
}

/// The calls that a trial expects.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedCalls {
    pub(crate) must: Vec<CallPattern>,
    pub(crate) may: Vec<CallPattern>,
    pub(crate) must_not: Vec<CallPattern>,
    /// True if all calls that are not listed are refused.
    pub(crate) is_closed: bool,
}

impl ExpectedCalls {
    /// Returns all mistakes in the expectations, given the tools of a session.
    pub(crate) fn mistakes(&self, session: &Session) -> Vec<String> {
        let mut tools = session.definitions();
        tools.extend(session.searchable_definitions());
        let mut mistakes = Vec::new();
        let patterns = self.must.iter().chain(&self.may).chain(&self.must_not);
        for pattern in patterns {
            let Some(tool) = tools.iter().find(|tool| tool.name() == pattern.tool) else {
                let mistake = unknown_tool(&pattern.tool, &tools);
                if !mistakes.contains(&mistake) {
                    mistakes.push(mistake);
                }
                continue;
            };
            mistakes.extend(wrong_names(pattern, tool));
        }
        for pattern in &self.must {
            let is_forbidden =
                |other: &&CallPattern| other.tool == pattern.tool && other.arguments.is_any();
            if self.must_not.iter().any(|other| is_forbidden(&other)) {
                mistakes.push(format!(
                    "`{}` must be called and must not be called, so no run can pass; remove one of the two",
                    pattern.tool
                ));
            }
        }
        mistakes
    }

    /// Returns all problems of the calls of a run.
    pub(crate) fn problems(&self, calls: &[MadeCall], session: &Session) -> Vec<String> {
        let mut problems = self.missing(calls, session);
        for pattern in &self.must_not {
            for call in calls.iter().filter(|call| pattern.matches(call, session)) {
                problems.push(format!(
                    "`{}` must not be called: the model called {}",
                    pattern.tool,
                    call.shown()
                ));
            }
        }
        if self.is_closed {
            for call in calls.iter().filter(|call| !self.lists(call, session)) {
                problems.push(format!(
                    "no other call is allowed: the model called {}",
                    call.shown()
                ));
            }
        }
        problems
    }

    /// Returns true if a call is of a tool that must be called, or is one that may be made. The
    /// runtime's own tools belong to no one's list.
    fn lists(&self, call: &MadeCall, session: &Session) -> bool {
        let is_wanted = self.must.iter().any(|pattern| pattern.tool == call.tool);
        let is_allowed = self
            .may
            .iter()
            .any(|pattern| pattern.matches(call, session));
        is_wanted || is_allowed || CONTROL_TOOL_NAMES.contains(&call.tool.as_str())
    }

    /// Returns the problems of calls that are missing. Each expectation has a call of its own.
    fn missing(&self, calls: &[MadeCall], session: &Session) -> Vec<String> {
        let accepts = |pattern: &CallPattern, call: &MadeCall| {
            call.refusal.is_none() && pattern.matches(call, session)
        };
        let candidates = self
            .must
            .iter()
            .map(|pattern| {
                let fits = |position: &usize| accepts(pattern, &calls[*position]);
                (0..calls.len()).filter(fits).collect::<Vec<_>>()
            })
            .collect::<Vec<_>>();
        let answered = answered(&candidates, calls.len());
        let missing = self.must.iter().zip(&candidates).zip(answered);
        missing
            .filter(|(_, is_answered)| !is_answered)
            .map(|((pattern, candidates), _)| describe_missing(pattern, candidates.len(), calls))
            .collect()
    }
}

/// Gives as many expectations as possible a call of their own, and returns for each whether it has
/// one.
fn answered(candidates: &[Vec<usize>], calls: usize) -> Vec<bool> {
    let mut owner = vec![None; calls];
    for expectation in 0..candidates.len() {
        let mut visited = vec![false; calls];
        assign(expectation, candidates, &mut owner, &mut visited);
    }
    (0..candidates.len())
        .map(|expectation| owner.contains(&Some(expectation)))
        .collect()
}

/// Finds a call for an expectation, and moves others to other calls where that is needed. The
/// recursion is at most as deep as the number of expectations.
fn assign(
    expectation: usize,
    candidates: &[Vec<usize>],
    owner: &mut [Option<usize>],
    visited: &mut [bool],
) -> bool {
    for &call in &candidates[expectation] {
        if std::mem::replace(&mut visited[call], true) {
            continue;
        }
        let is_free = match owner[call] {
            None => true,
            Some(other) => assign(other, candidates, owner, visited),
        };
        if is_free {
            owner[call] = Some(expectation);
            return true;
        }
    }
    false
}

fn describe_missing(pattern: &CallPattern, fitting: usize, calls: &[MadeCall]) -> String {
    let wanted = escape_invisible(&truncate(&pattern.arguments.to_string(), SHOWN));
    let head = format!("`{}` must be called with {wanted}", pattern.tool);
    if fitting > 0 {
        return format!("{head} once more: the only such call counts for another expectation");
    }
    let of_tool = calls
        .iter()
        .filter(|call| call.tool == pattern.tool)
        .map(|call| match &call.refusal {
            None => call.shown(),
            Some(refusal) => {
                let refusal = escape_invisible(&truncate(refusal, SHOWN));
                format!("{}, which was refused: {refusal}", call.shown())
            }
        })
        .collect::<Vec<_>>();
    if !of_tool.is_empty() {
        return format!("{head}: the model called {}", of_tool.join(", and "));
    }
    if calls.is_empty() {
        return format!("{head}: the model called no tool");
    }
    let all = calls.iter().map(MadeCall::shown).collect::<Vec<_>>();
    format!("{head}: the model called {}", all.join(", and "))
}

fn unknown_tool(name: &str, tools: &[ToolDefinition]) -> String {
    let names = tools.iter().map(ToolDefinition::name);
    match nearest(name, names) {
        Some(near) => format!("the session has no tool `{name}` (did you mean `{near}`?)"),
        None => format!("the session has no tool `{name}`"),
    }
}

/// Returns the arguments of an expectation that the tool does not have.
fn wrong_names(pattern: &CallPattern, tool: &ToolDefinition) -> Vec<String> {
    let Some(named) = pattern.arguments.named() else {
        return Vec::new();
    };
    let Some(members) = named.as_object() else {
        let name = &pattern.tool;
        return vec![format!(
            "the arguments of `{name}` are an object: expected {{..}}, got {named}"
        )];
    };
    let schema = tool.parameters();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let is_open = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref"]
        .iter()
        .any(|keyword| schema.get(keyword).is_some())
        || schema
            .get("additionalProperties")
            .is_some_and(|more| *more != Value::Bool(false));
    if is_open {
        return Vec::new();
    }
    let unknown = members
        .keys()
        .filter(|name| !properties.contains_key(*name));
    // The order of the members depends on a feature of serde_json.
    let unknown = unknown.collect::<BTreeSet<_>>();
    unknown
        .into_iter()
        .map(|name| {
            let near = nearest(name, properties.keys().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            format!("`{}` has no parameter `{name}`{near}", pattern.tool)
        })
        .collect()
}
