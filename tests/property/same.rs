//! Whether a tool got what was sent.

use serde_json::Value;

/// What a schema says that matters for comparing.
pub(crate) struct Known {
    /// Every default, at any depth.
    defaults: Vec<Value>,
    /// Every property that has a name, at any depth; of a choice of shapes each has its own, so that none is known.
    names: Vec<String>,
    choice: bool,
}

impl Known {
    /// Gathers both.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut known = Self { defaults: Vec::new(), names: Vec::new(), choice: false };
        known.gather(schema);
        // The one parameter of most tools; a member of that name may as well be an unknown one inside.
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

/// Whether the answer is what was sent: numbers by value, absent members as their default or as nothing, and members
/// that nobody knows dropped.
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
            sent.len() == got.len() && sent.iter().zip(got).all(|(sent, got)| same(sent, got, known))
        }
        (Value::Object(sent), Value::Object(got)) => {
            let arrived = got.iter().all(|(name, got)| match sent.get(name) {
                Some(sent) => same(sent, got, known),
                None => got.is_null() || known.defaults.iter().any(|default| same(default, got, known)),
            });
            arrived
                && sent.keys().all(|name| got.contains_key(name) || sent[name].is_null() || !known.names.contains(name))
        }
        _ => sent == got,
    }
}
