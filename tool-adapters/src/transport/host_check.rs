//! Who may speak to a server on this machine: `Host` and `Origin` are looked at before anything else, on every method. A
//! page on the web can make its own name point at this machine, so the address that a request comes from proves nothing
//! (RUSTSEC-2026-0189).

use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::io;
use std::net::SocketAddr;

/// The names that are let through.
pub(crate) struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Names {
    /// These, and the local ones where none are told.
    pub(crate) fn of(hosts: Option<Vec<String>>, origins: Option<Vec<String>>) -> Self {
        let hosts = hosts.unwrap_or_else(|| LOOPBACK.map(str::to_owned).to_vec());
        let local = || LOOPBACK.iter().flat_map(|host| [format!("http://{host}:*"), format!("https://{host}:*")]);
        let origins = origins.unwrap_or_else(|| local().collect());
        Self { hosts, origins }
    }

    /// Why a request is not served.
    pub(crate) fn refuses(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let named = headers.get_all(header::HOST).iter().map(|value| value.to_str().ok()?.parse::<Authority>().ok());
        let mut named = named.collect::<Vec<_>>();
        if named.len() > 1 {
            return Some("more than one `Host`");
        }
        // An absolute address names a host too.
        named.extend(uri.authority().cloned().map(Some));
        if named.is_empty() {
            return Some("no `Host`");
        }
        let known = |host: &Option<Authority>| host.as_ref().is_some_and(|host| self.knows_host(host));
        if !named.iter().all(known) {
            return Some("this `Host` is not served here");
        }
        let origins = headers.get_all(header::ORIGIN).iter().collect::<Vec<_>>();
        match origins.as_slice() {
            [] => None,
            [origin] if origin.to_str().is_ok_and(|origin| self.knows_origin(origin)) => None,
            [_] => Some("this `Origin` is not served here"),
            _ => Some("more than one `Origin`"),
        }
    }

    fn knows_host(&self, host: &Authority) -> bool {
        let whole = host.as_str().to_ascii_lowercase();
        let name = host.host().to_ascii_lowercase();
        // Whoever stands before an `@` is not part of a host.
        !whole.contains('@')
            && self.hosts.iter().map(|known| known.to_ascii_lowercase()).any(|known| known == whole || known == name)
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let Some((scheme, host)) = origin.split_once("://") else { return false };
        let Ok(host) = host.parse::<Authority>() else { return false };
        if host.as_str().contains('@') {
            return false;
        }
        self.origins.iter().map(|known| known.to_ascii_lowercase()).any(|known| {
            let Some((wanted, rest)) = known.split_once("://") else { return false };
            if wanted != scheme {
                return false;
            }
            match rest.strip_suffix(":*") {
                Some(name) => name == host.host(),
                None => rest
                    .parse::<Authority>()
                    .is_ok_and(|rest| rest.host() == host.host() && port(scheme, &rest) == port(scheme, &host)),
            }
        })
    }
}

fn port(scheme: &str, host: &Authority) -> Option<u16> {
    host.port_u16().or(match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })
}

/// The answer to a request that is not served.
pub(crate) fn forbidden(why: &'static str) -> Response {
    tracing::warn!(why, "a request was refused");
    (StatusCode::FORBIDDEN, format!("Forbidden: {why}")).into_response()
}

/// An address that can be reached from elsewhere needs names by which it is.
pub(crate) fn may_bind(address: SocketAddr, has_names: bool) -> io::Result<()> {
    if address.ip().is_loopback() || has_names {
        return Ok(());
    }
    let message = format!("{address} can be reached from elsewhere; say with `allow_hosts` under which names");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}
