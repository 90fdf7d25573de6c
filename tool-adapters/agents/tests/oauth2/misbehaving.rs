//! An authorisation server in this process. The code or the refresh token selects its misbehaviour.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri};
use axum::routing::{get, post};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tool_core::serde_json::{Value, json};

/// The requests that reached the target of a redirect.
pub(crate) static STOLEN: AtomicU32 = AtomicU32::new(0);

static REQUESTS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// Returns how often a refresh token was sent.
pub(crate) fn requests(refresh: &str) -> usize {
    REQUESTS
        .lock()
        .expect("sound")
        .get(refresh)
        .copied()
        .unwrap_or_default()
}

/// The URL of a service that accepts fresh tokens.
pub(crate) fn service() -> String {
    format!("{}/service", base())
}

async fn serve(headers: HeaderMap) -> StatusCode {
    let is_fresh = headers
        .get(AUTHORIZATION)
        .is_some_and(|token| token == "Bearer fresh");
    if is_fresh {
        StatusCode::OK
    } else {
        StatusCode::UNAUTHORIZED
    }
}

/// Its address; it serves for as long as the process lives.
pub(crate) fn base() -> &'static str {
    static BASE: OnceLock<String> = OnceLock::new();
    BASE.get_or_init(|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let router = Router::new()
                    .route("/token", post(token))
                    .route("/stolen", post(stolen).get(stolen));
                let router = router
                    .route("/", get(|| async { "here" }))
                    .route("/service", get(serve));
                axum::serve(listener, router).await.expect("serves");
            });
        });
        base
    })
}

/// With queries, as some providers have them.
pub(crate) fn auth_url() -> String {
    format!("{}/auth?tenant=7", base())
}

pub(crate) fn token_url() -> String {
    format!("{}/token?tenant=7", base())
}

async fn stolen() -> &'static str {
    STOLEN.fetch_add(1, Ordering::SeqCst);
    r#"{"access_token": "stolen", "token_type": "bearer"}"#
}

fn later(mut response: Response<Body>) -> Response<Body> {
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("3600"));
    response
}

fn answer(status: u16, kind: &str, body: impl Into<Body>) -> Response<Body> {
    Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(body.into())
        .expect("an answer")
}

async fn token(uri: Uri, body: Bytes) -> Response<Body> {
    let body = String::from_utf8_lossy(&body).into_owned();
    let given = |name: &str| {
        body.split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
            .map(str::to_owned)
    };
    let behaviour = given("refresh_token")
        .or_else(|| given("code"))
        .unwrap_or_default();
    *REQUESTS
        .lock()
        .expect("sound")
        .entry(behaviour.clone())
        .or_default() += 1;
    let json = |status, value: Value| answer(status, "application/json", value.to_string());
    if uri.query() != Some("tenant=7") {
        return json(
            400,
            json!({"error": "invalid_request", "error_description": "the query is lost"}),
        );
    }
    let tokens = json!({"access_token": "fine", "token_type": "Bearer", "expires_in": 60, "refresh_token": "next"});
    match behaviour.as_str() {
        revoked if revoked.starts_with("revoked-") => json(400, json!({"error": "invalid_grant"})),
        "later-429" => later(json(429, json!({"error": "rate"}))),
        "later-503" => later(json(503, json!({"error": "down"}))),
        good if good.starts_with("good-") => json(
            200,
            json!({"access_token": "fresh", "token_type": "bearer", "expires_in": 3600}),
        ),
        useless if useless.starts_with("useless-") => json(
            200,
            json!({"access_token": "useless", "token_type": "bearer", "expires_in": 3600}),
        ),
        "slow" => {
            tokio::time::sleep(Duration::from_secs(2 * 60)).await;
            json(200, tokens)
        }
        "500" => answer(500, "text/html", "<h1>Internal Server Error</h1> secret"),
        "503-json" => json(503, json!({"error": "invalid_grant"})),
        "429" => json(429, json!({"error": "rate"})),
        "malformed" => answer(200, "application/json", r#"{"access_token": "secret"#),
        "html" => answer(200, "text/html", "<p>Sign in: secret</p>"),
        "html-400" => answer(400, "text/html", "<p>secret</p>"),
        "list" => answer(200, "application/json", r#"["secret"]"#),
        "number" => answer(
            200,
            "application/json",
            r#"{"access_token": 12345678, "token_type": "bearer"}"#,
        ),
        "nothing" => answer(200, "application/json", ""),
        "empty" => json(200, json!({"access_token": "", "token_type": "bearer"})),
        "huge" => answer(
            200,
            "application/json",
            format!(r#"{{"access_token": "{}"}}"#, "s".repeat(1 << 20)),
        ),
        "endless" => {
            let chunks = futures_util::stream::repeat_with(|| {
                Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 16384]))
            });
            answer(200, "application/json", Body::from_stream(chunks))
        }
        "redirect" => Response::builder()
            .status(307)
            .header("location", "/stolen")
            .body(Body::empty())
            .expect("made"),
        "redirect-get" => Response::builder()
            .status(302)
            .header("location", format!("{}/stolen", base()))
            .body(Body::empty())
            .expect("made"),
        "github" => json(
            200,
            json!({"error": "bad_refresh_token", "error_description": "The token is not good."}),
        ),
        "lax" => json(
            201,
            json!({"access_token": "lax", "expires_in": "3600", "refresh_token": null, "scope": "a b"}),
        ),
        "forever" => json(
            200,
            json!({"access_token": "old", "token_type": "x", "expires_in": u64::MAX}),
        ),
        "fraction" => json(
            200,
            json!({"access_token": "f", "token_type": "bearer", "expires_in": 59.9}),
        ),
        "echo" => json(
            400,
            json!({"error": "invalid_request", "error_description": format!("no {behaviour} here\u{1b}[2J")}),
        ),
        "echo-secret-9f8e7d" => json(
            400,
            json!({"error": "invalid_grant", "error_description": format!("bad {behaviour}")}),
        ),
        "busy" => json(400, json!({"error": "temporarily_unavailable"})),
        _ => json(200, tokens),
    }
}
