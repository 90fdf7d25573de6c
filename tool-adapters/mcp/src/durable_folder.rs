//! The folder of a file that is replaced durably.

use std::fs::File;
use std::io;
use std::path::Path;

/// Returns the folder of a file.
pub fn folder_of(file: &Path) -> &Path {
    file.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes the new name of a file durable, on systems where a folder can be synced.
///
/// # Errors
///
/// If the folder cannot be opened or synced.
pub fn sync_folder(file: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder_of(file))?.sync_all()
    } else {
        Ok(())
    }
}
