//! The records of the audit log, and the places that keep them: a file of JSON lines, and a table
//! in PostgreSQL.

use crate::policy_file::AuditSettings;
use jiff::Timestamp;
use serde::Serialize;
#[cfg(feature = "postgres")]
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
#[cfg(feature = "postgres")]
use std::sync::LazyLock;

/// Defines the record. Its fields, with their types in PostgreSQL, are the columns of the table,
/// too.
macro_rules! audit_record {
    ($($(#[$attribute:meta])* $name:ident: $type:ty => $column:literal,)+) => {
        /// A record of a call that was answered, or of a request for a prompt or a resource.
        #[derive(Clone, Debug, Serialize)]
        pub(crate) struct AuditRecord {
            $($(#[$attribute])* pub(crate) $name: $type,)+
        }

        #[cfg(feature = "postgres")]
        const COLUMNS: &[Column] = &[$(Column { name: stringify!($name), definition: $column }),+];
    };
}

audit_record! {
    time: Timestamp => "timestamptz NOT NULL",
    session: String => "text NOT NULL",
    #[serde(skip_serializing_if = "String::is_empty")]
    principal: String => "text NOT NULL",
    turn: u64 => "bigint NOT NULL",
    #[serde(skip_serializing_if = "String::is_empty")]
    call: String => "text NOT NULL",
    server: String => "text NOT NULL",
    /// `tools/call`, `prompts/get` or `resources/read`.
    method: &'static str => "text NOT NULL",
    /// The tool, the prompt, or the URI of the resource.
    name: String => "text NOT NULL",
    /// Redacted JSON text, cut.
    arguments: String => "text NOT NULL",
    /// `OK`, or the kind of the error.
    outcome: &'static str => "text NOT NULL",
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String> => "text",
    duration_ms: u64 => "bigint NOT NULL",
    /// The size of the result.
    characters: usize => "bigint NOT NULL",
    /// The reasons for which the call waits for a person, or has waited for one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String> => "jsonb",
    /// The person who decided on the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<String> => "text",
    /// The arguments of the client, redacted and cut, if a person has approved others.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_arguments: Option<String> => "text",
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
                Some(url) => Some(
                    AuditTable::open(url)
                        .await
                        .map_err(|error| describe_postgres(&error))?,
                ),
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
            table
                .insert(records)
                .await
                .map_err(|error| io::Error::other(describe_postgres(&error)))?;
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
struct AuditTable(tool_adapters_stores::postgres::PostgresPool);

/// A column of the table.
#[cfg(feature = "postgres")]
struct Column {
    name: &'static str,
    definition: &'static str,
}

#[cfg(feature = "postgres")]
static CREATE: LazyLock<String> = LazyLock::new(|| {
    let mut sql = "CREATE TABLE IF NOT EXISTS tool_gateway_audit (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY".to_owned();
    for Column { name, definition } in COLUMNS {
        _ = write!(sql, ", {name} {definition}");
    }
    sql + ")"
});

/// The statements that add the columns to a table of an earlier version.
#[cfg(feature = "postgres")]
static ADD_COLUMNS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let add = |Column { name, definition }: &Column| {
        format!("ALTER TABLE tool_gateway_audit ADD COLUMN IF NOT EXISTS {name} {definition}")
    };
    COLUMNS.iter().map(add).collect()
});

#[cfg(feature = "postgres")]
const KNOWN_COLUMNS: &str = "SELECT attname::text FROM pg_attribute \
    WHERE attrelid = 'tool_gateway_audit'::regclass AND attnum > 0 AND NOT attisdropped";

/// Adds a list of records, which PostgreSQL reads from their JSON.
#[cfg(feature = "postgres")]
static INSERT: LazyLock<String> = LazyLock::new(|| {
    let names = COLUMNS.iter().map(|column| column.name);
    let names = names.collect::<Vec<_>>().join(", ");
    // The JSON has no empty texts.
    let values = COLUMNS
        .iter()
        .map(|Column { name, definition }| match *definition {
            "text NOT NULL" => format!("coalesce({name}, '')"),
            _ => (*name).to_owned(),
        });
    let values = values.collect::<Vec<_>>().join(", ");
    format!(
        "INSERT INTO tool_gateway_audit ({names}) SELECT {values} \
         FROM json_populate_recordset(NULL::tool_gateway_audit, $1::text::json)"
    )
});

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

/// Describes a failure, with the setting that avoids it.
#[cfg(feature = "postgres")]
fn describe_postgres(error: &sqlx::Error) -> String {
    let hint = tool_adapters_stores::sql::pooler_hint(error).map(|hint| format!(": {hint}"));
    format!("audit.postgres: {error}{}", hint.unwrap_or_default())
}

#[cfg(feature = "postgres")]
impl AuditTable {
    async fn open(url: &str) -> Result<Self, sqlx::Error> {
        use sqlx::{Executor, Row};
        let pool = tool_adapters_stores::postgres::connect(url).await?;
        // As plain texts, which no server prepares.
        if pool.pool.execute(CREATE.as_str()).await.is_err() {
            // Another gateway may have created it at the same time.
            pool.pool.execute(CREATE.as_str()).await?;
        }
        // The table may be that of an earlier version. Only its owner can add columns, so nothing is
        // asked for if none is missing.
        let known = pool.pool.fetch_all(KNOWN_COLUMNS).await?;
        let known = known.iter().map(|row| row.try_get::<String, _>(0));
        let known = known.collect::<Result<Vec<_>, _>>()?;
        for (column, add) in COLUMNS.iter().zip(&*ADD_COLUMNS) {
            if !known.iter().any(|known| known == column.name) {
                pool.pool.execute(add.as_str()).await?;
            }
        }
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
            .fetch_all(&mut connection, INSERT.as_str(), arguments)
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
        let (records, mut done, mut text, mut failures) = (records(2_000), 0, Vec::new(), 0);
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
