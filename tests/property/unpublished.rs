//! Names that a type accepts and its schema does not publish, such as aliases in nested types. Such names are
//! refused.

use crate::driver::{accepted, call, tools};

fn takes(tool: &str, text: &str) -> bool {
    let response = call(&tools().strict, tool, text);
    accepted(&response).expect("a typed answer")
}

// V1
#[test]
fn unpublished_names_of_nested_fields_and_variants_are_refused() {
    let cases = [
        ("aliased", r#"{"value":{"name":"a"}}"#, r#"{"value":{"nick":"a"}}"#),
        ("aliased_list", r#"{"value":[{"name":"a"},{"name":"b"}]}"#, r#"{"value":[{"name":"a"},{"handle":"b"}]}"#),
        ("aliased_variants", r#"{"value":"Low"}"#, r#"{"value":"lo"}"#),
        ("opens", r#"{"value":["Known","Other"]}"#, r#"{"value":["Known","Unknown"]}"#),
        ("map_by_aliased", r#"{"value":{"Low":1}}"#, r#"{"value":{"small":1}}"#),
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
        ("flattened_names", r#"{"query":"","start":1,"end":2}"#, r#"{"query":"","begin":1,"end":2}"#),
        ("tint", r#"{"value":"red"}"#, r#"{"value":"blue"}"#),
        ("tints", r#"{"value":["red","green"]}"#, r#"{"value":["red","blue"]}"#),
    ];
    for (tool, published, unpublished) in cases {
        assert!(takes(tool, published), "{tool}: {published}");
        assert!(!takes(tool, unpublished), "{tool}: {unpublished}");
    }
}

// V6
#[test]
fn aliases_are_published_and_accepted() {
    assert!(takes("many_names", r#"{"place":"Berlin","days":2}"#));
    assert!(takes("many_names", r#"{"city":"Berlin","maxDays":2}"#));
    assert!(!takes("many_names", r#"{"city":"Berlin","town":"Berlin"}"#));
    assert!(!takes("many_names", r#"{"days":2}"#));
}
