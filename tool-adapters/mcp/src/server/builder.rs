//! The public [`Server`] and its settings.

#[cfg(feature = "auth")]
use crate::server::authorization;
use crate::server::changes::ChangeNotifier;
use crate::server::session::{ClientInfo, ServerState, Settings, TaskSupport};
use crate::server::standard_streams::standard_streams;
use crate::server::{http, stdio};
use axum::Router;
use axum::http::request::Parts;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tool_adapters_http::bearer::BearerToken;
use tool_adapters_http::debug_only;
use tool_adapters_http::serve::BoundServer;
use tool_core::session::{DrainReport, SessionBuilder};
use tool_core::{Category, Mode, Policy, RegistryErrors, Runtime, ToolContext, ToolDefinition};

/// Serves the tools of a runtime over the Model Context Protocol. Cheap to clone.
///
/// One MCP session is one [`Session`](tool_core::Session) in text mode. It ends when its connection
/// ends. See the
/// [module](crate) for the parts of the protocol that are served.
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
    state: ServerState,
}

impl Server {
    /// Creates a server of a runtime's tools, under the runtime's policy for text.
    pub fn new(runtime: Runtime) -> Self {
        Self {
            state: ServerState::new(runtime),
        }
    }

    /// Creates a server of these tools, under [`Server::policy`].
    ///
    /// # Errors
    ///
    /// Returns the errors of building a [`Runtime`] of the tools.
    pub fn from_tools(tools: ToolContext) -> Result<Self, RegistryErrors> {
        Ok(Self::new(
            Runtime::builder(tools).policy(Self::policy()).build()?,
        ))
    }

    /// Returns [`Policy::text`] without its limits a turn.
    ///
    /// The protocol does not tell a server when the user has spoken. A turn ends after a pause
    /// between calls ([`turn_after`](Self::turn_after)), so limits a turn would stop long runs of
    /// calls. Deadlines, confirmation and the caps on sessions and concurrent calls stay.
    pub fn policy() -> Policy {
        let policy = Policy::text().category_budget(Category::Retrieval, None);
        policy.repeated_calls(None).max_empty_results(None)
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.state.settings);
        self
    }

    /// Sets the name and version of the server. Defaults to `tools` and the version of this crate.
    pub fn name(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.with(|settings| (settings.name, settings.version) = (name.into(), version.into()))
    }

    /// Sets the instructions for the client's model. Defaults to the guides of the tools.
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.with(|settings| settings.instructions = Some(text.into()))
    }

    /// Serves each tool's guide as the prompt `<tool>_guide` and as the skill
    /// `skill://<tool>/SKILL.md`, by the extension `io.modelcontextprotocol/skills`. The skill is a
    /// resource, too. Its name has the letters, digits and hyphens of the tool's name in lower
    /// case. Defaults to true.
    pub fn guides(self, yes: bool) -> Self {
        self.with(|settings| settings.guides = yes)
    }

    /// Returns the handle by which the host reports that prompts or resources have changed. [`refresh`](Self::refresh) reports
    /// changed tools.
    pub fn changes(&self) -> ChangeNotifier {
        self.state.changes.clone()
    }

    /// Sets the mode of the sessions. Defaults to text.
    pub fn mode(self, mode: Mode) -> Self {
        self.with(|settings| settings.mode = mode)
    }

    /// Announces to clients that the list of tools may change, and notifies them at each [`refresh`](Self::refresh). Defaults
    /// to false.
    pub fn announce_tool_changes(self, yes: bool) -> Self {
        self.with(|settings| settings.tools_change = yes)
    }

    /// Sets the pause after which a call begins a new turn with new budgets. Defaults to 30 s.
    pub fn turn_after(self, pause: Duration) -> Self {
        self.with(|settings| settings.turn_after = pause)
    }

    /// Sets the time in which the user has to answer an `elicitation/create` request. Defaults to 10 minutes. The policy's own
    /// limit, [`Policy::confirmation_lifetime`](tool_core::Policy::confirmation_lifetime), applies too, and alone from
    /// revision 2026-07-28 on.
    pub fn confirm_timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.confirm_timeout = limit)
    }

    /// Sets the time after which an idle session over HTTP ends. A session with a request that is
    /// not answered, or whose client listens on a stream of its own, is not idle. Defaults to 30
    /// minutes.
    pub fn idle_timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.idle_timeout = limit)
    }

    /// Sets the function that says which tools' calls may run as tasks, by the extension
    /// `io.modelcontextprotocol/tasks` of revision 2026-07-28. Defaults to none, and then the
    /// server does not declare the extension.
    ///
    /// A call becomes a task at the first moment at which its tool waits, for a client that
    /// declares the extension. A tool that returns before that is answered at once, and what it
    /// asks before that is asked before there is a task (`input_required`). The client polls the
    /// task, answers what its tool asks later, and may cancel it. A task belongs to its client, as
    /// a call does ([`principal`](Self::principal)).
    ///
    /// A task lives in this process. If the runtime has a
    /// [journal](tool_core::session::RuntimeBuilder::journal) that processes share, and the client has a
    /// principal or a token, other processes answer for it, too, and it outlives this one.
    ///
    /// ```
    /// # use tool_adapters::mcp::{Server, TaskSupport};
    /// fn with_tasks(server: Server) -> Server {
    ///     server.tasks(|tool| match tool.name() {
    ///         "render_video" => TaskSupport::Optional,
    ///         _ => TaskSupport::Forbidden,
    ///     })
    /// }
    /// ```
    pub fn tasks(
        self,
        choose: impl Fn(&ToolDefinition) -> TaskSupport + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.tasks = Some(Arc::new(choose)))
    }

    /// Sets the time for which a task is kept, counted from its beginning. A call that goes on for
    /// longer is cancelled. Defaults to 15 minutes.
    pub fn task_ttl(self, ttl: Duration) -> Self {
        self.with(|settings| settings.task_ttl = ttl)
    }

    /// Sets the maximum number of tasks that are kept of one client, those that have ended
    /// included, in all processes that answer for them. A further call is refused, and so is one while the results of the client's tasks
    /// have 16 MiB. Defaults to 32.
    pub fn max_tasks(self, tasks: usize) -> Self {
        self.with(|settings| settings.max_tasks = tasks)
    }

    /// Sets the maximum number of sessions that are open over HTTP at once. Further ones are
    /// refused, and open ones are never closed to make room. Defaults to 10,000.
    pub fn max_sessions(self, sessions: usize) -> Self {
        self.with(|settings| settings.max_sessions.all = sessions)
    }

    /// Sets the maximum number of sessions that one client has open over HTTP at once. A client is
    /// a principal, or else the server's bearer token, or else the address of the peer. Behind a
    /// proxy, all clients without a principal have the proxy's address. Defaults to 1,024.
    pub fn max_sessions_per_client(self, sessions: usize) -> Self {
        self.with(|settings| settings.max_sessions.each = sessions)
    }

    /// Sets the maximum number of sessions that clients of one address have open with tokens that
    /// the server has not checked. Each such token has its own budgets, and a client could send
    /// another one each time. Set a
    /// [`principal`](Self::principal) to check them. Defaults to 16.
    pub fn max_unchecked_sessions(self, sessions: usize) -> Self {
        self.with(|settings| settings.max_unchecked_sessions = sessions)
    }

    /// Sets the maximum number of connections that one address has open, if [`bind`](Self::bind)
    /// accepted them. Further ones are answered 503. Behind a proxy, all clients have the proxy's
    /// address: set it to 10,000, which is the limit of all. Defaults to 2,500.
    pub fn max_connections_per_address(self, connections: usize) -> Self {
        self.with(|settings| settings.limits.connections.each = connections)
    }

    /// Sets the time that open connections get after a [`shutdown`](Self::shutdown). Defaults to 10
    /// s.
    pub fn shutdown_grace(self, grace: Duration) -> Self {
        self.with(|settings| settings.limits.grace = grace)
    }

    /// Sets the maximum size of a message in bytes. A longer one is answered with an error that has
    /// the id of its request, for which a body over HTTP is read up to 16 times this size. Defaults
    /// to 4 MiB.
    pub fn max_message(self, bytes: usize) -> Self {
        self.with(|settings| settings.max_message = bytes)
    }

    /// Accepts the run, the customer and the sampling decision that clients send in `_meta`.
    /// Defaults to false, because any client may send any value, and a call that is not sampled is
    /// hidden from exporters. The parent span is always accepted.
    pub fn trust_baggage(self, yes: bool) -> Self {
        self.with(|settings| settings.trust_baggage = yes)
    }

    /// Sets the path of [`router`](Self::router) and [`serve_http`](Self::serve_http). Defaults to
    /// `/mcp`.
    pub fn path(self, path: impl Into<String>) -> Self {
        self.with(|settings| settings.path = path.into())
    }

    /// Sets the allowed values of the `Host` header, in place of the loopback names: `name` for any
    /// port, or `name:port`. The check stops web pages that reach the server through a domain name
    /// that resolves to this machine.
    pub fn allow_hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|settings| {
            settings.access.hosts = Some(hosts.into_iter().map(Into::into).collect());
        })
    }

    /// Sets the allowed values of the `Origin` header, in place of the loopback names:
    /// `https://name` for the default port of the scheme, `https://name:port`, or `https://name:*`
    /// for any port. A request without `Origin` is allowed, as browsers always send it.
    pub fn allow_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|settings| {
            settings.access.origins = Some(origins.into_iter().map(Into::into).collect());
        })
    }

    /// Sets the function that returns the principal of an HTTP request, such as the signed-in user
    /// that a layer of the application put into the request's extensions. A session, its streams
    /// and its approvals belong to the principal that opened it: to requests of others, no such
    /// session exists. A request without a principal is refused with 401, unless
    /// [`allow_anonymous`](Self::allow_anonymous) is set. The function is called again once the
    /// body of a request has come, as a principal may be gone by then.
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
    pub fn principal(
        self,
        find: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.find_principal = Some(Arc::new(find)))
    }

    /// Sets the token that each HTTP request has to send as `Authorization: Bearer ..`: at least 16
    /// visible ASCII characters. The server keeps its hash only, and serves no request if the text
    /// is not a token. For one token a user, use [`principal`](Self::principal).
    pub fn bearer_token(self, token: impl AsRef<str>) -> Self {
        self.with(|settings| settings.access.token = Some(BearerToken::new(token.as_ref())))
    }

    /// Needs an access token with each HTTP request, issued for this resource. Requests without one
    /// are answered 401 with the address of the metadata, and the metadata is served below the root
    /// of the [`router`](Self::router). A session belongs to the issuer and the subject of its
    /// token, unless [`principal`](Self::principal) makes another principal of the
    /// [`AccessClaims`](crate::AccessClaims). A token is checked at each request, and removed from it: no layer behind, no tool and no log gets it.
    /// A stream of events that needs no call ends with its token.
    ///
    /// With [`allow_anonymous`](Self::allow_anonymous), requests without a token are served too,
    /// and a token that is refused stays refused. Over standard input and output there are no
    /// tokens, as the client has started the process.
    ///
    /// ```
    /// # use tool_adapters::mcp::{OAuthResource, Server};
    /// fn protected(server: Server) -> Server {
    ///     let resource = OAuthResource::new("https://mcp.example/mcp").issuer("https://login.example").scopes(["mcp"]);
    ///     server.oauth(resource).allow_hosts(["mcp.example"])
    /// }
    /// ```
    #[cfg(feature = "auth")]
    pub fn oauth(self, resource: crate::auth::OAuthResource) -> Self {
        self.with(|settings| {
            settings.oauth = Some(Arc::new(resource.gate()));
            settings
                .find_principal
                .get_or_insert_with(|| Arc::new(authorization::principal));
        })
    }

    /// Serves requests for which [`principal`](Self::principal) returns `None`, and allows an
    /// address that other machines can reach without a token and a principal. Defaults to false.
    pub fn allow_anonymous(self, yes: bool) -> Self {
        self.with(|settings| settings.access.allow_anonymous = yes)
    }

    /// Sets a function that configures each session before it is opened, such as its user data.
    ///
    /// ```
    /// # use tool_adapters::mcp::Server;
    /// # struct Pool;
    /// fn with_pool(server: Server, pool: std::sync::Arc<Pool>) -> Server {
    ///     server.session(move |builder, _| builder.user_data_shared(pool.clone()))
    /// }
    /// ```
    pub fn session(
        self,
        configure: impl Fn(SessionBuilder, &ClientInfo) -> SessionBuilder + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.configure_session = Some(Arc::new(configure)))
    }

    /// Gives the runtime's current tools and policies to the sessions of all clients, after
    /// [`Runtime::update_tools`] and [`Runtime::update_policy`]. Running calls end under the earlier ones. Budgets and the state
    /// of the sessions go on.
    ///
    /// Every session has them from its next request on. The future that is returned gives them to
    /// the sessions that make none, which takes as long as their store.
    ///
    /// ```
    /// # use tool_adapters::mcp::Server;
    /// # use tool_core::{RegistryErrors, Runtime, ToolContext};
    /// async fn reload(server: &Server, runtime: &Runtime, tools: ToolContext) -> Result<(), RegistryErrors> {
    ///     runtime.update_tools(tools)?;
    ///     server.refresh().await;
    ///     Ok(())
    /// }
    /// ```
    pub fn refresh(&self) -> impl Future<Output = ()> + Send + use<> {
        let renewed = self.state.refreshes.refresh();
        if self.state.settings.tools_change {
            self.state.changes.tools_changed();
        }
        renewed
    }

    /// Lets running calls finish, and begins no others, as [`Runtime::drain`] does. Then waits until
    /// clients over HTTP have their answers, for a second at most. Call it while the server still
    /// serves, and [`stop`](Self::stop) the server afterwards.
    ///
    /// New sessions over HTTP are refused with the status 503. A call that waits for its user is
    /// answered that it has not run. Its approval stays in the store.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tool_adapters::mcp::Server;
    /// async fn serve(server: Server, told_to_end: impl Future<Output = ()>) -> std::io::Result<()> {
    ///     let bound = server.bind(([127, 0, 0, 1], 8931).into()).await?;
    ///     let end = async {
    ///         told_to_end.await;
    ///         server.drain(Duration::from_secs(30)).await;
    ///         server.stop();
    ///     };
    ///     let (served, ()) = tokio::join!(bound.serve(), end);
    ///     served
    /// }
    /// ```
    pub async fn drain(&self, limit: Duration) -> DrainReport {
        let report = self.state.runtime.drain(limit).await;
        self.state.answers.sent().await;
        report
    }

    /// Stops serving. The sessions stay in their store.
    pub fn stop(&self) {
        self.state.settings.shutdown.cancel();
    }

    /// Ends the sessions of all connections, also in a store that processes share, and stops
    /// serving. See
    /// [`Runtime::shutdown`].
    pub async fn shutdown(&self) {
        self.state.settings.shutdown.cancel();
        self.state.runtime.shutdown().await;
    }

    /// Returns a router that serves under [`path`](Self::path), to be merged into an application's
    /// router.
    ///
    /// Layers of the application run first, and [`principal`](Self::principal) sees the extensions
    /// that they set. Call this once: each router has its own sessions.
    ///
    /// Every client may call, unless you have set [`bearer_token`](Self::bearer_token),
    /// [`principal`](Self::principal) or `oauth`. Only [`bind`](Self::bind) refuses to serve other
    /// machines without one of them. Set it before you call this.
    ///
    /// ```
    /// # use tool_adapters::mcp::Server;
    /// fn app(server: &Server) -> axum::Router {
    ///     axum::Router::new().merge(server.router())
    /// }
    /// ```
    pub fn router(&self) -> Router {
        http::router(&self.state)
    }

    /// Binds an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the text of the token is not one, or if the address is not a loopback
    /// address and
    /// [`allow_hosts`](Self::allow_hosts), or all of [`bearer_token`](Self::bearer_token), [`principal`](Self::principal)
    /// and [`allow_anonymous`](Self::allow_anonymous), are not set.
    pub async fn bind(&self, address: SocketAddr) -> io::Result<BoundServer> {
        self.bind_with(address, Router::new()).await
    }

    /// Binds an address and serves until [`shutdown`](Self::shutdown).
    ///
    /// ```no_run
    /// # use tool_adapters::mcp::Server;
    /// async fn serve(server: Server) -> std::io::Result<()> {
    ///     server.serve_http(([127, 0, 0, 1], 8931).into()).await
    /// }
    /// ```
    pub async fn serve_http(&self, address: SocketAddr) -> io::Result<()> {
        self.bind(address).await?.serve().await
    }

    /// Serves the client that started this process, until it closes standard input. Nothing else
    /// may write to standard output; logs belong on standard error.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        let (input, output) = standard_streams();
        Box::pin(stdio::serve(&self.state, input, output, Some("pipe"))).await
    }

    /// Serves one client over two streams, such as the halves of a socket, until `input` ends.
    pub async fn serve_streams<R, W>(&self, input: R, output: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Box::pin(stdio::serve(
            &self.state,
            Box::new(input),
            Box::new(output),
            None,
        ))
        .await
    }
}

/// Items for the gateway, beside the public interface. They may change in a patch version.
#[doc(hidden)]
impl Server {
    /// Serves prompts and resources also while no tool needs them, as they may come later.
    pub fn all_features(self) -> Self {
        self.with(|settings| settings.all_features = true)
    }

    /// Ends the sessions over HTTP, and the streams of changes, of the principals for which
    /// `is_gone` returns true.
    pub fn end_sessions_of(&self, is_gone: impl Fn(&str) -> bool) {
        self.state.endpoints.end_sessions(&is_gone);
    }

    /// Lets the host approve calls too. A call whose client cannot ask its user waits for this
    /// time, and after it for its repetition. Calls that run as [tasks](Self::tasks) wait for their
    /// client alone.
    pub fn host_approves(self, wait: Duration) -> Self {
        self.with(|settings| settings.host_approval = Some(wait))
    }

    /// Binds an address for the server and further routes.
    pub async fn bind_with(&self, address: SocketAddr, further: Router) -> io::Result<BoundServer> {
        let settings = &self.state.settings;
        #[cfg(feature = "auth")]
        settings.check_oauth()?;
        let shutdown = settings.shutdown.clone();
        let limits = settings.limits.clone();
        let finds_principal = Some(settings.find_principal.is_some());
        settings
            .access
            .bind(
                address,
                self.router().merge(further),
                &settings.path,
                shutdown,
                limits,
                finds_principal,
            )
            .await
    }
}

debug_only!(Server, |this| name: this.state.settings.name);
