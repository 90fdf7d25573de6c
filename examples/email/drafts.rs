//! Drafts that wait for their time, in a table of the worker's database.
//!
//! A draft is `waiting`, then `sending` under the claim of a worker, then `sent` or `failed`. If it is not known
//! whether it was sent, it is `unknown` and is not sent again.

use super::error::EmailError;
use serde::Serialize;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{SqlSafeStr, SqlitePool};
use std::path::Path;
use std::time::Duration;
use tool_core::{Timestamp, jiff};

const SCHEMA: &str = "\
CREATE TABLE email_drafts (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    recipient TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sending', 'sent', 'failed', 'unknown')),
    due INTEGER NOT NULL, -- milliseconds since 1970: when it is sent, or tried again
    attempts INTEGER NOT NULL DEFAULT 0,
    claim TEXT, -- of whoever sends it
    told TEXT -- what became of it
) STRICT;
CREATE INDEX email_drafts_due ON email_drafts (state, due);";

/// The drafts of all agents. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Drafts(SqlitePool);

/// A draft that a model requested.
pub(crate) struct Draft {
    pub(crate) to: String,
    pub(crate) subject: String,
    pub(crate) body: String,
    pub(crate) send_at: Timestamp,
}

/// A stored draft.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Kept {
    pub(crate) id: i64,
    pub(crate) agent: String,
    #[serde(rename = "to")]
    pub(crate) recipient: String,
    pub(crate) subject: String,
    #[serde(skip)]
    pub(crate) body: String,
    pub(crate) state: String,
    pub(crate) attempts: i64,
    pub(crate) told: Option<String>,
}

/// The outcome of sending a draft.
pub(crate) enum Outcome {
    Sent(String),
    Failed(String),
    /// It may have been sent.
    Unknown(String),
    /// It was not sent, and will be tried again.
    Again {
        due: jiff::Timestamp,
        why: String,
    },
}

type Row = (
    i64,
    String,
    String,
    String,
    String,
    String,
    i64,
    Option<String>,
);

impl From<Row> for Kept {
    fn from((id, agent, recipient, subject, body, state, attempts, told): Row) -> Self {
        Self {
            id,
            agent,
            recipient,
            subject,
            body,
            state,
            attempts,
            told,
        }
    }
}

impl Drafts {
    /// Opens the drafts in a database, and creates the table if it is missing.
    pub(crate) async fn open(path: &Path) -> sqlx::Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true);
        let options = options
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(Duration::from_secs(10));
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_with(options)
            .await?;
        let first = Migration::new(
            1,
            "drafts".into(),
            MigrationType::Simple,
            SCHEMA.into_sql_str(),
            false,
        );
        let mut migrator = Migrator::with_migrations(vec![first]);
        // Other migrations may have tables in the same file.
        migrator.dangerous_set_table_name("email_drafts_migrations");
        // The migrator for SQLite takes no lock, so two processes could create the table at once.
        let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
        migrator.run_direct(None, &mut *transaction, false).await?;
        transaction.commit().await?;
        Ok(Self(pool))
    }

    pub(crate) async fn add(&self, agent: &str, draft: &Draft) -> Result<i64, EmailError> {
        let insert = "INSERT INTO email_drafts (agent, recipient, subject, body, due) VALUES (?, ?, ?, ?, ?) RETURNING id";
        let insert = sqlx::query_scalar(insert)
            .bind(agent)
            .bind(&draft.to)
            .bind(&draft.subject);
        let insert = insert
            .bind(&draft.body)
            .bind(draft.send_at.as_millisecond());
        insert
            .fetch_one(&self.0)
            .await
            .map_err(|error| EmailError::Broken(format!("the draft was not kept: {error}")))
    }

    /// Claims a due draft. No other worker gets it.
    pub(crate) async fn take(
        &self,
        claim: &str,
        now: jiff::Timestamp,
    ) -> sqlx::Result<Option<Kept>> {
        let take =
            "UPDATE email_drafts SET state = 'sending', claim = ?, attempts = attempts + 1 WHERE state = 'waiting'
            AND id = (SELECT id FROM email_drafts WHERE state = 'waiting' AND due <= ? ORDER BY due, id LIMIT 1)
            RETURNING id, agent, recipient, subject, body, state, attempts, told";
        let take = sqlx::query_as(take).bind(claim).bind(now.as_millisecond());
        Ok(take
            .fetch_optional(&self.0)
            .await?
            .map(|row: Row| row.into()))
    }

    /// Stores the outcome of a draft under this claim, also if it was marked as unknown meanwhile.
    pub(crate) async fn settle(
        &self,
        draft: &Kept,
        claim: &str,
        outcome: &Outcome,
    ) -> sqlx::Result<()> {
        let (state, told, due) = match outcome {
            Outcome::Sent(told) => ("sent", told, None),
            Outcome::Failed(why) => ("failed", why, None),
            Outcome::Unknown(why) => ("unknown", why, None),
            Outcome::Again { due, why } => ("waiting", why, Some(due.as_millisecond())),
        };
        let settle =
            "UPDATE email_drafts SET state = ?, told = ?, due = COALESCE(?, due), claim = NULL
            WHERE id = ? AND claim = ? AND state IN ('sending', 'unknown')";
        let settle = sqlx::query(settle)
            .bind(state)
            .bind(told)
            .bind(due)
            .bind(draft.id)
            .bind(claim);
        settle.execute(&self.0).await.map(drop)
    }

    /// Marks the drafts of killed workers as unknown, as they may have been sent.
    pub(crate) async fn recover(&self, claim: &str) -> sqlx::Result<Vec<Kept>> {
        let recover = "UPDATE email_drafts SET state = 'unknown', told = ? WHERE state = 'sending' AND claim <> ?
            RETURNING id, agent, recipient, subject, body, state, attempts, told";
        let told = "the worker ended while it was being sent: look whether it arrived, it is not sent again";
        let rows: Vec<Row> = sqlx::query_as(recover)
            .bind(told)
            .bind(claim)
            .fetch_all(&self.0)
            .await?;
        Ok(rows.into_iter().map(Kept::from).collect())
    }

    /// Lists the drafts of all agents.
    pub(crate) async fn list(&self) -> sqlx::Result<Vec<Kept>> {
        let list = "SELECT id, agent, recipient, subject, body, state, attempts, told FROM email_drafts ORDER BY id";
        let rows: Vec<Row> = sqlx::query_as(list).fetch_all(&self.0).await?;
        Ok(rows.into_iter().map(Kept::from).collect())
    }
}
