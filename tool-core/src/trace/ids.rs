//! Ids of traces and spans: random and never zero, as W3C Trace Context requires.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

/// The id of a trace: 16 bytes, not all of them zero. Written as 32 lower-case hexadecimal digits.
///
/// ```
/// use tool_core::trace::TraceId;
///
/// let id: TraceId = "0af7651916cd43dd8448eb211c80319c".parse()?;
/// assert_eq!(id.to_bytes()[0], 0x0a);
/// assert!("0".repeat(32).parse::<TraceId>().is_err());
/// # Ok::<(), tool_core::trace::ParseIdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub(crate) NonZeroU128);

/// The id of a span: 8 bytes, not all of them zero. Written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub(crate) NonZeroU64);

/// An error for a text that is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {digits} lower-case hexadecimal digits that are not all 0")]
pub struct ParseIdError {
    digits: usize,
}

macro_rules! id {
    ($id:ident, $inner:ty, $integer:ty, $digits:literal) => {
        impl $id {
            /// Creates an id from its bytes, most significant first. Returns `None` if all bytes
            /// are zero.
            pub const fn from_bytes(bytes: [u8; $digits / 2]) -> Option<Self> {
                match <$inner>::new(<$integer>::from_be_bytes(bytes)) {
                    Some(id) => Some(Self(id)),
                    None => None,
                }
            }

            /// Returns the bytes, most significant first.
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
                // `from_str_radix` takes a sign and upper-case digits too.
                let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                let digits = Some(text).filter(|text| text.len() == $digits && text.bytes().all(is_digit));
                let id = digits.and_then(|digits| <$inner>::new(<$integer>::from_str_radix(digits, 16).ok()?));
                id.map(Self).ok_or(ParseIdError { digits: $digits })
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
    /// The counter of the thread's generator, and a mask that keeps an id from revealing the
    /// counter.
    static GENERATOR: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Returns the next number of the thread's `SplitMix64` generator. Evenly spread; an observer of
/// one cannot compute the next.
fn random() -> u64 {
    GENERATOR.with(|generator| {
        let (mut counter, mut mask) = generator.get();
        if counter == 0 {
            (counter, mask) = (seed(), seed());
        }
        counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        generator.set((counter, mask));
        let mut mixed = counter;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31) ^ mask
    })
}

/// Returns a number that the operating system's random keys decide, never 0.
#[cold]
fn seed() -> u64 {
    RandomState::new().build_hasher().finish().max(1)
}

impl TraceId {
    /// Creates a random id.
    pub fn random() -> Self {
        let low = NonZeroU128::from(SpanId::random().0);
        Self(low | (u128::from(random()) << 64))
    }
}

impl SpanId {
    /// Creates a random id.
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

    #[test]
    fn ids_are_written_as_lower_case_hexadecimal_digits() {
        let id = SpanId::from_bytes([0, 0, 0, 0, 0, 0, 0xab, 1]).expect("not zero");
        assert_eq!(id.to_string(), "000000000000ab01");
        assert_eq!("000000000000ab01".parse(), Ok(id));
        assert_eq!(TraceId::random().to_string().len(), 32);
    }

    #[test]
    fn zeros_capitals_and_other_lengths_are_rejected() {
        for wrong in [
            "0000000000000000",
            "000000000000AB01",
            "ab01",
            "+00000000000ab01",
            "000000000000ab011",
        ] {
            assert!(wrong.parse::<SpanId>().is_err(), "{wrong}");
        }
        assert!(
            "00000000000000000000000000000000"
                .parse::<TraceId>()
                .is_err()
        );
    }

    #[test]
    fn random_ids_differ() {
        let ids = (0..10_000)
            .map(|_| SpanId::random())
            .collect::<std::collections::HashSet<_>>();
        assert_eq!(ids.len(), 10_000);
    }
}
