//! A journal in a file: what a process had begun when it was killed is known to the next.

pub(crate) mod rows;
pub(crate) mod writer;

use crate::stores::journal::rows::Request;
use crate::stores::journal::writer::Writer;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tool_core::session::{Journal, JournalEntry, JournalError, RecoveredCall};

/// For how long calls are kept unless told.
const KEEP: Duration = Duration::from_hours(7 * 24);

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
/// # What survives what
///
/// - A call that is not harmless is on the disk when `started` is done: neither a killed process nor a power cut loses it.
///   Calls that start at the same time share one write to the disk.
/// - A full disk is an error of the calls that need it, and they can be journalled again when there is room.
/// - A harmless call's start, how any call ended, and what was forgotten are on the disk at most 20 ms later, or with the
///   next action that starts, and when the journal is dropped. What a kill takes within that time makes a call that has
///   ended UNKNOWN, and never runs an action again.
///
/// # What it holds, and for how long
///
/// Arguments and responses as they are, so the file is created readable for its owner alone (on Unix). A session's calls
/// are removed when it is forgotten, and those of sessions that never were when they are older than
/// [`open_keeping`](Self::open_keeping) says. The file does not shrink; the room is used again.
///
/// Of a response over 64 KiB an envelope is kept that says that the call ended, whether well, and that its result was too
/// large to keep: `data` is null and `meta.warnings` has the reason.
pub struct FileJournal {
    path: PathBuf,
    writer: Writer,
}

impl FileJournal {
    /// Opens a journal, or begins one where there is no file. Calls are kept for 7 days.
    ///
    /// This reads the disk, and longest after a crash: call it before the process serves, or where blocking does no harm.
    /// Dropping the journal waits until all is written.
    ///
    /// # Errors
    ///
    /// Where the file cannot be created or read, another process (or another `FileJournal` in this one) has it open, or it
    /// is damaged or no journal, in which case it is left as it is.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        Self::open_keeping(path, KEEP)
    }

    /// Opens a journal that forgets calls which started longer ago than `keep`, by the clock of this machine.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_keeping(path: impl AsRef<Path>, keep: Duration) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let writer = Writer::start(path.clone(), keep)?;
        Ok(Self { path, writer })
    }
}

impl Journal for FileJournal {
    async fn started(&self, call: &JournalEntry) -> Result<(), JournalError> {
        self.writer.ask(Request::started(call)?).await.map(drop)
    }

    async fn finished(&self, session: &str, call_id: &str, response: &str) -> Result<(), JournalError> {
        let request = Request::Finished {
            session: session.to_owned(),
            call_id: call_id.to_owned(),
            response: rows::bounded(response)?.into_owned(),
        };
        self.writer.ask(request).await.map(drop)
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        self.writer.ask(Request::Recover(session.to_owned())).await
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.writer.ask(Request::Forget(session.to_owned())).await.map(drop)
    }
}

impl fmt::Debug for FileJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileJournal").field("path", &self.path).finish_non_exhaustive()
    }
}
