//! Arguments that are nearly equal, by the hundred thousand: no two of them pass for one, and no two spellings of one
//! pass for two.

use crate::arguments::fingerprint::Fingerprint;
use crate::arguments::tests::equality::mutate::mutate;
use crate::arguments::tests::equality::spelled::{Dice, object, other, plain};
use crate::call::context;
use crate::tool::definition::CompiledDefinition;
use crate::tool::definition::ToolDefinition;
use crate::tool::function::FunctionTool;
use crate::tool::raw::RawTool;
use serde_json::{Value, json};

/// `just fuzz` asks for a million.
fn pairs() -> usize {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse::<usize>().ok());
    let few = if cfg!(debug_assertions) {
        100_000
    } else {
        500_000
    };
    cases.map_or(few, |cases| few.max(cases.saturating_mul(50)))
}

pub(crate) fn untyped() -> ToolDefinition {
    let declared = RawTool {
        name: "t".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    FunctionTool::raw(
        declared,
        async |arguments: Value, _: &context::RunContext| Ok(arguments),
    )
    .definition()
    .clone()
}

struct Prints {
    fast: u64,
    text: String,
    /// Slow without optimisation, and made of the text alone: not asked of all.
    digest: Option<String>,
}

fn prints(definition: &CompiledDefinition, text: &str, with_digest: bool) -> Prints {
    let print = Fingerprint::of(definition.equality(), "t", text);
    let digest = with_digest.then(|| print.digest());
    Prints {
        fast: print.fast(),
        text: definition.equality().canonical_text(text),
        digest,
    }
}

#[track_caller]
fn assert_apart(a: &Prints, b: &Prints) {
    assert_ne!(a.text, b.text);
    assert!(
        a.digest.is_none() || a.digest != b.digest,
        "{} {}",
        a.text,
        b.text
    );
    assert_ne!(a.fast, b.fast, "{} {}", a.text, b.text);
}

#[track_caller]
fn assert_same(a: &Prints, b: &Prints) {
    assert_eq!(a.text, b.text);
    assert_eq!(a.digest, b.digest, "{}", a.text);
    assert_eq!(a.fast, b.fast, "{}", a.text);
}

// R-L3
#[test]
fn what_differs_in_one_place_differs_and_what_differs_in_spelling_does_not() {
    let tool = untyped();
    let mut dice = Dice::new(3);
    let mut apart = 0;
    let wanted = pairs();
    while apart < wanted {
        let first = object(&mut dice, 3);
        let text = plain(&first);
        let digests = !cfg!(debug_assertions) || dice.below(16) == 0;
        let known = prints(&tool.compiled, &text, digests);
        let again = other(&first, &mut dice);
        assert_same(&known, &prints(&tool.compiled, &again, digests));
        for _ in 0..4 {
            let mut second = first.clone();
            if mutate(&mut second, &mut dice) {
                assert_apart(&known, &prints(&tool.compiled, &plain(&second), digests));
                apart += 1;
            }
        }
    }
}

// R-L3
#[test]
fn a_canonical_text_is_its_own_canonical_text() {
    let tool = untyped();
    let mut dice = Dice::new(4);
    for _ in 0..2000 {
        let value = object(&mut dice, 3);
        let text = other(&value, &mut dice);
        let once = tool.compiled.equality().canonical_text(&text);
        assert_eq!(tool.compiled.equality().canonical_text(&once), once);
        assert_same(
            &prints(&tool.compiled, &text, true),
            &prints(&tool.compiled, &once, true),
        );
    }
}

#[test]
fn any_text_at_all_has_a_fingerprint() {
    let tool = untyped();
    let mut dice = Dice::new(5);
    for _ in 0..20_000 {
        let mut bytes = plain(&object(&mut dice, 3)).into_bytes();
        for _ in 0..dice.below(4) {
            let place = dice.below(bytes.len());
            match dice.below(3) {
                0 => bytes.truncate(place),
                1 => {
                    _ = bytes.splice(
                        place..place,
                        *dice.pick(&[*b"\"", *b"\\", *b"[", *b"{", *b"}", *b"-", *b"\0"]),
                    );
                }
                _ => _ = bytes.drain(..place),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let print = Fingerprint::of(tool.compiled.equality(), "t", &text);
        assert_eq!(print.fast(), print.fast());
        assert_eq!(print.digest().len(), 64);
    }
    for part in ["[", "{\"a\":", "\\", "\"", "-", "1", "{\"\":[{}"] {
        for length in [1, 127, 300, 100_000] {
            Fingerprint::of(
                tool.compiled.equality(),
                "t",
                &format!("{{\"a\":{}", part.repeat(length)),
            )
            .fast();
        }
    }
}
