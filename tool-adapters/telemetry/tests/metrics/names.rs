//! Access by `Host`, `Origin` and method (RUSTSEC-2026-0189). Refused requests reveal nothing.

use super::support::{ask, request, runtime, serving};
use tool_adapters::telemetry::prometheus;

const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE",
];
const PATHS: [&str; 2] = ["/metrics", "/metrics.json"];

fn hosts(port: u16) -> Vec<(String, bool)> {
    let good = ["localhost", "127.0.0.1", "[::1]"];
    let bad = [
        "evil.example",
        "localhost.evil.example",
        "user@localhost",
        "0.0.0.0",
        "127.0.0.1.nip.io",
        "2130706433",
        "",
    ];
    let good = good
        .iter()
        .flat_map(|host| [((*host).to_owned(), true), (format!("{host}:{port}"), true)]);
    good.chain(bad.iter().map(|host| ((*host).to_owned(), false)))
        .collect()
}

const ORIGINS: [(Option<&str>, bool); 7] = [
    (None, true),
    (Some("http://localhost:3000"), true),
    (Some("https://127.0.0.1"), true),
    (Some("null"), false),
    (Some("http://evil.example"), false),
    (Some("http://localhost@evil.example"), false),
    (Some(""), false),
];

// T15
#[tokio::test]
async fn only_known_hosts_and_origins_are_told_and_only_by_get() {
    let address = serving(prometheus::router(&runtime().await)).await;
    let mut looked_at = 0;
    for (host, host_known) in hosts(address.port()) {
        for (origin, origin_known) in ORIGINS {
            for method in METHODS {
                for path in PATHS {
                    let host = format!("host: {host}");
                    let origin = origin.map(|origin| format!("origin: {origin}"));
                    let more = std::iter::once(&host)
                        .chain(&origin)
                        .map(String::as_str)
                        .collect::<Vec<_>>();
                    let answer = ask(address, &request(method, path, &more)).await;
                    let allowed = host_known && origin_known;
                    let expected = match method {
                        // An empty `Host` is refused before it comes to us.
                        _ if !allowed => matches!(answer.status, 400 | 403),
                        "GET" | "HEAD" => answer.status == 200,
                        _ => answer.status == 405,
                    };
                    assert!(
                        expected,
                        "{method} {path} {host:?} {origin:?}: {}",
                        answer.status
                    );
                    let is_served = answer.body.contains("echo");
                    assert_eq!(
                        is_served,
                        allowed && method == "GET",
                        "{method} {path} {host:?} {origin:?}"
                    );
                    assert!(
                        !answer.head.contains("access-control-allow"),
                        "{}",
                        answer.head
                    );
                    looked_at += 1;
                }
            }
        }
    }
    assert_eq!(looked_at, 13 * 7 * 8 * 2);
}

// T15
#[tokio::test]
async fn a_second_host_or_another_in_the_address_is_refused() {
    let address = serving(prometheus::router(&runtime().await)).await;
    for (target, more) in [
        ("/metrics", &["host: localhost", "host: evil.example"][..]),
        (
            "/metrics",
            &[
                "host: localhost",
                "origin: http://localhost:1",
                "origin: http://evil.example",
            ],
        ),
        ("http://evil.example/metrics", &["host: localhost"]),
        ("/metrics", &[]),
    ] {
        let answer = ask(address, &request("GET", target, more)).await;
        assert!(
            matches!(answer.status, 400 | 403),
            "{target} {more:?}: {}",
            answer.status
        );
        assert!(!answer.body.contains("echo"));
    }
}

// T15
#[tokio::test]
async fn names_of_ones_own_take_the_place_of_the_local_ones() {
    let router = prometheus::router(&runtime().await)
        .allow_hosts(["metrics.example"])
        .allow_origins(["https://app.example"]);
    let address = serving(router).await;
    let status = async |host: &str, origin: &str| {
        let (host, origin) = (format!("host: {host}"), format!("origin: {origin}"));
        ask(address, &request("GET", "/metrics", &[&host, &origin]))
            .await
            .status
    };
    assert_eq!(status("metrics.example", "https://app.example").await, 200);
    assert_eq!(
        status("metrics.example:9464", "https://app.example").await,
        200
    );
    assert_eq!(status("localhost", "https://app.example").await, 403);
    assert_eq!(status("metrics.example", "http://localhost:1").await, 403);
}

#[tokio::test]
async fn an_address_that_others_can_reach_needs_names() {
    let runtime = runtime().await;
    let everywhere = || ([0, 0, 0, 0], 0).into();
    let error = prometheus::router(&runtime)
        .allow_anonymous(true)
        .bind(everywhere())
        .await
        .expect_err("refused");
    assert!(error.to_string().contains("allow_hosts"), "{error}");
    prometheus::router(&runtime)
        .allow_anonymous(true)
        .allow_hosts(["metrics.example"])
        .bind(everywhere())
        .await
        .expect("with names it is");
}

#[tokio::test]
async fn it_is_a_part_of_an_applications_own_router() {
    let own = axum::Router::new().route("/", axum::routing::get(async || "mine"));
    let app = own.merge(prometheus::router(&runtime().await));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("an address");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    // The application's own pages are its own.
    let foreign = ["host: app.example"];
    assert_eq!(
        ask(address, &request("GET", "/", &foreign)).await.body,
        "mine"
    );
    assert_eq!(
        ask(address, &request("GET", "/metrics", &foreign))
            .await
            .status,
        403
    );
    assert_eq!(
        ask(address, &request("GET", "/metrics", &["host: localhost"]))
            .await
            .status,
        200
    );
}
