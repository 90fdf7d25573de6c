//! Tests of messages that were damaged in the store.

use crate::session::store::HistoryStoreError;
use crate::testing::history::HistoryStoreUnderTest;
use crate::testing::history::driver::{append, key, load, said, said_each};

/// What another program may have left in the place of a message.
const FOREIGN: [&str; 6] = [
    "",
    r#"{"version":1,"messages":[{"role":"user","content":[{"type":"text","te"#,
    r#"{"version":1,"messages":[{"role":"user","secret":"c4n4ry"}]}"#,
    r#"{"version":1,"messages":[]}"#,
    r#"{"version":99,"messages":[{"role":"user","content":"c4n4ry"}]}"#,
    r#"["c4n4ry"]"#,
];

/// A truncated or foreign row is an error that names the conversation and the message.
pub async fn damaged_message_is_named(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..5)).await;
    let deep = "[".repeat(100_000);
    for text in FOREIGN.into_iter().chain([deep.as_str()]) {
        if !store.overwrite(&key("a"), 2, text).await {
            return;
        }
        let error = handle
            .load(&key("a"), 0)
            .await
            .expect_err("a damaged message");
        let is_named = matches!(
            &error,
            HistoryStoreError::Damaged { conversation, position: 2, .. } if conversation == "a"
        );
        assert!(is_named, "{text:.80}: {error}");
    }
}

/// The messages after a damaged one are read, and so are other conversations. A branch before it is
/// sound.
pub async fn messages_beside_a_damaged_one_are_read(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..5)).await;
    append(&*handle, &key("b"), 0, &[said(0)]).await;
    if !store.overwrite(&key("a"), 2, "{").await {
        return;
    }
    let rest = handle.load(&key("a"), 3).await.expect("it loads");
    assert_eq!(rest.expect("it is there").messages, said_each(3..5));
    assert_eq!(load(&*handle, &key("b")).await.messages, [said(0)]);
    assert_eq!(append(&*handle, &key("a"), 5, &[said(5)]).await, 6);
    assert_eq!(handle.branch(&key("a"), 1, "c").await, Ok(1));
    assert_eq!(load(&*handle, &key("c")).await.messages, [said(0)]);
}

/// The error is for logs, and shows nothing that a user or a tool has said.
pub async fn damage_shows_nothing_of_the_message(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &[said(0)]).await;
    for text in FOREIGN {
        if !store.overwrite(&key("a"), 0, text).await {
            return;
        }
        let error = handle
            .load(&key("a"), 0)
            .await
            .expect_err("a damaged message");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("c4n4ry"), "{shown}");
    }
}
