//! A running gateway.

use crate::audit::{Audit, AuditView, GatewayHook};
use crate::config::ServerEntry;
use crate::files::{GatewayError, GatewayFiles, Parsed, Settings, Texts, describe_pins};
use crate::governed::{OfferSources, offer};
use crate::policy::GatewayPolicy;
use crate::policy_file::{PolicyFile, Principal};
use crate::store_check::StoreCheck;
use crate::upstream::{Health, PinSource, Route, ServerStatus, Upstream};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tool_adapters_http::bearer::BearerToken;
use tool_adapters_http::debug_only;
use tool_adapters_inspector::Inspector;
use tool_adapters_mcp::{Pins, Server, messages};
use tool_adapters_telemetry::otel::Otel;
use tool_core::session::DrainReport;
use tool_core::trace::Collector;
use tool_core::{CancellationToken, Mode, Runtime, ToolContext, ToolDefinition};

/// A gateway that runs: it is connected to the servers of its files, and keeps the policies of its
/// files. Cheap to clone.
///
/// The program `tool-gateway` is [`main`](crate::main) over this type. A program of your own may
/// serve it over streams.
///
/// ```no_run
/// use tool_adapters::gateway::{Gateway, GatewayFiles};
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let gateway = Gateway::open(GatewayFiles { config: "mcp.json".into(), policy: Some("policy.toml".into()) }).await?;
/// let bound = gateway.bind(([127, 0, 0, 1], 8080).into()).await?;
/// println!("{}", bound.url()?);
/// bound.serve().await?;
/// gateway.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Gateway(pub(crate) Arc<GatewayInner>);

debug_only!(Gateway, |this| files: this.0.files);

pub(crate) struct GatewayInner {
    files: GatewayFiles,
    /// The settings with which it was started.
    pub(crate) started: PolicyFile,
    pub(crate) runtime: Runtime,
    pub(crate) server: Server,
    state: Mutex<GatewayState>,
    principals: Arc<RwLock<Vec<Principal>>>,
    pub(crate) audit: Arc<Audit>,
    changed: Arc<Notify>,
    /// Held while tools are offered, so that no earlier policy replaces a later one.
    offering: Mutex<()>,
    /// Held while the files are read and applied.
    reloading: tokio::sync::Mutex<Seen>,
    pub(crate) reloads: AtomicU64,
    pub(crate) failed_reloads: AtomicU64,
    otel: Option<Otel>,
    pub(crate) store_check: StoreCheck,
    stop: CancellationToken,
}

struct GatewayState {
    policy: Arc<GatewayPolicy>,
    upstreams: Vec<Upstream>,
    clashes: Vec<String>,
    /// The parts of the current offer.
    offered: Option<OfferSources>,
    /// The reason why less is offered than the files say.
    refusal: Option<String>,
    /// The resources to which clients have subscribed, and whose server is not known.
    without_server: BTreeSet<String>,
}

/// The files as they were last read.
struct Seen {
    texts: Texts,
    /// The error of the last read, so that it is logged once.
    error: Option<String>,
    /// The warnings beside this error, as far as they were logged.
    warnings: Vec<String>,
}

impl Seen {
    /// Returns true if what was read has warnings that are not logged yet. Broken files are parsed
    /// at each look, as a file that they name may be mended.
    fn has_new_warnings(&mut self, texts: &Texts, parsed: &Parsed) -> bool {
        let is_known = parsed.settings.is_err() && parsed.warnings == self.warnings;
        if is_known || *texts == self.texts {
            return false;
        }
        self.warnings.clone_from(&parsed.warnings);
        true
    }
}

/// The time between two looks at the files.
const POLL: Duration = Duration::from_secs(1);

/// The time in which changes of servers are collected.
const SETTLE: Duration = Duration::from_millis(20);

impl Gateway {
    /// Reads the files and connects to the servers. Returns once each server is connected or its
    /// first attempt has failed, and at the latest after `limits.startup`. Servers that failed are
    /// tried again.
    ///
    /// # Errors
    ///
    /// Returns all problems of the files, or the reason why the audit log, the store or the
    /// inspector cannot start. A server that cannot be reached is not an error.
    pub async fn open(files: GatewayFiles) -> Result<Self, GatewayError> {
        Self::open_at(files, None).await
    }

    /// Opens a gateway that is to be bound to the address of the option `--http`.
    pub(crate) async fn open_at(
        files: GatewayFiles,
        http: Option<SocketAddr>,
    ) -> Result<Self, GatewayError> {
        let texts = files.read().await?;
        let settings = files.parse(&texts, http).await.logged()?;
        let started = settings.policy.file.clone();
        if let Some(file) = settings.policy.pins() {
            Pins::file(file).map_err(|error| GatewayError::Start(describe_pins(&error)))?;
        }
        let audit = Arc::new(
            Audit::open(&started.audit)
                .await
                .map_err(GatewayError::Start)?,
        );
        let runtime = runtime(&settings.policy, &audit).await?;
        let principals = Arc::new(RwLock::new(started.http.principals.clone()));
        let stop = CancellationToken::new();
        let otel = observe(&settings.policy, &runtime, &stop).await?;
        let policy = Arc::new(settings.policy);
        let state = GatewayState {
            policy: Arc::clone(&policy),
            upstreams: Vec::new(),
            clashes: Vec::new(),
            offered: None,
            refusal: None,
            without_server: BTreeSet::new(),
        };
        let startup = started.limits.startup.0;
        let gateway = Self(Arc::new(GatewayInner {
            files,
            server: server(&started, &runtime, &principals),
            started,
            runtime,
            state: Mutex::new(state),
            principals,
            audit,
            changed: Arc::default(),
            offering: Mutex::default(),
            reloading: tokio::sync::Mutex::new(Seen {
                texts,
                error: None,
                warnings: Vec::new(),
            }),
            reloads: AtomicU64::new(0),
            failed_reloads: AtomicU64::new(0),
            otel,
            store_check: StoreCheck::default(),
            stop,
        }));
        let inner = &gateway.0;
        let watching = Arc::downgrade(inner);
        let mut watched = inner.server.changes().watched().start();
        tokio::spawn(inner.stop.clone().run_until_cancelled_owned(async move {
            while let Some((uri, is_watched)) = watched.recv().await {
                let Some(inner) = watching.upgrade() else {
                    return;
                };
                inner.watch(&uri, is_watched);
            }
        }));
        inner.connect(settings.servers, policy);
        let settled = inner
            .state
            .lock()
            .upstreams
            .iter()
            .map(Upstream::settled)
            .collect::<Vec<_>>();
        if timeout(startup, futures_util::future::join_all(settled))
            .await
            .is_err()
        {
            tracing::warn!("some servers are not connected yet; their tools appear once they are");
        }
        inner.offer_tools();
        let changed = |inner: &Arc<GatewayInner>| {
            let changed = Arc::clone(&inner.changed);
            async move { changed.notified().await }
        };
        inner.spawn(changed, async |inner| {
            sleep(SETTLE).await;
            if inner.offer_tools() {
                inner.refresh_clients();
            }
        });
        inner.spawn(
            |_| sleep(POLL),
            async |inner| {
                inner.watch_known();
                _ = inner.reload().await;
            },
        );
        Ok(gateway)
    }

    /// Reads the files again and applies what has changed. This happens automatically within a
    /// second of a change.
    ///
    /// Only servers whose entry has changed are connected again, and their running calls end over
    /// the earlier connection. Returns true if something was applied.
    ///
    /// # Errors
    ///
    /// Returns all problems of the files. The gateway goes on as before.
    pub async fn reload(&self) -> Result<bool, GatewayError> {
        self.0.reload().await
    }

    /// Serves the client that started this process, until it closes standard input.
    ///
    /// # Errors
    ///
    /// Returns the error of a stream.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.0.server.serve_stdio().await
    }

    /// Serves one client over two streams, until `input` ends.
    ///
    /// # Errors
    ///
    /// Returns the error of a stream.
    pub async fn serve_streams<R, W>(&self, input: R, output: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.0.server.serve_streams(input, output).await
    }

    /// Returns the runtime of all sessions, such as for its metrics. Its tools and its policies are
    /// those of the files.
    pub fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    /// Returns the servers that are configured and not disabled, in the order of the file.
    pub fn servers(&self) -> Vec<ServerStatus> {
        self.0.servers()
    }

    /// Opens the file of the audit log again, after it was rotated.
    pub fn reopen_audit(&self) {
        self.0.audit.reopen();
    }

    /// Lets running calls finish for `limits.drain`, and begins no others. From now on `/readyz`
    /// answers 503, and new calls get a retryable error. Serve on meanwhile, and then
    /// [`close`](Self::close) the gateway.
    ///
    /// Returns what was cancelled at the end of that time. Sessions in Redis stay open for other
    /// gateways, with the calls that wait for approval.
    pub async fn drain(&self) -> DrainReport {
        self.0.server.drain(self.0.started.limits.drain.0).await
    }

    /// Stops serving, closes the connections to the servers, and writes what is left of the audit
    /// log and of the spans. Sessions in Redis stay open for other gateways.
    pub async fn close(&self) {
        let inner = &self.0;
        inner.stop.cancel();
        let offered = inner.state.lock().offered.take();
        drop(offered);
        if inner.started.sessions.redis.is_some() {
            inner.server.stop();
        } else {
            inner.server.shutdown().await;
        }
        inner.audit.flush().await;
        inner.audit.stop();
        let upstreams = std::mem::take(&mut inner.state.lock().upstreams);
        let toolsets = upstreams
            .iter()
            .filter_map(Upstream::toolset)
            .collect::<Vec<_>>();
        drop(upstreams);
        futures_util::future::join_all(
            toolsets
                .iter()
                .map(|toolset| tool_core::Toolset::close(&**toolset)),
        )
        .await;
        if let Some(otel) = inner.otel.clone() {
            // It blocks.
            match tokio::task::spawn_blocking(move || otel.shutdown()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "failed to send the last spans"),
                Err(error) => tracing::warn!(%error, "failed to send the last spans"),
            }
        }
    }
}

impl GatewayInner {
    /// Runs a task again and again: waits, and then works, until the gateway is closed or dropped.
    fn spawn<W, F>(
        self: &Arc<Self>,
        wait: impl Fn(&Arc<Self>) -> W + Send + 'static,
        work: impl Fn(Arc<Self>) -> F + Send + 'static,
    ) where
        W: Future<Output = ()> + Send,
        F: Future<Output = ()> + Send,
    {
        let gateway = Arc::downgrade(self);
        let stop = self.stop.clone();
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            while let Some(inner) = Weak::upgrade(&gateway) {
                let waiting = wait(&inner);
                drop(inner);
                waiting.await;
                let Some(inner) = Weak::upgrade(&gateway) else {
                    return;
                };
                work(inner).await;
            }
        }));
    }

    /// Starts the connections of new and changed servers, and drops those of the rest.
    fn connect(&self, servers: Vec<ServerEntry>, policy: Arc<GatewayPolicy>) {
        let mut state = self.state.lock();
        let mut earlier = std::mem::take(&mut state.upstreams);
        for entry in servers {
            let route = Route::new(entry, &policy);
            let known = earlier
                .iter()
                .position(|upstream| upstream.route.entry.name == route.entry.name);
            let known = known.map(|at| earlier.swap_remove(at));
            let upstream = match known {
                Some(upstream) if upstream.route == route => {
                    upstream.set_policy(Arc::clone(&policy));
                    upstream
                }
                known => {
                    if known.is_some() {
                        tracing::info!(
                            server = route.entry.name,
                            "the entry of a server has changed; connecting again"
                        );
                    }
                    let pins = match policy.pins() {
                        Some(file) => PinSource::File(file.clone()),
                        None => PinSource::Memory(Pins::memory()),
                    };
                    let earlier = known.filter(|known| !route.restricts(&known.route));
                    let earlier = earlier.as_ref().and_then(Upstream::toolset);
                    let changed = Arc::clone(&self.changed);
                    let notifier = self.server.changes();
                    Upstream::start(route, Arc::clone(&policy), pins, earlier, changed, notifier)
                }
            };
            state.upstreams.push(upstream);
        }
        for upstream in &earlier {
            tracing::info!(server = upstream.route.entry.name, "a server was removed");
        }
        state.policy = policy;
        drop(state);
        // Dropped without the lock.
        drop(earlier);
    }

    /// Offers the tools of all servers that are connected. Returns false if they stay as they were.
    fn offer_tools(&self) -> bool {
        let _offering = self.offering.lock();
        let before = self.audit.unlisted();
        let (offered, policy) = {
            let state = self.state.lock();
            (
                offer(&state.upstreams, &state.policy, before.as_deref()),
                Arc::clone(&state.policy),
            )
        };
        drop(before);
        let offered = match offered {
            Ok(offered) => offered,
            Err(error) => return self.offer_nothing(&messages(&error)),
        };
        if self
            .state
            .lock()
            .offered
            .as_ref()
            .is_some_and(|before| before.is_same(&offered.sources))
        {
            return false;
        }
        let clashes = std::mem::replace(&mut self.state.lock().clashes, offered.clashes.clone());
        for clash in offered
            .clashes
            .iter()
            .filter(|clash| !clashes.contains(clash))
        {
            tracing::warn!("{clash}; set another `prefix` for one of the servers");
        }
        let names = offered.tools.definitions().map(ToolDefinition::name);
        let costs = names
            .filter_map(|name| Some((name.to_owned(), policy.cost_of(name)?)))
            .collect();
        let redaction = policy.redaction.clone();
        let servers = offered.servers;
        let unlisted = Some(offered.unlisted);
        self.audit.set_view(AuditView {
            redaction,
            offered: Some(offered.tools.clone()),
            servers,
            costs,
            unlisted,
        });
        if let Err(error) = self.runtime.update_tools(offered.tools) {
            return self.offer_nothing(&messages(&error));
        }
        let refusal = Some(offered.refused.join("; ")).filter(|refusal| !refusal.is_empty());
        if let Some(refusal) = &refusal {
            tracing::error!("{refusal}");
        }
        self.state.lock().refusal = refusal;
        // Dropped without the lock, as the last connection of a server may be in it.
        let before = self.state.lock().offered.replace(offered.sources);
        drop(before);
        for uri in self.server.changes().watched().uris() {
            self.watch(&uri, true);
        }
        true
    }

    /// Offers no tools: those from before are not what the policy says.
    fn offer_nothing(&self, error: &str) -> bool {
        tracing::error!(error, "failed to offer the tools; none are offered");
        self.audit.set_view(AuditView {
            redaction: self.state.lock().policy.redaction.clone(),
            ..AuditView::default()
        });
        match ToolContext::builder()
            .build()
            .map(|none| self.runtime.update_tools(none))
        {
            Ok(Ok(())) => {}
            Ok(Err(errors)) | Err(errors) => {
                tracing::error!(error = messages(&errors), "failed to take back the tools");
            }
        }
        let mut state = self.state.lock();
        state.refusal = Some(format!("no tools are offered: {error}"));
        let before = state.offered.take();
        drop(state);
        before.is_some()
    }

    /// Returns the reason why less is offered than the files say.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.state.lock().refusal.clone()
    }

    /// Subscribes to a resource at its server, or ends the subscription.
    fn watch(&self, uri: &str, is_watched: bool) {
        let server = self.audit.server_of_resource(uri).filter(|_| is_watched);
        let mut state = self.state.lock();
        for upstream in &state.upstreams {
            upstream.watch(
                uri,
                server.as_deref() == Some(upstream.route.entry.name.as_str()),
            );
        }
        if is_watched && server.is_none() {
            state.without_server.insert(uri.to_owned());
        } else {
            state.without_server.remove(uri);
        }
    }

    /// Subscribes to the resources whose server has become known, as it has linked to them or was
    /// the one that could read them.
    fn watch_known(&self) {
        let Some(unlisted) = self.audit.unlisted() else {
            return;
        };
        let mut known = self.state.lock().without_server.clone();
        known.retain(|uri| unlisted.server_of(uri).is_some());
        for uri in known {
            self.watch(&uri, true);
        }
    }

    /// Gives open sessions what is offered, and notifies their clients. The sessions that make no
    /// request have it later, as their store may be slow.
    fn refresh_clients(&self) {
        let renewed = self.server.refresh();
        tokio::spawn(self.stop.clone().run_until_cancelled_owned(renewed));
        let changes = self.server.changes();
        changes.prompts_changed();
        changes.resources_changed();
    }

    async fn reload(&self) -> Result<bool, GatewayError> {
        let mut seen = self.reloading.lock().await;
        let read = match self.files.read().await {
            Ok(texts) if texts == seen.texts && seen.error.is_none() => return Ok(false),
            Ok(texts) => {
                let parsed = self.files.parse(&texts, None).await;
                if seen.has_new_warnings(&texts, &parsed) {
                    parsed.log_warnings();
                }
                parsed.settings.map(|settings| (texts, settings))
            }
            Err(error) => Err(error),
        };
        match read {
            Ok((texts, settings)) => {
                let is_same = texts == seen.texts;
                *seen = Seen {
                    texts,
                    error: None,
                    warnings: Vec::new(),
                };
                if is_same {
                    return Ok(false);
                }
                self.apply(settings)?;
                Ok(true)
            }
            Err(error) => {
                let text = error.to_string();
                if seen.error.as_ref() != Some(&text) {
                    self.failed_reloads.fetch_add(1, Ordering::Relaxed);
                    tracing::error!(
                        "failed to reload the files; the gateway goes on as before:\n{text}"
                    );
                    seen.error = Some(text);
                }
                Err(error)
            }
        }
    }

    fn apply(&self, settings: Settings) -> Result<(), GatewayError> {
        let changed = self.started.changed(&settings.policy.file);
        if !changed.is_empty() {
            tracing::warn!(
                "these settings take effect after a restart: {}",
                changed.join(", ")
            );
        }
        let policy = Arc::new(settings.policy);
        for mode in [Mode::Voice, Mode::Text] {
            let updated = self.runtime.update_policy(mode, policy.session.clone());
            updated.map_err(|error| GatewayError::Start(error.to_string()))?;
        }
        self.set_principals(&policy.file.http.principals);
        self.connect(settings.servers, policy);
        self.offer_tools();
        self.refresh_clients();
        if let Some(refusal) = self.refusal() {
            self.failed_reloads.fetch_add(1, Ordering::Relaxed);
            tracing::error!("the files were reloaded, but {refusal}");
            return Err(GatewayError::Start(refusal));
        }
        self.reloads.fetch_add(1, Ordering::Relaxed);
        tracing::info!("reloaded the files");
        Ok(())
    }

    /// Sets the clients that are known by their tokens, and ends the sessions of those whose token
    /// is known no more.
    fn set_principals(&self, principals: &[Principal]) {
        let before = std::mem::replace(&mut *self.principals.write(), principals.to_vec());
        let is_known = |one: &Principal| {
            let mut now = principals.iter();
            now.any(|other| other.name == one.name && other.token.is_same(&one.token))
        };
        let gone = before.iter().filter(|one| !is_known(one));
        let gone = gone.map(|one| one.name.as_str()).collect::<Vec<_>>();
        if !gone.is_empty() {
            self.server.end_sessions_of(|name| gone.contains(&name));
        }
    }

    pub(crate) fn servers(&self) -> Vec<ServerStatus> {
        let state = self.state.lock();
        let status = |upstream: &Upstream| {
            let health = upstream.health();
            let is_up = health == Health::Up;
            let (error, needs_login) = match health {
                Health::Down(error, needs_login) => (Some(error), needs_login),
                Health::Up | Health::Connecting => (None, false),
            };
            let toolset = upstream.toolset();
            let quarantined = toolset.iter().flat_map(|toolset| toolset.quarantined());
            ServerStatus {
                name: upstream.route.entry.name.clone(),
                is_up,
                needs_login,
                error,
                quarantined: quarantined.map(|tool| tool.to_string()).collect(),
            }
        };
        state.upstreams.iter().map(status).collect()
    }
}

/// Builds the runtime, still without tools.
#[cfg_attr(
    not(feature = "redis"),
    allow(clippy::unused_async, reason = "only Redis is waited for")
)]
async fn runtime(policy: &GatewayPolicy, audit: &Arc<Audit>) -> Result<Runtime, GatewayError> {
    let start = |error: &dyn std::fmt::Display| GatewayError::Start(error.to_string());
    let tools = ToolContext::builder()
        .build()
        .map_err(|error| start(&error))?;
    let mut builder = Runtime::builder(tools)
        .policy(policy.session.clone())
        .hook(GatewayHook(Arc::clone(audit)));
    let sessions = &policy.file.sessions;
    if let Some(key) = &sessions.signing_key {
        builder = builder.signing_key(*key.0);
    }
    #[cfg(feature = "redis")]
    if let Some(url) = &sessions.redis {
        // Half of what an operation has, so that its error comes before the deadline.
        let deadline = policy.file.limits.store_deadline;
        let deadline = deadline.map_or(Duration::from_secs(1), |deadline| deadline.0);
        let mut store = tool_adapters_stores::RedisStore::builder(url)
            .replicas(sessions.replicas, deadline / 2);
        if let Some(prefix) = &sessions.prefix {
            store = store.prefix(prefix);
        }
        let store = store.connect().await;
        builder = builder
            .store(store.map_err(|error| GatewayError::Start(format!("sessions.redis: {error}")))?);
    }
    builder.build().map_err(|error| start(&error))
}

/// Builds the server of the clients.
fn server(
    started: &PolicyFile,
    runtime: &Runtime,
    principals: &Arc<RwLock<Vec<Principal>>>,
) -> Server {
    let limits = &started.limits;
    let http = &started.http;
    let mut server = Server::new(runtime.clone())
        .name(&started.name, env!("CARGO_PKG_VERSION"))
        .mode(started.mode)
        .announce_tool_changes(true)
        .all_features()
        .turn_after(limits.turn_after.0)
        .idle_timeout(limits.idle_timeout.0)
        .confirm_timeout(limits.approval_lifetime.0)
        .max_message(limits.max_message.0)
        .path(&http.path)
        .allow_anonymous(http.allow_anonymous);
    if started.inspector.is_some() {
        server = server.host_approves(limits.approval_wait.0);
    }
    if let Some(text) = &started.instructions {
        server = server.instructions(text);
    }
    if let Some(sessions) = limits.max_sessions {
        server = server.max_sessions(sessions.get());
    }
    if let Some(sessions) = limits.max_sessions_per_client {
        server = server.max_sessions_per_client(sessions.get());
    }
    if let Some(connections) = http.max_connections_per_address {
        server = server.max_connections_per_address(connections.get());
    }
    if let Some(hosts) = &http.hosts {
        server = server.allow_hosts(hosts);
    }
    if let Some(origins) = &http.origins {
        server = server.allow_origins(origins);
    }
    if !http.principals.is_empty() {
        let principals = Arc::clone(principals);
        server = server.principal(move |parts| {
            let sent = BearerToken::hash_in(&parts.headers)?;
            let principals = principals.read();
            let known = principals
                .iter()
                .find(|principal| principal.token.has_hash(&sent));
            known.map(|principal| principal.name.clone())
        });
    }
    server
}

/// Starts the export of spans, and the inspector.
async fn observe(
    policy: &GatewayPolicy,
    runtime: &Runtime,
    stop: &CancellationToken,
) -> Result<Option<Otel>, GatewayError> {
    let file = &policy.file;
    if file.otel.is_none() && file.inspector.is_none() {
        return Ok(None);
    }
    let keeps_content =
        file.inspector.is_some() || file.otel.as_ref().is_some_and(|otel| otel.content);
    let mut collector = Collector::builder()
        .keep(0)
        .content(keeps_content)
        .redaction(policy.redaction.clone());
    let mut exporter = None;
    if let Some(settings) = &file.otel {
        let mut builder = Otel::otlp()
            .endpoint(&settings.endpoint)
            .service_name(&file.name)
            .content(settings.content);
        for (name, value) in &settings.headers {
            builder = builder.header(name, &**value);
        }
        let otel = builder
            .build()
            .map_err(|error| GatewayError::Start(format!("otel: {error}")))?;
        collector = collector.sink(otel.clone());
        exporter = Some(otel);
    }
    if let Some(settings) = &file.inspector {
        let mut inspector = Inspector::new(runtime)
            .redaction(policy.redaction.clone())
            .sessions_only()
            .shutdown(stop.clone());
        if let Some(token) = &settings.token {
            inspector = inspector.token(&**token);
        }
        collector = collector.sink(inspector.span_log());
        let bound = inspector.bind(settings.listen.0).await;
        let bound = bound.map_err(|error| {
            GatewayError::Start(format!("inspector: {}: {error}", settings.listen.0))
        })?;
        let url = bound
            .url()
            .map_err(|error| GatewayError::Start(error.to_string()))?;
        // A token of the policy is known to its author.
        let url = if settings.token.is_some() {
            url.split('#').next().unwrap_or_default().to_owned()
        } else {
            url
        };
        tracing::info!(target: "tool_gateway", "the inspector is at {url}");
        tokio::spawn(bound.serve());
    }
    collector.build().install();
    Ok(exporter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn warnings_beside_a_broken_policy_are_logged_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let policy = folder.path().join("policy.toml");
        let files = GatewayFiles {
            config: folder.path().join("mcp.json"),
            policy: Some(policy.clone()),
        };
        std::fs::write(&policy, "").expect("written");
        std::fs::write(&files.config, r#"{"mcpServers": {}}"#).expect("written");
        let mut seen = Seen {
            texts: files.read().await.expect("texts"),
            error: None,
            warnings: Vec::new(),
        };

        std::fs::write(&policy, "deny = 7").expect("written");
        for (config, is_new) in [
            (r#"{"mcpServers": {}, "one": 1}"#, true),
            (r#"{"mcpServers": {}, "one": 1}"#, false),
            (r#"{"mcpServers": {}, "two": 2}"#, true),
            (r#"{"mcpServers": {}, "two": 2}"#, false),
        ] {
            std::fs::write(&files.config, config).expect("written");
            let texts = files.read().await.expect("texts");
            let parsed = files.parse(&texts, None).await;
            assert!(parsed.settings.is_err() && !parsed.warnings.is_empty());
            assert_eq!(seen.has_new_warnings(&texts, &parsed), is_new, "{config}");
        }
    }

    #[tokio::test]
    async fn no_earlier_policy_is_offered_after_a_later_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = GatewayFiles {
            config: folder.path().join("mcp.json"),
            policy: None,
        };
        std::fs::write(&files.config, r#"{"mcpServers": {}}"#).expect("written");
        let gateway = Gateway::open(files).await.expect("a gateway");
        for _ in 0..200 {
            let offering = (0..4).map(|_| {
                let inner = Arc::clone(&gateway.0);
                tokio::task::spawn_blocking(move || {
                    inner.connect(Vec::new(), Arc::default());
                    inner.offer_tools();
                })
            });
            for offered in offering.collect::<Vec<_>>() {
                offered.await.expect("offered");
            }
            assert!(!gateway.0.offer_tools(), "the last policy was offered last");
        }
        gateway.close().await;
    }
}
