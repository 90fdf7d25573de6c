//! The errors for messages that were refused or may have been sent.

use crate::support::{Mail, arrived, arrives, kind, server};
use serde_json::json;
use std::net::TcpListener;
use tool_adapters::egress::{EgressClient, EgressPolicy};

const TRANSIENT: (&str, bool, bool) = ("TRANSIENT", true, false);
const PERMANENT: (&str, bool, bool) = ("PERMANENT", false, false);
const RATE_LIMIT: (&str, bool, bool) = ("RATE_LIMIT", true, false);
/// The side effects of a message that may have been sent.
const UNKNOWN: (&str, bool, bool) = ("TRANSIENT", false, true);

// A5
#[tokio::test]
async fn smtp_codes_map_to_error_kinds() {
    let Some(server) = server() else { return };
    let mail = server.email("plain", json!({})).await;
    for (name, expected, words) in [
        (
            "unknown",
            PERMANENT,
            "refused the recipient: 550 5.1.1 No such user here",
        ),
        ("relay", PERMANENT, "554 5.7.1 Relay access denied"),
        ("grey", TRANSIENT, "451 4.7.1 Greylisted"),
        ("full", TRANSIENT, "452 4.2.2"),
        ("closing", TRANSIENT, "421 4.3.2"),
        ("flood", RATE_LIMIT, "450 4.7.28"),
        ("quota", RATE_LIMIT, "550 5.4.5"),
        ("login", ("AUTH", false, false), "530 5.7.0"),
        ("spam", PERMANENT, "refused the message: 554 5.7.1"),
        ("busy", TRANSIENT, "refused the message: 451 4.3.0"),
        ("throttled", RATE_LIMIT, "454 4.7.0"),
    ] {
        let to = format!("{name}@example.org");
        let error = mail.refused(&to).await;
        assert_eq!(kind(&error), expected, "{name}: {}", error.message);
        assert!(error.message.contains(words), "{name}: {}", error.message);
        assert!(arrived(&to).is_empty());
    }
}

#[tokio::test]
async fn greylisted_message_is_accepted_on_retry() {
    let Some(server) = server() else { return };
    let mail = server.email("plain", json!({})).await;
    assert_eq!(
        kind(&mail.refused("grey-again@example.org").await),
        TRANSIENT
    );
    assert!(mail.send("grey-again@example.org").await.is_ok());
    arrives("grey-again@example.org").await;
}

#[tokio::test]
async fn timeout_before_the_message_has_no_side_effects() {
    let Some(server) = server() else { return };
    for (port, to) in [
        ("silent", "nobody@example.org"),
        ("plain", "stuck@example.org"),
    ] {
        let mut config = server.config(port);
        config["timeout_seconds"] = 1.into();
        let error = Mail::new(config, json!({})).await.refused(to).await;
        assert_eq!(kind(&error), TRANSIENT, "{}", error.message);
        assert!(error.message.contains("within 1 s"), "{}", error.message);
    }
}

// R-E3
#[tokio::test]
async fn timeout_after_the_message_may_have_side_effects() {
    let Some(server) = server() else { return };
    for to in ["hang@example.org", "gone@example.org"] {
        let mut config = server.config("plain");
        config["timeout_seconds"] = 1.into();
        let error = Mail::new(config, json!({})).await.refused(to).await;
        assert_eq!(kind(&error), UNKNOWN, "{to}: {}", error.message);
        assert!(
            error
                .message
                .ends_with("the message may have been sent, do not send it again"),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn unreachable_server_is_transient() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    for (host, words) in [
        ("127.0.0.1", "Connection refused"),
        ("no-such-host.invalid", "cannot be reached"),
    ] {
        let config = json!({"smtp_server": host, "smtp_port": port, "from_email": "a@example.com"});
        let error = Mail::new(config, json!({}))
            .await
            .refused("ada@example.org")
            .await;
        assert_eq!(kind(&error), TRANSIENT);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

// T20
#[tokio::test]
async fn settings_reach_public_servers_only() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f.1",
        "127.1",
        "::1",
        "10.0.0.1",
        "169.254.169.254",
    ] {
        let config = json!({"smtp_server": host, "smtp_port": port, "imap_server": host, "imap_port": port,
            "from_email": "a@example.com"});
        let mut mail = Mail::new(config, json!({"password": "x"})).await;
        mail.egress = EgressClient::new(EgressPolicy::new()).unwrap();
        let letter = json!({"to": "ada@example.org", "subject": "Hello", "body": "How are you?"});
        for (tool, arguments) in [
            ("send_email", letter),
            ("check_inbox", json!({})),
            ("get_latest_emails", json!({})),
        ] {
            let response = mail.call(tool, arguments).await;
            let error = response.error().unwrap();
            assert_eq!(
                kind(error),
                ("PERMANENT", false, false),
                "{host}: {}",
                error.message
            );
        }
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "a connection was made");
}
