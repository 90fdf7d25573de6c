//! Drafts: due, retried, and interrupted by a kill.

use crate::server;
use crate::support::Home;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use tool_core::jiff::{Timestamp, ToSpan};

pub(crate) fn draft(to: &str) -> Value {
    json!({"to": to, "subject": "Reminder", "body": "It begins.", "send_at": Timestamp::now() + 1.second()})
}

pub(crate) fn states(home: &Home) -> Vec<Value> {
    home.json(&["drafts"])
        .into_iter()
        .map(|draft| draft["state"].clone())
        .collect()
}

/// An SMTP server that accepts a message and then does not answer.
pub(crate) fn silent_at_the_end() -> (u16, std::sync::mpsc::Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, ends) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(b"220 localhost\r\n").unwrap();
            for line in BufReader::new(stream.try_clone().unwrap())
                .lines()
                .map_while(Result::ok)
            {
                let answer: &[u8] = match line.get(..4) {
                    Some("AUTH") => b"235 OK\r\n",
                    Some("EHLO") => b"250-localhost\r\n250 AUTH PLAIN\r\n",
                    Some("MAIL" | "RCPT") => b"250 OK\r\n",
                    Some("DATA") => b"354 Go\r\n",
                    _ if line == "." => break,
                    _ => continue,
                };
                stream.write_all(answer).unwrap();
            }
            told.send(stream).unwrap();
        }
    });
    (port, ends)
}

// A5
#[tokio::test(flavor = "multi_thread")]
async fn due_draft_is_sent_once() {
    let (address, mailbox) = server::start_at(0).await.unwrap();
    let home = Home::with_mail_at(address.port());
    let mut serving = home.serve();
    let scheduled = serving.call("schedule_draft", draft("grace@example.org"));
    assert_eq!(scheduled["ok"], true, "{scheduled}");
    assert_eq!(
        serving.call("schedule_draft", draft("fail-550@example.org"))["ok"],
        true
    );
    assert!(mailbox.arrived().is_empty());
    serving.says("to grace@example.org: sent");
    let failed = serving.says("to fail-550@example.org: failed");
    assert!(
        failed.contains("PERMANENT: the mail server refused the recipient: 550"),
        "{failed}"
    );
    assert_eq!(states(&home), ["sent", "failed"]);
    // Another worker with the same database finds nothing to do.
    home.serve().end();
    serving.end();
    let arrived = mailbox.arrived();
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    assert_eq!(
        (arrived[0].from.as_str(), arrived[0].to.as_str()),
        ("alice@example.com", "grace@example.org")
    );
    assert!(
        arrived[0].text.ends_with("\r\n\r\nIt begins.\r\n"),
        "{arrived:?}"
    );
}

// A5
#[tokio::test(flavor = "multi_thread")]
async fn draft_is_retried_after_outage_and_restart() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let home = Home::with_mail_at(port);
    let mut serving = home.serve();
    serving.call("schedule_draft", draft("grace@example.org"));
    let told = serving.says("tried again");
    assert!(told.contains("Connection refused"), "{told}");
    serving.end();
    assert_eq!(states(&home), ["waiting"]);

    let (ours, mailbox) = server::start_at(port).await.unwrap();
    assert_eq!(ours.port(), port);
    let serving = home.serve();
    serving.says("to grace@example.org: sent");
    serving.end();
    assert_eq!(
        (mailbox.arrived().len(), states(&home)),
        (1, vec![json!("sent")])
    );
}

// A5
#[test]
fn draft_interrupted_by_a_kill_is_not_sent_twice() {
    let (port, ends) = silent_at_the_end();
    let home = Home::with_mail_at(port);
    let mut serving = home.serve();
    serving.call("schedule_draft", draft("grace@example.org"));
    // The server has the message, and the worker has no answer yet.
    let _held = ends.recv().unwrap();
    serving.kill();
    assert_eq!(states(&home), ["sending"]);

    let serving = home.serve();
    let told = serving.says("may have been sent");
    assert!(
        told.contains("draft 1 of alice") && told.contains("not sent again"),
        "{told}"
    );
    assert_eq!(states(&home), ["unknown"]);
    serving.end();
    assert!(ends.recv_timeout(Duration::ZERO).is_err());
}

#[cfg(unix)]
#[test]
fn first_interrupt_waits_for_the_current_draft() {
    let (port, ends) = silent_at_the_end();
    let home = Home::with_mail_at(port);
    let mut serving = home.serve();
    serving.call("schedule_draft", draft("grace@example.org"));
    serving.call("schedule_draft", draft("ada@example.org"));
    let _held = ends.recv().unwrap();
    serving.interrupt();
    // The server holds the draft, so the worker cannot end by itself.
    serving.says("ending after the current draft");
    serving.interrupt();
    assert!(!serving.ended_well());
    // The second draft has not begun.
    assert_eq!(states(&home), ["sending", "waiting"]);
}

#[cfg(unix)]
#[test]
fn a_worker_that_is_told_to_end_ends_well() {
    let home = Home::with_mail_at(9);
    let mut serving = home.serve();
    serving.call("schedule_draft", draft("grace@example.org"));
    // Standard input stays open, as it does in a container.
    serving.signal("-TERM");
    serving.says("ending after the current draft");
    assert!(serving.ended_well());
    assert_eq!(states(&home), ["waiting"]);
}

#[test]
fn draft_of_a_disabled_agent_fails_with_a_reason() {
    let home = Home::with_mail_at(9);
    let mut serving = home.serve();
    serving.call("schedule_draft", draft("grace@example.org"));
    home.json(&["disable", "alice", "email", "send_email"]);
    let told = serving.says("failed");
    assert!(told.contains("action `send_email` is disabled"), "{told}");
    serving.end();
    assert_eq!(states(&home), ["failed"]);
}
