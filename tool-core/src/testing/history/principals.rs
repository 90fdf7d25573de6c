//! Tests of the principals whose the conversations are.

use crate::session::store::{ConversationInfo, ConversationKey, HistoryStoreError};
use crate::testing::history::HistoryStoreUnderTest;
use crate::testing::history::driver::{append, exists, listed, load, said, said_each};

/// Another principal neither reads, lists, changes, branches nor deletes a conversation, and learns
/// nothing of it.
pub async fn conversations_of_another_principal_are_not_there(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let own = ConversationKey::new("a", "ada");
    append(&*handle, &own, 0, &said_each(0..2)).await;
    for principal in ["bob", "", "Ada", "ada ", "ad"] {
        let other = ConversationKey::new("a", principal);
        assert!(!exists(&*handle, &other).await, "{principal:?}");
        assert!(
            listed(&*handle, principal).await.is_empty(),
            "{principal:?}"
        );
        assert_eq!(handle.delete(&other).await, Ok(false));
        let missing = HistoryStoreError::Missing {
            conversation: "a".to_owned(),
        };
        assert_eq!(handle.branch(&other, 1, "b").await, Err(missing));
        let conflict = handle.append(&other, 2, &[said(9)]).await;
        assert!(matches!(
            conflict,
            Err(HistoryStoreError::Conflict { found: 0, .. })
        ));
    }
    assert_eq!(load(&*handle, &own).await.messages, said_each(0..2));
}

/// Two principals have two conversations under one id.
pub async fn principals_use_the_same_id(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let keys = ["ada", "bob", ""].map(|principal| ConversationKey::new("a", principal));
    for (number, key) in (0..).zip(&keys) {
        append(&*handle, key, 0, &[said(number)]).await;
    }
    let info = ConversationInfo {
        title: Some("Bob's".to_owned()),
        ..ConversationInfo::default()
    };
    handle
        .describe(&keys[1], &info)
        .await
        .expect("it is described");
    for (number, key) in (0..).zip(&keys) {
        let loaded = load(&*handle, key).await;
        assert_eq!(loaded.messages, [said(number)]);
        assert_eq!(
            loaded.summary.info.title.is_some(),
            key.principal() == "bob"
        );
    }
    assert_eq!(handle.delete(&keys[0]).await, Ok(true));
    assert!(exists(&*handle, &keys[1]).await && exists(&*handle, &keys[2]).await);
}

/// Conversations are apart, however similar their ids and principals.
pub async fn ids_are_not_mistaken_for_each_other(store: &impl HistoryStoreUnderTest) {
    let handle = store.handle().await;
    let names = [
        "a", "A", "a ", "a:b", "a\u{0}", "a%00", "a%2500", "{a}", "}a", "*", "ä", "b",
    ];
    let mut keys = Vec::new();
    for id in names {
        keys.extend(names.map(|principal| ConversationKey::new(id, principal)));
    }
    for (number, key) in (0..).zip(&keys) {
        append(&*handle, key, 0, &[said(number)]).await;
    }
    for (number, key) in (0..).zip(&keys) {
        assert_eq!(
            load(&*handle, key).await.messages,
            [said(number)],
            "{key:?}"
        );
    }
    for principal in names {
        let mut ids = listed(&*handle, principal).await;
        ids.sort();
        let mut expected = names.to_vec();
        expected.sort_unstable();
        assert_eq!(ids, expected, "{principal:?}");
    }
}
