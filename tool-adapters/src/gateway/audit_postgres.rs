//! The audit log in PostgreSQL: one table, to which all gateways of a deployment add.

use crate::gateway::audit::AuditRecord;
use crate::stores::postgres;
use sqlx::postgres::PgPool;
use sqlx::{Error, query};

/// The table, with its connections.
pub(crate) struct AuditTable(PgPool);

const CREATE: &str = "CREATE TABLE IF NOT EXISTS tool_gateway_audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time timestamptz NOT NULL,
    session text NOT NULL,
    principal text NOT NULL,
    turn bigint NOT NULL,
    call text NOT NULL,
    server text NOT NULL,
    tool text NOT NULL,
    arguments text NOT NULL,
    outcome text NOT NULL,
    error text,
    duration_ms bigint NOT NULL,
    characters bigint NOT NULL
)";

const INSERT: &str = "INSERT INTO tool_gateway_audit
    (time, session, principal, turn, call, server, tool, arguments, outcome, error, duration_ms, characters)
    SELECT time::timestamptz, session, principal, turn, call, server, tool, arguments, outcome, error, duration_ms, characters
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::bigint[], $12::bigint[])
    AS r(time, session, principal, turn, call, server, tool, arguments, outcome, error, duration_ms, characters)";

impl AuditTable {
    pub(crate) async fn open(url: &str) -> Result<Self, Error> {
        let pool = postgres::connect(url).await?;
        if query(CREATE).execute(&pool).await.is_err() {
            // Another gateway may have created it at the same time.
            query(CREATE).execute(&pool).await?;
        }
        Ok(Self(pool))
    }

    /// Adds records in one statement.
    pub(crate) async fn insert(&self, records: &[AuditRecord]) -> Result<(), Error> {
        let texts = |read: fn(&AuditRecord) -> &str| {
            // The type `text` has no zero byte.
            records.iter().map(|record| read(record).replace('\0', "\u{fffd}")).collect::<Vec<_>>()
        };
        let numbers = |read: fn(&AuditRecord) -> u64| {
            records.iter().map(|record| i64::try_from(read(record)).unwrap_or(i64::MAX)).collect::<Vec<_>>()
        };
        let errors = records.iter().map(|record| record.error.as_ref().map(|error| error.replace('\0', "\u{fffd}")));
        let statement = query(INSERT)
            .bind(texts(|record| &record.time))
            .bind(texts(|record| &record.session))
            .bind(texts(|record| &record.principal))
            .bind(numbers(|record| record.turn))
            .bind(texts(|record| &record.call))
            .bind(texts(|record| &record.server))
            .bind(texts(|record| &record.tool))
            .bind(texts(|record| &record.arguments))
            .bind(texts(|record| &record.outcome))
            .bind(errors.collect::<Vec<_>>())
            .bind(numbers(|record| record.duration_ms))
            .bind(numbers(|record| record.characters as u64));
        statement.execute(&self.0).await?;
        Ok(())
    }
}
