//! The records of the audit log, and the places that keep them: a file of JSON lines, and a table
//! in PostgreSQL.

use crate::policy_file::AuditSettings;
use jiff::Timestamp;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
#[cfg(feature = "postgres")]
use std::time::Duration;
#[cfg(feature = "postgres")]
use tokio::time::timeout;
#[cfg(feature = "postgres")]
use tool_adapters_stores::{
    SqlError, postgres,
    sql::{SqlMigration, Tables},
};

/// A record of a call that was answered, or of a request for a prompt or a resource. The table has a
/// column for each field.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AuditRecord {
    /// When the call or the request began.
    pub(crate) time: Timestamp,
    pub(crate) session: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) principal: String,
    pub(crate) turn: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) call: String,
    pub(crate) server: String,
    /// `tools/call`, `prompts/get`, `resources/read`, `resources/subscribe` or
    /// `completion/complete`.
    pub(crate) method: &'static str,
    /// The tool, the prompt, or the URI of the resource.
    pub(crate) name: String,
    /// Redacted JSON text, cut.
    pub(crate) arguments: String,
    /// `OK`, or the kind of the error.
    pub(crate) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    pub(crate) duration_ms: u64,
    /// The size of the result.
    pub(crate) characters: usize,
    /// The reasons for which the call waits for a person, or has waited for one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reasons: Vec<String>,
    /// The person who decided on the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decided_by: Option<String>,
    /// The arguments of the client, redacted and cut, if a person has approved others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked_arguments: Option<String>,
}

/// The places to which records are written, by a thread that may block.
pub(crate) struct AuditSinks {
    file: Option<(PathBuf, File)>,
    #[cfg(feature = "postgres")]
    postgres: Option<AuditTable>,
}

impl AuditSinks {
    #[cfg_attr(
        not(feature = "postgres"),
        allow(clippy::unused_async, reason = "only PostgreSQL is waited for")
    )]
    pub(crate) async fn open(settings: &AuditSettings) -> Result<Self, String> {
        let file = match &settings.file {
            Some(path) => {
                let opened = open_file(path);
                Some((
                    path.to_owned(),
                    opened.map_err(|error| format!("audit.file: {}: {error}", path.display()))?,
                ))
            }
            None => None,
        };
        Ok(Self {
            file,
            #[cfg(feature = "postgres")]
            postgres: match &settings.postgres {
                Some(url) => Some(AuditTable::open(url).await.map_err(describe_postgres)?),
                None => None,
            },
        })
    }

    pub(crate) fn reopen(&mut self) {
        if let Some((path, file)) = &mut self.file {
            match open_file(path) {
                Ok(opened) => *file = opened,
                Err(error) => {
                    tracing::error!(%error, "failed to open the audit log again; the earlier file is used");
                }
            }
        }
    }

    /// Writes records. `done` counts the bytes of them that the file has, for a repetition after an
    /// error. A file that was removed is created again.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(clippy::unused_async, reason = "only PostgreSQL is waited for")
    )]
    pub(crate) async fn write(
        &mut self,
        records: &[AuditRecord],
        done: &mut usize,
    ) -> io::Result<()> {
        if let Some((path, file)) = &mut self.file {
            let mut lines = Vec::new();
            for record in records {
                serde_json::to_writer(&mut lines, record)?;
                lines.push(b'\n');
            }
            if path.try_exists().is_ok_and(|exists| !exists) {
                (*file, *done) = (open_file(path)?, 0);
            }
            while let Some(rest) = lines.get(*done..).filter(|rest| !rest.is_empty()) {
                match file.write(rest) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => *done += written,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        #[cfg(feature = "postgres")]
        if let Some(table) = &self.postgres {
            answer_in_time(table.insert(records)).await?;
        }
        Ok(())
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path)
}

/// The table, with its connections.
#[cfg(feature = "postgres")]
struct AuditTable(postgres::PostgresPool);

/// The migrations of the table. A new column is a new migration, and has its place in [`INSERT`].
#[cfg(feature = "postgres")]
const TABLES: Tables = Tables {
    noted_in: "_tool_gateway_audit_migrations",
    applied: "SELECT version, checksum FROM _tool_gateway_audit_migrations ORDER BY version",
    migrations: &[SqlMigration {
        number: 1,
        name: "audit",
        sql: include_str!("migrations/0001_audit.sql"),
    }],
};

/// Adds a list of records, which PostgreSQL reads from their JSON. The JSON has no empty texts.
#[cfg(feature = "postgres")]
const INSERT: &str = "INSERT INTO tool_gateway_audit (time, session, principal, turn, call, server, method, name, \
    arguments, outcome, error, duration_ms, characters, reasons, decided_by, asked_arguments) \
    SELECT time, session, coalesce(principal, ''), turn, coalesce(call, ''), server, method, name, \
    arguments, outcome, error, duration_ms, characters, reasons, decided_by, asked_arguments \
    FROM json_populate_recordset(NULL::tool_gateway_audit, $1::text::json)";

/// Returns the JSON of records for PostgreSQL, whose type `text` has no zero byte.
#[cfg(feature = "postgres")]
fn rows(records: &[AuditRecord]) -> Result<String, serde_json::Error> {
    let mut rows = serde_json::to_value(records)?;
    let members = rows.as_array_mut().into_iter().flatten();
    let members = members.filter_map(serde_json::Value::as_object_mut);
    for member in members.flat_map(serde_json::Map::values_mut) {
        if let serde_json::Value::String(text) = member {
            *text = text.replace('\0', "\u{fffd}");
        }
    }
    serde_json::to_string(&rows)
}

/// The longest wait for the database. A lock, or a connection that is half open, holds a statement
/// without an error.
#[cfg(feature = "postgres")]
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Waits until records are inserted. A database that does not answer in time has failed.
#[cfg(feature = "postgres")]
async fn answer_in_time(inserted: impl Future<Output = Result<(), sqlx::Error>>) -> io::Result<()> {
    match timeout(ANSWER_TIMEOUT, inserted).await {
        Ok(inserted) => inserted.map_err(|error| io::Error::other(describe_postgres(error))),
        Err(_) => Err(io::Error::other(
            "audit.postgres: the database did not answer in time",
        )),
    }
}

/// Describes a failure, with the setting that avoids it.
#[cfg(feature = "postgres")]
fn describe_postgres(error: impl Into<SqlError>) -> String {
    format!("audit.postgres: {}", error.into())
}

#[cfg(feature = "postgres")]
impl AuditTable {
    async fn open(url: &str) -> Result<Self, SqlError> {
        let pool = postgres::connect(url).await?;
        pool.migrate(&TABLES).await?;
        Ok(Self(pool))
    }

    /// Adds records in one statement.
    async fn insert(&self, records: &[AuditRecord]) -> Result<(), sqlx::Error> {
        use sqlx::Arguments;
        let rows = rows(records).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let mut arguments = sqlx::postgres::PgArguments::default();
        arguments.add(rows).map_err(sqlx::Error::Encode)?;
        let mut connection = self.0.pool.acquire().await?;
        self.0
            .fetch_all(&mut connection, INSERT, arguments)
            .await
            .map(drop)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    fn records(count: u64) -> Vec<AuditRecord> {
        let record = |turn| AuditRecord {
            time: Timestamp::now(),
            session: "s".to_owned(),
            principal: String::new(),
            turn,
            call: String::new(),
            server: String::new(),
            method: "tools/call",
            name: "x".repeat(500),
            arguments: "{}".to_owned(),
            outcome: "OK",
            error: None,
            duration_ms: 0,
            characters: 0,
            reasons: Vec::new(),
            decided_by: None,
            asked_arguments: None,
        };
        (0..count).map(record).collect()
    }

    fn sinks(path: &Path, file: File) -> AuditSinks {
        AuditSinks {
            file: Some((path.to_owned(), file)),
            #[cfg(feature = "postgres")]
            postgres: None,
        }
    }

    #[tokio::test]
    async fn a_write_that_stops_halfway_goes_on_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut reader, full) = UnixStream::pair().expect("a pair");
        reader
            .set_nonblocking(true)
            .and_then(|()| full.set_nonblocking(true))
            .expect("set");
        let mut sinks = sinks(folder.path(), File::from(OwnedFd::from(full)));
        let records = records(2_000);
        let mut done = 0;
        let mut text = Vec::new();
        let mut failures = 0;
        while sinks.write(&records, &mut done).await.is_err() {
            failures += 1;
            assert!(failures < 1_000, "no write ends");
            _ = reader.read_to_end(&mut text);
        }
        _ = reader.read_to_end(&mut text);
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let turns = lines
            .map(|line| serde_json::from_slice::<Value>(line).expect("a record")["turn"].clone());
        assert!(
            failures > 0 && turns.eq(0..2_000),
            "each record is there once"
        );
    }

    #[tokio::test]
    async fn a_file_that_was_removed_is_created_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let within = folder.path().join("logs");
        let path = within.join("audit.jsonl");
        std::fs::create_dir(&within).expect("created");
        let mut sinks = sinks(&path, open_file(&path).expect("opened"));
        sinks.write(&records(1), &mut 0).await.expect("written");
        std::fs::remove_dir_all(&within).expect("removed");
        assert!(
            sinks.write(&records(1), &mut 0).await.is_err(),
            "there is no folder"
        );
        std::fs::create_dir(&within).expect("created");
        sinks.write(&records(2), &mut 0).await.expect("written");
        assert_eq!(
            std::fs::read_to_string(&path)
                .expect("a file")
                .lines()
                .count(),
            2
        );
    }
}

#[cfg(all(test, feature = "postgres"))]
mod column_tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A record in which no member is left out.
    fn full_record() -> AuditRecord {
        AuditRecord {
            time: Timestamp::now(),
            session: "s".to_owned(),
            principal: "user:7".to_owned(),
            turn: 1,
            call: "call_1".to_owned(),
            server: "notes".to_owned(),
            method: "tools/call",
            name: "notes_add".to_owned(),
            arguments: "{}".to_owned(),
            outcome: "OK",
            error: Some("none".to_owned()),
            duration_ms: 1,
            characters: 2,
            reasons: vec!["it deletes notes".to_owned()],
            decided_by: Some("ada".to_owned()),
            asked_arguments: Some("{}".to_owned()),
        }
    }

    fn members() -> BTreeSet<String> {
        let record = serde_json::to_value(full_record()).expect("JSON");
        let members = record.as_object().expect("an object");
        members.keys().cloned().collect()
    }

    fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
        let (_, rest) = text.split_once(start).expect("the start is there");
        let (found, _) = rest.split_once(end).expect("the end is there");
        found
    }

    /// The columns of a list, without the functions around them.
    fn listed(list: &str) -> BTreeSet<String> {
        let columns = list.split(", ").map(|column| {
            let column = column.trim().trim_start_matches("coalesce(");
            column.to_owned()
        });
        columns.filter(|column| column != "'')").collect()
    }

    /// The columns that the migrations create, each with its type.
    fn created() -> BTreeSet<String> {
        let sql = TABLES.migrations[0].sql;
        let columns = between(sql, "tool_gateway_audit (\n", "\n);").lines();
        let mut created = BTreeSet::new();
        for column in columns.filter(|line| !line.trim_start().starts_with("--")) {
            let mut words = column.trim().trim_end_matches(',').split(' ');
            let name = words.next().expect("a name");
            let kind = words.next().expect("a type");
            let kind = kind.replace("timestamptz", "timestamp with time zone");
            created.insert(format!("{name} {kind}"));
        }
        created
    }

    // T13
    #[tokio::test(start_paused = true)]
    async fn a_database_that_does_not_answer_has_failed() {
        let error = answer_in_time(std::future::pending()).await;
        let error = error.expect_err("it never answers");
        assert!(error.to_string().contains("audit.postgres"), "{error}");
        answer_in_time(std::future::ready(Ok(())))
            .await
            .expect("inserted");
    }

    #[test]
    fn statement_has_a_column_for_each_member_of_a_record() {
        let into = between(INSERT, "tool_gateway_audit (", ")");
        assert_eq!(listed(into), members());
        assert_eq!(listed(between(INSERT, "SELECT ", " FROM")), members());
        assert_eq!(
            into.split(", ").count(),
            members().len(),
            "no column is there twice"
        );
    }

    #[test]
    fn table_has_a_column_for_each_member_of_a_record() {
        // A column of a later migration has to be counted here, too.
        assert_eq!(TABLES.migrations.len(), 1);
        let created = created();
        let names = created.iter().filter_map(|column| column.split_once(' '));
        let names = names.map(|(name, _)| name.to_owned());
        let mut expected = members();
        expected.insert("id".to_owned());
        assert_eq!(names.collect::<BTreeSet<_>>(), expected);

        let checked = between(TABLES.migrations[0].sql, "VALUES ('", "\n    ) AS expected");
        let checked = checked.split("('").map(|column| {
            let column = column.split("')").next().unwrap_or_default();
            column.replace("', '", " ")
        });
        let checked = checked.filter(|column| !column.is_empty());
        assert_eq!(checked.collect::<BTreeSet<_>>(), created);
    }
}
