//! Headers and tokens of a client over HTTP.

use super::http::serve;
use super::support::{run_alone, server};
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_adapters::mcp::{ImportError, McpClient, Pins};
use tool_core::{ErrorKind, RunContext, ToolContext};
use tracing_subscriber::fmt::MakeWriter;

/// Serves requests with a function, and returns the URL.
async fn answering(answer: impl Fn(Request) -> Response + Clone + Send + Sync + 'static) -> String {
    let app = Router::new().fallback(move |request: Request| {
        let response = answer(request);
        async move { response }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("an address");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let (valid, refusals) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let url = serve(&server().principal({
        let (valid, refusals) = (Arc::clone(&valid), Arc::clone(&refusals));
        move |parts| {
            let wanted = format!("Bearer token-{}", valid.load(Ordering::Relaxed));
            let is_valid = parts
                .headers
                .get("authorization")
                .is_some_and(|token| token.as_bytes() == wanted.as_bytes());
            refusals.fetch_add(usize::from(!is_valid), Ordering::Relaxed);
            is_valid.then(|| "alice".to_owned())
        }
    }))
    .await;
    let kept = Arc::new(Mutex::new("token-0".to_owned()));
    let provide = {
        let valid = Arc::clone(&valid);
        move |refused: Option<String>| {
            let (valid, kept) = (Arc::clone(&valid), Arc::clone(&kept));
            async move {
                let mut kept = kept.lock().expect("no panic");
                if refused.as_ref() == Some(&*kept) {
                    *kept = format!("token-{}", valid.load(Ordering::Relaxed));
                }
                Ok::<_, std::io::Error>(kept.clone())
            }
        }
    };
    let imported = McpClient::url(&url)
        .bearer_from(provide)
        .connect()
        .await
        .expect("an import");
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("tools");
    for round in 1..=200 {
        valid.store(round, Ordering::Relaxed);
        let sum = tools
            .call("add", json!({"a": round, "b": 1}), &RunContext::detached())
            .await;
        assert_eq!(
            sum.data_json(),
            Some(&*json!({"result": round + 1}).to_string()),
            "{sum:?}"
        );
    }
    // The stream of notifications may have been refused once more, while a token changed.
    let refused = refusals.load(Ordering::Relaxed);
    assert!((200..=210).contains(&refused), "{refused}");
}

// G5
#[tokio::test]
async fn a_call_without_a_token_did_not_begin() {
    let url = serve(&server()).await;
    let has_ended = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&has_ended);
    let provide = move |_: Option<String>| {
        let token = if own.load(Ordering::Relaxed) {
            Err(std::io::Error::other("no token"))
        } else {
            Ok("token-0".to_owned())
        };
        std::future::ready(token)
    };
    let client = McpClient::url(&url).bearer_from(provide);
    let imported = client.connect().await.expect("an import");
    let tools = ToolContext::builder().with(imported).build();
    let tools = tools.expect("tools");
    has_ended.store(true, Ordering::Relaxed);

    // It is not idempotent by the word of its server.
    let arguments = json!({"a": 1, "b": 2});
    let response = tools.call("sum", arguments, &RunContext::detached()).await;
    let error = response.error().expect("an error");
    assert_eq!(error.kind, ErrorKind::Transient, "{error:?}");
    assert!(error.message.contains("was not sent"), "{error:?}");
}

#[tokio::test]
async fn a_token_that_stays_wrong_is_sent_twice() {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let url = answering(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        StatusCode::UNAUTHORIZED.into_response()
    })
    .await;
    let asked = Arc::new(AtomicUsize::new(0));
    let provide = {
        let asked = Arc::clone(&asked);
        move |_| {
            let token = format!("token-{}", asked.fetch_add(1, Ordering::Relaxed));
            async move { Ok::<_, std::io::Error>(token) }
        }
    };
    let refused = McpClient::url(&url).bearer_from(provide).connect().await;
    assert!(
        matches!(refused, Err(ImportError::Connection(_))),
        "{refused:?}"
    );
    assert_eq!(
        (
            requests.load(Ordering::Relaxed),
            asked.load(Ordering::Relaxed)
        ),
        (2, 2)
    );
    requests.store(0, Ordering::Relaxed);
    McpClient::url(&url)
        .bearer("fixed-token")
        .connect()
        .await
        .expect_err("refused");
    assert_eq!(
        requests.load(Ordering::Relaxed),
        1,
        "a fixed token is not sent again"
    );
}

#[derive(Clone, Default)]
pub(crate) struct Logs(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logs {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Answers with all that the request had, in each way in which a client may show it.
fn echo(request: &Request) -> Response {
    let said = format!("{} {:?}", request.uri(), request.headers());
    let said = said.replace(|c: char| !c.is_ascii() || c.is_ascii_control(), "?");
    let way = request
        .headers()
        .get("x-way")
        .and_then(|way| way.to_str().ok())
        .unwrap_or_default();
    let challenge = [(
        header::WWW_AUTHENTICATE,
        format!("Bearer error=\"{}\"", said.replace('"', "'")),
    )];
    let error =
        json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -1, "message": said}}).to_string();
    let json = [(header::CONTENT_TYPE, "application/json")];
    match way {
        "challenge" => (StatusCode::UNAUTHORIZED, challenge, said).into_response(),
        "scope" => (StatusCode::FORBIDDEN, challenge, said).into_response(),
        "plain" => (StatusCode::UNAUTHORIZED, said).into_response(),
        "bad" => (StatusCode::BAD_REQUEST, said).into_response(),
        "error" => (StatusCode::OK, json, error).into_response(),
        "not json" => (StatusCode::OK, json, said).into_response(),
        "type" => ([(header::CONTENT_TYPE, said.replace(['{', '}'], ""))], "x").into_response(),
        "redirect" => (
            StatusCode::TEMPORARY_REDIRECT,
            [(
                header::LOCATION,
                format!("http://127.0.0.1:9{}", request.uri()),
            )],
        )
            .into_response(),
        "server" => (StatusCode::INTERNAL_SERVER_ERROR, said).into_response(),
        _ => (StatusCode::NOT_FOUND, said).into_response(),
    }
}

#[test]
fn keys_appear_in_no_error_and_no_log() {
    run_alone("credentials::a_thousand_failures_show_no_key");
}

#[tokio::test]
#[ignore = "the other test runs it in a process of its own"]
async fn a_thousand_failures_show_no_key() {
    let url = answering(|request| echo(&request)).await;
    let logs = Logs::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(logs.clone())
        .with_max_level(tracing::Level::TRACE);
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let address = url.trim_start_matches("http://");
    let ways = [
        "challenge",
        "scope",
        "plain",
        "bad",
        "error",
        "not json",
        "type",
        "redirect",
        "server",
        "missing",
    ];
    let (mut shown, mut tried, mut repeated) = (Vec::new(), 0, 0);
    for at in 0..100 {
        for way in ways {
            let key = |kind: &str| format!("canary-{kind}-{at:09}");
            let url = format!(
                "http://{}:{}@{address}/s/{}/mcp?key={}",
                key("user"),
                key("password"),
                key("segment"),
                key("query")
            );
            let client = McpClient::url(url)
                .header("x-way", way)
                .header("x-api-key", key("header"));
            let token = key("token");
            let client = if at % 2 == 0 {
                client.bearer(token)
            } else {
                client.bearer_from(move |_| {
                    let token = token.clone();
                    async move { Ok::<_, std::io::Error>(token) }
                })
            };
            shown.push(format!("{client:?}"));
            let error = client
                .timeout(Duration::from_secs(10))
                .connect()
                .await
                .expect_err("no server");
            shown.push(format!("{error} {error:?}"));
            repeated += usize::from(error.to_string().contains("[key]"));
            let mut source = std::error::Error::source(&error);
            while let Some(error) = source {
                shown.push(format!("{error} {error:?}"));
                source = error.source();
            }
            tried += 1;
        }
    }
    assert_eq!(tried, 1_000);
    let shown = shown.join("\n");
    let logs = String::from_utf8_lossy(&logs.0.lock().expect("no panic")).into_owned();
    assert!(logs.len() > 1_000);
    // The beginning of `canary-user-` in base64, as the user of a URL becomes a header.
    let keys = ["canary", "Y2FuYXJ5LXVzZXIt"];
    for (sink, text) in [("errors", &shown), ("logs", &logs)] {
        let found = text
            .lines()
            .find(|line| keys.iter().any(|key| line.contains(key)));
        assert_eq!(found, None, "{sink}");
    }
    // What the server repeats reaches the errors, so that there was something to mask.
    assert!(repeated >= 400, "{repeated}");
}

// B8
#[tokio::test]
async fn keys_are_not_sent_unencrypted_to_other_machines() {
    let with_key = |way: usize, host: &str| match way {
        0 => McpClient::url(format!("http://{host}/mcp")).bearer("canary-token"),
        1 => McpClient::url(format!("http://{host}/mcp"))
            .bearer_from(|_| async { Ok::<_, std::io::Error>("t".into()) }),
        2 => McpClient::url(format!("http://{host}/mcp")).header("X-Api-Key", "canary-header"),
        3 => McpClient::url(format!("http://user:canary@{host}/mcp")),
        _ => McpClient::url(format!("http://{host}/mcp?v=2&api_key=canary")),
    };
    let mut refused = 0;
    for at in 0..1_000 {
        let host = match at % 5 {
            0 => format!("mcp{at}.example"),
            1 => format!("10.0.{}.{}:{}", at / 256, at % 256, at + 1),
            2 => format!("127.0.0.1.evil{at}.example"),
            3 => format!("[fe80::{at:x}]:80"),
            _ => format!("localhost.evil{at}.example:{}", at + 1),
        };
        let error = with_key(at % 5, &host)
            .connect()
            .await
            .expect_err("refused");
        let shown = format!("{error} {error:?}");
        assert!(
            matches!(error, ImportError::Unencrypted { .. }) && !shown.contains("canary"),
            "{shown}"
        );
        refused += 1;
    }
    assert_eq!(refused, 1_000);
    // An address that no network has, so that the connection fails at once.
    let at_once = |client: McpClient| client.timeout(Duration::from_millis(200)).connect();
    for way in 0..5 {
        let tried = at_once(with_key(way, "240.0.0.1:9").allow_unencrypted())
            .await
            .expect_err("no server");
        assert!(!matches!(tried, ImportError::Unencrypted { .. }), "{tried}");
    }
    let without_key = McpClient::url("http://240.0.0.1:9/my-project-12345/mcp?keyword=2")
        .header("x-tenant", "seven");
    let tried = at_once(without_key).await.expect_err("no server");
    assert!(!matches!(tried, ImportError::Unencrypted { .. }), "{tried}");
}

/// Starts a server of MCP that repeats the head of each request in all parts of its answers. Returns its address and the
/// number of its requests.
async fn repeating() -> (String, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let app = Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap, body: String| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let said = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or_default()));
        let said = format!("{uri} {}", said.collect::<Vec<_>>().join("; "));
        let request = serde_json::from_str::<Value>(&body).unwrap_or_default();
        let answer = match request["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": said, "version": "1"}}),
            Some("tools/list") => {
                let token = headers["authorization"].to_str().expect("a token").replace("Bearer ", "");
                let schema = json!({"type": "object", "properties": {"a": {"description": said}}});
                json!({"tools": [
                    {"name": "repeat", "description": said, "inputSchema": schema},
                    {"name": token, "description": "d", "inputSchema": {"type": "object"}}
                ]})
            }
            Some("tools/call") => match number % 4 {
                0 => json!({"content": [{"type": "text", "text": said}]}),
                1 => json!({"content": [], "structuredContent": {"head": [said.clone()], said: 1}}),
                2 => json!({"content": [{"type": "text", "text": said}], "isError": true}),
                _ => json!({"content": [{"type": "resource", "resource": {"uri": format!("x:{said}"), "text": said}}]}),
            },
            _ if method == Method::GET => return std::future::ready(StatusCode::METHOD_NOT_ALLOWED.into_response()),
            _ => return std::future::ready(StatusCode::ACCEPTED.into_response()),
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": answer}).to_string();
        std::future::ready(([(header::CONTENT_TYPE, "application/json")], answer).into_response())
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("an address");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { axum::serve(listener, app).await });
    (address, requests)
}

// B8
#[tokio::test]
async fn results_show_no_key_that_a_server_repeats() {
    let (address, _) = repeating().await;
    let tokens = Arc::new(AtomicUsize::new(0));
    let url = format!(
        "http://user:canary-password@{address}/my-project-12345/mcp?v=2025&key=canary-query"
    );
    let client = McpClient::url(url)
        .header("x-api-key", "canary-header")
        .header("x-team", "seven")
        .bearer_from(move |_| {
            let token = format!("canary-token-{}", tokens.fetch_add(1, Ordering::Relaxed));
            async move { Ok::<_, std::io::Error>(token) }
        });
    let imported = client.connect().await.expect("an import");
    let quarantined = format!("{:?}", imported.quarantined());
    assert!(
        quarantined.contains("[key]") && !quarantined.contains("canary"),
        "{quarantined}"
    );
    assert!(quarantined.contains("HasKey"), "{quarantined}");
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("tools");
    let declared = tools
        .definitions()
        .map(|tool| format!("{} {}", tool.description(), tool.parameters()));
    let declared = declared.collect::<Vec<_>>().concat();
    assert!(
        declared.contains("[key]") && !declared.contains("canary"),
        "{declared}"
    );
    let mut masked = 0;
    for _ in 0..1_000 {
        let result = tools
            .call("repeat", json!({}), &RunContext::detached())
            .await;
        let shown = format!("{result:?} {:?} {:?}", result.data_json(), result.error());
        assert!(!shown.contains("canary"), "{shown}");
        // Other texts stay.
        assert!(
            ["my-project-12345", "v=2025", "seven"]
                .iter()
                .all(|text| shown.contains(text)),
            "{shown}"
        );
        masked += usize::from(shown.contains("[key]"));
    }
    assert_eq!(masked, 1_000);
}

// B8
#[tokio::test(start_paused = true)]
async fn token_callback_that_hangs_or_panics_is_an_error() {
    let client = || McpClient::url("http://127.0.0.1:9/mcp").timeout(Duration::from_secs(10 * 60));
    let began = tokio::time::Instant::now();
    let hangs = client()
        .bearer_from(|_| std::future::pending::<Result<String, std::io::Error>>())
        .connect()
        .await;
    let error = hangs.expect_err("no token").to_string();
    assert!(
        error.contains("took longer than 30s") && began.elapsed().as_secs() == 30,
        "{error}"
    );
    let panics = |_| -> std::future::Ready<Result<String, std::io::Error>> { panic!("canary") };
    let error = client()
        .bearer_from(panics)
        .connect()
        .await
        .expect_err("no token")
        .to_string();
    assert!(
        error.contains("panicked") && !error.contains("canary"),
        "{error}"
    );
}

/// Imports with a key from servers on this machine, in a process whose environment names proxies.
#[tokio::test]
#[ignore = "another test runs it in a process of its own"]
async fn imports_of_a_process_with_proxies() {
    assert!(
        std::env::var("http_proxy").is_ok(),
        "the other test runs this one"
    );
    let (address, requests) = repeating().await;
    let port = address.rsplit(':').next().expect("a port");
    let v6 = tokio::net::TcpSocket::new_v6()
        .inspect_err(|error| eprintln!("skipped: a host of IPv6: {error}"));
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"] {
        if host.starts_with('[') && v6.is_err() {
            continue;
        }
        for scheme in ["http://", ""] {
            let client =
                McpClient::url(format!("{scheme}{host}:{port}/mcp")).bearer("canary-token");
            let tools = ToolContext::builder()
                .with(client.connect().await.expect("an import"))
                .build()
                .expect("tools");
            for _ in 0..170 {
                tools
                    .call("repeat", json!({}), &RunContext::detached())
                    .await;
            }
        }
    }
    assert!(requests.load(Ordering::Relaxed) >= 1_000);
}

// B8
#[tokio::test]
async fn keys_for_this_machine_reach_no_proxy() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let proxy = answering(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        StatusCode::BAD_GATEWAY.into_response()
    })
    .await;
    let mut child = std::process::Command::new(std::env::current_exe().expect("this program"));
    child.args([
        "--ignored",
        "--exact",
        "credentials::imports_of_a_process_with_proxies",
    ]);
    for name in [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ] {
        child.env(name, &proxy);
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = tokio::task::spawn_blocking(move || child.output())
        .await
        .expect("runs")
        .expect("starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
    assert_eq!(seen.load(Ordering::Relaxed), 0);
}

// B8
#[tokio::test]
async fn a_bomb_is_not_decompressed() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    bomb.write_all(format!("{{\"jsonrpc\": \"{}\"}}", " ".repeat(64 << 20)).as_bytes())
        .expect("compresses");
    let bomb = bomb.finish().expect("compresses");
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let url = answering(move |request| {
        seen.lock()
            .expect("no panic")
            .push(request.headers().contains_key(header::ACCEPT_ENCODING));
        let head = [
            (header::CONTENT_TYPE, "application/json"),
            (header::CONTENT_ENCODING, "gzip"),
        ];
        (head, bomb.clone()).into_response()
    })
    .await;
    let error = McpClient::url(url)
        .connect()
        .await
        .expect_err("a bomb")
        .to_string();
    assert!(error.len() < 1_000, "{error}");
    let asked = asked.lock().expect("no panic").clone();
    assert!(
        !asked.is_empty() && asked.iter().all(|compressed| !compressed),
        "{asked:?}"
    );
}

#[tokio::test]
async fn pins_need_a_name_that_has_no_mask() {
    let url = serve(&server()).await;
    let mut refused = 0;
    for at in 0..250 {
        let key = format!("canary{at}x");
        let mut command = std::process::Command::new("/nowhere/server");
        command.args(["-p", &key]);
        let clients = [
            McpClient::url(format!("{url}?key={key}")),
            McpClient::url(format!("{url}/{key}")),
            McpClient::url(url.replace("http://", &format!("http://{key}@"))),
            McpClient::command(command),
        ];
        for client in clients {
            let error = client
                .pins(Pins::memory())
                .connect()
                .await
                .expect_err("no name")
                .to_string();
            refused += usize::from(error.contains("McpClient::name") && !error.contains("canary"));
        }
    }
    assert_eq!(refused, 1_000);
}

#[tokio::test]
async fn pins_do_not_depend_on_the_keys_of_the_client() {
    let url = serve(&server()).await;
    let (pins, text) = (Pins::memory(), "Add two numbers and return a struct.");
    McpClient::url(&url)
        .pins(pins.clone())
        .connect()
        .await
        .expect("an import");
    let keys = (0..text.len())
        .flat_map(|from| (from + 8..=text.len()).filter_map(move |to| text.get(from..to)));
    let keys = keys.filter(|key| key.trim() == *key).collect::<Vec<_>>();
    assert!(keys.len() > 250, "{}", keys.len());
    for key in keys {
        let imported = McpClient::url(&url)
            .header("x-api-key", key)
            .pins(pins.clone())
            .connect()
            .await;
        let imported = imported.expect("an import");
        assert!(imported.quarantined().is_empty(), "{key}");
        let tools = ToolContext::builder()
            .with(imported)
            .build()
            .expect("tools");
        assert!(
            tools
                .definitions()
                .all(|tool| !tool.description().contains(key)),
            "{key}"
        );
    }
}

#[tokio::test]
async fn names_in_pins_and_ids_have_no_keys() {
    let url = serve(&server()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pins.json");
    let pins = Pins::create(&file).expect("pins");
    let keyed = format!(
        "{}?key=canary-query",
        url.replace("http://", "http://canary-user:canary-password@")
    );
    let imported = McpClient::url(&keyed)
        .header("x-key", "canary-header")
        .connect()
        .await
        .expect("an import");
    assert!(
        format!("{imported:?}").contains("?key=[key]")
            && !format!("{imported:?}").contains("canary")
    );
    let client = McpClient::url(keyed)
        .header("x-key", "canary-header")
        .name("notes")
        .pins(pins);
    let imported = client.connect().await.expect("an import");
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("tools");
    assert!(!format!("{tools:?}").contains("canary"));
    let pinned = std::fs::read_to_string(&file).expect("pins");
    assert!(
        pinned.contains("notes") && !pinned.contains("canary"),
        "{pinned}"
    );
}

#[tokio::test]
async fn headers_do_not_follow_to_another_origin() {
    let stolen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&stolen);
    let thief = answering(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        StatusCode::OK.into_response()
    })
    .await;
    for status in [301, 302, 303, 307, 308] {
        let to = format!("{thief}/mcp");
        let url = answering(move |_| {
            (
                StatusCode::from_u16(status).expect("a status"),
                [("location", to.clone())],
            )
                .into_response()
        })
        .await;
        McpClient::url(url)
            .header("x-api-key", "key")
            .connect()
            .await
            .expect_err("redirected");
    }
    assert_eq!(stolen.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_url_without_a_scheme_is_http_for_this_machine() {
    let url = serve(&server()).await;
    McpClient::url(url.trim_start_matches("http://"))
        .connect()
        .await
        .expect("an import");
    for url in ["", "ftp://host/mcp", "http://", "/mcp", "http:///mcp"] {
        let refused = McpClient::url(url).connect().await;
        assert!(
            matches!(refused, Err(ImportError::Url(_))),
            "{url}: {refused:?}"
        );
    }
    for (name, value) in [("bad name", "x"), ("x-key", "a\nb"), ("", "x")] {
        let refused = McpClient::url("localhost:1/mcp")
            .header(name, value)
            .connect()
            .await;
        assert!(
            matches!(refused, Err(ImportError::Header(_))),
            "{name:?}: {refused:?}"
        );
    }
}
