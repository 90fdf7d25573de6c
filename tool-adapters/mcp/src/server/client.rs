//! The identity of the client of an HTTP request.

use axum::extract::ConnectInfo;
use axum::http::header;
use axum::http::request::Parts;
use sha2::{Digest, Sha256};
use std::future::pending;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::time::{Instant, sleep_until};
use tool_adapters_http::access::AccessRules;
use tool_adapters_http::quota::network;
use tool_core::text::hex;

/// A client as the server knows it, and the network of the peer that sent its request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    pub(crate) identity: Identity,
    pub(crate) peer: Option<IpAddr>,
    /// The time at which its access token is accepted no more.
    pub(crate) until: Option<Instant>,
}

/// The time at which the access token of a request is accepted no more. It is in the extensions of
/// the request.
#[cfg(feature = "auth")]
#[derive(Clone, Copy)]
pub(crate) struct TokenEnd(pub(crate) Instant);

/// Returns the network of the peer that sent a request.
pub(crate) fn peer_of(parts: &Parts) -> Option<IpAddr> {
    let info = parts.extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(network(info.0.ip()))
}

/// The part of a client by which requests belong together. Budgets without a session are held for
/// each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// The authenticated principal.
    Principal(Arc<str>),
    /// The hash of a token that the server has checked.
    Token([u8; 32]),
    /// The hash of a token that the server has not checked. The client may send another one at any
    /// time.
    Claimed([u8; 32]),
    /// The unchecked tokens of a network, whose sessions are counted together.
    Claims(Option<IpAddr>),
    /// The network of the peer, of a client that sends no token.
    Peer(Option<IpAddr>),
}

impl Default for Identity {
    fn default() -> Self {
        Self::Peer(None)
    }
}

/// Returns the principal of a request.
pub(crate) type FindPrincipal = dyn Fn(&Parts) -> Option<String> + Send + Sync;

impl Client {
    /// Identifies the client of a request. Returns `None` if the request has to be refused, because
    /// it has no principal or an empty one.
    pub(crate) fn of(
        parts: &Parts,
        find_principal: Option<&FindPrincipal>,
        access: &AccessRules,
    ) -> Option<Self> {
        let peer = peer_of(parts);
        #[cfg(feature = "auth")]
        let until = parts.extensions.get::<TokenEnd>().map(|end| end.0);
        #[cfg(not(feature = "auth"))]
        let until = None;
        let identity = match find_principal.map(|find| find(parts)) {
            Some(Some(principal)) if principal.trim().is_empty() => {
                tracing::warn!("refused a request, as its principal is an empty text");
                return None;
            }
            Some(Some(principal)) => Identity::Principal(principal.into()),
            Some(None) if !access.allow_anonymous => return None,
            _ => match parts.headers.get(header::AUTHORIZATION) {
                Some(token) if access.token.is_some() => {
                    Identity::Token(hash_token(token.as_bytes()))
                }
                Some(token) => Identity::Claimed(hash_token(token.as_bytes())),
                None => Identity::Peer(peer),
            },
        };
        Some(Self {
            identity,
            peer,
            until,
        })
    }

    /// Returns true if a request that identified this client would still identify it.
    pub(crate) fn is_still_of(
        &self,
        parts: &Parts,
        find_principal: Option<&FindPrincipal>,
        access: &AccessRules,
    ) -> bool {
        let now = Self::of(parts, find_principal, access);
        now.is_some_and(|now| now.identity == self.identity)
    }

    /// Returns true if the access token of the client is accepted no more.
    #[cfg(feature = "auth")]
    pub(crate) fn has_token_ended(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Waits until the access token of the client is accepted no more.
    pub(crate) async fn token_ended(&self) {
        match self.until {
            Some(until) => sleep_until(until).await,
            None => pending().await,
        }
    }

    pub(crate) fn principal(&self) -> Option<&str> {
        match &self.identity {
            Identity::Principal(principal) => Some(principal),
            _ => None,
        }
    }

    /// Returns the identity whose sessions are counted together with this client's. A token that
    /// the server has not checked costs nothing to change, so the sessions of all such tokens of a
    /// peer count together.
    pub(crate) fn counted_as(&self) -> Identity {
        match &self.identity {
            Identity::Claimed(_) => Identity::Claims(self.peer),
            identity => identity.clone(),
        }
    }

    /// Returns the id of the session that all requests of the client share, in every process.
    /// Returns `None` for a client that is not identified.
    pub(crate) fn session_id(&self) -> Option<String> {
        // The kind and its terminator keep a principal and a token of one text apart.
        let (kind, digest) = match &self.identity {
            Identity::Principal(principal) => (
                "principal",
                Sha256::digest(format!("principal\0{principal}")).into(),
            ),
            Identity::Token(digest) | Identity::Claimed(digest) => ("token", *digest),
            Identity::Claims(_) | Identity::Peer(_) => return None,
        };
        Some(format!("mcp-{kind}-{}", hex(&digest)))
    }

    /// Returns true if a session that `opener` opened belongs to this client. An address proves
    /// nothing, as proxies share and change it, so a session without a principal and a token
    /// belongs to every client that has its id and sends neither.
    pub(crate) fn owns(&self, opener: &Self) -> bool {
        let is_unproven = |client: &Self| matches!(client.identity, Identity::Peer(_));
        self.identity == opener.identity || (is_unproven(self) && is_unproven(opener))
    }
}

/// Returns the hash of the credentials in an `Authorization` header. The case of the scheme and the
/// blanks around the credentials do not count.
fn hash_token(header: &[u8]) -> [u8; 32] {
    let header = header.trim_ascii();
    let (scheme, token) = header.split_at(
        header
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(header.len()),
    );
    let hash = Sha256::new_with_prefix(b"token\0")
        .chain_update(scheme.to_ascii_lowercase())
        .chain_update(b"\0");
    hash.chain_update(token.trim_ascii_start())
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, Request};
    use std::collections::HashSet;
    use tool_adapters_http::bearer::BearerToken;

    fn request(authorization: &[u8]) -> Parts {
        let mut parts = Request::new(()).into_parts().0;
        parts.headers.insert(
            header::AUTHORIZATION,
            HeaderValue::from_bytes(authorization).expect("a header"),
        );
        parts
    }

    fn by_token(authorization: &[u8]) -> Client {
        Client::of(&request(authorization), None, &AccessRules::default()).expect("a client")
    }

    fn by_principal(principal: &str) -> Client {
        let parts = Request::new(()).into_parts().0;
        let principal = principal.to_owned();
        Client::of(
            &parts,
            Some(&move |_| Some(principal.clone())),
            &AccessRules::default(),
        )
        .expect("a client")
    }

    #[test]
    fn no_token_has_the_session_of_a_principal() {
        let mut ids = HashSet::new();
        let mut texts = HashSet::new();
        for at in 0..1_000 {
            let name = format!("alice {at}");
            let digest = by_principal(&name).session_id().expect("an id");
            let forms = [
                "",
                "Bearer ",
                "principal ",
                "token ",
                "mcp-principal-",
                "mcp-client-",
            ];
            texts.extend(forms.map(|form| format!("{form}{name}")));
            texts.extend([digest.replace("mcp-principal-", ""), digest]);
        }
        for text in &texts {
            assert!(
                ids.insert(by_principal(text).session_id().expect("an id")),
                "{text}"
            );
            assert!(
                ids.insert(by_token(text.as_bytes()).session_id().expect("an id")),
                "{text}"
            );
        }
        assert_eq!(ids.len(), 16_000);
    }

    #[test]
    fn spellings_of_a_token_are_one_client() {
        let token = by_token(b"Bearer x-1");
        let mut tried = 0;
        for case in 0..64 {
            let letter = |(at, letter): (usize, char)| {
                if case >> at & 1 == 1 {
                    letter.to_ascii_uppercase()
                } else {
                    letter
                }
            };
            let scheme = "bearer".chars().enumerate().map(letter).collect::<String>();
            for (before, between, after) in
                (0..64).map(|blanks| (blanks & 3, 1 + (blanks >> 2 & 3), blanks >> 4))
            {
                let [before, between, after] =
                    [before, between, after].map(|blanks| " ".repeat(blanks));
                let spelled = by_token(format!("{before}{scheme}{between}x-1{after}").as_bytes());
                assert_eq!(spelled.session_id(), token.session_id());
                assert!(spelled.owns(&token));
                tried += 1;
            }
        }
        assert_eq!(tried, 4_096);
        for other in [
            "Bearer X-1",
            "Basic x-1",
            "Bearer x -1",
            "Bearerx-1",
            "x-1",
            "Bearer",
        ] {
            assert!(!by_token(other.as_bytes()).owns(&token), "{other}");
        }
    }

    #[test]
    fn changed_tokens_count_as_one_client() {
        let counted = (0..1_000).map(|at| by_token(format!("Bearer {at}").as_bytes()).counted_as());
        assert_eq!(
            counted.collect::<HashSet<_>>(),
            HashSet::from([Identity::Claims(None)])
        );
        let access = AccessRules {
            token: Some(BearerToken::new("0123456789abcdef")),
            ..AccessRules::default()
        };
        let checked =
            Client::of(&request(b"Bearer 0123456789abcdef"), None, &access).expect("a client");
        assert!(
            matches!(checked.counted_as(), Identity::Token(_)),
            "the server knows the token"
        );
    }

    #[test]
    fn an_empty_principal_is_refused() {
        let parts = request(b"Bearer x");
        let refused = (0..1_000).filter(|blanks| {
            let principal = [" ", "\t", "\n", "\u{a0}"][blanks % 4].repeat(blanks / 4);
            let access = AccessRules {
                allow_anonymous: blanks % 2 == 0,
                ..AccessRules::default()
            };
            Client::of(&parts, Some(&move |_| Some(principal.clone())), &access).is_none()
        });
        assert_eq!(refused.count(), 1_000);
    }
}
