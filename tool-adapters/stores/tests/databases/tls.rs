//! A server that speaks TLS only, and asks one of its users for a certificate.

use crate::certificates::{make_ca, make_certificate};
use crate::server;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::{sleep, timeout};
use tool_adapters::stores::{PostgresStore, SqlError};
use tool_core::Mode;
use tool_core::testing::store::driver::{open, opening};

/// A server that ends with this process.
struct TlsServer {
    port: u16,
    /// The folder of the certificates and keys.
    files: PathBuf,
    /// A shell that ends the server when its input is closed.
    _shell: Child,
}

static SERVER: OnceCell<Option<TlsServer>> = OnceCell::const_new();

/// The users of the server. Without TLS, nobody may connect over the network.
const ACCESS: &str = "local all all trust
hostssl all guest 127.0.0.1/32 cert
hostssl all all 127.0.0.1/32 trust
";

impl TlsServer {
    /// Returns the server. Skips the test if it cannot be started here.
    async fn running() -> Option<&'static Self> {
        // The gate names a server if one is installed.
        server::url()?;
        let server = SERVER.get_or_init(Self::start).await;
        if server.is_none() {
            tool_core::testing::skip("there is no openssl");
        }
        server.as_ref()
    }

    async fn start() -> Option<Self> {
        if Command::new("openssl").arg("version").output().is_err() {
            return None;
        }
        let files = tempfile::tempdir().expect("a folder").keep();
        make_certificates(&files);

        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/postgres");
        // The server refuses to run as root, and its other user has to reach the folder.
        let data = std::env::temp_dir().join(format!("tls-server-{}", std::process::id()));
        let started = Command::new(&script)
            .arg("start")
            .arg(&data)
            .output()
            .expect("it runs");
        let url = String::from_utf8_lossy(&started.stdout).trim().to_owned();
        assert!(started.status.success(), "{url}");
        let shell = Command::new("sh")
            .args(["-c", "read end; \"$1\" drop \"$2\"; rm -r \"$3\"", "sh"])
            .args([&script, &data, &files])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a shell");

        let port = url.rsplit_once(':').and_then(|(_, rest)| {
            let (port, _) = rest.split_once('/')?;
            port.parse().ok()
        });
        let server = Self {
            port: port.expect("a port"),
            files,
            _shell: shell,
        };
        server.require_tls(&url).await;
        Some(server)
    }

    /// Gives the server its certificate, and lets it refuse everything else.
    async fn require_tls(&self, url: &str) {
        let read = |name: &str| fs::read_to_string(self.files.join(name)).expect("a file");
        for (name, text) in [
            ("server.crt", read("server.pem")),
            ("server.key", read("server.key")),
            ("ca.pem", read("ca.pem")),
            ("pg_hba.conf", ACCESS.to_owned()),
        ] {
            // As the server's own user, whoever that is.
            let write = format!(
                "COPY (SELECT unnest(string_to_array('{text}', E'\\n'))) \
                 TO PROGRAM 'umask 077 && cat > {name}'"
            );
            run(url, &write).await.expect("written");
        }
        for statement in [
            "CREATE ROLE guest LOGIN",
            // The first one of its search path.
            "CREATE SCHEMA guest AUTHORIZATION guest",
            "ALTER SYSTEM SET ssl = on",
            "ALTER SYSTEM SET ssl_ca_file = 'ca.pem'",
            "SELECT pg_reload_conf()",
        ] {
            run(url, statement).await.expect("it runs");
        }
        let reloaded = async {
            let plain = format!("{url}?sslmode=disable");
            while run(&plain, "SELECT 1").await.is_ok() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let in_time = timeout(Duration::from_secs(20), reloaded).await;
        in_time.expect("the server asks for TLS");
    }

    fn file(&self, name: &str) -> String {
        let path = self.files.join(name);
        path.to_str().expect("a path").to_owned()
    }

    /// Returns an address with parameters. The certificate of the server is that of `localhost`.
    fn url(&self, user: &str, host: &str, parameters: &str) -> String {
        let port = self.port;
        format!("postgres://{user}@{host}:{port}/postgres?{parameters}")
    }

    /// Returns an address that requires the certificate of the server.
    fn verified_url(&self, user: &str) -> String {
        let ca = self.file("ca.pem");
        let parameters = format!("sslmode=verify-full&sslrootcert={ca}");
        self.url(user, "localhost", &parameters)
    }
}

async fn run(url: &str, sql: &str) -> Result<(), sqlx::Error> {
    server::run(url, sql.to_owned()).await
}

/// Makes a CA, another one, the certificate of the server, and those of the user `guest` by both.
fn make_certificates(folder: &Path) {
    make_ca(folder, "ca");
    make_ca(folder, "other");
    make_certificate(folder, "server", "server", "ca");
    make_certificate(folder, "guest", "guest", "ca");
    make_certificate(folder, "stranger", "guest", "other");
}

/// Asserts that a store can be opened and used.
async fn works(url: &str) {
    let store = PostgresStore::connect(url).await.expect("it connects");
    let opened = open(&store, &opening("s", Mode::Text)).await;
    opened.expect("the session opens");
}

/// Returns the error of an address that is refused.
async fn refused(url: &str) -> String {
    let refused: Result<_, SqlError> = PostgresStore::connect(url).await;
    refused.expect_err(url).to_string()
}

#[tokio::test]
async fn a_server_that_proves_its_name_is_connected_to() {
    let Some(server) = TlsServer::running().await else {
        return;
    };
    works(&server.verified_url("tools")).await;
}

#[tokio::test]
async fn a_server_that_cannot_prove_its_name_is_refused() {
    let Some(server) = TlsServer::running().await else {
        return;
    };
    let hint = "check the server's certificate, its CA (`sslrootcert`) and the host of the address";
    let other = format!(
        "sslmode=verify-full&sslrootcert={}",
        server.file("other.pem")
    );
    let error = refused(&server.url("tools", "localhost", &other)).await;
    assert!(error.contains("UnknownIssuer"), "another CA: {error}");
    assert!(error.contains(hint), "{error}");

    let system = refused(&server.url("tools", "localhost", "sslmode=verify-full")).await;
    assert!(system.contains("UnknownIssuer"), "no CA: {system}");

    let by_address = server
        .verified_url("tools")
        .replace("localhost", "127.0.0.1");
    let error = refused(&by_address).await;
    assert!(error.contains("not valid for name"), "{error}");
    assert!(error.contains(hint), "{error}");
}

#[tokio::test]
async fn an_address_without_tls_is_told_what_the_server_wants() {
    let Some(server) = TlsServer::running().await else {
        return;
    };
    let error = refused(&server.url("tools", "localhost", "sslmode=disable")).await;
    assert!(error.contains("no encryption"), "{error}");
}

#[tokio::test]
async fn a_missing_ca_file_is_named_as_a_setting() {
    let Some(server) = TlsServer::running().await else {
        return;
    };
    let missing = "sslmode=verify-full&sslrootcert=/no/such/ca.pem";
    let error = refused(&server.url("tools", "localhost", missing)).await;
    assert!(error.contains("`sslrootcert`"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_not_used_where_it_is_required() {
    let Some(url) = server::url() else { return };
    let divider = if url.contains('?') { '&' } else { '?' };
    let error = refused(&format!("{url}{divider}sslmode=require")).await;
    assert!(error.contains("does not support TLS"), "{error}");
    assert!(error.contains("turn TLS on"), "{error}");
}

#[tokio::test]
async fn a_user_is_known_by_its_certificate() {
    let Some(server) = TlsServer::running().await else {
        return;
    };
    let url = server.verified_url("guest");
    let with = |certificate: &str, key: &str| {
        let certificate = server.file(certificate);
        let key = server.file(key);
        format!("{url}&sslcert={certificate}&sslkey={key}")
    };
    works(&with("guest.pem", "guest.key")).await;

    let none = refused(&url).await;
    assert!(none.contains("valid client certificate"), "{none}");
    let other = refused(&with("stranger.pem", "stranger.key")).await;
    assert!(other.contains("`sslcert` and `sslkey`"), "{other}");
    let half = format!("{url}&sslcert={}", server.file("guest.pem"));
    let half = refused(&half).await;
    assert!(half.contains("both `sslcert` and `sslkey`"), "{half}");
    let no_key = refused(&with("guest.pem", "guest.pem")).await;
    assert!(no_key.contains("`sslkey`"), "{no_key}");
}
