//! Limits of size and time.

use crate::support::{Server, answer, ok, redirect};
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::dns::{Name, Resolve, Resolving};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tool_adapters::egress::{EgressClient, EgressError, EgressPolicy};

fn policy() -> EgressPolicy {
    EgressPolicy::new().allow_loopback()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).expect("compresses");
    encoder.finish().expect("compresses")
}

/// Answers `/FORM/LENGTH` with a body of this length.
async fn bodies() -> Server {
    Server::start(([127, 0, 0, 1], 0), |head| {
        let mut path = head.split(' ').nth(1).expect("a path").split('/').skip(1);
        let (form, length) = (
            path.next(),
            path.next().expect("a length").parse().expect("a length"),
        );
        let body = vec![b'x'; length];
        match form {
            Some("plain") => answer(200, &[], &body),
            Some("gzip") => answer(200, &[("content-encoding", "gzip")], &gzip(&body)),
            _ => {
                let head =
                    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
                let chunks = body.chunks(100).map(|part| {
                    [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat()
                });
                [
                    head.to_vec(),
                    chunks.flatten().collect(),
                    b"0\r\n\r\n".to_vec(),
                ]
                .concat()
            }
        }
    })
    .await
}

// T20
#[tokio::test]
async fn bodies_are_limited_to_the_byte() {
    let server = bodies().await;
    let mut checked = 0;
    for limit in (0..1_000).step_by(9) {
        let client = EgressClient::new(policy().max_body(limit)).expect("builds");
        for form in ["plain", "chunked", "gzip"] {
            for length in [limit.saturating_sub(1), limit, limit + 1] {
                let url = format!("http://{}/{form}/{length}", server.address);
                let body = client
                    .get(url)
                    .send()
                    .await
                    .expect("an answer")
                    .bytes()
                    .await;
                match body {
                    Ok(body) => assert!(body.len() == length && length <= limit, "{form} {length}"),
                    Err(EgressError::TooLarge { limit: told }) => {
                        assert!(told == limit && length > limit, "{form} {length}");
                    }
                    Err(error) => panic!("{form} {length} of {limit}: {error}"),
                }
                checked += 1;
            }
        }
    }
    assert!(checked >= 1_000, "{checked}");
}

#[tokio::test]
async fn a_bomb_stops_at_the_limit() {
    let bomb = gzip(&vec![0; 32 << 20]);
    assert!(bomb.len() < 1 << 16, "{}", bomb.len());
    let server = Server::start(([127, 0, 0, 1], 0), move |_| {
        answer(200, &[("content-encoding", "gzip")], &bomb)
    })
    .await;
    let client = EgressClient::new(policy().max_body(1 << 20)).expect("builds");
    let mut answer = client
        .get(format!("http://{}/", server.address))
        .send()
        .await
        .expect("an answer");
    let mut read = 0;
    let error = loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => read += chunk.as_ref().len(),
            Ok(None) => panic!("the whole bomb was read"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, EgressError::TooLarge { .. }) && read <= 1 << 20,
        "{read}: {error}"
    );
}

/// Starts a server that sends `head`, and then one byte after another for as long as the client reads.
async fn dripping(head: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(head.as_bytes()).await;
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            });
        }
    });
    url
}

// T20
#[tokio::test]
async fn a_dripping_answer_ends_by_the_deadline() {
    let client = EgressClient::new(policy().timeout(Duration::from_millis(100))).expect("builds");
    for head in [
        "",
        "HTTP/1.1 200 OK\r\nx-header: ",
        "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n",
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
    ] {
        let url = dripping(head).await;
        let body = async { client.get(url).send().await?.bytes().await }.await;
        let error = body.expect_err("never complete");
        // Some beginnings are not HTTP.
        assert!(
            matches!(
                error,
                EgressError::Timeout { .. } | EgressError::Interrupted { .. }
            ),
            "{head}: {error}"
        );
        assert_eq!(
            matches!(error, EgressError::Timeout { .. }),
            head.contains("200"),
            "{head}: {error}"
        );
    }
}

/// A name server that never answers.
struct Silent;

impl Resolve for Silent {
    fn resolve(&self, _: Name) -> Resolving {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_silent_name_server_ends_by_the_deadline() {
    let client = EgressClient::new(policy().resolver(Silent).timeout(Duration::from_millis(50)))
        .expect("builds");
    let error = client
        .get("http://silent.example/")
        .send()
        .await
        .expect_err("no answer");
    assert!(matches!(error, EgressError::Timeout { .. }), "{error}");
    let error = client
        .resolve("silent.example", 25)
        .await
        .expect_err("no answer");
    assert!(matches!(error, EgressError::Resolve { .. }), "{error}");
}

#[tokio::test]
async fn redirects_share_one_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let hops = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&hops);
    // Each hop is well within the limit, and three of them are not.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let _ = stream.read(&mut [0; 4096]).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            let _ = stream.write_all(&redirect(302, "/again")).await;
        }
    });
    let client = EgressClient::new(
        policy()
            .timeout(Duration::from_millis(500))
            .max_redirects(9),
    )
    .expect("builds");
    let error = client.get(url).send().await.expect_err("never complete");
    let EgressError::Redirect(inner) = &error else {
        panic!("{error}")
    };
    assert!(matches!(**inner, EgressError::Timeout { .. }), "{error}");
    let hops = hops.load(Ordering::Relaxed);
    assert!((2..=3).contains(&hops), "{hops}");
}

#[tokio::test]
async fn reads_text_json_and_statuses() {
    let server = Server::start(([127, 0, 0, 1], 0), |head| match head.split(' ').nth(1) {
        Some("/json") => ok(r#"{"a": [1]}"#),
        Some("/text?a=1") => answer(200, &[], b"caf\xc3\xa9 \xff"),
        _ => answer(404, &[], b"no"),
    })
    .await;
    let client = EgressClient::new(policy()).expect("builds");
    let get = |path: &str| client.get(format!("http://{}{path}", server.address));
    let json: serde_json::Value = get("/json")
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    assert_eq!(json["a"][0], 1);
    let text = get("/text")
        .query(&[("a", 1)])
        .send()
        .await
        .expect("an answer")
        .text()
        .await
        .expect("text");
    assert_eq!(text, "café \u{fffd}");
    let error = get("/none")
        .send()
        .await
        .expect("an answer")
        .error_for_status()
        .expect_err("404");
    assert_eq!(
        error.to_string(),
        "`127.0.0.1` answered with status 404 Not Found"
    );
    let error = get("/none")
        .send()
        .await
        .expect("an answer")
        .json::<u8>()
        .await
        .expect_err("no JSON");
    assert!(matches!(error, EgressError::Json { .. }), "{error}");
}

#[tokio::test]
async fn json_may_begin_with_a_byte_order_mark() {
    let server = Server::start(([127, 0, 0, 1], 0), |_| ok("\u{feff}[1]")).await;
    let client = EgressClient::new(policy()).expect("builds");
    let answer = client.get(format!("http://{}/", server.address)).send();
    let json = answer.await.expect("an answer").json::<Vec<u8>>().await;
    assert_eq!(json.expect("JSON"), [1]);
}
