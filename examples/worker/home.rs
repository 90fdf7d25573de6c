//! The database, and the keys of its secrets and approvals.

use super::database::Database;
use super::worker::Failure;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tool_core::agents::Keyring;

/// Returns the database: the one that the command line or `WORKER_DATABASE` names, or the user's default.
pub(crate) fn database(named: Option<String>) -> Result<Database, Failure> {
    let set = env::var("WORKER_DATABASE");
    let set = set.ok().filter(|name| !name.is_empty());
    if let Some(name) = named.or(set) {
        return Ok(Database::named(&name));
    }
    let set = |name| {
        env::var_os(name)
            .filter(|folder| !folder.is_empty())
            .map(PathBuf::from)
    };
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    let folder = data.unwrap_or_else(env::temp_dir).join("tool-core-worker");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(Database::File(folder.join("agents.db")))
}

/// Reads the keys from `TOOL_SECRETS_KEYS`, or from a file beside the database, which is created if it is missing.
pub(crate) fn keys(db: &Database) -> Result<Keyring, Failure> {
    if env::var_os("TOOL_SECRETS_KEYS").is_some() {
        return Ok(Keyring::from_env("TOOL_SECRETS_KEYS")?);
    }
    let Database::File(db) = db else {
        return Err(
            "set TOOL_SECRETS_KEYS to `ID:64 HEX DIGITS`, the same for all workers of the database"
                .into(),
        );
    };
    let mut file = db.as_os_str().to_owned();
    file.push(".keys");
    let file = PathBuf::from(file);
    if make(&file).map_err(|error| format!("{}: {error}", file.display()))? {
        eprintln!(
            "made the key file {}: without it the secrets in the database cannot be opened",
            file.display()
        );
    }
    Ok(Keyring::from_file(&file)?)
}

/// Reads the key that signs approvals and the journal, which all workers of a database share.
pub(crate) fn signing_key() -> Result<[u8; 32], Failure> {
    let expected =
        "set WORKER_SIGNING_KEY to 64 hexadecimal digits, the same for all workers of the database";
    let text = env::var("WORKER_SIGNING_KEY").map_err(|_| expected)?;
    let mut key = [0; 32];
    if text.trim().len() != 64 || !text.trim().is_ascii() {
        return Err(expected.into());
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text.trim()[2 * at..2 * at + 2], 16).map_err(|_| expected)?;
    }
    Ok(key)
}

/// Creates a file with a new key that only its owner can read. Returns `false` if the file exists.
fn make(file: &Path) -> io::Result<bool> {
    if file.exists() {
        return Ok(false);
    }
    let line = Keyring::generate("first").map_err(io::Error::other)?;
    // The file is written under another name and then linked, so that it is complete and replaces no other.
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
