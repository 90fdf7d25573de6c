//! Decoding errors, each with a JSON pointer to the value that failed.

use crate::json::pointer::pointer_token;
use serde::de;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use thiserror::Error;

/// An error of the decoder. It is one pointer wide, because every step of the decoder returns it.
///
/// ```
/// use serde_json::Value;
/// use tool_core::json::parse_strict;
///
/// let repeated = parse_strict::<Value>(r#"{"items": [{"id": 1, "id": 2}]}"#).unwrap_err();
/// assert_eq!((repeated.path(), repeated.offset()), ("/items/0/id", None));
/// assert_eq!(repeated.message(), "duplicate key `id`");
///
/// let cut = parse_strict::<Value>(r#"{"id": "#).unwrap_err();
/// assert_eq!(cut.offset(), Some(7));
/// ```
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Error(Box<Details>);

/// The bytes of words that the errors of one text get. serde tries the variants of an untagged enum
/// one after the other and discards the errors of all but one, so a megabyte may make millions.
const WORDS: usize = 256 << 10;

thread_local! {
    /// The bytes of words since a decoder began.
    static USED: Cell<usize> = const { Cell::new(0) };
}

/// Starts to count the words of another text.
#[inline]
pub(crate) fn begin_text() {
    USED.set(0);
}

#[derive(Debug)]
struct Details {
    message: Cow<'static, str>,
    /// A JSON pointer, built from its end while the error is passed up.
    path: String,
    /// Set for errors of the grammar only.
    offset: Option<usize>,
}

impl Error {
    /// Reports that the text breaks the grammar, or a limit, at a byte.
    #[cold]
    pub(crate) fn syntax(message: &'static str, offset: usize) -> Self {
        Self::new(Cow::Borrowed(message), Some(offset))
    }

    fn new(message: Cow<'static, str>, offset: Option<usize>) -> Self {
        Self(Box::new(Details {
            message,
            path: String::new(),
            offset,
        }))
    }

    /// Reports that the text breaks the grammar at a byte, or ends there.
    #[cold]
    pub(crate) fn unexpected_byte(text: &str, at: usize, message: &'static str) -> Self {
        let message = if at < text.len() {
            message
        } else {
            "unexpected end of the text"
        };
        Self::syntax(message, at.min(text.len()))
    }

    /// Reports a repeated key. The path leads to the key.
    #[cold]
    pub(crate) fn duplicate(key: &str) -> Self {
        <Self as de::Error>::custom(format_args!("duplicate key `{key}`")).under(key)
    }

    /// Prepends a key to the path, because the value failed inside an object.
    #[cold]
    #[must_use]
    pub fn under(mut self, key: &str) -> Self {
        self.0.path.insert_str(0, &pointer_token(key));
        self
    }

    /// Prepends an index to the path, because the value failed inside an array.
    #[cold]
    #[must_use]
    pub fn under_index(self, index: usize) -> Self {
        self.under(&index.to_string())
    }

    /// Prepends a JSON pointer to the path.
    #[cold]
    #[must_use]
    pub(crate) fn at(mut self, pointer: &str) -> Self {
        self.0.path.insert_str(0, pointer);
        self
    }

    /// Returns a JSON pointer to the value that failed; empty for the whole text.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns the problem without its place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the byte at which the text breaks the grammar; `None` for any other error.
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }
}

impl de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        let used = USED.get();
        if used >= WORDS {
            return Self::new(Cow::Borrowed("the value does not fit its type"), None);
        }
        let message = message.to_string();
        USED.set(used + message.len() + 64);
        Self::new(Cow::Owned(message), None)
    }
}

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.path.is_empty() {
            write!(f, " at `{}`", self.path)?;
        }
        match self.offset {
            Some(offset) => write!(f, " (byte {offset})"),
            None => Ok(()),
        }
    }
}
