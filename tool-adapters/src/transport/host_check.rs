//! The check of the `Host` and `Origin` headers of their requests, on every method.
//!
//! A web page can let its domain name resolve to this machine, so a request from a local address may still come from a
//! web page (RUSTSEC-2026-0189).

use crate::transport::serve::{BoundServer, HttpLimits};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tool_core::CancellationToken;

/// The hosts and origins that a program allows. `None` allows the loopback names.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedHosts {
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) origins: Option<Vec<String>>,
}

impl AllowedHosts {
    /// Adds the check to all routes of a router.
    pub(crate) fn guard(self, router: Router) -> Router {
        router.layer(from_fn_with_state(Arc::new(self), check_request))
    }

    /// Binds an address for a router. An address that other machines can reach needs `hosts`.
    pub(crate) async fn bind(
        &self,
        address: SocketAddr,
        router: Router,
        path: &str,
        shutdown: CancellationToken,
        limits: HttpLimits,
    ) -> io::Result<BoundServer> {
        if !address.ip().is_loopback() && self.hosts.is_none() {
            let message = format!("other machines can reach {address}; set `allow_hosts` to the names of the server");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let listener = TcpListener::bind(address).await?;
        Ok(BoundServer { listener, router, path: path.to_owned(), shutdown, limits })
    }

    /// Checks a request. Returns the reason if it is refused.
    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        let header = headers.get_all(header::HOST).iter().map(|value| value.to_str().ok()?.parse::<Authority>().ok());
        let mut hosts = header.collect::<Vec<_>>();
        if hosts.len() > 1 {
            return Err("more than one `Host`");
        }
        // A request line with an absolute URI names a host too.
        hosts.extend(uri.authority().cloned().map(Some));
        if hosts.is_empty() {
            return Err("missing `Host`");
        }
        if !hosts.iter().all(|host| host.as_ref().is_some_and(|host| self.allows_host(host))) {
            return Err("unknown `Host`");
        }
        let origins = headers.get_all(header::ORIGIN).iter().collect::<Vec<_>>();
        match origins.as_slice() {
            [] => Ok(()),
            [origin] if origin.to_str().is_ok_and(|origin| self.allows_origin(origin)) => Ok(()),
            [_] => Err("unknown `Origin`"),
            _ => Err("more than one `Origin`"),
        }
    }

    fn allows_host(&self, host: &Authority) -> bool {
        let (authority, name) = (host.as_str(), host.host());
        let matches = |allowed: &str| allowed.eq_ignore_ascii_case(authority) || allowed.eq_ignore_ascii_case(name);
        let is_allowed = match &self.hosts {
            Some(hosts) => hosts.iter().any(|allowed| matches(allowed)),
            None => LOOPBACK.into_iter().any(matches),
        };
        is_allowed && !authority.contains('@')
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let Some((scheme, host)) = origin.split_once("://") else { return false };
        let Ok(host) = host.parse::<Authority>() else { return false };
        if host.as_str().contains('@') {
            return false;
        }
        let Some(origins) = &self.origins else {
            return matches!(scheme, "http" | "https") && LOOPBACK.contains(&host.host());
        };
        origins.iter().any(|allowed| match allowed.to_ascii_lowercase().split_once("://") {
            Some((allowed_scheme, allowed)) if allowed_scheme == scheme => match allowed.strip_suffix(":*") {
                Some(name) => name == host.host(),
                None => allowed.parse::<Authority>().is_ok_and(|allowed| {
                    allowed.host() == host.host() && port(scheme, &allowed) == port(scheme, &host)
                }),
            },
            _ => false,
        })
    }
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

async fn check_request(State(allowed): State<Arc<AllowedHosts>>, request: Request, next: Next) -> Response {
    match allowed.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(reason) => {
            tracing::warn!(reason, "refused a request");
            (StatusCode::FORBIDDEN, format!("Forbidden: {reason}")).into_response()
        }
    }
}

fn port(scheme: &str, host: &Authority) -> Option<u16> {
    host.port_u16().or(match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })
}
