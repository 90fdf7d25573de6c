//! The tools of a server that its user has switched on and off, or approved once and for all, in
//! each client's spelling.

use crate::document::Fields;
use serde_json::Value;
use std::collections::BTreeMap;
use tool_core::text::matches_tool;

/// The members that name tools which are left out. Clients differ.
const OFF: [&str; 9] = [
    "disabledTools",
    "disabled_tools",
    "excludeTools",
    "exclude_tools",
    "excludedTools",
    "blockedTools",
    "disallowedTools",
    "disallowed_tools",
    "deniedTools",
];

/// The members that name all tools which are left in.
const ON: [&str; 8] = [
    "tools",
    "includeTools",
    "include_tools",
    "includedTools",
    "enabledTools",
    "enabled_tools",
    "allowedTools",
    "allowed_tools",
];

/// The members that name tools which need no approval.
const APPROVED: [&str; 7] = [
    "alwaysAllow",
    "always_allow",
    "autoApprove",
    "auto_approve",
    "autoApproved",
    "autoApproveTools",
    "trust",
];

/// The tools that a user has switched on and off. By default all are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolChoice(Vec<ChoiceRule>);

/// The patterns of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChoiceRule {
    member: String,
    patterns: Vec<String>,
    /// True if tools that match stay, and the others are left out.
    is_on: bool,
}

impl ToolChoice {
    /// Reads the members of a server's entry.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Self {
        let mut choice = Self::default();
        choice.read_map(fields);
        for (members, is_on) in [(&OFF[..], false), (&ON[..], true)] {
            for member in members {
                choice.add(member, fields.texts(member), is_on);
            }
        }
        choice
    }

    /// Reads `"tools": {"NAME": false}` and `"tools": {"NAME": {"enabled": false}}`.
    fn read_map(&mut self, fields: &mut Fields<'_>) {
        let Some(Value::Object(tools)) = fields.take_if("tools", Value::is_object) else {
            return;
        };
        let mut off = Vec::new();
        for (name, value) in tools {
            let member = |name: &str| value.get(name).and_then(Value::as_bool);
            if value == false
                || member("enabled") == Some(false)
                || member("disabled") == Some(true)
            {
                off.push(name);
            } else if !value.is_boolean() && !value.is_object() {
                let place = format!("tools.{name}");
                fields.problem(&place, "expected true or false, or a table with `enabled`");
            }
        }
        self.add("tools", Some(off), false);
    }

    fn add(&mut self, member: &str, patterns: Option<Vec<String>>, is_on: bool) {
        let Some(mut patterns) = patterns else { return };
        for pattern in &mut patterns {
            // Gemini CLI writes the arguments of a tool behind its name.
            let end = pattern.find('(').unwrap_or(pattern.len());
            pattern.truncate(end);
        }
        self.0.push(ChoiceRule {
            member: member.to_owned(),
            patterns,
            is_on,
        });
    }

    /// Leaves out what these patterns match.
    pub(crate) fn exclude(&mut self, patterns: Option<Vec<String>>) {
        self.add("", patterns, false);
    }

    /// Leaves out what these patterns do not match.
    pub(crate) fn include(&mut self, patterns: Option<Vec<String>>) {
        self.add("", patterns, true);
    }

    /// Leaves out the tools of a server for which there are patterns of `SERVER_TOOL`.
    pub(crate) fn exclude_of_server(&mut self, server: &str, patterns: &[String]) {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        let prefix = format!("{}_", server.chars().map(plain).collect::<String>());
        let mut own = Vec::new();
        for pattern in patterns {
            if let Some(tool) = pattern.strip_prefix(&prefix) {
                own.push(tool.to_owned());
            } else if pattern == "*"
                || pattern
                    .strip_suffix('*')
                    .is_some_and(|start| prefix.starts_with(start))
            {
                own.push("*".to_owned());
            }
        }
        if !own.is_empty() {
            self.add("tools", Some(own), false);
        }
    }

    /// Returns the member that switches a tool off.
    pub(crate) fn off(&self, tool: &str) -> Option<&str> {
        let is_off = |rule: &&ChoiceRule| {
            rule.patterns
                .iter()
                .any(|pattern| matches_tool(pattern, tool))
                != rule.is_on
        };
        self.0.iter().find(is_off).map(|rule| rule.member.as_str())
    }

    /// Returns the patterns that match none of these tools, each with its member.
    pub(crate) fn unused<'a>(&'a self, tools: &[String]) -> Vec<(&'a str, &'a str)> {
        let all = self.0.iter().flat_map(|rule| {
            rule.patterns
                .iter()
                .map(|pattern| (rule.member.as_str(), pattern.as_str()))
        });
        all.filter(|(_, pattern)| {
            *pattern != "*" && !tools.iter().any(|tool| matches_tool(pattern, tool))
        })
        .collect()
    }
}

/// The tools that need no approval, by the member that names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApprovedTools(BTreeMap<&'static str, Vec<String>>);

impl ApprovedTools {
    /// Reads the members of a server's entry: lists of names, or true for all tools.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Self {
        let mut approved = BTreeMap::new();
        for member in APPROVED {
            let patterns = match fields.take_if(member, Value::is_boolean) {
                Some(Value::Bool(true)) => vec!["*".to_owned()],
                Some(_) => Vec::new(),
                None => fields.texts(member).unwrap_or_default(),
            };
            if !patterns.is_empty() {
                approved.insert(member, patterns);
            }
        }
        Self(approved)
    }

    /// Returns the member that approves a tool.
    pub(crate) fn member_of(&self, tool: &str) -> Option<&'static str> {
        let approves =
            |patterns: &[String]| patterns.iter().any(|pattern| matches_tool(pattern, tool));
        self.0
            .iter()
            .find(|(_, patterns)| approves(patterns))
            .map(|(member, _)| *member)
    }
}
