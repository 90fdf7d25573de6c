//! Where a byte stands, eight bytes at a time.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The place of the first byte that is one of `needles`.
pub(super) fn find<const N: usize>(needles: [u8; N], bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let hits = needles.iter().fold(0, |hits, needle| {
            // A byte that is the needle is zero here, and only below the first zero byte is no other taken for one.
            let other = word ^ (LOW * u64::from(*needle));
            hits | (other.wrapping_sub(LOW) & !other & HIGH)
        });
        if hits != 0 {
            return Some(at * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| needles.contains(byte))?;
    Some(words.len() * 8 + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_first_one(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 8..16_u8], 0..40)) {
            let plain = bytes.iter().position(|byte| b"\n\r".contains(byte));
            prop_assert_eq!(find(*b"\n\r", &bytes), plain);
        }
    }
}
