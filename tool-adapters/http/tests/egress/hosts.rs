//! Policies of operators, and the client of a run context.

use crate::support::{Scripted, Server, is_refusal, ok, redirect};
use std::net::IpAddr;
use std::process::Command;
use tool_adapters::egress::{
    EgressClient, EgressError, EgressPolicy, RunContextExt, client_builder,
};
use tool_core::trace::{self, Collector};
use tool_core::{ErrorKind, RunContext, ToolContext, tool};

/// Fetch a page.
#[tool(category = "retrieval", open_world)]
async fn fetch(
    ctx: &RunContext,
    /// The URL
    url: &str,
) -> Result<String, EgressError> {
    ctx.http()?
        .get(url)
        .send()
        .await?
        .error_for_status()?
        .text()
        .await
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
        let answer = client
            .get(format!("http://{host}:{}/", server.port()))
            .send()
            .await
            .expect(host);
        assert_eq!(answer.text().await.expect("a body"), "intranet");
    }
    for host in [
        "intranet.example.org",
        "xintranet.example",
        "intranet",
        "www.intranet.example",
        "127.0.0.1",
    ] {
        let error = client
            .get(format!("http://{host}:{}/", server.port()))
            .send()
            .await
            .expect_err(host);
        assert!(is_refusal(&error), "{host}: {error}");
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn allows_networks_and_loopback() {
    let server = Server::start(([127, 0, 0, 1], 0), |_| ok("")).await;
    for policy in [
        policy().allow_network("127.0.0.0/24"),
        policy().allow_loopback(),
    ] {
        let client = EgressClient::new(policy).expect("builds");
        for host in ["127.0.0.1", "any.example"] {
            client
                .get(format!("http://{host}:{}/", server.port()))
                .send()
                .await
                .expect(host);
        }
        client
            .get("http://10.0.0.1/")
            .send()
            .await
            .expect_err("another network");
        // Another notation of an allowed address is refused still.
        client
            .get(format!("http://[::ffff:127.0.0.1]:{}/", server.port()))
            .send()
            .await
            .expect_err("mapped");
    }
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn only_allowed_networks_are_reached_if_the_policy_says_so() {
    let server = Server::start(([127, 0, 0, 1], 0), |_| ok("")).await;
    let client =
        EgressClient::new(policy().allow_network("127.0.0.0/8").only_allowed()).expect("builds");
    client
        .get(format!("http://{}/", server.address))
        .send()
        .await
        .expect("allowed");
    for url in [
        "http://in.example/",
        "http://out.example/",
        "http://1.1.1.1/",
        "https://[2606:4700::1111]/",
    ] {
        let error = client.get(url).send().await.expect_err(url);
        assert!(matches!(error, EgressError::NotAllowed { .. }), "{error}");
    }
}

// B12
#[tokio::test]
async fn names_that_are_not_allowed_are_not_resolved() {
    let resolver = Scripted::new(|_, _| vec![IpAddr::from([127, 0, 0, 1])]);
    let server = Server::start(([127, 0, 0, 1], 0), |head| {
        redirect(
            307,
            head.split(' ')
                .nth(1)
                .and_then(|path| path.split('=').nth(1))
                .expect("a target"),
        )
    })
    .await;
    let policy = EgressPolicy::new()
        .allow_host("in.example")
        .allow_network("127.0.0.0/8")
        .allow_loopback();
    let policy = policy.only_allowed().resolver(resolver.clone());
    let plain = client_builder(policy.clone())
        .expect("a policy")
        .build()
        .expect("builds");
    let client = EgressClient::new(policy).expect("builds");
    let mut refused = 0;
    for number in 0..250 {
        let name = format!("the-secret-is-{number}.evil.example");
        let redirected = format!("http://{}/?to=http://{name}/", server.address);
        for outcome in [
            client
                .get(format!("https://{name}/"))
                .send()
                .await
                .map(drop),
            client.resolve(&name, 993).await.map(drop),
            client.get(redirected).send().await.map(drop),
        ] {
            let error = outcome.expect_err(&name);
            let is_refusal = |error: &EgressError| matches!(error, EgressError::NotAllowed { host } if *host == name);
            assert!(
                is_refusal(&error)
                    || matches!(&error, EgressError::Redirect(inner) if is_refusal(inner)),
                "{error}"
            );
            refused += 1;
        }
        plain
            .get(format!("http://{name}/"))
            .send()
            .await
            .expect_err(&name);
        refused += 1;
    }
    assert_eq!(
        (refused, resolver.questions(), server.connections()),
        (1_000, 0, 250)
    );
    client.resolve("in.example", 993).await.expect("allowed");
    assert_eq!(resolver.questions(), 1);
}

#[tokio::test]
async fn a_model_reads_why_its_url_was_refused() {
    let tools = ToolContext::builder().with(fetch).build().expect("sound");
    let call = async |url: &str, ctx: &RunContext| {
        tools
            .call("fetch", serde_json::json!({"url": url}), ctx)
            .await
    };
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
    let mistaken = RunContext::builder()
        .user_data(EgressPolicy::new().only_allowed())
        .build();
    assert_eq!(
        call(&url, &mistaken).await.error().map(|error| error.kind),
        Some(ErrorKind::Internal)
    );
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn each_hop_has_a_span_and_a_models_answer_its_usage() {
    let completion =
        r#"{"model":"gpt-5","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let server = Server::start(([127, 0, 0, 1], 0), move |head| {
        match head.split(' ').nth(1) {
            Some("/v1/chat/completions") => crate::support::answer(
                200,
                &[("content-type", "application/json")],
                completion.as_bytes(),
            ),
            _ => redirect(307, "/v1/chat/completions"),
        }
    })
    .await;
    let client = EgressClient::new(policy().allow_host("127.0.0.1")).expect("builds");
    let collector = Collector::builder().build();
    let asked = collector.run(trace::agent("planner", async {
        client
            .post(format!("http://{}/", server.address))
            .body(r#"{"model":"gpt-5"}"#)
            .send()
            .await?
            .text()
            .await
    }));
    assert_eq!(asked.await.expect("an answer"), completion);
    let labels = collector
        .report()
        .spans()
        .iter()
        .map(trace::SpanRecord::label)
        .collect::<Vec<_>>();
    assert_eq!(
        labels,
        [
            "http:POST 127.0.0.1",
            "http:POST 127.0.0.1",
            "agent:planner"
        ]
    );
    let total = collector.report().totals().total;
    assert_eq!(
        (total.uses, total.usage.input, total.usage.output),
        (1, 3, 2)
    );
}

// B12
#[tokio::test]
async fn servers_that_are_not_known_add_no_cost() {
    let forms = [
        (
            "/v1/chat/completions",
            r#"{"model":"gpt-5","choices":[],"usage":{"prompt_tokens":90000000,"completion_tokens":2}}"#,
        ),
        (
            "/v1/messages",
            r#"{"type":"message","role":"assistant","model":"claude-opus-4-5","content":[],"usage":{"input_tokens":90000000,"output_tokens":2}}"#,
        ),
        (
            "/v1/responses",
            r#"{"object":"response","status":"completed","model":"gpt-5","output":[],"usage":{"input_tokens":90000000,"output_tokens":2}}"#,
        ),
        (
            "/api/chat",
            r#"{"model":"llama3.2","done":true,"prompt_eval_count":90000000,"eval_count":2}"#,
        ),
    ];
    let server = Server::start(([127, 0, 0, 1], 0), move |head| {
        let path = head.split(' ').nth(1).expect("a path");
        let (_, body) = forms
            .iter()
            .find(|(form, _)| path.ends_with(form))
            .expect("a form");
        crate::support::answer(
            200,
            &[("content-type", "application/json")],
            body.as_bytes(),
        )
    })
    .await;
    let (client, collector) = (
        EgressClient::new(policy().allow_loopback()).expect("builds"),
        Collector::builder().build(),
    );
    let ask = async |client: &EgressClient, host: &str, path: &str| {
        let url = format!("http://{host}:{}{path}", server.port());
        collector
            .run(async { client.post(url).body("{}").send().await?.bytes().await })
            .await
            .expect("an answer")
    };
    let mut asked = 0;
    for number in 0..250 {
        for (path, _) in forms {
            let host = match number % 5 {
                0 => format!("evil{number}.example"),
                1 => format!("api.openai.com.evil{number}.example"),
                2 => "127.0.0.1".to_owned(),
                // Known hosts, but anyone on the way can answer for them.
                3 => "api.openai.com".to_owned(),
                _ => "me.openai.azure.com".to_owned(),
            };
            let path = if number % 2 == 0 {
                path.to_owned()
            } else {
                format!("/api.openai.com{path}")
            };
            ask(&client, &host, &path).await;
            asked += 1;
        }
    }
    assert_eq!((asked, collector.report().totals().total.uses), (1_000, 0));
    // The same answers count for a host that the operator names.
    let client = EgressClient::new(policy().allow_host("models.example")).expect("builds");
    for (path, _) in forms {
        ask(&client, "models.example", path).await;
    }
    assert_eq!(collector.report().totals().total.uses, 4);
}

/// Sends requests in a process whose environment names proxies.
#[tokio::test]
#[ignore = "another test runs it in a process of its own"]
async fn requests_of_a_process_with_proxies() {
    let proxy = std::env::var("http_proxy").expect("the other test runs this one");
    let client = EgressClient::new(policy()).expect("builds");
    let plain = client_builder(policy())
        .expect("a policy")
        .build()
        .expect("builds");
    for url in [
        "http://169.254.169.254/",
        "https://10.0.0.1/",
        "http://any.example/",
        "https://any.example/",
        &proxy,
    ] {
        client.get(url).send().await.expect_err(url);
        plain.get(url).send().await.expect_err(url);
    }
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    let proxy = Server::victim().await;
    let address = format!("http://{}", proxy.address);
    let mut child = Command::new(std::env::current_exe().expect("a program"));
    child.args([
        "--exact",
        "hosts::requests_of_a_process_with_proxies",
        "--ignored",
    ]);
    for name in [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ] {
        child.env(name, &address);
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
    proxy.assert_untouched().await;
}
