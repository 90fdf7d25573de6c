//! Issue's A8, THREATS "secrets in errors, traces, logs": keys, and what is sealed under them.

use crate::agents::keys::{CHECK, KeyError, Keyring, MOST, OVERHEAD, SealedSecrets};
use crate::tool::configure::secret::SecretDocument;
use proptest::prelude::*;
use std::collections::HashSet;

fn ring(ids: &[&str]) -> Keyring {
    let lines = ids.iter().map(|id| Keyring::generate(id).expect("random")).collect::<Vec<_>>();
    Keyring::parse(&lines.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n")).expect("keys")
}

fn secrets(text: &str) -> SecretDocument {
    SecretDocument::from_json(text.to_owned())
}

// A8
#[test]
fn a_sealed_row_with_any_byte_changed_does_not_open() {
    let keys = ring(&["now", "old"]);
    let sealed = keys.seal("alice", "email", &secrets(r#"{"password":"hunter2"}"#)).expect("sealed");
    let mut refused = 0;
    for at in 0..sealed.bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = sealed.bytes.clone();
            bytes[at] ^= change;
            let error = keys.open("alice", "email", &SealedSecrets::new("now", bytes)).expect_err("changed");
            let expected =
                if (1..=CHECK).contains(&at) { KeyError::Wrong { key: "now".into() } } else { KeyError::Tampered };
            assert_eq!(error, expected, "byte {at}");
            refused += 1;
        }
    }
    assert_eq!(refused, 3 * sealed.bytes.len());
    for length in 0..sealed.bytes.len() {
        let cut = SealedSecrets::new("now", &sealed.bytes[..length]);
        assert_eq!(keys.open("alice", "email", &cut).expect_err("cut"), KeyError::Tampered, "{length} bytes");
    }
    let longer = SealedSecrets::new("now", [sealed.bytes(), &[0]].concat());
    assert_eq!(keys.open("alice", "email", &longer).expect_err("longer"), KeyError::Tampered);
}

// A8
#[test]
fn the_id_of_the_key_is_sealed_too() {
    let keys = ring(&["now", "old"]);
    let sealed = keys.seal("alice", "email", &secrets("{}")).expect("sealed");
    for (id, expected) in [
        ("old", KeyError::Wrong { key: "old".into() }),
        ("nobody", KeyError::Unknown { key: "nobody".into() }),
        ("", KeyError::Unknown { key: String::new() }),
    ] {
        let moved = SealedSecrets::new(id, sealed.bytes());
        assert_eq!(keys.open("alice", "email", &moved).expect_err("another key"), expected);
    }
    let other = ring(&["now"]).open("alice", "email", &sealed).expect_err("another key of that id");
    assert_eq!(other, KeyError::Wrong { key: "now".into() });
    assert_eq!(Keyring::none().open("alice", "email", &sealed).expect_err("no key"), KeyError::Missing);
}

// A8
#[test]
fn what_is_sealed_for_something_else_opens_for_no_record() {
    let keys = ring(&["now"]);
    let state = keys.seal_for(&["state", "alice", "email"], "{}").expect("sealed");
    assert_eq!(keys.open("alice", "email", &state).expect_err("no record"), KeyError::Tampered);
    let record = keys.seal("alice", "email", &secrets("{}")).expect("sealed");
    assert_eq!(keys.open_for(&["state", "alice", "email"], &record).expect_err("no state"), KeyError::Tampered);
}

// A8
#[test]
fn a_hundred_thousand_seals_have_as_many_nonces() {
    let keys = ring(&["now"]);
    let mut nonces = HashSet::new();
    for _ in 0..100_000 {
        let sealed = keys.seal("alice", "email", &secrets("{}")).expect("sealed");
        nonces.insert(<[u8; 24]>::try_from(&sealed.bytes[1 + CHECK..1 + CHECK + 24]).expect("a nonce"));
    }
    assert_eq!(nonces.len(), 100_000);
}

// A8
#[test]
fn secrets_have_a_longest_length_and_it_opens() {
    let keys = ring(&["now"]);
    let longest = secrets(&"x".repeat(MOST));
    let sealed = keys.seal("alice", "email", &longest).expect("sealed");
    assert_eq!(sealed.bytes().len(), MOST + OVERHEAD);
    assert_eq!(keys.open("alice", "email", &sealed).expect("opens").expose(), longest.expose());
    let longer = keys.seal("alice", "email", &secrets(&"x".repeat(MOST + 1))).expect_err("too long");
    assert_eq!(longer, KeyError::TooLong { bytes: MOST + 1, most: MOST });
    let bytes = [sealed.bytes(), &[0]].concat();
    assert_eq!(keys.open("alice", "email", &SealedSecrets::new("now", bytes)).expect_err("long"), KeyError::Tampered);
}

// A8: every problem at once, and of the text nothing but ids
#[test]
fn every_problem_of_a_text_of_keys_is_reported_and_no_digit_of_them() {
    let digits = "c0ffee".repeat(11);
    let (key, other) = (&digits[..64], &digits[2..66]);
    let text = format!(
        "# keys\ngood:{key}\ngood:{other}\nshort:{short}\nnot-hex:{bad}\n{key}\n{key}:x, a b:{key} # remark\nsame:{key}\n\
         zero:{zero}\n:{key}\n",
        short = &key[..62],
        bad = key.replace('f', "g"),
        zero = "0".repeat(64),
    );
    let Err(KeyError::Malformed(problems)) = Keyring::parse(&text) else { panic!("these are no keys") };
    let expected = [
        "key 2: the id `good` is used twice",
        "key 3: `short` has 62 characters after the colon; a key has 64 hex digits",
        "key 4: `not-hex` is not 64 hex digits",
        "key 5: it is not of the form `id:64 hex digits`",
        "key 6: its id looks like a key; the id stands before the colon",
        "key 7: its id is not 1 to 64 of `A-Z a-z 0-9 - _ .`",
        "key 8: `same` is the same key as `good`",
        "key 9: `zero` is all zeros, which is no key; `Keyring::generate` makes one",
        "key 10: its id is not 1 to 64 of `A-Z a-z 0-9 - _ .`",
    ];
    assert_eq!(problems, expected);
    assert!(!KeyError::Malformed(problems).to_string().contains("c0ffee"));
    assert_eq!(
        Keyring::parse(" \n# none").expect_err("none").to_string(),
        "these are no keys:\n- there is no key in it"
    );
}

// A8
#[test]
fn keys_come_one_a_line_or_divided_by_commas_and_the_first_seals() {
    let (one, two) = (Keyring::generate("one").expect("random"), Keyring::generate("two").expect("random"));
    for text in [
        format!("{}\n{}", *one, *two),
        format!("  {} , {}  ", *one, *two),
        format!("# both\r\n{}\r\n\r\n{} # old\r\n", *one, two.to_uppercase().replace("TWO", "two")),
    ] {
        let keys = Keyring::parse(&text).expect("keys");
        assert_eq!((keys.active(), keys.0.len()), (Some("one"), 2));
        let sealed = Keyring::parse(&two).expect("a key").seal("alice", "email", &secrets("{}")).expect("sealed");
        assert_eq!(keys.open("alice", "email", &sealed).expect("opens").expose(), "{}");
        assert_eq!(format!("{keys:?}"), r#"{"one", "two"}"#);
    }
}

#[test]
fn a_file_of_keys_is_read_or_it_is_said_why_not() {
    let path = std::env::temp_dir().join(format!("tool-core-keys-{}", std::process::id()));
    let line = Keyring::generate("one").expect("random");
    std::fs::write(&path, line.as_bytes()).expect("written");
    assert_eq!(Keyring::from_file(&path).expect("keys").active(), Some("one"));
    std::fs::write(&path, [0xff, 0xfe]).expect("written");
    let error = Keyring::from_file(&path).expect_err("no text").to_string();
    assert!(error.ends_with("cannot be read: it is no text"), "{error}");
    std::fs::write(&path, vec![b'#'; 64 * 1024 + 1]).expect("written");
    let error = Keyring::from_file(&path).expect_err("too long").to_string();
    assert!(error.ends_with("it is longer than 65536 bytes"), "{error}");
    std::fs::remove_file(&path).expect("removed");
    let error = Keyring::from_file(&path).expect_err("gone").to_string();
    assert!(error.ends_with("cannot be read: entity not found"), "{error}");
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let error = Keyring::from_env("TOOL_SECRETS_KEYS_OF_NOBODY").expect_err("not set");
    assert_eq!(error, KeyError::Unset("TOOL_SECRETS_KEYS_OF_NOBODY".into()));
    assert!(error.to_string().contains("`TOOL_SECRETS_KEYS_OF_NOBODY` is not set"));
}

proptest! {
    // A8: bound to agent and toolset, however the two are cut
    #[test]
    fn rows_open_where_they_were_sealed_and_nowhere_else(
        agent in ".{0,12}", tool in ".{0,12}", text in ".{0,200}", other_agent in ".{0,12}", other_tool in ".{0,12}"
    ) {
        let keys = ring(&["now", "old"]);
        let sealed = keys.seal(&agent, &tool, &secrets(&text)).expect("sealed");
        let opened = keys.open(&agent, &tool, &sealed).expect("opens");
        prop_assert_eq!(opened.expose(), text);
        let whole = format!("{agent}{tool}");
        for (cut, _) in whole.char_indices().chain([(whole.len(), ' ')]) {
            let (a, t) = whole.split_at(cut);
            let opens = keys.open(a, t, &sealed).is_ok();
            prop_assert_eq!(opens, (a, t) == (agent.as_str(), tool.as_str()), "{} {}", a, t);
        }
        for (a, t) in [(&other_agent, &tool), (&agent, &other_tool), (&tool, &agent)] {
            let opens = keys.open(a, t, &sealed).is_ok();
            prop_assert_eq!(opens, (a, t) == (&agent, &tool));
        }
    }

    // A8: no text makes parsing panic, and none of it is shown but ids
    #[test]
    fn no_text_is_too_strange_to_be_judged(text in "[a-f0-9:,#\n .é-]{0,200}", digits in "[0-9a-f]{64}") {
        _ = Keyring::parse(&text);
        let line = format!("{digits}\n{digits}:{digits}\nid:{digits}0\nid:{}é", &digits[..62]);
        let shown = Keyring::parse(&line).expect_err("no keys").to_string();
        prop_assert!(!shown.contains(&digits[..16]), "{}", shown);
    }
}
