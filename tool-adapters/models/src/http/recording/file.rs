//! The file of a recording: versioned JSON that a person can read.

use super::error::RecordingError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The version of the form.
const VERSION: u32 = 1;
/// The number of bytes that are read and written.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A recording as it is in its file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordingFile {
    version: u32,
    exchanges: Vec<RecordedExchange>,
}

/// A request and its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedExchange {
    pub(crate) request: SentRequest,
    pub(crate) response: RecordedResponse,
}

/// A request without its secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SentRequest {
    pub(crate) method: String,
    /// The path and the query. The host is not recorded.
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// The answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedResponse {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    /// The pieces in which the body came.
    pub(crate) chunks: Vec<BodyChunk>,
    /// False if the connection was lost, or closed here, before the end.
    pub(crate) complete: bool,
}

/// A piece of a body: a text, or bytes that are not one, as base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum BodyChunk {
    Text(String),
    Bytes { base64: String },
}

impl BodyChunk {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes {
                base64: STANDARD.encode(error.as_bytes()),
            },
        }
    }

    /// Returns the bytes; `None` if they are not valid base64.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.as_bytes().to_vec()),
            Self::Bytes { base64 } => STANDARD.decode(base64).ok(),
        }
    }
}

/// Reads a recording. Its size and its depth are limited.
pub(crate) fn read(path: &Path) -> Result<Vec<RecordedExchange>, RecordingError> {
    let text = read_text(path).map_err(|source| RecordingError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&text).map_err(|problems| RecordingError::Invalid {
        path: path.to_owned(),
        problems,
    })
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {MAX_BYTES} bytes"
        )));
    }
    Ok(text)
}

/// Parses a recording, and returns all that is wrong with it. serde's limit of the depth is 128.
fn parse(text: &str) -> Result<Vec<RecordedExchange>, Vec<String>> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }

    let problem = |error: serde_json::Error| vec![error.to_string()];
    // A file of another version may have another form.
    let Versioned { version } = serde_json::from_str(text).map_err(problem)?;
    if version != VERSION {
        return Err(vec![format!(
            "it has version {version}, and this program reads version {VERSION}"
        )]);
    }
    let file = serde_json::from_str::<RecordingFile>(text).map_err(problem)?;
    let problems = file
        .exchanges
        .iter()
        .zip(1..)
        .flat_map(|(exchange, number)| wrong_parts(exchange, number))
        .collect::<Vec<_>>();
    if problems.is_empty() {
        Ok(file.exchanges)
    } else {
        Err(problems)
    }
}

/// Returns the parts of an answer that could not be replayed.
fn wrong_parts(exchange: &RecordedExchange, number: u32) -> Vec<String> {
    let response = &exchange.response;
    let mut problems = Vec::new();
    if StatusCode::from_u16(response.status).is_err() {
        let status = response.status;
        problems.push(format!("exchange {number} has the status {status}"));
    }
    for (name, value) in &response.headers {
        let is_valid = HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok();
        if !is_valid {
            let name = name.escape_debug();
            problems.push(format!("exchange {number} has an invalid header `{name}`"));
        }
    }
    for (chunk, position) in response.chunks.iter().zip(1..) {
        if chunk.bytes().is_none() {
            problems.push(format!(
                "chunk {position} of exchange {number} is not valid base64"
            ));
        }
    }
    problems
}

/// Writes a recording in place of an earlier one, as a whole or not at all.
pub(crate) fn write(path: &Path, exchanges: Vec<RecordedExchange>) -> Result<(), RecordingError> {
    let file = RecordingFile {
        version: VERSION,
        exchanges,
    };
    let written = text_of(&file).and_then(|text| replace(path, text.as_bytes()));
    written.map_err(|source| RecordingError::Write {
        path: path.to_owned(),
        source,
    })
}

fn text_of(file: &RecordingFile) -> io::Result<String> {
    let mut text = serde_json::to_string_pretty(file)?;
    text.push('\n');
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!(
            "it would be larger than {MAX_BYTES} bytes; record a shorter conversation"
        )));
    }
    // What is written has to be readable: a body may nest too deep beside the members around it.
    parse(&text).map_err(|problems| io::Error::other(problems.join("; ")))?;
    Ok(text)
}

/// Writes a file beside the other one, and puts it in its place.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        fs::create_dir_all(folder)?;
    }
    let new = temporary(path)?;
    let written = write_new(&new, bytes).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Returns a name beside a file that no other writer has.
fn temporary(path: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);

    let name = path
        .file_name()
        .ok_or_else(|| io::Error::other("the path names no file"))?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let suffix = format!(".{}-{number}.new", std::process::id());
    let mut new = name.to_owned();
    new.push(suffix);
    Ok(path.with_file_name(new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn exchange(body: Value) -> RecordedExchange {
        RecordedExchange {
            request: SentRequest {
                method: "POST".to_owned(),
                path: "/v1/chat".to_owned(),
                body,
            },
            response: RecordedResponse {
                status: 200,
                headers: BTreeMap::new(),
                chunks: vec![
                    BodyChunk::of(b"Gr\xc3".to_vec()),
                    BodyChunk::of(b"ok".to_vec()),
                ],
                complete: true,
            },
        }
    }

    fn problems(error: &RecordingError) -> &[String] {
        match error {
            RecordingError::Invalid { problems, .. } => problems,
            other => panic!("{other}"),
        }
    }

    // M32
    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/booking.json");
        write(&path, vec![exchange(json!({"a": [1, "x"]}))]).expect("written");
        let read = read(&path).expect("read");
        assert_eq!(read[0].request, exchange(json!({"a": [1, "x"]})).request);
        let chunks = read[0].response.chunks.iter().map(BodyChunk::bytes);
        assert_eq!(
            chunks.collect::<Vec<_>>(),
            [Some(b"Gr\xc3".to_vec()), Some(b"ok".to_vec())]
        );
    }

    // M32
    #[test]
    fn a_recording_that_cannot_be_written_keeps_the_old_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("booking.json");
        write(&path, vec![exchange(json!(1))]).expect("written");
        let deep = (0..126).fold(json!(1), |inner, _| json!([inner]));
        let error = write(&path, vec![exchange(deep)]).expect_err("too deep");
        assert!(error.to_string().contains("recursion limit"), "{error}");
        assert_eq!(read(&path).expect("still there")[0].request.body, json!(1));
        let files = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(files, 1, "nothing else is left");
    }

    // M32
    #[test]
    fn files_that_are_no_recordings_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("booking.json");
        for (text, expected) in [
            ("", "EOF"),
            ("[]", "invalid length"),
            (
                r#"{"version": 2, "more": 1}"#,
                "version 2, and this program reads version 1",
            ),
            (
                r#"{"version": 1, "exchanges": [], "more": 1}"#,
                "unknown field `more`",
            ),
            (&"[".repeat(100_000), "line 1"),
        ] {
            fs::write(&path, text).expect("written");
            let error = read(&path).expect_err("no recording");
            assert!(error.to_string().contains(expected), "{text:.40}: {error}");
        }
        let missing = read(&folder.path().join("other.json")).expect_err("missing");
        assert!(missing.to_string().contains("RECORD_MODELS=1"), "{missing}");
    }

    // M32
    #[test]
    fn every_damaged_answer_is_reported() {
        let mut damaged = exchange(json!(1));
        damaged.response.status = 7;
        damaged.response.headers = BTreeMap::from([("a b".to_owned(), "c".to_owned())]);
        damaged.response.chunks = vec![BodyChunk::Bytes {
            base64: "?".to_owned(),
        }];
        let file = RecordingFile {
            version: VERSION,
            exchanges: vec![damaged],
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("booking.json");
        fs::write(&path, serde_json::to_string(&file).expect("JSON")).expect("written");
        let error = read(&path).expect_err("damaged");
        assert_eq!(
            problems(&error),
            [
                "exchange 1 has the status 7",
                "exchange 1 has an invalid header `a b`",
                "chunk 1 of exchange 1 is not valid base64",
            ]
        );
    }
}
