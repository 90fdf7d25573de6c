//! The public [`Server`]: its settings, and its streamable HTTP transport.

use crate::mcp::server::connection::Connection;
use crate::mcp::server::session::{ClientInfo, ServerState, Settings};
use crate::mcp::server::{stdio, strict};
use crate::transport::host_check::BoundServer;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tool_core::session::SessionBuilder;
use tool_core::{Category, Policy, RegistryErrors, Runtime, ToolContext};

/// Serves the tools of a runtime over the Model Context Protocol. Cheap to clone.
///
/// One MCP session is one [`Session`](tool_core::Session) in text mode. It ends when its connection ends. See the
/// [module](crate::mcp) for the parts of the protocol that are served.
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
        Self { state: ServerState { settings: Settings::default(), runtime, pending: Arc::default() } }
    }

    /// Creates a server of these tools, under [`Server::policy`].
    ///
    /// # Errors
    ///
    /// Returns the errors of building a [`Runtime`] of the tools.
    pub fn from_tools(tools: ToolContext) -> Result<Self, RegistryErrors> {
        Ok(Self::new(Runtime::builder(tools).policy(Self::policy()).build()?))
    }

    /// Returns [`Policy::text`] without its limits a turn.
    ///
    /// The protocol does not tell a server when the user has spoken. A turn ends after a pause between calls
    /// ([`turn_after`](Self::turn_after)), so limits a turn would stop long runs of calls. Deadlines, confirmation and
    /// the caps on sessions and concurrent calls stay.
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

    /// Sets the pause after which a call begins a new turn with new budgets. Defaults to 30 s.
    pub fn turn_after(self, pause: Duration) -> Self {
        self.with(|settings| settings.turn_after = pause)
    }

    /// Sets the time in which the user has to confirm a call. Defaults to 10 minutes. The policy's own limit applies too.
    pub fn confirm_timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.confirm_timeout = limit)
    }

    /// Sets the time after which an idle session over HTTP ends. Defaults to 30 minutes.
    pub fn idle_timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.idle_timeout = limit)
    }

    /// Sets the maximum size of a message in bytes. Defaults to 4 MiB.
    pub fn max_message(self, bytes: usize) -> Self {
        self.with(|settings| settings.max_message = bytes)
    }

    /// Accepts the run, the customer and the sampling decision that clients send in `_meta`. Defaults to false, because
    /// any client may send any value, and a call that is not sampled is hidden from exporters. The parent span is
    /// always accepted.
    pub fn trust_baggage(self, yes: bool) -> Self {
        self.with(|settings| settings.trust_baggage = yes)
    }

    /// Sets the path of [`router`](Self::router) and [`serve_http`](Self::serve_http). Defaults to `/mcp`.
    pub fn path(self, path: impl Into<String>) -> Self {
        self.with(|settings| settings.path = path.into())
    }

    /// Sets the allowed values of the `Host` header, in place of the loopback names: `name` for any port, or
    /// `name:port`. The check stops web pages that reach the server through a domain name that resolves to this machine.
    pub fn allow_hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|settings| settings.allowed.hosts = Some(hosts.into_iter().map(Into::into).collect()))
    }

    /// Sets the allowed values of the `Origin` header, in place of the loopback names: `https://name` for the default
    /// port of the scheme, `https://name:port`, or `https://name:*` for any port. A request without `Origin` is allowed,
    /// as browsers always send it.
    pub fn allow_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|settings| settings.allowed.origins = Some(origins.into_iter().map(Into::into).collect()))
    }

    /// Sets the function that returns the principal of an HTTP request, such as the signed-in user that a layer of the
    /// application put into the request's extensions. A session and its approvals belong to the principal that opened it.
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
    pub fn principal(self, find: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.find_principal = Some(Arc::new(find)))
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

    /// Ends the sessions of all connections and stops serving.
    pub async fn shutdown(&self) {
        self.state.settings.shutdown.cancel();
        self.state.runtime.shutdown().await;
    }

    /// Returns a router that serves under [`path`](Self::path), to be merged into an application's router.
    ///
    /// Layers of the application run first, and [`principal`](Self::principal) sees the extensions that they set. Call
    /// this once: each router has its own sessions.
    ///
    /// ```
    /// # use tool_adapters::mcp::Server;
    /// fn app(server: &Server) -> axum::Router {
    ///     axum::Router::new().merge(server.router())
    /// }
    /// ```
    pub fn router(&self) -> Router {
        let (state, settings) = (Arc::new(self.state.clone()), &self.state.settings);
        let mut sessions = SessionConfig::default();
        sessions.keep_alive = Some(settings.idle_timeout);
        let mut manager = LocalSessionManager::default();
        manager.session_config = sessions;
        // `AllowedHosts` has a stricter check of both headers.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(settings.max_message)
            .with_cancellation_token(settings.shutdown.child_token());
        let factory = move || Ok(Connection::new(Arc::clone(&state), None));
        let service = StreamableHttpService::new(factory, Arc::new(manager), config);
        let router = Router::new().route_service(&settings.path, service);
        settings.allowed.clone().guard(router.layer(from_fn_with_state(settings.max_message, check_message)))
    }

    /// Binds an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is not a loopback address and [`allow_hosts`](Self::allow_hosts) is not set.
    pub async fn bind(&self, address: SocketAddr) -> io::Result<BoundServer> {
        let settings = &self.state.settings;
        settings.allowed.bind(address, self.router(), &settings.path, settings.shutdown.clone()).await
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

    /// Serves the client that started this process, until it closes standard input. Nothing else may write to standard
    /// output; logs belong on standard error.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        stdio::serve(&self.state, Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()), Some("pipe")).await
    }

    /// Serves one client over two streams, such as the halves of a socket, until `input` ends.
    pub async fn serve_streams<R, W>(&self, input: R, output: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        stdio::serve(&self.state, Box::new(input), Box::new(output), None).await
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.state.settings.name).finish_non_exhaustive()
    }
}

/// Refuses bodies that are not a valid message.
async fn check_message(State(max_message): State<usize>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, max_message).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, strict::too_long(max_message)).into_response();
    };
    match strict::parse_message(&bytes) {
        Ok(_) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(invalid) => {
            let is_params = invalid.error.code == ErrorCode::INVALID_PARAMS;
            let status = if is_params { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            (status, [(header::CONTENT_TYPE, "application/json")], invalid.to_json()).into_response()
        }
    }
}
