//! Ids of traces and spans: random, never zero, as W3C Trace Context wants them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cell::Cell;
use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

/// The id of a trace: 16 bytes, not all of them zero. Written as 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub(crate) NonZeroU128);

/// The id of a span: 8 bytes, not all of them zero. Written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub(crate) NonZeroU64);

/// The text is not an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseIdError {
    digits: usize,
}

impl fmt::Display for ParseIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an id has {} lower-case hexadecimal digits that are not all 0", self.digits)
    }
}

impl std::error::Error for ParseIdError {}

fn is_lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

macro_rules! id {
    ($id:ident, $inner:ty, $integer:ty, $digits:literal) => {
        impl $id {
            /// From its bytes, most significant first; `None` where all are zero.
            pub const fn from_bytes(bytes: [u8; $digits / 2]) -> Option<Self> {
                match <$inner>::new(<$integer>::from_be_bytes(bytes)) {
                    Some(id) => Some(Self(id)),
                    None => None,
                }
            }

            /// Its bytes, most significant first.
            pub const fn to_bytes(self) -> [u8; $digits / 2] {
                self.0.get().to_be_bytes()
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{:0", $digits, "x}"), self.0)
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $id {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let refused = ParseIdError { digits: $digits };
                if !is_lower_hex(text, $digits) {
                    return Err(refused);
                }
                let value = <$integer>::from_str_radix(text, 16).ok().and_then(<$inner>::new);
                value.map(Self).ok_or(refused)
            }
        }

        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(TraceId, NonZeroU128, u128, 32);
id!(SpanId, NonZeroU64, u64, 16);

thread_local! {
    /// Where the thread's numbers are, and what hides that from those who see one.
    static SEED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// The next number of this thread. Spread evenly; whoever knows one does not know the next.
fn random() -> u64 {
    SEED.with(|seed| {
        let (mut at, mut secret) = seed.get();
        if at == 0 {
            (at, secret) = (seeded(), seeded());
        }
        at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
        seed.set((at, secret));
        // The finalizer of SplitMix64.
        let mut mixed = at;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31) ^ secret
    })
}

#[cold]
fn seeded() -> u64 {
    let mut bytes = [0; 8];
    // Without the system's source, the address of a local and the time still tell threads and processes apart.
    if getrandom::fill(&mut bytes).is_err() {
        let here = &raw const bytes;
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
        bytes = (here.addr() as u64 ^ u64::try_from(nanos & u128::from(u64::MAX)).unwrap_or_default()).to_le_bytes();
    }
    u64::from_le_bytes(bytes).max(1)
}

impl TraceId {
    /// One that no other trace has.
    pub fn random() -> Self {
        let high = NonZeroU128::from(SpanId::random().0);
        Self(high | (u128::from(random()) << 64))
    }
}

impl SpanId {
    /// One that no other span of the trace has.
    #[inline]
    pub fn random() -> Self {
        loop {
            if let Some(id) = NonZeroU64::new(random()) {
                return Self(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S9
    #[test]
    fn ids_are_lower_case_hexadecimal_digits_of_their_length() {
        let id = SpanId::from_bytes([0, 0, 0, 0, 0, 0, 0xab, 1]).expect("not zero");
        assert_eq!(id.to_string(), "000000000000ab01");
        assert_eq!("000000000000ab01".parse(), Ok(id));
        assert_eq!(TraceId::random().to_string().len(), 32);
    }

    // S9
    #[test]
    fn zeros_capitals_and_other_lengths_are_no_ids() {
        for wrong in ["0000000000000000", "000000000000AB01", "ab01", "+00000000000ab01", "000000000000ab011"] {
            assert!(wrong.parse::<SpanId>().is_err(), "{wrong}");
        }
        assert!("00000000000000000000000000000000".parse::<TraceId>().is_err());
    }

    #[test]
    fn random_ids_differ() {
        let ids = (0..10_000).map(|_| SpanId::random()).collect::<std::collections::HashSet<_>>();
        assert_eq!(ids.len(), 10_000);
    }
}
