//! The keys with which an issuer signs tokens: fetched from its metadata, kept, and fetched again
//! when a token names another.

use crate::auth::fetch::Fetcher;
use crate::auth::metadata::IssuerMetadata;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::MutexGuard;
use tokio::time::Instant;

/// The age at which keys are fetched again.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// The age up to which keys are used while the issuer cannot be reached.
const KEPT: Duration = Duration::from_secs(60 * 60);
/// Maximum number of fetches in [`WINDOW`]. Anyone can send tokens with other key ids.
const MAX_FETCHES: usize = 4;
const WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of keys that are read.
const MAX_KEYS: usize = 100;
/// Maximum number of keys that are tried for a token without a key id.
const MAX_TRIED: usize = 4;

/// The metadata and the keys of an issuer.
pub(crate) struct IssuerDocuments {
    pub(crate) metadata: IssuerMetadata,
    keys: Vec<IssuerKey>,
    fetched: Instant,
}

pub(crate) struct IssuerKey {
    id: Option<String>,
    algorithm: Option<KeyAlgorithm>,
    pub(crate) key: DecodingKey,
}

impl IssuerKey {
    /// Reads a public key for signatures. Returns `None` for keys of another kind.
    fn of(document: &Value) -> Option<Self> {
        let jwk = serde_json::from_value::<Jwk>(document.clone()).ok()?;
        // A symmetric key among public ones would let anyone sign.
        let is_public = matches!(
            jwk.algorithm,
            AlgorithmParameters::RSA(_)
                | AlgorithmParameters::EllipticCurve(_)
                | AlgorithmParameters::OctetKeyPair(_)
        );
        let signs = matches!(
            jwk.common.public_key_use,
            None | Some(PublicKeyUse::Signature)
        );
        let key = DecodingKey::from_jwk(&jwk)
            .ok()
            .filter(|key| is_public && signs && key.family() != AlgorithmFamily::Hmac)?;
        Some(Self {
            id: jwk.common.key_id,
            algorithm: jwk.common.key_algorithm,
            key,
        })
    }

    fn fits(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        let names = |own: &KeyAlgorithm| *own == KeyAlgorithm::from(algorithm);
        (id.is_none() || self.id.as_deref() == id)
            && self.algorithm.as_ref().is_none_or(names)
            && algorithm.family() == self.key.family()
    }
}

impl IssuerDocuments {
    pub(crate) fn have_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Returns the keys with which a token may be signed.
    pub(crate) fn keys(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = &IssuerKey> {
        self.keys
            .iter()
            .filter(move |key| key.fits(id, algorithm))
            .take(MAX_TRIED)
    }
}

/// The documents of an issuer, of which all requests share the last.
pub(crate) struct IssuerCache {
    pub(crate) issuer: String,
    pub(crate) fetcher: Fetcher,
    /// True for an issuer whose tokens may be no JWTs, so that it may have no keys.
    is_introspected: bool,
    current: Mutex<Option<Arc<IssuerDocuments>>>,
    fetches: tokio::sync::Mutex<VecDeque<Instant>>,
}

impl IssuerCache {
    pub(crate) fn new(issuer: String, fetcher: Fetcher, is_introspected: bool) -> Self {
        Self {
            issuer,
            fetcher,
            is_introspected,
            current: Mutex::default(),
            fetches: tokio::sync::Mutex::default(),
        }
    }

    fn current(&self) -> Option<Arc<IssuerDocuments>> {
        let current = self.current.lock().clone();
        current.filter(|documents| documents.fetched.elapsed() < KEPT)
    }

    /// Returns the documents. They are fetched first if there are none, or if `are_sufficient`
    /// returns false, and meanwhile if they are old. Returns `None` if there are none and the
    /// issuer cannot be reached.
    pub(crate) async fn documents(
        self: &Arc<Self>,
        are_sufficient: impl Fn(&IssuerDocuments) -> bool,
    ) -> Option<Arc<IssuerDocuments>> {
        let current = self.current();
        let cache = Arc::clone(self);
        let seen = current.as_ref().map(|documents| documents.fetched);
        match &current {
            Some(documents) if are_sufficient(documents) => {
                if documents.fetched.elapsed() >= FRESH {
                    tokio::spawn(async move {
                        if let Ok(fetches) = cache.fetches.try_lock() {
                            cache.refresh(seen, fetches).await;
                        }
                    });
                }
                current
            }
            _ => {
                // In a task, so that a client that goes away does not end the fetch of all others.
                let fetched = tokio::spawn(async move {
                    let fetches = cache.fetches.lock().await;
                    cache.refresh(seen, fetches).await;
                });
                let _ = fetched.await;
                self.current()
            }
        }
    }

    /// Fetches the documents, unless another request has done so since `seen`, or too many have.
    async fn refresh(&self, seen: Option<Instant>, mut fetches: MutexGuard<'_, VecDeque<Instant>>) {
        if self.current().map(|documents| documents.fetched) != seen {
            return;
        }
        while fetches
            .front()
            .is_some_and(|first| first.elapsed() >= WINDOW)
        {
            fetches.pop_front();
        }
        if fetches.len() >= MAX_FETCHES {
            return;
        }
        fetches.push_back(Instant::now());
        match self.fetch().await {
            Ok(documents) => {
                *self.current.lock() = Some(Arc::new(documents));
            }
            Err(error) => {
                tracing::error!(issuer = %self.issuer, error, "failed to fetch the keys of an issuer");
            }
        }
    }

    async fn fetch(&self) -> Result<IssuerDocuments, String> {
        let metadata = IssuerMetadata::fetch(&self.fetcher, &self.issuer)
            .await
            .map_err(|error| error.to_string())?;
        let keys = match self.fetch_keys(&metadata).await {
            Ok(keys) => keys,
            Err(error) if self.may_lack_keys() => {
                tracing::debug!(issuer = %self.issuer, error, "an introspected issuer has no keys");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        Ok(IssuerDocuments {
            metadata,
            keys,
            fetched: Instant::now(),
        })
    }

    /// Returns true if the documents are of use without keys, and replace none that have some.
    fn may_lack_keys(&self) -> bool {
        let current = self.current();
        self.is_introspected && current.is_none_or(|documents| !documents.have_keys())
    }

    async fn fetch_keys(&self, metadata: &IssuerMetadata) -> Result<Vec<IssuerKey>, String> {
        let jwks = metadata
            .jwks_uri
            .as_deref()
            .ok_or("its metadata has no `jwks_uri`")?;
        let url = self
            .fetcher
            .parse("the issuer's keys", jwks)
            .map_err(|error| error.to_string())?;
        let document = self
            .fetcher
            .document(&url)
            .await
            .map_err(|error| error.to_string())?;
        let document = document.ok_or("it publishes no keys at its `jwks_uri`")?;
        let keys = document
            .get("keys")
            .and_then(Value::as_array)
            .ok_or("its keys have no `keys`")?;
        Ok(keys
            .iter()
            .take(MAX_KEYS)
            .filter_map(IssuerKey::of)
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_of_other_kinds_are_left_out() {
        let ed = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let with = |name: &str, value: &str| {
            let mut key = ed.clone();
            key[name] = value.into();
            key
        };
        let key = IssuerKey::of(&with("kid", "a")).expect("a key");
        assert!(key.fits(Some("a"), Algorithm::EdDSA) && key.fits(None, Algorithm::EdDSA));
        assert!(!key.fits(Some("b"), Algorithm::EdDSA) && !key.fits(Some("a"), Algorithm::RS256));
        assert!(
            !IssuerKey::of(&with("alg", "RS256"))
                .is_some_and(|key| key.fits(None, Algorithm::EdDSA))
        );
        assert!(IssuerKey::of(&with("use", "sig")).is_some());
        for other in [
            with("use", "enc"),
            json!({"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"}),
            json!({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256", "use": "sig"}),
            json!({"kty": "unknown"}),
            json!({}),
            json!("key"),
        ] {
            assert!(IssuerKey::of(&other).is_none(), "{other}");
        }
    }
}
