//! Who may read the page and its data.

use crate::support::{TOKEN, runtime, served, served_with};
use tool_adapters::inspector::Inspector;

const PATHS: [(&str, &str); 17] = [
    ("GET", "/api/overview"),
    ("GET", "/api/tools"),
    ("GET", "/api/tools/search"),
    ("POST", "/api/tools/search/declarations/openai-chat"),
    ("POST", "/api/call"),
    ("GET", "/api/sessions"),
    ("POST", "/api/sessions"),
    ("GET", "/api/sessions/s"),
    ("DELETE", "/api/sessions/s"),
    ("POST", "/api/sessions/s/turn"),
    ("POST", "/api/sessions/s/mode"),
    ("GET", "/api/sessions/s/messages"),
    ("POST", "/api/sessions/s/messages"),
    ("GET", "/api/approvals"),
    ("POST", "/api/approvals/x/approve"),
    ("GET", "/api/metrics"),
    ("GET", "/api/events/0"),
];

#[tokio::test]
async fn data_needs_exactly_the_token() {
    let served = served().await;
    let host = format!("host: {}", served.address);
    for (method, path) in PATHS {
        let line = format!("{method} {path} HTTP/1.1");
        assert_eq!(
            served.raw(&[&line, &host], "").await.status,
            401,
            "{method} {path} without a token"
        );
        for token in [
            "",
            "wrong-wrong-wrong-wrong",
            &TOKEN[1..],
            &format!("{TOKEN}x"),
        ] {
            let authorization = format!("authorization: Bearer {token}");
            let answer = served.raw(&[&line, &host, &authorization], "").await;
            assert_eq!(answer.status, 401, "{method} {path} with `{token}`");
        }
    }
}

#[tokio::test]
async fn a_token_in_the_address_is_not_enough() {
    let served = served().await;
    let line = format!("GET /api/tools?token={TOKEN} HTTP/1.1");
    assert_eq!(
        served
            .raw(&[&line, &format!("host: {}", served.address)], "")
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn foreign_hosts_are_refused() {
    let served = served().await;
    let token = format!("authorization: Bearer {TOKEN}");
    for path in ["/", "/inspector.js", "/inspector.css", "/api/tools"] {
        let line = format!("GET {path} HTTP/1.1");
        for host in [
            "attacker.example",
            "127.0.0.1.attacker.example",
            "192.0.2.1",
        ] {
            let answer = served
                .raw(&[&line, &format!("host: {host}"), &token], "")
                .await;
            assert_eq!(answer.status, 403, "{path} for {host}");
        }
        assert_eq!(
            served.raw(&[&line, &token], "").await.status,
            403,
            "{path} without a host"
        );
    }
}

#[tokio::test]
async fn foreign_origins_are_refused() {
    let served = served().await;
    let (host, token) = (
        format!("host: {}", served.address),
        format!("authorization: Bearer {TOKEN}"),
    );
    for (method, path) in PATHS {
        let line = format!("{method} {path} HTTP/1.1");
        for origin in [
            "https://attacker.example",
            "null",
            "http://127.0.0.1.attacker.example",
        ] {
            let answer = served
                .raw(&[&line, &host, &token, &format!("origin: {origin}")], "")
                .await;
            assert_eq!(answer.status, 403, "{method} {path} from {origin}");
        }
    }
    let own = format!("origin: http://{}", served.address);
    assert_eq!(
        served
            .raw(&["GET /api/tools HTTP/1.1", &host, &token, &own], "")
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn the_page_has_a_policy_and_no_data() {
    let served = served().await;
    let host = format!("host: {}", served.address);
    let mut files = vec![
        "/".to_owned(),
        "/inspector.css".to_owned(),
        "/inspector.js".to_owned(),
    ];
    let mut looked = 0;
    while let Some(path) = files.get(looked).cloned() {
        looked += 1;
        let answer = served
            .raw(&[&format!("GET {path} HTTP/1.1"), &host], "")
            .await;
        assert_eq!(answer.status, 200, "{path}");
        for file in imports(&answer.body) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let content_type = content_type(&path);
        assert!(
            answer
                .head
                .contains(&format!("content-type: {content_type}")),
            "{}",
            answer.head
        );
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "trusted-types 'none'",
        ] {
            assert!(answer.head.contains(rule), "{path}: {rule}");
        }
        assert!(
            !answer.head.contains("unsafe") && !answer.head.contains("access-control"),
            "{}",
            answer.head
        );
        assert!(!answer.body.contains("hang_up"), "{path}");
    }
    let scripts =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/page")).expect("a folder");
    assert_eq!(
        looked,
        scripts.count(),
        "each file of the page is served and imported: {files:?}"
    );
}

/// Returns the paths of the modules that a script imports.
fn imports(script: &str) -> Vec<String> {
    let quoted = script
        .split("from \"./")
        .skip(1)
        .filter_map(|rest| rest.split_once('"'));
    quoted.map(|(file, _)| format!("/{file}")).collect()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.') {
        Some((_, "css")) => "text/css",
        Some((_, "js")) => "text/javascript",
        _ => "text/html",
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_refused() {
    let served = served().await;
    assert_eq!(served.send("PUT", "/api/call", "{}").await.status, 405);
    assert_eq!(served.send("GET", "/api/call", "").await.status, 405);
    assert_eq!(served.send("GET", "/api/secret", "").await.status, 404);
}

#[tokio::test]
async fn other_machines_need_named_hosts() {
    let error = Inspector::new(&runtime())
        .bind(([0, 0, 0, 0], 0).into())
        .await
        .expect_err("no hosts");
    assert!(error.to_string().contains("allow_hosts"), "{error}");
    let bound = Inspector::new(&runtime())
        .allow_hosts(["tools.example"])
        .bind(([0, 0, 0, 0], 0).into())
        .await;
    assert!(bound.is_ok(), "the random token is there");
}

#[tokio::test]
async fn named_hosts_and_origins_replace_the_loopback_names() {
    let served = served_with(|inspector| {
        inspector
            .allow_hosts(["tools.example"])
            .allow_origins(["https://tools.example"])
    });
    let (served, token) = (served.await, format!("authorization: Bearer {TOKEN}"));
    let ask = async |host: &str, origin: &str| {
        let (host, origin) = (format!("host: {host}"), format!("origin: {origin}"));
        served
            .raw(&["GET /api/tools HTTP/1.1", &host, &origin, &token], "")
            .await
            .status
    };
    assert_eq!(ask("tools.example", "https://tools.example").await, 200);
    assert_eq!(ask("tools.example", "http://localhost").await, 403);
    assert_eq!(ask("localhost", "https://tools.example").await, 403);
}

#[tokio::test]
async fn a_text_that_is_no_token_binds_nothing() {
    let error = Inspector::new(&runtime())
        .token("short")
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect_err("short");
    assert!(
        error.to_string().contains("16 visible ASCII characters"),
        "{error}"
    );
}

#[tokio::test]
async fn the_address_has_a_random_token() {
    let mut addresses = Vec::new();
    for _ in 0..2 {
        let bound = Inspector::new(&runtime())
            .bind(([127, 0, 0, 1], 0).into())
            .await
            .expect("an address");
        let url = bound.url().expect("an address");
        let (_, token) = url.split_once("/#token=").expect("a token");
        assert!(
            token.len() == 48 && token.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{token}"
        );
        addresses.push(token.to_owned());
    }
    assert_ne!(addresses[0], addresses[1]);
}

#[tokio::test]
async fn debug_shows_no_token() {
    let inspector = Inspector::new(&runtime()).token(TOKEN);
    assert!(!format!("{inspector:?}").contains(TOKEN));
    let bound = inspector
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    assert!(!format!("{bound:?}").contains(TOKEN), "{bound:?}");
}

#[tokio::test]
async fn bodies_over_the_cap_are_refused() {
    let served = served().await;
    let long = format!(
        r#"{{"tool": "search", "arguments": "{}"}}"#,
        "x".repeat(2 << 20)
    );
    let answer = served.send("POST", "/api/call", &long).await;
    assert!(
        answer.error(413).contains("2097152 bytes"),
        "{}",
        answer.body
    );
    let fits = format!(
        r#"{{"tool": "search", "arguments": "{}"}}"#,
        "x".repeat(1 << 20)
    );
    assert_eq!(served.send("POST", "/api/call", &fits).await.status, 200);
}

#[tokio::test]
async fn bodies_of_another_form_are_refused() {
    let served = served().await;
    for body in ["", "{", "[]", r#"{"tool": 1}"#] {
        let answer = served.send("POST", "/api/call", body).await;
        assert!(
            answer
                .error(400)
                .starts_with("expected another JSON document"),
            "{}",
            answer.body
        );
    }
}
