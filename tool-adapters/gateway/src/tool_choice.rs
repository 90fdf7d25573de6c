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
    /// The beginning of the server's tools for opencode, whose patterns are those of all servers.
    prefix: Option<String>,
}

impl ChoiceRule {
    fn matches(&self, pattern: &str, tool: &str) -> bool {
        match &self.prefix {
            Some(prefix) => matches_glob(pattern, &format!("{prefix}{}", plain(tool))),
            None => matches_tool(pattern, tool),
        }
    }

    /// Returns true if a pattern is meant for the tools of this server.
    fn is_of_server(&self, pattern: &str) -> bool {
        let prefix = self.prefix.as_ref();
        prefix.is_none_or(|prefix| pattern.starts_with(prefix))
    }
}

/// The tools of opencode itself.
const OPENCODE_TOOLS: [&str; 18] = [
    "apply_patch",
    "bash",
    "codesearch",
    "edit",
    "glob",
    "grep",
    "list",
    "lsp",
    "multiedit",
    "patch",
    "question",
    "read",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "write",
];

/// Returns a name as opencode writes it.
fn plain(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    name.chars().map(plain).collect()
}

/// Returns true for a tool of opencode itself.
pub(crate) fn is_opencode_tool(name: &str) -> bool {
    OPENCODE_TOOLS.contains(&name)
}

/// Returns true if a pattern of opencode may match a tool of a server.
pub(crate) fn may_concern(pattern: &str, server: &str) -> bool {
    let prefix = opencode_prefix(server);
    let start = pattern.split(['*', '?']).next().unwrap_or_default();
    let has_wildcards = start.len() < pattern.len();
    start.starts_with(&prefix) || (has_wildcards && prefix.starts_with(start))
}

/// Returns the beginning of the names that opencode gives the tools of a server.
fn opencode_prefix(server: &str) -> String {
    format!("{}_", plain(server))
}

/// Returns true if a name matches a pattern of opencode, in which `*` stands for any text and `?`
/// for one letter.
fn matches_glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = after_part(first, name) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let mut starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
        let found = starts.find_map(|at| after_part(part, rest.get(at..)?));
        let Some(after) = found else { return false };
        rest = after;
    }
    let before_last = rest.chars().count().checked_sub(last.chars().count());
    before_last.is_some_and(|letters| {
        let end = rest.chars().skip(letters).collect::<String>();
        after_part(last, &end).is_some()
    })
}

/// Returns what follows a part of a pattern at the beginning of a name.
fn after_part<'a>(part: &str, name: &'a str) -> Option<&'a str> {
    let mut letters = name.chars();
    for wanted in part.chars() {
        let letter = letters.next()?;
        if wanted != '?' && wanted != letter {
            return None;
        }
    }
    Some(letters.as_str())
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
            prefix: None,
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

    /// Leaves out the tools of a server that match patterns of opencode, as `SERVER_TOOL`.
    pub(crate) fn exclude_of_server(&mut self, server: &str, patterns: &[String]) {
        let own = patterns
            .iter()
            .filter(|pattern| may_concern(pattern, server));
        let own = own.cloned().collect::<Vec<_>>();
        if !own.is_empty() {
            self.0.push(ChoiceRule {
                member: "tools".to_owned(),
                patterns: own,
                is_on: false,
                prefix: Some(opencode_prefix(server)),
            });
        }
    }

    /// Returns the member that switches a tool off.
    pub(crate) fn off(&self, tool: &str) -> Option<&str> {
        let is_off = |rule: &&ChoiceRule| {
            rule.patterns
                .iter()
                .any(|pattern| rule.matches(pattern, tool))
                != rule.is_on
        };
        self.0.iter().find(is_off).map(|rule| rule.member.as_str())
    }

    /// Returns the patterns that match none of these tools, each with its member.
    pub(crate) fn unused<'a>(&'a self, tools: &[String]) -> Vec<(&'a str, &'a str)> {
        let mut unused = Vec::new();
        for rule in &self.0 {
            for pattern in rule.patterns.iter().filter(|pattern| *pattern != "*") {
                let is_used = tools.iter().any(|tool| rule.matches(pattern, tool));
                if !is_used && rule.is_of_server(pattern) {
                    unused.push((rule.member.as_str(), pattern.as_str()));
                }
            }
        }
        unused
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

#[cfg(test)]
mod tests {
    use super::*;

    // C15
    #[test]
    fn patterns_of_opencode_match_the_whole_name() {
        let patterns = ["*_delete_*", "every*_write", "everything_rea?", "oth*"];
        let mut choice = ToolChoice::default();
        choice.exclude_of_server("every.thing", &patterns.map(str::to_owned));
        let mut other = ToolChoice::default();
        other.exclude_of_server("everything", &patterns.map(str::to_owned));
        for (tool, is_off) in [
            ("files_delete_all", true),
            ("delete_all", true),
            ("write", true),
            ("notes:write", true),
            ("rewrite", false),
            ("other", false),
        ] {
            assert_eq!(choice.off(tool).is_some(), is_off, "{tool}");
        }
        assert_eq!(
            [choice.off("read"), other.off("read"), other.off("reader")],
            [None, Some("tools"), None]
        );
    }

    #[test]
    fn a_star_of_a_glob_stands_for_any_text() {
        for (pattern, name, matches) in [
            ("*", "", true),
            ("a*", "a", true),
            ("a*b*c", "abbc", true),
            ("a*a", "a", false),
            ("a*?", "ab", true),
            ("a*?", "a", false),
            ("?é*", "aéb", true),
            ("a", "ab", false),
            ("*b?*d", "abcbxd", true),
            ("", "", true),
        ] {
            assert_eq!(matches_glob(pattern, name), matches, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_opencode_concerns_the_servers_it_may_match() {
        for pattern in ["git_hub_*", "git*", "*_delete", "git_hub_x", "g?t_*"] {
            assert!(may_concern(pattern, "git.hub"), "{pattern}");
        }
        for pattern in ["github_*", "git", "gitlab*", "bash"] {
            assert!(!may_concern(pattern, "git.hub"), "{pattern}");
        }
    }
}
