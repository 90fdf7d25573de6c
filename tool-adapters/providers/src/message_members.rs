//! The members of a message that comes in pieces, as the host sends them: what the protocol does
//! not know is kept, so that it can go back.

use serde_json::{Map, Value};

/// The texts that grow piece by piece, even if two pieces are equal.
const TEXTS: [&str; 8] = [
    "text",
    "content",
    "thinking",
    "reasoning",
    "reasoning_content",
    "summary",
    "data",
    "transcript",
];

/// The members by which two items of a list are one item in pieces.
const IDENTITIES: [&str; 3] = ["index", "id", "type"];

/// The member that ends a thought, in a piece of its own.
const SIGNATURE: &str = "signature";

/// The members of a message, put together from its pieces.
#[derive(Debug, Default)]
pub(crate) struct MessageMembers(Map<String, Value>);

impl MessageMembers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a piece of a member. A member of which nothing is known grows as those of Chat
    /// Completions do.
    pub(crate) fn add(&mut self, name: &str, piece: Value) {
        match self.0.get_mut(name) {
            Some(member) => join(name, member, piece),
            None => _ = self.0.insert(name.to_owned(), piece),
        }
    }

    /// Adds a whole member, unless pieces of it have come. Empty pieces do not count.
    pub(crate) fn add_missing(&mut self, name: &str, member: Value) {
        if self.0.get(name).is_none_or(is_empty) {
            self.0.insert(name.to_owned(), member);
        }
    }

    /// Adds a piece of a text.
    pub(crate) fn add_text(&mut self, name: &str, piece: &str) {
        match self.0.get_mut(name) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => _ = self.0.insert(name.to_owned(), piece.into()),
        }
    }

    /// Adds an item to a member that is a list, or a piece of its last item.
    pub(crate) fn add_item(&mut self, name: &str, item: Value) {
        self.add(name, Value::Array(vec![item]));
    }

    pub(crate) fn into_map(self) -> Map<String, Value> {
        self.0
    }
}

fn is_empty(member: &Value) -> bool {
    match member {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Joins a piece to the member that it belongs to: texts and lists grow, objects grow member by
/// member, and other values are replaced.
fn join(name: &str, member: &mut Value, piece: Value) {
    match (member, piece) {
        (Value::String(text), Value::String(piece)) => join_text(name, text, piece),
        (Value::Object(members), Value::Object(pieces)) => {
            for (name, piece) in pieces {
                match members.get_mut(&name) {
                    Some(member) => join(&name, member, piece),
                    None => _ = members.insert(name, piece),
                }
            }
        }
        (Value::Array(items), Value::Array(pieces)) => {
            for piece in pieces {
                join_item(items, piece);
            }
        }
        (_, Value::Null) => {}
        (member, piece) => *member = piece,
    }
}

fn join_text(name: &str, text: &mut String, piece: String) {
    // Kinds, ids and signatures come whole, and some hosts repeat them with each piece.
    if TEXTS.contains(&name) || *text != piece {
        if IDENTITIES.contains(&name) {
            *text = piece;
        } else {
            text.push_str(&piece);
        }
    }
}

/// Adds an item to a list, or joins it to the last one if it is a piece of the same item.
fn join_item(items: &mut Vec<Value>, piece: Value) {
    match items.last_mut().filter(|last| is_same_item(last, &piece)) {
        Some(last) => join("", last, piece),
        None => items.push(piece),
    }
}

fn is_same_item(item: &Value, piece: &Value) -> bool {
    let (Value::Object(item), Value::Object(piece)) = (item, piece) else {
        return false;
    };
    let agrees = |name: &&str| match (item.get(*name), piece.get(*name)) {
        (Some(ours), Some(theirs)) => ours == theirs,
        // An id may come with the first piece only.
        (Some(_), None) => *name == "id",
        (None, theirs) => theirs.is_none(),
    };
    // Citations and images of one type are whole items. So are items without an identity.
    let is_named = ["index", "id"]
        .iter()
        .any(|name| piece.get(*name).is_some_and(|value| !value.is_null()));
    let grows = piece.contains_key("type")
        && (piece.contains_key(SIGNATURE) || TEXTS.iter().any(|name| piece.contains_key(*name)));
    (is_named || grows) && IDENTITIES.iter().all(agrees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn joined(pieces: &[(&str, Value)]) -> Value {
        let mut members = MessageMembers::default();
        for (name, piece) in pieces {
            members.add(name, piece.clone());
        }
        Value::Object(members.into_map())
    }

    // M4
    #[test]
    fn a_text_grows_and_a_signature_stays() {
        let pieces = [
            ("reasoning_content", json!("ha")),
            ("reasoning_content", json!("ha")),
            ("signature", json!("c2ln")),
            ("signature", json!("c2ln")),
        ];
        assert_eq!(
            joined(&pieces),
            json!({"reasoning_content": "haha", "signature": "c2ln"})
        );
    }

    // M4
    #[test]
    fn pieces_of_an_item_are_one_item() {
        let text = |text: &str| json!([{"type": "reasoning.text", "index": 0, "text": text}]);
        let signature = json!([{"type": "reasoning.text", "index": 0, "signature": "c2ln"}]);
        let other = json!([{"type": "reasoning.encrypted", "index": 1, "data": "ZW5j"}]);
        let pieces =
            [text("I "), text("think"), signature, other].map(|piece| ("reasoning_details", piece));
        assert_eq!(joined(&pieces)["reasoning_details"], {
            json!([
                {"type": "reasoning.text", "index": 0, "text": "I think", "signature": "c2ln"},
                {"type": "reasoning.encrypted", "index": 1, "data": "ZW5j"},
            ])
        });
    }

    #[test]
    fn items_without_an_identity_stay_apart() {
        let pieces = [
            ("notes", json!([{"a": 1}])),
            ("notes", json!([{"a": 1}, 5])),
        ];
        assert_eq!(joined(&pieces), json!({"notes": [{"a": 1}, {"a": 1}, 5]}));
    }

    #[test]
    fn whole_items_of_one_type_stay_apart() {
        let citation = |url: &str| json!([{"type": "url_citation", "url_citation": {"url": url}}]);
        let pieces = ["https://a.example", "https://b.example"];
        let [one, other] = pieces.map(|url| citation(url)[0].clone());
        assert_eq!(
            joined(&pieces.map(|url| ("annotations", citation(url)))),
            json!({"annotations": [one, other]})
        );
    }

    // M4
    #[test]
    fn texts_of_one_type_are_one_text() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let pieces = [text("I "), text("think")].map(|piece| ("content", piece));
        assert_eq!(
            joined(&pieces),
            json!({"content": [{"type": "text", "text": "I think"}]})
        );
    }

    // M4
    #[test]
    fn a_signature_belongs_to_the_thought_before_it() {
        let thought = json!([{"type": "thinking", "thinking": "Hm."}]);
        let signature = json!([{"type": "thinking", "signature": "c2ln"}]);
        let pieces = [thought, signature].map(|piece| ("content", piece));
        assert_eq!(
            joined(&pieces),
            json!({"content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]})
        );
    }

    #[test]
    fn nested_members_grow_and_null_changes_nothing() {
        let pieces = [
            (
                "extra_content",
                json!({"google": {"thought_signature": "c2ln"}}),
            ),
            (
                "extra_content",
                json!({"google": {"thought_signature": "c2ln", "thought": true}}),
            ),
            ("extra_content", json!(null)),
        ];
        assert_eq!(
            joined(&pieces),
            json!({"extra_content": {"google": {"thought_signature": "c2ln", "thought": true}}})
        );
    }
}
