//! Keys of models, in every place where a request has one, at a server that repeats all that it is sent.

use crate::sinks::{Canaries, Log, Sinks};
use base64::Engine;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::oauth2::OAuth2Client;
use tool_adapters::providers::openai_responses::tools::RemoteMcp;
use tool_adapters::stores::{PostgresStore, RedisStore};
use tool_adapters::transport::http::{HttpModel, client_builder};
use tool_adapters::transport::websocket::{LiveLoop, LiveModel};
use tool_adapters::transport::{ProvidedKey, ProviderModel};
use tool_core::trace::Collector;
use tool_core::{Mode, Policy, Runtime, Session, ToolContext};

/// A multiple of three bytes, so that its base64 form begins that of every longer text.
const CORE: &str = "Quagga7Okapi";
const VARIANTS: usize = 1_000;

fn canaries() -> Canaries {
    // The server repeats what it reads in lower case as well.
    Canaries::new(&[
        ("a key", CORE.as_bytes()),
        ("a key in lower case", b"quagga7okapi"),
    ])
}

/// Answers each request with its own head, as an error in a different form each time.
async fn repeat(listener: TcpListener) {
    for n in 0.. {
        let Ok((mut stream, _)) = listener.accept().await else {
            return;
        };
        let head = read_head(&mut stream).await;
        let told = head.replace(['\r', '\n', '"', '\\'], " ");
        let (status, kind, body) = match n % 7 {
            0 => (
                "401 No",
                "application/json",
                format!(r#"{{"error": {{"message": "{told}"}}}}"#),
            ),
            1 => ("500 No", "text/plain", head),
            2 => (
                "200 OK",
                "text/event-stream",
                format!("data: {{\"error\": {{\"message\": \"{told}\"}}}}\n\n"),
            ),
            3 => ("200 OK", "text/event-stream", format!("data: {told}\n\n")),
            4 => ("307 Else", "text/plain", String::new()),
            5 => (
                "429 Busy",
                "application/json",
                format!(r#"{{"error": "{told}"}}"#),
            ),
            _ => ("400 Bad", "text/html", format!("<p>{told}</p>")),
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nlocation: http://{CORE}@host/?{CORE}\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        // The client may be gone.
        _ = stream.write_all(answer.as_bytes()).await;
    }
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => break,
            Ok(read) => head.extend_from_slice(&part[..read]),
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

async fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(repeat(listener));
    address
}

/// Puts a secret into one of the places of a request.
fn with_secret<T>(model: ProviderModel<T>, n: usize, address: &str) -> ProviderModel<T> {
    let secret = format!("{CORE}{n}");
    let plain = format!("http://{address}/v{n}");
    match n % 6 {
        0 => model.base_url(plain).api_key(secret),
        1 => model
            .base_url(plain)
            .header("x-team-key", format!("{secret} {n}")),
        2 => model
            .base_url(plain)
            .header("authorization", format!("Bearer {secret}")),
        3 => model.base_url(format!("http://an:{secret}@{address}/")),
        4 => model.base_url(format!("{plain}?key={secret}&api-version={n}")),
        _ => model.base_url(plain).api_key_with(move || {
            let key = ProvidedKey::new(&secret);
            async move { Ok(key) }
        }),
    }
}

async fn session() -> Session {
    let runtime =
        Runtime::builder(ToolContext::builder().build().expect("sound")).policy(Policy::text());
    runtime
        .build()
        .expect("sound")
        .session("s-1", Mode::Voice)
        .await
        .expect("opens")
}

// T1
#[tokio::test]
async fn no_sink_shows_a_key_of_a_model() {
    Log::listen();
    let (address, client, mut sinks) = (
        server().await,
        client_builder().build().expect("a client"),
        Sinks::default(),
    );
    let collector = Collector::builder().content(true).build();
    let providers = [
        Provider::OpenAiChat,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Mistral,
    ];
    let mut repeated = 0;
    let requests = async {
        for n in 0..VARIANTS {
            let model = HttpModel::new(providers[n % 4], "m")
                .client(client.clone())
                .retry(RetryPolicy::never());
            let model = with_secret(model, n, &address);
            sinks.debug("models", &model);
            let mut agent = AgentLoop::new(session().await, model.on_event(|_| ()));
            let reply = agent.prompt("Hi").await;
            let error = reply.error.unwrap_or_else(|| panic!("{n}: no error"));
            repeated += usize::from(error.message.contains("[key]"));
            sinks.debug("errors of models", &error);
            sinks.add("texts of errors", error.to_string());
            sinks.debug("agents", agent.model_mut());
        }
        for n in 0..60 {
            let model = LiveModel::new(Provider::GeminiLive, "m").retry(RetryPolicy::never());
            let model = with_secret(model, n, &address);
            sinks.debug("live models", &model);
            let mut live = LiveLoop::start(session().await, model);
            while let Some(event) = live.next().await {
                sinks.debug("events of live models", &event);
            }
        }
    };
    collector.run(requests).await;
    let report = collector.report();
    assert!(report.spans().len() >= VARIANTS, "{}", report.spans().len());
    // What the server repeats reaches the errors, so that there was something to mask.
    assert!(repeated >= VARIANTS / 2, "{repeated}");
    sinks.add("the report as JSON", report.to_json());
    sinks.add("the report as HTML", report.to_html());
    sinks.debug("spans", &report.spans());
    sinks.add("the log", Log::bytes());
    let (found, count, bytes) = sinks.scan(&canaries());
    assert_eq!(found, [], "of {count} sinks");
    println!("{VARIANTS} requests with keys, {count} sinks, {bytes} bytes: 0 found");
}

// T1
#[tokio::test]
async fn no_public_type_shows_a_key_in_debug() {
    Log::listen();
    let mut sinks = Sinks::default();
    for n in 0..VARIANTS {
        let secret = format!("{CORE}{n}");
        let url = |scheme: &str| format!("{scheme}://an:{secret}@127.0.0.1:9/{n}?key={secret}");
        sinks.debug("provided keys", &ProvidedKey::new(&secret));
        sinks.debug(
            "models",
            &with_secret(HttpModel::new(Provider::Gemini, "m"), n, "127.0.0.1:9"),
        );
        sinks.debug(
            "live models",
            &with_secret(LiveModel::new(Provider::GeminiLive, "m"), n, "127.0.0.1:9"),
        );
        sinks.debug("remote servers", &RemoteMcp::new("docs", url("https")));
        sinks.debug(
            "clients",
            &OAuth2Client::new("id", "https://app.example/cb").secret(&*secret),
        );
        match RedisStore::lazy(&format!("redis://an:{secret}@127.0.0.1:9/0")) {
            Ok(store) => sinks.debug("stores in Redis", &store),
            Err(error) => sinks.error("stores in Redis", &error),
        }
        // Each attempt to connect takes some seconds.
        if n == 0 {
            let error = PostgresStore::connect(&url("postgres"))
                .await
                .expect_err("nothing listens");
            sinks.error("stores in PostgreSQL", &error);
        }
    }
    sinks.add("the log", Log::bytes());
    let (found, count, bytes) = sinks.scan(&canaries());
    assert_eq!(found, [], "of {count} sinks");
    println!("{VARIANTS} keys, {count} sinks, {bytes} bytes: 0 found");
}

// A scan that finds nothing has to be one that would.
#[test]
fn key_is_found_where_it_is_planted() {
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("an:{CORE}7"));
    for planted in [
        format!("x {CORE}7 y"),
        format!("Basic {basic}"),
        format!("{CORE}7").to_lowercase(),
    ] {
        assert!(
            !canaries().found(planted.as_bytes()).is_empty(),
            "{planted}"
        );
    }
}
