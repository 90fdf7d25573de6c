//! A server that speaks TLS only, and a user with no more rights than the store needs: the conformance suite runs with both.

use crate::certificates::{make_ca, make_certificate};
use crate::own_server::OwnServer;
use crate::server;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;
use std::{fs, net};
use tool_adapters::stores::{RedisStore, RedisStoreBuilder};
use tool_core::Mode;
use tool_core::session::{SessionStore, StoreError};
use tool_core::testing::store::StoreUnderTest;
use tool_core::testing::store::driver::{TestCall, open, opening};

const CANARY: &str = "c4n4ryPassw0rd";

/// The rights that the documentation of the store names.
pub(crate) const RIGHTS: &str = "nocommands +ping +select +eval +evalsha +time +del +rename +pexpire +pttl +set +exists +hset \
    +hget +hmget +hgetall +hdel +hlen +hexists +hincrby +hsetnx +rpush +lpop +ltrim +lrange +zadd +zrem +zcard +zscore \
    +zrange +zrangebyscore +zrevrangebyscore +role +cluster|slots +wait";

/// A server that ends with this process.
struct SecureServer {
    folder: PathBuf,
    port: u16,
    /// A shell that ends the server and removes the folder when its input is closed.
    _shell: Child,
}

static SERVER: LazyLock<Option<SecureServer>> = LazyLock::new(SecureServer::start);

fn is_installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

impl SecureServer {
    fn start() -> Option<Self> {
        if !is_installed("redis-server") || !is_installed("openssl") {
            return None;
        }
        // A static is not dropped, so the shell removes the folder.
        let folder = tempfile::tempdir().expect("a folder").keep();
        make_ca(&folder, "ca");
        make_ca(&folder, "other");
        make_certificate(&folder, "server", "server", "ca");
        make_certificate(&folder, "client", "client", "ca");
        let acl =
            format!("user default off\nuser tools on >{CANARY} resetkeys ~tools*{{* {RIGHTS}\n");
        fs::write(folder.join("users.acl"), acl).expect("written");
        let port = net::TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a free port")
            .port();
        let run = format!(
            "redis-server --port 0 --tls-port {port} --bind 127.0.0.1 --save '' --appendonly no --tls-cert-file server.pem \
             --tls-key-file server.key --tls-ca-cert-file ca.pem --tls-auth-clients yes --aclfile users.acl & read end; kill $!; wait; rm -r \"$PWD\""
        );
        let mut process = Command::new("sh")
            .args(["-c", &run])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        assert!(
            lines.any(|line| line.is_ok_and(|line| line.contains("Ready to accept connections"))),
            "the server starts"
        );
        // The server may write more.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self {
            folder,
            port,
            _shell: process,
        })
    }

    fn ca(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name).with_extension("pem")).expect("a certificate")
    }

    /// Begins a store that trusts a CA and shows its certificate.
    fn builder(&self, url: &str, ca: &str) -> RedisStoreBuilder {
        let key = fs::read(self.folder.join("client.key")).expect("a key");
        RedisStore::builder(url)
            .ca(self.ca(ca))
            .client_certificate(self.ca("client"), key)
    }

    async fn connect(&self, url: &str, ca: &str) -> Result<RedisStore, StoreError> {
        self.builder(url, ca).connect().await
    }

    fn url(&self) -> String {
        format!("rediss://tools:{CANARY}@localhost:{}/", self.port)
    }
}

fn secure() -> Option<&'static SecureServer> {
    if SERVER.is_none() {
        tool_core::testing::skip("there is no redis-server or no openssl");
    }
    SERVER.as_ref()
}

struct Secure(&'static SecureServer, String);

impl Secure {
    fn on_server() -> Option<Self> {
        secure().map(|server| Self(server, format!("tools-{}", server::prefix())))
    }
}

impl StoreUnderTest for Secure {
    const TICK: Duration = Duration::from_millis(150);

    type Store = RedisStore;

    async fn handle(&self) -> RedisStore {
        let store = self.0.connect(&self.0.url(), "ca").await;
        store.expect("the server answers").prefix(&self.1)
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

mod conformance {
    tool_core::store_conformance!(super::Secure::on_server());
}

/// Returns the error of a store that does not connect, without the password in any form.
fn refused(what: &str, store: Result<RedisStore, StoreError>) -> String {
    let Err(error) = store else {
        panic!("{what} connects")
    };
    for text in [
        error.to_string(),
        format!("{error:?}"),
        format!("{error:#?}"),
    ] {
        assert!(!text.contains(CANARY), "{what}: {text}");
    }
    error.to_string()
}

#[tokio::test]
async fn server_with_another_certificate_is_refused() {
    let Some(server) = secure() else { return };
    let url = server.url();
    let other = refused("another CA", server.connect(&url, "other").await);
    assert!(
        other.contains("certificate") && other.contains("check the certificate, its CA"),
        "{other}"
    );
    let system = refused("the system's CAs", RedisStore::connect(&url).await);
    assert!(system.contains("UnknownIssuer"), "{system}");
    let by_address = url.replace("localhost", "127.0.0.1");
    let name = refused(
        "a name that is not in the certificate",
        server.connect(&by_address, "ca").await,
    );
    assert!(name.contains("not valid for name"), "{name}");
    refused(
        "a URL that asks for no check",
        RedisStore::connect(&format!("{url}#insecure")).await,
    );
    refused(
        "no TLS",
        RedisStore::connect(&url.replace("rediss", "redis")).await,
    );
    refused(
        "a CA without TLS",
        server.connect(&url.replace("rediss", "redis"), "ca").await,
    );
    for nothing in [
        "",
        "no certificate",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
    ] {
        let error = refused(
            "no CA",
            RedisStore::builder(&url).ca(nothing).connect().await,
        );
        assert!(
            error.contains("expected the certificate of a CA in PEM"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn client_without_a_certificate_of_the_ca_is_refused() {
    let Some(server) = secure() else { return };
    let url = server.url();
    let without = RedisStore::builder(&url).ca(server.ca("ca"));
    refused("no certificate", without.connect().await);
    let other = fs::read(server.folder.join("other.key")).expect("a key");
    let of_other = RedisStore::builder(&url)
        .ca(server.ca("ca"))
        .client_certificate(server.ca("other"), other);
    refused("the certificate of another CA", of_other.connect().await);
    let broken = RedisStore::builder(&url.replace("rediss", "redis"))
        .ca("no CA")
        .client_certificate("no certificate", "no key");
    let error = refused("no PEM", broken.lazy());
    for problem in [
        "begins with `rediss`",
        "of a CA",
        "client's certificate",
        "private key",
    ] {
        assert!(error.contains(problem), "{problem}: {error}");
    }
}

#[tokio::test]
async fn user_reaches_the_keys_of_its_prefix_only() {
    let Some(server) = secure() else { return };
    let mut store = server
        .connect(&server.url(), "ca")
        .await
        .expect("it connects");
    for number in 0..1_000 {
        store = store.prefix(&format!("other{number}"));
        let error = store
            .sessions()
            .await
            .expect_err("the keys of another")
            .to_string();
        assert!(
            error.contains("NOPERM") && !error.contains(CANARY),
            "{error}"
        );
    }
}

/// Three nodes name themselves `localhost`, as their certificate does.
#[tokio::test]
async fn cluster_with_tls_shows_its_certificates_at_each_node() {
    let Some(server) = secure() else { return };
    let certificates = server.folder.to_str().expect("a path");
    let cluster = OwnServer::start("redis-cluster", &["tls-cluster", certificates]);
    let Some(cluster) = server::or_skip(cluster) else {
        return;
    };

    refused("another CA", server.connect(&cluster.url, "other").await);

    let store = server.connect(&cluster.url, "ca").await;
    let store = store.expect("the nodes answer");
    for number in 0..12 {
        let opened = open(&store, &opening(&format!("s{number}"), Mode::Text)).await;
        let session = opened.expect("the session opens");
        assert!(session.passes(&TestCall::default()).await);
    }
    assert_eq!(store.sessions().await, Ok(12));
}

#[tokio::test]
async fn no_altered_url_shows_the_password() {
    let Some(server) = secure() else { return };
    let url = server.url();
    let (start, end) = (
        url.find(CANARY).expect("a password"),
        url.find('@').expect("an end"),
    );
    let mut altered = 0;
    for at in (0..url.len()).filter(|at| !(start..end).contains(at)) {
        for other in [
            "", ":", "/", "@", "?", "#", "[", "]", "%", " ", "\\", "x", "9", "\u{0}", "ü", "//",
            "::", "@@", "%4", "&",
        ] {
            for (head, tail) in [(&url[..at], &url[at..]), (&url[..at], &url[at + 1..])] {
                altered += 1;
                for store in [
                    RedisStore::lazy(&format!("{head}{other}{tail}")),
                    RedisStore::builder(&format!("{head}{other}{tail}"))
                        .ca("no CA")
                        .lazy(),
                ] {
                    let shown = match store {
                        Ok(store) => format!("{store:?} {store:#?}"),
                        Err(error) => format!("{error} {error:?} {error:#?}"),
                    };
                    assert!(!shown.contains(CANARY), "{shown}");
                }
            }
        }
    }
    assert!(altered >= 1_000, "{altered}");
}
