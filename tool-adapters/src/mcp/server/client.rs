//! The identity of the client of an HTTP request, and the number of sessions that each client has open.

use axum::extract::ConnectInfo;
use axum::http::header;
use axum::http::request::Parts;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tool_core::text::hex;

/// A client as the server knows it. Budgets without a session and caps on sessions are held for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// The authenticated principal.
    Principal(Arc<str>),
    /// The hash of the `Authorization` header.
    Token([u8; 32]),
    /// The address of the peer. For IPv6 its network, as one machine has all addresses of a network.
    Address(IpAddr),
    Unknown,
}

/// Returns the principal of a request.
pub(crate) type FindPrincipal = dyn Fn(&Parts) -> Option<String> + Send + Sync;

impl Client {
    /// Identifies the client of a request. Returns `None` if the request has to be refused, because it has no principal.
    pub(crate) fn of(parts: &Parts, find_principal: Option<&FindPrincipal>, allow_anonymous: bool) -> Option<Self> {
        if let Some(find) = find_principal {
            match find(parts) {
                Some(principal) => return Some(Self::Principal(principal.into())),
                None if !allow_anonymous => return None,
                None => {}
            }
        }
        let token = parts.headers.get(header::AUTHORIZATION).map(|token| Sha256::digest(token).into());
        let address = || parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| network(info.0.ip()));
        Some(token.map(Self::Token).or_else(|| address().map(Self::Address)).unwrap_or(Self::Unknown))
    }

    pub(crate) fn principal(&self) -> Option<&str> {
        match self {
            Self::Principal(principal) => Some(principal),
            _ => None,
        }
    }

    /// Returns the id of the session that all requests of the client share, in every process. Returns `None` for a client that
    /// is not identified.
    pub(crate) fn session_id(&self) -> Option<String> {
        let digest = match self {
            Self::Principal(principal) => Sha256::digest(format!("principal {principal}")).into(),
            Self::Token(digest) => *digest,
            Self::Address(_) | Self::Unknown => return None,
        };
        Some(format!("mcp-client-{}", hex(&digest)))
    }

    /// Returns true if a session that `opener` opened belongs to this client. An address proves nothing, as proxies
    /// share and change it, so a session without a principal and a token belongs to every client that has its id and
    /// sends neither.
    pub(crate) fn owns(&self, opener: &Self) -> bool {
        let is_unproven = |client: &Self| matches!(client, Self::Address(_) | Self::Unknown);
        self == opener || (is_unproven(self) && is_unproven(opener))
    }
}

/// Returns an address, or the first half of an IPv6 address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address @ IpAddr::V4(_) => address,
    }
}

/// Counts the open sessions of each client and of all.
#[derive(Debug, Default)]
pub(crate) struct OpenSessions(Mutex<SessionCounts>);

#[derive(Debug, Default)]
struct SessionCounts {
    all: usize,
    clients: HashMap<Client, usize>,
}

/// The maximum number of open sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaxSessions {
    pub(crate) all: usize,
    pub(crate) per_client: usize,
}

/// The maximum number that one more session would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionLimit {
    Client(usize),
    All(usize),
}

/// Counts a session as open until it is dropped.
#[derive(Debug)]
pub(crate) struct SessionSlot {
    sessions: Arc<OpenSessions>,
    pub(crate) client: Client,
}

impl OpenSessions {
    /// Counts one more session of a client. Refuses it at a limit. Open sessions are never closed to make room.
    pub(crate) fn acquire(self: &Arc<Self>, client: &Client, max: MaxSessions) -> Result<SessionSlot, SessionLimit> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.all >= max.all {
            return Err(SessionLimit::All(max.all));
        }
        if counts.clients.get(client).copied().unwrap_or(0) >= max.per_client {
            return Err(SessionLimit::Client(max.per_client));
        }
        counts.all += 1;
        *counts.clients.entry(client.clone()).or_default() += 1;
        Ok(SessionSlot { sessions: Arc::clone(self), client: client.clone() })
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let mut counts = self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all -= 1;
        if let Some(open) = counts.clients.get_mut(&self.client) {
            *open -= 1;
            if *open == 0 {
                counts.clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    #[test]
    fn counts_one_client_for_a_network_of_ipv6() {
        let client = |address: &str| {
            let mut parts = Request::new(()).into_parts().0;
            let peer = SocketAddr::new(address.parse().expect("an address"), 1);
            parts.extensions.insert(ConnectInfo(peer));
            Client::of(&parts, None, false).expect("a client")
        };
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:2"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }

    #[test]
    fn frees_the_place_of_a_dropped_session() {
        let max = MaxSessions { all: 3, per_client: 2 };
        let (open, one) = (Arc::new(OpenSessions::default()), Client::Principal("one".into()));
        let first = open.acquire(&one, max).expect("a place");
        let _second = open.acquire(&one, max).expect("a place");
        assert_eq!(open.acquire(&one, max).err(), Some(SessionLimit::Client(2)));
        let _third = open.acquire(&Client::Unknown, max).expect("a place of another client");
        assert_eq!(open.acquire(&Client::Token([0; 32]), max).err(), Some(SessionLimit::All(3)));
        drop(first);
        open.acquire(&one, max).expect("the place is free");
    }
}
