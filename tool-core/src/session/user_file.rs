//! A file of a user, as a part of a message.

use crate::call::content::{Content, ContentError, from_file, from_named_bytes};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::path::{Path, PathBuf};

/// Creates a part from a file, as [`file_from_bytes`] does.
pub(crate) async fn file_from_path(path: PathBuf, max: usize) -> Result<Content, ContentError> {
    let read = move |bytes: &[u8], path: &Path| file_from_bytes(bytes, path, max);
    from_file(path, max, read).await
}

/// Creates a part from the bytes of a named file. An image or a sound is a part of its own kind,
/// and all else is a resource with the name of the file.
pub(crate) fn file_from_bytes(
    bytes: &[u8],
    path: &Path,
    max: usize,
) -> Result<Content, ContentError> {
    let file_name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let part = match from_named_bytes(bytes, Some(path), max)? {
        Content::Text { text } => Content::Resource {
            uri: uri_of_file(file_name.as_deref()),
            mime_type: Some(text_type_of_extension(path).to_owned()),
            text: Some(text),
            name: file_name,
        },
        Content::Resource {
            uri,
            mime_type,
            text,
            ..
        } => Content::Resource {
            uri,
            mime_type,
            text,
            name: file_name,
        },
        part => part,
    };
    Ok(part)
}

/// Returns a URI that names a file of a user.
fn uri_of_file(name: Option<&str>) -> String {
    let name = utf8_percent_encode(name.unwrap_or("file"), NON_ALPHANUMERIC);
    format!("attachment:{name}").replace("%2E", ".")
}

/// Returns the type of a text by the extension of its file.
fn text_type_of_extension(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "csv" => "text/csv",
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "xml" => "application/xml",
        _ => "text/plain",
    }
}
