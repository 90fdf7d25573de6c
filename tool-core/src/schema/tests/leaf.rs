//! Assertions accept what the jsonschema crate accepts.

use crate::schema::constraints::ASSERTED_FORMATS;
use crate::schema::format;
use crate::schema::leaf::LeafCheck;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns the verdicts of this crate and of the jsonschema crate.
fn verdicts(keyword: &str, value: &Value, instance: &Value) -> (bool, bool) {
    let ours = LeafCheck::new(keyword, value)
        .expect("a sound assertion")
        .accepts(instance);
    let options = jsonschema::options().should_validate_formats(true);
    (
        ours,
        options
            .build(&json!({keyword: value}))
            .expect("a sound schema")
            .is_valid(instance),
    )
}

fn agrees(format: &str, text: &str) {
    let (ours, theirs) = verdicts("format", &format.into(), &text.into());
    assert_eq!(ours, theirs, "{format}: {text:?}");
}

#[test]
fn every_asserted_format_has_a_check() {
    assert!(
        ASSERTED_FORMATS
            .iter()
            .all(|name| format::asserted(name).is_some())
    );
    assert!(format::asserted("uri").is_none());
}

/// Texts near the edges of the formats.
const TEXTS: &[(&str, &[&str])] = &[
    (
        "date-time",
        &[
            "2026-11-20T09:30:00Z",
            "2026-11-20t09:30:00z",
            "2026-11-20 09:30:00Z",
            "2026-02-29T00:00:00Z",
            "2024-02-29T00:00:00.123+23:59",
            "2016-12-31T23:59:60Z",
            "2016-12-31T22:59:60Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59-23:59",
            "2026-11-20T24:00:00Z",
            "2026-11-20T09:60:00Z",
            "2026-11-20T09:30:00",
            "2026-11-20T09:30:00.Z",
            "2026-11-20T09:30:00+24:00",
            "T09:30:00Z",
            "2026-11-20T",
            "\u{662}026-11-20T09:30:00Z",
        ],
    ),
    (
        "date",
        &[
            "2026-11-20",
            "1900-02-29",
            "2000-02-29",
            "2026-00-10",
            "2026-13-01",
            "2026-01-00",
            "26-1-1",
            "2026-11-2a",
        ],
    ),
    (
        "time",
        &[
            "09:30:00Z",
            "09:30:00",
            "23:59:60Z",
            "23:59:60+01:00",
            "00:59:60+01:00",
            "9:30:00Z",
            "09:30:00-00:00",
        ],
    ),
    (
        "duration",
        &[
            "P1Y",
            "P1Y2M3D",
            "P1Y3D",
            "P1M2D",
            "P2D1M",
            "P1W",
            "P1W1D",
            "P1DT1H",
            "PT1H",
            "PT1H1S",
            "PT1H2M3S",
            "PT",
            "P",
            "",
            "P1",
            "1Y",
            "P1Y1Y",
            "P1WT1H",
            "PT1D",
            "P1S",
            "P-1D",
            "P1.5D",
            "PT1M",
            "P1YT",
            "PT1H2M3ST1H",
            "P\u{661}D",
        ],
    ),
    (
        "email",
        &[
            "a@b",
            "a@b.c",
            "a@",
            "@b",
            "a",
            "a b@c.d",
            "\"a b\"@c.d",
            "\"\"@c.d",
            "a@[127.0.0.1]",
            "a@[IPv6:::1]",
            "a@[ipv6:::1]",
            "a@[::1]",
            "a@[IPv6:x]",
            "a@-b.c",
            "ä@b.c",
            "a@ä.c",
            ".a@b.c",
            "a..b@c.d",
            "a@b..c",
            "a@b.c.",
        ],
    ),
    (
        "hostname",
        &[
            "a",
            "a.b",
            "a-b",
            "-a",
            "a-",
            "a..b",
            "a.",
            "",
            ".",
            "a_b",
            "ä",
            "ab--c",
            "xn--nxasmq6b",
            "1.2.3.4",
            "A.B",
            "xn--",
            "a.xn--nxasmq6b.c",
        ],
    ),
    (
        "ipv4",
        &["1.2.3.4", "1.2.3", "01.2.3.4", "256.1.1.1", "1.2.3.4 ", ""],
    ),
    (
        "ipv6",
        &[
            "::1",
            "::",
            "1::2::3",
            "::ffff:1.2.3.4",
            "fe80::1%eth0",
            "12345::",
            "",
        ],
    ),
    (
        "uuid",
        &[
            "2EB8AA08-AA98-11EA-B4AA-73B441D16380",
            "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
            "2eb8aa08aa9811eab4aa73b441d16380",
            "2eb8aa08-aa98-11ea-b4aa-73b441d1638",
            "2eb8aa08-aa98-11ea-b4aa-73b441d1638g",
            "2eb8aa08-aa98-11ea-b4aa73b441d16380-",
        ],
    ),
];

#[test]
fn formats_accept_what_the_crate_accepts() {
    for (format, texts) in TEXTS {
        texts.iter().for_each(|text| agrees(format, text));
    }
    let label = "a".repeat(63);
    let longest = [&label[..], &label, &label, &label[..61]].join(".");
    for name in [label.clone(), label + "a", longest.clone(), longest + "a"] {
        agrees("hostname", &name);
    }
}

#[test]
fn punycode_is_not_decoded() {
    assert!(
        LeafCheck::new("format", &"hostname".into())
            .unwrap()
            .accepts_text("xn--x")
    );
}

#[test]
fn other_values_pass_a_format_and_a_pattern() {
    for value in [json!(1), json!(null), json!(["a"]), json!({"a": 1})] {
        assert_eq!(verdicts("format", &"date".into(), &value), (true, true));
        assert_eq!(verdicts("pattern", &"^b".into(), &value), (true, true));
    }
    assert_eq!(verdicts("multipleOf", &2.into(), &"3".into()), (true, true));
}

#[test]
fn patterns_match_what_the_crate_matches() {
    let patterns = [
        "^a",
        "a$",
        "^a$",
        "^(a|b|c)$",
        r"^\S*$",
        r"\d",
        r"\w",
        r"\s",
        r"\bö",
        r"^\p{L}+$",
        r"^\p{Lu}",
        r"[^\d]",
        "^(?!a)",
        "(?<=a)b",
        r"(a)\1",
        "[a-z&&^b]",
        r"\cA",
        r"\u{1F600}",
        "^.$",
        r"\/",
        "a{2,3}",
        r"^\P{L}$",
        "(?:a|ab)c",
    ];
    let texts = [
        "",
        "a",
        "A",
        "b",
        "ab",
        "abc",
        "aa",
        "aaaa",
        "5",
        "\u{663}",
        "_",
        " ",
        "\u{a0}",
        "\u{2028}",
        "\n",
        "ö",
        "é",
        "/",
        "&",
        "\u{1}",
        "\u{1F600}",
        "-",
        "a b",
    ];
    for pattern in patterns {
        for text in texts {
            let (ours, theirs) = verdicts("pattern", &pattern.into(), &text.into());
            assert_eq!(ours, theirs, "{pattern} {text:?}");
        }
    }
}

#[test]
fn a_broken_pattern_is_named() {
    for pattern in ["[", "(", "a{2,1}", r"\p{Nope}", "*"] {
        let problem = LeafCheck::new("pattern", &pattern.into())
            .err()
            .expect("a problem");
        assert!(
            problem.contains(&Value::from(pattern).to_string()),
            "{problem}"
        );
    }
}

#[test]
fn multiples_are_decimal() {
    let cases = [
        (json!(0.3), json!(0.1), true),
        (json!(1_070_468.14), json!(0.01), true),
        (json!(1_070_468.145), json!(0.01), false),
        (json!(505_661.899_999_999_97), json!(0.1), false),
        (json!(1e300), json!(0.01), true),
        (json!(1e-300), json!(0.01), false),
        (json!(1e300), json!(7), false),
        (json!(u64::MAX), json!(5), true),
        (json!(i64::MIN), json!(1024), true),
        (json!(0), json!(7), true),
        (json!(-0.0), json!(0.3), true),
        (json!(7.5), json!(2.5), true),
        (json!(3), json!(1e300), false),
    ];
    for (number, divisor, expected) in cases {
        let check = LeafCheck::new("multipleOf", &divisor).unwrap();
        assert_eq!(check.accepts(&number), expected, "{number} {divisor}");
    }
}

proptest! {
    #[test]
    fn multiples_are_those_of_the_crate(number in -1_000_000_i64..1_000_000, places in 0..4_u32, step in 1_u32..500, step_places in 0..4_u32) {
        #[expect(clippy::cast_precision_loss)]
        let number = number as f64 / 10_f64.powi(places.cast_signed());
        let step = f64::from(step) / 10_f64.powi(step_places.cast_signed());
        let (ours, theirs) = verdicts("multipleOf", &step.into(), &number.into());
        prop_assert_eq!(ours, theirs, "{} {}", number, step);
    }

    #[test]
    fn texts_like_a_format_have_one_verdict(which in 0..TEXTS.len(), at in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), byte in "[0-9A-Za-z:@]") {
        let (format, texts) = TEXTS[which];
        let mut text = (*at.get(texts)).to_owned();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        if !places.is_empty() {
            let place = *place.get(&places);
            let end = place + text[place..].chars().next().map_or(0, char::len_utf8);
            text.replace_range(place..end, &byte);
        }
        // The crate decodes Punycode. It also reads some characters below `0` as digits, so none is generated.
        prop_assume!(!text.to_ascii_lowercase().contains("xn--"));
        let (ours, theirs) = verdicts("format", &format.into(), &text.clone().into());
        prop_assert_eq!(ours, theirs, "{}: {:?}", format, text);
    }
}
