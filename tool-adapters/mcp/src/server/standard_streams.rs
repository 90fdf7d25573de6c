//! The standard streams of the process.
//!
//! tokio reads and writes them on threads of their own, as they may be files or terminals. Clients
//! start servers with pipes or sockets, which need no threads: each message then takes two wakes of
//! a thread less.

use crate::lines::{Input, Output};

/// Returns standard input and standard output.
pub(crate) fn standard_streams() -> (Input, Output) {
    let input = ready::input().unwrap_or_else(|| Box::new(tokio::io::stdin()));
    let output = ready::output().unwrap_or_else(|| Box::new(tokio::io::stdout()));
    (input, output)
}

#[cfg(unix)]
mod ready {
    use super::{Input, Output};
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream as StdUnixStream;
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    /// A stream that tells when it can be used.
    enum Stream {
        Pipe(File),
        Socket(UnixStream),
    }

    impl Stream {
        fn of(stream: impl AsFd) -> io::Result<Option<Self>> {
            let file = File::from(stream.as_fd().try_clone_to_owned()?);
            let kind = file.metadata()?.file_type();
            if kind.is_fifo() {
                return Ok(Some(Self::Pipe(file)));
            }
            if !kind.is_socket() {
                return Ok(None);
            }
            let socket = StdUnixStream::from(OwnedFd::from(file));
            socket.set_nonblocking(true)?;
            UnixStream::from_std(socket).map(Self::Socket).map(Some)
        }
    }

    pub(super) fn input() -> Option<Input> {
        match Stream::of(io::stdin()).ok()?? {
            Stream::Pipe(file) => Some(Box::new(pipe::Receiver::from_file(file).ok()?)),
            Stream::Socket(socket) => Some(Box::new(socket)),
        }
    }

    pub(super) fn output() -> Option<Output> {
        match Stream::of(io::stdout()).ok()?? {
            Stream::Pipe(file) => Some(Box::new(pipe::Sender::from_file(file).ok()?)),
            Stream::Socket(socket) => Some(Box::new(socket)),
        }
    }
}

#[cfg(not(unix))]
mod ready {
    use super::{Input, Output};

    pub(super) fn input() -> Option<Input> {
        None
    }

    pub(super) fn output() -> Option<Output> {
        None
    }
}
