//! Proxies and certificates of the program's own client.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{quick, session};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::{HttpModel, client_builder};

#[tokio::test]
async fn requests_go_through_the_programs_proxy() {
    let proxy = Server::start([Answer::events(&text(Provider::OpenAiChat, "Hello"))]).await;
    let through = reqwest::Proxy::all(&proxy.url).expect("a URL");
    let client = client_builder().proxy(through).build().expect("a client");
    let model = HttpModel::new(Provider::OpenAiChat, "m")
        .base_url("http://models.example/v1")
        .client(client);
    let reply = AgentLoop::new(session().await.0, model).prompt("Hi").await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    let head = proxy.requests()[0].head.clone();
    assert!(
        head.starts_with("post http://models.example/v1/chat/completions "),
        "{head}"
    );
}

/// Makes an authority in a folder, and a certificate of it for this machine. Returns false without `openssl`.
fn make_certificates(folder: &Path) -> bool {
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        command
            .args(arguments.split(' '))
            .current_dir(folder)
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1").expect("a file");
    openssl(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem",
    ) && openssl("req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr")
        && openssl(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days 2 -extfile names -out server.pem",
        )
}

/// Serves a server over TLS, and returns its URL.
async fn serve_tls(folder: &Path, server: &Server) -> String {
    let chain = CertificateDer::pem_file_iter(folder.join("server.pem")).expect("a file");
    let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).expect("a key");
    // A program with several providers of cryptography has to choose one.
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a sound pair");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    let plain = server.url.replace("http://", "");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            let plain = plain.clone();
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await?;
                let mut behind = TcpStream::connect(plain).await?;
                copy_bidirectional(&mut stream, &mut behind).await
            });
        }
    });
    url
}

#[tokio::test]
async fn a_private_authority_is_the_programs_choice() {
    let folder = TempDir::new().expect("a folder");
    if !make_certificates(folder.path()) {
        tool_core::testing::skip("there is no openssl");
        return;
    }
    let server = Server::start([Answer::events(&text(Provider::OpenAiChat, "Hello"))]).await;
    let url = serve_tls(folder.path(), &server).await;
    let model = || {
        HttpModel::new(Provider::OpenAiChat, "m")
            .base_url(&url)
            .api_key("sk-1")
            .retry(quick())
    };

    let error = AgentLoop::new(session().await.0, model())
        .prompt("Hi")
        .await
        .error;
    let error = error.expect("the certificate is not known");
    assert!(error.message.contains("certificate"), "{error}");

    let pem = std::fs::read(folder.path().join("ca.pem")).expect("a file");
    let authority = reqwest::Certificate::from_pem(&pem).expect("a certificate");
    let client = client_builder().tls_certs_only([authority]);
    let model = model().client(client.build().expect("a client"));
    let reply = AgentLoop::new(session().await.0, model).prompt("Hi").await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
}
