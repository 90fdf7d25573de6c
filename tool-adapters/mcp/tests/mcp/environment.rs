//! The environment, the keys and the standard error of an imported server's process.
#![cfg(unix)]

use super::credentials::Logs;
use super::support::{run_alone, until};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use tool_adapters::mcp::McpClient;

/// The file to which the server's process writes its environment.
const FILE: &str = "TOOL_ADAPTERS_ENVIRONMENT";

/// Imports a server that only writes its environment.
#[tokio::test]
#[ignore = "the other test runs it in a process of its own"]
async fn imports_a_server_that_writes_its_environment() {
    let file = std::env::var_os(FILE)
        .map(PathBuf::from)
        .expect("this is the other process");
    let mut command = Command::new("sh");
    command
        .args(["-c", r#"env > "$1""#, "sh"])
        .arg(file)
        .env("ON_COMMAND", "1")
        .env_remove("LANG");
    let import = McpClient::command(command)
        .env("ON_CLIENT", "2")
        .env_from_parent(["CANARY_7", "NOT_SET"]);
    import.connect().await.expect_err("it is no server");
}

#[test]
fn a_server_gets_the_named_variables_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("environment");
    let mut other = Command::new(std::env::current_exe().expect("this program"));
    let test = "environment::imports_a_server_that_writes_its_environment";
    other
        .args(["--ignored", "--exact", test, "--test-threads=1"])
        .env(FILE, &file)
        .env("LANG", "C")
        .env("TERM", "dumb");
    other.envs((0..1_000).map(|at| (format!("CANARY_{at}"), format!("canary-{at}"))));
    assert!(other.output().expect("a process").status.success());
    let written = std::fs::read_to_string(&file).expect("an environment");
    let seen = written
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect::<BTreeMap<_, _>>();
    let canaries = seen
        .values()
        .filter(|value| value.starts_with("canary-"))
        .collect::<Vec<_>>();
    assert_eq!(canaries, [&"canary-7"], "of 1,000, the named one");
    assert_eq!(
        (seen.get("ON_COMMAND"), seen.get("ON_CLIENT")),
        (Some(&"1"), Some(&"2"))
    );
    assert!(
        seen.contains_key("PATH")
            && seen.get("TERM") == Some(&"dumb")
            && !seen.contains_key("LANG")
    );
    let known = [
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "USER",
        "ON_COMMAND",
        "ON_CLIENT",
        "CANARY_7",
        "PWD",
        "SHLVL",
        "OLDPWD",
        "_",
    ];
    let others = seen
        .keys()
        .filter(|name| !known.contains(name))
        .collect::<Vec<_>>();
    assert!(others.is_empty(), "{others:?}");
}

/// Returns a server that ends after this script, and all lines that it logs.
fn ends_after(
    script: &str,
    arguments: &[String],
) -> (McpClient, Logs, tracing::subscriber::DefaultGuard) {
    let logs = Logs::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(logs.clone())
        .with_max_level(tracing::Level::TRACE);
    let guard = tracing::subscriber::set_default(subscriber.with_ansi(false).finish());
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).args(arguments);
    (McpClient::command(command), logs, guard)
}

fn text_of(logs: &Logs) -> String {
    String::from_utf8_lossy(&logs.0.lock().expect("no panic")).into_owned()
}

#[test]
fn processes_show_no_key_and_forge_no_line() {
    run_alone("environment::a_thousand_keys_of_commands_are_masked");
    run_alone("environment::a_thousand_lines_of_errors_forge_nothing");
    run_alone("environment::variables_of_a_server_show_no_key");
}

#[tokio::test]
#[ignore = "the other test runs it in a process of its own"]
async fn variables_of_a_server_show_no_key() {
    let script = r#"read -r line; env | grep -i canary >&2
        echo '{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"'"$DATABASE_URL $SERVICE $PLAIN_TOKEN"'"}}'"#;
    let (client, logs, _guard) = ends_after(script, &[]);
    let client = client
        .env("PLAIN_TOKEN", "canary-one-x")
        .env("SERVICE", "canary2f8a7b6c5d4e3f2a1b0c");
    let client = client.env(
        "DATABASE_URL",
        "postgres://alice:canary-three@db.example/notes",
    );
    let shown = format!("{client:?}");
    let error = client.connect().await.expect_err("no server");
    until(async || text_of(&logs).contains("a server wrote")).await;
    for text in [shown, format!("{error} {error:?}"), text_of(&logs)] {
        assert!(!text.contains("canary"), "{text}");
    }
    assert!(error.to_string().matches("[key]").count() >= 3, "{error}");
    assert!(
        !text_of(&logs).contains("looks like a key"),
        "no argument has one"
    );
    let (client, logs, _guard) = ends_after(
        "exit 1",
        &["--api-key".to_owned(), "canary-four".to_owned()],
    );
    client.connect().await.expect_err("no server");
    let text = text_of(&logs);
    assert!(
        text.contains("looks like a key") && !text.contains("canary"),
        "{text}"
    );
}

#[tokio::test]
#[ignore = "the other test runs it in a process of its own"]
async fn a_thousand_keys_of_commands_are_masked() {
    let script = r#"read -r line; echo "$* $API_KEY" >&2
        echo '{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"'"$* $API_KEY"'"}}'"#;
    let (mut shown, mut masked) = (Vec::new(), 0);
    for at in 0..200 {
        let key = |kind: &str| format!("canary{kind}{at}x");
        let words = [
            "--token".to_owned(),
            key("one"),
            format!("-p{}", key("two")),
            format!("--key={}", key("three")),
        ];
        let words = [&words[..], &["serve".to_owned(), key("four")]].concat();
        let (client, logs, _guard) = ends_after(script, &words);
        shown.push(format!("{client:?}"));
        let error = client
            .env("API_KEY", key("five"))
            .connect()
            .await
            .expect_err("no server");
        shown.push(format!("{error} {error:?}"));
        masked += error.to_string().matches("[key]").count();
        until(async || text_of(&logs).contains("a server wrote")).await;
        shown.push(text_of(&logs));
    }
    assert_eq!(shown.iter().find(|text| text.contains("canary")), None);
    assert!(masked >= 1_000, "{masked}");
}

#[tokio::test]
#[ignore = "the other test runs it in a process of its own"]
async fn a_thousand_lines_of_errors_forge_nothing() {
    let script = r"i=0; while [ $i -lt 1000 ]; do
        printf '\033[2K\r2026-11-23 ERROR login: forged %s\r\033]0;x\007\n' $i >&2; i=$((i+1)); done";
    let (client, logs, _guard) = ends_after(script, &[]);
    client.connect().await.expect_err("no server");
    until(async || text_of(&logs).contains("sends too many lines")).await;
    let text = text_of(&logs);
    assert!(!text.contains(['\u{1b}', '\r', '\u{7}']));
    assert_eq!(text.matches("a server wrote").count(), 100, "of 1,000");
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with("2026-11-23 ERROR"))
    );
}
