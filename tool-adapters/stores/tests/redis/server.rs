//! The server of the tests, and answers without it.

pub(crate) use crate::shared_server::{prefix, url};
use std::time::Duration;

/// Waits for an answer that does not depend on the server's. The time only ends a test that would hang.
pub(crate) async fn answered<F: Future>(answer: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), answer)
        .await
        .expect("an answer without the server")
}
