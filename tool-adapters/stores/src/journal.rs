//! A journal in a file: after a process was killed, the next one reads which calls it had begun.

use redb::{
    Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, Table,
    TableDefinition, TableError, TableHandle, WriteTransaction,
};
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fmt, io, thread};
use tokio::sync::oneshot;
use tool_core::serde_json;
use tool_core::session::{Journal, JournalEntry, JournalError, JournalStart, RecoveredCall};

/// Default age at which calls are removed.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Longest time until a change that need not be durable at once is on the disk.
const FLUSH: Duration = Duration::from_millis(20);
/// Maximum number of requests in a transaction.
const BATCH: usize = 256;
/// Maximum number of old calls that a transaction removes: more than a transaction adds on average.
const PRUNE: usize = 2 * BATCH;
/// Size of redb's cache in bytes. The file is seldom read, so that the default of a gigabyte is not
/// needed.
const CACHE: usize = 8 << 20;
/// Version of the tables.
const FORMAT: u64 = 1;

/// Session, call id, and the number of the run. A run is the time for which one process has the
/// file open.
type CallKey<'a> = (&'a str, &'a str, u64);

/// The call's start in milliseconds since 1970, its number within the run, and the entry as JSON.
const CALLS: TableDefinition<CallKey, (i64, u64, &str)> = TableDefinition::new("journal_calls");
/// The call's envelope as JSON.
const RESPONSES: TableDefinition<CallKey, &str> = TableDefinition::new("journal_responses");
/// The calls by their start.
const AGES: TableDefinition<(i64, &str, &str, u64), ()> = TableDefinition::new("journal_ages");
/// The format of the tables and the number of the last run.
const META: TableDefinition<&str, u64> = TableDefinition::new("journal_meta");

/// A [`Journal`] in one file, which one process at a time has open.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("calls.journal");
/// use tool_adapters::stores::FileJournal;
///
/// let journal = FileJournal::open(&path)?;
/// # Ok(())
/// # }
/// ```
///
/// # Durability
///
/// - A call that may change something is on the disk when `started` returns. Neither a killed
///   process nor a power cut loses it. Calls that start at the same time share one write to the
///   disk.
/// - If the disk is full, the calls that need the journal fail. The journal works again when there
///   is space.
/// - The start of a harmless call, the response of a call, and the removal of a session are on the
///   disk at most 20 ms later, with the next call that may change something, or when the journal is
///   dropped. A process that is killed before then loses them: a call that has ended is recovered
///   as unknown. No call runs twice.
///
/// # Contents
///
/// The file contains arguments and responses as they are. On Unix it is created readable for its
/// owner only. The calls of a session are removed when the session is forgotten; other calls are
/// removed at the age that
/// [`open_keeping`](Self::open_keeping) sets. The file does not shrink, but its space is used again.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    /// `None` while the journal is dropped.
    requests: Option<Sender<QueuedRequest>>,
    /// A thread of the journal, not of an executor, so that requests stay in order, share writes to
    /// the disk, and the file is closed when the journal is dropped.
    writer: Option<JoinHandle<()>>,
}

type Answer = Result<Vec<RecoveredCall>, JournalError>;
type QueuedRequest = (Request, oneshot::Sender<Answer>);

impl FileJournal {
    /// Opens a journal, and creates the file if it does not exist. Calls are kept for 7 days.
    ///
    /// Blocks while it reads the disk, which takes longest after a crash. Dropping the journal
    /// blocks until all is written.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created or read, if it is open in this or another process, or if
    /// it is damaged or not a journal. A file that is not a journal stays unchanged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        Self::open_keeping(path, KEEP)
    }

    /// Opens a journal that removes calls which started longer ago than `keep`, by the system
    /// clock.
    ///
    /// # Errors
    ///
    /// Fails as [`open`](Self::open) does.
    pub fn open_keeping(path: impl AsRef<Path>, keep: Duration) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let (requests, receiver) = channel();
        let (sender, opened) = channel();
        let file = path.clone();
        let run = move || match Writer::open(file, keep) {
            Ok(mut writer) => {
                _ = sender.send(Ok(()));
                writer.run(&receiver);
            }
            Err(error) => _ = sender.send(Err(error)),
        };
        let writer = thread::Builder::new().name("journal".to_owned()).spawn(run);
        let writer = writer.map_err(|error| {
            JournalError::with_source("failed to start the writer thread", error)
        })?;
        let journal = Self {
            path,
            requests: Some(requests),
            writer: Some(writer),
        };
        // Without an answer, reading the file has panicked.
        let damaged = |_| {
            Err(unusable(
                &journal.path,
                "the journal is damaged; the file is unchanged",
            ))
        };
        opened.recv().unwrap_or_else(damaged)?;
        Ok(journal)
    }

    async fn request(&self, request: Request) -> Answer {
        let stopped =
            || JournalError::new("the writer thread has stopped because the file is damaged");
        let (sender, answer) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or_else(stopped)?;
        requests.send((request, sender)).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

impl Journal for FileJournal {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        let entry = serde_json::to_string(call);
        let entry = entry.map_err(|error| {
            JournalError::with_source("failed to write an entry as JSON", error)
        })?;
        let request = Request::Started {
            call: Box::new(call.clone()),
            entry,
        };
        let known = self.request(request).await?.pop();
        Ok(known.map_or(JournalStart::Recorded, |known| {
            JournalStart::Known(Box::new(known))
        }))
    }

    async fn finished(
        &self,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> Result<(), JournalError> {
        self.request(Request::Finished {
            session: session.to_owned(),
            call_id: call_id.to_owned(),
            response: response.to_owned(),
        })
        .await
        .map(drop)
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        self.request(Request::Recover(session.to_owned())).await
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.request(Request::Forget(session.to_owned()))
            .await
            .map(drop)
    }
}

impl Drop for FileJournal {
    fn drop(&mut self) {
        self.requests = None;
        // An error means that the thread panicked, which was printed then.
        _ = self.writer.take().map(JoinHandle::join);
    }
}

/// A request to the writer thread.
enum Request {
    Started {
        call: Box<JournalEntry>,
        /// The call as JSON.
        entry: String,
    },
    Finished {
        session: String,
        call_id: String,
        response: String,
    },
    Recover(String),
    Forget(String),
}

/// Reads and writes the file.
struct Writer {
    path: PathBuf,
    /// `None` after an error: redb accepts no more writes then, and the file is opened again.
    database: Option<Database>,
    run: u64,
    /// Number of requests in this run.
    number: u64,
    keep: Duration,
    /// The time since which there are changes that are not on the disk.
    unflushed: Option<Instant>,
}

impl Writer {
    fn open(path: PathBuf, keep: Duration) -> Result<Self, JournalError> {
        let database = open_file(&path)?;
        // Checked before anything is written to the file.
        if let Some(problem) = foreign_contents(&database).map_err(|error| failed(&path, error))? {
            return Err(unusable(
                &path,
                format_args!("{problem}; the file is unchanged"),
            ));
        }
        let run = next_run(&database).map_err(|error| failed(&path, error))?;
        sync_folder(&path).map_err(|error| failed(&path, error))?;
        let mut writer = Self {
            path,
            database: Some(database),
            run,
            number: 0,
            keep,
            unflushed: None,
        };
        writer.transact(&[], true, usize::MAX)?;
        Ok(writer)
    }

    /// Answers requests until the journal is dropped.
    fn run(&mut self, receiver: &Receiver<QueuedRequest>) {
        loop {
            let first = match self.unflushed {
                None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(since) => receiver.recv_timeout(FLUSH.saturating_sub(since.elapsed())),
            };
            match first {
                Ok(first) => self.answer(
                    std::iter::once(first)
                        .chain(receiver.try_iter())
                        .take(BATCH)
                        .collect(),
                ),
                Err(RecvTimeoutError::Timeout) => self.flush(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.unflushed.is_some() {
            self.flush();
        }
    }

    fn answer(&mut self, queued: Vec<QueuedRequest>) {
        let (requests, senders): (Vec<_>, Vec<_>) = queued.into_iter().unzip();
        let is_overdue = self.unflushed.is_some_and(|since| since.elapsed() >= FLUSH);
        let is_durable =
            |request: &Request| matches!(request, Request::Started { call, .. } if !call.harmless);
        let durable = is_overdue || requests.iter().any(is_durable);
        // A caller that is gone needs no answer.
        match self.transact(&requests, durable, PRUNE) {
            Ok(answers) => senders
                .into_iter()
                .zip(answers)
                .for_each(|(sender, answer)| _ = sender.send(Ok(answer))),
            Err(error) => senders
                .into_iter()
                .for_each(|sender| _ = sender.send(Err(error.clone()))),
        }
    }

    /// Puts all changes on the disk. A failure is tried again, and the next request reports it if
    /// it lasts.
    fn flush(&mut self) {
        if self.transact(&[], true, PRUNE).is_err() {
            self.unflushed = Some(Instant::now());
        }
    }

    /// Answers requests in one transaction, which also removes at most `prune` old calls.
    fn transact(
        &mut self,
        requests: &[Request],
        durable: bool,
        prune: usize,
    ) -> Result<Vec<Vec<RecoveredCall>>, JournalError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => open_file(&self.path)?,
        };
        let answers = self.commit(&database, requests, durable, prune);
        let answers = answers.map_err(|error| failed(&self.path, error))?;
        self.database = Some(database);
        if durable {
            self.unflushed = None;
        } else if requests
            .iter()
            .any(|request| !matches!(request, Request::Recover(_)))
        {
            self.unflushed.get_or_insert_with(Instant::now);
        }
        Ok(answers)
    }

    fn commit(
        &mut self,
        database: &Database,
        requests: &[Request],
        durable: bool,
        prune: usize,
    ) -> Result<Vec<Vec<RecoveredCall>>, redb::Error> {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(if durable {
            Durability::Immediate
        } else {
            Durability::None
        })?;
        let mut answers = Vec::with_capacity(requests.len());
        let mut tables = JournalTables::open(&transaction, self.run)?;
        tables.prune(self.cutoff(), prune)?;
        for request in requests {
            self.number += 1;
            answers.push(tables.answer(request, self.number)?);
        }
        drop(tables);
        transaction.commit()?;
        Ok(answers)
    }

    /// Returns the time before which calls are removed, in milliseconds since 1970.
    fn cutoff(&self) -> i64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        now.checked_sub(self.keep).map_or(i64::MIN, |cutoff| {
            i64::try_from(cutoff.as_millis()).unwrap_or(i64::MAX)
        })
    }
}

/// The tables, open in a transaction.
struct JournalTables<'t> {
    calls: Table<'t, CallKey<'static>, (i64, u64, &'static str)>,
    responses: Table<'t, CallKey<'static>, &'static str>,
    ages: Table<'t, (i64, &'static str, &'static str, u64), ()>,
    run: u64,
}

impl<'t> JournalTables<'t> {
    fn open(transaction: &'t WriteTransaction, run: u64) -> Result<Self, TableError> {
        let calls = transaction.open_table(CALLS)?;
        let responses = transaction.open_table(RESPONSES)?;
        Ok(Self {
            calls,
            responses,
            ages: transaction.open_table(AGES)?,
            run,
        })
    }

    /// Answers the request of a number within the run.
    fn answer(
        &mut self,
        request: &Request,
        number: u64,
    ) -> Result<Vec<RecoveredCall>, redb::Error> {
        match request {
            Request::Started { call, entry } => {
                if let Some(known) = self.of_same_approval(call)? {
                    return Ok(vec![known]);
                }
                self.start(call, entry, number)?;
            }
            Request::Finished {
                session,
                call_id,
                response,
            } => {
                let key = (session.as_str(), call_id.as_str(), self.run);
                // A response without its call would never be removed.
                if self.calls.get(key)?.is_some() {
                    self.responses.insert(key, response.as_str())?;
                }
            }
            Request::Recover(session) => return self.recover(session),
            Request::Forget(session) => {
                for StoredCall {
                    call_id, run, at, ..
                } in self.calls_of(session)?
                {
                    self.remove(at, (session, &call_id, run))?;
                }
            }
        }
        Ok(Vec::new())
    }

    /// Records a call, in place of one that this run has recorded with its id.
    fn start(&mut self, call: &JournalEntry, entry: &str, number: u64) -> Result<(), redb::Error> {
        let key = (call.session.as_str(), call.call_id.as_str(), self.run);
        let at = call.started_at.as_millisecond();
        let earlier = self.calls.insert(key, (at, number, entry))?;
        let earlier = earlier.map(|row| row.value().0);
        if let Some(earlier) = earlier {
            // The response belongs to an earlier call of the same id.
            self.responses.remove(key)?;
            self.ages.remove((earlier, key.0, key.1, key.2))?;
        }
        self.ages.insert((at, key.0, key.1, key.2), ())?;
        Ok(())
    }

    /// Returns the call of any run under the approval of a call that is about to start.
    fn of_same_approval(&self, call: &JournalEntry) -> Result<Option<RecoveredCall>, redb::Error> {
        if call.approval.is_none() {
            return Ok(None);
        }
        let session = call.session.as_str();
        let id = call.call_id.as_str();
        for row in self
            .calls
            .range((session, id, 0)..=(session, id, u64::MAX))?
        {
            let (key, value) = row?;
            let known = self.recovered(key.value(), value.value().2)?;
            if known.entry.has_approval_of(call) {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// Returns a call with its response.
    fn recovered(&self, key: CallKey, entry: &str) -> Result<RecoveredCall, redb::Error> {
        let invalid = |error| {
            redb::Error::Corrupted(format!("failed to read an entry of the journal: {error}"))
        };
        let entry = serde_json::from_str(entry).map_err(invalid)?;
        let response = self.responses.get(key)?;
        Ok(RecoveredCall {
            response: response.map(|text| text.value().to_owned()),
            ..RecoveredCall::new(entry)
        })
    }

    fn calls_of(&self, session: &str) -> Result<Vec<StoredCall>, redb::Error> {
        let mut calls = Vec::new();
        for row in self.calls.range((session, "", 0)..)? {
            let (key, value) = row?;
            let ((owner, call_id, run), (at, number, entry)) = (key.value(), value.value());
            if owner != session {
                break;
            }
            calls.push(StoredCall {
                call_id: call_id.to_owned(),
                run,
                at,
                number,
                entry: entry.to_owned(),
            });
        }
        Ok(calls)
    }

    /// Returns the session's calls of earlier runs in the order in which they started.
    fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, redb::Error> {
        let mut calls = self.calls_of(session)?;
        calls.retain(|call| call.run != self.run);
        calls.sort_by_key(|call| (call.run, call.number));
        let recovered = calls
            .iter()
            .map(|call| self.recovered((session, &call.call_id, call.run), &call.entry));
        recovered.collect()
    }

    /// Removes the oldest calls that started before `cutoff`, at most `max`.
    fn prune(&mut self, cutoff: i64, max: usize) -> Result<(), redb::Error> {
        for _ in 0..max {
            let Some((oldest, _)) = self.ages.first()? else {
                break;
            };
            let (at, session, call_id, run) = oldest.value();
            if at >= cutoff {
                break;
            }
            let session = session.to_owned();
            let call_id = call_id.to_owned();
            drop(oldest);
            self.remove(at, (&session, &call_id, run))?;
        }
        Ok(())
    }

    fn remove(&mut self, at: i64, key: CallKey) -> Result<(), redb::Error> {
        self.ages.remove((at, key.0, key.1, key.2))?;
        self.calls.remove(key)?;
        self.responses.remove(key)?;
        Ok(())
    }
}

/// A row of [`CALLS`].
struct StoredCall {
    call_id: String,
    run: u64,
    at: i64,
    number: u64,
    entry: String,
}

/// Opens the file, and creates it if it does not exist. A new file is readable for its owner only.
fn open_file(path: &Path) -> Result<Database, JournalError> {
    if !path.exists() {
        create_whole(path);
    }
    let mut options = private_options();
    let file = options
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| failed(path, error))?;
    database_in(file).map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => unusable(
            path,
            "the journal is open already; give each process its own file",
        ),
        error => unusable(
            path,
            format_args!(
                "expected a journal, got another or a damaged file ({error}); it is unchanged"
            ),
        ),
    })
}

/// Creates an empty journal beside its place and links it there, so that a process that is killed
/// meanwhile leaves none that cannot be opened. Where that fails, the file is created in place.
fn create_whole(path: &Path) {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".new-{}", std::process::id()));
    let beside = PathBuf::from(beside);
    // A killed process may have had this one's number.
    let _ = std::fs::remove_file(&beside);
    let Ok(file) = private_options().create_new(true).open(&beside) else {
        return;
    };

    if database_in(file).is_ok() {
        // If another process was faster, its file stays.
        let _ = std::fs::hard_link(&beside, path);
    }
    let _ = std::fs::remove_file(&beside);
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn database_in(file: File) -> Result<Database, DatabaseError> {
    Builder::new().set_cache_size(CACHE).create_file(file)
}

/// Returns an error about the file, with its cause.
fn failed(path: &Path, cause: impl Error + Send + Sync + 'static) -> JournalError {
    JournalError::with_source(format!("`{}`: {cause}", path.display()), cause)
}

fn unusable(path: &Path, problem: impl fmt::Display) -> JournalError {
    JournalError::new(format!("`{}`: {problem}", path.display()))
}

/// Returns the problem of a database that is not a journal of this format.
fn foreign_contents(database: &Database) -> Result<Option<String>, redb::Error> {
    let transaction = database.begin_read()?;
    let names = transaction
        .list_tables()?
        .map(|table| table.name().to_owned())
        .collect::<Vec<_>>();
    if names.is_empty() {
        return Ok(None);
    }
    if !names.iter().any(|name| name == META.name()) {
        return Ok(Some("expected a journal, got another database".to_owned()));
    }
    let format = transaction
        .open_table(META)?
        .get("format")?
        .map_or(0, |format| format.value());
    Ok((format != FORMAT)
        .then(|| format!("expected a journal of format {FORMAT}, got format {format}")))
}

/// Returns the number of this run, which is greater than all before.
fn next_run(database: &Database) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    let mut meta = transaction.open_table(META)?;
    let run = meta.get("run")?.map_or(0, |run| run.value()) + 1;
    meta.insert("run", run)?;
    meta.insert("format", FORMAT)?;
    drop(meta);
    transaction.commit()?;
    Ok(run)
}

/// Makes the file's name durable, on systems where a folder can be synced.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}
