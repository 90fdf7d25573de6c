//! The ids of requests, which are texts or numbers.

use crate::protocol::codec::Out;
use crate::protocol::ids::Wire;
use serde_json::Value;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Known {
    /// By our id.
    ids: HashMap<String, Value>,
}

impl Known {
    /// Our id for a request: its own, as a text.
    pub(super) fn assign(&mut self, id: &Value, name: &str, out: &mut Out<'_>) -> String {
        let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let kind = if id.is_string() { "text" } else { "number" };
        let wire = Wire { id: text.clone(), name: name.to_owned(), kind };
        let ours = match out.ids.wire(&text) {
            // `1` and `"1"` are two ids: that the second gets another text is no error.
            Some(before) if before.kind != kind => out.ids.assign(wire).0,
            _ => out.assign(wire),
        };
        self.ids.insert(ours.clone(), id.clone());
        ours
    }

    /// Our id of a request.
    pub(super) fn ours(&self, id: &Value) -> Option<String> {
        let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let own = Some(text).filter(|text| self.ids.get(text) == Some(id));
        own.or_else(|| self.ids.iter().find(|(_, known)| *known == id).map(|(ours, _)| ours.clone()))
    }

    /// The id to answer under: the request's, or ours where there was none.
    pub(super) fn wire(&self, ours: &str) -> Value {
        self.ids.get(ours).cloned().unwrap_or_else(|| ours.into())
    }
}
