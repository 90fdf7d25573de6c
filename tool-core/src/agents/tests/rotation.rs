//! The issue's 2: rotation, beside writers, beside other rotations, and where rows do not open.

use crate::agents::Agents;
use crate::agents::error::AgentErrorKind;
use crate::agents::keys::Keyring;
use crate::agents::memory::MemoryAgentToolStore;
use crate::agents::store::{AgentToolStore, RecordWrite, SecretsWrite};
use crate::agents::tokens::Tokens;
use crate::tool::configure::secret::SecretDocument;
use serde_json::json;
use std::sync::Arc;

const OLD: &str = "old:1111111111111111111111111111111111111111111111111111111111111111";
const NEW: &str = "new:2222222222222222222222222222222222222222222222222222222222222222";
const LOST: &str = "lost:3333333333333333333333333333333333333333333333333333333333333333";

type Store = Arc<MemoryAgentToolStore>;

fn keys(lines: &[&str]) -> Keyring {
    Keyring::parse(&lines.join("\n")).expect("keys")
}

fn agents(store: &Store, lines: &[&str]) -> Agents {
    Agents::builder(Arc::clone(store)).keys(keys(lines)).build().expect("sound")
}

fn secret(agent: usize) -> SecretDocument {
    SecretDocument::from_value(json!({"password": format!("of {agent}")}))
}

async fn put(store: &Store, agent: usize, key: &str) {
    let mut write = RecordWrite::new(format!("agent-{agent:04}"), "email", json!({}));
    write.secrets = SecretsWrite::Set(keys(&[key]).seal(&write.agent, "email", &secret(agent)).expect("sealed"));
    store.write(&write).await.expect("written");
}

async fn filled(rows: usize) -> Store {
    let store = Store::default();
    for agent in 0..rows {
        put(&store, agent, OLD).await;
    }
    store
}

/// How many rows open with these keys, and hold what was put there.
async fn open_with(store: &Store, rows: usize, lines: &[&str]) -> usize {
    let (keys, mut open) = (keys(lines), 0);
    for agent in 0..rows {
        let id = format!("agent-{agent:04}");
        let sealed = store.get(&id, "email").await.expect("up").and_then(|record| record.secrets).expect("sealed");
        let same = |found: SecretDocument| found.expose() == secret(agent).expose();
        open += usize::from(keys.open(&id, "email", &sealed).is_ok_and(same));
    }
    open
}

#[tokio::test]
async fn all_secrets_are_under_the_active_key_afterwards_and_no_version_changes() {
    let store = filled(250).await;
    let before = store.version("agent-0007").await.expect("up");
    let rotation = agents(&store, &[NEW, OLD]).rotate().await.expect("up");
    assert_eq!((rotation.resealed, rotation.is_complete()), (250, true));
    assert_eq!(open_with(&store, 250, &[NEW]).await, 250);
    assert_eq!(open_with(&store, 250, &[OLD]).await, 0);
    assert_eq!(store.version("agent-0007").await.expect("up"), before);
    let again = agents(&store, &[NEW, OLD]).rotate().await.expect("up");
    assert_eq!((again.resealed, again.is_complete()), (0, true));
}

#[tokio::test]
async fn rows_that_do_not_open_are_told_and_left_as_they_are() {
    let store = filled(3).await;
    put(&store, 3, LOST).await;
    let row = store.get("agent-0001", "email").await.expect("up").and_then(|record| record.secrets).expect("sealed");
    // Moved from another agent, and one with a key that has another's id.
    let mut write = RecordWrite::new("agent-0004", "email", json!({}));
    write.secrets = SecretsWrite::Set(row);
    store.write(&write).await.expect("written");
    put(&store, 5, "old:4444444444444444444444444444444444444444444444444444444444444444").await;
    let before = store.load("agent-0004").await.expect("up");

    let rotation = agents(&store, &[NEW, OLD]).rotate().await.expect("up");
    assert_eq!((rotation.resealed, rotation.is_complete()), (3, false));
    let failed = rotation.failed.iter().map(|error| (error.agent.as_str(), error.kind.clone())).collect::<Vec<_>>();
    let expected = [
        ("agent-0003", AgentErrorKind::UnknownKey { key: "lost".into() }),
        ("agent-0004", AgentErrorKind::Tampered),
        ("agent-0005", AgentErrorKind::WrongKey { key: "old".into() }),
    ];
    assert_eq!(failed, expected);
    assert_eq!(store.load("agent-0004").await.expect("up"), before);
    // The key comes back, and the row with it.
    let rotation = agents(&store, &[NEW, LOST, OLD]).rotate().await.expect("up");
    assert_eq!((rotation.resealed, rotation.failed.len()), (1, 2));
}

#[tokio::test]
async fn without_a_key_nothing_is_sealed() {
    let error = Agents::builder(filled(1).await).build().expect("sound").rotate().await.expect_err("no key");
    assert_eq!(error.kind, AgentErrorKind::MissingKey);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_rotations_beside_writers_lose_nothing() {
    let (rows, store) = (300, filled(300).await);
    let rotations = (0..4).map(|_| {
        let agents = agents(&store, &[NEW, OLD]);
        tokio::spawn(async move { agents.rotate().await.expect("up") })
    });
    // Processes that do not have the new key first yet.
    let writers = (0..4).map(|writer| {
        let agents = agents(&store, &[OLD, NEW]);
        tokio::spawn(async move {
            for n in 0..100 {
                let id = format!("agent-{:04}", (writer + 7 * n) % 300);
                agents.connect(&id, "email", Tokens::new(format!("{writer}-{n}"))).await.expect("connected");
                tokio::task::yield_now().await;
            }
        })
    });
    let (rotations, writers) = (rotations.collect::<Vec<_>>(), writers.collect::<Vec<_>>());
    for writer in writers {
        writer.await.expect("sound");
    }
    for rotation in rotations {
        assert!(rotation.await.expect("sound").is_complete());
    }
    agents(&store, &[NEW, OLD]).rotate().await.expect("up");
    let keys = keys(&[NEW]);
    for agent in 0..rows {
        let id = format!("agent-{agent:04}");
        let sealed = store.get(&id, "email").await.expect("up").and_then(|record| record.secrets).expect("sealed");
        let opened = keys.open(&id, "email", &sealed).expect("opens");
        assert!(opened.expose().starts_with(&format!(r#"{{"password":"of {agent}""#)), "{id}");
    }
}

#[tokio::test]
async fn a_rotation_in_the_background_tells_how_far_it_is() {
    let store = filled(120).await;
    let running = agents(&store, &[NEW, OLD]).rotate_in_background();
    assert_eq!(running.progress().resealed, 0);
    let rotation = running.finished().await.expect("up");
    assert_eq!((rotation.resealed, rotation.is_complete()), (120, true));

    let running = agents(&filled(10).await, &[NEW, OLD]).rotate_in_background();
    running.stop();
    let stopped = running.finished().await.expect("stopped");
    assert!(stopped.resealed <= 10);
}
