//! The parameters of a tool, hashed once.

use super::mix::{Keys, Lanes, keys};
use super::parameters::Parameter;
use super::scan::Scanner;
use serde_json::{Map, Value};

/// What the scanner looks up.
#[derive(Default)]
pub(crate) struct Table {
    /// By name and by alias, the names first and in the order of the signature, in which models send them.
    slots: Vec<Slot>,
    /// The sum of the entries of all defaults.
    defaults: Lanes,
}

/// One name.
pub(super) struct Slot {
    pub(super) spelling: Spelling,
    /// The hash of the name.
    name: Lanes,
    /// The hash of the name of the parameter that it names.
    pub(super) parameter: Lanes,
    /// The entry of the default; zero if there is none.
    pub(super) default: Lanes,
    pub(super) null_is_absent: bool,
}

impl Table {
    /// Of objects inside the arguments: their keys are what they are.
    pub(super) const NONE: &'static Self = &Self { slots: Vec::new(), defaults: Lanes { a: 0, b: 0 } };

    pub(crate) fn new(parameters: &[Parameter]) -> Self {
        let keys = keys();
        let mut table = Self::default();
        let mut aliases = Vec::new();
        for parameter in parameters {
            let name = keys.text(keys.entry, &parameter.name);
            let default = parameter.default.as_ref().and_then(|default| entry(keys, &parameter.name, default));
            let default = default.unwrap_or_default();
            table.defaults = table.defaults.plus(default);
            let slot = |text: &str| Slot {
                spelling: Spelling::of(text),
                name: keys.text(keys.entry, text),
                parameter: name,
                default,
                null_is_absent: parameter.null_is_absent,
            };
            aliases.extend(parameter.aliases.iter().copied().map(slot));
            table.slots.push(slot(&parameter.name));
        }
        table.slots.append(&mut aliases);
        table
    }

    #[inline]
    pub(super) fn defaults(&self) -> Lanes {
        self.defaults
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&Slot> {
        self.slots.get(place)
    }

    /// The parameter of a name.
    pub(super) fn find(&self, name: Lanes) -> Option<(usize, &Slot)> {
        self.slots.iter().enumerate().find(|(_, slot)| slot.name == name)
    }
}

/// An object with one entry is the sum of it.
fn entry(keys: &Keys, name: &str, default: &Value) -> Option<Lanes> {
    let alone = Value::Object(Map::from_iter([(name.to_owned(), default.clone())])).to_string();
    Scanner::new(&alone, keys, Table::NONE).arguments()
}

/// A name and its closing quote as they stand in a text without escapes, to be recognised without hashing.
pub(super) struct Spelling {
    words: [u64; 3],
    masks: [u64; 3],
    pub(super) length: usize,
}

impl Spelling {
    /// Of a name that is too long or needs escapes: what begins no key.
    const NONE: Self = Self { words: [u64::MAX; 3], masks: [0; 3], length: 0 };

    fn of(name: &str) -> Self {
        let quoted = Value::from(name).to_string();
        let bytes = quoted.as_bytes().get(1..).unwrap_or_default();
        if bytes.len() > 24 || quoted.contains('\\') {
            return Self::NONE;
        }
        let (mut chunk, mut mask) = ([0; 24], [0; 24]);
        for ((place, mask), byte) in chunk.iter_mut().zip(&mut mask).zip(bytes) {
            (*place, *mask) = (*byte, 0xFF);
        }
        Self { words: words(&chunk), masks: words(&mask), length: bytes.len() }
    }

    /// Whether a text begins with it, whose first bytes these are.
    #[inline]
    pub(super) fn begins(&self, chunk: &[u8; 24]) -> bool {
        let ([a, b, c], [mask_a, mask_b, mask_c]) = (words(chunk), self.masks);
        self.words == [a & mask_a, b & mask_b, c & mask_c]
    }
}

#[inline]
fn words(chunk: &[u8; 24]) -> [u64; 3] {
    let mut words = chunk.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    std::array::from_fn(|_| words.next().unwrap_or_default())
}
