//! The policies of a gateway: what the settings of `policy.toml` decide.

use crate::conditions::{Asks, may_have_argument};
use crate::config::{ServerEntry, Target};
use crate::policy_file::{BreakerSettings, NetworkSettings, PolicyFile, ServerRule, ToolRule};
use crate::problems::{Problems, join};
use crate::reader::{self, empty_table};
use crate::setting_types::Rate;
use crate::source;
use crate::spellings::{LeftOut, Spelling, spellings};
use crate::tool_choice::ApprovedTools;
use crate::value::{Expand, Secret};
use reqwest::{Certificate, Url};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tool_adapters_http::base_url::is_local;
use tool_adapters_http::egress::network::{Network, ProxySettings};
use tool_adapters_http::egress::{EgressPolicy, normalised_host};
use tool_adapters_mcp::Server;
use tool_adapters_providers::tool_names::NameRule;
use tool_core::arguments::nearest;
use tool_core::session::{CapScope, CircuitBreaker, LimitScope, ToolSearch};
use tool_core::text::{matches_tool, matches_wildcards};
use tool_core::tool::Confirm;
use tool_core::trace::{Cost, Redaction};
use tool_core::{Category, FunctionTool, Policy, ToolDefinition};

/// The prefixes of servers, which leave room for the names of their tools.
pub(crate) const PREFIX: NameRule = NameRule {
    punctuation: "-",
    any_first: true,
    max_length: 40,
};

/// All policies of a gateway.
#[derive(Clone)]
pub(crate) struct GatewayPolicy {
    /// The settings as they were read.
    pub(crate) file: PolicyFile,
    /// The policy of sessions.
    pub(crate) session: Policy,
    pub(crate) redaction: Redaction,
    /// The tools of each server that its user has approved once and for all.
    approved: BTreeMap<String, ApprovedTools>,
}

impl NetworkSettings {
    /// Returns the way to servers, with the variables of the environment.
    fn network(&self) -> Result<Network, String> {
        let mut proxies = ProxySettings::from_env(|name| std::env::var(name).ok());
        if let Some(proxy) = &self.proxy {
            let address = Some(proxy.to_string()).filter(|proxy| !proxy.is_empty());
            proxies.https.clone_from(&address);
            proxies.http = address;
        }
        if let Some(hosts) = &self.no_proxy {
            proxies.no_proxy = hosts.join(",");
        }
        let certificates =
            Certificate::from_pem_bundle(&self.certificates).map_err(|error| error.to_string())?;
        let network = Network::new(&proxies, certificates);
        network.map_err(|problem| {
            format!("`network.proxy` or the variables `HTTPS_PROXY` and `HTTP_PROXY`: {problem}")
        })
    }
}

impl PolicyFile {
    /// Returns the rules by which arguments and results are redacted.
    fn redaction(&self) -> Redaction {
        let mut redaction = Redaction::new();
        for key in &self.redaction.keys {
            redaction = redaction.key(key);
        }
        for pointer in &self.redaction.pointers {
            redaction = redaction.pointer(pointer);
        }
        redaction
    }

    /// Returns the policy of sessions.
    fn session(&self) -> Policy {
        let limits = &self.limits;
        let mut policy = Server::policy()
            .max_calls(limits.max_calls.map(u32::from))
            .category_budget(Category::Retrieval, limits.retrieval.map(u32::from))
            .category_budget(Category::Action, limits.action.map(u32::from))
            .category_budget(Category::Utility, limits.utility.map(u32::from))
            .repeated_calls(limits.repeated_calls.map(u32::from))
            .max_empty_results(limits.empty_results.map(u32::from))
            .deadline(limits.deadline.0)
            .idle_timeout(limits.idle_timeout.0)
            .confirmation_lifetime(limits.approval_lifetime.0)
            .warn_after(limits.warn_after.map(|time| time.0))
            .result_cache_ttl(limits.result_cache.map(|time| time.0))
            .redaction(self.redaction());
        if let Some(tools) = limits.search_over {
            let always = limits.search_always.clone().unwrap_or_default();
            policy = policy.search_tools(ToolSearch::over_tools(tools.get()).always(always));
        }
        if let Some(sessions) = limits.max_sessions {
            policy = policy.max_sessions(sessions.get() as u64);
        }
        if let Some(calls) = limits.concurrent_calls {
            policy = policy.concurrent_calls(calls.get());
        }
        if let Some(calls) = limits.max_approvals {
            policy = policy.max_approvals(calls.get());
        }
        if let Some(deadline) = limits.store_deadline {
            policy = policy.store_deadline(deadline.0);
        }
        let times = [
            (CapScope::Turn, limits.max_time_per_turn),
            (CapScope::Session, limits.max_time_per_session),
            (CapScope::Principal, limits.max_time_per_principal),
        ];
        for (scope, time) in times {
            if let Some(time) = time {
                policy = policy.max_time(scope, Some(time.0));
            }
        }
        let costs = [
            (CapScope::Turn, limits.max_cost_per_turn),
            (CapScope::Session, limits.max_cost_per_session),
            (CapScope::Principal, limits.max_cost_per_principal),
        ];
        for (scope, cost) in costs {
            if let Some(cost) = cost {
                policy = policy.max_cost(scope, Some(cost.0));
            }
        }
        if let Some(window) = limits.principal_window {
            policy = policy.principal_window(window.0);
        }
        self.shared_limits(policy)
    }

    /// Adds the limits that hold over all sessions, and the circuit breakers.
    fn shared_limits(&self, mut policy: Policy) -> Policy {
        let limits = &self.limits;
        let of_principal = SharedRules {
            rate: limits.rate_per_principal,
            max_concurrent: limits.max_concurrent_per_principal,
            circuit_breaker: None,
        };
        policy = of_principal.add_to(policy, &LimitScope::Principal);
        for rule in &self.tools {
            for pattern in &rule.patterns {
                let scope = LimitScope::tool(pattern.as_str());
                policy = SharedRules::of_tools(rule).add_to(policy, &scope);
            }
        }
        for (name, rule) in &self.servers {
            let rules = SharedRules {
                rate: rule.rate,
                max_concurrent: rule.max_concurrent,
                circuit_breaker: rule.circuit_breaker,
            };
            policy = rules.add_to(policy, &LimitScope::upstream(name.as_str()));
        }
        policy
    }
}

/// The settings of one scope that hold over all sessions.
#[derive(Clone, Copy)]
struct SharedRules {
    rate: Option<Rate>,
    max_concurrent: Option<NonZeroU32>,
    circuit_breaker: Option<BreakerSettings>,
}

impl SharedRules {
    fn of_tools(rule: &ToolRule) -> Self {
        Self {
            rate: rule.rate,
            max_concurrent: rule.max_concurrent,
            circuit_breaker: rule.circuit_breaker,
        }
    }

    fn add_to(self, mut policy: Policy, scope: &LimitScope) -> Policy {
        if let Some(rate) = self.rate {
            policy = policy.rate_limit(scope.clone(), rate.calls.get(), rate.per);
        }
        if let Some(calls) = self.max_concurrent {
            policy = policy.max_concurrent(scope.clone(), calls.get());
        }
        if let Some(settings) = self.circuit_breaker {
            let breaker = CircuitBreaker::new(settings.failures.get())
                .window(settings.window.0)
                .pause(settings.pause.0);
            policy = policy.circuit_breaker(scope.clone(), breaker);
        }
        policy
    }
}

impl GatewayPolicy {
    /// Reads a policy. Relative paths are resolved against `folder`.
    pub(crate) fn parse(text: &str, folder: &Path, problems: &Problems, expand: &Expand) -> Self {
        let mut file: PolicyFile = reader::read(source::toml(text, problems), problems, expand);
        file.resolve_paths(folder);
        file.network.read_certificates(problems);
        file.check(problems);
        Self::new(file)
    }

    fn new(file: PolicyFile) -> Self {
        Self {
            session: file.session(),
            redaction: file.redaction(),
            file,
            approved: BTreeMap::new(),
        }
    }

    /// Returns the options of a server.
    fn server(&self, name: &str) -> Option<&ServerRule> {
        self.file.servers.get(name)
    }

    /// Returns the file of the pins.
    pub(crate) fn pins(&self) -> Option<&PathBuf> {
        self.file.pins.as_ref()?.file.as_ref()
    }

    /// Returns the secrets that are in files of their own: the server of each, the file, and the
    /// place of the secret.
    pub(crate) fn secret_files(&mut self) -> Vec<(&str, &Path, &mut Option<Secret>)> {
        let files = self.file.servers.iter_mut().filter_map(|(server, rule)| {
            let (file, secret) = rule.oauth.as_mut()?.secret_file()?;
            Some((server.as_str(), file, secret))
        });
        files.collect()
    }

    /// Checks the addresses that the gateway listens on, and the address of `--http`. One that
    /// other machines can reach needs the names of this machine, and a check of its clients.
    pub(crate) fn check_addresses(&self, of_option: Option<SocketAddr>, problems: &Problems) {
        let http = &self.file.http;
        let admin = &self.file.admin;
        let clients = (
            "`http.principals` (or `http.allow_anonymous`)",
            !http.principals.is_empty() || http.allow_anonymous,
        );
        let addresses = [
            ("http.listen", Some(http.listen.0), clients),
            ("--http", of_option, clients),
            (
                "admin.listen",
                admin.listen.map(|address| address.0),
                ("`admin.token`", admin.token.is_some()),
            ),
        ];
        for (place, address, check) in addresses {
            let checks = [("`http.hosts`", http.hosts.is_some()), check];
            let missing = checks
                .into_iter()
                .filter(|(_, is_set)| !is_set)
                .map(|(key, _)| key)
                .collect::<Vec<_>>();
            if let Some(address) =
                address.filter(|address| !address.ip().is_loopback() && !missing.is_empty())
            {
                problems.add(
                    place,
                    format_args!(
                        "other machines can reach {address}; set {}",
                        missing.join(" and ")
                    ),
                );
            }
        }
    }

    /// Checks the policy against the servers.
    pub(crate) fn check(&self, servers: &[ServerEntry], problems: &Problems, config: &Problems) {
        for name in self
            .file
            .servers
            .keys()
            .filter(|name| servers.iter().all(|server| server.name != **name))
        {
            let known = servers
                .iter()
                .map(|server| format!("`{}`", server.name))
                .collect::<Vec<_>>()
                .join(", ");
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known
            };
            let place = join("servers", name);
            let near = nearest(name, servers.iter().map(|server| server.name.as_str()));
            let near = near
                .map(|near| format!(", did you mean `{near}`?"))
                .unwrap_or_default();
            problems.add(
                &place,
                format_args!(
                    "expected the name of a server that is configured and not disabled, which are {known}{near}"
                ),
            );
        }
        for (name, _) in self
            .file
            .servers
            .iter()
            .filter(|(_, rule)| rule.pinned_only == Some(true) && self.pins().is_none())
        {
            problems.add(
                &join(&join("servers", name), "pinned_only"),
                "expected `pins.file` too, as no tool is pinned without it",
            );
        }
        for server in servers {
            if matches!(server.target, Target::Command { .. })
                && self
                    .server(&server.name)
                    .is_some_and(|rule| rule.oauth.is_some())
            {
                let place = join(&join("servers", &server.name), "oauth");
                problems.add(
                    &place,
                    "expected a server with a `url`, as one with a `command` has no login",
                );
            }
            if let Target::Url { url, .. } = &server.target
                && let Err(problem) = self.egress_of(url)
            {
                config.add(&server.place, problem);
            }
        }
    }

    /// Returns the addresses to which the connections of a server may go.
    pub(crate) fn egress_of(&self, url: &Url) -> Result<EgressPolicy, String> {
        let host = &comparable(url.host_str().unwrap_or_default());
        let mut policy = EgressPolicy::new();
        match &self.file.egress {
            // The address in the file is one that a person has chosen. A name may resolve to any
            // address.
            None if is_address(host) => policy = policy.allow_host(host),
            None => {}
            Some(rules) => {
                // Of a name in `private`, or of an address in one of its networks.
                let only_private = rules.allow_private(EgressPolicy::new().only_allowed());
                let is_private = only_private.check_url(url).is_ok();
                let matches = |pattern: &String| matches_wildcards(&comparable(pattern), host);
                let is_allowed = match &rules.hosts {
                    None => true,
                    Some(hosts) => hosts.iter().any(matches),
                };
                if !is_private && !is_allowed {
                    return Err(format!(
                        "the host `{host}` is not among `egress.hosts` of the policy; name it there, or remove the server"
                    ));
                }
                policy = rules.allow_private(policy);
            }
        }
        policy.check().map_err(|error| error.to_string())?;
        policy.check_url(url).map_err(|error| {
            format!("{error}; name the host in `egress.private` of the policy if it is meant")
        })?;
        Ok(policy.network(self.file.network.network()?))
    }

    /// Returns the addresses to which the login at a server may go: those of the rules, or public
    /// ones, and those of this machine if the server is there.
    pub(crate) fn egress_of_login(&self, url: &Url) -> Result<EgressPolicy, String> {
        if self.file.egress.is_some() {
            return self.egress_of(url);
        }
        let policy = EgressPolicy::new();
        let is_local = is_local(url.host_str().unwrap_or_default());
        let policy = if is_local {
            policy.allow_loopback()
        } else {
            policy
        };
        Ok(policy.network(self.file.network.network()?))
    }

    /// Returns true if a prompt, or a template of URIs, is offered.
    pub(crate) fn allows(&self, name: &str) -> bool {
        self.offers(|pattern| matches_wildcards(pattern, name))
    }

    /// Returns true if a tool is offered.
    pub(crate) fn allows_tool(&self, tool: &str) -> bool {
        self.offers(|pattern| matches_tool(pattern, tool))
    }

    fn offers(&self, matches: impl Fn(&str) -> bool) -> bool {
        let is_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern));
        is_in(&self.file.allow) && !is_in(&self.file.deny)
    }

    /// Returns true if a URI is offered. All that a reader could take it for has to be.
    pub(crate) fn allows_uri(&self, uri: &str) -> bool {
        let allow = &self.file.allow;
        let deny = &self.file.deny;
        if deny.is_empty() && allow.iter().any(|pattern| pattern == "*") {
            return true;
        }
        let is_offered = |spelling: &Spelling| {
            let matches = |pattern: &str| matches_wildcards(pattern, &spelling.text);
            let is_denied = |pattern: &String| {
                LeftOut::default()
                    .forms_of(pattern)
                    .iter()
                    .any(|form| matches(form))
            };
            let is_allowed = |pattern: &String| {
                spelling
                    .without
                    .forms_of(pattern)
                    .iter()
                    .any(|form| matches(form))
            };
            // Without the slash at its end, a folder is no other one.
            let is_allowed = spelling.without.end_slash || allow.iter().any(is_allowed);
            is_allowed && !deny.iter().any(is_denied)
        };
        spellings(uri).is_some_and(|spellings| spellings.iter().all(is_offered))
    }

    /// Applies all rules that match a tool, in order. A later one replaces what an earlier one has
    /// set. Only what they ask for approval adds up, until a rule has `confirm = false`: that takes back
    /// what the rules before it ask, and nothing that the tool or a hook asks.
    pub(crate) fn govern(&self, tool: &FunctionTool, server: &str) -> FunctionTool {
        let name = tool.name();
        let timeout = self.last(name, |rule| rule.timeout);
        let timeout = timeout.map_or_else(|| self.server_timeout(server), |time| time.0);
        let mut governed = tool.timeout(timeout).upstream(server);
        if let Some(calls) = self.last(name, |rule| rule.max_calls) {
            governed = governed.max_calls(calls.get());
        }
        let characters = self.last(name, |rule| rule.max_output);
        if let Some(characters) = characters.or(self.file.limits.max_output) {
            governed = governed.max_output(characters.get());
        }
        if let Some(category) = self.last(name, |rule| rule.category) {
            governed = governed.category(category);
        }
        if let Some(modes) = self.last(name, |rule| rule.modes) {
            governed = governed.modes(modes.modes());
        }
        if self.last(name, |rule| rule.sequential) == Some(true) {
            governed = governed.sequential();
        }

        // A call of another tool is not made again, as it may have effects.
        let retries = self.retries_of(name);
        if let Some(retries) = retries.filter(|_| governed.definition().flags().idempotent) {
            governed = governed.retries(retries.get());
        }
        for rule in self.asking_rules(tool.name(), server) {
            governed = rule.ask(&governed);
        }
        governed
    }

    /// Returns the retries that the rules give a tool, if it may have some.
    fn retries_of(&self, tool: &str) -> Option<NonZeroU32> {
        self.last(tool, |rule| rule.retries)
    }

    /// Returns what applies to a tool that is offered, as `--check` shows it beside the tool's name.
    pub(crate) fn shown(&self, tool: &ToolDefinition, server: &str) -> Vec<String> {
        let name = tool.name();
        let mut shown = vec![tool.category().as_str().to_owned()];
        if tool.flags().sequential {
            shown.push("sequential".to_owned());
        }
        shown.extend(self.shown_approval(tool, server));
        let options = tool.set_options();
        let options = options.iter().rev();
        shown.extend(options.map(|option| format!("{} {}", option.name, option.with_unit())));
        shown.extend(self.shown_limits(name));
        if self.retries_of(name).is_some() && tool.retries().is_none() {
            shown.push("no retries, as it may have effects".to_owned());
        }
        if let Some(member) = self.approval_of(name, server) {
            let effect = if self.honours_approvals(server) {
                "honoured"
            } else {
                "not honoured"
            };
            shown.push(format!("{member} {effect}"));
        }
        shown
    }

    /// Returns which calls of a tool a person approves.
    fn shown_approval(&self, tool: &ToolDefinition, server: &str) -> Option<String> {
        let rules = self.asking_rules(tool.name(), server);
        let conditions = rules.iter().filter_map(|rule| rule.asks()?.condition());
        let conditions = conditions.collect::<Vec<_>>();

        let confirm = tool.confirm();
        if conditions.is_empty() || matches!(confirm, Confirm::Always) {
            return confirm.label().map(str::to_owned);
        }
        Some(format!("confirm if {}", conditions.join(" or ")))
    }

    /// Returns the limits of a tool's calls that hold over all sessions.
    fn shown_limits(&self, tool: &str) -> Vec<String> {
        let rate = self.last(tool, |rule| rule.rate);
        let at_once = self.last(tool, |rule| rule.max_concurrent);
        let breaker = self.last(tool, |rule| rule.circuit_breaker);
        let shown = [
            rate.map(|rate| format!("rate {}/{:?}", rate.calls, rate.per)),
            at_once.map(|calls| format!("max_concurrent {calls}")),
            breaker.map(|breaker| format!("circuit_breaker {}", breaker.failures)),
        ];
        shown.into_iter().flatten().collect()
    }

    /// Returns the rules that ask for the approval of a tool's calls.
    fn asking_rules(&self, tool: &str, server: &str) -> Vec<&ToolRule> {
        let mut asking = Vec::new();
        if self.honours_approvals(server) && self.approval_of(tool, server).is_some() {
            return asking;
        }
        for rule in self.rules_of(tool) {
            match rule.asks() {
                None => {}
                Some(Asks::Never) => asking.clear(),
                Some(_) => asking.push(rule),
            }
        }
        asking
    }

    /// Notes the tools that the users of the servers' file have approved.
    pub(crate) fn set_approved(&mut self, servers: &[ServerEntry]) {
        self.approved = servers
            .iter()
            .map(|server| (server.name.clone(), server.approved.clone()))
            .collect();
    }

    /// Returns true if the approvals of the servers' file hold for a server.
    fn honours_approvals(&self, server: &str) -> bool {
        self.server(server).is_some_and(|rule| rule.auto_approve)
    }

    /// Returns the member of the servers' file that approves a tool, by the name under which it is
    /// offered.
    fn approval_of(&self, tool: &str, server: &str) -> Option<&'static str> {
        let prefix = self.prefix_of(server);
        let own = prefix
            .and_then(|prefix| tool.strip_prefix(&*prefix)?.strip_prefix('_'))
            .unwrap_or(tool);
        self.approved.get(server)?.member_of(own)
    }

    /// Returns the rules that hold for a tool, in their order.
    fn rules_of(&self, tool: &str) -> impl DoubleEndedIterator<Item = &ToolRule> {
        self.file.tools.iter().filter(move |rule| {
            rule.patterns
                .iter()
                .any(|pattern| matches_tool(pattern, tool))
        })
    }

    /// Returns what the last of a tool's rules that sets something has set.
    fn last<T>(&self, tool: &str, set: impl Fn(&ToolRule) -> Option<T>) -> Option<T> {
        self.rules_of(tool).rev().find_map(set)
    }

    /// Returns the price of a call of a tool, which is that of the last rule with one.
    pub(crate) fn cost_of(&self, tool: &str) -> Option<Cost> {
        Some(self.last(tool, |rule| rule.cost)?.0)
    }

    /// Returns false if no call of a tool is sent again after its server was lost, whatever the
    /// server says of it: the last rule with a `resend` or a category decides.
    pub(crate) fn resends(&self, tool: &str) -> bool {
        let says = |rule: &ToolRule| {
            rule.resend.or(rule
                .category
                .map(|category| category == Category::Retrieval))
        };
        self.last(tool, says).unwrap_or(true)
    }

    /// Returns the patterns of rules that match none of these tools.
    pub(crate) fn unused_patterns(&self, tools: &[&str]) -> Vec<&str> {
        let patterns = self
            .file
            .tools
            .iter()
            .flat_map(|rule| &rule.patterns)
            .map(String::as_str);
        patterns
            .filter(|pattern| !tools.iter().any(|tool| matches_tool(pattern, tool)))
            .collect()
    }

    /// Returns the arguments by which the rules decide on the approval of a tool's calls, if the tool
    /// has none of them, so that no call is confirmed.
    pub(crate) fn missing_arguments(
        &self,
        tool: &ToolDefinition,
        server: &str,
    ) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for rule in self.asking_rules(tool.name(), server) {
            names.extend(rule.asks()?.arguments()?);
        }
        names.sort_unstable();
        names.dedup();
        let has = |name: &String| may_have_argument(tool.parameters(), name);
        (!names.is_empty() && !names.iter().any(has)).then_some(names)
    }

    /// Returns the time limit of a server's calls for which no rule sets another.
    fn server_timeout(&self, server: &str) -> Duration {
        let own = self.server(server).and_then(|rule| rule.timeout);
        own.unwrap_or(self.file.limits.deadline).0
    }

    /// Returns the prefix of a server's tools. Returns `None` for a server without a prefix.
    pub(crate) fn prefix_of(&self, server: &str) -> Option<String> {
        let own = self.server(server).and_then(|rule| rule.prefix.clone());
        let prefix = own.unwrap_or_else(|| PREFIX.nearest(server).into_owned());
        (!prefix.is_empty()).then_some(prefix)
    }
}

impl ToolRule {
    /// Returns a tool whose calls need the approval that the rule asks for. The person reads the reason
    /// of the rule.
    fn ask(&self, tool: &FunctionTool) -> FunctionTool {
        let own = self.confirm_reason.clone();
        match self.asks() {
            None | Some(Asks::Never) => tool.clone(),
            Some(Asks::Always(reason)) => tool.confirm_because(own.unwrap_or(reason)),
            Some(condition) => {
                let definition = tool.definition().clone();
                tool.confirm_where(move |arguments: &str| {
                    let met = condition.reason(arguments, definition.parameters())?;
                    Some(own.clone().unwrap_or(met))
                })
            }
        }
    }
}

impl Default for GatewayPolicy {
    fn default() -> Self {
        Self::new(empty_table())
    }
}

/// Returns a host, or a pattern of hosts, in the form in which they are compared.
fn comparable(host: &str) -> String {
    normalised_host(host).unwrap_or_else(|| host.to_ascii_lowercase())
}

fn is_address(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tool_core::{RawTool, RunContext};

    fn policy(text: &str) -> GatewayPolicy {
        let problems = Problems::new("policy.toml");
        let policy = GatewayPolicy::parse(text, Path::new(""), &problems, &Expand::default());
        assert_eq!(problems.into_vec(), [""; 0]);
        policy
    }

    /// Returns the problems of a policy.
    fn problems(text: &str) -> Vec<String> {
        let problems = Problems::new("policy.toml");
        GatewayPolicy::parse(text, Path::new(""), &problems, &Expand::default());
        problems.into_vec()
    }

    /// Returns what `--check` shows of a tool under a policy.
    fn shown(text: &str, category: Category) -> String {
        let declared = RawTool {
            name: "one_write".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        let handler = async |arguments: Value, _: &RunContext| Ok(arguments);
        let tool = FunctionTool::raw(declared, handler).category(category);

        let policy = policy(text);
        let governed = policy.govern(&tool, "one");
        policy.shown(governed.definition(), "one").join(", ")
    }

    // T31
    #[test]
    fn hosts_of_egress_are_compared_in_one_form() {
        let policy = policy(
            "[egress]\nhosts = ['*.bücher.example', 'API.example']\nprivate = ['::1', 'intern.example']",
        );
        for (url, is_allowed) in [
            ("https://www.bücher.example/mcp", true),
            ("https://api.example./mcp", true),
            ("http://[::1]:3000/mcp", true),
            ("https://INTERN.example/mcp", true),
            ("https://api.example.org/mcp", false),
            ("http://[::2]:3000/mcp", false),
        ] {
            let url = Url::parse(url).expect("a URL");
            assert_eq!(policy.egress_of(&url).is_ok(), is_allowed, "{url}");
        }
    }

    #[test]
    fn an_address_in_a_private_network_is_allowed() {
        let policy = policy(
            "[egress]\nhosts = ['*.corp.example']\nprivate = ['10.1.0.0/16', 'fd00:1::/32']",
        );
        for (url, is_allowed) in [
            ("http://10.1.2.3/mcp", true),
            ("http://[fd00:1::7]/mcp", true),
            ("http://10.2.0.1/mcp", false),
            ("http://192.0.2.1/mcp", false),
            ("http://1.1.1.1/mcp", false),
        ] {
            let url = Url::parse(url).expect("a URL");
            assert_eq!(policy.egress_of(&url).is_ok(), is_allowed, "{url}");
        }
    }

    #[test]
    fn check_shows_the_limits_over_all_sessions() {
        let rule = "[[tools]]\nmatch = 'one_*'\nrate = '5/1m'\nmax_concurrent = 2\nretries = 3\n\
            circuit_breaker = { failures = 4 }";
        let limits = "rate 5/60s, max_concurrent 2, circuit_breaker 4";
        assert_eq!(
            shown(rule, Category::Retrieval),
            format!("retrieval, retries 3, timeout 30s, {limits}")
        );
        assert_eq!(
            shown(rule, Category::Action),
            format!("action, timeout 30s, {limits}, no retries, as it may have effects")
        );
    }

    #[test]
    fn a_later_rule_takes_back_what_an_earlier_one_has_set() {
        let first = "[[tools]]\nmatch = '*'\nsequential = true\nmax_output = 500\n";
        assert_eq!(
            shown(first, Category::Action),
            "action, sequential, max_output 500 characters, timeout 30s"
        );
        let second = "[[tools]]\nmatch = 'one_*'\nsequential = false\nmax_output = 9\n";
        assert_eq!(
            shown(&format!("{first}{second}"), Category::Action),
            "action, max_output 9 characters, timeout 30s"
        );
    }

    #[test]
    fn check_shows_which_calls_a_person_approves() {
        let all = "[[tools]]\nmatch = '*'\nconfirm = true\n";
        let none = "[[tools]]\nmatch = '*'\nconfirm = false\n";
        let some = "[[tools]]\nmatch = '*'\nconfirm_if = { path = '/etc/*' }\n";
        let others = "[[tools]]\nmatch = '*'\nconfirm_if = { mode = 'w' }\n";
        for (rules, expected) in [
            (vec![none], "action, timeout 30s"),
            (vec![all], "action, confirm, timeout 30s"),
            (vec![some, all], "action, confirm, timeout 30s"),
            (vec![all, none], "action, timeout 30s"),
            (
                vec![all, none, some],
                "action, confirm if `path` matches `/etc/*`, timeout 30s",
            ),
            (
                vec![some, others],
                "action, confirm if `path` matches `/etc/*` or `mode` matches `w`, timeout 30s",
            ),
        ] {
            let rules = rules.concat();
            assert_eq!(shown(&rules, Category::Action), expected, "{rules}");
        }
    }

    #[test]
    fn a_rule_asks_by_one_key() {
        let rule = |keys: &str| problems(&format!("[[tools]]\nmatch = '*'\n{keys}"));
        let patterns = "confirm_if = { path = '/etc/*' }";
        for confirm in ["confirm = true", "confirm = false"] {
            assert_eq!(
                rule(&format!("{confirm}\n{patterns}")),
                [
                    "policy.toml:4:1: tools[0].confirm_if: expected no `confirm` beside it; put one of them into another rule"
                ]
            );
        }
    }

    #[test]
    fn a_reason_needs_a_key_that_asks() {
        let rule = |key: &str| {
            problems(&format!(
                "[[tools]]\nmatch = '*'\n{key}\nconfirm_reason = 'it writes'"
            ))
        };
        for key in ["", "confirm = false"] {
            let found = rule(key);
            let expected = "policy.toml:4:1: tools[0].confirm_reason: expected `confirm = true` or `confirm_if`";
            assert!(
                found.len() == 1 && found[0].starts_with(expected),
                "{found:?}"
            );
        }
        for key in ["confirm = true", "confirm_if = { path = '/etc/*' }"] {
            assert_eq!(rule(key), [""; 0]);
        }
    }

    #[test]
    fn a_reason_beside_a_key_that_cannot_be_read_is_fine() {
        let text = "[[tools]]\nmatch = '*'\nconfirm = 'yes'\nconfirm_reason = 'it writes'";
        let found = problems(text);
        assert!(
            found.len() == 1 && found[0].ends_with("expected true or false, got a text"),
            "{found:?}"
        );
    }

    #[test]
    fn patterns_match_the_names_that_clients_see() {
        let text = "deny = '*_delete_repository'\n[[tools]]\nmatch = '*_write_*'\nconfirm = true\ncost = 1";
        let policy = policy(text);
        for between in ["_", ":", "/"] {
            assert!(
                !policy.allows_tool(&format!("gh_delete{between}repository")),
                "{between}"
            );
            assert!(
                policy
                    .cost_of(&format!("gh{between}write{between}file"))
                    .is_some(),
                "{between}"
            );
        }
        assert!(
            policy.allows_tool("gh_delete.repository") && policy.cost_of("gh.write.file").is_none()
        );
        assert!(
            policy.allows("notes://delete/repository"),
            "URIs stay as they are"
        );
    }
}
