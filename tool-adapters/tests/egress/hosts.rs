//! Policies of operators, and the client of a run context.

use crate::support::{Scripted, Server, is_refusal, ok};
use std::net::IpAddr;
use std::process::Command;
use tool_adapters::egress::{EgressClient, EgressError, EgressPolicy, RunContextExt, client_builder};
use tool_core::trace::{self, Collector};
use tool_core::{ErrorKind, RunContext, ToolContext, tool};

/// Fetch a page.
#[tool(category = "retrieval", open_world)]
async fn fetch(
    ctx: &RunContext,
    /// The URL
    url: &str,
) -> Result<String, EgressError> {
    ctx.http()?.get(url).send().await?.error_for_status()?.text().await
}

/// Every name resolves to this machine.
fn policy() -> EgressPolicy {
    EgressPolicy::new().resolver(Scripted::new(|_, _| vec![IpAddr::from([127, 0, 0, 1])]))
}

#[tokio::test]
async fn allows_the_named_host_and_no_other() {
    let server = Server::start(([127, 0, 0, 1], 0), |_| ok("intranet")).await;
    let client = EgressClient::new(policy().allow_host("Intranet.Example")).expect("builds");
    for host in ["intranet.example", "INTRANET.example", "intranet.example."] {
        let answer = client.get(format!("http://{host}:{}/", server.port())).send().await.expect(host);
        assert_eq!(answer.text().await.expect("a body"), "intranet");
    }
    for host in ["intranet.example.org", "xintranet.example", "intranet", "www.intranet.example", "127.0.0.1"] {
        let error = client.get(format!("http://{host}:{}/", server.port())).send().await.expect_err(host);
        assert!(is_refusal(&error), "{host}: {error}");
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn allows_networks_and_loopback() {
    let server = Server::start(([127, 0, 0, 1], 0), |_| ok("")).await;
    for policy in [policy().allow_network("127.0.0.0/24"), policy().allow_loopback()] {
        let client = EgressClient::new(policy).expect("builds");
        for host in ["127.0.0.1", "any.example"] {
            client.get(format!("http://{host}:{}/", server.port())).send().await.expect(host);
        }
        client.get("http://10.0.0.1/").send().await.expect_err("another network");
        // Another notation of an allowed address is refused still.
        client.get(format!("http://[::ffff:127.0.0.1]:{}/", server.port())).send().await.expect_err("mapped");
    }
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn only_allowed_networks_are_reached_if_the_policy_says_so() {
    let server = Server::start(([127, 0, 0, 1], 0), |_| ok("")).await;
    let resolver =
        Scripted::new(|_, name| vec![IpAddr::from(if name == "in.example" { [127, 0, 0, 1] } else { [1, 1, 1, 1] })]);
    let policy = EgressPolicy::new().allow_network("127.0.0.0/8").only_allowed().resolver(resolver);
    let client = EgressClient::new(policy).expect("builds");
    client.get(format!("http://in.example:{}/", server.port())).send().await.expect("allowed");
    for url in ["http://out.example/", "http://1.1.1.1/", "https://[2606:4700::1111]/"] {
        let error = client.get(url).send().await.expect_err(url);
        assert!(matches!(error, EgressError::NotAllowed { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_model_reads_why_its_url_was_refused() {
    let tools = ToolContext::builder().with(fetch).build().expect("sound");
    let call = async |url: &str, ctx: &RunContext| tools.call("fetch", serde_json::json!({"url": url}), ctx).await;
    let detached = RunContext::detached();
    let response = call("http://169.254.169.254/latest/meta-data/", &detached).await;
    let error = response.error().expect("refused");
    assert_eq!(error.kind, ErrorKind::Permanent);
    assert_eq!(
        error.message,
        "expected a public host, got `169.254.169.254`, which is a link-local address; use a public host, or let the \
         operator allow this one"
    );
    let server = Server::start(([127, 0, 0, 1], 0), |_| ok("page")).await;
    let url = format!("http://{}/", server.address);
    assert!(!call(&url, &detached).await.is_ok());
    let client = EgressClient::new(EgressPolicy::new().allow_loopback()).expect("builds");
    let allowed = RunContext::builder().user_data(client).build();
    assert_eq!(call(&url, &allowed).await.data_json(), Some(r#""page""#));
    // A policy without a client is a mistake of the operator, which must not weaken the guard.
    let mistaken = RunContext::builder().user_data(EgressPolicy::new().only_allowed()).build();
    assert_eq!(call(&url, &mistaken).await.error().map(|error| error.kind), Some(ErrorKind::Internal));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn each_hop_has_a_span_and_a_models_answer_its_usage() {
    let completion = r#"{"model":"gpt-5","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let server = Server::start(([127, 0, 0, 1], 0), move |head| match head.split(' ').nth(1) {
        Some("/v1/chat/completions") => {
            crate::support::answer(200, &[("content-type", "application/json")], completion.as_bytes())
        }
        _ => crate::support::redirect(307, "/v1/chat/completions"),
    })
    .await;
    let client = EgressClient::new(policy().allow_loopback()).expect("builds");
    let collector = Collector::builder().build();
    let asked = collector.run(trace::agent("planner", async {
        client.post(format!("http://{}/", server.address)).body(r#"{"model":"gpt-5"}"#).send().await?.text().await
    }));
    assert_eq!(asked.await.expect("an answer"), completion);
    let labels = collector.report().spans().iter().map(trace::SpanRecord::label).collect::<Vec<_>>();
    assert_eq!(labels, ["http:POST 127.0.0.1", "http:POST 127.0.0.1", "agent:planner"]);
}

/// Sends requests in a process whose environment names proxies.
#[tokio::test]
#[ignore = "another test runs it in a process of its own"]
async fn requests_of_a_process_with_proxies() {
    let Ok(proxy) = std::env::var("http_proxy") else { return };
    let client = EgressClient::new(policy()).expect("builds");
    let plain = client_builder(policy()).expect("a policy").build().expect("builds");
    for url in ["http://169.254.169.254/", "https://10.0.0.1/", "http://any.example/", "https://any.example/", &proxy] {
        client.get(url).send().await.expect_err(url);
        plain.get(url).send().await.expect_err(url);
    }
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    let proxy = Server::victim().await;
    let address = format!("http://{}", proxy.address);
    let mut child = Command::new(std::env::current_exe().expect("a program"));
    child.args(["--exact", "hosts::requests_of_a_process_with_proxies", "--ignored"]);
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        child.env(name, &address);
    }
    let status = tokio::task::spawn_blocking(move || child.status()).await.expect("runs").expect("starts");
    assert!(status.success());
    proxy.assert_untouched().await;
}
