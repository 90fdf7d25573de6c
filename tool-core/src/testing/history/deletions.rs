//! Tests of deletions.

use crate::testing::history::HistoryStoreUnderTest;
use crate::testing::history::driver::{append, exists, key, listed, load, said, said_each};

/// A deleted conversation is neither loaded nor listed, over all handles.
pub async fn deleted_conversation_is_gone(store: &impl HistoryStoreUnderTest) {
    let handles = [store.handle().await, store.handle().await];
    append(&*handles[0], &key("a"), 0, &said_each(0..3)).await;
    append(&*handles[0], &key("b"), 0, &[said(0)]).await;
    assert_eq!(handles[1].delete(&key("a")).await, Ok(true));
    assert_eq!(handles[0].delete(&key("a")).await, Ok(false));
    for handle in &handles {
        assert!(!exists(&**handle, &key("a")).await);
        assert_eq!(listed(&**handle, "ada").await, ["b"]);
    }
}

/// A conversation under the id of a deleted one has nothing of it.
pub async fn deleted_id_begins_anew(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..3)).await;
    handle.delete(&key("a")).await.expect("it is deleted");
    assert_eq!(append(&*handle, &key("a"), 0, &[said(7)]).await, 1);
    assert_eq!(load(&*handle, &key("a")).await.messages, [said(7)]);
}

/// What was not used since a time is deleted, of all principals. The rest stays.
pub async fn unused_conversations_are_deleted<T: HistoryStoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    for id in ["a", "b", "c"] {
        append(&*handle, &key(id), 0, &[said(0)]).await;
        store.pass(T::TICK).await;
    }
    append(&*handle, &key("a"), 1, &[said(1)]).await;
    let since = load(&*handle, &key("c")).await.summary.updated_at;
    assert_eq!(handle.delete_unused(since).await, Ok(1));
    assert_eq!(listed(&*handle, "ada").await, ["a", "c"]);
    assert_eq!(handle.delete_unused(since).await, Ok(0));
    assert_eq!(handle.delete_unused(u64::MAX).await, Ok(2));
    assert!(listed(&*handle, "ada").await.is_empty());
}
