//! One trace of two processes, over HTTP.
#![cfg(unix)]

use crate::other;
use crate::spans_support::{collector, span, tree};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use tool_adapters::interop::reqwest::{TraceMiddleware, extract, extract_trusted};
use tool_core::trace::{self, DistributedContext};

async fn stock(headers: http::HeaderMap) -> String {
    trace::import(
        extract_trusted(&headers),
        trace::agent("stock", async { "12".to_owned() }),
    )
    .await
}

async fn rumours(headers: http::HeaderMap) -> String {
    trace::import(
        extract(&headers),
        trace::agent("rumours", async { "some".to_owned() }),
    )
    .await
}

/// Serves in the other process until standard input ends. Prints its address first.
#[tokio::test]
#[ignore = "the other tests run it in their own processes"]
async fn serves() {
    other::start();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("binds");
    let address = listener.local_addr().expect("has an address");
    writeln!(other::output(), "{address}").expect("is heard");
    let router = axum::Router::new().route("/stock", axum::routing::get(stock));
    let router = router.route("/rumours", axum::routing::get(rumours));
    let ended =
        async { _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await };
    tokio::select! {
        served = axum::serve(listener, router) => served.expect("serves"),
        () = ended => {}
    }
}

// S9
#[tokio::test]
async fn joins_the_spans_of_two_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("spans");
    let mut command = other::command("processes::serves", &file);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut address = String::new();
    BufReader::new(child.stdout.take().expect("its words"))
        .read_line(&mut address)
        .expect("an address");
    let address = address.trim().to_owned();

    let client = TraceMiddleware::new()
        .propagate_to([address.clone()])
        .client(reqwest::Client::builder());
    let (client, collector) = (client.expect("a client"), collector());
    let get = async |path: &str| {
        let answer = client
            .get(format!("http://{address}/{path}"))
            .send()
            .await
            .expect("an answer");
        answer.text().await.expect("a body")
    };
    let both = async { (get("stock").await, get("rumours").await) };
    let context = DistributedContext::new().customer_id("acme");
    let said = collector
        .run(trace::import(context, trace::agent("planner", both)))
        .await;
    assert_eq!(said, ("12".to_owned(), "some".to_owned()));
    drop(child.stdin.take());
    assert!(child.wait().expect("ends").success());

    let http = "agent:planner/http:GET 127.0.0.1";
    assert_eq!(tree(&collector), [http, http, "agent:planner"]);
    let (report, agent) = (collector.report(), span(&collector, "agent:planner"));
    let [one, two, _] = report.spans() else {
        panic!("{report:?}")
    };
    let theirs = other::spans(&file)
        .into_iter()
        .map(|span| [0, 1, 3, 4].map(|at| span[at].clone()));
    let trace = agent.trace_id().to_string();
    let expected = [
        ("agent:stock", one.span_id(), "acme"),
        ("agent:rumours", two.span_id(), ""),
    ];
    let expected = expected.map(|(label, parent, customer)| {
        [
            label.to_owned(),
            trace.clone(),
            parent.to_string(),
            customer.to_owned(),
        ]
    });
    assert_eq!(theirs.collect::<Vec<_>>(), expected);
}
