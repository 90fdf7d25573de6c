//! The thread that has the file: it writes what came in together in one go, and answers when that is done.

use crate::stores::journal::rows::{Request, Rows};
use redb::{
    Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, TableDefinition, TableHandle,
};
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{io, thread};
use tokio::sync::oneshot;
use tool_core::session::{JournalError, RecoveredCall};

/// For how long what need not be on the disk at once may not be.
const FLUSH: Duration = Duration::from_millis(20);
/// How many requests share a transaction.
const BATCH: usize = 256;
/// How many old calls go with each transaction: more than come in with it, on average.
const PRUNE: usize = 2 * BATCH;

type Answer = Result<Vec<RecoveredCall>, JournalError>;
type Asked = (Request, oneshot::Sender<Answer>);

/// The thread, and the way to it. Its own rather than one of an executor's, so that requests stay in order, one write to
/// the disk serves many, and the file is closed when the journal is dropped and not some time after.
pub(crate) struct Writer {
    sender: Option<Sender<Asked>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Opens the file, and waits until it is open.
    pub(crate) fn start(path: PathBuf, keep: Duration) -> Result<Self, JournalError> {
        let (sender, receiver) = channel();
        let (opened, open) = channel();
        let damaged = failed(&path, &"it is damaged; it was left as it is");
        let run = move || match Work::begin(path, keep) {
            Ok(mut work) => {
                _ = opened.send(Ok(()));
                work.until_closed(&receiver);
            }
            Err(error) => _ = opened.send(Err(error)),
        };
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(run)
            .map_err(|error| JournalError::new(format!("no thread to write it: {error}")))?;
        let writer = Self { sender: Some(sender), thread: Some(thread) };
        // No answer: what is in the file is such that reading it panicked.
        open.recv().unwrap_or(Err(damaged))?;
        Ok(writer)
    }

    pub(crate) async fn ask(&self, request: Request) -> Answer {
        let stopped = || JournalError::new("its writer has stopped, because the file is damaged");
        let (answer, answered) = oneshot::channel();
        self.sender.as_ref().ok_or_else(stopped)?.send((request, answer)).map_err(|_| stopped())?;
        answered.await.map_err(|_| stopped())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        // It panicked where it fails, and has said so.
        _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Work {
    path: PathBuf,
    /// None after an error: it takes no more writes then, and is opened anew.
    database: Option<Database>,
    run: u64,
    number: u64,
    keep: Duration,
    /// Since when something is written that is not on the disk.
    unflushed: Option<Instant>,
}

impl Work {
    fn begin(path: PathBuf, keep: Duration) -> Result<Self, JournalError> {
        let (database, run) = begin(&path)?;
        let mut work = Self { path, database: Some(database), run, number: 0, keep, unflushed: None };
        work.transact(&[], true, usize::MAX)?;
        Ok(work)
    }

    fn until_closed(&mut self, receiver: &Receiver<Asked>) {
        loop {
            let first = match self.unflushed {
                None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(since) => receiver.recv_timeout(FLUSH.saturating_sub(since.elapsed())),
            };
            match first {
                Ok(first) => self.serve(std::iter::once(first).chain(receiver.try_iter()).take(BATCH).collect()),
                Err(RecvTimeoutError::Timeout) => self.flush(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.unflushed.is_some() {
            self.flush();
        }
    }

    fn serve(&mut self, asked: Vec<Asked>) {
        let (requests, answers): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        let overdue = self.unflushed.is_some_and(|since| since.elapsed() >= FLUSH);
        let durable = overdue || requests.iter().any(Request::durable);
        // Who no longer waits needs no answer.
        match self.transact(&requests, durable, PRUNE) {
            Ok(done) => answers.into_iter().zip(done).for_each(|(to, done)| _ = to.send(Ok(done))),
            Err(error) => answers.into_iter().for_each(|to| _ = to.send(Err(error.clone()))),
        }
    }

    /// Nobody waits for it. If it fails it is tried again, and the next who does wait hears of it.
    fn flush(&mut self) {
        if self.transact(&[], true, PRUNE).is_err() {
            self.unflushed = Some(Instant::now());
        }
    }

    fn transact(
        &mut self,
        requests: &[Request],
        durable: bool,
        prune: usize,
    ) -> Result<Vec<Vec<RecoveredCall>>, JournalError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => open(&self.path)?,
        };
        let done = self.try_transact(&database, requests, durable, prune);
        let done = done.map_err(|error| failed(&self.path, &error))?;
        self.database = Some(database);
        if durable {
            self.unflushed = None;
        } else if requests.iter().any(Request::writes) {
            self.unflushed.get_or_insert_with(Instant::now);
        }
        Ok(done)
    }

    fn try_transact(
        &mut self,
        database: &Database,
        requests: &[Request],
        durable: bool,
        prune: usize,
    ) -> Result<Vec<Vec<RecoveredCall>>, redb::Error> {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(if durable { Durability::Immediate } else { Durability::None })?;
        let mut done = Vec::with_capacity(requests.len());
        {
            let mut rows = Rows::open(&transaction, self.run)?;
            rows.prune(self.cutoff(), prune)?;
            for request in requests {
                self.number += 1;
                done.push(rows.answer(request, self.number)?);
            }
        }
        transaction.commit()?;
        Ok(done)
    }

    /// Calls that started before this are forgotten: milliseconds since 1970.
    fn cutoff(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.checked_sub(self.keep).map_or(i64::MIN, |cutoff| i64::try_from(cutoff.as_millis()).unwrap_or(i64::MAX))
    }
}

// ---- Opening the file.

const META: TableDefinition<&str, u64> = TableDefinition::new("journal_meta");
/// The version of the tables; another one is not read as this one.
const FORMAT: u64 = 1;
/// The file is read seldom: redb's cache need not be a gigabyte.
const CACHE: usize = 8 << 20;

/// Opens the file, or begins one, and gives the number of this run, which is higher than all before.
pub(crate) fn begin(path: &Path) -> Result<(Database, u64), JournalError> {
    let fail = |problem: &dyn Display| failed(path, problem);
    let database = open(path)?;
    if let Some(other) = foreign(&database).map_err(|error| fail(&error))? {
        return Err(fail(&other));
    }
    let run = next_run(&database).map_err(|error| fail(&error))?;
    keep_name(path).map_err(|error| fail(&error))?;
    Ok((database, run))
}

pub(crate) fn open(path: &Path) -> Result<Database, JournalError> {
    let file = create(path).map_err(|error| failed(path, &error))?;
    Builder::new().set_cache_size(CACHE).create_file(file).map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => {
            failed(path, &"another process has it open, and only one can; give each process a file of its own")
        }
        error => failed(path, &format_args!("this is no journal, or it is damaged ({error}); it was left as it is")),
    })
}

pub(crate) fn failed(path: &Path, problem: &dyn Display) -> JournalError {
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
