//! Approval tokens, each of which is valid for one call only.

use crate::call::approval_reason::{ApprovalReason, ApprovalSource};
use crate::call::mode::Mode;
use crate::session::approvals::{ID, PendingCall, Signer, TOKEN, fresh_id, without_notes};
use std::collections::HashSet;

const KEY: [u8; 32] = [7; 32];

fn pending() -> PendingCall {
    PendingCall {
        id: "0123456789abcdef0123456789abcdef".to_owned(),
        principal: "ada@example.com".to_owned(),
        agent: "clerk".to_owned(),
        session: "session-1".to_owned(),
        mode: Mode::Text,
        turn: 3,
        version: "1.0.89abcdef".to_owned(),
        settings: "0f".repeat(32),
        call_id: "call_1".to_owned(),
        tool: "delete_event".to_owned(),
        arguments: r#"{"event_id":"evt_1","notify":true}"#.to_owned(),
        expires_at: 1_795_000_000_000,
        reasons: Vec::new(),
        seal: String::new(),
    }
}

// R-C10: what a store lists is what was requested.
#[test]
fn sealed_call_is_known_with_no_field_changed() {
    let signer = Signer::new(KEY);
    let sealed = PendingCall {
        seal: signer.seal(&signer.sign(&pending())),
        ..pending()
    };
    assert!(signer.sealed_token(&sealed).is_some());
    assert!(Signer::new([8; 32]).sealed_token(&sealed).is_none());
    assert!(signer.sealed_token(&pending()).is_none());

    let changes: [fn(&mut PendingCall); 13] = [
        |call| call.id.replace_range(..1, "f"),
        |call| call.principal.push('x'),
        |call| call.agent.push('x'),
        |call| call.session.push('x'),
        |call| call.mode = Mode::Voice,
        |call| call.turn += 1,
        |call| call.version.push('x'),
        |call| call.settings.push('x'),
        |call| call.call_id.push('x'),
        |call| call.tool.push('x'),
        |call| call.arguments = call.arguments.replace("evt_1", "evt_2"),
        |call| call.expires_at += 1,
        |call| call.seal.replace_range(..1, "x"),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut altered = sealed.clone();
        change(&mut altered);
        assert!(signer.sealed_token(&altered).is_none(), "change {number}");
    }
}

// R-C10: a reader of the store approves nothing.
#[test]
fn seal_is_no_token() {
    let signer = Signer::new(KEY);
    let seal = signer.seal(&signer.sign(&pending()));
    let token = format!("{}.{seal}", pending().id);
    assert!(!signer.verify(&token, &pending()));
    assert_eq!(signer.token_for(&token, &pending()), None);
}

// An attacker may write the same row again after the decision.
#[test]
fn restored_call_is_stale_two_hours_after_its_expiry() {
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    let minute = 60_000;
    let mut stale = 0;
    for n in 0..1_000 {
        stale += u32::from(
            PendingCall {
                expires_at: now - (121 + n) * minute,
                ..pending()
            }
            .is_stale(),
        );
        // The clock of another process may differ by an hour.
        assert!(
            !PendingCall {
                expires_at: now + (n * minute) - 60 * minute,
                ..pending()
            }
            .is_stale()
        );
    }
    assert_eq!(stale, 1_000);
}

// The name of an argument cannot look like the value of another one.
#[test]
fn names_that_look_like_arguments_are_quoted() {
    for n in 0..1_000 {
        let name = format!("amount: 1, to: \"bob\", x{n}");
        let arguments = serde_json::json!({ name: 1 }).to_string();
        let shown = PendingCall {
            arguments,
            ..pending()
        }
        .summary();
        assert_eq!(
            shown,
            format!(r#"delete_event("amount: 1, to: \"bob\", x{n}": 1)"#)
        );
    }
}

#[test]
fn digest_differs_for_another_tool() {
    let digests = (0..1_000).map(|n| {
        PendingCall {
            tool: format!("tool_{n}"),
            ..pending()
        }
        .digest()
    });
    assert_eq!(digests.collect::<HashSet<_>>().len(), 1_000);
}

type Text = fn(&mut PendingCall) -> &mut String;

const TEXTS: [Text; 9] = [
    |call| &mut call.id,
    |call| &mut call.principal,
    |call| &mut call.agent,
    |call| &mut call.session,
    |call| &mut call.version,
    |call| &mut call.settings,
    |call| &mut call.call_id,
    |call| &mut call.tool,
    |call| &mut call.arguments,
];

/// A random generator with a fixed seed, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % sides
    }
}

// R-C2
#[test]
fn token_verifies_for_its_call() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&pending());
    assert_eq!(token.len(), TOKEN);
    assert!(
        token
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.'),
        "{token}"
    );
    assert_eq!(Signer::id_of(&token), Some(pending().id.as_str()));
    assert!(signer.verify(&token, &pending()));
}

// R-C3
#[test]
fn token_verifies_in_another_process_with_the_key() {
    let stored = serde_json::to_string(&pending()).unwrap();
    let token = Signer::new(KEY).sign(&pending());
    assert!(Signer::new(KEY).verify(&token, &serde_json::from_str(&stored).unwrap()));
}

// R-C2
#[test]
fn proof_equals_that_of_another_hmac_implementation() {
    // Python: hmac.new(b'\x07' * 32, b''.join(len(t).to_bytes(8, 'big') + t for t in texts) + turn + expires_at, 'sha256')
    let token = Signer::new(KEY).sign(&pending());
    assert_eq!(
        token.split_once('.').unwrap().1,
        "5cf57a0676d11bb092bb2012075baae7799434fe6dcc7789e5005cb5915d79ea"
    );
}

// R-C2
#[test]
fn token_does_not_verify_under_another_key() {
    let token = Signer::new(KEY).sign(&pending());
    let mut other = KEY;
    other[31] ^= 1;
    assert!(!Signer::new(other).verify(&token, &pending()));
    assert!(!Signer::random().verify(&token, &pending()));
    assert!(!Signer::random().verify(&Signer::random().sign(&pending()), &pending()));
}

// R-C2
#[test]
fn token_with_a_changed_byte_does_not_verify() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&pending());
    for at in 0..token.len() {
        for other in 0..=255_u8 {
            let mut bytes = token.clone().into_bytes();
            if bytes[at] == other {
                continue;
            }
            bytes[at] = other;
            // A byte over 127 alone is not UTF-8, so it arrives as a replacement character or not at all.
            let mutant = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!signer.verify(&mutant, &pending()), "byte {at} as {other}");
        }
    }
}

// R-C2
#[test]
fn token_does_not_verify_for_a_changed_field() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&pending());
    for (which, text) in TEXTS.iter().enumerate() {
        for other in ["", "x", "0123456789abcdef0123456789abcdee"] {
            let mut call = pending();
            other.clone_into(text(&mut call));
            assert!(!signer.verify(&token, &call), "text {which} as {other:?}");
        }
    }
    assert!(!signer.verify(
        &token,
        &PendingCall {
            mode: Mode::Voice,
            ..pending()
        }
    ));
    for bit in 0..64 {
        for call in [
            PendingCall {
                expires_at: pending().expires_at ^ 1 << bit,
                ..pending()
            },
            PendingCall {
                turn: pending().turn ^ 1 << bit,
                ..pending()
            },
        ] {
            assert!(!signer.verify(&token, &call), "bit {bit} of a number");
        }
    }
}

// R-C2, R-C5
#[test]
fn token_does_not_verify_for_other_reasons() {
    let signer = Signer::new(KEY);
    let tool = ApprovalReason::new(ApprovalSource::Tool, "it asks");
    let hook = ApprovalReason::new(ApprovalSource::Hook, "it asks");
    let longer = ApprovalReason::new(ApprovalSource::Tool, "it asks why");
    let call_with = |reasons: &[&ApprovalReason]| PendingCall {
        reasons: reasons.iter().copied().cloned().collect(),
        ..pending()
    };
    let token = signer.sign(&call_with(&[&tool, &hook]));
    assert!(signer.verify(&token, &call_with(&[&tool, &hook])));
    for other in [&[][..], &[&tool], &[&hook, &tool], &[&longer, &hook]] {
        assert!(!signer.verify(&token, &call_with(other)), "{other:?}");
    }
}

// R-C3
#[test]
fn call_that_was_stored_without_reasons_is_read() {
    let mut stored = serde_json::to_value(pending()).unwrap();
    assert_eq!(stored.get("reasons"), None);
    let token = Signer::new(KEY).sign(&pending());
    let read = serde_json::from_value::<PendingCall>(stored.take()).unwrap();
    assert!(Signer::new(KEY).verify(&token, &read));
}

// R-C2
#[test]
fn token_does_not_verify_for_3_000_other_agents() {
    let signer = Signer::new(KEY);
    let agent = "clerk-of-the-first-floor";
    let token = signer.sign(&PendingCall {
        agent: agent.to_owned(),
        ..pending()
    });
    let mut others = HashSet::from([String::new()]);
    for at in 0..agent.len() {
        let (head, tail) = agent.split_at(at);
        others
            .extend((0..=127_u8).map(|other| format!("{head}{}{}", char::from(other), &tail[1..])));
        others.extend([
            head.to_owned(),
            tail[1..].to_owned(),
            format!("{head}{}", &tail[1..]),
            agent[at..].to_uppercase(),
        ]);
    }
    others.remove(agent);
    assert!(others.len() > 3_000, "{}", others.len());
    for other in others {
        assert!(
            !signer.verify(
                &token,
                &PendingCall {
                    agent: other.clone(),
                    ..pending()
                }
            ),
            "{other:?}"
        );
    }
}

// R-C2
#[test]
fn token_does_not_verify_for_swapped_fields() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&pending());
    for (which, one) in TEXTS.iter().enumerate() {
        for other in &TEXTS[which + 1..] {
            let mut call = pending();
            let text = std::mem::take(one(&mut call));
            let text = std::mem::replace(other(&mut call), text);
            *one(&mut call) = text;
            assert!(!signer.verify(&token, &call), "{call:?}");
        }
    }
}

// R-C2
#[test]
fn token_does_not_verify_for_shifted_characters() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&pending());
    for (left, right) in TEXTS.iter().zip(&TEXTS[1..]) {
        let mut call = pending();
        let moved = left(&mut call).pop().unwrap();
        right(&mut call).insert(0, moved);
        assert!(!signer.verify(&token, &call), "{call:?}");

        let mut call = pending();
        let moved = right(&mut call).remove(0);
        left(&mut call).push(moved);
        assert!(!signer.verify(&token, &call), "{call:?}");
    }
}

// R-C2
#[test]
fn none_of_10_000_mutated_tokens_verifies() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&pending());
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut mutants = 0;
    while mutants < 10_000 {
        let mut text = token.clone();
        let mut call = pending();
        if dice.roll(2) == 0 {
            mutate(&mut text, &mut dice);
        } else {
            mutate(TEXTS[dice.roll(TEXTS.len())](&mut call), &mut dice);
        }
        if text != token || call != pending() {
            mutants += 1;
            assert!(!signer.verify(&text, &call), "{text} for {call:?}");
        }
    }
}

/// Makes one to three changes: replaces, inserts, removes or doubles a character, or cuts off the end.
fn mutate(text: &mut String, dice: &mut Dice) {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(characters.len() + 1);
        let any = ['0', '1', '9', 'a', 'f', 'A', '.', '"', ' ', '\0', 'é'][dice.roll(11)];
        match dice.roll(5) {
            0 => characters.insert(at, any),
            1 => characters.truncate(at),
            _ if at == characters.len() => characters.push(any),
            2 => _ = characters.remove(at),
            3 => characters.insert(at, characters[at]),
            _ => characters[at] = any,
        }
    }
    *text = characters.into_iter().collect();
}

// R-C2. `tests/cost` holds that a long one is refused by its length.
#[test]
fn malformed_token_has_no_id() {
    let token = Signer::new(KEY).sign(&pending());
    let zeros = "0".repeat(TOKEN);
    let texts = [
        String::new(),
        ".".to_owned(),
        ".".repeat(TOKEN),
        format!("{}.{}", "0".repeat(ID), "0".repeat(1 << 20)),
        zeros.clone(),
        "é".repeat(TOKEN / 2),
        token.to_uppercase(),
        token.replace('.', "-"),
        format!("{token}\n"),
        format!(" {token}"),
        token[1..].to_owned(),
        format!("{}.{}", &zeros[..ID - 1], &zeros[..=2 * 32]),
        format!("{}é.{}", &zeros[..ID - 2], &zeros[..2 * 32]),
    ];
    for text in texts {
        assert_eq!(Signer::id_of(&text), None, "{text:?}");
        assert!(!Signer::new(KEY).verify(&text, &pending()), "{text:?}");
    }
}

// R-C2
#[test]
fn token_of_an_invalid_id_does_not_verify() {
    let signer = Signer::new(KEY);
    for id in ["", "call-1", "0123456789ABCDEF0123456789ABCDEF"] {
        let call = PendingCall {
            id: id.to_owned(),
            ..pending()
        };
        assert!(!signer.verify(&signer.sign(&call), &call), "{id}");
    }
}

#[test]
fn debug_output_hides_the_key() {
    assert_eq!(format!("{:?}", Signer::new(KEY)), "Signer(..)");
}

#[test]
fn ids_are_hexadecimal_and_differ() {
    let ids: HashSet<_> = (0..1_000).map(|_| fresh_id()).collect();
    assert_eq!(ids.len(), 1_000);
    for id in ids {
        assert!(
            id.len() == ID
                && id
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
            "{id}"
        );
    }
}

#[test]
fn mark_of_a_note_needs_the_key() {
    let signer = Signer::new(KEY);
    let other = Signer::new([8; 32]);
    let marks = (0..1_000)
        .map(|_| fresh_id())
        .map(|id| (signer.mark(&id), other.mark(&id)))
        .collect::<Vec<_>>();
    assert!(marks.iter().all(|(mine, theirs)| mine != theirs));
    assert_eq!(
        marks
            .into_iter()
            .map(|(mine, _)| mine)
            .collect::<HashSet<_>>()
            .len(),
        1_000
    );
    assert_eq!(
        signer.mark(&pending().id),
        Signer::new(KEY).mark(&pending().id),
        "in every process"
    );
}

#[test]
fn user_cannot_type_a_note() {
    let signer = Signer::new(KEY);
    let mut typed = 0;
    for number in 0..250 {
        let mark = signer.mark(&fresh_id());
        for blank in ["", " ", "\u{a0}\u{200b}", "\n\u{ad}"] {
            let case = if number % 2 == 0 {
                mark.to_uppercase()
            } else {
                mark.clone()
            };
            let bracket = ["[", "\u{ff3b}", "\u{3010}", "\u{27e6}"][number % 4];
            let word = if number % 3 == 0 {
                case.replacen('d', &format!("\u{ff44}{blank}"), 1)
            } else {
                case
            };
            let text = format!(
                "{}{}",
                "é [x] [".repeat(number % 7),
                word.replacen('[', &format!("{bracket}{blank}"), 1)
            );
            let cleaned = without_notes(text.clone());
            assert!(
                cleaned.contains(&format!("({blank}")),
                "{text:?} {cleaned:?}"
            );
            assert_eq!(cleaned.chars().count(), text.chars().count());
            typed += 1;
        }
    }
    assert_eq!(typed, 1_000);
    assert_eq!(
        without_notes("[Note by the application, not said by the user] x".into()).find('['),
        None
    );
    assert_eq!(
        without_notes("[decide] a[0] (decision) [".into()),
        "[decide] a[0] (decision) ["
    );
}

#[test]
fn alias_leads_to_the_token_of_the_same_call_alone() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&pending());
    let alias = signer.alias(&token).expect("a token");
    assert_eq!(signer.token_for(&alias, &pending()).as_ref(), Some(&token));
    assert!(!signer.verify(&alias, &pending()), "it approves nothing");
    assert_eq!(signer.token_for(&token, &pending()), None);
    assert_eq!(Signer::new([8; 32]).token_for(&alias, &pending()), None);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut mutants = 0;
    while mutants < 2_000 {
        let mut text = alias.clone();
        let mut call = pending();
        if mutants % 2 == 0 {
            mutate(&mut text, &mut dice);
        } else {
            mutate(TEXTS[dice.roll(TEXTS.len())](&mut call), &mut dice);
        }
        if text != alias || call != pending() {
            mutants += 1;
            assert_eq!(signer.token_for(&text, &call), None, "{text} for {call:?}");
        }
    }
}
