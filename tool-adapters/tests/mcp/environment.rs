//! The environment of an imported server's process.
#![cfg(unix)]

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
    let file = std::env::var_os(FILE).map(PathBuf::from).expect("this is the other process");
    let mut command = Command::new("sh");
    command.args(["-c", r#"env > "$1""#, "sh"]).arg(file).env("ON_COMMAND", "1").env_remove("LANG");
    let import = McpClient::command(command).env("ON_CLIENT", "2").env_from_parent(["CANARY_7", "NOT_SET"]);
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
    let seen = written.lines().filter_map(|line| line.split_once('=')).collect::<BTreeMap<_, _>>();
    let canaries = seen.values().filter(|value| value.starts_with("canary-")).collect::<Vec<_>>();
    assert_eq!(canaries, [&"canary-7"], "of 1,000, the named one");
    assert_eq!((seen.get("ON_COMMAND"), seen.get("ON_CLIENT")), (Some(&"1"), Some(&"2")));
    assert!(seen.contains_key("PATH") && seen.get("TERM") == Some(&"dumb") && !seen.contains_key("LANG"));
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
    let others = seen.keys().filter(|name| !known.contains(name)).collect::<Vec<_>>();
    assert!(others.is_empty(), "{others:?}");
}
