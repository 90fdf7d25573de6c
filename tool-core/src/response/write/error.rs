//! Why a value does not serialise.

use std::fmt::{self, Display, Formatter};

/// A thin pointer, so that a result of nothing or this fits a register.
#[derive(Debug)]
pub(in crate::response) struct Error(Box<Reason>);

#[derive(Debug)]
enum Reason {
    Known(&'static str),
    Custom(String),
}

impl Error {
    #[cold]
    fn known(reason: &'static str) -> Self {
        Self(Box::new(Reason::Known(reason)))
    }

    #[cold]
    pub(super) fn full() -> Self {
        Self::known("the result is too large")
    }

    #[cold]
    pub(super) fn too_deep() -> Self {
        Self::known("it nests deeper than 128")
    }

    #[cold]
    pub(super) fn not_text() -> Self {
        Self::known("expected RawValue")
    }

    #[cold]
    pub(super) fn no_value() -> Self {
        Self::known("expected value")
    }

    #[cold]
    pub(super) fn key() -> Self {
        Self::known("key must be a string")
    }

    #[cold]
    pub(super) fn float_key() -> Self {
        Self::known("float key must be finite (got NaN or +/-inf)")
    }

    #[cold]
    pub(super) fn display() -> Self {
        Self::known("a value's `Display` failed")
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match &*self.0 {
            Reason::Known(reason) => reason,
            Reason::Custom(reason) => reason,
        })
    }
}

impl std::error::Error for Error {}

impl serde::ser::Error for Error {
    #[cold]
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(Reason::Custom(message.to_string())))
    }
}
