//! Comparison of the arguments that were sent with those that a tool received.

use serde_json::Value;

/// The parts of a schema that the comparison needs.
pub(crate) struct Known {
    /// Every default, at any depth.
    defaults: Vec<Value>,
    /// Every property name, at any depth. A choice of shapes has no common names.
    names: Vec<String>,
    choice: bool,
}

impl Known {
    /// Collects both.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut known = Self {
            defaults: Vec::new(),
            names: Vec::new(),
            choice: false,
        };
        known.gather(schema);
        // Most tools have this one parameter. A nested member of that name may be unknown.
        known.names.retain(|name| name != "value" && !known.choice);
        known
    }

    fn gather(&mut self, schema: &Value) {
        match schema {
            Value::Object(map) => {
                self.choice |= map.contains_key("oneOf") || map.contains_key("anyOf");
                self.defaults.extend(map.get("default").cloned());
                if let Some(named) = map.get("properties").and_then(Value::as_object) {
                    self.names.extend(named.keys().cloned());
                }
                map.values().for_each(|inner| self.gather(inner));
            }
            Value::Array(list) => list.iter().for_each(|inner| self.gather(inner)),
            _ => {}
        }
    }
}

/// Returns whether the answer equals the sent value: numbers by value, absent members as their default or null, and
/// unknown members dropped.
pub(crate) fn same(sent: &Value, got: &Value, known: &Known) -> bool {
    match (sent, got) {
        (Value::Number(sent), Value::Number(got)) => {
            let float = |number: &serde_json::Number| number.as_f64().unwrap_or(f64::NAN);
            let whole = |number: &serde_json::Number| number.as_i128();
            match (whole(sent), whole(got)) {
                (Some(sent), Some(got)) => sent == got,
                _ => (float(sent) - float(got)).abs() <= float(sent).abs() * 1e-15,
            }
        }
        (Value::Array(sent), Value::Array(got)) => {
            sent.len() == got.len()
                && sent
                    .iter()
                    .zip(got)
                    .all(|(sent, got)| same(sent, got, known))
        }
        (Value::Object(sent), Value::Object(got)) => {
            let arrived = got.iter().all(|(name, got)| match sent.get(name) {
                Some(sent) => same(sent, got, known),
                None => {
                    got.is_null()
                        || known
                            .defaults
                            .iter()
                            .any(|default| same(default, got, known))
                }
            });
            arrived
                && sent.keys().all(|name| {
                    got.contains_key(name) || sent[name].is_null() || !known.names.contains(name)
                })
        }
        _ => sent == got,
    }
}
