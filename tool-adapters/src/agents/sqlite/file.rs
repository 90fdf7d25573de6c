//! The file that the records are in.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

/// The file's path, from the root, so that it stays the same file when the program changes its folder.
#[derive(Clone, Debug)]
pub(super) struct File(PathBuf);

/// Which file it is: another one may come to stand in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl File {
    /// The file, made where there is none: nobody but its owner may read it.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut options = OpenOptions::new();
        // Opening one that is there, and closing it, would end the locks that SQLite has on it in this process.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(Self(path)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// `None` where there is no file.
    #[cfg(unix)]
    pub(super) fn identity(&self) -> Option<Identity> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(&self.0).ok().map(|file| Identity(file.dev(), file.ino()))
    }

    /// A file that is open cannot be replaced there.
    #[cfg(not(unix))]
    pub(super) fn identity(&self) -> Option<Identity> {
        Some(Identity(0, 0))
    }
}
