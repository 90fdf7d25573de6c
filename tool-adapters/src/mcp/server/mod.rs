//! A server of a runtime's tools. Every call goes through a session: budgets, deadlines, confirmation, panics.
//!
//! - `settings`, `connection`: what all connections share, and the handler of one
//! - `conversation`: the session behind a connection; `call`: one call; `answer`: its result; `confirm`: a person asked;
//!   `spans`: the trace that a call is part of
//! - `list`: what `tools/list` says
//! - `strict`: what is no message is refused before anything reads it
//! - `lines`, `http`, `guard`: standard input and output, HTTP, and who may speak over it

mod confirm;
mod connection;
mod conversation;
mod http;
mod list;
mod spans;
mod stdio;

pub use crate::mcp::server::http::BoundServer;

use crate::mcp::server::confirm::Waiting;
use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::SessionBuilder;
use tool_core::{CancellationToken, Category, Policy, RegistryErrors, Runtime, ToolContext};

/// Serves the tools of a runtime over the Model Context Protocol. Cheap to clone.
///
/// One MCP session is one [`Session`](tool_core::Session) in text mode, ended when its connection ends. See the
/// [module](super) for what is served.
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::mcp::Server;
/// use tool_core::{Policy, Runtime, ToolContext};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let tools = ToolContext::builder().build()?;
/// let runtime = Runtime::builder(tools).policy(Policy::text()).build()?;
/// let server = Server::new(runtime)
///     .name("calendar", "1.0.0")
///     .instructions("Times are in UTC.")
///     .turn_after(Duration::from_secs(60));
/// let app: axum::Router = server.router();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a server does nothing before it is served"]
pub struct Server {
    settings: Settings,
    runtime: Runtime,
    waiting: Arc<Waiting>,
}

impl Server {
    /// A server of this runtime's tools, under its policy for text.
    pub fn new(runtime: Runtime) -> Self {
        Self { settings: Settings::default(), runtime, waiting: Arc::default() }
    }

    /// A server of these tools, under [`policy`](Self::policy). Fails where a [`Runtime`] of them would.
    pub fn of_tools(tools: ToolContext) -> Result<Self, RegistryErrors> {
        Ok(Self::new(Runtime::builder(tools).policy(Self::policy()).build()?))
    }

    /// [`Policy::text`] without what it limits in a turn: a server is not told when its client's user has spoken, so a
    /// turn is only as long as the calls come without a pause ([`turn_after`](Self::turn_after)). Deadlines, confirmation
    /// and the caps on sessions and calls at once stay.
    pub fn policy() -> Policy {
        let policy = Policy::text().category_budget(Category::Retrieval, None);
        policy.repeated_calls(None).max_empty_results(None)
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// What the server says it is called; `tools` and this crate's version unless told.
    pub fn name(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.with(|settings| (settings.name, settings.version) = (name.into(), version.into()))
    }

    /// What the client's model is told of the server; the tools' guides unless told.
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.with(|settings| settings.instructions = Some(text.into()))
    }

    /// The pause after which a call begins a new turn, with budgets of its own; 30 s unless told.
    pub fn turn_after(self, pause: Duration) -> Self {
        self.with(|settings| settings.turn_after = pause)
    }

    /// The tools on one page of the list; 1,000 unless told, as many clients read the first page only.
    pub fn page(self, tools: usize) -> Self {
        self.with(|settings| settings.page = tools.max(1))
    }

    /// How long a person may take to confirm a call; 10 minutes unless told. The policy's own limit holds too.
    pub fn confirm_within(self, limit: Duration) -> Self {
        self.with(|settings| settings.confirm_within = limit)
    }

    /// How long a session over HTTP may be silent before it ends; 30 minutes unless told.
    pub fn idle(self, limit: Duration) -> Self {
        self.with(|settings| settings.idle = limit)
    }

    /// The bytes that a message may have; 4 MiB unless told.
    pub fn max_message(self, bytes: usize) -> Self {
        self.with(|settings| settings.max_message = bytes)
    }

    /// Whether clients may say for which run and which customer they call: the `baggage` of their `_meta`. They may not
    /// unless told, as anybody may say anything. Nor may they say that a call is not sampled, which would keep it from an
    /// exporter. Which span of theirs a call is part of, they always say.
    pub fn trust_baggage(self, yes: bool) -> Self {
        self.with(|settings| settings.trust_baggage = yes)
    }

    /// The path under which [`router`](Self::router) and [`serve_http`](Self::serve_http) serve; `/mcp` unless told.
    pub fn path(self, path: impl Into<String>) -> Self {
        self.with(|settings| settings.path = path.into())
    }

    /// The values of `Host` that are served over HTTP, in place of the loopback ones: `name`, for any port, or
    /// `name:port`. Without this a page on the web could reach the server through a name that it lets point here.
    pub fn allow_hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|settings| settings.hosts = Some(hosts.into_iter().map(Into::into).collect()))
    }

    /// The values of `Origin` that are served over HTTP, in place of the loopback ones: `https://name`, for the scheme's
    /// own port, `https://name:port`, or `https://name:*`. A request without `Origin` comes from no page.
    pub fn allow_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|settings| settings.origins = Some(origins.into_iter().map(Into::into).collect()))
    }

    /// Who speaks, over HTTP: as what the application's own layers have found out, such as a signed-in user in the
    /// request's extensions. Each session is bound to the one who opened it, and so are its approvals.
    ///
    /// ```
    /// # use tool_adapters::mcp::Server;
    /// #[derive(Clone)]
    /// struct User(String);
    ///
    /// fn guarded(server: Server) -> Server {
    ///     server.principal(|parts| parts.extensions.get::<User>().map(|user| user.0.clone()))
    /// }
    /// ```
    pub fn principal(self, who: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.principal = Some(Arc::new(who)))
    }

    /// What else a session needs when it is opened, such as user data for its tools.
    ///
    /// ```
    /// # use tool_adapters::mcp::Server;
    /// # struct Pool;
    /// fn with_pool(server: Server, pool: std::sync::Arc<Pool>) -> Server {
    ///     server.session(move |open, _| open.user_data_shared(pool.clone()))
    /// }
    /// ```
    pub fn session(self, open: impl Fn(SessionBuilder, &Client) -> SessionBuilder + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.open = Some(Arc::new(open)))
    }

    /// Ends the sessions of all connections.
    pub async fn shutdown(&self) {
        self.settings.stop.cancel();
        self.runtime.shutdown().await;
    }

    fn shared(&self) -> Arc<Shared> {
        Arc::new(Shared {
            settings: self.settings.clone(),
            runtime: self.runtime.clone(),
            waiting: Arc::clone(&self.waiting),
        })
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.settings.name).finish_non_exhaustive()
    }
}

// ---- What all connections of a server share.

/// Who opens a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// What the client calls itself: anybody may say anything.
    pub name: Option<String>,
    /// Its version, as it says.
    pub version: Option<String>,
    /// For whom it speaks, as [`Server::principal`](super::Server::principal) has found out.
    pub principal: Option<String>,
}

pub(crate) type Principal = dyn Fn(&Parts) -> Option<String> + Send + Sync;
pub(crate) type Opener = dyn Fn(SessionBuilder, &Client) -> SessionBuilder + Send + Sync;

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) instructions: Option<String>,
    pub(crate) turn_after: Duration,
    pub(crate) page: usize,
    pub(crate) confirm_within: Duration,
    pub(crate) idle: Duration,
    pub(crate) max_message: usize,
    pub(crate) path: String,
    pub(crate) trust_baggage: bool,
    /// The loopback names where none are told.
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) origins: Option<Vec<String>>,
    pub(crate) principal: Option<Arc<Principal>>,
    pub(crate) open: Option<Arc<Opener>>,
    pub(crate) stop: CancellationToken,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "tools".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            turn_after: Duration::from_secs(30),
            page: 1000,
            confirm_within: Duration::from_mins(10),
            idle: Duration::from_mins(30),
            max_message: 4 << 20,
            path: "/mcp".to_owned(),
            trust_baggage: false,
            hosts: None,
            origins: None,
            principal: None,
            open: None,
            stop: CancellationToken::new(),
        }
    }
}

pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) runtime: Runtime,
    pub(crate) waiting: Arc<Waiting>,
}

impl Shared {
    /// Who makes a request.
    pub(crate) fn client(&self, context: &RequestContext<RoleServer>) -> Client {
        let info = context.client_info();
        Client {
            name: info.as_ref().map(|info| info.name.clone()),
            version: info.map(|info| info.version),
            principal: parts(context).and_then(|parts| self.settings.principal.as_ref()?(parts)),
        }
    }
}

/// The HTTP request that a message came in; none over standard input.
pub(crate) fn parts(context: &RequestContext<RoleServer>) -> Option<&Parts> {
    context.extensions.get::<Parts>()
}

/// Whether a request speaks revision 2026-07-28 or later: it stands alone, and nobody is asked in the middle of it.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
