//! Where the database is, and the keys that its secrets are sealed under.

use super::worker::Failure;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tool_core::agents::Keyring;

/// The database: the one that is named, or the user's own.
pub(crate) fn database(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(file) = named {
        return Ok(file);
    }
    let set = |name| env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    let folder = data.unwrap_or_else(env::temp_dir).join("tool-core-worker");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder.join("agents.db"))
}

/// The keys: those of `TOOL_SECRETS_KEYS`, or those in a file beside the database, which is made where there is none.
pub(crate) fn keys(db: &Path) -> Result<Keyring, Failure> {
    if env::var_os("TOOL_SECRETS_KEYS").is_some() {
        return Ok(Keyring::from_env("TOOL_SECRETS_KEYS")?);
    }
    let mut file = db.as_os_str().to_owned();
    file.push(".keys");
    let file = PathBuf::from(file);
    if make(&file).map_err(|error| format!("{}: {error}", file.display()))? {
        eprintln!("made the key file {}: without it the secrets in the database cannot be opened", file.display());
    }
    Ok(Keyring::from_file(&file)?)
}

/// Makes a file with a new key, which nobody but its owner may read. False where there is one.
fn make(file: &Path) -> io::Result<bool> {
    if file.exists() {
        return Ok(false);
    }
    let line = Keyring::generate("first").map_err(io::Error::other)?;
    // Whole or not at all, and never over another's: written beside it, then linked.
    let draft = file.with_extension(format!("keys.{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut draft_file = options.open(&draft)?;
    writeln!(draft_file, "{}", *line)?;
    draft_file.sync_all()?;
    let linked = fs::hard_link(&draft, file);
    fs::remove_file(&draft)?;
    match linked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
