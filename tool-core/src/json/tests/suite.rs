//! The grammar at large, in the manner of `JSONTestSuite`: what every reader of a text must take or refuse alike.

use crate::json::decoder::Decoder;
use crate::json::tests::decode;
use crate::json::value::parse;
use serde::de::IgnoredAny;
use serde_json::Value;

const TAKEN: &[&str] = &[
    "{\"a\":1, \"b\" :2,\t\"c\": 3,  \"d\"\n:\n4 , \"e\":5}",
    "[]",
    "{}",
    " [ ] ",
    "[null]",
    "[true,false]",
    "[\"\"]",
    "[[]]",
    "[[],[[]]]",
    "[{}]",
    "[0]",
    "[-0]",
    "[0e1]",
    "[0e+1]",
    "[1E22]",
    "[1E-2]",
    "[1e+2]",
    "[123.456e78]",
    "[0.4e006]",
    "[-1]",
    "[-123]",
    "[20e1]",
    "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]",
    "[1,null,null,2]",
    "{\"a\":[]}",
    "{\"\":0}",
    "{\"a\":\"b\",\"c\":\"d\"}",
    "{\"foo\\u0000bar\":42}",
    "{\"min\":-1.0e+28,\"max\":1.0e+28}",
    "{\"a\":{\"b\":{\"c\":[]}}}",
    "{\n\"a\": \"b\"\n}",
    "[\"\\u0060\\u012a\\u12AB\"]",
    "[\"\\uD801\\udc37\"]",
    "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
    "[\"\\\\u0000\"]",
    "[\"a/*b*/c/*d//e\"]",
    "[\"\\\\a\"]",
    "[\"\\uFFFF\"]",
    "[\"\u{10ffff}\"]",
    "[\"\u{2028}\u{2029}\"]",
    "[\"\u{7f}\"]",
    "[\"\\u0000\"]",
    "[\"π\"]",
    "\" \"",
    "\"\"",
    "42",
    "-0.1",
    "true",
    "false",
    "null",
    "[\"a\"]\n",
    "\t[1]\r\n",
    "[2] ",
    "[100000000000000000000000]",
    "[1e-999]",
    "[\"\\uD834\\uDd1e\"]",
    "[\"[]{}:,\"]",
];

const REFUSED: &[&str] = &[
    "{\"a\":1,x\"b\":2}",
    "{\"a\":1,xx\"b\":2}",
    "{\"a\":1,  ,\"b\":2}",
    "{\"a\":1, }",
    "{ ,\"a\":1}",
    "",
    " ",
    "[",
    "]",
    "{",
    "}",
    "[1 true]",
    "[\"\": 1]",
    "[\"\"],",
    "[,1]",
    "[1,,2]",
    "[\"x\"]]",
    "[\"\",]",
    "[\"x\"",
    "[x",
    "[3[4]]",
    "[1:2]",
    "[,]",
    "[-]",
    "[   , \"\"]",
    "[1,",
    "[1,]",
    "[1,,]",
    "[\"\",,]",
    "[*]",
    "[{}",
    "[fals]",
    "[nul]",
    "[tru]",
    "[++1234]",
    "[+1]",
    "[+Inf]",
    "[-01]",
    "[-1.0.]",
    "[-2.]",
    "[-NaN]",
    "[.-1]",
    "[.2e-3]",
    "[0.1.2]",
    "[0.3e+]",
    "[0.3e]",
    "[0.e1]",
    "[0E+]",
    "[0E]",
    "[1.0e+]",
    "[1.0e-]",
    "[1.0e]",
    "[1 000.0]",
    "[1eE2]",
    "[2.e+3]",
    "[2.e-3]",
    "[2.e3]",
    "[9.e+]",
    "[Inf]",
    "[NaN]",
    "[\u{ff11}]",
    "[1+2]",
    "[0x1]",
    "[0x42]",
    "[Infinity]",
    "[0e+-1]",
    "[-123.123foo]",
    "[-Infinity]",
    "[-foo]",
    "[- 1]",
    "[-012]",
    "[-.123]",
    "[-1x]",
    "[1ea]",
    "[1.]",
    "[1.8011670033376514H-308]",
    "[1.2a-3]",
    "[.123]",
    "[012]",
    "[\"x\", truth]",
    "{[: \"x\"}\n",
    "{\"x\", null}",
    "{\"x\"::\"b\"}",
    "{\"a\":\"a\" 123}",
    "{key: 'value'}",
    "{\"a\" b}",
    "{:\"b\"}",
    "{\"a\" \"b\"}",
    "{\"a\":",
    "{\"a\"",
    "{1:1}",
    "{9999E9999:1}",
    "{null:null,null:null}",
    "{\"id\":0,,,,,}",
    "{'a':0}",
    "{\"id\":0,}",
    "{\"a\":\"b\"}/**/",
    "{\"a\":\"b\"}//",
    "{\"a\":/*comment*/\"b\"}",
    "{\"a\":\"b\",,\"c\":\"d\"}",
    "{a: \"b\"}",
    "{\"a\":\"a",
    "{ \"foo\" : \"bar\", \"a\" }",
    "{\"a\":\"b\"}#",
    "[\"\\uD800\\\"]",
    "[\"\\uD800\\u\"]",
    "[\"\\uD800\\u1\"]",
    "[\"\\uD800\\u1x\"]",
    "[é]",
    "[\"\\x00\"]",
    "[\"\\\\\\\"]",
    "[\"\\\t\"]",
    "[\"\\🌀\"]",
    "[\"\\\"]",
    "[\"\\u00A\"]",
    "[\"\\uD834\\uDd\"]",
    "[\"\\a\"]",
    "[\"\\uqqqq\"]",
    "[\\u0020\"asd\"]",
    "[\\n]",
    "\"",
    "['single']",
    "abc",
    "[\"\\",
    "[\"a\0a\"]",
    "[\"new\nline\"]",
    "[\"\t\"]",
    "\"\\UA66D\"",
    "<.>",
    "[<null>]",
    "[1]x",
    "[1]]",
    "[True]",
    "1]",
    "{\"x\": true,",
    "[][]",
    "2@",
    "{}}",
    "{\"\":",
    "{\"a\":/*comment*/\"b\"",
    "{\"a\": true} \"x\"",
    "[\u{c}]",
    "[\u{2060}]",
    "\u{feff}",
    "\u{feff}{}",
    "[\"asd]",
    "aå",
    "{,",
    "{\"a\"",
    "[\u{a0}1]",
    "é",
    "*",
    "{\"a\":1 \u{b}}",
    "[\"\\uDFAA\"]",
    "[\"\\uD888\\u1234\"]",
    "[\"\\uDd1e\\uD834\"]",
    "[1e9999]",
    "[-1e+9999]",
    "{\"a\":\"b\",\"a\":\"c\",}",
];

#[test]
fn every_sound_text_is_taken_by_every_reader_alike() {
    for text in TAKEN {
        let value = decode::<Value>(text);
        assert_eq!(
            value.as_ref().ok(),
            serde_json::from_str::<Value>(text).as_ref().ok(),
            "{text}"
        );
        assert!(value.is_ok(), "{text}");
        assert!(decode::<IgnoredAny>(text).is_ok(), "{text}");
        assert_eq!(Decoder::new(text).raw().ok(), Some(text.trim()), "{text}");
        assert_eq!(
            parse(text).ok().map(|parsed| parsed.value),
            value.ok(),
            "{text}"
        );
    }
}

#[test]
fn every_broken_text_is_refused_by_every_reader_alike() {
    for text in REFUSED {
        assert!(decode::<Value>(text).is_err(), "{text}");
        assert!(decode::<IgnoredAny>(text).is_err(), "{text}");
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn no_cut_of_a_sound_text_is_taken_or_panics() {
    for text in TAKEN
        .iter()
        .filter(|text| text.starts_with(['[', '{', '"']))
    {
        let sound = text.trim_end();
        for (end, _) in sound.char_indices() {
            let cut = sound.get(..end).unwrap_or_default();
            assert!(
                decode::<Value>(cut).is_err()
                    && decode::<IgnoredAny>(cut).is_err()
                    && parse(cut).is_err(),
                "{cut}"
            );
        }
    }
}
