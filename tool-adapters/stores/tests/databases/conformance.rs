//! The conformance tests of sessions.

mod sqlite {
    use crate::database::SqliteFile;
    tool_core::store_conformance!(Some(SqliteFile::new()));
}

mod sqlite_in_memory {
    use crate::database::InMemory;
    use tool_adapters::stores::SqliteStore;
    tool_core::store_conformance!(Some(InMemory(
        SqliteStore::open_in_memory().await.expect("it opens")
    )));
}

mod postgres_behind_a_pooler {
    use crate::pooler::PooledDatabase;
    tool_core::store_conformance!(PooledDatabase::on_server().await);
}

mod postgres {
    use crate::server::Schema;
    tool_core::store_conformance!(Schema::on_server().await);
}
