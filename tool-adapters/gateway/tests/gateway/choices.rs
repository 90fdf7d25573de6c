//! Tools that a user has switched off or approved in the file of a client.

use crate::support::{Client, Folder};
use serde_json::{Value, json};
use std::process::Command;

/// Creates a folder with one server, whose entry has further members.
fn folder(policy: &str, members: &Value) -> Folder {
    let folder = Folder::new(policy);
    let mut entry = folder.child("one", "v1");
    for (name, value) in members.as_object().expect("members") {
        entry[name] = value.clone();
    }
    folder.servers(&json!({"one": entry}));
    folder
}

fn check(folder: &Folder) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
    command
        .arg("--config")
        .arg(folder.path("mcp.json"))
        .arg("--policy")
        .arg(folder.path("policy.toml"))
        .arg("--check");
    String::from_utf8(command.output().expect("started").stdout).expect("text")
}

async fn names(client: &mut Client) -> Vec<String> {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

// C15
#[tokio::test]
async fn tools_that_the_user_switched_off_are_not_offered() {
    let all_but_two = json!(["echo", "hold"]);
    for members in [
        json!({"disabledTools": ["write"]}),
        json!({"disabled_tools": ["wr*"]}),
        json!({"excludeTools": ["write(text)"]}),
        json!({"includeTools": all_but_two}),
        json!({"enabledTools": all_but_two}),
        json!({"tools": all_but_two}),
        json!({"tools": {"write": false, "echo": true}}),
        json!({"tools": {"write": {"enabled": false}}}),
    ] {
        let folder = folder("", &members);
        let gateway = folder.open().await;
        let mut client = Client::connect(&gateway).await;
        let names = names(&mut client).await;
        assert!(
            names.contains(&"one_echo".to_owned()) && !names.contains(&"one_write".to_owned()),
            "{members}: {names:?}"
        );
        let call = json!({"name": "one_write", "arguments": {"text": "a"}});
        let answer = client.request("tools/call", call).await;
        assert!(
            answer["error"].is_object() || answer["result"]["isError"] == true,
            "{answer}"
        );
        assert!(
            !folder.notes("one").contains(&"write a".to_owned()),
            "{members}"
        );
        gateway.close().await;
    }
}

// C15
#[test]
fn the_check_names_what_is_switched_off_and_approved() {
    let members = json!({"disabledTools": ["write", "wirte"], "alwaysAllow": ["hold"], "disabledTool": ["x"]});
    let text = check(&folder("", &members));
    for line in [
        "not offered: `write` is switched off by `disabledTools` of the configuration",
        "warning: `disabledTools` of `one` names `wirte`, which matches no tool of the server",
        "one_hold (action, timeout 30s, alwaysAllow not honoured)",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

// C15
#[tokio::test]
async fn approvals_of_the_file_hold_if_the_policy_says_so() {
    let rule = "[[tools]]\nmatch = '*_write'\nconfirm = true\n";
    for (policy, is_asked) in [
        (rule.to_owned(), true),
        (format!("{rule}[servers.one]\nauto_approve = true"), false),
    ] {
        let folder = folder(&policy, &json!({"alwaysAllow": ["write"]}));
        let gateway = folder.open().await;
        let mut client = Client::connect(&gateway).await;
        client.action = "decline";
        let call = json!({"name": "one_write", "arguments": {"text": "a"}});
        let answer = client.request("tools/call", call).await;
        assert_eq!(answer["result"]["isError"] == true, is_asked, "{answer}");
        assert_eq!(
            folder.notes("one").contains(&"write a".to_owned()),
            !is_asked
        );
        gateway.close().await;
    }
}
