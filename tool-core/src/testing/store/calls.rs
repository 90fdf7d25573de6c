//! Tests of the list of answered calls.

use crate::session::store::session_store::{OpenRequest, SessionStore};
use crate::testing::store::driver::{StoreUnderTest, answered, open, opening, text};
use crate::{Mode, SessionId};

/// Calls come back as they were kept, in order, over all handles, and after the turn.
pub async fn calls_come_back_as_they_were(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let other = text(store).await;
    let calls = (0..7).map(answered).collect::<Vec<_>>();
    for (number, call) in calls.iter().enumerate() {
        [&session, &other][number % 2].keep_call(call).await;
        assert!(session.next_turn().await.is_some());
    }
    assert_eq!(
        (session.calls().await, other.calls().await),
        (calls.clone(), calls.clone())
    );
    let by_id = store.handle().await.calls(&SessionId::new("session")).await;
    assert_eq!(by_id, Ok(calls));
}

/// The latest calls are kept, within the bytes that they may take.
pub async fn latest_calls_are_kept(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for number in 0..200 {
        session.keep_call(&answered(number)).await;
    }
    let kept = session.calls().await;
    assert!((10..=50).contains(&kept.len()), "{}", kept.len());
    assert_eq!(
        kept,
        (200 - kept.len() as u64..200)
            .map(answered)
            .collect::<Vec<_>>()
    );
}

/// Calls belong to their session, and a session that is opened again begins without any.
pub async fn calls_belong_to_their_session(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.keep_call(&answered(1)).await;
    let other = open(&store.handle().await, &opening("other", Mode::Text))
        .await
        .expect("opens");
    assert!(other.calls().await.is_empty());
    session.end().await;
    assert!(text(store).await.calls().await.is_empty());
}

/// Calls can be read for a while after the session's end, those of running calls too.
pub async fn calls_outlive_their_session_for_a_while<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let request = OpenRequest {
        keep_calls_for: T::TICK * 6,
        ..opening("session", Mode::Text)
    };
    let session = open(&handle, &request).await.expect("opens");
    session.keep_call(&answered(1)).await;
    session.end().await;
    session.keep_call(&answered(2)).await;
    let id = SessionId::new("session");
    assert_eq!(handle.calls(&id).await, Ok(vec![answered(1), answered(2)]));
    store.pass(T::TICK * 8).await;
    assert_eq!(handle.calls(&id).await, Ok(Vec::new()));
}

/// The calls of a session that was not used can be read after its expiry.
pub async fn calls_outlive_an_expired_session<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let request = OpenRequest {
        idle_timeout: T::TICK * 2,
        ..opening("session", Mode::Text)
    };
    let session = open(&handle, &request).await.expect("opens");
    session.keep_call(&answered(1)).await;
    store.pass(T::TICK * 4).await;
    session.assert_over().await;
    handle.sessions().await.expect("the store counts");
    assert_eq!(
        handle.calls(&SessionId::new("session")).await,
        Ok(vec![answered(1)])
    );
}
