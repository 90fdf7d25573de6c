//! Notations of addresses that are not public.

use crate::support::{Scripted, Server, is_refusal};
use std::collections::BTreeSet;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use tool_adapters::egress::{EgressClient, EgressError, EgressPolicy, client_builder};

const ADDRESSES: [Ipv4Addr; 12] = [
    Ipv4Addr::LOCALHOST,
    Ipv4Addr::new(127, 1, 2, 3),
    Ipv4Addr::new(127, 255, 255, 254),
    Ipv4Addr::UNSPECIFIED,
    Ipv4Addr::new(10, 0, 0, 1),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(172, 31, 255, 255),
    Ipv4Addr::new(192, 168, 1, 1),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(224, 0, 0, 1),
    Ipv4Addr::BROADCAST,
];

/// Returns the notations of one address that browsers, libcs and parsers know.
fn notations(address: Ipv4Addr) -> Vec<String> {
    let (parts, number) = (address.octets(), address.to_bits());
    let ([a, b, c, d], three, two) = (parts, number & 0xff_ffff, number & 0xffff);
    let dotted = address.to_string();
    let mapped_digits = |map: fn(char) -> char| dotted.chars().map(map).collect::<String>();
    let shifted = |from: u32| {
        move |digit: char| char::from_u32(from + u32::from(digit) - u32::from('0')).unwrap_or(digit)
    };
    let wide = dotted
        .chars()
        .map(|c| {
            if c.is_ascii_digit() {
                shifted(0xff10)(c)
            } else {
                c
            }
        })
        .collect::<String>();
    let bold = dotted
        .chars()
        .map(|c| {
            if c.is_ascii_digit() {
                shifted(0x1d7ce)(c)
            } else {
                c
            }
        })
        .collect::<String>();
    let encoded = dotted
        .bytes()
        .map(|byte| format!("%{byte:02x}"))
        .collect::<Vec<_>>()
        .concat();
    let (high, low) = (number >> 16, two);
    let (inverse_high, inverse_low) = (!number >> 16, !number & 0xffff);
    let v4 = [
        dotted.clone(),
        number.to_string(),
        format!("{number:#x}"),
        format!("0X{number:X}"),
        format!("0{number:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("000{a:o}.0000{b:o}.00{c:o}.0{d:o}"),
        format!("{a:#x}.0{b:o}.{c}.{d:#x}"),
        format!("{a}.{three}"),
        format!("{a}.{b}.{two}"),
        format!("{a:#x}.{three:#x}"),
        format!("0{a:o}.{b}.0{two:o}"),
        mapped_digits(|c| if c == '.' { '。' } else { c }),
        mapped_digits(|c| if c == '.' { '．' } else { c }),
        mapped_digits(|c| if c == '.' { '｡' } else { c }),
        wide,
        bold,
        encoded,
    ];
    let v6 = [
        format!("[::ffff:{dotted}]"),
        format!("[::FFFF:{high:x}:{low:x}]"),
        format!("[0:0:0:0:0:ffff:{high:x}:{low:x}]"),
        format!("[0000:0000:0000:0000:0000:ffff:{dotted}]"),
        format!("[::{dotted}]"),
        format!("[::{high:x}:{low:x}]"),
        format!("[::ffff:0:{dotted}]"),
        format!("[64:ff9b::{dotted}]"),
        format!("[64:ff9b:1::{dotted}]"),
        format!("[64:ff9b:1:2:3:4:{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("[2001:0:1:2:3:4:{inverse_high:x}:{inverse_low:x}]"),
        format!("[::ffff:{dotted}%25eth0]"),
        format!("[::ffff:{dotted}%lo]"),
    ];
    let dots = v4
        .iter()
        .flat_map(|host| ["{}.", "{}..", "{}%2e", "{}。"].map(|form| form.replace("{}", host)));
    v4.iter().cloned().chain(dots).chain(v6).collect()
}

/// Returns URLs that lead to a host, whatever a reader may take them for.
fn urls(host: &str, port: u16) -> [String; 12] {
    [
        format!("http://{host}:{port}/"),
        format!("HTTP://{host}:{port}/latest/meta-data"),
        format!("http:{host}:{port}"),
        format!("http:/{host}:{port}"),
        format!("http:///{host}:{port}"),
        format!("http:\\\\{host}:{port}\\"),
        format!("  http://{host}:{port}/\t"),
        format!("ht\ntp://{host}:{port}/"),
        format!("http://{host}:{port}\\@example.com/"),
        format!("http://{host}:{port}#@example.com/"),
        format!("http://{host}:{port}?@example.com/"),
        format!("https://{host}:{port}/"),
    ]
}

fn with_credentials(host: &str, port: u16) -> [String; 3] {
    [
        format!("http://example.com@{host}:{port}/"),
        format!("http://example.com:80%40@{host}:{port}/"),
        format!("http://user:word@{host}:{port}/"),
    ]
}

fn names() -> Vec<String> {
    let more = [
        "localhost",
        "localhost.",
        "LOCALHOST",
        "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
        "local\thost",
        "a.localhost",
        "localhost.localdomain",
        "127.0.0.1.nip.io",
        "metadata.google.internal",
        "instance-data",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fe80::a9fe:a9fe]",
        "[fec0::1]",
        "[ff02::1]",
        "[100::1]",
        "[2001:db8::1]",
    ];
    ADDRESSES
        .into_iter()
        .flat_map(notations)
        .chain(more.map(str::to_owned))
        .collect()
}

/// An attacker's name server, which gives this machine for every name.
fn policy() -> EgressPolicy {
    EgressPolicy::new().resolver(Scripted::new(|_, _| vec![IpAddr::from([127, 0, 0, 1])]))
}

// T20
#[tokio::test]
async fn refuses_every_notation_of_a_local_address() {
    let victim = Server::victim().await;
    let client = EgressClient::new(policy()).expect("builds");
    let mut tried = BTreeSet::new();
    for host in names() {
        let (plain, credentials) = (
            urls(&host, victim.port()),
            with_credentials(&host, victim.port()),
        );
        for url in plain.into_iter().chain(credentials) {
            let error = client.get(&url).send().await.expect_err(&url);
            // Rustls knows that some of these are no names.
            let is_no_name =
                url.starts_with("https") && matches!(error, EgressError::Connect { .. });
            assert!(
                (is_refusal(&error) || is_no_name) && !error.was_sent(),
                "{url:?}: {error}"
            );
            tried.insert(url);
        }
    }
    assert!(tried.len() > 10_000, "{}", tried.len());
    victim.assert_untouched().await;
}

#[tokio::test]
async fn a_plain_client_of_the_guard_refuses_them_too() {
    let victim = Server::victim().await;
    let client = client_builder(policy())
        .expect("a policy")
        .build()
        .expect("builds");
    let mut tried = 0;
    for host in names() {
        for url in urls(&host, victim.port()).into_iter().step_by(4) {
            let error = client.get(&url).send().await.expect_err(&url);
            let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
            let refusal = causes.find_map(|cause| cause.downcast_ref::<EgressError>());
            assert!(
                error.is_builder() || refusal.is_some_and(is_refusal),
                "{url}: {error:?}"
            );
            tried += 1;
        }
    }
    assert!(tried > 3_000, "{tried}");
    victim.assert_untouched().await;
}

#[tokio::test]
async fn the_notations_reach_the_address_without_the_guard() {
    let victim = Server::victim().await;
    let client = EgressClient::new(policy().allow_loopback()).expect("builds");
    let mut reached = 0;
    for host in notations(Ipv4Addr::LOCALHOST) {
        reached += usize::from(
            client
                .get(format!("http://{host}:{}/", victim.port()))
                .send()
                .await
                .is_ok(),
        );
    }
    assert!(reached >= 50, "{reached}");
    assert_eq!(victim.connections(), reached);
}
