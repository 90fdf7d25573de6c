//! What the next process finds of the calls of one that was killed.

use crate::session::journal::{Journal, JournalEntry, JournalStart};
use crate::testing::journal::{JournalUnderTest, action, finish, found, recovered, start};

/// The size of the largest response: that of a task of the MCP server.
const LARGEST: usize = 4 << 20;

/// The next process finds the calls in the order in which they started.
pub async fn next_process_finds_calls_in_their_order(journals: &impl JournalUnderTest) {
    let journal = journals.process().await;
    // Neither the ids nor the times of the clock are in this order.
    let first = action("s", "z");
    let mut second = action("s", "a");
    second.started_at.0 -= jiff::SignedDuration::from_hours(1);
    start(&journal, &first).await;
    start(&journal, &second).await;
    finish(&journal, &first, r#"{"ok":true}"#).await;
    journals.kill(journal).await;

    let next = journals.process().await;
    let expected = [found("z", Some(r#"{"ok":true}"#)), found("a", None)];
    assert_eq!(recovered(&next, "s").await, expected);
}

/// An entry comes back as it was, whatever its texts are.
pub async fn entry_comes_back_as_it_was(journals: &impl JournalUnderTest) {
    let journal = journals.process().await;
    let mut call = action("s \0 %00 é", &"long \u{1F980}:".repeat(2_000));
    call.harmless = true;
    call.turn = u64::from(u32::MAX);
    start(&journal, &call).await;
    let response = r#"{"ok":true,"data":123456789012345678901.10,"text":"\u0000 ü"}"#;
    finish(&journal, &call, response).await;
    journals.kill(journal).await;

    let next = journals.process().await;
    let calls = next.recover(&call.session).await.expect("they are read");
    let [read] = &calls[..] else {
        panic!("one call: {calls:?}")
    };
    assert_eq!(read.entry, call);
    assert_eq!(read.response.as_deref(), Some(response));
}

/// The largest response that there is comes back.
pub async fn largest_response_comes_back(journals: &impl JournalUnderTest) {
    let journal = journals.process().await;
    let call = action("s", "c");
    start(&journal, &call).await;
    let response = format!(r#"{{"text":"{}"}}"#, "\u{e9}".repeat(LARGEST / 2));
    finish(&journal, &call, &response).await;
    journals.kill(journal).await;

    let next = journals.process().await;
    let calls = next.recover("s").await.expect("they are read");
    let read = calls.first().and_then(|call| call.response.as_deref());
    assert!(read == Some(&*response), "all of its bytes");
}

/// A process does not recover its own calls.
pub async fn calls_of_this_process_are_not_recovered(journals: &impl JournalUnderTest) {
    let journal = journals.process().await;
    start(&journal, &action("s", "c")).await;
    assert_eq!(recovered(&journal, "s").await, []);
    journals.kill(journal).await;

    let next = journals.process().await;
    start(&next, &action("s", "mine")).await;
    assert_eq!(recovered(&next, "s").await, [found("c", None)]);
}

/// An id that is used again in one process replaces the call and its end.
pub async fn repeated_call_id_replaces_the_earlier_call(journals: &impl JournalUnderTest) {
    let journal = journals.process().await;
    let first = action("s", "c");
    start(&journal, &first).await;
    finish(&journal, &first, "1").await;
    start(&journal, &action("s", "d")).await;
    start(&journal, &action("s", "c")).await;
    journals.kill(journal).await;

    let next = journals.process().await;
    let expected = [found("d", None), found("c", None)];
    assert_eq!(recovered(&next, "s").await, expected);
}

/// Returns an action that starts under an approval.
fn approved(call_id: &str) -> JournalEntry {
    JournalEntry {
        approval: Some("a7".repeat(16)),
        ..action("s", call_id)
    }
}

/// Returns the response of a call that a journal knows.
async fn known_response(journal: &impl Journal, call: &JournalEntry) -> Option<String> {
    match journal.started(call).await.expect("the journal answers") {
        JournalStart::Known(known) => known.response,
        other => panic!("{other:?}"),
    }
}

/// A call under an approval that this process has used already is not recorded again, with whatever
/// arguments it comes. One under another approval is.
pub async fn approval_starts_one_call_of_a_process(journals: &impl JournalUnderTest) {
    let journal = journals.process().await;
    let first = approved("c");
    start(&journal, &first).await;
    let mut again = JournalEntry {
        arguments: "{}".to_owned(),
        ..first.clone()
    };
    assert_eq!(known_response(&journal, &again).await, None);
    finish(&journal, &first, "1").await;
    assert_eq!(known_response(&journal, &again).await.as_deref(), Some("1"));

    again.approval = Some("b8".repeat(16));
    start(&journal, &again).await;
}

/// A call under an approval that an earlier process has used is not recorded again, even if it
/// replaces the call of that process.
pub async fn approval_starts_one_call_of_all_processes(journals: &impl JournalUnderTest) {
    let journal = journals.process().await;
    let mut call = approved("c");
    start(&journal, &call).await;
    finish(&journal, &call, "1").await;
    journals.kill(journal).await;

    let next = journals.process().await;
    let JournalStart::Known(known) = next.started(&call).await.expect("the journal answers") else {
        panic!("it is known")
    };
    call.replaces = Some(known.number);
    assert_eq!(known_response(&next, &call).await.as_deref(), Some("1"));
}

/// Sessions have nothing in common, whatever their ids are.
pub async fn sessions_do_not_mix_whatever_their_ids_are(journals: &impl JournalUnderTest) {
    let ids = [
        "", "a", "ab", "a\0", "a\0b", "a/b", "a/", "\0\0", "é", "e\u{301}", "{", "a:b",
    ];
    let journal = journals.process().await;
    for session in ids {
        for id in ids {
            let call = action(session, id);
            start(&journal, &call).await;
            finish(&journal, &call, &format!("{session:?} {id:?}")).await;
        }
    }
    journals.kill(journal).await;

    let next = journals.process().await;
    next.forget("a").await.expect("it is forgotten");
    for session in ids {
        let mut expected = Vec::new();
        for id in ids.iter().filter(|_| session != "a") {
            expected.push(found(id, Some(&format!("{session:?} {id:?}"))));
        }
        assert_eq!(recovered(&next, session).await, expected, "{session:?}");
    }
}

/// Nothing is left of a session that was forgotten, not even the end of a call that was running.
pub async fn nothing_is_left_of_a_forgotten_session(journals: &impl JournalUnderTest) {
    let journal = journals.process().await;
    start(&journal, &action("s", "earlier")).await;
    start(&journal, &action("other", "c")).await;
    journals.kill(journal).await;

    let next = journals.process().await;
    let running = action("s", "mine");
    start(&next, &running).await;
    for session in ["s", "s", "nobody"] {
        next.forget(session).await.expect("it is forgotten");
    }
    finish(&next, &running, "{}").await;
    assert_eq!(recovered(&next, "s").await, []);
    journals.kill(next).await;

    let last = journals.process().await;
    assert_eq!(recovered(&last, "s").await, []);
    assert_eq!(recovered(&last, "other").await, [found("c", None)]);
}
