//! The settings of a policy: a field here is a key of `policy.toml`, with its type, its default and
//! its check.
//!
//! ARCHITECTURE.md lists all that a new setting needs.

use crate::conditions::Asks;
use crate::login::LoginSettings;
use crate::policy::PREFIX;
use crate::problems::{Problems, join};
use crate::reader::empty_table;
use crate::setting_types::{
    Address, CLIENT_TOKEN, Dollars, Rate, SigningKey, Size, Time, client_token, mebibytes,
    page_token, seconds,
};
use crate::value::{Secret, read_bounded};
use reqwest::Certificate;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tool_adapters_http::bearer::BearerToken;
use tool_adapters_http::egress::EgressPolicy;
use tool_adapters_http::egress::network::proxy_url;
use tool_core::call::Modes;
use tool_core::{Category, Mode};

/// The default address over HTTP.
const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// Maximum number of bytes of a file of certificates.
const MAX_CERTIFICATES: u64 = 4 << 20;

/// The contents of `policy.toml`.
#[derive(Clone, Deserialize)]
pub(crate) struct PolicyFile {
    /// The name that clients see.
    #[serde(default = "default_name")]
    pub(crate) name: String,
    /// Instructions for the model of the client.
    pub(crate) instructions: Option<String>,
    /// The mode of all sessions.
    #[serde(default)]
    pub(crate) mode: Mode,
    /// Patterns of the tools, prompts and URIs that are offered.
    #[serde(default = "everything")]
    pub(crate) allow: Vec<String>,
    /// Patterns of those that are not. They are stronger.
    #[serde(default)]
    pub(crate) deny: Vec<String>,
    /// The value of `${workspaceFolder}` in the file of the servers.
    pub(crate) workspace_folder: Option<PathBuf>,
    /// The values of `${input:ID}` there.
    #[serde(default)]
    pub(crate) inputs: BTreeMap<String, Secret>,
    #[serde(default = "empty_table")]
    pub(crate) limits: Limits,
    #[serde(default)]
    pub(crate) tools: Vec<ToolRule>,
    /// The options of servers, by their names.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, ServerRule>,
    pub(crate) pins: Option<PinSettings>,
    #[serde(default)]
    pub(crate) redaction: RedactionSettings,
    pub(crate) egress: Option<EgressRules>,
    #[serde(default)]
    pub(crate) network: NetworkSettings,
    #[serde(default = "empty_table")]
    pub(crate) http: HttpSettings,
    #[serde(default)]
    pub(crate) admin: AdminSettings,
    pub(crate) inspector: Option<InspectorSettings>,
    #[serde(default)]
    pub(crate) audit: AuditSettings,
    pub(crate) otel: Option<OtelSettings>,
    #[serde(default)]
    pub(crate) sessions: SessionSettings,
}

/// The table `limits`.
#[derive(Clone, Deserialize)]
pub(crate) struct Limits {
    /// The pause between calls that begins a new turn, with new budgets.
    #[serde(default = "seconds::<30>")]
    pub(crate) turn_after: Time,
    /// The calls of a turn.
    pub(crate) max_calls: Option<NonZeroU32>,
    /// Those of tools that only read.
    pub(crate) retrieval: Option<NonZeroU32>,
    /// Those of tools that change something.
    pub(crate) action: Option<NonZeroU32>,
    /// Those of all other tools.
    pub(crate) utility: Option<NonZeroU32>,
    /// The attempt with equal arguments that is refused, as a loop.
    pub(crate) repeated_calls: Option<NonZeroU32>,
    /// The empty results of a tool in a turn, after which it is refused.
    pub(crate) empty_results: Option<NonZeroU32>,
    /// The deadline of a call.
    #[serde(default = "seconds::<30>")]
    pub(crate) deadline: Time,
    /// The time after which a response has a warning.
    pub(crate) warn_after: Option<Time>,
    /// The calls of a session that run at once. Further ones wait.
    pub(crate) concurrent_calls: Option<NonZeroUsize>,
    /// The time of all calls of a turn.
    pub(crate) max_time_per_turn: Option<Time>,
    pub(crate) max_time_per_session: Option<Time>,
    pub(crate) max_time_per_principal: Option<Time>,
    /// The cost of all calls of a turn.
    pub(crate) max_cost_per_turn: Option<Dollars>,
    pub(crate) max_cost_per_session: Option<Dollars>,
    pub(crate) max_cost_per_principal: Option<Dollars>,
    /// The calls of a principal in a time, over all sessions and gateways.
    pub(crate) rate_per_principal: Option<Rate>,
    /// The calls of a principal that run at once. Further ones are refused.
    pub(crate) max_concurrent_per_principal: Option<NonZeroU32>,
    /// The time after which the time and the cost of a principal count from zero.
    pub(crate) principal_window: Option<Time>,
    /// The size of the arguments of a call.
    #[serde(default = "mebibytes::<1>")]
    pub(crate) max_arguments: Size,
    /// The size of a result. A larger one is cut.
    #[serde(default = "mebibytes::<1>")]
    pub(crate) max_result: Size,
    /// The characters of a result. A longer one is cut.
    pub(crate) max_output: Option<NonZeroUsize>,
    /// The size of a message of a client.
    #[serde(default = "mebibytes::<4>")]
    pub(crate) max_message: Size,
    /// The time after which an unused session ends.
    #[serde(default = "seconds::<{ 30 * 60 }>")]
    pub(crate) idle_timeout: Time,
    pub(crate) max_sessions: Option<NonZeroUsize>,
    pub(crate) max_sessions_per_client: Option<NonZeroUsize>,
    /// The time for which a call waits for approval.
    #[serde(default = "seconds::<{ 10 * 60 }>")]
    pub(crate) approval_lifetime: Time,
    /// The time for which a client that cannot ask its user waits for an operator.
    #[serde(default = "seconds::<45>")]
    pub(crate) approval_wait: Time,
    /// The calls of a session that wait for approval.
    pub(crate) max_approvals: Option<NonZeroU32>,
    /// The time for which the result of a tool that only reads answers equal calls.
    pub(crate) result_cache: Option<Time>,
    /// The time for an operation in Redis.
    pub(crate) store_deadline: Option<Time>,
    /// The number of tools over which clients search them.
    pub(crate) search_over: Option<NonZeroUsize>,
    /// Patterns of the tools that are always declared then.
    pub(crate) search_always: Option<Vec<String>>,
    /// The longest wait for servers at the start.
    #[serde(default = "seconds::<15>")]
    pub(crate) startup: Time,
    /// The time for running calls to finish after the signal to end.
    #[serde(default = "seconds::<30>")]
    pub(crate) drain: Time,
}

/// A rule of `tools`: the options of the tools whose names match.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToolRule {
    #[serde(rename = "match")]
    pub(crate) patterns: Vec<String>,
    /// True if a person approves each call.
    pub(crate) confirm: Option<bool>,
    /// Arguments, and patterns of the values for which a person approves a call.
    pub(crate) confirm_if: BTreeMap<String, String>,
    /// The reason that the person reads, in place of one that names the rule.
    pub(crate) confirm_reason: Option<String>,
    pub(crate) timeout: Option<Time>,
    /// The calls of a turn.
    pub(crate) max_calls: Option<NonZeroU32>,
    /// The price of a call.
    pub(crate) cost: Option<Dollars>,
    /// The characters of a result.
    pub(crate) max_output: Option<NonZeroUsize>,
    /// The category, in place of what the server says.
    pub(crate) category: Option<Category>,
    pub(crate) modes: Option<ToolModes>,
    /// True if a call runs alone in its session.
    pub(crate) sequential: Option<bool>,
    /// False if a call is not sent again after its server was lost.
    pub(crate) resend: Option<bool>,
    /// The number of times that a call is made again which has failed in passing.
    pub(crate) retries: Option<NonZeroU32>,
    /// The calls of each tool in a time, over all sessions and gateways.
    pub(crate) rate: Option<Rate>,
    /// The calls of each tool that run at once. Further ones are refused.
    pub(crate) max_concurrent: Option<NonZeroU32>,
    /// When a tool that fails is not called for a while.
    pub(crate) circuit_breaker: Option<BreakerSettings>,
}

/// A table `circuit_breaker`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct BreakerSettings {
    /// The failures in a row.
    #[serde(default = "five")]
    pub(crate) failures: NonZeroU32,
    /// The time in which they occur.
    #[serde(default = "seconds::<60>")]
    pub(crate) window: Time,
    /// The time after which one call is tried.
    #[serde(default = "seconds::<30>")]
    pub(crate) pause: Time,
}

fn five() -> NonZeroU32 {
    const { NonZeroU32::new(5).unwrap() }
}

/// The modes in which a tool is offered.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ToolModes {
    Text,
    Voice,
    Both,
}

/// A table of `servers`: the options of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a key of the table")]
pub(crate) struct ServerRule {
    /// The prefix of its tools, in place of its name.
    pub(crate) prefix: Option<String>,
    /// The time for its connection and its calls.
    pub(crate) timeout: Option<Time>,
    pub(crate) pinned_only: Option<bool>,
    /// Further variables of the gateway that its process gets.
    pub(crate) env_from_parent: Vec<String>,
    /// True if its headers may go over http to another machine.
    pub(crate) allow_unencrypted: bool,
    /// True if the approvals of the servers' file hold.
    pub(crate) auto_approve: bool,
    /// True if it may ask the user, by forms and pages.
    pub(crate) elicitation: bool,
    /// True if it learns the folders.
    pub(crate) roots: bool,
    /// The requests and tokens of the client's model that it may use in a session.
    pub(crate) sampling: Option<SamplingLimits>,
    /// The calls of all its tools in a time, over all sessions and gateways.
    pub(crate) rate: Option<Rate>,
    /// The calls of all its tools that run at once. Further ones are refused.
    pub(crate) max_concurrent: Option<NonZeroU32>,
    /// When it fails and is not called for a while.
    pub(crate) circuit_breaker: Option<BreakerSettings>,
    pub(crate) oauth: Option<LoginSettings>,
}

impl ServerRule {
    /// Returns the options that a connection depends on, and no others: a change of those connects
    /// no server anew.
    pub(crate) fn of_connection(self) -> Self {
        // Each field is named, so that a new one is decided here.
        Self {
            prefix: self.prefix,
            timeout: self.timeout,
            pinned_only: self.pinned_only,
            env_from_parent: self.env_from_parent,
            allow_unencrypted: self.allow_unencrypted,
            elicitation: self.elicitation,
            roots: self.roots,
            sampling: self.sampling,
            oauth: self.oauth,
            auto_approve: false,
            rate: None,
            max_concurrent: None,
            circuit_breaker: None,
        }
    }
}

/// The table `sampling` of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct SamplingLimits {
    pub(crate) requests: Option<NonZeroU32>,
    pub(crate) tokens: Option<NonZeroU32>,
}

/// The table `pins`.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PinSettings {
    pub(crate) file: Option<PathBuf>,
    /// True if no tool is offered that is not pinned.
    pub(crate) pinned_only: bool,
}

/// The table `redaction`: rules beside the default ones.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct RedactionSettings {
    pub(crate) keys: Vec<String>,
    pub(crate) pointers: Vec<String>,
}

/// The table `egress`: the hosts of servers with a `url`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct EgressRules {
    /// Patterns of names. `None` allows all public hosts.
    pub(crate) hosts: Option<Vec<String>>,
    /// Names, addresses and networks that are not public.
    pub(crate) private: Vec<String>,
}

/// The table `network`: the way to servers with a `url`.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct NetworkSettings {
    /// The address of a proxy, or an empty text for none. `None` takes that of the environment.
    pub(crate) proxy: Option<Secret>,
    pub(crate) no_proxy: Option<Vec<String>>,
    /// The file of further certificates that are trusted.
    ca_file: Option<PathBuf>,
    /// Its contents.
    #[serde(skip)]
    pub(crate) certificates: Vec<u8>,
}

/// The table `http`.
#[derive(Clone, Deserialize)]
pub(crate) struct HttpSettings {
    #[serde(default = "default_listen")]
    pub(crate) listen: Address,
    #[serde(default = "default_path")]
    pub(crate) path: String,
    /// The `Host` headers that are allowed.
    pub(crate) hosts: Option<Vec<String>>,
    /// The `Origin` headers that are allowed.
    pub(crate) origins: Option<Vec<String>>,
    /// True if clients without a token are served.
    #[serde(default)]
    pub(crate) allow_anonymous: bool,
    pub(crate) max_connections_per_address: Option<NonZeroUsize>,
    #[serde(default)]
    pub(crate) principals: Vec<Principal>,
}

/// A client that is known by its token.
#[derive(Clone, Deserialize)]
pub(crate) struct Principal {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default = "no_token", deserialize_with = "client_token")]
    pub(crate) token: BearerToken,
}

/// The table `admin`: the routes for machines.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct AdminSettings {
    pub(crate) listen: Option<Address>,
    /// The token for `/metrics`.
    #[serde(deserialize_with = "page_token")]
    pub(crate) token: Option<Secret>,
    pub(crate) ready: Ready,
}

/// The servers that are connected while the gateway is ready.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ready {
    #[default]
    Any,
    All,
}

/// The table `inspector`.
#[derive(Clone, PartialEq, Deserialize)]
pub(crate) struct InspectorSettings {
    #[serde(default = "inspector_listen")]
    pub(crate) listen: Address,
    /// The token of the page. `None` makes a random one.
    #[serde(default, deserialize_with = "page_token")]
    pub(crate) token: Option<Secret>,
}

/// The table `audit`.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct AuditSettings {
    pub(crate) file: Option<PathBuf>,
    /// The address of a database.
    pub(crate) postgres: Option<Secret>,
    /// True if no call runs while its record cannot be kept.
    pub(crate) required: bool,
}

/// The table `otel`: where spans go.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct OtelSettings {
    pub(crate) endpoint: String,
    pub(crate) headers: BTreeMap<String, Secret>,
    /// True if spans have arguments and results, redacted.
    pub(crate) content: bool,
}

/// The table `sessions`: where sessions are kept.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct SessionSettings {
    pub(crate) redis: Option<Secret>,
    /// The prefix of the keys in Redis.
    pub(crate) prefix: Option<String>,
    /// The replicas of Redis that confirm a change before a call runs.
    pub(crate) replicas: u32,
    pub(crate) signing_key: Option<SigningKey>,
}

fn default_name() -> String {
    "tool-gateway".to_owned()
}

fn everything() -> Vec<String> {
    vec!["*".to_owned()]
}

fn default_listen() -> Address {
    Address(LISTEN)
}

fn default_path() -> String {
    "/mcp".to_owned()
}

fn inspector_listen() -> Address {
    Address(SocketAddr::from(([127, 0, 0, 1], 7411)))
}

fn no_token() -> BearerToken {
    BearerToken::new("")
}

impl ToolModes {
    pub(crate) fn modes(self) -> Modes {
        match self {
            Self::Text => Modes::TEXT,
            Self::Voice => Modes::VOICE,
            Self::Both => Modes::BOTH,
        }
    }
}

impl PolicyFile {
    /// Resolves the relative paths against a folder.
    pub(crate) fn resolve_paths(&mut self, folder: &Path) {
        let logins = self
            .servers
            .values_mut()
            .filter_map(|server| server.oauth.as_mut());
        let paths = [
            self.workspace_folder.as_mut(),
            self.pins.as_mut().and_then(|pins| pins.file.as_mut()),
            self.network.ca_file.as_mut(),
            self.audit.file.as_mut(),
        ];
        let paths = paths.into_iter().flatten();
        for path in paths.chain(logins.flat_map(LoginSettings::paths)) {
            *path = folder.join(&path);
        }
    }

    /// Reports settings that are wrong, or that do not go together.
    pub(crate) fn check(&self, problems: &Problems) {
        check_patterns(&self.allow, "allow", problems);
        check_patterns(&self.deny, "deny", problems);
        self.limits.check(problems);
        for (at, rule) in self.tools.iter().enumerate() {
            rule.check(&format!("tools[{at}]"), problems);
        }
        for (name, server) in &self.servers {
            server.check(&join("servers", name), problems);
        }
        if self.pins.as_ref().is_some_and(|pins| pins.file.is_none()) {
            problems.add_unless_reported(
                "pins.file",
                "expected the file of the pins, such as \"mcp.pins.json\"; without one, remove `[pins]`",
            );
        }
        self.redaction.check(problems);
        if let Some(egress) = &self.egress {
            egress.check(problems);
        }
        self.network.check(problems);
        self.http.check(problems);
        if let Some(inspector) = &self.inspector {
            inspector.check(problems);
        }
        self.audit.check(problems);
        if self
            .otel
            .as_ref()
            .is_some_and(|otel| otel.endpoint.is_empty())
        {
            problems.add_unless_reported(
                "otel.endpoint",
                "expected the address of a receiver, such as \"http://localhost:4318\"",
            );
        }
        if cfg!(not(feature = "redis")) && self.sessions.redis.is_some() {
            problems.add("sessions.redis", missing_feature("redis"));
        }
        if self.sessions.replicas > 0 && self.sessions.redis.is_none() {
            problems.add(
                "sessions.replicas",
                "only a Redis has replicas: set `sessions.redis` too",
            );
        }
    }

    /// Returns the tables and keys that differ and that a running gateway does not change.
    pub(crate) fn changed(&self, new: &Self) -> Vec<&'static str> {
        macro_rules! differing {
            ($($table:ident $(. $key:ident)?),+ $(,)?) => {
                [$((
                    concat!(stringify!($table) $(, ".", stringify!($key))?),
                    self.$table $(.$key)? != new.$table $(.$key)?,
                )),+]
            };
        }
        let differing = differing![
            name,
            instructions,
            mode,
            http,
            admin,
            inspector,
            audit,
            otel,
            sessions,
            limits.turn_after,
            limits.startup,
            limits.drain,
            limits.max_message,
            limits.idle_timeout,
            limits.approval_lifetime,
            limits.approval_wait,
            limits.max_sessions,
            limits.max_sessions_per_client,
        ];
        // The exporter and the inspector have the rules of the start, and calls the new ones.
        let has_own_rules = self.otel.is_some() || self.inspector.is_some();
        let is_redacted_anew = has_own_rules && self.redaction != new.redaction;
        let redaction = ("redaction", is_redacted_anew);
        let changed = differing.into_iter().chain([redaction]);
        changed
            .filter(|(_, differs)| *differs)
            .map(|(name, _)| name)
            .collect()
    }
}

fn check_patterns(patterns: &[String], place: &str, problems: &Problems) {
    if patterns.iter().any(String::is_empty) {
        problems.add(
            place,
            "expected patterns such as \"github_*\", got an empty text",
        );
    }
}

impl Limits {
    fn check(&self, problems: &Problems) {
        let always = self.search_always.as_deref();
        check_patterns(always.unwrap_or_default(), "limits.search_always", problems);
        if always.is_some() && self.search_over.is_none() {
            problems.add(
                "limits.search_always",
                "expected `search_over` too, as all tools are declared without it",
            );
        }
        if self
            .principal_window
            .is_some_and(|window| window.0 < Duration::from_secs(1))
        {
            problems.add("limits.principal_window", "expected at least \"1s\"");
        }
    }
}

impl BreakerSettings {
    fn check(self, place: &str, problems: &Problems) {
        if self.failures.get() > MAX_FAILURES {
            let place = join(&join(place, "circuit_breaker"), "failures");
            problems.add(&place, format_args!("expected at most {MAX_FAILURES}"));
        }
    }
}

/// The most failures that a circuit breaker counts.
const MAX_FAILURES: u32 = 1_000;

/// The most retries of a call.
const MAX_RETRIES: u32 = 16;

/// The characters of a reason that a person reads.
const MAX_REASON: usize = 200;

impl ToolRule {
    fn check(&self, place: &str, problems: &Problems) {
        let patterns = join(place, "match");
        check_patterns(&self.patterns, &patterns, problems);
        if self.patterns.is_empty() {
            problems.add_unless_reported(
                &patterns,
                "expected patterns of the tools' names, such as \"github_delete_*\"",
            );
        }
        if self
            .retries
            .is_some_and(|retries| retries.get() > MAX_RETRIES)
        {
            let problem = format_args!("expected at most {MAX_RETRIES}");
            problems.add(&join(place, "retries"), problem);
        }
        if let Some(breaker) = self.circuit_breaker {
            breaker.check(place, problems);
        }
        self.check_asking(place, problems);
    }

    /// Returns the keys that say about which calls a person is asked. A rule has one of them at most.
    fn asking_keys(&self) -> Vec<AskingKey> {
        let each_call = self.confirm.map(|asks| {
            let patterns = self.patterns.join("`, `");
            if asks {
                Asks::Always(format!("the rule of `{patterns}` asks"))
            } else {
                Asks::Never
            }
        });
        let patterns = Some(&self.confirm_if).filter(|patterns| !patterns.is_empty());
        vec![
            AskingKey {
                name: "confirm",
                asks: each_call,
            },
            AskingKey {
                name: "confirm_if",
                asks: patterns.cloned().map(Asks::Arguments),
            },
        ]
    }

    /// Returns the calls about which a person is asked, if the rule says something about it.
    pub(crate) fn asks(&self) -> Option<Asks> {
        self.asking_keys().into_iter().find_map(|key| key.asks)
    }

    fn check_asking(&self, place: &str, problems: &Problems) {
        let keys = self.asking_keys();
        let mut set = keys.iter().filter(|key| key.asks.is_some());
        if let Some(first) = set.next() {
            for other in set {
                let problem = format_args!(
                    "expected no `{}` beside it; put one of them into another rule",
                    first.name
                );
                problems.add(&join(place, other.name), problem);
            }
        }

        let Some(reason) = &self.confirm_reason else {
            return;
        };
        // A key that could not be read is reported already, and is there.
        let is_unread = |key: &AskingKey| problems.is_reported(&join(place, key.name));
        let asks = |key: &AskingKey| key.asks_about_calls() || is_unread(key);
        let is_needed = keys.iter().any(asks);
        let place = join(place, "confirm_reason");
        if !is_needed {
            let conditions = keys.iter().filter(|key| key.name != "confirm");
            let conditions = conditions.map(|key| format!(" or `{}`", key.name));
            let conditions = conditions.collect::<String>();
            let problem = format_args!("expected `confirm = true`{conditions} beside it");
            problems.add(&place, problem);
        }
        if reason.trim().is_empty() || reason.chars().count() > MAX_REASON {
            let problem = format_args!("expected a text of 1 to {MAX_REASON} characters");
            problems.add(&place, problem);
        }
    }
}

/// A key of a rule that says about which calls a person is asked.
struct AskingKey {
    name: &'static str,
    /// The calls that it names. `None` if the rule does not have the key.
    asks: Option<Asks>,
}

impl AskingKey {
    fn asks_about_calls(&self) -> bool {
        !matches!(self.asks, None | Some(Asks::Never))
    }
}

impl ServerRule {
    fn check(&self, place: &str, problems: &Problems) {
        if let Some(prefix) = &self.prefix {
            let place = join(place, "prefix");
            if prefix.len() > PREFIX.max_length {
                problems.add(
                    &place,
                    format_args!("expected at most {} characters", PREFIX.max_length),
                );
            }
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            if !prefix.bytes().all(is_name) {
                problems.add(
                    &place,
                    format_args!("expected letters, digits, `_` and `-`, got `{prefix}`"),
                );
            }
        }
        if let Some(limits) = self.sampling
            && (limits.requests.is_none() || limits.tokens.is_none())
        {
            problems.add_unless_reported(
                &join(place, "sampling"),
                "expected `requests` and `tokens`, the most that a session may use",
            );
        }
        if let Some(breaker) = self.circuit_breaker {
            breaker.check(place, problems);
        }
        if let Some(login) = &self.oauth {
            login.check(&join(place, "oauth"), problems);
        }
    }
}

impl RedactionSettings {
    fn check(&self, problems: &Problems) {
        for pointer in &self.pointers {
            if !pointer.starts_with('/') {
                problems.add(
                    "redaction.pointers",
                    format_args!(
                        "expected a JSON pointer such as \"/user/*/name\", got `{pointer}`"
                    ),
                );
            }
        }
    }
}

impl EgressRules {
    fn check(&self, problems: &Problems) {
        for named in &self.private {
            if let Err(error) = allow_private(EgressPolicy::new(), named).check() {
                problems.add("egress.private", error);
            }
        }
    }

    /// Allows the hosts that are not public.
    pub(crate) fn allow_private(&self, policy: EgressPolicy) -> EgressPolicy {
        let private = self.private.iter();
        private.fold(policy, |policy, named| allow_private(policy, named))
    }
}

/// Allows a host or a network that is not public.
fn allow_private(policy: EgressPolicy, named: &str) -> EgressPolicy {
    if named.contains('/') {
        policy.allow_network(named)
    } else {
        policy.allow_host(named)
    }
}

impl NetworkSettings {
    /// Reads the file of certificates.
    pub(crate) fn read_certificates(&mut self, problems: &Problems) {
        let Some(file) = &self.ca_file else {
            return;
        };
        let problem = match read_bounded(file, MAX_CERTIFICATES) {
            Ok(text) => {
                self.certificates = text.into_bytes();
                let found = Certificate::from_pem_bundle(&self.certificates);
                let has_none = found.is_ok_and(|found| found.is_empty());
                let expected =
                    "expected certificates in PEM, `-----BEGIN CERTIFICATE-----`, got none";
                has_none.then(|| expected.to_owned())
            }
            Err(error) => Some(error),
        };
        if let Some(problem) = problem {
            let file = file.display();
            problems.add("network.ca_file", format_args!("{file}: {problem}"));
        }
    }

    fn check(&self, problems: &Problems) {
        if let Some(proxy) = self.proxy.as_deref().filter(|proxy| !proxy.is_empty())
            && let Err(problem) = proxy_url(proxy)
        {
            problems.add("network.proxy", format_args!("{problem}, or \"\" for none"));
        }
    }
}

impl HttpSettings {
    fn check(&self, problems: &Problems) {
        let path = &self.path;
        if !path.starts_with('/') || path.len() == 1 || path.contains(['{', '}', '*', '?', '#']) {
            problems.add("http.path", "expected a path such as \"/mcp\"");
        }
        for (at, principal) in self.principals.iter().enumerate() {
            let earlier = self.principals.get(..at).unwrap_or_default();
            principal.check(&format!("http.principals[{at}]"), earlier, problems);
        }
    }
}

/// The principals of a running gateway change at once, so only whether there are any is compared.
impl PartialEq for HttpSettings {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            listen,
            path,
            hosts,
            origins,
            allow_anonymous,
            max_connections_per_address,
            principals,
        } = self;
        *listen == other.listen
            && *path == other.path
            && *hosts == other.hosts
            && *origins == other.origins
            && *allow_anonymous == other.allow_anonymous
            && *max_connections_per_address == other.max_connections_per_address
            && principals.is_empty() == other.principals.is_empty()
    }
}

impl Principal {
    fn check(&self, place: &str, earlier: &[Self], problems: &Problems) {
        let name_place = join(place, "name");
        let token_place = join(place, "token");
        let name = &self.name;
        if name.trim().is_empty() {
            problems.add_unless_reported(&name_place, "expected the name of a client");
        } else if earlier.iter().any(|other| other.name == *name) {
            problems.add(
                &name_place,
                format_args!("expected a name of its own, got `{name}` again"),
            );
        }
        if self.token.problem().is_some() {
            problems.add_unless_reported(&token_place, CLIENT_TOKEN);
        } else if let Some(other) = earlier
            .iter()
            .find(|other| other.token.is_same(&self.token))
        {
            problems.add(
                &token_place,
                format_args!("expected a token of its own, got that of `{}`", other.name),
            );
        }
    }
}

impl InspectorSettings {
    fn check(&self, problems: &Problems) {
        if !self.listen.0.ip().is_loopback() {
            problems.add(
                "inspector.listen",
                "expected a loopback address, as the page can call every tool; reach it over SSH from elsewhere",
            );
        }
    }
}

impl AuditSettings {
    fn check(&self, problems: &Problems) {
        if cfg!(not(feature = "postgres")) && self.postgres.is_some() {
            problems.add("audit.postgres", missing_feature("postgres"));
        }
        if self.required && self.file.is_none() && self.postgres.is_none() {
            problems.add("audit.required", "expected `file` or `postgres` too");
        }
    }
}

fn missing_feature(name: &str) -> String {
    format!(
        "this `tool-gateway` was built without the feature `{name}`; install it with \
         `cargo install --path tool-adapters/gateway --features {name}`"
    )
}
