//! Where keys come from: the environment, a file.

use super::{KeyError, Keyring};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use zeroize::Zeroizing;

/// A file of keys is no longer: some 900 keys.
const MOST: usize = 64 * 1024;

impl Keyring {
    /// The keys in an environment variable.
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        let text = std::env::var_os(variable).ok_or_else(|| KeyError::Unset(variable.to_owned()))?;
        let text = text.into_string().map_err(|text| {
            drop(Zeroizing::new(text.into_encoded_bytes()));
            KeyError::Malformed(vec!["it is no text".into()])
        })?;
        Self::parse(&Zeroizing::new(text))
    }

    /// The keys in a file. Where other users of the machine can read it, a line in the log says so (on Unix).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let failed = |why: String| KeyError::File { path: path.display().to_string(), why };
        let file = File::open(path).map_err(|error| failed(error.kind().to_string()))?;
        warn_of_readers(path, &file);
        // Room for all of it from the beginning: a buffer that grows leaves its contents behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(MOST + 1));
        let read = file.take(MOST as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| failed(error.kind().to_string()))?;
        if bytes.len() > MOST {
            return Err(failed(format!("it is longer than {MOST} bytes")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| failed("it is no text".into()))?;
        Self::parse(text)
    }
}

#[cfg(unix)]
fn warn_of_readers(path: &Path, file: &File) {
    use std::os::unix::fs::MetadataExt;
    let mode = file.metadata().map_or(0, |metadata| metadata.mode());
    if mode & 0o007 != 0 {
        tracing::warn!(
            path = ?path.display().to_string(), mode = format!("{:03o}", mode & 0o777),
            "every user of this machine can get at the file of keys; take that right away (`chmod o= FILE`)"
        );
    }
}

#[cfg(not(unix))]
fn warn_of_readers(_: &Path, _: &File) {}
