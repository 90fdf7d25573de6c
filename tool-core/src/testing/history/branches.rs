//! Tests of branches.

use crate::session::message::Message;
use crate::session::notes::NOTE;
use crate::session::store::{ConversationInfo, HistoryStoreError};
use crate::testing::history::HistoryStoreUnderTest;
use crate::testing::history::driver::{
    all_kinds, append, calls, exists, key, listed, load, result, said, said_each,
};
use tokio::task::JoinSet;

/// A branch has as many messages as it was to get, or all if there are fewer.
pub async fn branch_has_the_first_messages(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..5)).await;
    for (at, expected) in [(0, 0), (3, 3), (5, 5), (9, 5)] {
        let id = format!("branch {at}");
        assert_eq!(handle.branch(&key("a"), at, &id).await, Ok(expected));
        let branch = load(&*handle, &key(&id)).await;
        assert_eq!(branch.messages, said_each(0..expected));
        assert_eq!(branch.summary.messages, expected);
        let all = load(&*handle, &key("a")).await.summary;
        assert_eq!(branch.summary.bytes * 5, all.bytes * expected);
    }
}

/// A branch that would end between a call and its results, or between two results, takes all of
/// them.
pub async fn call_and_its_results_stay_together(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    // The user's message, two calls, two results, the answer, and another message.
    let messages = all_kinds();
    append(&*handle, &key("a"), 0, &messages).await;
    for (at, expected) in [(1, 1), (2, 4), (3, 4), (4, 4), (5, 5)] {
        let id = format!("branch {at}");
        let branched = handle.branch(&key("a"), at, &id).await;
        assert_eq!(branched, Ok(expected as u64));
        let branch = load(&*handle, &key(&id)).await.messages;
        assert_eq!(branch, messages[..expected], "at {at}");
    }
}

/// The note of a handoff is stored between two results. A branch that would end there takes the later
/// result, too. One that ends before a note that no result follows takes no more.
pub async fn results_behind_a_note_stay_with_their_call(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let note = Message::user(format!("{NOTE} Another agent speaks."));
    let messages = [
        said(0),
        calls(),
        result("call_2"),
        note.clone(),
        result("call_1"),
        note,
        said(1),
    ];
    append(&*handle, &key("a"), 0, &messages).await;
    for (at, expected) in [(1, 1), (2, 5), (3, 5), (4, 5), (5, 5), (6, 6)] {
        let id = format!("branch {at}");
        let branched = handle.branch(&key("a"), at, &id).await;
        assert_eq!(branched, Ok(expected as u64), "at {at}");
        let branch = load(&*handle, &key(&id)).await.messages;
        assert_eq!(branch, messages[..expected], "at {at}");
    }
}

/// What is added to a branch is not in the conversation, and the other way round. A deletion leaves
/// the other.
pub async fn branch_goes_its_own_way(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..3)).await;
    handle.branch(&key("a"), 2, "b").await.expect("it branches");
    append(&*handle, &key("b"), 2, &[said(7)]).await;
    append(&*handle, &key("a"), 3, &[said(3)]).await;
    assert_eq!(
        load(&*handle, &key("b")).await.messages,
        [said(0), said(1), said(7)]
    );
    assert_eq!(load(&*handle, &key("a")).await.messages, said_each(0..4));
    assert_eq!(handle.delete(&key("a")).await, Ok(true));
    assert_eq!(load(&*handle, &key("b")).await.messages.len(), 3);
}

/// A branch has the title, and not the session: the calls of two conversations do not share limits
/// and approvals.
pub async fn branch_takes_no_session(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let info = ConversationInfo {
        title: Some("Lisbon".to_owned()),
        session: Some("s-1".to_owned()),
        ..ConversationInfo::default()
    };
    append(&*handle, &key("a"), 0, &[said(0)]).await;
    handle
        .describe(&key("a"), &info)
        .await
        .expect("it is described");
    handle.branch(&key("a"), 1, "b").await.expect("it branches");
    let branch = load(&*handle, &key("b")).await.summary.info;
    assert_eq!((branch.title, branch.session), (info.title.clone(), None));
    assert_eq!(load(&*handle, &key("a")).await.summary.info, info);
}

/// There is nothing to branch from.
pub async fn branch_of_a_missing_conversation_is_an_error(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let missing = HistoryStoreError::Missing {
        conversation: "a".to_owned(),
    };
    assert_eq!(handle.branch(&key("a"), 0, "b").await, Err(missing));
    assert!(!exists(&*handle, &key("b")).await);
}

/// A branch does not replace a conversation, and not the one that it comes from.
pub async fn branch_does_not_replace_a_conversation(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..3)).await;
    append(&*handle, &key("b"), 0, &[said(7)]).await;
    for id in ["a", "b"] {
        let exists = HistoryStoreError::Exists {
            conversation: id.to_owned(),
        };
        assert_eq!(handle.branch(&key("a"), 1, id).await, Err(exists));
    }
    assert_eq!(load(&*handle, &key("a")).await.messages, said_each(0..3));
    assert_eq!(load(&*handle, &key("b")).await.messages, [said(7)]);
}

/// Of several branches under one id, one is made.
pub async fn racing_branches_create_one_conversation(store: &impl HistoryStoreUnderTest) {
    let handles = [store.handle().await, store.handle().await];
    append(&*handles[0], &key("a"), 0, &said_each(0..20)).await;
    let mut racers = JoinSet::new();
    for (racer, handle) in (0..16).zip(handles.iter().cycle()) {
        let handle = handle.clone();
        racers.spawn(async move { handle.branch(&key("a"), racer, "b").await });
    }
    let outcomes = racers.join_all().await;
    let made = outcomes.iter().flatten().copied().collect::<Vec<_>>();
    let [messages] = made[..] else {
        panic!("one branch: {outcomes:?}")
    };
    assert_eq!(
        load(&*handles[1], &key("b")).await.messages,
        said_each(0..messages)
    );
    assert_eq!(listed(&*handles[1], "ada").await.len(), 2);
}
