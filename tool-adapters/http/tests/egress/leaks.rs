//! Secrets of requests, which no error and no span shows.

use crate::support::{Server, answer, redirect};
use std::error::Error;
use std::time::Duration;
use tool_adapters::egress::{EgressClient, EgressPolicy};
use tool_core::trace::Collector;

const CANARY: &str = "canary-7Qx93LmZ04vTnB61";

/// Returns every text of an error.
fn texts(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |cause| (*cause).source());
    causes
        .map(|error| format!("{error} {error:?}\n"))
        .collect::<Vec<_>>()
        .concat()
}

// T1
#[tokio::test]
async fn errors_and_spans_show_no_secret_of_a_request() {
    let server = Server::start(([127, 0, 0, 1], 0), |head| match head.split(' ').nth(1) {
        Some(path) if path.starts_with("/json") => {
            answer(200, &[], format!("\"{CANARY}\"").as_bytes())
        }
        Some(path) if path.starts_with("/text") => answer(200, &[], CANARY.as_bytes()),
        Some(path) if path.starts_with("/broken") => {
            b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nx".to_vec()
        }
        Some(path) if path.starts_with("/nonsense") => CANARY.as_bytes().to_vec(),
        Some(path) if path.starts_with("/local") => {
            redirect(302, &format!("http://10.0.0.1/{CANARY}?key={CANARY}"))
        }
        Some(path) if path.starts_with("/user") => {
            redirect(302, &format!("http://user:{CANARY}@127.0.0.1/"))
        }
        Some(path) if path.starts_with("/invalid") => redirect(302, &format!("http://[{CANARY}")),
        Some(path) if path.starts_with("/away") => {
            redirect(307, &format!("http://127.0.0.1:1/{CANARY}"))
        }
        Some(path) if path.starts_with("/down") => {
            redirect(302, &format!("http://127.0.0.1:1/{CANARY}"))
        }
        Some(path) if path.starts_with("/loop") => redirect(302, path),
        _ => answer(500, &[], CANARY.as_bytes()),
    })
    .await;
    let policy = EgressPolicy::new()
        .allow_loopback()
        .timeout(Duration::from_secs(20))
        .max_body(200);
    let client = EgressClient::new(policy).expect("builds");
    let collector = Collector::builder().build();
    let at = |path: &str| {
        format!(
            "http://{}{path}/{CANARY}?key={CANARY}#{CANARY}",
            server.address
        )
    };
    let paths = [
        "/json",
        "/text",
        "/broken",
        "/nonsense",
        "/local",
        "/user",
        "/invalid",
        "/away",
        "/down",
        "/loop",
        "/other",
    ];
    let mut urls = paths.map(at).to_vec();
    urls.extend([
        format!("http://user:{CANARY}@127.0.0.1/"),
        format!("http://127.0.0.1:1/{CANARY}?{CANARY}"),
        format!("http://10.0.0.1/{CANARY}"),
        format!("ftp://127.0.0.1/{CANARY}"),
        format!("http://[{CANARY}"),
        format!("http://a:{CANARY}/"),
        format!("//{CANARY}"),
        CANARY.to_owned(),
    ]);
    let mut failed = 0;
    for url in &urls {
        let request = client
            .post(url)
            .bearer_auth(CANARY)
            .header("x-api-key", CANARY)
            .body(CANARY);
        let asked = async { request.send().await?.error_for_status()?.json::<u8>().await };
        let error = collector.run(asked).await.expect_err(url);
        assert!(!texts(&error).contains(CANARY), "{url}: {}", texts(&error));
        failed += 1;
    }
    // A header that is none is refused, and not shown.
    let invalid = client
        .get(at("/json"))
        .header("x-key", format!("{CANARY}\n"))
        .send()
        .await
        .expect_err("invalid");
    assert!(!texts(&invalid).contains(CANARY), "{}", texts(&invalid));
    assert_eq!(failed, 19);
    let report = collector.report();
    assert!(
        report.spans().len() > 10 && !report.to_json().contains(CANARY),
        "{report}"
    );
}
