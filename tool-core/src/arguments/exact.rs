//! Arguments written out again, with every digit that they came with.

use crate::pointer::child;
use serde_json::Value;

/// Compact JSON of the value, in which the numbers at these pointers stand as they were spelled: a value holds a whole
/// number of more than 64 bits as a float, and a parameter of 128 bits wants it whole.
pub(super) fn text(value: &Value, spelled: &[(String, String)]) -> String {
    if spelled.is_empty() {
        return value.to_string();
    }
    let mut out = String::new();
    write(value, "", spelled, &mut out);
    out
}

/// Recursion is bounded by the depth that arguments may have.
fn write(value: &Value, pointer: &str, spelled: &[(String, String)], out: &mut String) {
    match value {
        Value::Number(number) => match spelled.iter().find(|(place, _)| place == pointer) {
            Some((_, digits)) => out.push_str(digits),
            None => out.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                write(item, &format!("{pointer}/{position}"), spelled, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (position, (name, member)) in members.iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(member, &child(pointer, name), spelled, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
