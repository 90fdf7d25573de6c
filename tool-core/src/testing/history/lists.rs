//! Tests of the list of conversations, and of what the host keeps beside the messages.

use crate::session::store::{ConversationInfo, HistoryStoreError};
use crate::testing::history::HistoryStoreUnderTest;
use crate::testing::history::driver::{append, key, listed, load, said, said_each};

fn titled(title: &str) -> ConversationInfo {
    ConversationInfo {
        title: Some(title.to_owned()),
        ..ConversationInfo::default()
    }
}

/// An append and a change of the info bring a conversation to the front.
pub async fn conversation_that_was_used_last_comes_first<T: HistoryStoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    for id in ["a", "b", "c"] {
        append(&*handle, &key(id), 0, &[said(0)]).await;
        store.pass(T::TICK).await;
    }
    assert_eq!(listed(&*handle, "ada").await, ["c", "b", "a"]);
    append(&*handle, &key("a"), 1, &[said(1)]).await;
    assert_eq!(listed(&*handle, "ada").await, ["a", "c", "b"]);
    store.pass(T::TICK).await;
    handle
        .describe(&key("b"), &titled("B"))
        .await
        .expect("it is described");
    assert_eq!(listed(&*handle, "ada").await, ["b", "a", "c"]);
    load(&*handle, &key("c")).await;
    assert_eq!(
        listed(&*handle, "ada").await,
        ["b", "a", "c"],
        "reading is no use"
    );
}

/// Each page begins after the place of the one before, also where many conversations changed at the
/// same time.
pub async fn pages_list_each_conversation_once(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let ids = (0..25)
        .map(|number| format!("c{number:02}"))
        .collect::<Vec<_>>();
    for id in &ids {
        append(&*handle, &key(id), 0, &[said(0)]).await;
    }
    let all = listed(&*handle, "ada").await;
    let mut paged = Vec::new();
    let mut place = None;
    loop {
        let page = handle
            .list("ada", place.as_ref(), 4)
            .await
            .expect("it lists");
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 4);
        place = Some(last.place());
        paged.extend(page.into_iter().map(|summary| summary.id));
    }
    assert_eq!(paged, all);
    paged.sort();
    assert_eq!(paged, ids);
    assert!(
        handle
            .list("ada", None, 0)
            .await
            .expect("it lists")
            .is_empty()
    );
}

/// A summary has the number of messages, their bytes, and the times of the first and the last
/// change.
pub async fn summary_has_the_size_and_the_times<T: HistoryStoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    append(&*handle, &key("a"), 0, &said_each(0..2)).await;
    let before = load(&*handle, &key("a")).await.summary;
    store.pass(T::TICK).await;
    append(&*handle, &key("a"), 2, &[said(2)]).await;

    let page = handle.list("ada", None, 10).await.expect("it lists");
    let [after] = &*page else {
        panic!("one conversation")
    };
    assert_eq!((before.messages, after.messages), (2, 3));
    assert_eq!(
        after.bytes * 2,
        before.bytes * 3,
        "the messages have one length"
    );
    assert_eq!(before.created_at, after.created_at);
    assert!(before.updated_at < after.updated_at);
    assert!(
        after.created_at > 1_500_000_000_000,
        "milliseconds since 1970"
    );
}

/// The info is replaced as a whole, and appending leaves it.
pub async fn info_comes_back_as_it_was(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let info = ConversationInfo {
        title: Some("Lisbon \u{0} \"ü\" \u{1F980}".to_owned()),
        session: Some("s-1".to_owned()),
        instructions: Some("travel".to_owned()),
        version: Some(String::new()),
        values: [("a\u{0}", "1"), ("", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
    };
    append(&*handle, &key("a"), 0, &[said(0)]).await;
    handle
        .describe(&key("a"), &info)
        .await
        .expect("it is described");
    append(&*handle, &key("a"), 1, &[said(1)]).await;
    assert_eq!(load(&*handle, &key("a")).await.summary.info, info);
    handle
        .describe(&key("a"), &titled(""))
        .await
        .expect("it is described");
    let summary = load(&*handle, &key("a")).await.summary;
    assert_eq!(summary.info, titled(""));
    assert!(!summary.is_info_damaged && summary.messages == 2);
}

/// A host can name a conversation before its first message.
pub async fn info_creates_the_conversation(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    handle
        .describe(&key("a"), &titled("A"))
        .await
        .expect("it is described");
    assert_eq!(append(&*handle, &key("a"), 0, &[said(0)]).await, 1);
    assert_eq!(load(&*handle, &key("a")).await.summary.info, titled("A"));
}

/// An info that takes more than 16 KiB is refused.
pub async fn info_is_bounded(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let refused = handle
        .describe(&key("a"), &titled(&"x".repeat(17_000)))
        .await;
    assert!(
        matches!(refused, Err(HistoryStoreError::TooLarge { .. })),
        "{refused:?}"
    );
    assert!(listed(&*handle, "ada").await.is_empty());
}
