//! Name servers that change their answer.

use crate::support::{Scripted, Server, has_second_address, is_refusal, ok};
use std::net::IpAddr;
use tool_adapters::egress::{EgressClient, EgressPolicy};

const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// Starts the victim, and a server on the same port whose address stands for a public one.
async fn servers() -> (Server, Server) {
    loop {
        let victim = Server::victim().await;
        // The port may be taken at the other address.
        if tokio::net::TcpListener::bind((PUBLIC, victim.port()))
            .await
            .is_ok()
        {
            let public = Server::start((PUBLIC, victim.port()), |_| ok("public")).await;
            return (victim, public);
        }
    }
}

// T20
#[tokio::test]
async fn connects_to_checked_addresses_only() {
    if !has_second_address().await {
        return;
    }
    let (victim, public) = servers().await;
    let resolver = Scripted::new(|question, _| match question % 4 {
        0 => vec![PUBLIC],
        1 => vec![LOCAL],
        2 => vec![LOCAL, PUBLIC],
        _ => vec![
            PUBLIC,
            LOCAL,
            "::ffff:127.0.0.1".parse().expect("an address"),
        ],
    });
    let policy = EgressPolicy::new()
        .allow_network("127.0.0.2")
        .resolver(resolver.clone());
    let client = EgressClient::new(policy).expect("builds");
    let (mut served, mut refused) = (0, 0);
    for number in 0..1_000 {
        let url = format!("http://rebinding-{}.example:{}/", number % 7, victim.port());
        match client.get(url).send().await {
            Ok(answer) => {
                assert_eq!(answer.text().await.expect("a body"), "public");
                served += 1;
            }
            Err(error) => {
                assert!(is_refusal(&error), "{error}");
                refused += 1;
            }
        }
    }
    assert_eq!((served, refused, public.connections()), (750, 250, 750));
    assert_eq!(resolver.questions(), 1_000, "each connection asks once");
    victim.assert_untouched().await;
}

#[tokio::test]
async fn resolves_for_other_protocols_to_allowed_addresses() {
    let resolver = Scripted::new(|question, _| {
        if question == 0 {
            vec![LOCAL, PUBLIC]
        } else {
            vec![LOCAL]
        }
    });
    let policy = EgressPolicy::new()
        .allow_network("127.0.0.2")
        .resolver(resolver);
    let client = EgressClient::new(policy).expect("builds");
    assert_eq!(
        client.resolve("imap.example", 993).await.expect("resolves"),
        [(PUBLIC, 993).into()]
    );
    for host in ["imap.example", "127.0.0.1", "::1", "[::1]", "10.0.0.1"] {
        let error = client.resolve(host, 993).await.expect_err(host);
        assert!(is_refusal(&error), "{error}");
    }
}

#[tokio::test]
async fn checks_what_the_systems_resolver_makes_of_a_name() {
    let client = EgressClient::new(EgressPolicy::new()).expect("builds");
    // The resolver of the C library knows these notations of 127.0.0.1.
    for host in [
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
    ] {
        let error = client.resolve(host, 993).await.expect_err(host);
        assert!(is_refusal(&error), "{host}: {error}");
    }
}
