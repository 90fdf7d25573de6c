//! Names, doc comments and token streams.

use quote::quote;
use syn::parse_quote;

use crate::docs::{self, Docs};
use crate::names::{camel_case, is_tool_name, nearest, normalised, snake_case};
use crate::tokens::{borrows, compact, with_static_lifetimes, without_self_type};

// L5
#[test]
fn tool_names_are_1_to_64_word_characters_and_begin_with_no_digit() {
    for good in ["a", "_", "get_weather", "Get-Weather9", &"x".repeat(64)] {
        assert!(is_tool_name(good), "{good}");
    }
    for bad in ["", "9a", "-a", "get weather", "größe", "a.b", "a/b", &"x".repeat(65)] {
        assert!(!is_tool_name(bad), "{bad}");
    }
}

// L5
#[test]
fn names_are_compared_in_lower_case_with_dashes_as_underscores() {
    assert_eq!(normalised("Get-It"), normalised("get_it"));
    assert_ne!(normalised("getit"), normalised("get_it"));
}

// L25
#[test]
fn argument_structs_are_named_in_camel_case() {
    assert_eq!(camel_case("create_event"), "CreateEvent");
    assert_eq!(camel_case("_get_2d__map"), "Get2dMap");
    assert_eq!(camel_case("getThing"), "GetThing");
}

#[test]
fn toolsets_are_named_in_snake_case() {
    assert_eq!(snake_case("GoogleCalendar"), "google_calendar");
    assert_eq!(snake_case("HTTPClient"), "http_client");
    assert_eq!(snake_case("Kb2Search"), "kb2_search");
    assert_eq!(snake_case("already_snake"), "already_snake");
}

#[test]
fn the_nearest_known_word_is_suggested_and_none_where_all_are_far() {
    let known = ["name", "title", "timeout", "modes"];
    assert_eq!(nearest("nam", &known), Some("name"));
    assert_eq!(nearest("Timeuot", &known), Some("timeout"));
    assert_eq!(nearest("time", &known), Some("timeout"));
    assert_eq!(nearest("blue", &known), None);
    assert_eq!(nearest("", &known), None);
}

fn read(lines: &[&str]) -> Docs {
    let attrs: Vec<syn::Attribute> = lines.iter().map(|line| parse_quote!(#[doc = #line])).collect();
    docs::read(&attrs)
}

// L2
#[test]
fn the_description_is_the_doc_text_without_its_sections() {
    let docs = read(&[
        " Add an event.",
        "",
        " It is added at once.",
        "",
        " # Arguments",
        "",
        " * `title` - Its title,",
        "   in plain text",
        " - start_time: When it starts",
        " + not an item",
        "",
        " # Returns",
        " The event.",
        "",
        " # Errors",
        " When it is busy.",
        " ## Also",
        " When it is late.",
        " # Notes",
        " Kept.",
    ]);
    assert_eq!(docs.description, "Add an event.\n\nIt is added at once.\n\n# Notes\nKept.");
    assert_eq!(docs.returns, "The event.");
    let arguments: Vec<_> = docs.arguments.iter().map(|item| (item.name.as_str(), item.text.as_str())).collect();
    assert_eq!(arguments, [("title", "Its title, in plain text"), ("start_time", "When it starts + not an item")]);
}

#[test]
fn headings_in_code_are_no_headings() {
    let docs = read(&[" Run.", " ```", " # Errors", " ```", " More."]);
    assert_eq!(docs.description, "Run.\n```\n# Errors\n```\nMore.");
}

#[test]
fn block_comments_lose_their_stars() {
    assert_eq!(read(&["\n * Add an event.\n *\n * At once.\n "]).description, "Add an event.\n\nAt once.");
}

#[test]
fn a_doc_made_by_a_macro_is_kept_as_an_expression() {
    let docs = docs::read(&[parse_quote!(#[doc = include_str!("a.md")])]);
    assert!(docs.made.is_some());
}

#[test]
fn other_attributes_after_the_docs_do_not_reset_them() {
    let docs = docs::read(&[parse_quote!(#[doc = " A."]), parse_quote!(#[inline]), parse_quote!(#[doc = " B."])]);
    assert_eq!(docs.description, "A.\nB.");
}

#[test]
fn borrowing_is_seen_in_the_tokens() {
    assert!(borrows(quote!(HashMap<&str, u8>)));
    assert!(borrows(quote!(Cow<'a, str>)));
    assert!(borrows(quote!(Vec<(u8, &T)>)));
    assert!(!borrows(quote!(Cow<'static, str>)));
    assert!(!borrows(quote!(HashMap<String, Vec<u8>>)));
}

#[test]
fn elided_lifetimes_become_static() {
    assert_eq!(
        compact(with_static_lifetimes(quote!(Result<&str, Cow<'_, [&'static u8]>>))),
        "Result<&'static str, Cow<'static, [&'static u8]>>"
    );
}

#[test]
fn self_becomes_the_type() {
    let ty = quote!(Store<T>);
    assert_eq!(
        compact(without_self_type(quote!(vec![Self::NONE, f::<Self>()]), &ty)),
        "vec![<Store<T>>::NONE, f::<Store<T>>()]"
    );
}
