//! Settings laid over the body of a request whose settings are nested.

use super::Request;
use serde_json::{Map, Value};

/// The body with what the declarations and then what the caller says in the provider's own words. Objects are merged,
/// member by member: what comes later wins.
pub(super) fn merged(mut body: Map<String, Value>, request: &Request<'_>) -> Value {
    merge(&mut body, request.declarations.settings());
    merge(&mut body, request.extra);
    Value::Object(body)
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}
