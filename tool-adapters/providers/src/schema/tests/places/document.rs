//! The targets of references.

use crate::schema::document::SchemaDocument;
use serde_json::{Value, json};

fn found(root: &Value, from: &str, reference: &str) -> Option<(String, Value)> {
    SchemaDocument::new(root)
        .resolve(from, reference)
        .map(|place| (place.pointer, place.schema.clone()))
}

#[test]
fn a_reference_is_a_pointer_from_the_root() {
    let root = json!({"$defs": {"a/b": {"type": "string"}, "c d": true}});
    assert_eq!(
        found(&root, "", "#/$defs/a~1b"),
        Some(("/$defs/a~1b".into(), json!({"type": "string"})))
    );
    assert_eq!(
        found(&root, "", "#/$defs/c%20d"),
        Some(("/$defs/c d".into(), json!(true)))
    );
    assert_eq!(found(&root, "/x", "#"), Some((String::new(), root.clone())));
}

#[test]
fn references_without_a_schema_in_the_document_are_unresolved() {
    let root = json!({"$defs": {"a": {"maximum": 3}}});
    let nowhere = [
        "#/$defs/b",
        "https://example.com/a.json",
        "a.json#/x",
        "#name",
        "#/$defs/a/maximum",
        "#/%zz",
    ];
    for reference in nowhere {
        assert_eq!(found(&root, "", reference), None, "{reference}");
    }
}

#[test]
fn an_anchor_is_found_and_a_property_called_anchor_is_not_one() {
    let root = json!({"properties": {"$anchor": {"const": "x"}, "a": {"$anchor": "here", "type": "null"}}});
    assert_eq!(
        found(&root, "", "#here").map(|(pointer, _)| pointer),
        Some("/properties/a".into())
    );
    assert_eq!(found(&root, "", "#x"), None);
}

#[test]
fn inside_a_schema_with_an_id_the_root_is_that_schema() {
    let inner = json!({"$id": "urn:inner", "$defs": {"t": {"type": "null"}}, "properties": {"x": {"$ref": "#/$defs/t"}}});
    let root = json!({"$defs": {"t": {"type": "string"}, "inner": inner}});
    let inside = found(&root, "/$defs/inner/properties/x", "#/$defs/t");
    assert_eq!(
        inside,
        Some(("/$defs/inner/$defs/t".into(), json!({"type": "null"})))
    );
    assert_eq!(
        found(&root, "/properties/y", "#/$defs/t").map(|(_, schema)| schema),
        Some(json!({"type": "string"}))
    );
    assert_eq!(
        found(&root, "", "urn:inner#/$defs/t").map(|(_, schema)| schema),
        Some(json!({"type": "null"}))
    );
}
