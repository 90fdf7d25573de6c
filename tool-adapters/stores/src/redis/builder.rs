//! The settings of a store.

use crate::redis::connection::{Connection, ReplicaWait};
use crate::redis::link::{Certificates, ClientCertificate};
use crate::redis::store::RedisStore;
use std::fmt;
use std::time::Duration;
use tool_core::session::StoreError;

/// The default prefix of keys.
const PREFIX: &str = "tools";

/// The settings of a [`RedisStore`]: [`RedisStore::builder`] begins them.
///
/// ```no_run
/// use tool_adapters::stores::RedisStore;
///
/// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
/// let ca = std::fs::read("ca.pem")?;
/// let store = RedisStore::builder("rediss://tools:password@redis.internal:6380/")
///     .ca(ca)
///     .prefix("support")
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct RedisStoreBuilder {
    url: String,
    prefix: String,
    certificates: Certificates,
    replicas: Option<ReplicaWait>,
}

/// # Connecting
impl RedisStore {
    /// Connects to the server at a URL such as `redis://user:password@host:6379/0`: see
    /// [the URL](#the-url). Fails if the server cannot be reached. No error and no log shows the
    /// password.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::builder(url).connect().await
    }

    /// Creates a store that connects at its first use.
    pub fn lazy(url: &str) -> Result<Self, StoreError> {
        Self::builder(url).lazy()
    }

    /// Begins a store with more settings than its URL.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use tool_adapters::stores::RedisStore;
    ///
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = RedisStore::builder("rediss+cluster://tools:password@redis-1.internal")
    ///     .ca(std::fs::read("ca.pem")?)
    ///     .client_certificate(std::fs::read("client.pem")?, std::fs::read("client.key")?)
    ///     .replicas(1, Duration::from_millis(100))
    ///     .connect()
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(url: &str) -> RedisStoreBuilder {
        RedisStoreBuilder::new(url)
    }
}

impl RedisStoreBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            prefix: PREFIX.to_owned(),
            certificates: Certificates::default(),
            replicas: None,
        }
    }

    /// Sets the prefix of the store's keys. Stores with different prefixes share no sessions.
    /// Defaults to `tools`.
    pub fn prefix(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Trusts the servers whose certificates were signed by this CA, in PEM. The certificates that
    /// the system trusts are not used. The URL begins with `rediss`.
    pub fn ca(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.ca = Some(pem.into());
        self
    }

    /// Shows a certificate to servers that ask for one (`tls-auth-clients yes`): the certificate
    /// with its chain, and the private key, both in PEM.
    pub fn client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.certificates.client = Some(ClientCertificate {
            chain: certificate.into(),
            key: key.into(),
        });
        self
    }

    /// Lets this many replicas confirm each change, within this time (`WAIT`). Defaults to none.
    ///
    /// Redis answers before its replicas have a change. If the primary dies then, the replica that
    /// takes over does not know it: a call that was counted is counted again, and an approval that
    /// was used waits once more. With one replica that has confirmed, the change survives if this
    /// replica takes over, and it does if the cluster has no other or if it is the furthest.
    ///
    /// Sessions, approvals, amounts, the journal and conversations wait for their replicas.
    /// Permits, signs of life, and the index of open sessions do not: they are renewed or end by
    /// themselves.
    ///
    /// An operation whose change is not confirmed in time fails, and a call whose admission fails
    /// does not run. Note that the primary has made the change: the call stays counted. While too
    /// few replicas answer, every change fails after this time. So give each primary one replica
    /// more than you ask for, and keep the time well below the deadline of the store.
    ///
    /// A server answers nothing else on a connection while a change waits there, so that a store
    /// with this setting has eight connections in place of one.
    pub fn replicas(mut self, replicas: u32, limit: Duration) -> Self {
        self.replicas = (replicas > 0).then_some(ReplicaWait { replicas, limit });
        self
    }

    /// Connects. Fails if no server can be reached.
    pub async fn connect(self) -> Result<RedisStore, StoreError> {
        let store = self.lazy()?;
        store.connection().ping().await?;
        Ok(store)
    }

    /// Creates a store that connects at its first use.
    pub fn lazy(self) -> Result<RedisStore, StoreError> {
        let connection = Connection::lazy(&self.url, &self.certificates, self.replicas)?;
        Ok(RedisStore::new(connection, &self.prefix))
    }
}

impl fmt::Debug for RedisStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password, and the certificates hold a key.
        f.debug_struct("RedisStoreBuilder")
            .field("prefix", &self.prefix)
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}
