//! Where a JSON value ends, found byte by byte.

use super::find::find;

/// Follows one JSON object or array over any number of chunks. It knows as much of the grammar as it takes to notice
/// that a value was broken off and another one begins.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// The objects (`true`) and arrays that are open.
    open: Vec<bool>,
    in_text: bool,
    escaped: bool,
    /// The last byte that is no white space.
    last: u8,
    /// Nothing stands before on this line.
    at_line_start: bool,
}

/// What a chunk holds of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// All of the chunk belongs to it, and it is not over.
    Open,
    /// It ends before this byte.
    End(usize),
    /// It is no JSON: this byte cannot stand here.
    Broken {
        /// Where.
        at: usize,
        /// Another value begins there.
        anew: bool,
    },
}

impl Scanner {
    /// Goes on with `bytes`; the first byte of all has to be `{` or `[`. At most `most` levels deep.
    pub(super) fn scan(&mut self, bytes: &[u8], most: usize) -> Scan {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.in_text {
                match self.text(bytes.get(at..).unwrap_or_default()) {
                    Ok(read) => at += read,
                    Err(read) => return Scan::Broken { at: at + read, anew: false },
                }
                continue;
            }
            match byte {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.at_line_start = true,
                b'{' | b'[' if !self.may_open() || self.open.len() >= most => {
                    return Scan::Broken { at, anew: self.at_line_start };
                }
                b'{' | b'[' => {
                    self.open.push(byte == b'{');
                    self.significant(byte);
                }
                b'}' | b']' => {
                    if self.open.pop() != Some(byte == b'}') {
                        return Scan::Broken { at, anew: false };
                    }
                    if self.open.is_empty() {
                        return Scan::End(at + 1);
                    }
                    self.significant(byte);
                }
                _ => {
                    self.in_text = byte == b'"';
                    self.significant(byte);
                }
            }
            at += 1;
        }
        Scan::Open
    }

    /// Reads on in a text: how many bytes, up to its end; or the one that no text may have, a raw line end.
    fn text(&mut self, bytes: &[u8]) -> Result<usize, usize> {
        let mut at = usize::from(std::mem::take(&mut self.escaped));
        while let Some(next) = find(*b"\"\\\n\r", bytes.get(at..).unwrap_or_default()) {
            at += next;
            match bytes.get(at) {
                Some(b'"') => {
                    self.in_text = false;
                    return Ok(at + 1);
                }
                Some(b'\\') => at += 2,
                _ => return Err(at),
            }
        }
        self.escaped = at > bytes.len();
        Ok(bytes.len())
    }

    /// Whether an object or array may begin here: after `:` in an object, after `[` or `,` in an array.
    fn may_open(&self) -> bool {
        match self.open.last() {
            None => true,
            Some(true) => self.last == b':',
            Some(false) => matches!(self.last, b'[' | b','),
        }
    }

    fn significant(&mut self, byte: u8) {
        self.last = byte;
        self.at_line_start = false;
    }
}
