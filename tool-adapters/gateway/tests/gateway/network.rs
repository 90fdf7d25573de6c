//! The way to servers with a `url`: proxies and certificates.

use crate::support::Folder;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tool_adapters::mcp::Server;
use tool_core::{ToolContext, tool};

/// Returns the first line of the first request that a proxy gets, after `--check` of a server at `mcp.example`.
fn proxied(policy: impl Fn(&str) -> String, variable: Option<&str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let proxy = format!(
        "http://user:pass@{}",
        listener.local_addr().expect("an address")
    );
    let folder = Folder::new(&policy(&proxy));
    folder.servers(&json!({"web": {"url": "http://mcp.example/mcp"}}));
    let reading = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let head = BufReader::new(stream.try_clone().expect("a copy"))
            .lines()
            .map_while(Result::ok);
        let head = head.take_while(|line| !line.is_empty()).collect::<Vec<_>>();
        stream
            .write_all(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .expect("written");
        assert!(
            head.iter().any(|line| line
                .to_lowercase()
                .starts_with("proxy-authorization: basic ")),
            "{head:?}"
        );
        head[0].clone()
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
    command
        .arg("--config")
        .arg(folder.path("mcp.json"))
        .arg("--policy")
        .arg(folder.path("policy.toml"))
        .arg("--check");
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ] {
        command.env_remove(name);
    }
    if let Some(variable) = variable {
        command.env(variable, proxy);
    }
    let output = command.output().expect("started");
    assert!(!output.status.success());
    reading.join().expect("a request")
}

// C19
#[test]
fn requests_go_to_the_proxy_of_the_environment_or_policy() {
    let environment = proxied(|_| String::new(), Some("HTTP_PROXY"));
    let policy = proxied(|proxy| format!("[network]\nproxy = '{proxy}'"), None);
    for line in [environment, policy] {
        assert_eq!(line, "POST http://mcp.example/mcp HTTP/1.1");
    }
}

// C19
#[tokio::test]
async fn a_proxy_reaches_no_address_that_the_policy_refuses() {
    use tool_adapters::gateway::Gateway;
    let folder =
        Folder::new("[network]\nproxy = 'http://127.0.0.1:1'\n[egress]\nhosts = ['*.example']");
    for url in [
        "http://10.1.2.3/mcp",
        "http://169.254.169.254/mcp",
        "https://other.test/mcp",
    ] {
        folder.servers(&json!({"web": {"url": url}}));
        Gateway::open(folder.files()).await.expect_err(url);
    }
}

#[tokio::test]
async fn the_settings_of_the_way_are_checked() {
    use tool_adapters::gateway::Gateway;
    let folder = Folder::new("[network]\nproxy = 'ftp://x'\nca_file = 'ca.pem'\nno_prox = []");
    let error = Gateway::open(folder.files())
        .await
        .expect_err("problems")
        .to_string();
    for text in [
        "network.proxy: expected the address of a proxy",
        "network.ca_file: ",
        "did you mean `no_proxy`?",
    ] {
        assert!(error.contains(text), "{error}");
    }
    folder.write("ca.pem", "no certificate");
    folder.policy("[network]\nca_file = 'ca.pem'");
    let error = Gateway::open(folder.files())
        .await
        .expect_err("problems")
        .to_string();
    assert!(error.contains("expected certificates in PEM"), "{error}");
}

/// Greet somebody.
#[tool(category = "retrieval")]
fn greet(name: &str) -> String {
    format!("hello {name}")
}

/// Makes an authority in a folder, and a certificate of it for `mcp.example`. Returns false without `openssl`.
fn make_certificates(folder: &Folder) -> bool {
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        command
            .args(arguments.split(' '))
            .current_dir(folder.as_path())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    folder.write("names", "subjectAltName=DNS:mcp.example");
    openssl(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem",
    ) && openssl("req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr")
        && openssl(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days 2 -extfile names -out server.pem",
        )
}

/// Serves over TLS what is at an address, and returns the address.
async fn serve_tls(folder: &Folder, plain: String) -> String {
    let chain = CertificateDer::pem_file_iter(folder.path("server.pem")).expect("a file");
    let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
    let key = PrivateKeyDer::from_pem_file(folder.path("server.key")).expect("a key");
    // A program with several providers of cryptography has to choose one.
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a sound pair");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, plain) = (acceptor.clone(), plain.clone());
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await?;
                let mut behind = tokio::net::TcpStream::connect(plain).await?;
                copy_bidirectional(&mut stream, &mut behind).await
            });
        }
    });
    address
}

/// Starts a proxy that makes tunnels to an address, whatever the target is. Returns its address, and the targets as it is asked.
async fn tunnels(to: String) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (asked, targets) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (to, asked) = (to.clone(), asked.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await?);
                }
                let line = String::from_utf8_lossy(&head)
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                _ = asked.send(line);
                stream
                    .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    .await?;
                let mut behind = tokio::net::TcpStream::connect(to).await?;
                copy_bidirectional(&mut stream, &mut behind).await
            });
        }
    });
    (address, targets)
}

// C19
#[tokio::test]
async fn a_server_behind_a_proxy_has_a_private_authority() {
    let folder = Folder::new("");
    if !make_certificates(&folder) {
        tool_core::testing::skip("there is no openssl");
        return;
    }
    let server = Server::from_tools(
        ToolContext::builder()
            .with(greet)
            .build()
            .expect("sound tools"),
    )
    .expect("a server");
    let bound = server
        .allow_hosts(["mcp.example"])
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let plain = bound.address().expect("an address").to_string();
    tokio::spawn(bound.serve());
    let (proxy, mut targets) = tunnels(serve_tls(&folder, plain).await).await;
    folder.servers(&json!({"web": {"url": "https://mcp.example/mcp"}}));

    for (authority, is_trusted) in [("ca_file = 'ca.pem'", true), ("", false)] {
        folder.policy(&format!("[network]\nproxy = 'http://{proxy}'\n{authority}"));
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
        command
            .arg("--config")
            .arg(folder.path("mcp.json"))
            .arg("--policy")
            .arg(folder.path("policy.toml"));
        let output = command.arg("--check").output().await.expect("started");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);

        assert_eq!(output.status.success(), is_trusted, "{said}");
        assert_eq!(said.contains("greet"), is_trusted, "{said}");
        assert_eq!(
            targets.recv().await.as_deref(),
            Some("CONNECT mcp.example:443 HTTP/1.1")
        );
    }
}
