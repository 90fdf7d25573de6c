//! JSON text from any value that serialises: straight into a `String`, bounded in bytes and in depth.
//!
//! The text is what `serde_json::to_string` writes, byte for byte; tests hold it to that. A serializer of our own
//! because strings are a sixth of a call there, written byte by byte to a sink of bytes that must then be checked to
//! be UTF-8. Only what has the value's type is generic here, so that little is compiled again in each user's crate.

mod compound;
mod error;
mod keys;
mod serializer;
mod string;

#[cfg(test)]
mod tests;

pub(super) use error::Error;
pub(super) use string::push_string;

/// Results nest no deeper than arguments may.
const DEPTH: u32 = 128;

/// What most results fit in.
const CAPACITY: usize = 128;

/// Text on its way to be JSON.
pub(super) struct Writer {
    text: String,
    limit: usize,
    depth: u32,
    full: bool,
    /// The limit proper, while the next string is to be written as it stands. The limit in force is then 0, so that
    /// nothing passes by the slow path, which alone has to know.
    verbatim: Option<usize>,
}

impl Writer {
    /// A writer that stops at `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::with_capacity(CAPACITY), limit, depth: 0, full: false, verbatim: None }
    }

    /// Whether the limit stopped it. The text then holds all whole characters up to the limit.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// The bytes that may still come.
    #[inline]
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    /// Writes text as it stands.
    #[inline]
    fn push(&mut self, text: &str) -> Result<(), Error> {
        if text.len() > self.room() {
            return Err(self.overflow(text));
        }
        self.text.push_str(text);
        Ok(())
    }

    #[cold]
    fn overflow(&mut self, text: &str) -> Error {
        if let Some(limit) = self.verbatim.take() {
            self.limit = limit;
            return Error::not_text();
        }
        self.text.push_str(text.get(..text.floor_char_boundary(self.room())).unwrap_or_default());
        self.fill()
    }

    /// Cuts the text at its limit, for good: whoever goes on after an error adds nothing.
    #[cold]
    fn fill(&mut self) -> Error {
        self.text.truncate(self.text.floor_char_boundary(self.limit));
        self.limit = self.text.len();
        self.full = true;
        Error::full()
    }

    /// Opens a container.
    fn open(&mut self, bracket: &str) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Error::too_deep());
        }
        self.push(bracket)
    }

    /// Opens the object around an enum's variant that holds something.
    fn open_variant(&mut self, variant: &'static str) -> Result<(), Error> {
        self.open("{")?;
        self.field(true, variant)
    }

    /// Closes a container.
    fn close(&mut self, bracket: &str) -> Result<(), Error> {
        self.depth -= 1;
        self.push(bracket)
    }

    fn close_variant(&mut self, brackets: &str) -> Result<(), Error> {
        self.depth -= 1;
        self.close(brackets)
    }
}
