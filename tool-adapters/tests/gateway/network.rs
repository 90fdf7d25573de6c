//! The way to servers with a `url`: proxies and certificates.

use crate::support::Folder;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;

/// Returns the first line of the first request that a proxy gets, after `--check` of a server at `mcp.example`.
fn proxied(policy: impl Fn(&str) -> String, variable: Option<&str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let proxy = format!("http://user:pass@{}", listener.local_addr().expect("an address"));
    let folder = Folder::new(&policy(&proxy));
    folder.servers(&json!({"web": {"url": "http://mcp.example/mcp"}}));
    let reading = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let head = BufReader::new(stream.try_clone().expect("a copy")).lines().map_while(Result::ok);
        let head = head.take_while(|line| !line.is_empty()).collect::<Vec<_>>();
        stream.write_all(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").expect("written");
        assert!(head.iter().any(|line| line.to_lowercase().starts_with("proxy-authorization: basic ")), "{head:?}");
        head[0].clone()
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
    command.arg("--config").arg(folder.path("mcp.json")).arg("--policy").arg(folder.path("policy.toml")).arg("--check");
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"] {
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
    let folder = Folder::new("[network]\nproxy = 'http://127.0.0.1:1'\n[egress]\nhosts = ['*.example']");
    for url in ["http://10.1.2.3/mcp", "http://169.254.169.254/mcp", "https://other.test/mcp"] {
        folder.servers(&json!({"web": {"url": url}}));
        Gateway::open(folder.files()).await.expect_err(url);
    }
}

#[tokio::test]
async fn the_settings_of_the_way_are_checked() {
    use tool_adapters::gateway::Gateway;
    let folder = Folder::new("[network]\nproxy = 'ftp://x'\nca_file = 'ca.pem'\nno_prox = []");
    let error = Gateway::open(folder.files()).await.expect_err("problems").to_string();
    for text in ["network.proxy: expected the address of a proxy", "network.ca_file: ", "did you mean `no_proxy`?"] {
        assert!(error.contains(text), "{error}");
    }
    folder.write("ca.pem", "no certificate");
    folder.policy("[network]\nca_file = 'ca.pem'");
    let error = Gateway::open(folder.files()).await.expect_err("problems").to_string();
    assert!(error.contains("expected certificates in PEM"), "{error}");
}
