//! Tests of appending and loading.

use crate::call::Content;
use crate::session::message::Message;
use crate::session::store::{ConversationKey, HistoryStoreError};
use crate::testing::history::HistoryStoreUnderTest;
use crate::testing::history::driver::{all_kinds, append, exists, key, load, said, said_each};
use tokio::task::JoinSet;

/// Messages of each kind come back as they were, in order, appended together or one by one.
pub async fn messages_come_back_as_they_were(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let messages = all_kinds();
    append(&*handle, &key("together"), 0, &messages).await;
    let mut known = 0;
    for message in &messages {
        known = append(
            &*handle,
            &key("one by one"),
            known,
            std::slice::from_ref(message),
        )
        .await;
    }
    for id in ["together", "one by one"] {
        let loaded = load(&*handle, &key(id)).await;
        assert_eq!(loaded.messages, messages, "{id}");
        assert_eq!(loaded.summary.messages, messages.len() as u64);
    }
}

/// A conversation is not there until the first append, which returns the number of messages.
pub async fn first_append_creates_the_conversation(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    assert!(!exists(&*handle, &key("a")).await);
    assert_eq!(append(&*handle, &key("a"), 0, &said_each(0..3)).await, 3);
    assert_eq!(append(&*handle, &key("a"), 3, &said_each(3..4)).await, 4);
    assert_eq!(load(&*handle, &key("a")).await.messages, said_each(0..4));
}

/// A host can create a conversation before its first message.
pub async fn empty_append_creates_the_conversation(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    assert_eq!(append(&*handle, &key("a"), 0, &[]).await, 0);
    assert!(load(&*handle, &key("a")).await.messages.is_empty());
    assert_eq!(append(&*handle, &key("a"), 0, &[said(0)]).await, 1);
}

/// A message that no reader would take is refused, and the conversation stays as it was.
pub async fn message_that_cannot_be_read_is_refused(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &[said(0)]).await;
    let parts = (0..2_000).map(|number| Content::text(number.to_string()));
    let message = Message::User(parts.collect());
    let refused = handle.append(&key("a"), 1, &[message]).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(load(&*handle, &key("a")).await.messages, [said(0)]);
}

/// A writer that knows too few or too many messages stores nothing, and learns how many there are.
pub async fn late_writer_gets_a_conflict(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..2)).await;
    for expected in [0, 1, 3, u64::MAX] {
        let refused = handle.append(&key("a"), expected, &[said(9)]).await;
        let conflict = HistoryStoreError::Conflict {
            conversation: "a".to_owned(),
            expected,
            found: 2,
        };
        assert_eq!(refused, Err(conflict));
    }
    assert_eq!(load(&*handle, &key("a")).await.messages, said_each(0..2));
    let refused = handle.append(&key("new"), 1, &[said(9)]).await;
    assert!(matches!(
        refused,
        Err(HistoryStoreError::Conflict { found: 0, .. })
    ));
    assert!(!exists(&*handle, &key("new")).await);
}

/// Of writers that append two messages at once over several handles, one wins each place, and its
/// messages stay together.
pub async fn racing_writers_do_not_mix_their_messages(store: &impl HistoryStoreUnderTest) {
    let handles = [store.handle().await, store.handle().await];
    let mut racers = JoinSet::new();
    for (racer, handle) in (0..8_u64).zip(handles.iter().cycle()) {
        let handle = handle.clone();
        racers.spawn(async move {
            let mut known = 0;
            let mut appended = 0;
            while appended < 5 {
                let number = racer * 100 + appended * 2;
                match handle
                    .append(&key("a"), known, &said_each(number..number + 2))
                    .await
                {
                    Ok(found) => {
                        known = found;
                        appended += 1;
                    }
                    Err(HistoryStoreError::Conflict { found, .. }) => known = found,
                    Err(error) => panic!("the store appends: {error}"),
                }
            }
        });
    }
    racers.join_all().await;

    let loaded = load(&*handles[0], &key("a")).await.messages;
    assert_eq!(loaded.len(), 80);
    let mut pairs = loaded
        .chunks(2)
        .map(<[Message]>::to_vec)
        .collect::<Vec<_>>();
    let number = |pair: &[Message]| match &pair[0] {
        Message::User(said) => said.text()["message ".len()..]
            .parse::<u64>()
            .expect("a number"),
        _ => panic!("a message of the user"),
    };
    for pair in &pairs {
        let first = number(pair);
        assert_eq!(*pair, said_each(first..first + 2), "a pair stays together");
    }
    pairs.sort_by_key(|pair| number(pair));
    pairs.dedup();
    assert_eq!(pairs.len(), 40, "each pair is there once");
}

/// A reader that knows the first messages reads the others only.
pub async fn conversation_is_loaded_from_a_message_on(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..5)).await;
    for from in [0, 3, 5, 6, u64::MAX] {
        let loaded = handle.load(&key("a"), from).await.expect("it loads");
        let loaded = loaded.expect("it is there");
        assert_eq!(loaded.from, from);
        assert_eq!(loaded.messages, said_each(from.min(5)..5));
        assert_eq!(loaded.summary.messages, 5);
    }
}

/// An append may have more messages than one statement of a database.
pub async fn many_messages_are_appended_at_once(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let long = Message::user("x".repeat(300_000));
    let mut messages = said_each(0..1_500);
    for position in [0, 700, 701, 702, 703, 1_499] {
        messages[position] = long.clone();
    }
    append(&*handle, &key("a"), 0, &messages).await;
    assert_eq!(load(&*handle, &key("a")).await.messages, messages);
}

/// Another process reads what was appended, and goes on.
pub async fn handles_see_each_others_messages(store: &impl HistoryStoreUnderTest) {
    let handles = [store.handle().await, store.handle().await];
    let mut known = 0;
    for (number, handle) in (0..6).zip(handles.iter().cycle()) {
        known = append(&**handle, &key("a"), known, &[said(number)]).await;
    }
    for handle in &handles {
        assert_eq!(load(&**handle, &key("a")).await.messages, said_each(0..6));
    }
}

/// An id has 1 to 512 bytes, and a principal at most 512.
pub async fn invalid_ids_are_refused(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let long = "x".repeat(513);
    for key in [
        ConversationKey::new("", "ada"),
        ConversationKey::new(&long, "ada"),
        ConversationKey::new("a", &long),
    ] {
        let invalid = HistoryStoreError::InvalidId;
        assert_eq!(
            handle.append(&key, 0, &[said(0)]).await,
            Err(invalid.clone())
        );
        assert_eq!(handle.load(&key, 0).await, Err(invalid.clone()));
        assert_eq!(handle.delete(&key).await, Err(invalid));
    }
    append(&*handle, &key(&"x".repeat(512)), 0, &[said(0)]).await;
    let branched = handle.branch(&key(&"x".repeat(512)), 1, &long).await;
    assert_eq!(branched, Err(HistoryStoreError::InvalidId));
}
