//! Which names a rule is about.

use serde::Deserialize;

/// A condition on a name in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub(super) enum Rule {
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
    pub(super) fn is(name: &str) -> Self {
        Self::Is(name.to_lowercase().into())
    }

    pub(super) fn holds(&self, name: &str) -> bool {
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
mod tests {
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
