//! Where the schemas inside a schema stand.
//!
//! Everything here follows keywords, never names: a property may be called `title` or `$ref`, and a default may look
//! like a schema.

use super::{is_schema, join};
use serde_json::{Map, Value};
use tool_core::__shared::{LIST, NAMED, ONE};

/// Shows `visit` every schema that stands directly under `schema`, with its keyword, its name where the keyword holds
/// schemas by name, and its pointer.
pub(crate) fn for_each_child<'a>(schema: &'a Map<String, Value>, pointer: &str, visit: &mut dyn FnMut(Child<'a>)) {
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        if ONE.contains(&keyword) && is_schema(value) {
            visit(Child { keyword, name: None, schema: value, pointer: join(pointer, keyword) });
        } else if LIST.contains(&keyword) {
            let under = join(pointer, keyword);
            for (at, child) in value.as_array().into_iter().flatten().enumerate().filter(|(_, child)| is_schema(child))
            {
                visit(Child { keyword, name: None, schema: child, pointer: join(&under, &at.to_string()) });
            }
        } else if NAMED.contains(&keyword) {
            let under = join(pointer, keyword);
            for (name, child) in value.as_object().into_iter().flatten().filter(|(_, child)| is_schema(child)) {
                visit(Child { keyword, name: Some(name), schema: child, pointer: join(&under, name) });
            }
        }
    }
}

/// A schema that stands directly under another.
#[derive(Debug)]
pub(crate) struct Child<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) name: Option<&'a str>,
    pub(crate) schema: &'a Value,
    pub(crate) pointer: String,
}

/// Whether the keyword says nothing about which values are accepted. Of what other people write, too.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    tool_core::__shared::is_annotation(keyword) || matches!(keyword, "example" | "$dynamicAnchor" | "$vocabulary")
}
