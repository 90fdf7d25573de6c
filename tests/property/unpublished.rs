//! Names that a type accepts and its schema does not publish, such as aliases in nested types. Such names are
//! refused.

use crate::driver::{accepted, call, tools};

fn takes(tool: &str, text: &str) -> bool {
    let response = call(&tools().strict, tool, text);
    accepted(&response).expect("a typed answer")
}

const SPANS: &str = r#"{"value":{"start":{"from":1,"to":2},"span":{"from":1,"to":2,"until":3}}}"#;

// V1
#[test]
fn unpublished_names_of_nested_fields_and_variants_are_refused() {
    let cases = [
        (
            "aliased",
            r#"{"value":{"name":"a"}}"#,
            r#"{"value":{"nick":"a"}}"#,
        ),
        (
            "aliased_list",
            r#"{"value":[{"name":"a"},{"name":"b"}]}"#,
            r#"{"value":[{"name":"a"},{"handle":"b"}]}"#,
        ),
        (
            "aliased_variants",
            r#"{"value":"Low"}"#,
            r#"{"value":"lo"}"#,
        ),
        (
            "opens",
            r#"{"value":["Known","Other"]}"#,
            r#"{"value":["Known","Unknown"]}"#,
        ),
        (
            "map_by_aliased",
            r#"{"value":{"Low":1}}"#,
            r#"{"value":{"small":1}}"#,
        ),
        (
            "flattened_aliased",
            r#"{"value":{"title":"","place":"","name":"a"}}"#,
            r#"{"value":{"title":"","where":"","name":"a"}}"#,
        ),
        (
            "flattened_aliased",
            r#"{"value":{"title":"","place":"","name":"a"}}"#,
            r#"{"value":{"title":"","place":"","nick":"a"}}"#,
        ),
        (
            "flattened_names",
            r#"{"query":"","start":1,"end":2}"#,
            r#"{"query":"","begin":1,"end":2}"#,
        ),
        ("tint", r#"{"value":"red"}"#, r#"{"value":"blue"}"#),
        (
            "alias_of_another_struct",
            SPANS,
            &SPANS.replacen("to", "until", 1),
        ),
        (
            "alias_of_another_enum",
            r#"{"value":{"speed":"Low","pace":"Slow"}}"#,
            r#"{"value":{"speed":"Slow","pace":"Slow"}}"#,
        ),
        (
            "alias_beside_a_map",
            r#"{"value":{"titled":{"title":1,"name":""},"map":{"a":1}}}"#,
            r#"{"value":{"titled":{"title":1,"nick":""},"map":{"a":1}}}"#,
        ),
        (
            "caught_variants",
            r#"{"value":["Known","Rest"]}"#,
            r#"{"value":["Known","rest"]}"#,
        ),
        (
            "flattened_alias_of_another",
            r#"{"page":1}"#,
            r#"{"offset":1}"#,
        ),
        ("loose", r#"{"value":1}"#, r#"{"value":true}"#),
        (
            "loose_map",
            r#"{"value":{"a":null,"b":2}}"#,
            r#"{"value":{"a":null,"b":"two"}}"#,
        ),
        (
            "open",
            r#"{"value":{"id":1,"name":""}}"#,
            r#"{"value":{"name":""}}"#,
        ),
        (
            "open",
            r#"{"value":{"id":1,"name":""}}"#,
            r#"{"value":{"id":1,"name":"","more":1}}"#,
        ),
        (
            "one_of_large_integer",
            r#"{"value":9007199254740993}"#,
            r#"{"value":9007199254740992}"#,
        ),
        (
            "tints",
            r#"{"value":["red","green"]}"#,
            r#"{"value":["red","blue"]}"#,
        ),
    ];
    for (tool, published, unpublished) in cases {
        assert!(takes(tool, published), "{tool}: {published}");
        assert!(!takes(tool, unpublished), "{tool}: {unpublished}");
    }
}

// V1
#[test]
fn values_of_an_unpublished_type_are_refused() {
    let converted = |flag: &str, lines: &str, other: &str| {
        format!(
            r#"{{"value":{{"flag":{flag},"lines":{lines},"at":{{"x":1,"y":1}},"other":{other}}}}}"#
        )
    };
    let point = r#"{"x":1,"y":1}"#;
    assert!(!takes(
        "converted_fields",
        &converted("\"yes\"", "[]", point)
    ));
    assert!(!takes(
        "converted_fields",
        &converted("\"yes\"", "\"a\"", point)
    ));
    assert!(!takes(
        "converted_fields",
        &converted("\"yes\"", "[]", r#"{"x":1}"#)
    ));
    assert!(!takes("converted_parameter", r#"{"value":"yes"}"#));
    assert!(!takes(
        "one_of_large_float",
        r#"{"value":9007199254740992}"#
    ));
    assert!(!takes(
        "range_from_large_float",
        r#"{"value":9007199254740992.0}"#
    ));
}

// V6
#[test]
fn aliases_are_published_and_accepted() {
    assert!(takes("many_names", r#"{"place":"Berlin","days":2}"#));
    assert!(takes("many_names", r#"{"city":"Berlin","maxDays":2}"#));
    assert!(!takes("many_names", r#"{"city":"Berlin","town":"Berlin"}"#));
    assert!(!takes("many_names", r#"{"days":2}"#));
}
