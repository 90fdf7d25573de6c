//! The problems of a recording.

use std::io;
use std::path::PathBuf;

/// The error of a [`Recording`](super::Recording).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    #[error(
        "the recording `{}` cannot be read: {source}; to make it, set RECORD_MODELS=1 if the program uses `Recording::from_env`, or use `Recording::record`",
        path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file cannot be written. An earlier recording is still there.
    #[error("the recording `{}` cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not a recording that this program reads.
    #[error("`{}` is not a recording: {}; record it again", path.display(), problems.join("; "))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong with it.
        problems: Vec<String>,
    },
    /// The replay was not what was recorded, or there is nothing to record.
    #[error("the recording `{}`: {}", path.display(), problems.join("; "))]
    Differs {
        /// The file.
        path: PathBuf,
        /// Every problem, in the order of the requests.
        problems: Vec<String>,
    },
}
