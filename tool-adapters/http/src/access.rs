//! The check of the `Host`, `Origin` and `Authorization` headers of a server's requests, on every
//! method.
//!
//! A web page can let its domain name resolve to this machine, so a request from a local address
//! may still come from a web page (RUSTSEC-2026-0189).

use crate::bearer::BearerToken;
use crate::serve::{BoundServer, HttpLimits};
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

/// The hosts, the origins and the clients that a program allows.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// `None` allows the loopback names.
    pub hosts: Option<Vec<String>>,
    /// `None` allows the loopback names.
    pub origins: Option<Vec<String>>,
    /// The token that each request has to send.
    pub token: Option<BearerToken>,
    /// True if clients that the server does not know may use it, from other machines too.
    pub allow_anonymous: bool,
}

impl AccessRules {
    /// Adds the check to all routes of a router.
    pub fn guard(self, router: Router) -> Router {
        router.layer(from_fn_with_state(Arc::new(self), check_request))
    }

    /// Binds an address for a router. An address that other machines can reach needs `hosts`, and a
    /// check of the clients: a token or, with `finds_principal`, that of the router. It is `None`
    /// for a router that knows no principals.
    pub async fn bind(
        &self,
        address: SocketAddr,
        router: Router,
        path: &str,
        shutdown: CancellationToken,
        limits: HttpLimits,
        finds_principal: Option<bool>,
    ) -> io::Result<BoundServer> {
        let problems = self.problems(address, finds_principal);
        if !problems.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                problems.join("; "),
            ));
        }
        let listener = TcpListener::bind(address).await?;
        Ok(BoundServer {
            listener,
            router,
            path: path.to_owned(),
            shutdown,
            limits,
        })
    }

    /// Returns all reasons not to serve on an address.
    fn problems(&self, address: SocketAddr, finds_principal: Option<bool>) -> Vec<String> {
        let mut problems = self
            .token
            .as_ref()
            .and_then(BearerToken::problem)
            .into_iter()
            .collect::<Vec<_>>();
        if address.ip().is_loopback() {
            return problems;
        }
        if self.hosts.is_none() {
            problems.push(format!(
                "other machines can reach {address}; set `allow_hosts` to the names of the server"
            ));
        }
        if self.token.is_none() && finds_principal != Some(true) && !self.allow_anonymous {
            let checks = if finds_principal.is_some() {
                "`bearer_token` or `principal`"
            } else {
                "`bearer_token`"
            };
            problems.push(format!(
                "every client that reaches {address} could use the server; set {checks}, or `allow_anonymous(true)` if that \
                 is intended"
            ));
        }
        problems
    }

    /// Returns the answer to a request that is refused.
    pub fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        if let Err(reason) = self.check(uri, headers) {
            tracing::warn!(reason, "refused a request");
            return Some((StatusCode::FORBIDDEN, format!("Forbidden: {reason}")).into_response());
        }
        if self
            .token
            .as_ref()
            .is_some_and(|token| !token.is_in(headers))
        {
            tracing::warn!(reason = "missing or wrong token", "refused a request");
            let scheme = [(header::WWW_AUTHENTICATE, "Bearer")];
            let message = "Unauthorized: send the server's bearer token";
            return Some((StatusCode::UNAUTHORIZED, scheme, message).into_response());
        }
        None
    }

    /// Checks a request. Returns the reason if it is refused.
    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        let mut named = headers.get_all(header::HOST).iter();
        let host = named
            .next()
            .map(|value| value.to_str().ok()?.parse::<Authority>().ok());
        if named.next().is_some() {
            return Err("more than one `Host`");
        }
        // A request line with an absolute URI names a host too.
        let mut hosts = host
            .iter()
            .map(Option::as_ref)
            .chain(uri.authority().map(Some))
            .peekable();
        if hosts.peek().is_none() {
            return Err("missing `Host`");
        }
        if !hosts.all(|host| host.is_some_and(|host| self.allows_host(host))) {
            return Err("unknown `Host`");
        }
        let origins = headers.get_all(header::ORIGIN).iter().collect::<Vec<_>>();
        match origins.as_slice() {
            [] => Ok(()),
            [origin]
                if origin
                    .to_str()
                    .is_ok_and(|origin| self.allows_origin(origin)) =>
            {
                Ok(())
            }
            [_] => Err("unknown `Origin`"),
            _ => Err("more than one `Origin`"),
        }
    }

    fn allows_host(&self, host: &Authority) -> bool {
        let authority = host.as_str();
        let name = host.host();
        let matches = |allowed: &str| {
            allowed.eq_ignore_ascii_case(authority) || allowed.eq_ignore_ascii_case(name)
        };
        let is_allowed = match &self.hosts {
            Some(hosts) => hosts.iter().any(|allowed| matches(allowed)),
            None => LOOPBACK.into_iter().any(matches),
        };
        is_allowed && is_plain(host)
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let Some((scheme, host)) = origin.split_once("://") else {
            return false;
        };
        let Some(host) = host.parse::<Authority>().ok().filter(is_plain) else {
            return false;
        };
        let Some(origins) = &self.origins else {
            return matches!(scheme, "http" | "https") && LOOPBACK.contains(&host.host());
        };
        origins.iter().any(
            |allowed| match allowed.to_ascii_lowercase().split_once("://") {
                Some((allowed_scheme, allowed)) if allowed_scheme == scheme => {
                    match allowed.strip_suffix(":*") {
                        Some(name) => name == host.host(),
                        None => allowed.parse::<Authority>().is_ok_and(|allowed| {
                            allowed.host() == host.host()
                                && port(scheme, &allowed) == port(scheme, &host)
                        }),
                    }
                }
                _ => false,
            },
        )
    }
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

async fn check_request(
    State(rules): State<Arc<AccessRules>>,
    request: Request,
    next: Next,
) -> Response {
    match rules.refusal(request.uri(), request.headers()) {
        Some(refused) => refused,
        None => next.run(request).await,
    }
}

/// Returns true if an authority is a host with or without a port, and nothing else. `http` takes
/// `[::1]x` for the host `[::1]`.
fn is_plain(authority: &Authority) -> bool {
    let is_port = |rest: &str| {
        rest.strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    authority
        .as_str()
        .strip_prefix(authority.host())
        .is_some_and(|rest| rest.is_empty() || is_port(rest))
}

fn port(scheme: &str, host: &Authority) -> Option<u16> {
    host.port_u16().or(match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })
}
