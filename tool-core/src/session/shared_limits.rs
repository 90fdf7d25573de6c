//! The limits that all sessions of a store share, and the circuit breakers: their settings in a
//! policy, and those that hold for a call.

use crate::session::circuit_breaker::CircuitBreaker;
use crate::session::party::Party;
use crate::text::{matches_tool, matches_wildcards};
use crate::tool::ToolDefinition;
use std::sync::Arc;
use std::time::Duration;

/// The calls that share a limit or a circuit breaker.
///
/// In a pattern, each `*` stands for any text. Each tool and each upstream that a pattern matches has
/// a limit of its own: `tool("*")` limits every tool, and not all of them together. If several
/// settings of one kind match, the last of them holds.
///
/// ```
/// use std::time::Duration;
/// use tool_core::Policy;
/// use tool_core::session::{CircuitBreaker, LimitScope};
///
/// let minute = Duration::from_secs(60);
/// let policy = Policy::text()
///     .rate_limit(LimitScope::tool("search_*"), 100, minute)
///     .rate_limit(LimitScope::Principal, 30, minute)
///     .max_concurrent(LimitScope::upstream("github"), 8)
///     .circuit_breaker(LimitScope::tool("*"), CircuitBreaker::new(5));
/// # let _ = policy;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitScope {
    /// The calls of a tool, for each tool whose name matches the pattern.
    Tool(Arc<str>),
    /// The calls of all tools of an upstream, for each upstream whose name matches the pattern. See
    /// [`FunctionTool::upstream`](crate::FunctionTool::upstream).
    Upstream(Arc<str>),
    /// The calls of a principal in all of its sessions.
    Principal,
}

impl LimitScope {
    /// Returns the scope of the tools whose names match a pattern.
    pub fn tool(pattern: impl Into<Arc<str>>) -> Self {
        Self::Tool(pattern.into())
    }

    /// Returns the scope of the upstreams whose names match a pattern.
    pub fn upstream(pattern: impl Into<Arc<str>>) -> Self {
        Self::Upstream(pattern.into())
    }

    /// Returns the party of a call to which a setting of the scope applies, if it applies to one.
    fn party<'a>(&self, tool: &'a ToolDefinition, principal: &'a str) -> Option<Party<'a>> {
        match self {
            Self::Tool(pattern) => {
                matches_tool(pattern, tool.name()).then_some(Party::Tool(tool.name()))
            }
            Self::Upstream(pattern) => tool
                .upstream()
                .filter(|upstream| matches_wildcards(pattern, upstream))
                .map(Party::Upstream),
            Self::Principal => Some(Party::Principal(principal)),
        }
    }
}

/// A number of calls in a time.
///
/// It is a bucket of tokens: so many calls may come at once, and then one for each `per` divided by
/// `calls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The calls, at least one.
    pub calls: u32,
    /// The time, more than zero.
    pub per: Duration,
}

/// A limit that a store holds over all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedLimit {
    /// The name of the calls that share the limit. It has at most 160 bytes, and any characters.
    pub key: String,
    /// The calls in a time.
    pub rate: Option<RateLimit>,
    /// The calls that may run at once.
    pub concurrent: Option<u32>,
}

impl SharedLimit {
    /// Creates a limit that admits everything. For stores and their tests: a policy makes its own.
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            rate: None,
            concurrent: None,
        }
    }
}

/// A setting of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scoped<T> {
    scope: LimitScope,
    value: T,
}

/// The shared limits and the circuit breakers of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedSettings {
    rates: Vec<Scoped<RateLimit>>,
    concurrent: Vec<Scoped<u32>>,
    breakers: Vec<Scoped<CircuitBreaker>>,
}

/// A limit of one call, and the party whose calls share it.
pub(crate) struct CallLimit<'a> {
    pub(crate) party: Party<'a>,
    pub(crate) limit: SharedLimit,
}

impl SharedSettings {
    /// The settings of a policy that has none.
    pub(crate) const NONE: &'static Self = &Self {
        rates: Vec::new(),
        concurrent: Vec::new(),
        breakers: Vec::new(),
    };

    pub(crate) fn add_rate(&mut self, scope: LimitScope, value: RateLimit) {
        self.rates.push(Scoped { scope, value });
    }

    pub(crate) fn add_concurrent(&mut self, scope: LimitScope, value: u32) {
        self.concurrent.push(Scoped { scope, value });
    }

    pub(crate) fn add_breaker(&mut self, scope: LimitScope, value: CircuitBreaker) {
        self.breakers.push(Scoped { scope, value });
    }

    /// Returns what is wrong with the settings, each with what to do.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for Scoped { scope, value } in &self.rates {
            if value.calls == 0 || value.per.is_zero() {
                problems.push(format!(
                    "the `Policy::rate_limit` of {scope:?} admits nothing; allow at least one call in a time of more than zero"
                ));
            }
        }
        for Scoped { scope, value } in &self.concurrent {
            if *value == 0 {
                problems.push(format!(
                    "the `Policy::max_concurrent` of {scope:?} admits nothing; allow at least one call"
                ));
            }
        }
        for Scoped { scope, value } in &self.breakers {
            if *scope == LimitScope::Principal {
                problems.push(
                    "a `Policy::circuit_breaker` is of tools or of upstreams, and not of principals; use `LimitScope::tool(\"*\")`"
                        .to_owned(),
                );
            }
            if let Some(problem) = value.problem() {
                problems.push(format!(
                    "the `Policy::circuit_breaker` of {scope:?}: {problem}"
                ));
            }
        }
        problems
    }

    /// Returns true if calls of the tool may have circuit breakers or limits. Others run at once,
    /// and [`limits_of`](Self::limits_of) is not asked for theirs.
    #[inline]
    pub(crate) fn may_limit(&self, tool: &ToolDefinition) -> bool {
        applies(&self.rates, tool)
            || applies(&self.concurrent, tool)
            || applies(&self.breakers, tool)
    }

    /// Returns the circuit breakers of a tool: its own, and that of its upstream.
    pub(crate) fn breakers<'a>(
        &'a self,
        tool: &'a ToolDefinition,
    ) -> impl Iterator<Item = (Party<'a>, &'a CircuitBreaker)> {
        let own = last(&self.breakers, tool, "", "tool");
        let of_upstream = last(&self.breakers, tool, "", "upstream");
        own.into_iter().chain(of_upstream)
    }

    /// Returns the limits of a call. A call that a tool makes runs in the place of its caller, so it
    /// takes no further place of the principal.
    pub(crate) fn limits_of<'a>(
        &'a self,
        tool: &'a ToolDefinition,
        principal: &'a str,
        is_nested: bool,
    ) -> Vec<CallLimit<'a>> {
        let mut all = Vec::new();
        for kind in ["tool", "upstream", "principal"] {
            let rate = last(&self.rates, tool, principal, kind);
            let concurrent = last(&self.concurrent, tool, principal, kind)
                .filter(|_| !is_nested || kind != "principal");
            let party = rate
                .map(|(party, _)| party)
                .or(concurrent.map(|(party, _)| party));
            let Some(party) = party else {
                continue;
            };
            all.push(CallLimit {
                party,
                limit: SharedLimit {
                    key: party.key(),
                    rate: rate.map(|(_, rate)| *rate),
                    concurrent: concurrent.map(|(_, calls)| *calls),
                },
            });
        }
        all
    }
}

/// Returns true if one of the settings applies to calls of the tool.
fn applies<T>(settings: &[Scoped<T>], tool: &ToolDefinition) -> bool {
    let mut scopes = settings.iter().map(|setting| &setting.scope);
    scopes.any(|scope| scope.party(tool, "").is_some())
}

/// Returns the last setting for a kind of party that applies to a call, and the party.
fn last<'a, T>(
    settings: &'a [Scoped<T>],
    tool: &'a ToolDefinition,
    principal: &'a str,
    kind: &str,
) -> Option<(Party<'a>, &'a T)> {
    settings.iter().rev().find_map(|Scoped { scope, value }| {
        let party = scope.party(tool, principal)?;
        (party.kind() == kind).then_some((party, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::RunContext;
    use crate::tool::{FunctionTool, RawTool};
    use serde_json::{Value, json};

    fn tool(name: &str) -> FunctionTool {
        let raw = RawTool {
            name: name.to_owned(),
            description: "It does something.".to_owned(),
            parameters: json!({"type": "object"}),
        };
        FunctionTool::raw(raw, async |_: Value, _: &RunContext| Ok(Value::Null))
    }

    fn rate(calls: u32) -> RateLimit {
        RateLimit {
            calls,
            per: Duration::from_secs(60),
        }
    }

    #[test]
    fn last_setting_that_matches_a_call_holds() {
        let mut settings = SharedSettings::default();
        settings.add_rate(LimitScope::tool("*"), rate(1));
        settings.add_rate(LimitScope::tool("search_*"), rate(2));
        settings.add_rate(LimitScope::tool("search_web"), rate(3));
        for (name, calls) in [("add", 1), ("search_files", 2), ("search_web", 3)] {
            let tool = tool(name);
            let found = settings.limits_of(tool.definition(), "", false);
            assert_eq!(found[0].limit.rate, Some(rate(calls)), "{name}");
            assert_eq!(found[0].limit.key, format!("tool:{name}"));
        }
    }

    #[test]
    fn rate_and_concurrency_of_a_party_are_one_limit() {
        let mut settings = SharedSettings::default();
        settings.add_rate(LimitScope::Principal, rate(7));
        settings.add_concurrent(LimitScope::Principal, 2);
        settings.add_concurrent(LimitScope::upstream("git*"), 4);
        let tool = tool("search").upstream("github");
        let found = settings.limits_of(tool.definition(), "user:7", false);
        let figures = found
            .iter()
            .map(|found| &found.limit)
            .map(|limit| (limit.key.as_str(), limit.rate, limit.concurrent));
        assert_eq!(
            figures.collect::<Vec<_>>(),
            [
                ("upstream:github", None, Some(4)),
                ("principal:user:7", Some(rate(7)), Some(2))
            ]
        );
    }

    #[test]
    fn nested_calls_take_no_place_of_their_principal() {
        let mut settings = SharedSettings::default();
        settings.add_concurrent(LimitScope::Principal, 1);
        let tool = tool("search");
        let found = settings.limits_of(tool.definition(), "user:7", true);
        assert!(found.is_empty());
    }

    #[test]
    fn settings_limit_the_tools_of_their_scopes_only() {
        assert!(!SharedSettings::NONE.may_limit(tool("search").definition()));

        let mut of_tools = SharedSettings::default();
        of_tools.add_rate(LimitScope::tool("search_*"), rate(1));
        assert!(of_tools.may_limit(tool("search_web").definition()));
        assert!(!of_tools.may_limit(tool("add").definition()));

        let mut of_upstreams = SharedSettings::default();
        of_upstreams.add_breaker(LimitScope::upstream("github"), CircuitBreaker::new(1));
        assert!(of_upstreams.may_limit(tool("add").upstream("github").definition()));
        assert!(!of_upstreams.may_limit(tool("add").definition()));

        let mut of_principals = SharedSettings::default();
        of_principals.add_concurrent(LimitScope::Principal, 1);
        assert!(of_principals.may_limit(tool("add").definition()));
    }

    #[test]
    fn every_problem_of_the_settings_is_reported() {
        let mut settings = SharedSettings::default();
        settings.add_rate(LimitScope::Principal, rate(0));
        settings.add_concurrent(LimitScope::tool("*"), 0);
        settings.add_breaker(LimitScope::Principal, CircuitBreaker::new(0));
        assert_eq!(settings.problems().len(), 4, "{:?}", settings.problems());
    }
}
