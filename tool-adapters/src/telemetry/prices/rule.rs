//! Conditions on names, and on the time at which a price applies.

use jiff::civil::Date;
use serde::Deserialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// A condition on a name in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "NameRuleJson")]
pub(crate) enum NameRule {
    /// Matches no name.
    #[default]
    Never,
    Exact(Box<str>),
    /// `*` matches any characters, `#` a digit.
    Pattern(Box<str>),
    Any(Vec<NameRule>),
    All(Vec<NameRule>),
    Not(Box<NameRule>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name, a list of names, `{\"all\": [..]}` or `{\"not\": ..}`")]
enum NameRuleJson {
    Pattern(String),
    Any(Vec<NameRule>),
    All { all: Vec<NameRule> },
    Not { not: Box<NameRule> },
}

impl From<NameRuleJson> for NameRule {
    fn from(rule: NameRuleJson) -> Self {
        match rule {
            NameRuleJson::Pattern(text) if text.contains(['*', '#']) => Self::Pattern(text.to_lowercase().into()),
            NameRuleJson::Pattern(text) => Self::exact(&text),
            NameRuleJson::Any(rules) => Self::Any(rules),
            NameRuleJson::All { all } => Self::All(all),
            NameRuleJson::Not { not } => Self::Not(not),
        }
    }
}

impl NameRule {
    /// Creates a rule for one name, which may contain `*` and `#`.
    pub(crate) fn exact(name: &str) -> Self {
        Self::Exact(name.to_lowercase().into())
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Exact(only) => **only == *name,
            Self::Pattern(pattern) => matches_pattern(pattern.as_bytes(), name.as_bytes()),
            Self::Any(rules) => rules.iter().any(|rule| rule.matches(name)),
            Self::All(rules) => rules.iter().all(|rule| rule.matches(name)),
            Self::Not(rule) => !rule.matches(name),
        }
    }
}

/// Matches a pattern. Backtracks to the last `*` only, so the time is linear in the name for a constant pattern.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    // The pattern after the last `*`, and the part of the name at which it was tried last.
    let mut backtrack: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), name.split_first()) {
            (Some((b'*', rest)), _) => {
                backtrack = Some((rest, name));
                pattern = rest;
            }
            (Some((expected, rest)), Some((byte, after))) if matches_byte(*expected, *byte) => {
                (pattern, name) = (rest, after);
            }
            (None, None) => return true,
            _ => {
                let Some((rest, [_, after @ ..])) = backtrack else { return false };
                backtrack = Some((rest, after));
                (pattern, name) = (rest, after);
            }
        }
    }
}

fn matches_byte(expected: u8, byte: u8) -> bool {
    if expected == b'#' { byte.is_ascii_digit() } else { expected == byte }
}

const MINUTES_PER_DAY: u64 = 24 * 60;

/// A condition on the time, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PriceCondition {
    #[default]
    Always,
    /// Holds from a day on, counted from 1970-01-01.
    From(i64),
    /// Holds each day from the first minute to before the second, over midnight if the second is smaller.
    Between(u64, u64),
}

impl PriceCondition {
    pub(crate) fn holds(self, time: SystemTime) -> bool {
        let minutes = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 60);
        let (day, minute) = (minutes / MINUTES_PER_DAY, minutes % MINUTES_PER_DAY);
        match self {
            Self::Always => true,
            Self::From(first) => i64::try_from(day).is_ok_and(|day| day >= first),
            Self::Between(start, end) if end < start => minute >= start || minute < end,
            Self::Between(start, end) => (start..end).contains(&minute),
        }
    }
}

/// Parses a date such as `2027-01-01` into days since 1970-01-01.
pub(crate) fn parse_day(text: &str) -> Option<i64> {
    // jiff also reads other forms, such as `20270101`.
    let date = text.parse::<Date>().ok().filter(|date| date.year() > 0 && date.to_string() == text)?;
    let days = date.since(Date::constant(1970, 1, 1)).ok()?.get_days();
    Some(days.into())
}

/// Parses a time such as `16:30` into the minute of the day.
pub(crate) fn parse_minute(text: &str) -> Option<u64> {
    let two_digits = |text: &str| {
        let is_valid = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_valid.then(|| text.parse::<u64>().ok())?
    };
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute) = (two_digits(hour)?, two_digits(minute)?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn rule(text: &str) -> NameRule {
        serde_json::from_str(text).expect("a rule")
    }

    #[test]
    fn rules_match_names() {
        for (text, names, others) in [
            (r#""GPT-5""#, &["gpt-5"][..], &["gpt-5-mini", "agpt-5", ""][..]),
            (r#""gpt-*""#, &["gpt-", "gpt-5"], &["gpt", "xgpt-5"]),
            (r#""*-tts""#, &["a-tts", "-tts"], &["a-tts-b", "tts"]),
            (r#""*claude*""#, &["claude", "eu.claude-3"], &["cloude"]),
            (r#""a-####-##""#, &["a-2026-11"], &["a-2026-1x", "a-2026-1", "a-2026-111"]),
            (r#""a*b*c""#, &["abc", "axbxbc", "abbcc"], &["acb", "ab"]),
            (r#"["a", "b*"]"#, &["a", "b", "bc"], &["ab", "c"]),
            (r#"{"all": ["a*", {"not": ["*x", "*y"]}]}"#, &["a", "axa"], &["ax", "ay", "b"]),
            ("[]", &[], &["", "a"]),
        ] {
            assert!(names.iter().all(|name| rule(text).matches(name)), "{text}");
            assert!(!others.iter().any(|name| rule(text).matches(name)), "{text}");
        }
        assert_eq!(NameRule::exact("A*"), NameRule::Exact("a*".into()));
        assert!(
            serde_json::from_str::<NameRule>("7").is_err_and(|error| error.to_string().contains("expected a name"))
        );
    }

    proptest! {
        #[test]
        fn patterns_match_as_a_plain_search_does(pattern in "[ab*#]{0,8}", name in "[ab1]{0,10}") {
            fn plain(pattern: &[u8], name: &[u8]) -> bool {
                match (pattern, name) {
                    ([], _) => name.is_empty(),
                    ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| plain(rest, &name[at..])),
                    ([first, rest @ ..], [byte, after @ ..]) => matches_byte(*first, *byte) && plain(rest, after),
                    _ => false,
                }
            }
            let expected = plain(pattern.as_bytes(), name.as_bytes());
            prop_assert_eq!(matches_pattern(pattern.as_bytes(), name.as_bytes()), expected);
        }
    }

    fn at(days: i64, minute: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(u64::try_from(days).expect("since 1970") * 86_400 + minute * 60 + 59)
    }

    #[test]
    fn counts_days_as_the_calendar_does() {
        assert_eq!(parse_day("1970-01-01"), Some(0));
        assert_eq!(parse_day("2000-02-29"), Some(11_016));
        assert_eq!(parse_day("2026-11-22"), Some(20_779));
        assert_eq!(parse_day("2100-03-01"), Some(47_541));
        for invalid in [
            "2026-02-29",
            "2100-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-1-01",
            "2026-11-31",
            "20261122",
            "2026-11-22-1",
            "0000-01-01",
            "+026-01-01",
        ] {
            assert_eq!(parse_day(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn a_price_applies_from_its_day_on() {
        let first = parse_day("2027-01-01").expect("a day");
        assert!(!PriceCondition::From(first).holds(at(first - 1, 1_439)));
        assert!(PriceCondition::From(first).holds(at(first, 0)));
        assert!(!PriceCondition::From(first).holds(UNIX_EPOCH - Duration::from_secs(1)));
    }

    #[test]
    fn a_price_applies_between_its_minutes_even_over_midnight() {
        let minute = |text| parse_minute(text).expect("a time");
        let between = |start, end| PriceCondition::Between(minute(start), minute(end));
        let holds = |when: PriceCondition| [0, 29, 30, 989, 990, 1_439].map(|minute| when.holds(at(3, minute)));
        assert_eq!(holds(between("00:30", "16:30")), [false, false, true, true, false, false]);
        assert_eq!(holds(between("16:30", "00:30")), [true, true, false, false, true, true]);
        assert_eq!(["24:00", "1:00", "12:60", "12"].map(parse_minute), [None; 4]);
    }
}
