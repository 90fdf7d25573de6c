//! The policies of a gateway: the contents of `policy.toml`, with defaults.

use crate::conditions::{Condition, asks};
use crate::config::{ServerEntry, Target};
use crate::document::Fields;
use crate::problems::{Problems, join};
use crate::source;
use crate::spellings::{LeftOut, Spelling, spellings};
use crate::tool_choice::{ApprovedTools, matches_tool};
use crate::value::{self, Expand, Secret, read_bounded};
use reqwest::{Certificate, Url};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tool_adapters_http::base_url::is_local;
use tool_adapters_http::bearer::BearerToken;
use tool_adapters_http::egress::EgressPolicy;
use tool_adapters_http::egress::network::{Network, ProxySettings, proxy_url};
use tool_adapters_mcp::Server;
use tool_adapters_providers::tool_names::NameRule;
use tool_core::arguments::nearest;
use tool_core::call::Modes;
use tool_core::session::{CapScope, ToolSearch};
use tool_core::text::matches_wildcards;
use tool_core::tool::Confirm;
use tool_core::trace::{Cost, Redaction};
use tool_core::{Category, FunctionTool, Mode, Policy, ToolDefinition};
use zeroize::Zeroizing;

/// The default address over HTTP.
pub(crate) const LISTEN: SocketAddr =
    SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// The prefixes of servers, which leave room for the names of their tools.
const PREFIX: NameRule = NameRule {
    punctuation: "-",
    any_first: true,
    max_length: 40,
};

/// The amounts that are read.
const DOLLARS: &str = "an amount of US dollars such as 0.05";

/// All policies of a gateway.
#[derive(Clone)]
pub(crate) struct GatewayPolicy {
    pub(crate) fixed: FixedSettings,
    /// The policy of sessions.
    pub(crate) session: Policy,
    pub(crate) redaction: Redaction,
    pub(crate) max_arguments: usize,
    pub(crate) max_result: usize,
    pub(crate) deadline: Duration,
    /// The characters of a result.
    pub(crate) max_output: Option<usize>,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) tools: Vec<ToolRule>,
    pub(crate) servers: BTreeMap<String, ServerRule>,
    pub(crate) pins: Option<PathBuf>,
    pub(crate) pinned_only: bool,
    pub(crate) egress: Option<EgressRules>,
    pub(crate) principals: Vec<Principal>,
    /// The values of `${input:ID}` in the file of the servers.
    pub(crate) inputs: BTreeMap<String, Secret>,
    pub(crate) network: NetworkSettings,
    /// The value of `${workspaceFolder}` there.
    pub(crate) workspace_folder: Option<PathBuf>,
    /// The tools of each server that its user has approved once and for all.
    approved: BTreeMap<String, ApprovedTools>,
}

/// The settings that a running gateway does not change.
#[derive(Clone, PartialEq)]
pub(crate) struct FixedSettings {
    pub(crate) name: String,
    pub(crate) instructions: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) turn_after: Duration,
    pub(crate) startup: Duration,
    pub(crate) max_message: usize,
    pub(crate) max_http_sessions: Option<usize>,
    pub(crate) max_sessions_per_client: Option<usize>,
    pub(crate) idle_timeout: Duration,
    pub(crate) confirm_timeout: Duration,
    pub(crate) approval_wait: Duration,
    pub(crate) http: HttpSettings,
    pub(crate) admin: AdminSettings,
    pub(crate) inspector: Option<InspectorSettings>,
    pub(crate) audit: AuditSettings,
    pub(crate) otel: Option<OtelSettings>,
    pub(crate) sessions: SessionSettings,
    /// True if calls have prices.
    pub(crate) has_costs: bool,
}

#[derive(Clone, PartialEq)]
pub(crate) struct HttpSettings {
    pub(crate) listen: SocketAddr,
    pub(crate) path: String,
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) origins: Option<Vec<String>>,
    pub(crate) allow_anonymous: bool,
    /// True if clients are known by tokens.
    pub(crate) has_principals: bool,
    pub(crate) max_connections_per_address: Option<usize>,
}

#[derive(Clone, Default, PartialEq)]
pub(crate) struct AdminSettings {
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) token: Option<Zeroizing<String>>,
    /// True if the gateway is ready only while all servers are connected.
    pub(crate) needs_all: bool,
}

#[derive(Clone, PartialEq)]
pub(crate) struct InspectorSettings {
    pub(crate) listen: SocketAddr,
    pub(crate) token: Option<Zeroizing<String>>,
}

#[derive(Clone, Default, PartialEq)]
pub(crate) struct AuditSettings {
    pub(crate) file: Option<PathBuf>,
    pub(crate) postgres: Option<Zeroizing<String>>,
    /// True if no call runs while its record cannot be kept.
    pub(crate) required: bool,
}

#[derive(Clone, PartialEq)]
pub(crate) struct OtelSettings {
    pub(crate) endpoint: String,
    pub(crate) headers: Vec<(String, Zeroizing<String>)>,
    pub(crate) content: bool,
}

#[derive(Clone, Default, PartialEq)]
pub(crate) struct SessionSettings {
    pub(crate) redis: Option<Zeroizing<String>>,
    pub(crate) prefix: Option<String>,
    pub(crate) signing_key: Option<Zeroizing<[u8; 32]>>,
}

/// A client that is known by its token.
#[derive(Clone)]
pub(crate) struct Principal {
    pub(crate) name: String,
    pub(crate) token: BearerToken,
}

/// The options of the tools whose names match.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolRule {
    pub(crate) patterns: Vec<String>,
    confirm: Option<bool>,
    /// Arguments, and patterns of the values for which a person approves a call.
    confirm_if: Vec<Condition>,
    timeout: Option<Duration>,
    max_calls: Option<u32>,
    /// The price of a call.
    cost: Option<Cost>,
    max_output: Option<usize>,
    category: Option<Category>,
    modes: Option<Modes>,
    sequential: Option<bool>,
    /// False if a call is not sent again after its server was lost.
    resend: Option<bool>,
}

/// The options of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerRule {
    pub(crate) prefix: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) pinned_only: Option<bool>,
    pub(crate) env_from_parent: Vec<String>,
    pub(crate) allow_unencrypted: bool,
    /// True if the approvals of the servers' file hold.
    pub(crate) auto_approve: bool,
    pub(crate) rights: ServerRights,
    pub(crate) login: Option<crate::login::LoginSettings>,
}

/// The requests that a server may make to the client of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerRights {
    /// True if it may ask the user, by forms and pages.
    pub(crate) elicitation: bool,
    /// True if it learns the folders.
    pub(crate) roots: bool,
    /// The requests to the model and their tokens, in a session.
    pub(crate) sampling: Option<(u32, u64)>,
}

/// The way to servers with a `url`.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct NetworkSettings {
    /// The address of a proxy, or an empty text for none. `None` takes that of the environment.
    proxy: Option<Secret>,
    no_proxy: Option<Vec<String>>,
    /// The contents of a file of certificates.
    certificates: Vec<u8>,
}

impl NetworkSettings {
    /// Reads the table. A relative path is of `folder`.
    fn read(mut fields: Fields<'_>, folder: &Path) -> Self {
        let mut settings = Self {
            proxy: fields.text("proxy").map(Zeroizing::new),
            no_proxy: fields.texts("no_proxy"),
            certificates: Vec::new(),
        };
        if let Some(proxy) = settings.proxy.as_deref().filter(|proxy| !proxy.is_empty())
            && let Err(problem) = proxy_url(proxy)
        {
            fields.problem("proxy", format_args!("{problem}, or \"\" for none"));
        }
        if let Some(file) = fields.text("ca_file").map(|file| folder.join(file)) {
            match read_bounded(&file, MAX_CERTIFICATES) {
                Ok(text) => settings.certificates = text.into_bytes(),
                Err(error) => {
                    fields.problem("ca_file", format_args!("{}: {error}", file.display()));
                }
            }
            let found = Certificate::from_pem_bundle(&settings.certificates);
            if !settings.certificates.is_empty() && found.is_ok_and(|found| found.is_empty()) {
                let expected =
                    "expected certificates in PEM, `-----BEGIN CERTIFICATE-----`, got none";
                fields.problem("ca_file", format_args!("{}: {expected}", file.display()));
            }
        }
        fields.finish();
        settings
    }

    /// Returns the way, with the variables of the environment.
    fn network(&self) -> Result<Network, String> {
        let mut proxies = ProxySettings::from_env(|name| std::env::var(name).ok());
        if let Some(proxy) = &self.proxy {
            let address = Some(proxy.to_string()).filter(|proxy| !proxy.is_empty());
            (proxies.https, proxies.http) = (address.clone(), address);
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

/// Maximum number of bytes of a file of certificates.
const MAX_CERTIFICATES: u64 = 4 << 20;

/// The hosts of servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EgressRules {
    /// Patterns of names. `None` allows all public hosts.
    pub(crate) hosts: Option<Vec<String>>,
    /// Names, addresses and networks that are not public.
    pub(crate) private: Vec<String>,
}

impl GatewayPolicy {
    /// Reads a policy. Relative paths are of `folder`.
    pub(crate) fn parse(text: &str, folder: &Path, problems: &Problems, expand: &Expand) -> Self {
        let document = source::toml(text, problems);
        let empty = || {
            Fields::new(
                Value::Object(serde_json::Map::new()),
                String::new(),
                problems,
                expand,
            )
        };
        match Fields::new(document, String::new(), problems, expand).or_else(empty) {
            Some(fields) => Self::read(fields, folder),
            None => Self::default(),
        }
    }

    fn read(mut fields: Fields<'_>, folder: &Path) -> Self {
        let mut policy = Self::default();
        let fixed = &mut policy.fixed;
        set(&mut fixed.name, fields.text("name"));
        fixed.instructions = fields.text("instructions");
        set(
            &mut fixed.mode,
            fields.choice("mode", &[("text", Mode::Text), ("voice", Mode::Voice)]),
        );
        policy.allow = patterns(&mut fields, "allow").unwrap_or(policy.allow);
        policy.deny = patterns(&mut fields, "deny").unwrap_or_default();
        if let Some(table) = fields.table("redaction") {
            policy.redaction = read_redaction(table);
        }
        if let Some(table) = fields.table("limits") {
            policy.read_limits(table);
        }
        policy.session = policy.session.clone().redaction(policy.redaction.clone());
        policy.tools = fields.tables("tools").into_iter().map(read_tool).collect();
        policy.servers = fields
            .named_tables("servers")
            .into_iter()
            .map(|(name, table)| (name, read_server(table, folder)))
            .collect();
        let inputs = fields.text_table("inputs").into_iter();
        policy.inputs = inputs
            .map(|(id, value)| (id, Zeroizing::new(value)))
            .collect();
        policy.workspace_folder = fields
            .text("workspace_folder")
            .map(|path| folder.join(path));
        if let Some(mut table) = fields.table("pins") {
            if !table.has("file") {
                table.problem(
                    "file",
                    "expected the file of the pins, such as \"mcp.pins.json\"; without one, remove `[pins]`",
                );
            }
            policy.pins = table.text("file").map(|file| folder.join(file));
            set(&mut policy.pinned_only, table.flag("pinned_only"));
            table.finish();
        }
        policy.egress = fields.table("egress").map(read_egress);
        if let Some(table) = fields.table("network") {
            policy.network = NetworkSettings::read(table, folder);
        }
        if let Some(table) = fields.table("http") {
            policy.read_http(table);
        }
        let fixed = &mut policy.fixed;
        fixed.has_costs = policy.tools.iter().any(|rule| rule.cost.is_some());
        fixed.admin = fields.table("admin").map(read_admin).unwrap_or_default();
        fixed.inspector = fields.table("inspector").map(read_inspector);
        fixed.audit = fields
            .table("audit")
            .map(|table| read_audit(table, folder))
            .unwrap_or_default();
        fixed.otel = fields.table("otel").and_then(read_otel);
        fixed.sessions = fields
            .table("sessions")
            .map(read_sessions)
            .unwrap_or_default();
        fields.finish();
        policy
    }

    /// Returns the secrets that are in files of their own: the server of each, the file, and the place of the secret.
    pub(crate) fn secret_files(&mut self) -> Vec<(&str, &Path, &mut Option<Secret>)> {
        let files = self.servers.iter_mut().filter_map(|(server, rule)| {
            let (file, secret) = rule.login.as_mut()?.secret_file()?;
            Some((server.as_str(), file, secret))
        });
        files.collect()
    }

    fn read_limits(&mut self, mut fields: Fields<'_>) {
        let fixed = &mut self.fixed;
        set(&mut fixed.turn_after, fields.duration("turn_after"));
        set(&mut fixed.startup, fields.duration("startup"));
        set(&mut fixed.max_message, fields.size("max_message"));
        set(&mut fixed.idle_timeout, fields.duration("idle_timeout"));
        set(
            &mut fixed.confirm_timeout,
            fields.duration("approval_lifetime"),
        );
        set(&mut fixed.approval_wait, fields.duration("approval_wait"));
        let sessions = fields.count("max_sessions");
        fixed.max_http_sessions = sessions.and_then(|sessions| sessions.try_into().ok());
        fixed.max_sessions_per_client = fields
            .count("max_sessions_per_client")
            .and_then(|each| each.try_into().ok());
        set(&mut self.deadline, fields.duration("deadline"));
        set(&mut self.max_arguments, fields.size("max_arguments"));
        set(&mut self.max_result, fields.size("max_result"));
        self.max_output = fields
            .count("max_output")
            .and_then(|characters| characters.try_into().ok());
        let mut policy = self.session.clone();
        policy = policy
            .max_calls(fields.count("max_calls"))
            .category_budget(Category::Retrieval, fields.count("retrieval"))
            .category_budget(Category::Action, fields.count("action"))
            .category_budget(Category::Utility, fields.count("utility"))
            .repeated_calls(fields.count("repeated_calls"))
            .max_empty_results(fields.count("empty_results"))
            .deadline(self.deadline)
            .idle_timeout(self.fixed.idle_timeout)
            .confirmation_lifetime(self.fixed.confirm_timeout)
            .warn_after(fields.duration("warn_after"))
            .result_cache_ttl(fields.duration("result_cache"));
        let always = patterns(&mut fields, "search_always");
        if let Some(tools) = fields.count("search_over") {
            let search = ToolSearch::over_tools(usize::try_from(tools).unwrap_or(usize::MAX));
            policy = policy.search_tools(search.always(always.unwrap_or_default()));
        } else if always.is_some() {
            fields.problem(
                "search_always",
                "expected `search_over` too, as all tools are declared without it",
            );
        }
        if let Some(sessions) = sessions {
            policy = policy.max_sessions(sessions.into());
        }
        if let Some(calls) = fields
            .count("concurrent_calls")
            .and_then(|calls| calls.try_into().ok())
        {
            policy = policy.concurrent_calls(calls);
        }
        if let Some(calls) = fields.count("max_approvals") {
            policy = policy.max_approvals(calls);
        }
        if let Some(deadline) = fields.duration("store_deadline") {
            policy = policy.store_deadline(deadline);
        }
        let caps = [
            (CapScope::Turn, fields.duration("max_time_per_turn")),
            (CapScope::Session, fields.duration("max_time_per_session")),
            (
                CapScope::Principal,
                fields.duration("max_time_per_principal"),
            ),
        ];
        for (scope, time) in caps {
            if time.is_some() {
                policy = policy.max_time(scope, time);
            }
        }
        let caps = [
            (
                CapScope::Turn,
                fields.read("max_cost_per_turn", DOLLARS, value::dollars),
            ),
            (
                CapScope::Session,
                fields.read("max_cost_per_session", DOLLARS, value::dollars),
            ),
            (
                CapScope::Principal,
                fields.read("max_cost_per_principal", DOLLARS, value::dollars),
            ),
        ];
        for (scope, cost) in caps {
            if cost.is_some() {
                policy = policy.max_cost(scope, cost);
            }
        }
        match fields.duration("principal_window") {
            Some(window) if window < Duration::from_secs(1) => {
                fields.problem("principal_window", "expected at least \"1s\"");
            }
            Some(window) => policy = policy.principal_window(window),
            None => {}
        }
        self.session = policy;
        fields.finish();
    }

    fn read_http(&mut self, mut fields: Fields<'_>) {
        let http = &mut self.fixed.http;
        set(&mut http.listen, address(&mut fields));
        http.hosts = fields.texts("hosts");
        http.origins = fields.texts("origins");
        set(&mut http.allow_anonymous, fields.flag("allow_anonymous"));
        http.max_connections_per_address = fields
            .count("max_connections_per_address")
            .and_then(|each| each.try_into().ok());
        if let Some(path) = fields.text("path") {
            if path.starts_with('/') && path.len() > 1 && !path.contains(['{', '}', '*', '?', '#'])
            {
                http.path = path;
            } else {
                fields.problem("path", "expected a path such as \"/mcp\"");
            }
        }
        for mut principal in fields.tables("principals") {
            let has_token = principal.has("token");
            let (name, token) = (
                principal.text("name"),
                principal.text("token").map(Zeroizing::new),
            );
            // A text that cannot be read was reported.
            let is_unread = has_token && token.is_none();
            if name.as_ref().is_none_or(|name| name.trim().is_empty()) {
                principal.problem("name", "expected the name of a client");
            }
            let token = BearerToken::new(token.as_deref().map_or("", String::as_str));
            if token.problem().is_some() && !is_unread {
                principal.problem(
                    "token",
                    "expected at least 16 visible ASCII characters, such as of `openssl rand -hex 24`",
                );
            }
            if let Some(name) = name
                .as_ref()
                .filter(|name| self.principals.iter().any(|other| other.name == **name))
            {
                principal.problem(
                    "name",
                    format_args!("expected a name of its own, got `{name}` again"),
                );
            }
            if let Some(other) = self
                .principals
                .iter()
                .find(|other| other.token.is_same(&token))
            {
                principal.problem(
                    "token",
                    format_args!("expected a token of its own, got that of `{}`", other.name),
                );
            }
            self.principals.push(Principal {
                name: name.unwrap_or_default(),
                token,
            });
            principal.finish();
        }
        http.has_principals = !self.principals.is_empty();
        fields.finish();
    }

    /// Checks the addresses that the gateway listens on, and the address of `--http`. One that other machines can reach needs the
    /// names of this machine, and a check of its clients.
    pub(crate) fn check_addresses(&self, of_option: Option<SocketAddr>, problems: &Problems) {
        let (http, admin) = (&self.fixed.http, &self.fixed.admin);
        let clients = (
            "`http.principals` (or `http.allow_anonymous`)",
            http.has_principals || http.allow_anonymous,
        );
        let addresses = [
            ("http.listen", Some(http.listen), clients),
            ("--http", of_option, clients),
            (
                "admin.listen",
                admin.listen,
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
            .servers
            .iter()
            .filter(|(_, rule)| rule.pinned_only == Some(true) && self.pins.is_none())
        {
            problems.add(
                &join(&join("servers", name), "pinned_only"),
                "expected `pins.file` too, as no tool is pinned without it",
            );
        }
        for server in servers {
            if matches!(server.target, Target::Command { .. })
                && self
                    .servers
                    .get(&server.name)
                    .is_some_and(|rule| rule.login.is_some())
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
        let host = url.host_str().unwrap_or_default();
        let mut policy = EgressPolicy::new();
        match &self.egress {
            // The address in the file is one that a person has chosen. A name may resolve to any address.
            None if is_address(host) => policy = policy.allow_host(host),
            None => {}
            Some(rules) => {
                let is_private = rules
                    .private
                    .iter()
                    .any(|named| named.eq_ignore_ascii_case(host));
                let hosts = rules.hosts.iter().flatten();
                let is_allowed = rules.hosts.is_none()
                    || hosts
                        .into_iter()
                        .any(|pattern| matches_wildcards(&pattern.to_ascii_lowercase(), host));
                if !is_private && !is_allowed {
                    return Err(format!(
                        "the host `{host}` is not among `egress.hosts` of the policy; name it there, or remove the server"
                    ));
                }
                for named in &rules.private {
                    policy = if named.contains('/') {
                        policy.allow_network(named)
                    } else {
                        policy.allow_host(named)
                    };
                }
            }
        }
        policy.check().map_err(|error| error.to_string())?;
        policy.check_url(url).map_err(|error| {
            format!("{error}; name the host in `egress.private` of the policy if it is meant")
        })?;
        Ok(policy.network(self.network.network()?))
    }

    /// Returns the addresses to which the login at a server may go: those of the rules, or public ones, and those of this machine if the
    /// server is there.
    pub(crate) fn egress_of_login(&self, url: &Url) -> Result<EgressPolicy, String> {
        if self.egress.is_some() {
            return self.egress_of(url);
        }
        let policy = EgressPolicy::new();
        let is_local = is_local(url.host_str().unwrap_or_default());
        let policy = if is_local {
            policy.allow_loopback()
        } else {
            policy
        };
        Ok(policy.network(self.network.network()?))
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
        is_in(&self.allow) && !is_in(&self.deny)
    }

    /// Returns true if a URI is offered. All that a reader could take it for has to be.
    pub(crate) fn allows_uri(&self, uri: &str) -> bool {
        if self.deny.is_empty() && self.allow.iter().any(|pattern| pattern == "*") {
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
            let is_allowed = spelling.without.end_slash || self.allow.iter().any(is_allowed);
            is_allowed && !self.deny.iter().any(is_denied)
        };
        spellings(uri).is_some_and(|spellings| spellings.iter().all(is_offered))
    }

    /// Applies all rules that match a tool, in order. A later one replaces what an earlier one has set.
    pub(crate) fn govern(&self, tool: &FunctionTool, server: &str) -> FunctionTool {
        let timeout = self
            .servers
            .get(server)
            .and_then(|rule| rule.timeout)
            .unwrap_or(self.deadline);
        let mut governed = tool.timeout(timeout);
        if let Some(characters) = self.max_output {
            governed = governed.max_output(characters);
        }
        for rule in self.rules_of(tool.name()) {
            governed = rule.apply(&governed);
        }
        if self.honours_approvals(server) && self.approval_of(tool.name(), server).is_some() {
            governed = governed.confirm(Confirm::Never);
        }
        governed
    }

    /// Notes the tools that the users of the servers' file have approved.
    pub(crate) fn set_approved(&mut self, servers: &[ServerEntry]) {
        self.approved = servers
            .iter()
            .map(|server| (server.name.clone(), server.approved.clone()))
            .collect();
    }

    /// Returns true if the approvals of the servers' file hold for a server.
    pub(crate) fn honours_approvals(&self, server: &str) -> bool {
        self.servers
            .get(server)
            .is_some_and(|rule| rule.auto_approve)
    }

    /// Returns the member of the servers' file that approves a tool, by the name under which it is offered.
    pub(crate) fn approval_of(&self, tool: &str, server: &str) -> Option<&'static str> {
        let prefix = self.prefix_of(server);
        let own = prefix
            .and_then(|prefix| tool.strip_prefix(&*prefix)?.strip_prefix('_'))
            .unwrap_or(tool);
        self.approved.get(server)?.member_of(own)
    }

    /// Returns the rules that hold for a tool, in their order.
    fn rules_of(&self, tool: &str) -> impl DoubleEndedIterator<Item = &ToolRule> {
        self.tools.iter().filter(move |rule| {
            rule.patterns
                .iter()
                .any(|pattern| matches_tool(pattern, tool))
        })
    }

    /// Returns the price of a call of a tool, which is that of the last rule with one.
    pub(crate) fn cost_of(&self, tool: &str) -> Option<Cost> {
        self.rules_of(tool).rev().find_map(|rule| rule.cost)
    }

    /// Returns false if no call of a tool is sent again after its server was lost, whatever the server says of it: the last rule with a
    /// `resend` or a category decides.
    pub(crate) fn resends(&self, tool: &str) -> bool {
        let says = |rule: &ToolRule| {
            rule.resend.or(rule
                .category
                .map(|category| category == Category::Retrieval))
        };
        self.rules_of(tool).rev().find_map(says).unwrap_or(true)
    }

    /// Returns the patterns of rules that match none of these tools.
    pub(crate) fn unused_patterns(&self, tools: &[&str]) -> Vec<&str> {
        let patterns = self
            .tools
            .iter()
            .flat_map(|rule| &rule.patterns)
            .map(String::as_str);
        patterns
            .filter(|pattern| !tools.iter().any(|tool| matches_tool(pattern, tool)))
            .collect()
    }

    /// Returns the arguments of the rule that decides by arguments on the approval of a tool's calls, if the tool has none of them, so
    /// that no call is confirmed.
    pub(crate) fn missing_arguments(&self, tool: &ToolDefinition) -> Option<Vec<&str>> {
        let decides = |rule: &&ToolRule| rule.confirm.is_some() || !rule.confirm_if.is_empty();
        let names = self
            .rules_of(tool.name())
            .rfind(decides)?
            .confirm_if
            .iter()
            .map(|condition| condition.argument.as_str());
        let names = names.collect::<Vec<_>>();
        let has = |name: &&str| tool.parameters()["properties"].get(name).is_some();
        (!names.is_empty() && !names.iter().any(has)).then_some(names)
    }

    /// Returns the time limit of a server's connection and of its calls. No rule of a tool is cut by it.
    pub(crate) fn timeout_of(&self, server: &str) -> Duration {
        let longest = self
            .tools
            .iter()
            .filter_map(|rule| rule.timeout)
            .max()
            .unwrap_or_default();
        self.servers
            .get(server)
            .and_then(|rule| rule.timeout)
            .unwrap_or(self.deadline)
            .max(longest)
    }

    /// Returns the prefix of a server's tools. Returns `None` for a server without a prefix.
    pub(crate) fn prefix_of(&self, server: &str) -> Option<String> {
        let own = self
            .servers
            .get(server)
            .and_then(|rule| rule.prefix.clone());
        let prefix = own.unwrap_or_else(|| PREFIX.nearest(server).into_owned());
        (!prefix.is_empty()).then_some(prefix)
    }
}

impl ToolRule {
    fn apply(&self, tool: &FunctionTool) -> FunctionTool {
        let mut tool = tool.clone();
        if let Some(confirm) = self.confirm {
            tool = tool.confirm(if confirm {
                Confirm::Always
            } else {
                Confirm::Never
            });
        }
        if !self.confirm_if.is_empty() {
            let conditions = self.confirm_if.clone();
            let definition = tool.definition().clone();
            tool = tool.confirm_where(move |arguments| {
                asks(&conditions, arguments, definition.parameters())
            });
        }
        if let Some(timeout) = self.timeout {
            tool = tool.timeout(timeout);
        }
        if let Some(calls) = self.max_calls {
            tool = tool.max_calls(calls);
        }
        if let Some(characters) = self.max_output {
            tool = tool.max_output(characters);
        }
        if let Some(category) = self.category {
            tool = tool.category(category);
        }
        if let Some(modes) = self.modes {
            tool = tool.modes(modes);
        }
        if self.sequential == Some(true) {
            tool = tool.sequential();
        }
        tool
    }
}

impl Default for GatewayPolicy {
    fn default() -> Self {
        let (deadline, redaction) = (Duration::from_secs(30), Redaction::new());
        Self {
            fixed: FixedSettings::default(),
            session: Server::policy().redaction(redaction.clone()),
            redaction,
            max_arguments: 1 << 20,
            max_result: 1 << 20,
            deadline,
            max_output: None,
            allow: vec!["*".to_owned()],
            deny: Vec::new(),
            tools: Vec::new(),
            servers: BTreeMap::new(),
            pins: None,
            pinned_only: false,
            egress: None,
            principals: Vec::new(),
            inputs: BTreeMap::new(),
            network: NetworkSettings::default(),
            workspace_folder: None,
            approved: BTreeMap::new(),
        }
    }
}

impl Default for FixedSettings {
    fn default() -> Self {
        Self {
            name: "tool-gateway".to_owned(),
            instructions: None,
            mode: Mode::Text,
            turn_after: Duration::from_secs(30),
            startup: Duration::from_secs(15),
            max_message: 4 << 20,
            max_http_sessions: None,
            max_sessions_per_client: None,
            idle_timeout: Duration::from_secs(30 * 60),
            confirm_timeout: Duration::from_secs(10 * 60),
            approval_wait: Duration::from_secs(45),
            http: HttpSettings {
                listen: LISTEN,
                path: "/mcp".to_owned(),
                hosts: None,
                origins: None,
                allow_anonymous: false,
                has_principals: false,
                max_connections_per_address: None,
            },
            admin: AdminSettings::default(),
            inspector: None,
            audit: AuditSettings::default(),
            otel: None,
            sessions: SessionSettings::default(),
            has_costs: false,
        }
    }
}

impl FixedSettings {
    /// Returns the tables and keys that differ, which need a restart.
    pub(crate) fn changed(&self, new: &Self) -> Vec<&'static str> {
        let parts = [
            ("name", self.name == new.name),
            ("instructions", self.instructions == new.instructions),
            ("mode", self.mode == new.mode),
            ("http", self.http == new.http),
            ("admin", self.admin == new.admin),
            ("inspector", self.inspector == new.inspector),
            ("audit", self.audit == new.audit),
            ("otel", self.otel == new.otel),
            ("sessions", self.sessions == new.sessions),
            ("tools.cost", self.has_costs == new.has_costs),
            ("limits.turn_after", self.turn_after == new.turn_after),
            ("limits.startup", self.startup == new.startup),
            ("limits.max_message", self.max_message == new.max_message),
            ("limits.idle_timeout", self.idle_timeout == new.idle_timeout),
            (
                "limits.approval_lifetime",
                self.confirm_timeout == new.confirm_timeout,
            ),
            (
                "limits.approval_wait",
                self.approval_wait == new.approval_wait,
            ),
            (
                "limits.max_sessions",
                self.max_http_sessions == new.max_http_sessions,
            ),
            (
                "limits.max_sessions_per_client",
                self.max_sessions_per_client == new.max_sessions_per_client,
            ),
        ];
        parts
            .into_iter()
            .filter(|(_, same)| !same)
            .map(|(name, _)| name)
            .collect()
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn patterns(fields: &mut Fields<'_>, name: &'static str) -> Option<Vec<String>> {
    let patterns = fields.texts(name)?;
    if patterns.iter().any(String::is_empty) {
        fields.problem(
            name,
            "expected patterns such as \"github_*\", got an empty text",
        );
    }
    Some(patterns)
}

fn read_redaction(mut fields: Fields<'_>) -> Redaction {
    let mut redaction = Redaction::new();
    for key in fields.texts("keys").unwrap_or_default() {
        redaction = redaction.key(key);
    }
    for pointer in fields.texts("pointers").unwrap_or_default() {
        if !pointer.starts_with('/') {
            fields.problem(
                "pointers",
                format_args!("expected a JSON pointer such as \"/user/*/name\", got `{pointer}`"),
            );
        }
        redaction = redaction.pointer(pointer);
    }
    fields.finish();
    redaction
}

fn read_tool(mut fields: Fields<'_>) -> ToolRule {
    let matched = patterns(&mut fields, "match");
    if matched.as_ref().is_none_or(Vec::is_empty) {
        fields.problem(
            "match",
            "expected patterns of the tools' names, such as \"github_delete_*\"",
        );
    }
    let categories = [
        ("retrieval", Category::Retrieval),
        ("action", Category::Action),
        ("utility", Category::Utility),
    ];
    let modes = [
        ("text", Modes::TEXT),
        ("voice", Modes::VOICE),
        ("both", Modes::BOTH),
    ];
    let conditions = fields.text_table("confirm_if").into_iter();
    let rule = ToolRule {
        patterns: matched.unwrap_or_default(),
        confirm: fields.flag("confirm"),
        confirm_if: conditions
            .map(|(argument, pattern)| Condition { argument, pattern })
            .collect(),
        timeout: fields.duration("timeout"),
        max_calls: fields.count("max_calls"),
        cost: fields.read("cost", DOLLARS, value::dollars),
        max_output: fields
            .count("max_output")
            .and_then(|characters| characters.try_into().ok()),
        category: fields.choice("category", &categories),
        modes: fields.choice("modes", &modes),
        sequential: fields.flag("sequential"),
        resend: fields.flag("resend"),
    };
    if rule.confirm.is_some() && !rule.confirm_if.is_empty() {
        fields.problem(
            "confirm_if",
            "expected no `confirm` beside it; put one of them into another rule",
        );
    }
    fields.finish();
    rule
}

fn read_server(mut fields: Fields<'_>, folder: &Path) -> ServerRule {
    let prefix = fields.text("prefix");
    let is_name = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    if prefix
        .as_deref()
        .is_some_and(|prefix| prefix.len() > PREFIX.max_length)
    {
        fields.problem(
            "prefix",
            format_args!("expected at most {} characters", PREFIX.max_length),
        );
    }
    if let Some(prefix) = prefix.as_deref().filter(|prefix| !is_name(prefix)) {
        fields.problem(
            "prefix",
            format_args!("expected letters, digits, `_` and `-`, got `{prefix}`"),
        );
    }
    let rule = ServerRule {
        prefix,
        timeout: fields.duration("timeout"),
        pinned_only: fields.flag("pinned_only"),
        env_from_parent: fields.texts("env_from_parent").unwrap_or_default(),
        allow_unencrypted: fields.flag("allow_unencrypted").unwrap_or_default(),
        auto_approve: fields.flag("auto_approve").unwrap_or_default(),
        rights: ServerRights {
            elicitation: fields.flag("elicitation").unwrap_or_default(),
            roots: fields.flag("roots").unwrap_or_default(),
            sampling: fields.table("sampling").and_then(read_sampling),
        },
        login: fields
            .table("oauth")
            .map(|table| crate::login::LoginSettings::read(table, folder)),
    };
    fields.finish();
    rule
}

fn read_sampling(mut fields: Fields<'_>) -> Option<(u32, u64)> {
    let (has_requests, has_tokens) = (fields.has("requests"), fields.has("tokens"));
    if !has_requests || !has_tokens {
        fields.problem(
            "",
            "expected `requests` and `tokens`, the most that a session may use",
        );
    }
    let budget = fields
        .count("requests")
        .zip(fields.count("tokens").map(u64::from));
    fields.finish();
    budget
}

fn read_egress(mut fields: Fields<'_>) -> EgressRules {
    let rules = EgressRules {
        hosts: fields.texts("hosts"),
        private: fields.texts("private").unwrap_or_default(),
    };
    for named in &rules.private {
        let policy = EgressPolicy::new();
        let policy = if named.contains('/') {
            policy.allow_network(named)
        } else {
            policy.allow_host(named)
        };
        if let Err(error) = policy.check() {
            fields.problem("private", error);
        }
    }
    fields.finish();
    rules
}

fn address(fields: &mut Fields<'_>) -> Option<SocketAddr> {
    let text = fields.text("listen")?;
    let address = text.parse().ok();
    if address.is_none() {
        fields.problem(
            "listen",
            format_args!("expected an address and a port such as \"127.0.0.1:8080\", got `{text}`"),
        );
    }
    address
}

/// Reads the token of a page. It is at least as long as one of a client.
fn token(fields: &mut Fields<'_>) -> Option<Zeroizing<String>> {
    let token = fields.text("token").map(Zeroizing::new)?;
    if BearerToken::new(&token).problem().is_some() {
        fields.problem("token", "expected at least 16 visible ASCII characters");
    }
    Some(token)
}

fn read_admin(mut fields: Fields<'_>) -> AdminSettings {
    let settings = AdminSettings {
        listen: address(&mut fields),
        token: token(&mut fields),
        needs_all: fields
            .choice("ready", &[("any", false), ("all", true)])
            .unwrap_or_default(),
    };
    fields.finish();
    settings
}

fn read_inspector(mut fields: Fields<'_>) -> InspectorSettings {
    let (listen, token) = (address(&mut fields), token(&mut fields));
    if listen.is_some_and(|listen| !listen.ip().is_loopback()) {
        fields.problem(
            "listen",
            "expected a loopback address, as the page can call every tool; reach it over SSH from elsewhere",
        );
    }
    fields.finish();
    InspectorSettings {
        listen: listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 7411))),
        token,
    }
}

fn read_audit(mut fields: Fields<'_>, folder: &Path) -> AuditSettings {
    let settings = AuditSettings {
        file: fields.text("file").map(|file| folder.join(file)),
        postgres: fields.text("postgres").map(Zeroizing::new),
        required: fields.flag("required").unwrap_or_default(),
    };
    if cfg!(not(feature = "postgres")) && settings.postgres.is_some() {
        fields.problem("postgres", missing_feature("postgres"));
    }
    if settings.required && settings.file.is_none() && settings.postgres.is_none() {
        fields.problem("required", "expected `file` or `postgres` too");
    }
    fields.finish();
    settings
}

fn read_otel(mut fields: Fields<'_>) -> Option<OtelSettings> {
    let endpoint = fields.text("endpoint");
    if endpoint.is_none() {
        fields.problem(
            "endpoint",
            "expected the address of a receiver, such as \"http://localhost:4318\"",
        );
    }
    let headers = fields
        .text_table("headers")
        .into_iter()
        .map(|(name, value)| (name, Zeroizing::new(value)))
        .collect();
    let content = fields.flag("content").unwrap_or_default();
    fields.finish();
    Some(OtelSettings {
        endpoint: endpoint?,
        headers,
        content,
    })
}

fn read_sessions(mut fields: Fields<'_>) -> SessionSettings {
    let key = fields.text("signing_key").map(Zeroizing::new);
    let settings = SessionSettings {
        redis: fields.text("redis").map(Zeroizing::new),
        prefix: fields.text("prefix"),
        signing_key: key.as_ref().and_then(|key| signing_key(key)),
    };
    if key.is_some() && settings.signing_key.is_none() {
        fields.problem(
            "signing_key",
            "expected 64 hexadecimal digits, such as of `openssl rand -hex 32`",
        );
    }
    if cfg!(not(feature = "redis")) && settings.redis.is_some() {
        fields.problem("redis", missing_feature("redis"));
    }
    fields.finish();
    settings
}

fn missing_feature(name: &str) -> String {
    format!(
        "this `tool-gateway` was built without the feature `{name}`; install it with \
         `cargo install --path tool-adapters --features gateway,{name}`"
    )
}

fn signing_key(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0; 32]);
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(key)
}

fn is_address(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_names_that_clients_see() {
        let (problems, expand) = (Problems::new("policy.toml"), Expand::default());
        let text = "deny = '*_delete_repository'\n[[tools]]\nmatch = '*_write_*'\nconfirm = true\ncost = 1";
        let policy = GatewayPolicy::parse(text, Path::new(""), &problems, &expand);
        assert_eq!(problems.into_vec(), [""; 0]);
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
