//! The conformance tests of the journal over Redis, and what is removed from it.

use crate::conformance::Redis;
use std::time::Duration;
use tokio::time::sleep;
use tool_adapters::stores::RedisJournal;
use tool_core::session::{Journal, JournalStart};
use tool_core::testing::journal::{JournalUnderTest, LEASE, action, start};
use tool_core::testing::store::StoreUnderTest;

impl JournalUnderTest for Redis {
    type Journal = RedisJournal;

    async fn process(&self) -> RedisJournal {
        self.handle().await.journal().lease(LEASE)
    }

    async fn kill(&self, journal: RedisJournal) {
        drop(journal);
        sleep(2 * LEASE).await;
    }
}

tool_core::journal_conformance!(Redis::on_server());
tool_core::shared_journal_conformance!(Redis::on_server());

mod cluster {
    use crate::conformance::Redis;
    tool_core::journal_conformance!(Redis::on_cluster());
    tool_core::shared_journal_conformance!(Redis::on_cluster());
}

#[tokio::test]
async fn old_calls_are_removed_with_the_next_call() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let one = redis.process().await.keep(Duration::from_millis(200));
    start(&one, &action("s", "old")).await;
    sleep(Duration::from_millis(150)).await;
    start(&one, &action("s", "young")).await;
    sleep(Duration::from_millis(100)).await;
    start(&one, &action("s", "next")).await;

    let other = redis.process().await;
    let old = other.started(&action("s", "old")).await;
    assert_eq!(old.expect("it answers"), JournalStart::Recorded);
    let young = other.started(&action("s", "young")).await;
    assert_eq!(young.expect("it answers"), JournalStart::Running);
}
