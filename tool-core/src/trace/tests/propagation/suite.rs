//! The cases of the W3C test suite for Trace Context, at its strict level.

use crate::trace::propagation::DistributedContext;
use crate::trace::tests::propagation::{PARENT, TRACE, state, with_parent};

fn parent(value: &str) -> Option<String> {
    DistributedContext::from_pairs([("traceparent", value)])
        .trace_id
        .map(|id| id.to_string())
}

fn is_refused(value: &str) {
    assert!(
        DistributedContext::from_pairs([("traceparent", value)]).is_empty(),
        "{value}"
    );
}

// S9
#[test]
fn traceparent_allows_white_space_and_names_in_any_case() {
    for value in [
        PARENT.to_owned(),
        format!(" {PARENT}"),
        format!("{PARENT}\t"),
        format!("\t {PARENT} \t"),
    ] {
        assert_eq!(parent(&value).as_deref(), Some(TRACE), "{value:?}");
    }
    for name in ["TraceParent", "TrAcEpArEnT", "TRACEPARENT"] {
        assert!(
            DistributedContext::from_pairs([(name, PARENT)])
                .span_id
                .is_some(),
            "{name}"
        );
    }
    for name in ["trace-parent", "trace.parent", "traceparent2", ""] {
        assert!(
            DistributedContext::from_pairs([(name, PARENT)]).is_empty(),
            "{name}"
        );
    }
}

// S9
#[test]
fn two_traceparents_are_both_ignored() {
    let other = PARENT.replace("9012-", "9011-");
    for second in [PARENT, &other] {
        assert!(
            DistributedContext::from_pairs([("traceparent", PARENT), ("Traceparent", second)])
                .is_empty()
        );
    }
}

// S9
#[test]
fn unknown_traceparent_versions_are_read_as_version_00() {
    let future = format!("cc{}", &PARENT[2..]);
    for value in [
        future.clone(),
        format!("{future}-what-the-future-will-be-like"),
        format!("01{}-", &PARENT[2..]),
    ] {
        let context = DistributedContext::from_pairs([("traceparent", value)]);
        assert_eq!(context.to_pairs(), [("traceparent", PARENT.to_owned())]);
    }
    is_refused(&format!("{future}.what-the-future-will-be-like"));
    is_refused(&format!("ff{}", &PARENT[2..]));
    // Version 00 has a fixed length.
    is_refused(&format!("{PARENT}."));
    is_refused(&format!("{PARENT}-what-the-future-will-be-like"));
}

// S9
#[test]
fn malformed_traceparents_are_ignored() {
    for (wrong, right) in [
        (".0-1", "00-1"),
        ("0.-1", "00-1"),
        ("000-1", "00-1"),
        ("0000-1", "00-1"),
        ("0-1", "00-1"),
        (
            "00000000000000000000000000000000-",
            "12345678901234567890123456789012-",
        ),
        (
            "-.2345678901234567890123456789012-",
            "-12345678901234567890123456789012-",
        ),
        (
            "-1234567890123456789012345678901.-",
            "-12345678901234567890123456789012-",
        ),
        (
            "-123456789012345678901234567890123-",
            "-12345678901234567890123456789012-",
        ),
        (
            "-1234567890123456789012345678901-",
            "-12345678901234567890123456789012-",
        ),
        (
            "-ABCDEF78901234567890123456789012-",
            "-12345678901234567890123456789012-",
        ),
        ("-0000000000000000-", "-1234567890123456-"),
        ("-.234567890123456-", "-1234567890123456-"),
        ("-123456789012345.-", "-1234567890123456-"),
        ("-12345678901234567-", "-1234567890123456-"),
        ("-123456789012345-", "-1234567890123456-"),
        ("-.0", "-01"),
        ("-0.", "-01"),
        ("-001", "-01"),
        ("-1", "-01"),
        ("-0A", "-01"),
        ("-+1", "-01"),
        ("_1234567890123456-", "-1234567890123456-"),
    ] {
        let value = PARENT.replacen(right, wrong, 1);
        // Guards against a pattern that matches nothing.
        assert_ne!(value, PARENT, "{wrong}");
        is_refused(&value);
    }
    is_refused("");
    // Digits of two bytes each, so that fixed offsets are inside of characters.
    is_refused(&"\u{660}".repeat(28));
}

// S9
#[test]
fn only_the_sampled_flag_is_passed_on() {
    for (came, goes) in [
        ("00", "00"),
        ("01", "01"),
        ("ff", "01"),
        ("02", "00"),
        ("03", "01"),
    ] {
        let value = format!("{}{came}", &PARENT[..53]);
        let context = DistributedContext::from_pairs([("traceparent", value)]);
        assert_eq!(
            context.to_pairs(),
            [("traceparent", format!("{}{goes}", &PARENT[..53]))],
            "{came}"
        );
    }
}

// S9
#[test]
fn tracestate_is_ignored_without_traceparent() {
    assert!(DistributedContext::from_pairs([("tracestate", "foo=1,bar=2")]).is_empty());
    assert_eq!(
        with_parent(&[("trace-state", "foo=1"), ("trace.state", "foo=1")]).tracestate,
        None
    );
    assert_eq!(
        with_parent(&[("TrAcEsTaTe", "foo=1")])
            .tracestate
            .as_deref(),
        Some("foo=1")
    );
}

// S9
#[test]
fn several_tracestate_headers_are_joined_in_order() {
    assert_eq!(
        state(&["foo=1,bar=2", "", "rojo=1,congo=2", "baz=3"]).as_deref(),
        Some("foo=1,bar=2,rojo=1,congo=2,baz=3")
    );
    assert_eq!(state(&[""]), None);
    assert_eq!(state(&["foo=1", ""]).as_deref(), Some("foo=1"));
}

// S9
#[test]
fn white_space_around_tracestate_members_is_removed() {
    for text in [
        "foo=1 \t , \t bar=2, \t baz=3",
        "foo=1\t \t,\t \tbar=2,\t \tbaz=3",
        "\t foo=1,,bar=2 , baz=3 \t",
    ] {
        assert_eq!(state(&[text]).as_deref(), Some("foo=1,bar=2,baz=3"));
    }
    assert_eq!(state(&["foo= a b "]).as_deref(), Some("foo= a b"));
}

// S9
#[test]
fn tracestate_accepts_all_allowed_characters() {
    let key = "abcdefghijklmnopqrstuvwxyz0123456789_-*/";
    let value = (0x20..=0x7e_u8)
        .map(char::from)
        .filter(|c| !",=".contains(*c))
        .collect::<String>();
    for key in [
        key.to_owned(),
        format!("{key}@a-z0-9_-*/"),
        format!("0{key}@v"),
    ] {
        let text = format!("{key}={value}");
        assert_eq!(state(&[&text]), Some(text));
    }
}

// S9
#[test]
fn malformed_tracestate_is_dropped_and_traceparent_kept() {
    for text in [
        "foo=1,foo=1",
        "foo=1,foo=2",
        "foo =1",
        "FOO=1",
        "foo.bar=1",
        "foo@=1,bar=2",
        "@foo=1,bar=2",
        "foo@@bar=1,bar=2",
        "foo@bar@baz=1,bar=2",
        "0foo=1",
        "foo@0bar=1",
        "foo=bar=baz",
        "foo=,bar=3",
        "foo,bar=3",
        "=1,bar=3",
        "foo=\u{e9}",
        "foo=a\tb",
        "foo=1\r\nx-evil: 1",
    ] {
        assert_eq!(state(&[text]), None, "{text}");
    }
}

// S9
#[test]
fn tracestate_limits_members_keys_and_values() {
    let members = |count| {
        (0..count)
            .map(|number| format!("bar{number}=1"))
            .collect::<Vec<_>>()
            .join(",")
    };
    assert!(state(&[&members(32)]).is_some());
    assert_eq!(state(&[&members(33)]), None);
    let t = |length| "t".repeat(length);
    let v = |length| "v".repeat(length);
    for (key, is_allowed) in [
        (t(256), true),
        (t(257), false),
        (format!("{}@{}", t(241), v(14)), true),
        (format!("{}@v", t(242)), false),
        (format!("t@{}", v(15)), false),
    ] {
        assert_eq!(
            state(&["foo=1", &format!("{key}=1")]).is_some(),
            is_allowed,
            "{key}"
        );
    }
    assert!(state(&[&format!("foo={}", v(256))]).is_some());
    assert_eq!(state(&[&format!("foo={}", v(257))]), None);
}
