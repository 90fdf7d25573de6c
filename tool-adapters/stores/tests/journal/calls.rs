//! The records of calls, and their lifetime.

use crate::support::{Place, calls, entry, harmless, recovered};
use std::time::Duration;
use tool_adapters::stores::FileJournal;
use tool_core::jiff;
use tool_core::session::Journal;

#[tokio::test]
async fn next_process_finds_calls_in_their_order() {
    let place = Place::new();
    let journal = place.open();
    // Neither the ids nor the times of the clock are in this order.
    let first = entry("s", "z");
    let mut second = harmless("s", "a");
    second.started_at.0 -= jiff::SignedDuration::from_hours(1);
    for call in [&first, &second] {
        journal.started(call).await.unwrap();
    }
    journal.finished("s", "z", r#"{"ok":true}"#).await.unwrap();
    drop(journal);

    let found = place.open().recover("s").await.unwrap();
    assert_eq!(found[0].entry, first);
    assert_eq!(found[0].response.as_deref(), Some(r#"{"ok":true}"#));
    assert_eq!(found[1].entry, second);
    assert_eq!(found[1].response, None);
}

#[tokio::test]
async fn the_calls_of_this_process_are_not_recovered() {
    let place = Place::new();
    let journal = place.open();
    journal.started(&entry("s", "c")).await.unwrap();
    assert_eq!(recovered(&journal, "s").await, []);
    drop(journal);

    let journal = place.open();
    journal.started(&entry("s", "mine")).await.unwrap();
    assert_eq!(recovered(&journal, "s").await, calls(&[("c", None)]));
}

#[tokio::test]
async fn a_call_id_that_two_processes_used_is_two_calls() {
    let place = Place::new();
    for response in ["1", "2"] {
        let journal = place.open();
        journal.started(&entry("s", "c")).await.unwrap();
        journal.finished("s", "c", response).await.unwrap();
    }
    let journal = place.open();
    // An earlier process's call cannot be finished any more.
    journal.finished("s", "c", "3").await.unwrap();
    assert_eq!(
        recovered(&journal, "s").await,
        calls(&[("c", Some("1")), ("c", Some("2"))])
    );
}

#[tokio::test]
async fn repeated_call_id_replaces_the_earlier_call() {
    let place = Place::new();
    let journal = place.open();
    journal.started(&entry("s", "c")).await.unwrap();
    journal.finished("s", "c", "1").await.unwrap();
    journal.started(&entry("s", "d")).await.unwrap();
    journal.started(&entry("s", "c")).await.unwrap();
    drop(journal);
    assert_eq!(
        recovered(&place.open(), "s").await,
        calls(&[("d", None), ("c", None)])
    );
}

#[tokio::test]
async fn sessions_do_not_mix_whatever_their_ids_are() {
    let ids = [
        "",
        "a",
        "ab",
        "a\0",
        "a\0b",
        "a/b",
        "a/",
        "/",
        "\0",
        "\0\0",
        "é",
        "e\u{301}",
        "a\u{10ffff}",
        "\u{ff}",
        "{",
    ];
    let place = Place::new();
    let journal = place.open();
    for session in ids {
        for call_id in ids {
            journal.started(&harmless(session, call_id)).await.unwrap();
            journal
                .finished(session, call_id, &format!("{session:?} {call_id:?}"))
                .await
                .unwrap();
        }
    }
    drop(journal);

    let journal = place.open();
    journal.forget("a").await.unwrap();
    for session in ids {
        let expected: Vec<_> = ids
            .iter()
            .map(|id| ((*id).to_owned(), Some(format!("{session:?} {id:?}"))))
            .collect();
        let found = recovered(&journal, session).await;
        assert_eq!(
            found,
            if session == "a" { Vec::new() } else { expected },
            "{session:?}"
        );
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_forgotten_session() {
    let place = Place::new();
    let journal = place.open();
    journal.started(&entry("s", "earlier")).await.unwrap();
    journal.started(&entry("other", "c")).await.unwrap();
    drop(journal);

    let journal = place.open();
    journal.started(&entry("s", "mine")).await.unwrap();
    journal.forget("s").await.unwrap();
    journal.forget("s").await.unwrap();
    journal.forget("nobody").await.unwrap();
    // A call that was still running then.
    journal.finished("s", "mine", "{}").await.unwrap();
    assert_eq!(recovered(&journal, "s").await, []);
    drop(journal);

    let journal = place.open();
    assert_eq!(recovered(&journal, "s").await, []);
    assert_eq!(recovered(&journal, "other").await, calls(&[("c", None)]));
}

#[tokio::test]
async fn removes_old_calls_when_the_journal_is_opened() {
    let place = Place::new();
    let journal = FileJournal::open_keeping(place.path(), Duration::MAX).unwrap();
    let mut old = entry("s", "old");
    old.started_at.0 -= jiff::SignedDuration::from_hours(7 * 24 + 1);
    let mut younger = entry("s", "younger");
    younger.started_at.0 -= jiff::SignedDuration::from_hours(7 * 24 - 1);
    for call in [&old, &younger] {
        journal.started(call).await.unwrap();
        journal.finished("s", &call.call_id, "{}").await.unwrap();
    }
    drop(journal);
    let journal = FileJournal::open_keeping(place.path(), Duration::MAX).unwrap();
    assert_eq!(recovered(&journal, "s").await.len(), 2);
    drop(journal);

    assert_eq!(
        recovered(&place.open(), "s").await,
        calls(&[("younger", Some("{}"))])
    );
    let journal = FileJournal::open_keeping(place.path(), Duration::ZERO).unwrap();
    assert_eq!(recovered(&journal, "s").await, []);
}

#[tokio::test]
async fn a_process_that_never_ends_forgets_old_calls_too() {
    let place = Place::new();
    let journal = FileJournal::open_keeping(place.path(), Duration::ZERO).unwrap();
    let mut old = entry("s", "old");
    old.started_at.0 -= jiff::SignedDuration::from_secs(1);
    journal.started(&old).await.unwrap();
    // It goes with the next write.
    let mut later = entry("s", "later");
    later.started_at.0 += jiff::SignedDuration::from_hours(1);
    journal.started(&later).await.unwrap();
    drop(journal);

    let journal = FileJournal::open_keeping(place.path(), Duration::MAX).unwrap();
    assert_eq!(recovered(&journal, "s").await, calls(&[("later", None)]));
}

#[tokio::test]
async fn the_file_does_not_grow_with_calls_that_are_forgotten() {
    let place = Place::new();
    let journal = place.open();
    let size = async |rounds: u32| {
        for round in 0..rounds {
            let session = format!("session-{round}");
            let running: Vec<_> = (0..10)
                .map(|call| harmless(&session, &call.to_string()))
                .collect();
            for call in &running {
                journal.started(call).await.unwrap();
                journal
                    .finished(&session, &call.call_id, &"x".repeat(500))
                    .await
                    .unwrap();
            }
            journal.forget(&session).await.unwrap();
        }
        std::fs::metadata(place.path()).unwrap().len()
    };
    let before = size(10).await;
    let after = size(40).await;
    assert!(after <= before * 2, "{before} bytes grew to {after}");
}

#[tokio::test]
async fn an_operation_that_is_never_awaited_does_nothing() {
    let place = Place::new();
    let journal = place.open();
    drop(journal.started(&entry("s", "c")));
    drop(journal);
    assert_eq!(recovered(&place.open(), "s").await, []);
}

#[tokio::test]
async fn calls_that_start_together_are_all_kept() {
    let place = Place::new();
    let journal = std::sync::Arc::new(place.open());
    let mut tasks = tokio::task::JoinSet::new();
    for call in 0..500 {
        let journal = journal.clone();
        tasks.spawn(async move {
            let (session, id) = (format!("s{}", call % 5), call.to_string());
            journal.started(&entry(&session, &id)).await.unwrap();
            journal.finished(&session, &id, &id).await.unwrap();
        });
    }
    tasks.join_all().await;
    drop(journal);

    let journal = place.open();
    for session in 0..5 {
        let found = recovered(&journal, &format!("s{session}")).await;
        assert_eq!(found.len(), 100);
        assert!(
            found
                .iter()
                .all(|(id, response)| response.as_ref() == Some(id))
        );
    }
}
