//! Results that hold nothing.

use crate::json::decoder::Decoder;
use crate::session::pipeline::empty::{is_empty, is_empty_object};
use serde_json::json;

#[track_caller]
fn all(expected: bool, texts: &[&str]) {
    for text in texts {
        assert_eq!(is_empty(text), expected, "{text}");
    }
}

// R-L2
#[test]
fn null_blank_text_and_empty_collections_are_empty() {
    all(
        true,
        &[
            "null",
            " null\n",
            "[]",
            "{}",
            "[ ]",
            "{\n}",
            "\"\"",
            "\"  \"",
            r#""\n\t \u00a0\u2003""#,
            "\"\u{3000}\"",
            "",
            " ",
        ],
    );
}

// R-L2
#[test]
fn any_other_value_is_not_empty() {
    all(
        false,
        &[
            "0",
            "false",
            "true",
            "1",
            "\"a\"",
            "\" a \"",
            "[null]",
            "[[]]",
            "[{}]",
            "[0]",
            r#""\\n""#,
            r#""\u0041""#,
            r#""\ud83d\ude00""#,
            r#""\b""#,
        ],
    );
}

// R-L2
#[test]
fn object_of_empty_collections_and_blank_members_is_empty() {
    all(
        true,
        &[
            r#"{"items":[]}"#,
            r#"{"items":[],"groups":{}}"#,
            r#"{"items":[],"total":0,"next":null,"more":false,"note":" "}"#,
            r#"{ "total" : 0.0 , "items" : [ ] }"#,
            r#"{"a":-0,"b":0e5,"c":-0.00E+7,"d":{}}"#,
            r#"{"a\"]}":[]}"#,
            r#"{"\\":[]}"#,
        ],
    );
}

// R-L2
#[test]
fn object_with_content_is_not_empty() {
    all(
        false,
        &[
            r#"{"available":true,"conflicts":[]}"#,
            r#"{"items":[1]}"#,
            r#"{"items":[],"others":[null]}"#,
            r#"{"items":[],"nested":{"items":[]}}"#,
            r#"{"items":[],"total":1}"#,
            r#"{"items":[],"total":0.01}"#,
            r#"{"items":[],"total":10}"#,
            r#"{"items":[],"note":"none found"}"#,
            r#"{"[]":1}"#,
        ],
    );
}

// R-L2
#[test]
fn object_without_collections_is_not_empty() {
    all(
        false,
        &[
            r#"{"total":0}"#,
            r#"{"found":false,"value":null}"#,
            r#"{"note":""}"#,
        ],
    );
}

#[test]
fn invalid_json_is_not_empty() {
    all(
        false,
        &[
            "{",
            "[",
            "\"",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":[",
            "{\"a\":[]",
            "{\"a\":[],",
            "{\"a\":[],}",
            "nul",
            "[]]",
            "{}x",
            "\"\\u12",
            "{\"a\":}",
            "{\"a\\",
            "\"\\uéé\"",
        ],
    );
}

#[test]
fn long_result_is_decided_by_its_first_members() {
    let long = json!({"a": [], "items": vec!["text"; 1 << 20]}).to_string();
    let mut read = Decoder::new(&long);
    assert!(read.peek() == b'{' && !is_empty_object(&mut read).expect("JSON"));
    assert!(
        !is_empty(&long) && read.place() < 30,
        "{} bytes were read",
        read.place()
    );
}

#[test]
fn long_blank_texts_and_names_are_empty() {
    let blank = json!({"a": [], "text": " ".repeat(1 << 20), "none": vec![(); 0]}).to_string();
    assert!(is_empty(&blank));
    assert!(is_empty(&format!("{{\"{}\":[]}}", "\\\\".repeat(1 << 19))));
}
