//! A rotation that is killed repeatedly loses nothing, and a last one finishes.
//!
//! An environment variable makes this binary the process that rotates and is killed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tool_adapters::stores::SqliteStore;
use tool_core::agents::{AgentToolStore, Agents, Keyring, RecordWrite, SecretsWrite};
use tool_core::serde_json::json;
use tool_core::tool::BoundSettings;
use tool_core::tool::SecretDocument;

const FILE: &str = "TOOL_ADAPTERS_ROTATES";
const ACTIVE: &str = "TOOL_ADAPTERS_ACTIVE_KEY";
/// The prefix of the other process's lines. The test harness writes to the same stream.
const SAYS: &str = "@ ";
const ROWS: usize = 300;
const KILLS: u32 = 40;

/// Both keys, and which of them seals.
fn keys(active: &str) -> Keyring {
    let (one, two) = (
        format!("one:{}", "a1".repeat(32)),
        format!("two:{}", "b2".repeat(32)),
    );
    let text = if active == "one" {
        format!("{one}\n{two}")
    } else {
        format!("{two}\n{one}")
    };
    Keyring::parse(&text).expect("keys")
}

async fn agents(path: &Path, active: &str) -> Agents {
    let store = SqliteStore::open(path).await.expect("opens");
    Agents::builder(store)
        .keys(keys(active))
        .build()
        .expect("sound")
}

/// The other process, where it is one.
#[tokio::test]
#[ignore = "the other tests run it in their own processes"]
async fn rotates_until_it_is_killed() {
    let path = std::env::var(FILE).expect("the file");
    let agents = agents(Path::new(&path), &std::env::var(ACTIVE).expect("a key")).await;
    println!("\n{SAYS}ready");
    let rotation = agents.rotate().await.expect("up");
    assert!(rotation.is_complete());
    println!("\n{SAYS}done");
}

fn secret(agent: usize) -> SecretDocument {
    SecretDocument::from_value(json!({"password": format!("of {agent}")}))
}

async fn filled(path: &Path) -> SqliteStore {
    let store = SqliteStore::open(path).await.expect("opens");
    for agent in 0..ROWS {
        let mut write = RecordWrite::new(format!("agent-{agent:04}"), "email", json!({}));
        let sealed = keys("one")
            .seal(
                &write.agent,
                "email",
                &BoundSettings::none(),
                &secret(agent),
            )
            .expect("sealed");
        write.secrets = SecretsWrite::Set(sealed);
        store.write(&write).await.expect("written");
    }
    store
}

/// Returns the number of secrets under the key. All of them open, and keep their content and version.
async fn sealed_under(store: &SqliteStore, key: &str) -> usize {
    let mut under = 0;
    for agent in 0..ROWS {
        let id = format!("agent-{agent:04}");
        let record = store.get(&id, "email").await.expect("up").expect("there");
        let sealed = record.secrets.expect("sealed");
        assert_eq!(
            keys("one")
                .open(&id, "email", &BoundSettings::none(), &sealed)
                .expect("opens")
                .expose(),
            secret(agent).expose()
        );
        assert_eq!(record.version, 1);
        under += usize::from(sealed.key() == key);
    }
    under
}

/// Starts a rotation, and kills it after a time. Returns true if the rotation was done before.
fn rotate_and_kill(path: &PathBuf, active: &str, after: Duration) -> bool {
    let mut process = Command::new(std::env::current_exe().expect("this binary"))
        .args([
            "--ignored",
            "--exact",
            "rotation::rotates_until_it_is_killed",
            "--nocapture",
        ])
        .env(FILE, path)
        .env(ACTIVE, active)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the other process starts");
    let mut lines = BufReader::new(process.stdout.take().expect("its output"))
        .lines()
        .map_while(Result::ok);
    let mut next_message = || lines.find_map(|line| line.strip_prefix(SAYS).map(str::to_owned));
    assert_eq!(next_message().as_deref(), Some("ready"));
    std::thread::sleep(after);
    process.kill().expect("it is killed");
    let done = next_message().as_deref() == Some("done");
    process.wait().expect("it is over");
    done
}

#[tokio::test]
async fn a_rotation_that_is_killed_again_and_again_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agents.db");
    let store = filled(&path).await;
    let (mut half_way, mut finished, mut micros) = (0_u32, 0_u32, 5_000_u64);
    for round in 0..KILLS {
        // There and back, so that there is something to do in each round.
        let active = if round % 2 == 0 { "two" } else { "one" };
        let before = sealed_under(&store, active).await;
        let done = rotate_and_kill(&path, active, Duration::from_micros(micros));
        let after = sealed_under(&store, active).await;
        assert!(
            after >= before || after == ROWS,
            "{before} and then {after}"
        );
        finished += u32::from(done);
        half_way += u32::from(after > before && after < ROWS);
        // Later where nothing was done yet, earlier where all was, and never twice the same.
        let jitter = 100 + u64::from(round * 7919 % 41);
        micros = match after {
            none if none == before => micros * 3 / 2,
            ROWS => micros / 2,
            _ => micros * jitter / 120,
        };
    }
    assert!(
        half_way >= 5,
        "{half_way} of {KILLS} kills were half-way ({finished} came too late)"
    );

    let last = agents(&path, "two").await.rotate().await.expect("up");
    assert!(last.is_complete());
    assert_eq!(sealed_under(&store, "two").await, ROWS);
    println!(
        "{KILLS} kills, {half_way} of them half-way, {finished} too late; {ROWS} secrets open after each"
    );
}
