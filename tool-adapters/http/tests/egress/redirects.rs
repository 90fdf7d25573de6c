//! Redirects, each of which is checked.

use crate::support::{Server, answer, has_second_address, is_refusal, ok, redirect};
use tool_adapters::egress::{EgressClient, EgressError, EgressPolicy, client_builder};

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// A policy that allows the stand-in of a public server.
fn policy() -> EgressPolicy {
    EgressPolicy::new().allow_network("127.0.0.2")
}

/// Starts a server that redirects `/STATUS/3/TARGET` to `/STATUS/2/TARGET`, and `/STATUS/0/TARGET` to a target.
async fn chain(targets: Vec<String>) -> Server {
    Server::start(([127, 0, 0, 2], 0), move |head| {
        let mut path = head.split(' ').nth(1).expect("a path").split('/').skip(1);
        let mut number = || {
            path.next()
                .expect("a number")
                .parse::<usize>()
                .expect("a number")
        };
        let (status, left, target) = (number(), number(), number());
        let to = if left == 0 {
            targets[target].clone()
        } else {
            format!("/{status}/{}/{target}", left - 1)
        };
        redirect(u16::try_from(status).expect("a status"), &to)
    })
    .await
}

// T20
#[tokio::test]
async fn refuses_a_local_address_at_every_hop() {
    if !has_second_address().await {
        return;
    }
    let victim = Server::victim().await;
    let port = victim.port();
    let forms = [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "[::ffff:7f00:1]",
        "[::1]",
        "[::7f00:1]",
        "0",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "１２７.0.0.1",
        "127.0.0.1.",
        "169.254.169.254",
        "10.0.0.1",
        "[fd00:ec2::254]",
        "localhost",
        "user@127.0.0.1",
    ];
    let urls = forms.iter().flat_map(|host| {
        [
            format!("http://{host}:{port}/"),
            format!("//{host}:{port}/"),
        ]
    });
    let others = [
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_x",
        "ftp://127.0.0.1/",
        "http://[::1%25lo]/",
    ];
    let targets = urls.chain(others.map(str::to_owned)).collect::<Vec<_>>();
    let count = targets.len();
    let server = chain(targets).await;
    let client = EgressClient::new(policy()).expect("builds");
    let plain = client_builder(policy())
        .expect("a policy")
        .build()
        .expect("builds");
    let mut tried = 0;
    for status in STATUSES {
        for hops in 0..5 {
            for target in 0..count {
                let url = format!("http://{}/{status}/{hops}/{target}", server.address);
                let error = client.get(&url).send().await.expect_err("refused");
                let EgressError::Redirect(inner) = &error else {
                    panic!("{error}")
                };
                assert!(is_refusal(inner) && error.was_sent(), "{error}");
                if target % 7 == 0 {
                    plain.get(&url).send().await.expect_err("refused");
                }
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 5 * 5 * 40);
    victim.assert_untouched().await;
}

#[tokio::test]
async fn follows_redirects_up_to_the_limit() {
    if !has_second_address().await {
        return;
    }
    let target = Server::start(([127, 0, 0, 2], 0), |_| ok("found")).await;
    let server = chain(vec![format!("http://{}/", target.address)]).await;
    let client = EgressClient::new(policy()).expect("builds");
    let answer = client
        .get(format!("http://{}/302/4/0", server.address))
        .send()
        .await
        .expect("five redirects");
    assert_eq!(
        (answer.url().port(), server.connections()),
        (Some(target.port()), 5)
    );
    assert_eq!(answer.text().await.expect("a body"), "found");
    let error = client
        .get(format!("http://{}/302/5/0", server.address))
        .send()
        .await
        .expect_err("six redirects");
    assert!(
        matches!(error, EgressError::TooManyRedirects { limit: 5 }),
        "{error}"
    );
    assert_eq!((server.connections(), target.connections()), (11, 1));
}

#[tokio::test]
async fn a_plain_client_sends_no_referer() {
    if !has_second_address().await {
        return;
    }
    let other = Server::start(([127, 0, 0, 2], 0), |_| ok("")).await;
    let to = format!("http://{}/end", other.address);
    let server = Server::start(([127, 0, 0, 2], 0), move |_| redirect(302, &to)).await;
    let client = client_builder(policy())
        .expect("a policy")
        .build()
        .expect("builds");
    client
        .get(format!("http://{}/?key=canary", server.address))
        .send()
        .await
        .expect("an answer");
    let head = other.heads().pop().expect("a request");
    assert!(
        head.starts_with("GET /end") && !head.contains("canary"),
        "{head}"
    );
}

#[tokio::test]
async fn drops_headers_and_bodies_for_another_origin() {
    if !has_second_address().await {
        return;
    }
    let other = Server::start(([127, 0, 0, 2], 0), |_| ok("")).await;
    let to = format!("http://{}/", other.address);
    let (mut dropped, mut kept) = (0, 0);
    for status in STATUSES {
        let server = Server::start(([127, 0, 0, 2], 0), {
            let to = to.clone();
            move |head| match head.split(' ').nth(1) {
                Some("/away") => redirect(status, &to),
                Some("/same") => redirect(status, "/end"),
                _ => answer(200, &[], b""),
            }
        })
        .await;
        let client = EgressClient::new(policy()).expect("builds");
        let request = |path: &str| {
            let request = client
                .get(format!("http://{}{path}", server.address))
                .bearer_auth("canary");
            let request = request
                .header("cookie", "canary")
                .header("x-api-key", "canary")
                .header("accept", "text/html");
            request.header("proxy-authorization", "canary")
        };
        request("/away").send().await.expect("an answer");
        let head = other.heads().pop().expect("a request");
        assert!(
            !head.contains("canary") && head.contains("accept: text/html"),
            "{head}"
        );
        dropped += 1;
        request("/same").send().await.expect("an answer");
        let head = server.heads().pop().expect("a request");
        assert!(
            head.starts_with("GET /end") && head.matches("canary").count() == 4,
            "{head}"
        );
        kept += 1;

        let before = other.connections();
        let post = client
            .post(format!("http://{}/away", server.address))
            .bearer_auth("canary")
            .body("canary")
            .send()
            .await;
        if matches!(status, 307 | 308) {
            let error = post.expect_err("the body would leave");
            assert!(
                matches!(error, EgressError::RedirectedBody { .. }),
                "{error}"
            );
            assert_eq!(other.connections(), before);
        } else {
            post.expect("an answer");
            let head = other.heads().pop().expect("a request");
            assert!(
                head.starts_with("GET / ")
                    && !head.contains("canary")
                    && !head.contains("content-"),
                "{head}"
            );
        }
    }
    assert_eq!((dropped, kept), (5, 5));
}
