//! Amounts of dollars, digit by digit.

use tool_core::trace::Cost;

/// The decimals of a picodollar.
const DECIMALS: usize = 12;

/// The amount that a text says: digits, and a point if need be. `None` where it is none, or finer or larger than what can
/// be kept.
pub(super) fn dollars(text: &str) -> Option<Cost> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = fraction.get(..1).map(|first| {
        let rest = fraction.get(1..).unwrap_or_default().trim_end_matches('0');
        format!("{first}{rest}")
    })?;
    if !digits(whole) || !digits(&fraction) || fraction.len() > DECIMALS {
        return None;
    }
    format!("{whole}{fraction:0<DECIMALS$}").parse().ok().map(Cost::pico)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly_or_not_at_all() {
        let pico = |text| dollars(text).map(Cost::picodollars);
        assert_eq!(pico("1.25"), Some(1_250_000_000_000));
        assert_eq!(pico("0"), Some(0));
        assert_eq!(pico("10"), Some(10_000_000_000_000));
        assert_eq!(pico("0.083333333333"), Some(83_333_333_333));
        assert_eq!(pico("0.1000000000000000"), Some(100_000_000_000));
        assert_eq!(pico("18446744.073709551615"), Some(u64::MAX));
        for none in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "1,5",
            " 1",
            "0.0000000000001",
            "18446744.073709551616",
            "1.ä",
            "ä",
        ] {
            assert_eq!(pico(none), None, "{none}");
        }
    }
}
