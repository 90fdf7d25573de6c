//! Reloads of the files while clients call.

use crate::support::{Client, Folder, start, text};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

async fn hold(client: &mut Client, folder: &Folder, tool: &str, server: &str) -> u64 {
    let id = client
        .send("tools/call", json!({"name": tool, "arguments": {}}))
        .await;
    crate::support::until(async || folder.notes(server).iter().any(|note| note == "hold")).await;
    id
}

fn starts(notes: &[String]) -> Vec<&str> {
    notes
        .iter()
        .filter_map(|note| note.strip_prefix("start ")?.split(' ').nth(1))
        .collect()
}

#[tokio::test]
async fn a_changed_server_ends_its_running_calls() {
    let folder = Folder::new("");
    let two = folder.child("two", "v1");
    folder.servers(&json!({"one": folder.child("one", "v1"), "two": two}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    let held = hold(&mut client, &folder, "one_hold", "one").await;

    folder.servers(&json!({"one": folder.child("one", "v2"), "two": two}));
    assert!(gateway.reload().await.expect("valid files"));
    crate::support::until(async || client.call("one_echo", json!({"text": "a"})).await.0 == "v2 a")
        .await;
    folder.write("one/release", "");
    assert_eq!(
        text(&client.answer(held).await),
        ("v1 held".to_owned(), false)
    );
    assert_eq!(starts(&folder.notes("one")), ["v1", "v2"]);
    assert_eq!(
        starts(&folder.notes("two")),
        ["v1"],
        "its entry is the same"
    );
    gateway.close().await;
}

#[tokio::test]
async fn no_call_is_lost_while_servers_change() {
    let (folder, gateway, mut client) = start("").await;
    let (mut answered, mut versions) = (0, std::collections::BTreeSet::new());
    for round in 0..5 {
        folder.servers(&json!({"one": folder.child("one", &format!("v{round}"))}));
        let mut ids = Vec::new();
        for n in 0..20 {
            ids.push((
                n,
                client
                    .send(
                        "tools/call",
                        json!({"name": "one_echo", "arguments": {"text": n.to_string()}}),
                    )
                    .await,
            ));
        }
        gateway.reload().await.expect("valid files");
        for n in 20..40 {
            ids.push((
                n,
                client
                    .send(
                        "tools/call",
                        json!({"name": "one_echo", "arguments": {"text": n.to_string()}}),
                    )
                    .await,
            ));
        }
        for (n, id) in ids {
            let (answer, is_error) = text(&client.answer(id).await);
            let (version, echoed) = answer.split_once(' ').expect("a version and a text");
            assert!(!is_error && echoed == n.to_string(), "{answer}");
            versions.insert(version.to_owned());
            answered += 1;
        }
        let expected = format!("v{round} x");
        crate::support::until(async || {
            client.call("one_echo", json!({"text": "x"})).await.0 == expected
        })
        .await;
    }
    assert_eq!((answered, versions.contains("v0")), (200, true));
    gateway.close().await;
}

/// Returns an entry of a server that never answers, with further members.
fn silent(mut members: Value) -> Value {
    members["command"] = json!("sh");
    members["args"] = json!(["-c", "cat >/dev/null"]);
    members
}

// C15
#[tokio::test]
async fn a_tool_that_is_switched_off_is_gone_at_once() {
    let (folder, gateway, mut client) = start("").await;
    let entry = silent(json!({"disabledTools": ["write"]}));
    folder.servers(&json!({"one": entry}));
    gateway.reload().await.expect("valid files");
    let tools = client.tools().await;
    assert!(
        tools.contains(&"one_echo".to_owned()),
        "the earlier connection serves it: {tools:?}"
    );
    assert!(!tools.contains(&"one_write".to_owned()), "{tools:?}");
    assert!(client.call("one_write", json!({"text": "a"})).await.1);
    assert_eq!(starts(&folder.notes("one")), ["v1"]);
    gateway.close().await;
}

// T31
#[tokio::test]
async fn rights_that_are_withdrawn_end_the_earlier_connection() {
    for (before, after) in [
        ("elicitation = true", ""),
        ("roots = true", ""),
        (
            "sampling = { requests = 2, tokens = 100 }",
            "sampling = { requests = 1, tokens = 100 }",
        ),
        ("", "prefix = 'other'"),
    ] {
        let (folder, gateway, mut client) = start(&format!("[servers.one]\n{before}")).await;
        assert!(!client.tools().await.is_empty());
        folder.servers(&json!({"one": silent(json!({}))}));
        folder.policy(&format!("[servers.one]\n{after}"));
        gateway.reload().await.expect("valid files");
        assert_eq!(client.tools().await, [""; 0], "{before}");
        gateway.close().await;
    }
}

#[tokio::test]
async fn clients_are_notified_of_new_tools() {
    let (folder, gateway, mut client) = start("deny = ['*_write']").await;
    assert!(!client.tools().await.contains(&"one_write".to_owned()));
    folder.policy("deny = ['*_echo']");
    gateway.reload().await.expect("valid files");
    client.notified("notifications/tools/list_changed").await;
    let tools = client.tools().await;
    assert!(
        tools.contains(&"one_write".to_owned()) && !tools.contains(&"one_echo".to_owned()),
        "{tools:?}"
    );
    assert_eq!(
        starts(&folder.notes("one")),
        ["v1"],
        "a policy needs no new connection"
    );
    gateway.close().await;
}

#[tokio::test]
async fn budgets_go_on_after_a_reload() {
    let (folder, gateway, mut client) = start("[limits]\naction = 2").await;
    assert!(!client.call("one_write", json!({"text": "a"})).await.1);
    folder.policy("[limits]\naction = 2\nretrieval = 9");
    gateway.reload().await.expect("valid files");
    assert!(!client.call("one_write", json!({"text": "b"})).await.1);
    assert!(
        client.call("one_write", json!({"text": "c"})).await.1,
        "a reload gives no new budget"
    );
    folder.policy("[limits]\naction = 3");
    gateway.reload().await.expect("valid files");
    assert!(
        !client.call("one_write", json!({"text": "d"})).await.1,
        "the new policy applies"
    );
    gateway.close().await;
}

#[tokio::test]
async fn a_broken_file_keeps_the_earlier_state() {
    let (folder, gateway, mut client) = start("deny = ['*_write']").await;
    let before = client.tools().await;
    for (config, policy) in [("{", ""), ("{}", ""), ("", "deny = 7"), ("", "dany = []")] {
        let intact = folder.read("mcp.json");
        if !config.is_empty() {
            folder.write("mcp.json", config);
        }
        folder.policy(policy);
        let error = gateway
            .reload()
            .await
            .expect_err("broken files")
            .to_string();
        assert!(
            error.contains(if config.is_empty() {
                "policy.toml"
            } else {
                "mcp.json"
            }),
            "{error}"
        );
        assert_eq!(client.tools().await, before);
        assert!(!client.call("one_echo", json!({"text": "a"})).await.1);
        folder.write("mcp.json", &intact);
    }
    folder.policy("");
    assert!(gateway.reload().await.expect("valid files"));
    assert_eq!(client.tools().await.len(), before.len() + 1);
    gateway.close().await;
}

#[tokio::test]
async fn a_removed_server_takes_its_tools_along() {
    let folder = Folder::new("");
    let one = folder.child("one", "v1");
    folder.servers(&json!({"one": one, "two": folder.child("two", "v1")}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    assert!(!client.call("two_echo", json!({"text": "a"})).await.1);
    folder.servers(&json!({"one": one}));
    gateway.reload().await.expect("valid files");
    assert!(client.call("two_echo", json!({"text": "a"})).await.1);
    assert!(!client.call("one_echo", json!({"text": "a"})).await.1);
    let process = folder.notes("two")[0]
        .split(' ')
        .nth(1)
        .expect("a process")
        .to_owned();
    crate::support::until(async || !runs(&process)).await;
    gateway.close().await;
}

/// Returns true if a process runs. A zombie does not.
fn runs(process: &str) -> bool {
    let output = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", process])
        .output()
        .expect("ps");
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

// T26
#[tokio::test]
async fn streams_end_once_their_principal_is_gone() {
    let principal = |name: &str, token: &str| {
        format!("[[http.principals]]\nname = '{name}'\ntoken = '{token}-0123456789abcdef'\n")
    };
    let ada = principal("ada", "ada");
    let folder = Folder::new(&[&*ada, &principal("bob", "bob"), &principal("cy", "cy")].concat());
    let gateway = folder.open().await;
    let url = format!("{}/mcp", crate::health::serve(&gateway).await);
    let mut streams = Vec::new();
    for name in ["ada", "bob", "cy"] {
        streams.push(listen(&url, name).await);
        streams.push(open_stream(&url, name).await);
    }

    folder.policy(&[&*ada, &principal("cy", "cy-anew")].concat());
    gateway.reload().await.expect("valid files");
    let of_others = streams.split_off(2);
    for stream in of_others {
        let ended = timeout(Duration::from_secs(60), stream.text()).await;
        ended.expect("it ends").expect("its end is whole");
    }
    folder.policy(&ada);
    gateway.reload().await.expect("valid files");
    for mut stream in streams {
        let mut text = String::new();
        // The token of ada is still good.
        while text.matches("tools/list_changed").count() < 2 {
            let chunk = timeout(Duration::from_secs(60), stream.chunk()).await;
            let chunk = chunk.expect("an event").expect("a chunk");
            text += &String::from_utf8_lossy(&chunk.expect("the stream goes on"));
        }
    }
    gateway.close().await;
}

fn request(method: Method, url: &str, principal: &str) -> RequestBuilder {
    let request = reqwest::Client::new().request(method, url);
    let request = request.bearer_auth(format!("{principal}-0123456789abcdef"));
    request.header("accept", "application/json, text/event-stream")
}

fn post(url: &str, principal: &str, message: &Value) -> RequestBuilder {
    let request = request(Method::POST, url, principal).body(message.to_string());
    request.header("content-type", "application/json")
}

/// Opens the own stream of a session.
async fn open_stream(url: &str, principal: &str) -> Response {
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
    }});
    let opened = post(url, principal, &begin);
    let opened = opened.send().await.expect("an answer");
    let session = opened.headers().get("mcp-session-id").expect("a session");
    let stream = request(Method::GET, url, principal).header("mcp-session-id", session);
    stream.send().await.expect("a stream")
}

/// Opens a stream of changes without a session.
async fn listen(url: &str, principal: &str) -> Response {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let stream = post(url, principal, &message)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "subscriptions/listen");
    let stream = stream.send().await.expect("a stream");
    assert_eq!(stream.status(), 200);
    stream
}

#[tokio::test]
async fn the_files_are_watched() {
    let (folder, gateway, mut client) = start("").await;
    folder.policy("deny = ['*_echo']");
    client.notified("notifications/tools/list_changed").await;
    let answer: Value = client.request("tools/list", json!({})).await;
    assert!(!answer.to_string().contains("one_echo"));
    gateway.close().await;
}
