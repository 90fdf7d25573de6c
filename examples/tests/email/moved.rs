//! A password goes only to the servers that it was entered for.

use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::TcpListener;
use tool_core::agents::{AgentErrorKind, Agents, Keyring, MemoryAgentToolStore};

fn config(server: &str, port: u16) -> Value {
    json!({"smtp_server": server, "smtp_port": port, "from_email": "office@example.com", "security": "none"})
}

#[tokio::test]
async fn password_is_not_sent_to_a_changed_server() {
    let keys = Keyring::parse(&format!("one:{}", "1f".repeat(32))).unwrap();
    let agents = Agents::builder(MemoryAgentToolStore::new())
        .keys(keys)
        .build()
        .unwrap();
    let record = agents
        .add("alice", "email")
        .config(config("localhost", 9))
        .secrets(json!({"password": "canary"}));
    let mut record = record.save().await.unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let port = other.local_addr().unwrap().port();
    let letter = json!({"to": "bob@example.com", "subject": "Hello", "body": "How are you?"});
    for (changed, expected) in [
        (config("localhost", port), vec!["/smtp_port"]),
        (
            config("127.0.0.1", port),
            vec!["/smtp_port", "/smtp_server"],
        ),
        (
            json!({"security": "tls", "smtp_server": "localhost", "smtp_port": 9, "from_email": "a@example.com"}),
            vec!["/security"],
        ),
    ] {
        // A form of a person who may not see the password.
        record = agents.edit(&record).config(changed).save().await.unwrap();
        let error = agents
            .executor("alice")
            .run_tool_action("email", "send_email", letter.clone())
            .await
            .unwrap_err();
        let expected = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(
            error.kind,
            AgentErrorKind::DestinationChanged { settings: expected }
        );
    }
    assert_eq!(other.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}
