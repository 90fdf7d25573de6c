//! Serving over streamable HTTP.

use crate::mcp::server::connection::Connection;
use crate::mcp::server::{Server, Settings};
use crate::mcp::strict;
use crate::mcp::strict::PARAMS;
use crate::transport::host_check;
use crate::transport::host_check::{Names, forbidden};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

impl Server {
    /// The server as a router, to be merged into an application's own. It answers under its [`path`](Self::path).
    ///
    /// The application's layers come first, and [`principal`](Self::principal) sees what they have found out. Call it
    /// once: sessions belong to the router.
    ///
    /// ```
    /// # use tool_adapters::mcp::Server;
    /// fn app(server: &Server) -> axum::Router {
    ///     axum::Router::new().merge(server.router())
    /// }
    /// ```
    pub fn router(&self) -> Router {
        let shared = self.shared();
        let mut sessions = SessionConfig::default();
        sessions.keep_alive = Some(self.settings.idle);
        let mut manager = LocalSessionManager::default();
        manager.session_config = sessions;
        // The guard has looked at both before, and more closely.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(self.settings.max_message)
            .with_cancellation_token(self.settings.stop.child_token());
        let factory = move || Ok(Connection::new(Arc::clone(&shared), None));
        let service = StreamableHttpService::new(factory, Arc::new(manager), config);
        let guard = Arc::new(Guard::of(&self.settings));
        Router::new().route_service(&self.settings.path, service).layer(from_fn_with_state(guard, check))
    }

    /// Takes an address. One that is not this machine's own is refused unless [`allow_hosts`](Self::allow_hosts) says
    /// under which names it is reached.
    pub async fn bind(&self, address: SocketAddr) -> io::Result<BoundServer> {
        host_check::may_bind(address, self.settings.hosts.is_some())?;
        Ok(BoundServer { listener: TcpListener::bind(address).await?, server: self.clone() })
    }

    /// Serves over HTTP until [`shutdown`](Self::shutdown): `bind` and `serve` in one.
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

/// A server that has its address and is about to serve.
#[derive(Debug)]
pub struct BoundServer {
    listener: TcpListener,
    server: Server,
}

impl BoundServer {
    /// The address, with the port that the system gave where 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where clients find it.
    pub fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}{}", self.address()?, self.server.settings.path))
    }

    /// Serves until [`Server::shutdown`].
    pub async fn serve(self) -> io::Result<()> {
        let stop = self.server.settings.stop.clone();
        let router = self.server.router();
        axum::serve(self.listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
    }
}

// ---- The MCP server's guard: who may speak, as for every server of ours, and in what form.

/// What is let through.
pub(crate) struct Guard {
    names: Names,
    max_message: usize,
}

impl Guard {
    pub(crate) fn of(settings: &Settings) -> Self {
        let names = Names::of(settings.hosts.clone(), settings.origins.clone());
        Self { names, max_message: settings.max_message }
    }
}

/// The layer.
pub(crate) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Some(why) = guard.names.refuses(request.uri(), request.headers()) {
        return forbidden(why);
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, guard.max_message).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, format!("a message has at most {} bytes", guard.max_message))
            .into_response();
    };
    match strict::read(&bytes) {
        Ok(_) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(refused) => {
            let status = if refused.code == PARAMS { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            (status, [(header::CONTENT_TYPE, "application/json")], refused.to_json()).into_response()
        }
    }
}
