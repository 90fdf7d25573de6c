//! The conformance tests of journals, and what is removed from them.

use crate::database::SqliteFile;
use crate::server::Schema;
use std::time::Duration;
use tokio::time::sleep;
use tool_adapters::stores::{PostgresDatabase, SqlJournal, SqliteDatabase, SqliteStore};
use tool_core::session::{Journal, JournalStart};
use tool_core::testing::journal::{JournalUnderTest, LEASE, action, recovered, start};

impl JournalUnderTest for SqliteFile {
    type Journal = SqlJournal<SqliteDatabase>;

    async fn process(&self) -> Self::Journal {
        let store = SqliteStore::open(self.path()).await;
        store.expect("the file opens").journal().lease(LEASE)
    }

    async fn kill(&self, journal: Self::Journal) {
        drop(journal);
        sleep(2 * LEASE).await;
    }
}

impl JournalUnderTest for Schema {
    type Journal = SqlJournal<PostgresDatabase>;

    async fn process(&self) -> Self::Journal {
        self.store().await.journal().lease(LEASE)
    }

    async fn kill(&self, journal: Self::Journal) {
        drop(journal);
        sleep(2 * LEASE).await;
    }
}

mod sqlite {
    use crate::database::SqliteFile;
    tool_core::journal_conformance!(Some(SqliteFile::new()));
    tool_core::shared_journal_conformance!(Some(SqliteFile::new()));
}

mod postgres {
    use crate::server::Schema;
    tool_core::journal_conformance!(Schema::on_server().await);
    tool_core::shared_journal_conformance!(Schema::on_server().await);
}

#[tokio::test]
async fn old_calls_are_removed_by_signs_of_life() {
    let file = SqliteFile::new();
    let one = file.process().await.keep(Duration::from_millis(1));
    start(&one, &action("s", "old")).await;
    sleep(LEASE).await;
    let other = file.process().await;
    let again = other.started(&action("s", "old")).await;
    assert_eq!(again.expect("it answers"), JournalStart::Recorded);
}

#[tokio::test]
async fn damaged_entry_stops_its_call_and_no_other() {
    let file = SqliteFile::new();
    let killed = file.process().await;
    for id in ["damaged", "whole"] {
        start(&killed, &action("s", id)).await;
    }
    file.kill(killed).await;
    file.by_hand("UPDATE tool_journal_calls SET entry = '{' WHERE number = 1")
        .await;

    let next = file.process().await;
    assert_eq!(recovered(&next, "s").await.len(), 1);
    let error = next.started(&action("s", "damaged")).await;
    let error = error.expect_err("it cannot be told what it was");
    assert!(error.to_string().contains("invalid entry"), "{error}");
}
