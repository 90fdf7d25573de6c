//! Further names of a parameter, published as properties of their own.

use super::{ParameterInput, Root};
use serde_json::{Value, json};

/// Publishes the aliases of a parameter whose property has the given schema.
pub(super) fn publish(root: &mut Root, parameter: &ParameterInput<'_>, schema: &Value, required: bool) {
    for alias in parameter.aliases {
        let mut same = if *schema == Value::Bool(true) { json!({}) } else { schema.clone() };
        if let Some(map) = same.as_object_mut() {
            // The default is the parameter's, and would otherwise be said twice.
            map.remove("default");
            map.remove("examples");
            map.insert("description".to_owned(), format!("alias of `{}`", parameter.name).into());
        }
        root.property(parameter.name, (*alias).to_owned(), same);
    }
    let names: Vec<&str> = std::iter::once(parameter.name).chain(parameter.aliases.iter().copied()).collect();
    if required {
        let any: Vec<Value> = names.iter().map(|name| json!({"required": [name]})).collect();
        root.rules.push(json!({"anyOf": any}));
    }
    // Two names of one parameter are the same key twice.
    for (position, first) in names.iter().enumerate() {
        for second in names.iter().skip(position + 1) {
            root.rules.push(json!({"not": {"required": [first, second]}}));
        }
    }
}
