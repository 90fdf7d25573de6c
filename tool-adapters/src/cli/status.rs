//! How a command ends.

use super::Io;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// How a command line ended; its number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub enum Status {
    /// All was done.
    Done = 0,
    /// Something was refused: a call failed, a provider does not take a tool, a manifest drifted.
    Refused = 1,
    /// The arguments, or the files that they name, are not what they have to be.
    Usage = 2,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command stops before its end.
pub(super) enum Stop {
    /// Something was refused; what it was.
    Refused(String),
    /// The arguments or their files are wrong; how.
    Usage(String),
    /// Nobody reads the output any more, or it cannot be written.
    Output(io::Error),
}

impl Stop {
    /// A file that was named and cannot be read.
    pub(super) fn file(path: &Path, problem: impl Display) -> Self {
        Self::Usage(format!("{}: {problem}", path.display()))
    }

    pub(super) fn tell(self, io: &mut Io<'_>) -> Status {
        match self {
            Self::Refused(message) => {
                io.complain(&message);
                Status::Refused
            }
            Self::Usage(message) => {
                io.complain(&message);
                Status::Usage
            }
            // Whoever closed it, such as `head`, has what it wants.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Status::Done,
            Self::Output(error) => {
                io.complain(&format!("the output cannot be written: {error}"));
                Status::Refused
            }
        }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
