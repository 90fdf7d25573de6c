//! The tables, and bringing a database up to them.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Error, SqlSafeStr};

/// Where it is noted what a database has. Not sqlx's own table, which the program's migrations have.
const NOTED_IN: &str = "_tool_agents_migrations";

pub(super) const DONE: &str = "SELECT version, checksum FROM _tool_agents_migrations ORDER BY version";

#[cfg(feature = "postgres")]
pub(super) const POSTGRES: &[(i64, &str, &str)] = &[(1, "agents", include_str!("migrations/postgres/0001_agents.sql"))];

#[cfg(feature = "sqlite")]
pub(super) const SQLITE: &[(i64, &str, &str)] = &[(1, "agents", include_str!("migrations/sqlite/0001_agents.sql"))];

/// Runs what a database does not have yet: number, name and statements of each.
pub(super) fn migrator(all: &'static [(i64, &'static str, &'static str)]) -> Migrator {
    let migrations = all.iter().map(|(number, name, sql)| {
        Migration::new(*number, (*name).into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    migrator.dangerous_set_table_name(NOTED_IN);
    migrator
}

/// Whether a database has all of it. Then there is nothing to lock, and no right to make tables is needed. Where it is not
/// known, the migrator looks, and says what is wrong.
pub(super) fn are_done(migrator: &Migrator, noted: Result<Vec<(i64, Vec<u8>)>, Error>) -> bool {
    let Ok(noted) = noted else { return false };
    let noted = noted.iter().map(|(version, checksum)| (*version, &**checksum));
    noted.eq(migrator.iter().map(|migration| (migration.version, &*migration.checksum)))
}
