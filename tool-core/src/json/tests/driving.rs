//! The parts that generated argument structs drive without a visitor.

use crate::json::decoder::Decoder;
use crate::json::error::Error;
use serde::Deserialize;

/// Reads `{"n": integer, ...}` as generated code does, keeping the text of other values.
fn drive(text: &str) -> Result<(Option<u32>, Vec<&str>), Error> {
    let mut decoder = Decoder::new(text);
    let mut number = None;
    let mut others = Vec::new();
    let mut first = true;
    decoder.begin_object()?;
    while let Some(key) = decoder.next_key(first)? {
        first = false;
        match &*key {
            "n" if decoder.take_null()? => number = None,
            "n" => number = Some(u32::deserialize(&mut decoder).map_err(|error| error.under("n"))?),
            _ => others.push(decoder.raw()?),
        }
    }
    decoder.end()?;
    Ok((number, others))
}

#[test]
fn an_object_can_be_driven_without_a_visitor() {
    assert_eq!(
        drive(" { \"n\" : 5 , \"x\" : [1, {\"a\": 2}] } ").ok(),
        Some((Some(5), vec!["[1, {\"a\": 2}]"]))
    );
    assert_eq!(drive("{}").ok(), Some((None, vec![])));
    assert_eq!(drive("{\"n\":null}").ok(), Some((None, vec![])));
}

#[test]
fn a_root_that_is_no_object_is_refused_by_its_kind() {
    let message = |text| drive(text).err().map(|error| error.message().to_owned());
    assert_eq!(
        message("[]").as_deref(),
        Some("invalid type: sequence, expected an object")
    );
    assert_eq!(
        message("null").as_deref(),
        Some("invalid type: null, expected an object")
    );
    assert_eq!(message("").as_deref(), Some("unexpected end of the text"));
}

#[test]
fn broken_punctuation_of_a_driven_object_is_refused() {
    for text in [
        "{,}",
        "{\"n\":1,}",
        "{\"n\" 1}",
        "{\"n\":1 \"m\":2}",
        "{\"n\":1,,\"m\":2}",
        "{\"n\":1]",
        "{\"n\"",
        "{",
        "{\"n\":}",
        "{} x",
    ] {
        assert!(drive(text).is_err(), "{text}");
    }
}

#[test]
fn a_raw_value_is_checked_as_strictly_as_a_read_one() {
    for text in [
        "[1,]",
        "{\"a\":1,\"a\":2}",
        "\"\\ud800\"",
        "01",
        "1e400",
        "[1 2]",
        "tru",
        "/**/1",
        "\"\u{1}\"",
        "nul",
    ] {
        assert!(Decoder::new(text).raw().is_err(), "{text}");
    }
}

#[test]
fn a_raw_value_is_its_text_without_the_space_around_it() {
    let mut decoder = Decoder::new(" \n\"ä\\n\"  ");
    assert_eq!(decoder.raw().ok(), Some("\"ä\\n\""));
    assert!(decoder.end().is_ok());
}

#[test]
fn take_null_leaves_other_values_alone() {
    let mut decoder = Decoder::new(" 7");
    assert!(matches!(decoder.take_null(), Ok(false)));
    assert!(matches!(u8::deserialize(&mut decoder), Ok(7)));
    assert!(Decoder::new("nope").take_null().is_err());
}
