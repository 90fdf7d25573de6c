//! Servers that are broken, that grow, and that change.

use crate::support::{Client, Folder, start, until};
use serde_json::json;

#[tokio::test]
async fn a_broken_server_leaves_the_others_alone() {
    let folder = Folder::new("");
    let script = folder.path("late.sh");
    let late = folder.child("late", "v1");
    let mut through_script = late.clone();
    through_script["command"] = json!(script);
    folder.servers(&json!({
        "one": folder.child("one", "v1"),
        "late": through_script,
        "gone": {"command": "/nonexistent/program"},
        "ends": {"command": "false"}
    }));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    assert!(
        client
            .tools()
            .await
            .iter()
            .all(|tool| tool.starts_with("one_"))
    );
    assert!(!client.call("one_echo", json!({"text": "a"})).await.1);
    let states = gateway
        .servers()
        .into_iter()
        .map(|server| (server.name, server.is_up))
        .collect::<Vec<_>>();
    let expected = [
        ("one", true),
        ("late", false),
        ("gone", false),
        ("ends", false),
    ];
    assert_eq!(
        states,
        expected.map(|(name, is_up)| (name.to_owned(), is_up))
    );
    assert!(
        gateway
            .servers()
            .iter()
            .filter(|server| !server.is_up)
            .all(|server| server.error.is_some())
    );

    // It is tried again, and its tools appear.
    folder.write("late.sh", "#!/bin/sh\nexec sh \"$@\"\n");
    let mut permissions = std::fs::metadata(&script).expect("a file").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&script, permissions).expect("set");
    client.offered("late_echo").await;
    client.notified("notifications/tools/list_changed").await;
    assert_eq!(
        client.call("late_echo", json!({"text": "a"})).await,
        ("v1 a".to_owned(), false)
    );
    gateway.close().await;
}

#[tokio::test]
async fn a_server_that_crashes_is_started_again() {
    let (folder, gateway, mut client) = start("").await;
    assert!(client.call("one_crash", json!({})).await.1);
    until(async || gateway.servers()[0].is_up && folder.notes("one").len() == 2).await;
    assert_eq!(
        client.call("one_echo", json!({"text": "a"})).await,
        ("v1 a".to_owned(), false)
    );
    gateway.close().await;
}

// T25
#[tokio::test]
async fn a_server_that_a_call_repairs_is_up_again() {
    let folder = Folder::new("");
    let mut one = folder.child("one", "v1");
    let script = r#"test ! -e broken || exit 1; exec "$0" "$@" 3>&1 >&2"#;
    (one["args"][1], one["cwd"]) = (json!(script), json!(folder.as_path()));
    folder.servers(&json!({"one": one}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    folder.write("broken", "");
    client.call("one_crash", json!({})).await;
    until(async || gateway.servers()[0].error.is_some()).await;

    std::fs::remove_file(folder.path("broken")).expect("removed");
    // The gateway itself tries again after a pause.
    until(async || !client.call("one_echo", json!({"text": "a"})).await.1).await;
    until(async || gateway.servers()[0].is_up).await;
    gateway.close().await;
}

#[tokio::test]
async fn a_rule_says_that_no_call_is_sent_again() {
    let folder = Folder::new("");
    folder.servers(&json!({"one": folder.child("one", "fragile")}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    let mut sent = 0;
    for (rule, times) in [
        ("", 2),
        ("resend = false", 1),
        ("category = 'action'", 1),
        ("resend = true", 2),
    ] {
        let rule = if rule.is_empty() {
            String::new()
        } else {
            format!("[[tools]]\nmatch = '*_fragile'\n{rule}")
        };
        folder.policy(&rule);
        gateway.reload().await.expect("valid files");
        let (text, is_error) = client.call("one_fragile", json!({})).await;
        assert_eq!(
            (is_error, text.contains("may have had effects")),
            (true, times == 1),
            "{rule}: {text}"
        );
        sent += times;
        assert_eq!(
            folder
                .notes("one")
                .iter()
                .filter(|note| *note == "fragile")
                .count(),
            sent,
            "{rule}"
        );
    }
    gateway.close().await;
}

#[tokio::test]
async fn added_tools_are_offered_over_the_same_connection() {
    let (folder, gateway, mut client) = start("").await;
    assert!(!client.call("one_grow", json!({})).await.1);
    client.offered("one_later").await;
    client.notified("notifications/tools/list_changed").await;
    assert_eq!(
        client.call("one_later", json!({})).await,
        ("later".to_owned(), false)
    );
    assert_eq!(folder.notes("one").len(), 1, "one process");
    gateway.close().await;
}

#[tokio::test]
async fn only_pinned_tools_are_offered_if_the_policy_says_so() {
    let folder = Folder::new("[pins]\nfile = 'pins.json'");
    tool_adapters::mcp::Pins::create(folder.path("pins.json")).expect("created");
    let gateway = folder.open().await;
    assert_eq!(Client::connect(&gateway).await.tools().await.len(), 5);
    gateway.close().await;

    folder.policy("[pins]\nfile = 'pins.json'\npinned_only = true");
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    assert_eq!(client.tools().await.len(), 5);
    client.call("one_grow", json!({})).await;
    until(async || !gateway.servers()[0].quarantined.is_empty()).await;
    assert!(!client.tools().await.contains(&"one_later".to_owned()));
    gateway.close().await;
}

#[tokio::test]
async fn a_missing_file_of_pins_is_an_error() {
    let folder = Folder::new("[pins]\nfile = 'pins.json'");
    let error = tool_adapters::gateway::Gateway::open(folder.files())
        .await
        .expect_err("no pins")
        .to_string();
    assert!(error.contains("--create-pins"), "{error}");
}

#[tokio::test]
async fn no_server_offers_a_name_with_the_prefix_of_another() {
    let folder = Folder::new("[servers.one]\nprefix = ''");
    for (two, echoes) in [
        (folder.child("two", "v2"), true),
        (json!({"command": "false"}), false),
    ] {
        folder.servers(&json!({"one": folder.child("one", "shadows"), "two": two}));
        let gateway = folder.open().await;
        let mut client = Client::connect(&gateway).await;
        assert_eq!(
            client.call("two_echo", json!({"text": "a"})).await.0 == "v2 a",
            echoes
        );
        assert_eq!(
            client.tools().await.contains(&"two_echo".to_owned()),
            echoes,
            "also while the other is down"
        );
        gateway.close().await;
    }
}

#[tokio::test]
async fn of_two_tools_of_one_name_the_first_is_offered() {
    let folder = Folder::new("[servers.one]\nprefix = 'same'\n[servers.two]\nprefix = 'same'");
    folder.servers(
        &json!({"one": folder.child("one", "first"), "two": folder.child("two", "second")}),
    );
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    assert_eq!(
        client.call("same_echo", json!({"text": "a"})).await.0,
        "first a"
    );
    assert_eq!(client.tools().await.len(), 5);
    gateway.close().await;
}
