//! The servers that a store connects to, and a connection to them.

use crate::redis::address::{Address, Sentinels, Servers};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::io::tcp::TcpSettings;
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, Cmd, ConnectionInfo, ErrorKind, Pipeline,
    RedisError, RedisFuture, RedisResult, ServerErrorKind, TlsCertificates, TlsMode, Value,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::time::Duration;
use tokio::time::timeout;
use tool_core::session::StoreError;

/// Longest time to connect to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest time for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The certificates of a store that connects over TLS, in PEM.
#[derive(Clone, Default)]
pub(crate) struct Certificates {
    /// Replace those which the system trusts.
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) client: Option<ClientCertificate>,
}

/// The certificate of a store, for servers that ask for one.
#[derive(Clone)]
pub(crate) struct ClientCertificate {
    pub(crate) chain: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl Certificates {
    fn is_empty(&self) -> bool {
        self.ca.is_none() && self.client.is_none()
    }

    /// Finds every problem of the texts.
    fn check(&self, is_tls: bool) -> Result<(), StoreError> {
        let mut problems = Vec::new();
        if !is_tls && !self.is_empty() {
            problems.push("certificates need a URL that begins with `rediss`");
        }
        if self.ca.as_deref().is_some_and(|ca| !has_certificates(ca)) {
            problems.push("expected the certificate of a CA in PEM, and found none in the text");
        }
        if let Some(client) = &self.client {
            if !has_certificates(&client.chain) {
                problems.push("expected the client's certificate in PEM, and found none");
            }
            if PrivateKeyDer::from_pem_slice(&client.key).is_err() {
                problems.push("expected the client's private key in PEM, and found none");
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(StoreError::new(problems.join("; ")))
    }

    fn for_client(&self) -> TlsCertificates {
        let client_tls = self.client.as_ref().map(|client| ClientTlsConfig {
            client_cert: client.chain.clone(),
            client_key: client.key.clone(),
        });
        TlsCertificates {
            client_tls,
            root_cert: self.ca.clone(),
        }
    }
}

/// Returns true if a text has certificates, all of which are sound.
fn has_certificates(pem: &[u8]) -> bool {
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        if certificate.is_err() {
            return false;
        }
        count += 1;
    }
    count > 0
}

/// The servers that a store connects to.
pub(crate) enum Endpoint {
    Server(Box<Client>),
    Cluster(Box<ClusterClient>),
    /// Asked for the primary each time.
    Sentinels(Box<tokio::sync::Mutex<SentinelClient>>),
}

impl Endpoint {
    pub(crate) fn new(address: &Address, certificates: &Certificates) -> Result<Self, StoreError> {
        certificates.check(address.is_tls)?;
        // rustls panics if several providers are linked and the program has chosen none.
        if CryptoProvider::get_default().is_none() {
            // An error means that another thread has just chosen one.
            _ = aws_lc_rs::default_provider().install_default();
        }
        let endpoint = match &address.servers {
            Servers::One(server) => {
                client(server, certificates).map(|client| Self::Server(Box::new(client)))
            }
            Servers::Cluster(nodes) => {
                cluster(nodes, certificates).map(|client| Self::Cluster(Box::new(client)))
            }
            Servers::Sentinels(sentinels) => sentinel_client(sentinels, address, certificates)
                .map(|client| Self::Sentinels(Box::new(tokio::sync::Mutex::new(client)))),
        };
        // The error may quote the URL with its password.
        endpoint.map_err(|error| {
            StoreError::new(format!(
                "invalid URL of a Redis server: {}",
                error.category()
            ))
        })
    }

    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Connects, and finds out which server is the primary.
    pub(crate) async fn connect(&self) -> RedisResult<Link> {
        match self {
            Self::Server(client) => connect(client).await,
            Self::Cluster(client) => {
                let connection = in_time(client.get_async_connection()).await?;
                Ok(Link::Cluster(connection))
            }
            Self::Sentinels(sentinels) => {
                let mut sentinels = sentinels.lock().await;
                let primary = in_time(sentinels.async_get_client()).await?;
                connect(&primary).await
            }
        }
    }
}

async fn connect(client: &Client) -> RedisResult<Link> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(ANSWER_TIMEOUT));
    let connection = client.get_multiplexed_async_connection_with_config(&config);
    Ok(Link::Server(connection.await?))
}

/// Bounds a wait that the client does not bound as a whole.
async fn in_time<T>(answer: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
    let Ok(answer) = timeout(ANSWER_TIMEOUT, answer).await else {
        return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
    };
    answer
}

fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

fn client(server: &ConnectionInfo, certificates: &Certificates) -> RedisResult<Client> {
    let server = server.clone().set_tcp_settings(tcp());
    if certificates.is_empty() {
        Client::open(server)
    } else {
        Client::build_with_tls(server, certificates.for_client())
    }
}

fn cluster(nodes: &[ConnectionInfo], certificates: &Certificates) -> RedisResult<ClusterClient> {
    // The client would send a command again whose connection broke, although a server may have
    // executed it. `Connection` sends again what no server has executed.
    let mut builder = ClusterClientBuilder::new(nodes.to_vec())
        .retries(0)
        .connection_timeout(CONNECT_TIMEOUT)
        .response_timeout(ANSWER_TIMEOUT)
        .tcp_settings(tcp());
    if !certificates.is_empty() {
        builder = builder.certs(certificates.for_client());
    }
    builder.build()
}

fn sentinel_client(
    sentinels: &Sentinels,
    address: &Address,
    certificates: &Certificates,
) -> RedisResult<SentinelClient> {
    let nodes = sentinels.nodes.iter().map(|node| node.addr().clone());
    let mut builder =
        SentinelClientBuilder::new(nodes, &sentinels.service, SentinelServerType::Master)?
            .set_client_to_redis_db(sentinels.primary.redis_settings().db())
            .set_client_to_redis_tcp_settings(tcp());
    if address.is_tls {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
    }
    if !certificates.is_empty() {
        builder = builder
            .set_client_to_redis_certificates(certificates.for_client())
            .set_client_to_sentinel_certificates(certificates.for_client());
    }

    let primary = sentinels.primary.redis_settings();
    if let Some(user) = primary.username() {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = primary.password() {
        builder = builder.set_client_to_redis_password(password);
    }
    if let Some(sentinel) = sentinels.nodes.first().map(ConnectionInfo::redis_settings) {
        if let Some(user) = sentinel.username() {
            builder = builder.set_client_to_sentinel_username(user);
        }
        if let Some(password) = sentinel.password() {
            builder = builder.set_client_to_sentinel_password(password);
        }
    }
    builder.build()
}

/// A connection, which any number of requests use at once.
#[derive(Clone)]
pub(crate) enum Link {
    Server(MultiplexedConnection),
    /// To all nodes. It finds the node of each key, and connects to nodes again.
    Cluster(ClusterConnection),
}

impl Link {
    /// Returns true if no later request will succeed over this connection.
    pub(crate) fn is_broken_by(&self, error: &RedisError) -> bool {
        match self {
            // A server that became a replica is asked no more: the sentinels know another one. One
            // that does not answer may be gone without a word.
            Self::Server(_) => {
                error.is_unrecoverable_error()
                    || error.is_io_error()
                    || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
            }
            // If no node is left that could name the others, or a node says nothing. Of a node that
            // ends the connection, the client finds out by itself which one took over.
            Self::Cluster(_) => {
                error.kind() == ErrorKind::ClusterConnectionNotFound
                    || error.is_connection_refusal()
                    || error.is_timeout()
            }
        }
    }
}

/// Returns true if the server has not executed the command and may do so soon: another server has
/// the key, or is about to.
pub(crate) fn is_not_executed(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::ClusterConnectionNotFound => true,
        ErrorKind::Server(kind) => matches!(
            kind,
            ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::BusyLoading
        ),
        _ => false,
    }
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Server(server) => server.req_packed_command(cmd),
            Self::Cluster(cluster) => cluster.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Server(server) => server.req_packed_commands(pipeline, offset, count),
            Self::Cluster(cluster) => cluster.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Server(server) => server.get_db(),
            Self::Cluster(cluster) => cluster.get_db(),
        }
    }
}
