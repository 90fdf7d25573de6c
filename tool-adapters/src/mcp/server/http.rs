//! The streamable HTTP transport.

use crate::mcp::server::builder::Server;
use crate::mcp::server::connection::Connection;
use crate::mcp::server::strict;
use crate::transport::host_check::{self, AllowedHosts};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

impl Server {
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
        // `check_request` has a stricter check of both headers.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(settings.max_message)
            .with_cancellation_token(settings.shutdown.child_token());
        let factory = move || Ok(Connection::new(Arc::clone(&state), None));
        let service = StreamableHttpService::new(factory, Arc::new(manager), config);
        let allowed = AllowedHosts::new(settings.hosts.clone(), settings.origins.clone());
        let guard = Arc::new(RequestGuard { allowed, max_message: settings.max_message });
        Router::new().route_service(&settings.path, service).layer(from_fn_with_state(guard, check_request))
    }

    /// Binds an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is not a loopback address and [`allow_hosts`](Self::allow_hosts) is not set.
    pub async fn bind(&self, address: SocketAddr) -> io::Result<BoundServer> {
        host_check::check_bind(address, self.state.settings.hosts.is_some())?;
        Ok(BoundServer { listener: TcpListener::bind(address).await?, server: self.clone() })
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
}

/// A server that is bound to an address, but does not serve yet.
#[derive(Debug)]
pub struct BoundServer {
    listener: TcpListener,
    server: Server,
}

impl BoundServer {
    /// Returns the address, with the port that the system chose if port 0 was requested.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the URL for clients.
    pub fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}{}", self.address()?, self.server.state.settings.path))
    }

    /// Serves until [`Server::shutdown`].
    pub async fn serve(self) -> io::Result<()> {
        let shutdown = self.server.state.settings.shutdown.clone();
        let router = self.server.router();
        axum::serve(self.listener, router).with_graceful_shutdown(shutdown.cancelled_owned()).await
    }
}

struct RequestGuard {
    allowed: AllowedHosts,
    max_message: usize,
}

/// Refuses requests with an unknown host or origin, and bodies that are not a valid message.
async fn check_request(State(guard): State<Arc<RequestGuard>>, request: Request, next: Next) -> Response {
    if let Err(reason) = guard.allowed.check(request.uri(), request.headers()) {
        return host_check::forbidden(reason);
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, guard.max_message).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, strict::too_long(guard.max_message)).into_response();
    };
    match strict::parse_message(&bytes) {
        Ok(_) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(invalid) => {
            let is_params = invalid.code == ErrorCode::INVALID_PARAMS;
            let status = if is_params { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            (status, [(header::CONTENT_TYPE, "application/json")], invalid.to_json()).into_response()
        }
    }
}
