//! Why decoding failed, and where.

use serde::de;
use std::borrow::Cow;
use std::fmt;

/// Why a text could not be decoded. One pointer wide, because every step of the decoder returns it.
pub struct Error(Box<Inner>);

struct Inner {
    message: Cow<'static, str>,
    /// A JSON pointer, built from its end while the failure unwinds.
    path: String,
    /// Known for errors of the grammar only.
    offset: Option<usize>,
}

impl Error {
    /// The text breaks the grammar (or a limit) at this byte.
    #[cold]
    pub(crate) fn syntax(message: &'static str, offset: usize) -> Self {
        Self(Box::new(Inner { message: Cow::Borrowed(message), path: String::new(), offset: Some(offset) }))
    }

    /// The same key twice in one object; the path leads to the key.
    #[cold]
    pub(crate) fn duplicate(key: &str) -> Self {
        <Self as de::Error>::custom(format_args!("duplicate key `{key}`")).under(key)
    }

    /// The same failure, seen from one container further out.
    #[cold]
    #[must_use]
    pub fn under(mut self, key: &str) -> Self {
        let mut path = pointer_token(key);
        path.push_str(&self.0.path);
        self.0.path = path;
        self
    }

    /// As [`Error::under`], for an array.
    #[cold]
    #[must_use]
    pub fn under_index(self, index: usize) -> Self {
        self.under(&index.to_string())
    }

    /// A JSON pointer to the value that could not be decoded; empty for the whole text.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What was wrong, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The byte at which the text breaks the grammar, if that is what is wrong.
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }
}

/// `/` and the key as a token of a JSON pointer (RFC 6901).
pub(crate) fn pointer_token(key: &str) -> String {
    let mut token = String::with_capacity(key.len() + 1);
    token.push('/');
    for part in key.chars() {
        match part {
            '~' => token.push_str("~0"),
            '/' => token.push_str("~1"),
            other => token.push(other),
        }
    }
    token
}

impl de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new(Inner { message: Cow::Owned(message.to_string()), path: String::new(), offset: None }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())?;
        if !self.path().is_empty() {
            write!(f, " at `{}`", self.path())?;
        }
        match self.offset() {
            Some(offset) => write!(f, " (byte {offset})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("message", &self.message())
            .field("path", &self.path())
            .field("offset", &self.offset())
            .finish()
    }
}

impl std::error::Error for Error {}
