//! The folder of a file that is replaced durably.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Returns the folder of a file.
pub fn folder_of(file: &Path) -> &Path {
    file.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes the new name of a file durable, on systems where a folder can be synced. Where it cannot, for example on some network
/// file systems, or since the folder may be written but not read, the name is durable a little later.
///
/// # Errors
///
/// If the folder cannot be synced for another reason.
pub fn sync_folder(file: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let synced = File::open(folder_of(file)).and_then(|folder| folder.sync_all());
    synced.or_else(|error| match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::PermissionDenied | ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_no_system_call_syncs_is_no_error() {
        sync_folder(Path::new("/proc/version")).expect("no error");
        sync_folder(Path::new("/no folder/file")).expect_err("no such folder");
    }
}
