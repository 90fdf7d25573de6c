//! Opening the file.

use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use tool_core::session::JournalError;

const META: TableDefinition<&str, u64> = TableDefinition::new("journal_meta");
/// The version of the tables; another one is not read as this one.
const FORMAT: u64 = 1;
/// The file is read seldom: redb's cache need not be a gigabyte.
const CACHE: usize = 8 << 20;

/// Opens the file, or begins one, and gives the number of this run, which is higher than all before.
pub(super) fn begin(path: &Path) -> Result<(Database, u64), JournalError> {
    let fail = |problem: &dyn Display| failed(path, problem);
    let database = open(path)?;
    if let Some(other) = foreign(&database).map_err(|error| fail(&error))? {
        return Err(fail(&other));
    }
    let run = next_run(&database).map_err(|error| fail(&error))?;
    keep_name(path).map_err(|error| fail(&error))?;
    Ok((database, run))
}

pub(super) fn open(path: &Path) -> Result<Database, JournalError> {
    let file = create(path).map_err(|error| failed(path, &error))?;
    Builder::new().set_cache_size(CACHE).create_file(file).map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => {
            failed(path, &"another process has it open, and only one can; give each process a file of its own")
        }
        error => failed(path, &format_args!("this is no journal, or it is damaged ({error}); it was left as it is")),
    })
}

pub(super) fn failed(path: &Path, problem: &dyn Display) -> JournalError {
    JournalError::new(format!("`{}`: {problem}", path.display()))
}

/// The file, readable for its owner alone if it is created here: it holds what people said.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Why this is not a journal that can be gone on with; read before anything is written to it.
fn foreign(database: &Database) -> Result<Option<String>, redb::Error> {
    let reading = database.begin_read()?;
    let names: Vec<_> = reading.list_tables()?.map(|table| table.name().to_owned()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    if !names.iter().any(|name| name == META.name()) {
        return Ok(Some("this is a database, but no journal; it was left as it is".to_owned()));
    }
    let format = reading.open_table(META)?.get("format")?.map(|format| format.value());
    Ok((format != Some(FORMAT)).then(|| {
        let format = format.map_or_else(|| "an unknown".to_owned(), |format| format.to_string());
        format!("the journal is of {format} format, and this version reads format {FORMAT}; it was left as it is")
    }))
}

fn next_run(database: &Database) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    let run = {
        let mut meta = transaction.open_table(META)?;
        let run = meta.get("run")?.map_or(0, |run| run.value()) + 1;
        meta.insert("run", run)?;
        meta.insert("format", FORMAT)?;
        run
    };
    transaction.commit()?;
    Ok(run)
}

/// That a file exists is durable only when its folder is, where folders can be written out.
fn keep_name(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
