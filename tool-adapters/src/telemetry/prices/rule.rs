//! Which names a rule is about.

use serde::Deserialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// A condition on a name in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub(crate) enum Rule {
    /// None.
    #[default]
    Nothing,
    /// This one.
    Is(Box<str>),
    /// Those of a pattern: `*` stands for any characters, `#` for a digit.
    Like(Box<str>),
    /// Those of one of the rules.
    Any(Vec<Rule>),
    /// Those of all of them.
    All(Vec<Rule>),
    /// All but those of the rule.
    Not(Box<Rule>),
}

/// A rule, as it is written.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name, a list of names, `{\"all\": [..]}` or `{\"not\": ..}`")]
enum Written {
    Pattern(String),
    Any(Vec<Rule>),
    All { all: Vec<Rule> },
    Not { not: Box<Rule> },
}

impl From<Written> for Rule {
    fn from(written: Written) -> Self {
        match written {
            Written::Pattern(text) if text.contains(['*', '#']) => Self::Like(text.to_lowercase().into()),
            Written::Pattern(text) => Self::is(&text),
            Written::Any(rules) => Self::Any(rules),
            Written::All { all } => Self::All(all),
            Written::Not { not } => Self::Not(not),
        }
    }
}

impl Rule {
    /// The one for a name, whatever characters it has.
    pub(crate) fn is(name: &str) -> Self {
        Self::Is(name.to_lowercase().into())
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Is(only) => **only == *name,
            Self::Like(pattern) => is_like(pattern.as_bytes(), name.as_bytes()),
            Self::Any(rules) => rules.iter().any(|rule| rule.holds(name)),
            Self::All(rules) => rules.iter().all(|rule| rule.holds(name)),
            Self::Not(rule) => !rule.holds(name),
        }
    }
}

/// Whether a name is of a pattern. What a `*` stands for grows only where the rest does not fit, and only that of the
/// last one: for a pattern of constant length it takes time in proportion to the name's.
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    // What stands after the last `*`, and where in the name it was tried last.
    let mut again: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), name.split_first()) {
            (Some((b'*', rest)), _) => {
                again = Some((rest, name));
                pattern = rest;
            }
            (Some((expected, rest)), Some((byte, after))) if fits(*expected, *byte) => {
                (pattern, name) = (rest, after);
            }
            (None, None) => return true,
            _ => {
                let Some((rest, [_, after @ ..])) = again else { return false };
                again = Some((rest, after));
                (pattern, name) = (rest, after);
            }
        }
    }
}

fn fits(expected: u8, byte: u8) -> bool {
    if expected == b'#' { byte.is_ascii_digit() } else { expected == byte }
}

#[cfg(test)]
mod rule_tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(text: &str) -> Rule {
        serde_json::from_str(text).expect("a rule")
    }

    #[test]
    fn rules_hold_for_the_names_that_they_say() {
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
            assert!(names.iter().all(|name| rule(text).holds(name)), "{text}");
            assert!(!others.iter().any(|name| rule(text).holds(name)), "{text}");
        }
        assert_eq!(Rule::is("A*"), Rule::Is("a*".into()));
        assert!(serde_json::from_str::<Rule>("7").is_err_and(|error| error.to_string().contains("expected a name")));
    }

    proptest! {
        #[test]
        fn patterns_hold_where_a_plain_search_finds_a_way(pattern in "[ab*#]{0,8}", name in "[ab1]{0,10}") {
            fn plain(pattern: &[u8], name: &[u8]) -> bool {
                match (pattern, name) {
                    ([], _) => name.is_empty(),
                    ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| plain(rest, &name[at..])),
                    ([first, rest @ ..], [byte, after @ ..]) => fits(*first, *byte) && plain(rest, after),
                    _ => false,
                }
            }
            prop_assert_eq!(is_like(pattern.as_bytes(), name.as_bytes()), plain(pattern.as_bytes(), name.as_bytes()));
        }
    }
}

// ---- When a price holds.

const MINUTES_A_DAY: u64 = 24 * 60;

/// A condition, by UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum When {
    #[default]
    Always,
    /// From a day on: days since 1970.
    From(i64),
    /// Each day between two minutes, the second one excluded; over midnight where it is the smaller one.
    Between(u64, u64),
}

impl When {
    pub(crate) fn holds(self, time: SystemTime) -> bool {
        let minutes = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 60);
        let (day, minute) = (minutes / MINUTES_A_DAY, minutes % MINUTES_A_DAY);
        match self {
            Self::Always => true,
            Self::From(first) => i64::try_from(day).is_ok_and(|day| day >= first),
            Self::Between(start, end) if end < start => minute >= start || minute < end,
            Self::Between(start, end) => (start..end).contains(&minute),
        }
    }
}

/// The days since 1970 of a date, `2027-01-01`.
pub(crate) fn day(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let mut part = |length: usize| number(parts.next()?, length);
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    let exists = is_day(year, month, day) && parts.next().is_none();
    exists.then(|| {
        // Counted from March on, so that leap days come last; 146,097 days are 400 years.
        let year = if month > 2 { year } else { year - 1 };
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
    })
}

/// Whether there is such a day.
pub(crate) fn is_day(year: i64, month: i64, day: i64) -> bool {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    year > 0 && (1..=12).contains(&month) && (1..=last).contains(&day)
}

/// The minute of the day, `16:30`.
pub(crate) fn minute(text: &str) -> Option<u64> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute) = (number(hour, 2)?, number(minute, 2)?);
    (hour < 24 && minute < 60).then(|| u64::try_from(hour * 60 + minute).ok())?
}

/// A number of so many digits.
fn number(text: &str, length: usize) -> Option<i64> {
    let digits = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod when_tests {
    use super::*;
    use std::time::Duration;

    fn at(days: i64, minute: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(u64::try_from(days).expect("since 1970") * 86_400 + minute * 60 + 59)
    }

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        assert_eq!(day("1970-01-01"), Some(0));
        assert_eq!(day("2000-02-29"), Some(11_016));
        assert_eq!(day("2026-11-22"), Some(20_779));
        assert_eq!(day("2100-03-01"), Some(47_541));
        for none in [
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
            assert_eq!(day(none), None, "{none}");
        }
    }

    #[test]
    fn a_price_holds_from_its_day_on() {
        let first = day("2027-01-01").expect("a day");
        assert!(!When::From(first).holds(at(first - 1, 1_439)));
        assert!(When::From(first).holds(at(first, 0)));
        assert!(!When::From(first).holds(UNIX_EPOCH - Duration::from_secs(1)));
    }

    #[test]
    fn a_price_holds_between_its_minutes_over_midnight_too() {
        let between = |start, end| When::Between(minute(start).expect("a time"), minute(end).expect("a time"));
        let holds = |when: When| [0, 29, 30, 989, 990, 1_439].map(|minute| when.holds(at(3, minute)));
        assert_eq!(holds(between("00:30", "16:30")), [false, false, true, true, false, false]);
        assert_eq!(holds(between("16:30", "00:30")), [true, true, false, false, true, true]);
        assert_eq!((minute("24:00"), minute("1:00"), minute("12:60"), minute("12")), (None, None, None, None));
    }
}
