//! Parts of a result: texts, images, sounds and resources, from base64, bytes or files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A part of a result, for models that take more than text. A tool returns one part or a `Vec` of
/// them.
///
/// ```
/// use tool_core::{Content, RunContext, ToolContext, tool};
///
/// /// Show the plan of a floor.
/// #[tool(category = "retrieval")]
/// fn floor_plan(floor: u8) -> Vec<Content> {
///     let gif = b"GIF89a\x01\0\x01\0\0\0\0;"; // as it comes from a database
///     let plan = Content::from_bytes(gif);
///     let caption = Content::text(format!("Floor {floor}, north is up."));
///     [caption].into_iter().chain(plan).collect()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolContext::builder().with(floor_plan).build()?;
/// let response = tools.call("floor_plan", r#"{"floor": 2}"#, &RunContext::detached()).await;
/// let parts = response.data::<Vec<Content>>()?;
/// assert_eq!(parts[0], Content::text("Floor 2, north is up."));
/// assert!(matches!(&parts[1], Content::Image { mime_type, .. } if mime_type == "image/gif"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum Content {
    /// A text.
    Text {
        /// The text itself.
        text: String,
    },
    /// An image.
    Image {
        /// The bytes in base64.
        data: String,
        /// The MIME type, for example `image/png`.
        mime_type: String,
    },
    /// A sound.
    Audio {
        /// The bytes in base64.
        data: String,
        /// The MIME type, for example `audio/wav`.
        mime_type: String,
    },
    /// A resource that the client can fetch.
    Resource {
        /// The resource's URI.
        uri: String,
        /// The MIME type, for example `text/markdown`, if it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// The resource's text, if it is at hand.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The name of the file, for example `plan.pdf`, if the resource is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl Content {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Creates an image part from base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image {
            data: data.into(),
            mime_type: mime_type.into(),
        }
    }

    /// Creates a sound part from base64.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio {
            data: data.into(),
            mime_type: mime_type.into(),
        }
    }

    /// Creates a resource part.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource {
            uri: uri.into(),
            mime_type: None,
            text: None,
            name: None,
        }
    }

    /// Returns the number of bytes of the texts of a part, with those of its base64.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Self::Text { text } => text.len(),
            Self::Image { data, mime_type } | Self::Audio { data, mime_type } => {
                data.len() + mime_type.len()
            }
            Self::Resource {
                uri,
                mime_type,
                text,
                name,
            } => uri.len() + length(mime_type) + length(text) + length(name),
        }
    }

    /// The maximum number of bytes of a part that is created from bytes or a file. In base64 it
    /// fits into a result.
    pub const MAX_BYTES: usize = 700 * 1024;

    /// Creates a part from the bytes of a text, an image, a sound or a PDF document.
    ///
    /// The first bytes decide its type: PNG, JPEG, GIF, `WebP`, BMP, TIFF, AVIF, HEIC, WAV, MP3,
    /// Ogg, FLAC, AAC, AIFF, M4A or PDF. Other bytes must be text in UTF-8. A PDF document becomes
    /// a resource with a `data:` URI.
    ///
    /// ```
    /// use tool_core::Content;
    ///
    /// let gif = *b"GIF89a\x01\0\x01\0\0\0\0;";
    /// assert_eq!(Content::from_bytes(gif)?, Content::image("R0lGODlhAQABAAAAADs=", "image/gif"));
    /// assert_eq!(Content::from_bytes("a,b\n1,2")?, Content::text("a,b\n1,2"));
    /// # Ok::<(), tool_core::call::ContentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There are more than [`MAX_BYTES`](Self::MAX_BYTES), or their type is not known.
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Result<Self, ContentError> {
        from_named_bytes(bytes.as_ref(), None, Self::MAX_BYTES)
    }

    /// Creates a part from a file. The file's first bytes decide its type, as in [`from_bytes`](Self::from_bytes), and its
    /// extension decides where they do not.
    ///
    /// The file is read on tokio's blocking pool. A relative path starts at the program's working
    /// directory. A tool whose path comes from the model must check it first: this reads every file
    /// that the program may read.
    ///
    /// ```
    /// use tool_core::call::ContentError;
    /// use tool_core::{Content, tool};
    ///
    /// /// Show the floor plan.
    /// #[tool]
    /// async fn floor_plan() -> Result<Content, ContentError> {
    ///     Content::from_path("assets/floor_plan.png").await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The path is not that of a readable file, the file has more than [`MAX_BYTES`](Self::MAX_BYTES), its type is not known,
    /// or it has the extension of another type. The error names the path.
    pub async fn from_path(path: impl Into<PathBuf>) -> Result<Self, ContentError> {
        let read = |bytes: &[u8], path: &Path| from_named_bytes(bytes, Some(path), Self::MAX_BYTES);
        from_file(path.into(), Self::MAX_BYTES, read).await
    }
}

/// The reason why no [`Content`] was created from bytes or a file.
///
/// A tool that returns it fails with INTERNAL, and the reason is logged: a path is not the model's.
///
/// ```
/// use tool_core::Content;
/// use tool_core::call::ContentError;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let error = Content::from_path("missing.png").await.unwrap_err();
/// assert!(matches!(error, ContentError::Read { .. }));
/// assert!(error.to_string().starts_with("failed to read `missing.png`"));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The file could not be read.
    #[error("failed to read `{}`: {source}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The path is that of a directory or a device.
    #[error("expected a file at `{}`, got a directory or a device", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// There are too many bytes.
    #[error("expected at most {max} bytes, got {bytes}{}; make it smaller, or give a resource with its URI", of(path.as_deref()))]
    TooLarge {
        /// The path of the file.
        path: Option<PathBuf>,
        /// The number of bytes.
        bytes: u64,
        /// The maximum.
        max: usize,
    },
    /// The bytes are neither UTF-8 nor of a known type.
    #[error("expected a text in UTF-8, an image, a sound or a PDF document, got other bytes{}; give a resource with its URI", of(path.as_deref()))]
    UnknownType {
        /// The path of the file.
        path: Option<PathBuf>,
    },
    /// The file has the extension of an image, a sound or a document, and its bytes are of another
    /// kind.
    #[error(
        "expected {expected} by the extension, got {found}{}; correct the file or its name",
        of(Some(path))
    )]
    OtherType {
        /// The path of the file.
        path: PathBuf,
        /// The MIME type that belongs to the extension.
        expected: &'static str,
        /// The MIME type of the bytes.
        found: &'static str,
    },
}

/// Names a file in a message.
fn of(path: Option<&Path>) -> String {
    path.map(|path| format!(" in `{}`", path.display()))
        .unwrap_or_default()
}

/// Creates a part from a file, which is read on tokio's blocking pool.
pub(crate) async fn from_file(
    path: PathBuf,
    max: usize,
    read: impl FnOnce(&[u8], &Path) -> Result<Content, ContentError> + Send + 'static,
) -> Result<Content, ContentError> {
    let reading = tokio::task::spawn_blocking({
        let path = path.clone();
        move || read_file(&path, max).and_then(|bytes| read(&bytes, &path))
    });
    // The task is neither aborted nor does it panic.
    reading.await.unwrap_or_else(|error| {
        Err(ContentError::Read {
            path,
            source: io::Error::other(error),
        })
    })
}

fn read_file(path: &Path, max: usize) -> Result<Vec<u8>, ContentError> {
    let failed = |source| ContentError::Read {
        path: path.to_owned(),
        source,
    };
    // Asked before the file is opened, as opening a pipe waits.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(ContentError::NotAFile {
            path: path.to_owned(),
        });
    }
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    // A file may grow while it is read.
    file.take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() > max {
        return Err(ContentError::TooLarge {
            path: Some(path.to_owned()),
            bytes: size.max(bytes.len() as u64),
            max,
        });
    }
    Ok(bytes)
}

/// Creates a part from at most `max` bytes, which may be those of a file.
pub(crate) fn from_named_bytes(
    bytes: &[u8],
    path: Option<&Path>,
    max: usize,
) -> Result<Content, ContentError> {
    let owned = || path.map(Path::to_owned);
    if bytes.len() > max {
        return Err(ContentError::TooLarge {
            path: owned(),
            bytes: bytes.len() as u64,
            max,
        });
    }
    let text = text_of(bytes);
    let found = type_of_bytes(bytes).or(text.map(|_| TEXT));
    let named = path.and_then(type_of_extension);
    let mime_type = found
        .or(named)
        .ok_or_else(|| ContentError::UnknownType { path: owned() })?;
    if let (Some(path), Some(expected)) = (path, named)
        && kind(expected) != kind(mime_type)
    {
        return Err(ContentError::OtherType {
            path: path.to_owned(),
            expected,
            found: mime_type,
        });
    }
    Ok(match (kind(mime_type), text) {
        ("text", Some(text)) => Content::text(text),
        ("image", _) => Content::image(STANDARD.encode(bytes), mime_type),
        ("audio", _) => Content::audio(STANDARD.encode(bytes), mime_type),
        _ => Content::Resource {
            uri: format!("data:{mime_type};base64,{}", STANDARD.encode(bytes)),
            mime_type: Some(mime_type.to_owned()),
            text: None,
            name: None,
        },
    })
}

const TEXT: &str = "text/plain";

/// Returns the part of a MIME type before the slash.
fn kind(mime_type: &str) -> &str {
    mime_type
        .split_once('/')
        .map_or(mime_type, |(kind, _)| kind)
}

/// Returns the type of bytes that begin as a known format does.
fn type_of_bytes(bytes: &[u8]) -> Option<&'static str> {
    const STARTS: [(&[u8], &str); 18] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (b"ID3", "audio/mpeg"),
        (b"\xff\xfb", "audio/mpeg"),
        (b"\xff\xfa", "audio/mpeg"),
        (b"\xff\xf3", "audio/mpeg"),
        (b"\xff\xf2", "audio/mpeg"),
        (b"\xff\xf1", "audio/aac"),
        (b"\xff\xf9", "audio/aac"),
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"),
        (b"%PDF-", "application/pdf"),
        (b"BM", "image/bmp"),
        (b"\0\0\x01\0", "image/x-icon"),
    ];
    /// The formats inside a container, by the letters after its size.
    const INNER: [(&[u8], &[u8], &str); 16] = [
        (b"RIFF", b"WEBP", "image/webp"),
        (b"RIFF", b"WAVE", "audio/wav"),
        (b"FORM", b"AIFF", "audio/aiff"),
        (b"FORM", b"AIFC", "audio/aiff"),
        (b"ftyp", b"avif", "image/avif"),
        (b"ftyp", b"heic", "image/heic"),
        (b"ftyp", b"heix", "image/heic"),
        (b"ftyp", b"heim", "image/heic"),
        (b"ftyp", b"heis", "image/heic"),
        (b"ftyp", b"hevc", "image/heic"),
        (b"ftyp", b"hevx", "image/heic"),
        (b"ftyp", b"hevm", "image/heic"),
        (b"ftyp", b"hevs", "image/heic"),
        (b"ftyp", b"mif1", "image/heif"),
        (b"ftyp", b"msf1", "image/heif"),
        (b"ftyp", b"M4A ", "audio/mp4"),
    ];
    let starts = STARTS
        .iter()
        .find(|(start, _)| bytes.starts_with(start))
        .map(|(_, mime_type)| *mime_type);
    // A text may begin with these letters too.
    let starts = starts.filter(|mime_type| {
        !matches!(*mime_type, "image/bmp" | "audio/mpeg") || text_of(bytes).is_none()
    });
    let at = |from: usize, letters: &[u8]| {
        bytes
            .get(from..)
            .is_some_and(|rest| rest.starts_with(letters))
    };
    let is_inner = |outer: &[u8], inner: &[u8]| {
        (at(0, outer) && at(8, inner)) || (outer == b"ftyp" && at(4, outer) && at(8, inner))
    };
    starts.or_else(|| {
        INNER
            .iter()
            .find(|(outer, inner, _)| is_inner(outer, inner))
            .map(|(.., mime_type)| *mime_type)
    })
}

/// Returns the text in bytes, unless it has control characters that no text has.
fn text_of(bytes: &[u8]) -> Option<&str> {
    let is_binary = |c: char| c.is_control() && !c.is_whitespace() && c != '\u{1b}';
    std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains(is_binary))
}

/// Returns the type of a file that is no text by its extension.
fn type_of_extension(path: &Path) -> Option<&'static str> {
    Some(
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "png" => "image/png",
            "jpg" | "jpeg" => "image/jpeg",
            "gif" => "image/gif",
            "webp" => "image/webp",
            "bmp" => "image/bmp",
            "tif" | "tiff" => "image/tiff",
            "avif" => "image/avif",
            "heic" => "image/heic",
            "heif" => "image/heif",
            "wav" => "audio/wav",
            "mp3" => "audio/mpeg",
            "ogg" | "oga" | "opus" => "audio/ogg",
            "flac" => "audio/flac",
            "aac" => "audio/aac",
            "aif" | "aiff" => "audio/aiff",
            "m4a" => "audio/mp4",
            "weba" => "audio/webm",
            "pdf" => "application/pdf",
            "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "doc" => "application/msword",
            "xls" => "application/vnd.ms-excel",
            "ppt" => "application/vnd.ms-powerpoint",
            "odt" => "application/vnd.oasis.opendocument.text",
            "ods" => "application/vnd.oasis.opendocument.spreadsheet",
            "odp" => "application/vnd.oasis.opendocument.presentation",
            "odg" => "application/vnd.oasis.opendocument.graphics",
            "mp4" => "video/mp4",
            "mov" => "video/quicktime",
            "webm" => "video/webm",
            "mkv" => "video/x-matroska",
            "flv" => "video/x-flv",
            "wmv" => "video/x-ms-wmv",
            "3gp" => "video/3gpp",
            "mpeg" | "mpg" => "video/mpeg",
            "avi" => "video/x-msvideo",
            _ => return None,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{RunContext, ToolOutput};
    use std::env::temp_dir;
    use std::fs;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    /// A file that is removed when it is dropped.
    struct TemporaryFile(PathBuf);

    impl TemporaryFile {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let path = temp_dir().join(format!("content-{}-{name}", std::process::id()));
            fs::write(&path, bytes).expect("writes");
            Self(path)
        }
    }

    impl Drop for TemporaryFile {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    async fn read(name: &str, bytes: &[u8]) -> Result<Content, ContentError> {
        let file = TemporaryFile::new(name, bytes);
        Content::from_path(&file.0).await
    }

    fn mime_type(content: &Content) -> &str {
        match content {
            Content::Image { mime_type, .. }
            | Content::Audio { mime_type, .. }
            | Content::Resource {
                mime_type: Some(mime_type),
                ..
            } => mime_type,
            _ => TEXT,
        }
    }

    #[test]
    fn types_are_found_by_the_first_bytes() {
        let cases: [(&[u8], &str); 14] = [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"RIFF\x10\0\0\0WEBPVP8 \xff", "image/webp"),
            (b"RIFF\x10\0\0\0WAVEfmt \xff", "audio/wav"),
            (b"\0\0\0\x1cftypavif\xff", "image/avif"),
            (b"\0\0\0\x1cftypM4A \xff", "audio/mp4"),
            (b"BM\x10\0\0\0\xff", "image/bmp"),
            (b"ID3\x04\0\xff", "audio/mpeg"),
            (b"OggS\0\xff", "audio/ogg"),
            (b"%PDF-1.7\n", "application/pdf"),
            (b"BMW sells cars", TEXT),
            (b"ID3 tags", TEXT),
            (b"<svg/>", TEXT),
            (b"", TEXT),
        ];
        for (bytes, expected) in cases {
            let content = Content::from_bytes(bytes).expect("is known");
            assert_eq!(mime_type(&content), expected, "{bytes:?}");
        }
    }

    #[test]
    fn every_brand_of_heic_is_known() {
        for brand in [
            "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs",
        ] {
            let bytes = [b"\0\0\0\x1cftyp", brand.as_bytes(), b"\xff"].concat();
            let content = Content::from_bytes(bytes).expect("is known");
            assert_eq!(mime_type(&content), "image/heic", "{brand}");
        }
    }

    #[test]
    fn every_brand_of_heif_is_known() {
        for brand in ["mif1", "msf1"] {
            let bytes = [b"\0\0\0\x1cftyp", brand.as_bytes(), b"\xff"].concat();
            let content = Content::from_bytes(bytes).expect("is known");
            assert_eq!(mime_type(&content), "image/heif", "{brand}");
        }
    }

    #[tokio::test]
    async fn files_of_each_kind_are_known_by_their_extension() {
        for (name, expected) in [
            ("a.heif", "image/heif"),
            ("a.odt", "application/vnd.oasis.opendocument.text"),
            ("a.ods", "application/vnd.oasis.opendocument.spreadsheet"),
            ("a.odp", "application/vnd.oasis.opendocument.presentation"),
            ("a.odg", "application/vnd.oasis.opendocument.graphics"),
            ("a.mkv", "video/x-matroska"),
            ("a.flv", "video/x-flv"),
            ("a.wmv", "video/x-ms-wmv"),
            ("a.3gp", "video/3gpp"),
            ("a.mpeg", "video/mpeg"),
            ("a.mpg", "video/mpeg"),
            ("a.avi", "video/x-msvideo"),
        ] {
            let content = read(name, b"\xfe\xfe\x01").await.expect("is known");
            assert_eq!(mime_type(&content), expected, "{name}");
        }
    }

    #[test]
    fn a_pdf_is_a_resource_with_its_data() {
        let content = Content::from_bytes(b"%PDF-1.7").expect("is known");
        let Content::Resource { uri, .. } = content else {
            panic!("{content:?}")
        };
        assert_eq!(uri, "data:application/pdf;base64,JVBERi0xLjc=");
    }

    #[test]
    fn unknown_bytes_are_refused() {
        for bytes in [&b"\xfe\xfe\x01"[..], b"text with \0", b"\x7fELF\x02"] {
            let error = Content::from_bytes(bytes).expect_err("is unknown");
            assert!(
                matches!(error, ContentError::UnknownType { path: None }),
                "{error}"
            );
        }
    }

    #[tokio::test]
    async fn the_largest_part_fits_into_a_result() {
        let mut bytes = PNG.to_vec();
        bytes.resize(Content::MAX_BYTES, 0xff);
        let output = ToolOutput::content([Content::from_bytes(&bytes).expect("fits")]);
        assert!(output.meta.is_none(), "it was cut");
        bytes.push(0);
        assert!(matches!(
            Content::from_bytes(&bytes),
            Err(ContentError::TooLarge {
                path: None,
                bytes: 716_801,
                max: Content::MAX_BYTES
            })
        ));
        let error = read("large.png", &bytes).await.expect_err("is too large");
        assert!(error.to_string().contains("got 716801 in `"), "{error}");
    }

    #[tokio::test]
    async fn a_file_is_what_its_bytes_are() {
        assert_eq!(
            mime_type(&read("a.jpg", PNG).await.expect("reads")),
            "image/png"
        );
        assert_eq!(
            mime_type(&read("a.mp3", b"\xfe\xfe\x01").await.expect("reads")),
            "audio/mpeg"
        );
        assert_eq!(
            read("a.csv", b"a,b").await.expect("reads"),
            Content::text("a,b")
        );
    }

    #[tokio::test]
    async fn a_text_with_the_name_of_an_image_is_refused() {
        let error = read("b.png", b"version https://example.com/spec")
            .await
            .expect_err("is no image");
        let ContentError::OtherType {
            path,
            expected: "image/png",
            found: TEXT,
        } = &error
        else {
            panic!("{error}")
        };
        assert!(
            error.to_string().contains(&*path.to_string_lossy()),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_path_that_is_no_file_is_named() {
        let error = Content::from_path(temp_dir())
            .await
            .expect_err("is a directory");
        assert!(
            matches!(&error, ContentError::NotAFile { path } if *path == temp_dir()),
            "{error}"
        );
        let error = Content::from_path("/no/such.png")
            .await
            .expect_err("is missing");
        assert!(
            error
                .to_string()
                .starts_with("failed to read `/no/such.png`: "),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_path_does_not_reach_the_model() {
        /// Show a picture.
        #[tool_macros::tool(name = "show_in_content_tests")]
        async fn show() -> Result<Content, ContentError> {
            Content::from_path("/secret/place.png").await
        }

        let tools = crate::ToolContext::builder()
            .with(show)
            .build()
            .expect("builds");
        let response = tools
            .call("show_in_content_tests", "{}", &RunContext::detached())
            .await;
        let error = response.error().expect("fails");
        assert!(!error.message.contains("secret"), "{}", error.message);
    }
}
