//! Who may speak over HTTP, and in what form: `Host`, `Origin` and the message are looked at before anything else, on
//! every method. A page on the web can make its own name point at this machine, so the address that a request comes
//! from proves nothing (RUSTSEC-2026-0189).

use super::settings::Settings;
use super::strict::{self, PARAMS};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// What is let through.
pub(super) struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
    max_message: usize,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Guard {
    pub(super) fn of(settings: &Settings) -> Self {
        let hosts = settings.hosts.clone().unwrap_or_else(|| LOOPBACK.map(str::to_owned).to_vec());
        let local = || LOOPBACK.iter().flat_map(|host| [format!("http://{host}:*"), format!("https://{host}:*")]);
        let origins = settings.origins.clone().unwrap_or_else(|| local().collect());
        Self { hosts, origins, max_message: settings.max_message }
    }

    /// Why a request is not served.
    fn refuses(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
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

/// The layer.
pub(super) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Some(why) = guard.refuses(request.uri(), request.headers()) {
        tracing::warn!(why, "a request was refused");
        return (StatusCode::FORBIDDEN, format!("Forbidden: {why}")).into_response();
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
