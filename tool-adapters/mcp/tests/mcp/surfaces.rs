//! The bearer token of every HTTP surface: metrics, the MCP server, and the command line that serves it.

use super::guard::{BEGIN, METHODS, head, status};
use super::support::server;
use axum::Router;
use std::io::Write;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tool_adapters::cli::{CommandIo, CommandStatus, run};
use tool_adapters::telemetry::prometheus;
use tool_core::{Runtime, ToolContext};

/// The command line reads the token from a variable, and cargo sets this one.
const VARIABLE: &str = "CARGO_MANIFEST_DIR";
const TOKEN: &str = env!("CARGO_MANIFEST_DIR");

fn runtime() -> Runtime {
    Runtime::builder(ToolContext::builder().build().expect("sound"))
        .build()
        .expect("sound")
}

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// The error stream of a command, by line.
struct Lines(UnboundedSender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn command(arguments: &[&str], errors: &mut dyn Write) -> CommandStatus {
    let tools = ToolContext::builder().build().expect("sound");
    let arguments = [&["tools", "serve", "--mcp", "http"], arguments].concat();
    let (mut input, mut output) = (&b""[..], Vec::new());
    run(
        arguments,
        &tools,
        &mut CommandIo::new(&mut input, &mut output, errors),
    )
    .await
}

/// Sends every combination to a surface, and returns their number.
async fn attack(address: SocketAddr, path: &str) -> usize {
    let short = &TOKEN[..TOKEN.len() - 1];
    let authorizations = [
        vec![],
        vec![String::new()],
        vec!["Bearer".to_owned()],
        vec!["Bearer ".to_owned()],
        vec![format!("Bearer {short}")],
        vec![format!("Bearer {TOKEN}x")],
        vec![format!("Bearer {}", TOKEN.to_uppercase())],
        vec![format!("Basic {TOKEN}")],
        vec![TOKEN.to_owned()],
        vec![format!("Bearer {TOKEN}"), "Bearer x".to_owned()],
        vec!["Bearer null".to_owned()],
    ];
    let mut sent = 0;
    for host in ["localhost", "127.0.0.1", "[::1]", "evil.example"] {
        for origin in [
            None,
            Some("http://localhost:1"),
            Some("http://evil.example"),
        ] {
            for method in METHODS {
                for authorization in &authorizations {
                    let mut more = vec![format!("host: {host}")];
                    more.extend(origin.map(|origin| format!("origin: {origin}")));
                    more.extend(
                        authorization
                            .iter()
                            .map(|value| format!("authorization: {value}")),
                    );
                    let body = if method == "POST" { BEGIN } else { "" };
                    let target = format!("{path}?access_token={TOKEN}");
                    let status = status(address, &head(method, &target, &more), body).await;
                    let is_known = host != "evil.example" && origin != Some("http://evil.example");
                    let expected = if is_known { 401 } else { 403 };
                    assert_eq!(status, expected, "{method} {path} {more:?}");
                    sent += 1;
                }
            }
        }
    }
    let method = if path.starts_with("/mcp") {
        "POST"
    } else {
        "GET"
    };
    let body = if method == "POST" { BEGIN } else { "" };
    let more = [
        "host: localhost".to_owned(),
        format!("authorization: Bearer {TOKEN}"),
    ];
    assert_eq!(
        status(address, &head(method, path, &more), body).await,
        200,
        "{path}"
    );
    sent
}

// T15, T21
#[tokio::test]
async fn no_surface_serves_a_request_without_the_token() {
    let metrics = || prometheus::router(&runtime()).bearer_token(TOKEN);
    let bound = metrics()
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("binds");
    let metrics_alone = bound.address().expect("an address");
    tokio::spawn(bound.serve());
    let server = server().bearer_token(TOKEN);
    let bound = server
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("binds");
    let mcp_alone = bound.address().expect("an address");
    tokio::spawn(bound.serve());
    let merged = serve(Router::new().merge(metrics()).merge(server.router())).await;

    let mut sent = 0;
    for (address, path) in [
        (metrics_alone, "/metrics"),
        (metrics_alone, "/metrics.json"),
        (mcp_alone, "/mcp"),
        (merged, "/metrics"),
        (merged, "/mcp"),
    ] {
        sent += attack(address, path).await;
    }
    let (lines, mut noted) = unbounded_channel();
    let mut errors = Lines(lines);
    tokio::select! {
        status = command(&["--address", "127.0.0.1:0", "--token-env", VARIABLE], &mut errors) => panic!("{status:?}"),
        count = async {
            let line = noted.recv().await.expect("a line");
            let url = line.trim().strip_prefix("listening on http://").expect("the address");
            attack(url.strip_suffix("/mcp").expect("a path").parse().expect("an address"), "/mcp").await
        } => sent += count,
    }
    assert_eq!(sent, 6 * 4 * 3 * 8 * 11);
}

#[tokio::test]
async fn a_public_address_needs_a_token_or_an_explicit_setting() {
    let metrics = || prometheus::router(&runtime());
    for address in ["0.0.0.0:0", "[::]:0", "[::ffff:127.0.0.1]:0"]
        .map(|address| address.parse::<SocketAddr>().expect("one"))
    {
        for error in [
            metrics().bind(address).await.expect_err("refused"),
            server().bind(address).await.expect_err("refused"),
        ] {
            let text = error.to_string();
            assert!(
                ["allow_hosts", "bearer_token", "allow_anonymous"]
                    .iter()
                    .all(|fix| text.contains(fix)),
                "{text}"
            );
        }
        let named = [
            metrics()
                .allow_hosts(["metrics.example"])
                .bind(address)
                .await
                .expect_err("refused"),
            server()
                .allow_hosts(["tools.example"])
                .bind(address)
                .await
                .expect_err("refused"),
        ];
        for error in named.map(|error| error.to_string()) {
            assert!(
                error.contains("bearer_token") && !error.contains("allow_hosts"),
                "{error}"
            );
        }
    }
    let everywhere = || ([0, 0, 0, 0], 0).into();
    let named = || metrics().allow_hosts(["metrics.example"]);
    named()
        .bearer_token(TOKEN)
        .bind(everywhere())
        .await
        .expect("allowed");
    named()
        .allow_anonymous(true)
        .bind(everywhere())
        .await
        .expect("allowed");
    let named = || server().allow_hosts(["tools.example"]);
    named()
        .bearer_token(TOKEN)
        .bind(everywhere())
        .await
        .expect("allowed");
    named()
        .allow_anonymous(true)
        .bind(everywhere())
        .await
        .expect("allowed");
    named()
        .principal(|_| None)
        .bind(everywhere())
        .await
        .expect("allowed");
    // A token that no client can send is a mistake, also on this machine.
    for token in ["", "short", "with a space in the middle"] {
        let error = metrics()
            .bearer_token(token)
            .bind(([127, 0, 0, 1], 0).into())
            .await
            .expect_err("refused");
        assert!(error.to_string().contains("at least 16"), "{error}");
    }
}

#[tokio::test]
async fn a_refused_address_names_the_checks_that_the_server_has() {
    let everywhere = || ([0, 0, 0, 0], 0).into();
    let mcp = server()
        .bind(everywhere())
        .await
        .expect_err("refused")
        .to_string();
    assert!(
        mcp.contains("set `bearer_token` or `principal`, or `allow_anonymous(true)`"),
        "{mcp}"
    );
    let metrics = prometheus::router(&runtime())
        .bind(everywhere())
        .await
        .expect_err("refused")
        .to_string();
    assert!(
        metrics.contains("set `bearer_token`, or `allow_anonymous(true)`"),
        "{metrics}"
    );
}

#[tokio::test]
async fn the_command_line_says_what_a_public_address_needs() {
    let address = ["--address", "0.0.0.0:0"];
    for (more, expected) in [
        (&[][..], "--token-env"),
        (&["--allow-host", "tools.example"], "--token-env"),
        (&["--allow-anonymous"], "--allow-host"),
        (
            &[
                "--allow-host",
                "tools.example",
                "--token-env",
                "NO_SUCH_VARIABLE_IS_SET",
            ],
            "NO_SUCH_VARIABLE_IS_SET",
        ),
    ] {
        let mut errors = Vec::new();
        let status = command(&[&address, more].concat(), &mut errors).await;
        let text = String::from_utf8(errors).expect("text");
        assert!(
            status != CommandStatus::Success && text.contains(expected),
            "{more:?}: {text}"
        );
    }
}
