//! The command line, run with cargo.

mod shared;

use serde_json::{Value, json};
use shared::run;
use std::process::Output;
use tool_adapters::Provider;

fn tools(arguments: &[&str], input: &str) -> Output {
    run("tools", arguments, &[], input)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn linked_tools_are_listed_by_name() {
    let output = tools(&["list", "--json"], "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let listed = json(&output);
    let names = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(names, ["convert_temperature", "book", "booked", "clear"]);
}

#[test]
fn every_tool_is_declared_to_every_provider() {
    for provider in Provider::ALL {
        let output = tools(
            &[
                "schema",
                "--provider",
                provider.name(),
                "--report",
                "--json",
            ],
            "",
        );
        let told = json(&output);
        for tool in told["report"]["tools"].as_array().unwrap() {
            assert!(tool["declaredAs"].is_string(), "{provider}: {tool}");
        }
    }
}

#[test]
fn call_prints_an_envelope_and_sets_the_exit_status() {
    let call = |arguments: &[&str], input: &str| {
        let output = tools(&[&["call", "--json"], arguments].concat(), input);
        (output.status.code(), json(&output))
    };
    let (status, envelope) = call(
        &["convert_temperature", "--args", "-"],
        r#"{"degrees": 100, "from": "celsius"}"#,
    );
    assert_eq!((status, &envelope["data"]), (Some(0), &json!(212.0)));
    let (status, envelope) = call(&["convert_temperature", "degrees=1", "from=kelvin"], "");
    assert_eq!(
        (status, &envelope["error"]["type"]),
        (Some(1), &json!("VALIDATION"))
    );
    let (status, envelope) = call(&["clear"], "");
    assert_eq!(
        (status, &envelope["error"]["type"]),
        (Some(1), &json!("CONFIRMATION_REQUIRED"))
    );
    let (status, envelope) = call(&["clear", "--approve"], "");
    assert_eq!((status, &envelope["data"]), (Some(0), &json!(0)));
}

#[test]
fn pairs_are_arguments_and_a_pipe_gets_text() {
    let output = tools(
        &["call", "convert_temperature", "degrees=100", "from=celsius"],
        "",
    );
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(0), &b"212.0\n"[..]),
        "{output:?}"
    );
    let place = ["place.kind=room", "place.number=3", "minutes=15"];
    let arguments = [
        &[
            "call",
            "book",
            "title=42",
            "start=2026-11-20T09:30:00+01:00",
        ],
        &place[..],
    ]
    .concat();
    let output = tools(&arguments, "");
    let entry = json(&output);
    assert_eq!(
        (
            &entry["title"],
            &entry["place"]["number"],
            output.status.code()
        ),
        (&json!("42"), &json!(3), Some(0))
    );
}

#[test]
fn environment_sets_width_and_colours() {
    let listed = |settings: &[(&str, &str)]| {
        let output = run("tools", &["list"], settings, "");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(listed(&[]).lines().any(|line| line.chars().count() > 80));
    let narrow = listed(&[("COLUMNS", "40")]);
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 40) && !narrow.contains('\u{1b}'),
        "{narrow}"
    );
    assert!(listed(&[("CLICOLOR_FORCE", "1")]).contains("\u{1b}["));
    assert!(!listed(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn completions_have_the_names_of_the_tools() {
    let output = tools(&["completions", "bash"], "");
    let script = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && script.contains("convert_temperature"),
        "{output:?}"
    );
}

#[test]
fn batch_calls_share_the_state_of_the_tools() {
    let call = r#"{"name": "book", "arguments": {"title": "Dentist", "start": "2026-11-20T09:30:00+01:00"}}"#;
    let output = tools(
        &["call", "--batch", "-"],
        &format!("{call}\n{call}\n{{\"name\": \"booked\"}}\n"),
    );
    let answers = lines(&output);
    assert_eq!(
        (&answers[0]["ok"], &answers[1]["ok"], output.status.code()),
        (&json!(true), &json!(false), Some(1))
    );
    assert_eq!(answers[2]["data"][0]["title"], "Dentist");
}

#[test]
fn usage_errors_exit_with_2_and_print_to_stderr() {
    for arguments in [
        &["schema", "--provider", "nobody"][..],
        &["list", "--tools", "no-such-file.json"],
        &["bark"],
    ] {
        let output = tools(arguments, "");
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{output:?}"
        );
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn lint_and_manifest_report_no_problem() {
    let output = tools(&["lint"], "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let manifest = json(&tools(&["manifest", "--json"], ""));
    assert_eq!(manifest["tools"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        manifest["tools"][0]["providerSchemas"]["openai"]["function"]["name"],
        "book"
    );
}

#[test]
fn declarations_from_a_file_replace_the_linked_tools() {
    let file = std::env::temp_dir().join(format!("declared-{}.json", std::process::id()));
    let schema = json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]});
    let declared = json!([{"name": "math.factorial", "description": "n!", "inputSchema": schema}]);
    std::fs::write(&file, declared.to_string()).unwrap();
    let path = file.to_str().unwrap();

    let told = json(&tools(
        &[
            "schema",
            "--provider",
            "openai-chat",
            "--strict",
            "--json",
            "--tools",
            path,
        ],
        "",
    ));
    assert_eq!(told["report"]["tools"][0]["tool"], "math.factorial");
    let name = told["declarations"][0]["function"]["name"]
        .as_str()
        .unwrap();
    assert!(
        !name.contains('.') && told["report"]["tools"][0]["declaredAs"] == name,
        "{told}"
    );

    let calls = "{\"name\": \"math.factorial\", \"arguments\": {\"number\": 5}}\n\
        {\"name\": \"math.factorial\", \"arguments\": {\"number\": \"five\"}}\n";
    let answers = lines(&tools(&["call", "--batch", "-", "--tools", path], calls));
    assert_eq!(
        (&answers[0]["data"], &answers[1]["ok"]),
        (&json!({"number": 5}), &json!(false))
    );
    std::fs::remove_file(&file).unwrap();
}

#[cfg(feature = "mcp")]
#[test]
fn tools_are_served_over_stdio() {
    let version = "2025-06-18";
    let client = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ];
    let input = messages.map(|message| message.to_string()).join("\n");
    let output = tools(&["serve", "--mcp", "stdio"], &(input + "\n"));
    let listed = lines(&output)
        .into_iter()
        .find(|answer| answer["id"] == 2)
        .unwrap();
    assert_eq!(
        listed["result"]["tools"].as_array().map(Vec::len),
        Some(4),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[cfg(feature = "mcp")]
#[test]
fn public_address_needs_an_explicit_flag() {
    let output = tools(&["serve", "--mcp", "http", "--address", "0.0.0.0:0"], "");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
