//! One server: its connection, which is made again when it is lost, and its state.

use crate::config::{ServerEntry, Target};
use crate::policy::GatewayPolicy;
use crate::policy_file::{EgressRules, NetworkSettings, ServerRule};
use crate::tool_choice::ApprovedTools;
use futures_util::FutureExt;
use parking_lot::Mutex;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep};
use tool_adapters_mcp::{
    ChangeNotifier, ImportError, ImportedToolset, McpClient, Pins, QuarantineReason,
    ResourceUpdate, SamplingBudget, ServerChange, ServerChanges,
};
use tool_core::text::{escape_invisible, truncate};
use tool_core::{CancellationToken, ErrorKind, ToolError};

/// The way to a server. Two that are equal need no new connection.
#[derive(Clone, PartialEq)]
pub(crate) struct Route {
    pub(crate) entry: ServerEntry,
    prefix: Option<String>,
    timeout: Duration,
    pinned_only: bool,
    pins: Option<PathBuf>,
    pub(crate) rule: ServerRule,
    egress: Option<EgressRules>,
    network: NetworkSettings,
}

/// The time for connecting to a server and reading its lists, for which no policy sets another. A call has the deadline of its
/// own rules.
const CONNECTING: Duration = Duration::from_secs(30);

impl Route {
    pub(crate) fn new(mut entry: ServerEntry, policy: &GatewayPolicy) -> Self {
        let rule = policy.file.servers.get(&entry.name);
        let rule = rule.cloned().unwrap_or_default().of_connection();
        // The approvals hold for calls, so the connection stays when they change.
        entry.approved = ApprovedTools::default();
        let pins = policy.file.pins.clone().unwrap_or_default();
        Self {
            prefix: policy.prefix_of(&entry.name),
            timeout: rule.timeout.map_or(CONNECTING, |time| time.0),
            pinned_only: rule.pinned_only.unwrap_or(pins.pinned_only),
            pins: pins.file,
            rule,
            egress: policy.file.egress.clone(),
            network: policy.file.network.clone(),
            entry,
        }
    }

    /// Returns true if this route takes from the server what an earlier one gave it, so that nothing
    /// may be offered over the earlier connection.
    pub(crate) fn restricts(&self, earlier: &Self) -> bool {
        let rule = &self.rule;
        let before = &earlier.rule;
        let pins = self.pinned_only && !earlier.pinned_only;
        let questions = before.elicitation && !rule.elicitation;
        let folders = before.roots && !rule.roots;
        let sampling = before.sampling.is_some() && before.sampling != rule.sampling;
        let unencrypted = before.allow_unencrypted && !rule.allow_unencrypted;
        // The rules of a policy name the tools by the prefix that it sets.
        let names = self.prefix != earlier.prefix;
        pins || questions || folders || sampling || unencrypted || names || self.narrows(earlier)
    }

    /// Returns true if fewer addresses are allowed than for an earlier route.
    fn narrows(&self, earlier: &Self) -> bool {
        if matches!(self.entry.target, Target::Command { .. }) {
            return false;
        }
        let everywhere = EgressRules::default();
        let now = self.egress.as_ref().unwrap_or(&everywhere);
        let before = earlier.egress.as_ref().unwrap_or(&everywhere);
        let hosts = match (&before.hosts, &now.hosts) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(now)) => before.iter().any(|host| !now.contains(host)),
        };
        hosts || before.private.iter().any(|one| !now.private.contains(one))
    }

    /// Returns the name under which a tool of the server is offered.
    pub(crate) fn offered_name(&self, tool: &str) -> String {
        self.prefix
            .as_ref()
            .map_or_else(|| tool.to_owned(), |prefix| format!("{prefix}_{tool}"))
    }

    /// Returns the name that the server gives what is offered under a name.
    pub(crate) fn own_name<'a>(&self, offered: &'a str) -> &'a str {
        let Some(prefix) = &self.prefix else {
            return offered;
        };
        offered
            .strip_prefix(&**prefix)
            .and_then(|name| name.strip_prefix('_'))
            .unwrap_or(offered)
    }

    /// Connects to the server.
    pub(crate) async fn connect(
        &self,
        policy: &GatewayPolicy,
        pins: Pins,
    ) -> Result<ImportedToolset, ImportError> {
        let mut client = match &self.entry.target {
            Target::Command {
                program,
                arguments,
                env,
                cwd,
            } => {
                let mut command = Command::new(program);
                command.args(arguments);
                if let Some(folder) = cwd {
                    command.current_dir(folder);
                }
                let mut client =
                    McpClient::command(command).env_from_parent(&self.rule.env_from_parent);
                for (name, value) in env {
                    client = client.env(name, &**value);
                }
                client
            }
            Target::Url { url, headers } => {
                let egress = policy
                    .egress_of(url)
                    .map_err(|problem| ImportError::Protocol(problem.into()))?;
                let mut client = McpClient::url(url.as_str());
                if let Some(login) = &self.rule.oauth {
                    let egress = policy.egress_of_login(url);
                    let egress = egress.map_err(|problem| ImportError::Protocol(problem.into()))?;
                    client = client.oauth(login.of_server(&self.entry.name, Some(egress)));
                }
                client = client.egress(egress);
                for (name, value) in headers {
                    client = client.header(name, &**value);
                }
                if self.rule.allow_unencrypted {
                    client.allow_unencrypted()
                } else {
                    client
                }
            }
        };
        client = client
            .name(&self.entry.name)
            .timeout(self.timeout)
            .pins(pins);
        if let Some(prefix) = &self.prefix {
            client = client.prefix(prefix);
        }
        if self.pinned_only {
            client = client.pinned_only();
        }
        if self.rule.elicitation {
            client = client.allow_elicitation().allow_url_elicitation();
        }
        if self.rule.roots {
            client = client.session_roots();
        }
        // A client of the gateway may show them. To all others they are metadata.
        client = client.show_pages();
        let choice = self.entry.tools.clone();
        client = client.switch_off(move |tool| choice.off(tool).map(str::to_owned));
        if let Some(limits) = self.rule.sampling
            && let (Some(requests), Some(tokens)) = (limits.requests, limits.tokens)
        {
            let budget = SamplingBudget::new(requests.get(), tokens.get().into());
            client = client.allow_sampling(budget);
        }
        client.connect().await
    }
}

/// The state of the connection to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    #[default]
    Connecting,
    Up,
    /// The error, and true if a person has to sign in.
    Down(String, bool),
}

impl Health {
    fn down(error: &ImportError) -> Self {
        let needs_login = matches!(
            error,
            ImportError::Login(tool_adapters_mcp::LoginError::Required(_))
        );
        Self::Down(
            truncate(&escape_invisible(&error.to_string()), MAX_ERROR),
            needs_login,
        )
    }
}

/// A server, as the host of the gateway sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The name of its entry.
    pub name: String,
    /// True if it is connected, and no login is missing.
    pub is_up: bool,
    /// True if a person has to sign in, by `tool-gateway --login NAME`.
    pub needs_login: bool,
    /// The error of the last attempt to connect, if it failed. It has no secrets.
    pub error: Option<String>,
    /// The tools that are not offered, each with the reason.
    pub quarantined: Vec<String>,
}

/// A server, and the task that keeps its connection.
pub(crate) struct Upstream {
    pub(crate) route: Route,
    state: Arc<UpstreamState>,
    stop: CancellationToken,
}

struct UpstreamState {
    inner: Mutex<Inner>,
    health: watch::Sender<Health>,
    /// The resources to which clients have subscribed.
    watched: watch::Sender<BTreeSet<String>>,
}

struct Inner {
    toolset: Option<Arc<ImportedToolset>>,
    /// The tools of the entry that this one replaces, until this one has connected or failed.
    earlier: Option<Arc<ImportedToolset>>,
    /// The current policy.
    policy: Arc<GatewayPolicy>,
}

impl UpstreamState {
    /// Notes the failure of an attempt. An error that is known is not logged again.
    fn note_failure(&self, server: &str, error: &ImportError) {
        let health = Health::down(error);
        if let Health::Down(error, _) = &health
            && *self.health.borrow() != health
        {
            tracing::warn!(
                server,
                error,
                "failed to connect to a server; it is tried again"
            );
        }
        self.health.send_replace(health);
    }
}

/// The characters of an error that are shown.
const MAX_ERROR: usize = 500;

/// The time in which updates of resources are collected, and how many at most.
const SETTLE: Duration = Duration::from_millis(20);
const MAX_UPDATES: usize = 128;

/// The time between two looks at a connection.
const LOOK: Duration = Duration::from_secs(1);

impl Upstream {
    /// Starts to connect. `changed` is notified when the tools of the server may have changed, and
    /// `notifier` gets the updates of its resources.
    pub(crate) fn start(
        route: Route,
        policy: Arc<GatewayPolicy>,
        pins: PinSource,
        earlier: Option<Arc<ImportedToolset>>,
        changed: Arc<Notify>,
        notifier: ChangeNotifier,
    ) -> Self {
        let inner = Mutex::new(Inner {
            toolset: None,
            earlier,
            policy: Arc::clone(&policy),
        });
        let health = watch::Sender::new(Health::Connecting);
        let watched = watch::Sender::default();
        let state = Arc::new(UpstreamState {
            inner,
            health,
            watched,
        });
        let stop = CancellationToken::new();
        let task = keep_connected(
            route.clone(),
            policy,
            pins,
            Arc::clone(&state),
            changed,
            notifier,
        );
        let stopped = stop.clone();
        tokio::spawn(async move { stopped.run_until_cancelled(Box::pin(task)).await });
        Self { route, state, stop }
    }

    pub(crate) fn health(&self) -> Health {
        self.state.health.borrow().clone()
    }

    /// Waits until the server is connected, or the first attempt has failed.
    pub(crate) fn settled(&self) -> impl Future<Output = ()> + use<> {
        let mut health = self.state.health.subscribe();
        async move {
            _ = health
                .wait_for(|health| *health != Health::Connecting)
                .await;
        }
    }

    /// Sets the policy of a later reload, which leaves the connection as it is.
    pub(crate) fn set_policy(&self, policy: Arc<GatewayPolicy>) {
        self.state.inner.lock().policy = policy;
    }

    /// Subscribes to a resource of the server, or ends the subscription.
    pub(crate) fn watch(&self, uri: &str, is_watched: bool) {
        self.state.watched.send_if_modified(|watched| {
            if is_watched {
                watched.insert(uri.to_owned())
            } else {
                watched.remove(uri)
            }
        });
    }

    /// Returns the tools that are offered now.
    pub(crate) fn toolset(&self) -> Option<Arc<ImportedToolset>> {
        let inner = self.state.inner.lock();
        inner.toolset.clone().or_else(|| inner.earlier.clone())
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The pins that a server is checked against.
#[derive(Clone)]
pub(crate) enum PinSource {
    File(PathBuf),
    Memory(Pins),
}

impl PinSource {
    /// Opens the pins. A file that is damaged is an error each time, until a person has restored
    /// it.
    async fn open(&self) -> Result<Pins, ImportError> {
        match self {
            Self::Memory(pins) => Ok(pins.clone()),
            Self::File(path) => {
                let path = path.clone();
                let opened = tokio::task::spawn_blocking(move || Pins::file(path)).await;
                opened
                    .map_err(|error| ImportError::Protocol(error.into()))?
                    .map_err(ImportError::Pins)
            }
        }
    }
}

/// The pause before an attempt. It doubles up to a minute.
struct Backoff(u32);

impl Backoff {
    fn next(&mut self) -> Duration {
        let seconds = 2_u64.pow(self.0.min(6)).min(60);
        self.0 += 1;
        // Servers that were lost at the same time are not all started again at the same time.
        let mut byte = [0];
        _ = getrandom::fill(&mut byte);
        Duration::from_millis(seconds * 1_000 * (200 + u64::from(byte[0] % 100)) / 256)
    }

    async fn pause(&mut self) {
        sleep(self.next()).await;
    }
}

async fn keep_connected(
    route: Route,
    policy: Arc<GatewayPolicy>,
    pins: PinSource,
    state: Arc<UpstreamState>,
    changed: Arc<Notify>,
    notifier: ChangeNotifier,
) {
    let server = route.entry.name.as_str();
    let mut backoff = Backoff(0);
    let toolset = loop {
        let connected = match pins.open().await {
            Ok(pins) => route.connect(&policy, pins).await,
            Err(error) => Err(error),
        };
        match connected {
            Ok(toolset) => break Arc::new(toolset),
            Err(error) => {
                state.note_failure(server, &error);
                if state.inner.lock().earlier.take().is_some() {
                    changed.notify_one();
                }
            }
        }
        backoff.pause().await;
    };
    tracing::info!(server, "connected to a server");
    let subscriptions = Subscriptions {
        server: server.to_owned(),
        subscribed: Mutex::default(),
        reconnected: Notify::new(),
        notifier,
    };
    let updates = toolset.changes();
    let mut watched = Watched {
        route: &route,
        quarantined: quarantined(&toolset),
        since: Instant::now(),
        backoff: Backoff(0),
        subscriptions: &subscriptions,
    };
    {
        let mut inner = state.inner.lock();
        (inner.toolset, inner.earlier) = (Some(toolset), None);
    }
    state.health.send_replace(Health::Up);
    changed.notify_one();
    let looking = async {
        let mut looks = looks();
        loop {
            looks.tick().await;
            watched.look(&state, &changed).await;
        }
    };
    // Beside the looks, as a server may be slow with each of many subscriptions.
    tokio::join!(
        looking,
        subscriptions.keep(&state),
        subscriptions.forward_updates(updates, &state),
    );
}

/// Returns the times of the looks at a connection.
fn looks() -> Interval {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks
}

/// The last look at a connected server.
struct Watched<'a> {
    route: &'a Route,
    quarantined: BTreeSet<String>,
    /// The time of the last change that was taken over.
    since: Instant,
    backoff: Backoff,
    subscriptions: &'a Subscriptions,
}

impl Watched<'_> {
    /// The shortest time between two changes that are taken over. A server may change its list all
    /// the time.
    const PAUSE: Duration = Duration::from_secs(5);

    async fn look(&mut self, state: &UpstreamState, changed: &Notify) {
        let Some(toolset) = state.inner.lock().toolset.clone() else {
            return;
        };
        if !toolset.is_connected() || toolset.login_failure().is_some() {
            return self.connect_again(&toolset, state, changed).await;
        }
        if *state.health.borrow() != Health::Up {
            // A call has made the connection again.
            return self.note_connection(state, changed);
        }
        if self.since.elapsed() < Self::PAUSE {
            return;
        }
        if toolset
            .quarantined()
            .iter()
            .any(|tool| tool.reason == QuarantineReason::Added)
        {
            self.since = Instant::now();
            match toolset.import_again().await {
                Ok(toolset) => {
                    self.quarantined = quarantined(&toolset);
                    state.inner.lock().toolset = Some(Arc::new(toolset));
                    changed.notify_one();
                }
                Err(error) => {
                    tracing::warn!(server = self.route.entry.name, %error, "failed to import added tools");
                }
            }
            return;
        }
        let quarantined = quarantined(&toolset);
        if quarantined != self.quarantined {
            (self.quarantined, self.since) = (quarantined, Instant::now());
            changed.notify_one();
        }
    }

    /// Notes that the server is connected again.
    fn note_connection(&mut self, state: &UpstreamState, changed: &Notify) {
        let server = self.route.entry.name.as_str();
        tracing::info!(server, "connected again to a server");
        self.backoff = Backoff(0);
        state.health.send_replace(Health::Up);
        changed.notify_one();
        self.subscriptions.reconnected.notify_one();
    }

    async fn connect_again(
        &mut self,
        toolset: &ImportedToolset,
        state: &UpstreamState,
        changed: &Notify,
    ) {
        let server = self.route.entry.name.as_str();
        match toolset.refresh().await {
            Ok(()) => self.note_connection(state, changed),
            Err(error) => {
                state.note_failure(server, &toolset.login_failure().unwrap_or(error));
                self.backoff.pause().await;
            }
        }
    }
}

/// The subscriptions at a server to the resources to which clients have subscribed.
struct Subscriptions {
    server: String,
    subscribed: Mutex<BTreeMap<String, Subscription>>,
    /// Notified when the server is connected again.
    reconnected: Notify,
    notifier: ChangeNotifier,
}

/// The subscription to a resource.
struct Subscription {
    /// True if the server has taken it.
    is_taken: bool,
    /// The number of its last attempt.
    attempt: u64,
}

/// The attempts to subscribe.
struct Attempts {
    /// The number of attempts so far.
    count: u64,
    /// The pauses before subscriptions that have failed are tried again.
    pauses: Backoff,
    /// The end of the current pause.
    retry_at: Option<Instant>,
}

impl Attempts {
    fn is_due(&self) -> bool {
        self.retry_at.is_none_or(|at| at <= Instant::now())
    }

    /// Begins the next pause after a pass that has failed. A failure during a pause does not lengthen it: one client's refused
    /// resources would keep those of the others waiting.
    fn pause(&mut self, was_due: bool) {
        if was_due {
            self.retry_at = Some(Instant::now() + self.pauses.next());
        }
    }
}

impl Subscriptions {
    /// Keeps the subscriptions those of the clients.
    async fn keep(&self, state: &UpstreamState) {
        let mut attempts = Attempts {
            count: 0,
            pauses: Backoff(0),
            retry_at: None,
        };
        let mut looks = looks();
        let mut resources = state.watched.subscribe();
        resources.mark_changed();
        loop {
            tokio::select! {
                Ok(()) = resources.changed() => {}
                () = self.reconnected.notified() => {
                    // The client renews the others itself.
                    self.subscribed.lock().retain(|_, subscription| subscription.is_taken);
                }
                _ = looks.tick() => {
                    self.note_not_renewed(&mut attempts, state);
                    if attempts.retry_at.is_none() || !attempts.is_due() {
                        continue;
                    }
                }
            }
            self.subscribe(&mut attempts, state).await;
        }
    }

    /// Notes the subscriptions that the client could not renew over a new connection.
    fn note_not_renewed(&self, attempts: &mut Attempts, state: &UpstreamState) {
        let Some(toolset) = state.inner.lock().toolset.clone() else {
            return;
        };
        let not_renewed = toolset.take_not_renewed();
        let mut subscribed = self.subscribed.lock();
        for uri in not_renewed {
            if let Some(subscription) = subscribed.get_mut(&uri) {
                subscription.is_taken = false;
                attempts.retry_at.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Makes the subscriptions those of the clients. Those that have failed are tried again later.
    async fn subscribe(&self, attempts: &mut Attempts, state: &UpstreamState) {
        let Some(toolset) = state.inner.lock().toolset.clone() else {
            return;
        };
        let wanted = state.watched.borrow().clone();
        let is_due = attempts.is_due();
        let mut has_failed = !self.end_others(&toolset, &wanted).await;
        let mut updates = Vec::new();
        for uri in self.missing(wanted, is_due) {
            attempts.count += 1;
            let subscribed = toolset.subscribe(&uri).await;
            let subscription = Subscription {
                is_taken: subscribed.is_ok(),
                attempt: attempts.count,
            };
            let before = self.subscribed.lock().insert(uri.clone(), subscription);
            let Err(error) = subscribed else {
                // It may have changed before.
                updates.push(ResourceUpdate::of(uri));
                continue;
            };
            has_failed = true;
            if before.is_none() {
                self.warn_of_failure(&error);
            }
            if error.kind() == ErrorKind::Timeout || !toolset.is_connected() {
                // The rest would take as long.
                break;
            }
        }
        // At once, as many changes one by one would lag behind those who hear them.
        self.notifier.updated(updates);
        if has_failed {
            attempts.pause(is_due);
        } else if is_due {
            attempts.retry_at = None;
            attempts.pauses = Backoff(0);
        }
    }

    /// Returns the resources to which the server has not subscribed. With `is_due`, those that have
    /// failed are among them, the oldest attempt first, so that one that takes long does not keep
    /// the others waiting each time.
    fn missing(&self, wanted: BTreeSet<String>, is_due: bool) -> Vec<String> {
        let subscribed = self.subscribed.lock();
        let is_missing = |uri: &String| match subscribed.get(uri) {
            None => true,
            Some(subscription) => is_due && !subscription.is_taken,
        };
        let mut missing = wanted.into_iter().filter(is_missing).collect::<Vec<_>>();
        missing.sort_by_key(|uri| subscribed.get(uri).map(|subscription| subscription.attempt));
        missing
    }

    /// Ends the subscriptions that no client wants any more. Returns false if some are left, as the
    /// server does not answer.
    async fn end_others(&self, toolset: &ImportedToolset, wanted: &BTreeSet<String>) -> bool {
        let others = self
            .subscribed
            .lock()
            .keys()
            .filter(|uri| !wanted.contains(*uri))
            .cloned()
            .collect::<Vec<_>>();
        for uri in others {
            self.subscribed.lock().remove(&uri);
            let Err(error) = toolset.unsubscribe(&uri).await else {
                continue;
            };
            tracing::debug!(
                server = self.server,
                error = escape_invisible(error.message()),
                "failed to end the subscription to a resource"
            );
            if error.kind() == ErrorKind::Timeout || !toolset.is_connected() {
                return false;
            }
        }
        true
    }

    fn warn_of_failure(&self, error: &ToolError) {
        tracing::warn!(
            server = self.server,
            error = truncate(&escape_invisible(error.message()), MAX_ERROR),
            "failed to subscribe to a resource; it is tried again, and its clients get no updates until then"
        );
    }

    /// Forwards the updates of resources to the clients.
    async fn forward_updates(&self, mut updates: ServerChanges, state: &UpstreamState) {
        while let Some(first) = updates.next().await {
            sleep(SETTLE).await;
            let others = std::iter::from_fn(|| updates.next().now_or_never().flatten());
            let updates = std::iter::once(first).chain(others.take(MAX_UPDATES));
            self.forward(updates, state);
        }
    }

    /// Forwards the updates of resources, each once, and together.
    fn forward(&self, updates: impl Iterator<Item = ServerChange>, state: &UpstreamState) {
        let (policy, toolset) = {
            let inner = state.inner.lock();
            (Arc::clone(&inner.policy), inner.toolset.clone())
        };
        let subscribed = self.subscribed.lock();
        let mut uris = BTreeSet::new();
        for update in updates {
            match update {
                ServerChange::Resource(uri) => _ = uris.insert(uri),
                ServerChange::Missed => uris.extend(subscribed.keys().cloned()),
                _ => {}
            }
        }
        let quarantined = LazyCell::new(|| match &toolset {
            Some(toolset) => quarantined(toolset),
            None => BTreeSet::new(),
        });
        let is_allowed =
            |uri: &str| !quarantined.contains(&format!("resource:{uri}")) && policy.allows_uri(uri);
        let mut forwarded = Vec::new();
        for uri in uris {
            // Of a part of a resource, such as a file in a folder, to the clients of the resource.
            let wholes = subscribed.keys().filter(|resource| is_part(&uri, resource));
            let wholes = wholes.collect::<Vec<_>>();
            if !wholes.is_empty() && is_allowed(&uri) {
                let of_parts = wholes
                    .iter()
                    .map(|resource| ResourceUpdate::of_part(resource.as_str(), uri.as_str()));
                forwarded.extend(of_parts);
            }
            if subscribed.contains_key(&uri) {
                forwarded.push(ResourceUpdate::of(uri));
            }
        }
        self.notifier.updated(forwarded);
    }
}

/// Returns true if a URI is below that of a resource.
fn is_part(uri: &str, resource: &str) -> bool {
    let below = uri.strip_prefix(resource.trim_end_matches('/'));
    below.is_some_and(|below| below.starts_with('/')) && uri != resource
}

/// Returns the names of the tools that the server has and that are not offered, other than added
/// ones, as they follow the prefix.
pub(crate) fn quarantined(toolset: &ImportedToolset) -> BTreeSet<String> {
    let tools = toolset
        .quarantined()
        .into_iter()
        .filter(|tool| tool.reason != QuarantineReason::Added);
    tools.map(|tool| toolset.offered_key(&tool.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Target {
        Target::Command {
            program: "x".into(),
            arguments: Vec::new(),
            env: Vec::new(),
            cwd: None,
        }
    }

    #[test]
    fn a_part_of_a_resource_is_below_it() {
        for (uri, resource, is_below) in [
            ("file:///dir/a.txt", "file:///dir", true),
            ("file:///dir/a.txt", "file:///dir/", true),
            ("file:///dir/a/b", "file:///dir", true),
            ("file:///dir", "file:///dir", false),
            ("file:///dir/", "file:///dir/", false),
            ("file:///dir2/a", "file:///dir", false),
            ("notes://all", "notes://all/7", false),
        ] {
            assert_eq!(is_part(uri, resource), is_below, "{uri} {resource}");
        }
    }

    // T30
    #[tokio::test(start_paused = true)]
    async fn a_failure_during_a_pause_does_not_lengthen_it() {
        let mut attempts = Attempts {
            count: 0,
            pauses: Backoff(0),
            retry_at: None,
        };
        attempts.pause(attempts.is_due());
        let end = attempts.retry_at;
        attempts.pause(attempts.is_due());
        assert_eq!(attempts.retry_at, end);
    }

    #[test]
    fn the_subscription_tried_longest_ago_is_tried_first() {
        let tried = |is_taken, attempt| Subscription { is_taken, attempt };
        let subscribed = [
            ("a", tried(false, 5)),
            ("b", tried(false, 2)),
            ("d", tried(true, 1)),
        ];
        let subscribed = subscribed.map(|(uri, tried)| (uri.to_owned(), tried));
        let subscriptions = Subscriptions {
            server: "one".to_owned(),
            subscribed: Mutex::new(BTreeMap::from(subscribed)),
            reconnected: Notify::new(),
            notifier: ChangeNotifier::default(),
        };
        let wanted = BTreeSet::from(["a", "b", "c", "d"].map(str::to_owned));
        assert_eq!(subscriptions.missing(wanted.clone(), true), ["c", "b", "a"]);
        assert_eq!(subscriptions.missing(wanted, false), ["c"]);
    }

    // T31
    #[test]
    fn a_route_to_fewer_hosts_restricts_the_earlier_one() {
        let remote = Target::Url {
            url: "https://mcp.example/mcp".parse().expect("a URL"),
            headers: Vec::new(),
        };
        let route = |target: &Target, hosts: Option<&[&str]>| {
            let hosts = hosts.map(|hosts| hosts.iter().map(ToString::to_string).collect());
            let mut policy = GatewayPolicy::default();
            policy.file.egress = Some(EgressRules {
                hosts,
                private: Vec::new(),
            });
            Route::new(ServerEntry::new("one", target.clone()), &policy)
        };
        let one: Option<&[&str]> = Some(&["a.example"]);
        let both: Option<&[&str]> = Some(&["a.example", "b.example"]);
        for (before, now, is_less) in [
            (None, one, true),
            (both, one, true),
            (one, both, false),
            (one, None, false),
            (both, both, false),
        ] {
            let before = [&remote, &command()].map(|target| route(target, before));
            let now = [&remote, &command()].map(|target| route(target, now));
            assert_eq!(now[0].restricts(&before[0]), is_less);
            assert!(!now[1].restricts(&before[1]), "a program has no address");
        }
    }

    #[test]
    fn offered_names_lead_back_to_those_of_the_server() {
        let command = command();
        for (prefix, own, offered) in [
            ("", "_x", "_x"),
            ("", "x", "x"),
            ("gh", "x", "gh_x"),
            ("gh", "_x", "gh__x"),
        ] {
            let mut policy = GatewayPolicy::default();
            policy.file.servers.entry("one".into()).or_default().prefix = Some(prefix.to_owned());
            let route = Route::new(ServerEntry::new("one", command.clone()), &policy);
            // A quarantined prompt is known by its own name.
            assert_eq!(
                (route.offered_name(own).as_str(), route.own_name(offered)),
                (offered, own)
            );
        }
    }
}
