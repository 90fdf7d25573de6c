//! What processes that share a journal know of each other's calls.

use crate::session::journal::{Journal, JournalEntry, JournalStart, RecoveredCall};
use crate::testing::journal::{JournalUnderTest, LEASE, action, finish, found, recovered, start};
use futures_util::future::join_all;
use std::time::Duration;
use tokio::time::sleep;

/// Returns what a process is told of a call that another one has recorded.
async fn asked(journal: &impl Journal, call: &JournalEntry) -> JournalStart {
    journal.started(call).await.expect("the journal answers")
}

/// Returns what is known of a call that no process is running.
async fn known(journal: &impl Journal, call: &JournalEntry) -> RecoveredCall {
    match asked(journal, call).await {
        JournalStart::Known(known) => *known,
        other => panic!("{other:?}"),
    }
}

/// Returns what a journal knows of a call without its start.
async fn found_in(journal: &impl Journal) -> Option<JournalStart> {
    journal.find("s", "c").await.expect("the journal answers")
}

/// A call that another process is running is told from a lost one.
pub async fn running_call_of_another_process_does_not_start(journals: &impl JournalUnderTest) {
    let one = journals.process().await;
    let other = journals.process().await;
    let call = action("s", "c");
    start(&one, &call).await;
    assert_eq!(asked(&other, &call).await, JournalStart::Running);
    assert_eq!(recovered(&other, "s").await, []);
}

/// A process that lives for longer than its lease keeps its calls.
pub async fn call_runs_for_longer_than_a_lease(journals: &impl JournalUnderTest) {
    let one = journals.process().await;
    let other = journals.process().await;
    let call = action("s", "c");
    start(&one, &call).await;
    sleep(3 * LEASE).await;
    assert_eq!(asked(&other, &call).await, JournalStart::Running);
}

/// The call of a killed process is known, and has no end.
pub async fn call_of_a_killed_process_is_known(journals: &impl JournalUnderTest) {
    let killed = journals.process().await;
    let other = journals.process().await;
    let call = action("s", "c");
    start(&killed, &call).await;
    journals.kill(killed).await;
    let known = known(&other, &call).await;
    assert_eq!((known.entry, known.response), (call, None));
}

/// A call is found without a start, and a look records nothing.
pub async fn call_of_another_process_is_found(journals: &impl JournalUnderTest) {
    let one = journals.process().await;
    let other = journals.process().await;
    let call = action("s", "c");
    assert_eq!(found_in(&other).await, None);
    start(&one, &call).await;
    assert_eq!(found_in(&one).await, None);
    assert_eq!(found_in(&other).await, Some(JournalStart::Running));
    finish(&one, &call, "{}").await;
    let Some(JournalStart::Known(known)) = found_in(&other).await else {
        panic!("it has ended")
    };
    assert_eq!(known.response.as_deref(), Some("{}"));
}

/// The end of another process's call is known at once.
pub async fn ended_call_of_another_process_is_known(journals: &impl JournalUnderTest) {
    let one = journals.process().await;
    let other = journals.process().await;
    let call = action("s", "c");
    start(&one, &call).await;
    finish(&one, &call, r#"{"ok":true}"#).await;
    let known = known(&other, &call).await;
    assert_eq!(known.response.as_deref(), Some(r#"{"ok":true}"#));
    assert_eq!(
        recovered(&other, "s").await,
        [found("c", Some(r#"{"ok":true}"#))]
    );
}

/// A call that has outlived its time limit does not run any more, even if its process lives.
pub async fn call_beyond_its_time_limit_is_known(journals: &impl JournalUnderTest) {
    let one = journals.process().await;
    let other = journals.process().await;
    let mut call = action("s", "c");
    call.time_limit_ms = 1;
    start(&one, &call).await;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(known(&other, &call).await.response, None);
}

/// A known call is replaced by one that names its number, and by no other.
pub async fn known_call_is_replaced_by_its_number(journals: &impl JournalUnderTest) {
    let one = journals.process().await;
    let other = journals.process().await;
    let mut call = action("s", "c");
    start(&one, &call).await;
    finish(&one, &call, "1").await;
    let number = known(&other, &call).await.number;

    call.replaces = Some(number + 1);
    assert_eq!(known(&other, &call).await.number, number);
    call.replaces = Some(number);
    start(&other, &call).await;
    call.replaces = None;
    assert_eq!(asked(&one, &call).await, JournalStart::Running);
}

/// A process whose call was replaced does not end the call that has replaced it.
pub async fn replaced_call_is_not_ended_by_its_process(journals: &impl JournalUnderTest) {
    let one = journals.process().await;
    let other = journals.process().await;
    let mut call = action("s", "c");
    call.time_limit_ms = 1;
    start(&one, &call).await;
    sleep(Duration::from_millis(50)).await;
    call.replaces = Some(known(&other, &call).await.number);
    start(&other, &call).await;

    finish(&one, &call, "late").await;
    finish(&other, &call, "right").await;
    let third = journals.process().await;
    assert_eq!(
        known(&third, &call).await.response.as_deref(),
        Some("right")
    );
}

/// Of many processes that start a call at once, one runs it.
pub async fn racing_processes_start_a_call_once(journals: &impl JournalUnderTest) {
    let mut processes = Vec::new();
    for _ in 0..4 {
        processes.push(journals.process().await);
    }
    for round in 0..20 {
        let call = action("s", &round.to_string());
        let starts = join_all(processes.iter().map(|journal| asked(journal, &call))).await;
        let recorded = starts
            .iter()
            .filter(|start| **start == JournalStart::Recorded);
        assert_eq!(recorded.count(), 1, "{starts:?}");
    }
}

/// Of many processes that replace a call at once, one runs it.
pub async fn racing_processes_replace_a_call_once(journals: &impl JournalUnderTest) {
    let first = journals.process().await;
    let mut processes = Vec::new();
    for _ in 0..4 {
        processes.push(journals.process().await);
    }
    for round in 0..10 {
        let mut call = action("s", &round.to_string());
        start(&first, &call).await;
        finish(&first, &call, "{}").await;
        call.replaces = Some(known(&processes[0], &call).await.number);
        let starts = join_all(processes.iter().map(|journal| asked(journal, &call))).await;
        let recorded = starts
            .iter()
            .filter(|start| **start == JournalStart::Recorded);
        assert_eq!(recorded.count(), 1, "{starts:?}");
    }
}
