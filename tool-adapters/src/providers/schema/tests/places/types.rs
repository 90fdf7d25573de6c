//! Sets of types.

use crate::providers::schema::types::Types;
use serde_json::json;

#[test]
fn a_number_may_be_an_integer_and_not_the_other_way() {
    assert!(Types::NUMBER.contains(Types::INTEGER) && !Types::INTEGER.contains(Types::NUMBER));
    assert_eq!(Types::of_keyword(&json!(["number", "integer"])), Some(Types::NUMBER));
    assert_eq!(Types::of_value(&json!(1.0)), Types::INTEGER);
    assert!(!Types::INTEGER.meets(Types::of_value(&json!(1.5))));
}

#[test]
fn a_set_is_written_as_the_type_keyword_reads_it() {
    assert_eq!((Types::STRING | Types::NULL).to_keyword(), Some(json!(["string", "null"])));
    assert_eq!(Types::INTEGER.to_keyword(), Some(json!("integer")));
    assert_eq!(Types::ALL.to_keyword(), None);
    assert_eq!(Types::of_keyword(&json!("dict")), None);
    assert_eq!(Types::ALL.without(Types::NULL).each().count(), 5);
}
