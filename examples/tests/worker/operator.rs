//! The first run, and the commands of an operator.

use crate::support::Home;
use serde_json::{Value, json};
use tool_adapters::stores::SqliteStore;
use tool_core::agents::{AgentToolStore, Keyring, RecordWrite};

fn names(records: &[Value]) -> Vec<String> {
    records
        .iter()
        .map(|record| format!("{}/{}", record["agent"], record["tool"]).replace('"', ""))
        .collect()
}

#[test]
fn first_run_seeds_agents_and_the_second_keeps_them() {
    let home = Home::new();
    let first = home.run(&["list"], "");
    assert!(
        String::from_utf8_lossy(&first.stderr).contains("made the database"),
        "{first:?}"
    );
    let records = home.json(&["list"]);
    let expected = [
        "alice/email",
        "alice/google_calendar",
        "bob/email",
        "bob/google_calendar",
        "carol/crm",
        "carol/email",
    ];
    assert_eq!(names(&records), expected);
    let bob = |tool: &str| {
        records
            .iter()
            .find(|record| record["agent"] == "bob" && record["tool"] == tool)
            .unwrap()
    };
    assert_eq!(bob("email")["enabled"], false);
    assert_eq!(
        bob("google_calendar")["disabledActions"],
        json!(["create_event"])
    );

    home.json(&["disable", "alice", "email"]);
    let second = home.run(&["list"], "");
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(
        said.contains("is there already") && said.contains("no toolset of this name is registered"),
        "{said}"
    );
    assert_eq!(home.json(&["list"])[0]["enabled"], false);
}

#[tokio::test]
async fn removed_record_is_not_seeded_again() {
    let home = Home::new();
    let records = home.json(&["list"]);
    let store = SqliteStore::open(home.database()).await.unwrap();
    for record in &records {
        let (agent, tool) = (
            record["agent"].as_str().unwrap(),
            record["tool"].as_str().unwrap(),
        );
        let version = store.get(agent, tool).await.unwrap().unwrap().version;
        store.remove(agent, tool, version).await.unwrap();
    }
    assert_eq!(home.json(&["list"]), Vec::<Value>::new());
}

#[tokio::test]
async fn killed_first_run_is_completed_by_the_next() {
    let home = Home::new();
    // The records that the killed run had created.
    let store = SqliteStore::open(home.database()).await.unwrap();
    store
        .write(&RecordWrite::new(
            "alice",
            "google_calendar",
            json!({"calendar_id": "hers"}),
        ))
        .await
        .unwrap();
    drop(store);
    let records = home.json(&["list"]);
    let expected = [
        "alice/email",
        "alice/google_calendar",
        "bob/email",
        "bob/google_calendar",
        "carol/crm",
        "carol/email",
    ];
    assert_eq!(names(&records), expected);
    assert_eq!(records[1]["config"]["calendar_id"], "hers", "{records:?}");
}

#[test]
fn concurrent_first_runs_succeed() {
    let home = Home::new();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| home.json(&["list"])))
            .collect();
        for run in runs {
            run.join().unwrap();
        }
    });
    assert_eq!(home.json(&["list"]).len(), 6);
}

#[cfg(unix)]
#[test]
fn key_file_and_database_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.run(&["list"], "");
    for name in ["agents.db", "agents.db.keys"] {
        let mode = std::fs::metadata(home.dir.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn form_is_json_without_secrets() {
    let home = Home::new();
    for tool in ["email", "google_calendar"] {
        let output = home.run(&["form", tool], "");
        let form: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(form["metadata"]["name"], tool);
        assert!(form["actions"].as_array().unwrap().len() >= 2, "{form}");
    }
    let unknown = home.run(&["form", "emial"], "");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&unknown.stderr).contains("email, google_calendar"),
        "{unknown:?}"
    );
}

#[test]
fn record_is_created_changed_and_validated() {
    let home = Home::new();
    let good = json!({"config": {"smtp_server": "smtp.example.com", "from_email": "dave@example.com"},
        "secrets": {"password": "canary-5b21"}});
    let made = home.run(&["set", "dave", "email", "-"], &good.to_string());
    assert!(made.status.success(), "{made:?}");
    assert!(!format!("{made:?}").contains("canary"), "{made:?}");
    let changed = home.json(&[
        "set",
        "dave",
        "email",
        r#"{"disabledActions": ["schedule_draft"]}"#,
    ]);
    assert_eq!(
        (&changed[0]["hasSecrets"], &changed[0]["disabledActions"]),
        (&json!(true), &json!(["schedule_draft"]))
    );

    let bad = json!({"config": {"smtp_sever": "x", "smtp_port": 0, "from_email": "dave"}, "secrets": {"password": 77001}});
    let refused = home.run(&["set", "dave", "email", &bad.to_string()], "");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    for words in [
        "smtp_sever",
        "did you mean `smtp_server`",
        "/smtp_port",
        "/from_email",
        "/password",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("77001"), "{said}");
    assert_eq!(
        home.json(&["list"])
            .iter()
            .find(|record| record["agent"] == "dave")
            .unwrap()["version"],
        2
    );
}

#[test]
fn unknown_command_exits_with_2() {
    let home = Home::new();
    for arguments in [
        &["servee"][..],
        &["form"],
        &["set", "a", "b"],
        &["set", "a", "b", "{"],
        &["enable", "a"],
    ] {
        let output = home.run(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("usage: "),
            "{output:?}"
        );
    }
    let help = home.run(&["--help"], "");
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).starts_with("usage: "));
}

#[test]
fn secrets_are_rotated_to_a_new_key() {
    let mut home = Home::new();
    home.run(&["list"], "");
    let old = std::fs::read_to_string(home.dir.path().join("agents.db.keys")).unwrap();
    let new = Keyring::generate("second").unwrap();
    home.set("TOOL_SECRETS_KEYS", format!("{},{}", *new, old.trim()));
    let rotated = home.run(&["rotate"], "");
    assert!(
        String::from_utf8_lossy(&rotated.stdout).starts_with("5 secrets"),
        "{rotated:?}"
    );
    // The old key is no longer needed.
    home.set("TOOL_SECRETS_KEYS", new.to_string());
    let said = home.run(&["list"], "");
    assert!(
        !String::from_utf8_lossy(&said.stderr).contains("key"),
        "{said:?}"
    );
    // Another key with that name opens nothing, and the error says so.
    home.set(
        "TOOL_SECRETS_KEYS",
        Keyring::generate("second").unwrap().to_string(),
    );
    let said = home.run(&["list"], "");
    assert!(
        String::from_utf8_lossy(&said.stderr).contains("second"),
        "{said:?}"
    );
}

#[test]
fn connect_prints_the_consent_url() {
    let mut home = Home::new();
    let without = home.run(&["connect", "alice", "google_calendar"], "");
    assert_eq!(without.status.code(), Some(1), "{without:?}");
    home.set("GOOGLE_CLIENT_ID", "client-1");
    home.set("GOOGLE_REDIRECT_URL", "http://127.0.0.1:8080/callback");
    let output = home.run(&["connect", "alice", "google_calendar"], "");
    let url = String::from_utf8_lossy(&output.stdout);
    assert!(
        url.starts_with("https://accounts.google.com/o/oauth2/v2/auth?"),
        "{output:?}"
    );
    for parameter in [
        "client_id=client-1",
        "code_challenge_method=S256",
        "calendar.readonly",
        "state=",
    ] {
        assert!(url.contains(parameter), "{url}");
    }
}
