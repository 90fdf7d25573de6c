//! Which name was probably meant.

use crate::arguments::problem::nearest;

const KNOWN: [&str; 4] = ["title", "start_time", "duration_minutes", "end"];

#[test]
fn slips_of_the_pen_are_recognised() {
    assert_eq!(nearest("tilte", KNOWN), Some("title"));
    assert_eq!(nearest("titl", KNOWN), Some("title"));
    assert_eq!(nearest("TITLE", KNOWN), Some("title"));
    assert_eq!(nearest("startTime", KNOWN), Some("start_time"));
    assert_eq!(nearest("start-time", KNOWN), Some("start_time"));
}

#[test]
fn beginnings_and_ends_of_names_are_recognised() {
    assert_eq!(nearest("duration", KNOWN), Some("duration_minutes"));
    assert_eq!(nearest("event_title", KNOWN), Some("title"));
}

#[test]
fn other_words_are_not() {
    assert_eq!(nearest("banana", KNOWN), None);
    assert_eq!(nearest("x", KNOWN), None);
    assert_eq!(nearest("", KNOWN), None);
    assert_eq!(nearest("___", KNOWN), None);
}
