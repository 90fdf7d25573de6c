//! The tables, and bringing a database up to them.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Where it is noted what a database has. Not sqlx's own table, which the program's migrations have.
const NOTED_IN: &str = "_tool_agents_migrations";

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
