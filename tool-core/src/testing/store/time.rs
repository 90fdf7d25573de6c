//! Tests of sessions and calls that expire by the store's time.

use crate::call::mode::Mode;
use crate::session::state::SessionState;
use crate::session::store::{OpenError, OpenRequest, SessionStore};
use crate::testing::store::driver::{
    HOUR, StoreUnderTest, TestCall, TestSession, open, opening, text, waiting,
};

/// Opens a session that expires after four ticks without use.
fn brief<T: StoreUnderTest>(_: &T, id: &str) -> OpenRequest {
    OpenRequest {
        idle_timeout: T::TICK * 4,
        max_sessions: 2,
        ..opening(id, Mode::Text)
    }
}

async fn opened(handle: &impl SessionStore, opening: &OpenRequest) -> TestSession {
    open(handle, opening).await.expect("there is room")
}

/// An expired session is over for its handles and is not counted.
pub async fn unused_session_expires<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let session = opened(&handle, &brief(store, "a")).await;
    session.mint(&waiting(1), HOUR).await;
    store.pass(T::TICK * 5).await;
    session.assert_over().await;
    assert_eq!(session.next_turn().await, None);
    assert!(!session.consume(&waiting(1).id).await);
    assert_eq!(handle.sessions().await, Ok(0));
}

/// Calls, turns and joining begin the idle time again.
pub async fn used_session_does_not_expire<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let session = opened(&handle, &brief(store, "a")).await;
    let call = TestCall::within(|limits| limits.max_calls = Some(1));
    store.pass(T::TICK * 2).await;
    assert!(session.passes(&call).await);
    store.pass(T::TICK * 2).await;
    let joined = opened(&handle, &brief(store, "a")).await;
    assert!(
        !joined.passes(&call).await,
        "it is the same session, and so is its budget"
    );
    store.pass(T::TICK * 2).await;
    assert!(session.next_turn().await.is_some());
    store.pass(T::TICK * 2).await;
    assert!(session.passes(&call).await);
    assert_eq!(handle.sessions().await, Ok(1));
}

/// A live session is not closed, however long ago it was opened.
pub async fn expired_sessions_make_room_and_live_ones_stay<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let used = opened(&handle, &brief(store, "used")).await;
    opened(&handle, &brief(store, "unused")).await;
    store.pass(T::TICK * 3).await;
    assert!(used.passes(&TestCall::default()).await);
    store.pass(T::TICK * 2).await;
    opened(&handle, &brief(store, "new")).await;
    let full = open(&handle, &brief(store, "one too many")).await.err();
    assert_eq!(full, Some(OpenError::Full { limit: 2 }));
    assert!(used.passes(&TestCall::default()).await);
    assert_eq!(handle.sessions().await, Ok(2));
}

/// The new session has nothing of the earlier one, which stays over.
pub async fn id_of_an_expired_session_opens_a_new_one<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let before = opened(&handle, &brief(store, "a")).await;
    let call = TestCall::within(|limits| limits.max_calls = Some(1));
    assert!(before.passes(&call).await);
    store.pass(T::TICK * 5).await;
    let after = opened(&handle, &brief(store, "a")).await;
    assert_eq!(*after.0.state(), SessionState::default());
    assert!(after.passes(&call).await);
    before.assert_over().await;
    assert_eq!(handle.sessions().await, Ok(1));
}

/// An expired call is neither read nor consumed. A call with more time is.
pub async fn pending_call_expires<T: StoreUnderTest>(store: &T) {
    let session = text(store).await;
    session.mint(&waiting(1), T::TICK * 2).await;
    session.mint(&waiting(2), HOUR).await;
    assert!(session.pending(&waiting(1).id).await.is_some());
    store.pass(T::TICK * 3).await;
    assert_eq!(session.pending(&waiting(1).id).await, None);
    assert!(!session.consume(&waiting(1).id).await);
    assert!(session.consume(&waiting(2).id).await);
}
