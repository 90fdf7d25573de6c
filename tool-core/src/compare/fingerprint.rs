//! Arguments as something to compare.

use super::canonical_text::canonical_text;
use super::differ;
use super::mix::{Keys, keys};
use super::scan::Scanner;
use crate::text::hex;
use crate::tool::Definition;
use sha2::{Digest, Sha256};

/// Arguments, to be compared with those of other calls of a session.
///
/// Equal exactly where the tool has the same name and the arguments are equal as JSON after the defaults of the
/// parameters are filled in: the order of keys, white space, escapes, and `1` for `1.0` do not matter, every digit of a
/// whole number does. An alias counts as the parameter that it names, and a `null` that stands for an absent parameter
/// as its absence. Text that did not decode is compared as it is, and equals nothing that did.
#[derive(Clone, Copy)]
pub struct Fingerprint<'a> {
    definition: Option<&'a Definition>,
    tool: &'a str,
    text: &'a str,
}

impl<'a> Fingerprint<'a> {
    /// Of arguments that the tool has accepted.
    pub(crate) fn of(definition: &'a Definition, tool: &'a str, text: &'a str) -> Self {
        Self { definition: Some(definition), tool, text }
    }

    /// Of a text that does not decode.
    pub(crate) fn opaque(tool: &'a str, text: &'a str) -> Self {
        Self { definition: None, tool, text }
    }

    /// A hash under a key that each process draws anew: for stores in memory. Nobody who cannot read this process's
    /// memory can make two arguments that collide.
    pub fn fast(&self) -> u128 {
        let keys = keys();
        let scanned = self.definition.and_then(|definition| {
            let table = &definition.parameters().table;
            Scanner::new(self.text, keys, table).arguments()
        });
        match scanned {
            Some(sum) => keys.decoded(self.tool, sum),
            None => self.fast_as_text(keys),
        }
    }

    #[cold]
    fn fast_as_text(&self, keys: &Keys) -> u128 {
        keys.opaque(self.tool, self.text)
    }

    /// The text, where it decoded: what [`certainly_differs`](Self::certainly_differs) can be asked of later.
    pub(crate) fn decoded(&self) -> Option<&'a str> {
        self.definition.and(Some(self.text))
    }

    /// The same for another accepted text of the same tool.
    pub(crate) fn with_text<'b>(&self, text: &'b str) -> Fingerprint<'b>
    where
        'a: 'b,
    {
        Fingerprint { text, ..*self }
    }

    /// Whether these arguments are other ones than those of an accepted text of the same tool, for certain. Where this
    /// is false they may be either: ask [`fast`](Self::fast).
    pub(crate) fn certainly_differs(&self, text: &str) -> bool {
        differ::certainly_differ(self.text.as_bytes(), text.as_bytes())
    }

    /// The same in every process, for stores that processes share: 32 hexadecimal digits, half of the SHA-256 of the
    /// tool's name and the canonical text.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        // Behind its length the name cannot run into the text.
        hash.update([u8::from(self.definition.is_some())]);
        hash.update(u64::try_from(self.tool.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(self.tool);
        match self.definition {
            Some(definition) => hash.update(canonical_text(definition, self.text)),
            None => hash.update(self.text),
        }
        hex(hash.finalize().get(..16).unwrap_or_default())
    }
}
