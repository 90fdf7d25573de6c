//! The program `tool-gateway` as people start it.

use crate::support::Folder;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

fn program(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
    command.arg("--config").arg(folder.path("mcp.json")).arg("--policy").arg(folder.path("policy.toml"));
    command
}

#[test]
fn serves_a_client_over_its_standard_streams() {
    let folder = Folder::new("[[tools]]\nmatch = '*_write'\nmax_calls = 1");
    let mut gateway =
        program(&folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let (mut input, output) = (gateway.stdin.take().expect("piped"), gateway.stdout.take().expect("piped"));
    let mut lines = BufReader::new(output).lines();
    let mut request = |message: Value| {
        writeln!(input, "{message}").expect("the gateway reads");
        let line = lines.next().expect("an answer").expect("a line");
        serde_json::from_str::<Value>(&line).expect("only the protocol")
    };
    let initialize =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answer = request(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}));
    assert_eq!(answer["result"]["serverInfo"]["name"], "tool-gateway");
    let call = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "one_write", "arguments": {"text": "a"}}});
    assert_eq!(request(call(2))["result"]["structuredContent"]["result"], "wrote a");
    assert_eq!(request(call(3))["result"]["isError"], true);
    drop(input);
    assert!(gateway.wait().expect("ended").success());
}

#[test]
fn problems_of_the_files_end_it_with_a_list() {
    let folder = Folder::new("limit = 1\nname = 7");
    let output = program(&folder).stdin(Stdio::null()).output().expect("ended");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(errors.lines().filter(|line| line.starts_with("error: ")).count(), 2, "{errors}");
    assert!(errors.contains("unknown key `limit`") && errors.contains("`limits`"), "{errors}");
}

/// The book's policy has every key, so that it shows all of them and this reads all of them.
#[test]
fn the_policy_of_the_book_is_valid() {
    let book = include_str!("../../../docs/book/gateway.md");
    let policy = book.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a policy");
    let folder = Folder::new(policy);
    folder.servers(&json!({"github": folder.child("github", "v1")}));
    tool_adapters::mcp::Pins::create(folder.path("mcp.pins.json")).expect("created");
    let check = |policy: &str| {
        folder.policy(policy);
        let mut check = program(&folder);
        check.args(["--check", "--log", "error"]).env("SIGNING_KEY", "0a".repeat(32)).env("OTEL_KEY", "k");
        for name in ["ADA_TOKEN", "METRICS_TOKEN", "INSPECTOR_TOKEN"] {
            check.env(name, "0123456789abcdef");
        }
        let output = check.output().expect("ended");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(check(policy), (Some(0), String::new()));
    // The error about a key that does not exist lists those of its table, which the book has all.
    for table in
        ["[limits]", "[[tools]]", "[servers.github]", "[pins]", "[egress]", "[http]", "[admin]", "[audit]", "[otel]"]
    {
        let (code, errors) = check(&policy.replacen(table, &format!("{table}\nbad = 1"), 1));
        assert_eq!(code, Some(2));
        for key in errors.split('`').skip(3).step_by(2) {
            assert!(
                policy.lines().any(|line| line.trim_start_matches("# ").starts_with(&format!("{key} = "))),
                "{table} {key}"
            );
        }
    }
}

#[test]
fn check_prints_the_tools_and_what_holds_for_them() {
    let folder =
        Folder::new("deny = ['*_crash']\n[[tools]]\nmatch = ['*_write', 'nothing_*']\nconfirm = true\nmax_calls = 2");
    let output = program(&folder).arg("--check").output().expect("ended");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("one: connected\n"), "{text}");
    assert!(text.contains("  one_write (action, confirm, max_calls 2, timeout 30s)\n"), "{text}");
    assert!(!text.contains("one_crash") && text.contains("\"nothing_*\" matches no tool"), "{text}");

    folder.servers(&json!({"one": {"command": "false"}}));
    let output = program(&folder).arg("--check").output().expect("ended");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn no_secret_of_the_files_is_printed() {
    let secret = "hunter2-0123456789abcdef";
    let folder = Folder::new(&format!(
        "[[http.principals]]\nname = 'ada'\ntoken = '{secret}'\n[admin]\ntoken = '{secret}'\n[inspector]\nlisten = '127.0.0.1:0'\ntoken = '{secret}'"
    ));
    let mut one = folder.child("one", "v1");
    one["env"]["SECRET"] = json!(secret);
    folder.servers(&json!({
        "one": one,
        "web": {"url": format!("http://127.0.0.1:9/{secret}/mcp?key={secret}"), "headers": {"X-Api-Key": secret}},
        "ends": {"command": "sh", "args": ["-c", "echo \"$SECRET\" >&2; exit 1", secret], "env": {"SECRET": secret}}
    }));
    for arguments in [&["--check"][..], &["--log", "debug"]] {
        let output = program(&folder).args(arguments).stdin(Stdio::null()).output().expect("ended");
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        assert!(!printed.contains("hunter2"), "{printed}");
        assert!(printed.contains("ends"), "{printed}");
    }
}

/// Returns true if a process runs. A zombie does not.
fn runs(process: &str) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", process]).output().expect("ps");
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[test]
fn an_interrupted_program_leaves_no_process() {
    let folder = Folder::new("");
    let script = "sleep 1000 & echo $$ $! >new; mv new processes; exec sleep 1000";
    folder.servers(&json!({"stuck": {"command": "sh", "args": ["-c", script], "cwd": "."}}));
    let mut gateway = program(&folder).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    // It waits for the server then.
    while !folder.path("processes").exists() {
        std::thread::yield_now();
    }
    let signal = Command::new("kill").args(["-INT", &gateway.id().to_string()]).status().expect("kill");
    assert!(signal.success());
    assert_eq!(gateway.wait().expect("ended").code(), Some(1));
    let waiting = std::time::Instant::now();
    while folder.read("processes").split_whitespace().any(runs) {
        assert!(waiting.elapsed().as_secs() < 20, "they go on");
    }
}
