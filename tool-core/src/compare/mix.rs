//! The hash: blocks of 16 bytes taken into two lanes of 64 bits, each by one multiplication with what is secret.
//!
//! What is hashed is a row of blocks from which the value could be read back, so that different values are different
//! rows. A text is its whole blocks, and a last one that ends in a byte which no text contains. Everything else is a
//! payload under a mark, and its highest byte is another that no text contains.

use crate::json::special;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Ends the last block of a text.
const END: u64 = 0xFF;
/// The highest byte of a block that is no text's.
const MARKED: u64 = 0xFE << 56;

/// What stands in a block beside the payload.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Mark {
    Null,
    True,
    False,
    Positive,
    Negative,
    PositiveWide,
    NegativeWide,
    Float,
    Digits,
    Open,
    Close,
    Object,
    Decoded,
    Opaque,
}

/// Two lanes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lanes {
    pub(super) a: u64,
    pub(super) b: u64,
}

impl Lanes {
    /// Hashes of entries are added up, so that their order does not matter.
    #[inline]
    pub(super) fn plus(self, other: Self) -> Self {
        Self { a: self.a.wrapping_add(other.a), b: self.b.wrapping_add(other.b) }
    }

    #[inline]
    pub(super) fn minus(self, other: Self) -> Self {
        Self { a: self.a.wrapping_sub(other.a), b: self.b.wrapping_sub(other.b) }
    }
}

/// What this process drew by lot.
pub(super) struct Keys {
    /// Where the hash of an entry begins.
    pub(super) entry: Lanes,
    /// Where the hash of the whole begins.
    whole: Lanes,
    block: [u64; 2],
    first: [u64; 2],
    second: [u64; 2],
}

/// The keys of this process.
#[inline]
pub(super) fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(Keys::draw)
}

/// Both halves of the product, one upon the other.
#[inline]
fn folded(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    #[expect(clippy::cast_possible_truncation)]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

impl Keys {
    /// From the keys by which the standard library keeps its maps safe, which come from the operating system.
    fn draw() -> Self {
        let random = RandomState::new();
        let pair = |at: u64| [random.hash_one(at), random.hash_one(at + 1)];
        let lanes = |[a, b]: [u64; 2]| Lanes { a, b };
        Self { entry: lanes(pair(0)), whole: lanes(pair(2)), block: pair(4), first: pair(6), second: pair(8) }
    }

    #[inline]
    pub(super) fn block(&self, lanes: Lanes, low: u64, high: u64) -> Lanes {
        let [key_a, key_b] = self.block;
        Lanes { a: folded(low ^ lanes.a, high ^ key_a), b: folded(low ^ key_b, high ^ lanes.b) }
    }

    #[inline]
    pub(super) fn marked(&self, lanes: Lanes, payload: u64, mark: Mark) -> Lanes {
        self.block(lanes, payload, MARKED | mark as u64)
    }

    /// Two words under one mark.
    #[inline]
    pub(super) fn marked_pair(&self, lanes: Lanes, low: u64, high: u64, mark: Mark) -> Lanes {
        self.marked(self.marked(lanes, low, mark), high, mark)
    }

    /// Takes in a block of a text up to its first quote, backslash or control character; beside the lanes where that
    /// is.
    #[expect(clippy::inline_always, reason = "it stands in the one loop that counts")]
    #[inline(always)]
    pub(super) fn text_block(&self, lanes: Lanes, chunk: &[u8; 16]) -> (Lanes, Option<usize>) {
        let [low, high] = words(*chunk);
        let in_low = special(low);
        if in_low != 0 {
            let (low, length) = last(low, in_low);
            return (self.block(lanes, low, 0), Some(length));
        }
        let in_high = special(high);
        if in_high != 0 {
            let (high, length) = last(high, in_high);
            return (self.block(lanes, low, high), Some(8 + length));
        }
        (self.block(lanes, low, high), None)
    }

    /// Takes in a text as [`Keys::text_block`] does, whatever is in it.
    pub(super) fn text(&self, mut lanes: Lanes, text: &str) -> Lanes {
        let (chunks, rest) = text.as_bytes().as_chunks::<16>();
        for chunk in chunks {
            let [low, high] = words(*chunk);
            lanes = self.block(lanes, low, high);
        }
        let mut last = [0; 16];
        for (place, byte) in last.iter_mut().zip(rest.iter().chain([&0xFF])) {
            *place = *byte;
        }
        let [low, high] = words(last);
        self.block(lanes, low, high)
    }

    /// Takes in a name of which nothing is sought, from both of its ends.
    #[inline]
    fn name(&self, mut lanes: Lanes, name: &str) -> Lanes {
        let bytes = name.as_bytes();
        let mut rest = bytes;
        while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
            let [low, high] = words(*chunk);
            lanes = self.block(lanes, low, high);
            rest = after;
        }
        let (low, high) = match (rest.first_chunk(), rest.last_chunk()) {
            (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
            _ => match (rest.first_chunk(), rest.last_chunk()) {
                (Some(head), Some(tail)) => (u32::from_le_bytes(*head).into(), u32::from_le_bytes(*tail).into()),
                _ => (rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
            },
        };
        self.block(self.block(lanes, low, high), bytes.len() as u64, 0)
    }

    /// The hash of an entry, such that sums of them tell nothing.
    #[inline]
    pub(super) fn finished(&self, lanes: Lanes) -> Lanes {
        let each = |[a, b]: [u64; 2]| folded(lanes.a ^ a, lanes.b ^ b);
        Lanes { a: each(self.first), b: each(self.second) }
    }

    /// The hash of arguments with these entries.
    #[inline]
    pub(super) fn decoded(&self, tool: &str, sum: Lanes) -> u128 {
        let lanes = self.name(self.whole, tool);
        self.number(self.marked_pair(lanes, sum.a, sum.b, Mark::Decoded))
    }

    /// The hash of a text that is not decoded.
    pub(super) fn opaque(&self, tool: &str, text: &str) -> u128 {
        let lanes = self.marked(self.name(self.whole, tool), 0, Mark::Opaque);
        self.number(self.text(lanes, text))
    }

    #[inline]
    fn number(&self, lanes: Lanes) -> u128 {
        let Lanes { a, b } = self.finished(lanes);
        u128::from(a) << 64 | u128::from(b)
    }
}

#[inline]
fn words(chunk: [u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(chunk);
    #[expect(clippy::cast_possible_truncation)]
    [both as u64, (both >> 64) as u64]
}

/// The bytes before the first that is marked in its high bit, the end behind them, and how many they are.
#[inline]
fn last(word: u64, marks: u64) -> (u64, usize) {
    let one = (marks & marks.wrapping_neg()) >> 7;
    let last = word & (one - 1) | one.wrapping_mul(END);
    (last, (marks.trailing_zeros() / 8) as usize)
}
