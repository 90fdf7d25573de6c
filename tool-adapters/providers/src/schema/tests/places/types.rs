//! Sets of types.

use crate::schema::rules::TypeSet;
use serde_json::json;

#[test]
fn a_number_may_be_an_integer_and_not_the_other_way() {
    assert!(
        TypeSet::NUMBER.contains(TypeSet::INTEGER) && !TypeSet::INTEGER.contains(TypeSet::NUMBER)
    );
    assert_eq!(
        TypeSet::of_keyword(&json!(["number", "integer"])),
        Some(TypeSet::NUMBER)
    );
    assert_eq!(TypeSet::of_value(&json!(1.0)), TypeSet::INTEGER);
    assert!(!TypeSet::INTEGER.intersects(TypeSet::of_value(&json!(1.5))));
}

#[test]
fn a_set_is_written_as_the_type_keyword_reads_it() {
    assert_eq!(
        TypeSet::STRING.union(TypeSet::NULL).to_keyword(),
        Some(json!(["string", "null"]))
    );
    assert_eq!(TypeSet::INTEGER.to_keyword(), Some(json!("integer")));
    assert_eq!(TypeSet::ALL.to_keyword(), None);
    assert_eq!(TypeSet::of_keyword(&json!("dict")), None);
    assert_eq!(TypeSet::ALL.difference(TypeSet::NULL).each().count(), 5);
}
