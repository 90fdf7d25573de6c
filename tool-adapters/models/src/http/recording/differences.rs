//! The differences between a recorded request and one that is sent.

use super::file::SentRequest;
use serde_json::Value;
use tool_core::text::{escape_invisible, truncate};

/// The number of differences that are counted.
const COUNTED: usize = 100;
/// The number of characters of a value that are shown.
const SHOWN: usize = 120;
/// The number of characters before the first one that differs.
const BEFORE: usize = 24;

/// A member of the body, by its JSON pointer, that may differ. `*` stands for any segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IgnoredPointer(Vec<String>);

impl IgnoredPointer {
    pub(crate) fn new(pointer: &str) -> Self {
        let unescaped = |segment: &str| segment.replace("~1", "/").replace("~0", "~");
        Self(pointer.split('/').skip(1).map(unescaped).collect())
    }

    fn is_at(&self, segments: &[String]) -> bool {
        let mut pairs = self.0.iter().zip(segments);
        self.0.len() == segments.len()
            && pairs.all(|(pattern, segment)| pattern == "*" || pattern == segment)
    }
}

/// The differences of two requests, in the order of the recorded one.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    pub(crate) first: Option<String>,
    pub(crate) count: usize,
}

impl Differences {
    /// Compares two requests.
    pub(crate) fn between(
        recorded: &SentRequest,
        sent: &SentRequest,
        ignored: &[IgnoredPointer],
    ) -> Self {
        let mut comparison = Comparison {
            ignored,
            segments: Vec::new(),
            found: Self::default(),
        };
        let parts = [
            ("the method", &recorded.method, &sent.method),
            ("the path", &recorded.path, &sent.path),
        ];
        for (part, recorded, sent) in parts {
            if recorded != sent {
                comparison
                    .found
                    .add(|| describe(part, &texts(recorded, sent)));
            }
        }
        comparison.value(&recorded.body, &sent.body);
        comparison.found
    }

    fn add(&mut self, describe: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(describe);
    }

    /// Describes the differences for a person.
    pub(crate) fn describe(&self) -> String {
        let first = self.first.as_deref().unwrap_or("nowhere");
        let more = match self.count {
            0 | 1 => return format!("it differs at {first}"),
            2 => "and at another place".to_owned(),
            COUNTED.. => "and at many other places".to_owned(),
            count => format!("and at {} other places", count - 1),
        };
        format!("it differs at {first}, {more}")
    }
}

struct Comparison<'a> {
    ignored: &'a [IgnoredPointer],
    segments: Vec<String>,
    found: Differences,
}

impl Comparison<'_> {
    /// Returns true if the host ignores differences at this place.
    fn is_ignored(&self) -> bool {
        self.ignored
            .iter()
            .any(|ignored| ignored.is_at(&self.segments))
    }

    /// Compares two values. The recursion is bounded by the depth of what was recorded.
    fn value(&mut self, recorded: &Value, sent: &Value) {
        if self.is_ignored() || self.found.count >= COUNTED {
            return;
        }
        match (recorded, sent) {
            (Value::Object(recorded), Value::Object(sent)) => {
                for (name, value) in recorded {
                    self.member(name, Some(value), sent.get(name));
                }
                for (name, value) in sent {
                    if !recorded.contains_key(name) {
                        self.member(name, None, Some(value));
                    }
                }
            }
            (Value::Array(recorded), Value::Array(sent)) => {
                for position in 0..recorded.len().max(sent.len()) {
                    let name = position.to_string();
                    self.member(&name, recorded.get(position), sent.get(position));
                }
            }
            _ if recorded == sent => {}
            _ => self.add(&values(recorded, sent)),
        }
    }

    fn member(&mut self, name: &str, recorded: Option<&Value>, sent: Option<&Value>) {
        self.segments.push(name.to_owned());
        match (recorded, sent) {
            (Some(recorded), Some(sent)) => self.value(recorded, sent),
            (recorded, sent) => {
                if !self.is_ignored() {
                    let shown = |value: Option<&Value>| {
                        value.map_or_else(
                            || "nothing".to_owned(),
                            |value| excerpt(&value.to_string(), 0),
                        )
                    };
                    self.add(&Shown {
                        recorded: shown(recorded),
                        sent: shown(sent),
                    });
                }
            }
        }
        self.segments.pop();
    }

    fn add(&mut self, shown: &Shown) {
        let segments = &self.segments;
        self.found
            .add(|| describe(&format!("`{}`", pointer(segments)), shown));
    }
}

/// Two values for a person.
struct Shown {
    recorded: String,
    sent: String,
}

fn describe(at: &str, shown: &Shown) -> String {
    let Shown { recorded, sent } = shown;
    format!("{at} (recorded {recorded}, sent {sent})")
}

fn pointer(segments: &[String]) -> String {
    let escaped = segments
        .iter()
        .map(|segment| format!("/{}", segment.replace('~', "~0").replace('/', "~1")));
    escape_invisible(&escaped.collect::<String>())
}

fn values(recorded: &Value, sent: &Value) -> Shown {
    match (recorded, sent) {
        (Value::String(recorded), Value::String(sent)) => texts(recorded, sent),
        _ => Shown {
            recorded: excerpt(&recorded.to_string(), 0),
            sent: excerpt(&sent.to_string(), 0),
        },
    }
}

/// Shows two texts from shortly before the first character that differs.
fn texts(recorded: &str, sent: &str) -> Shown {
    let same = recorded
        .chars()
        .zip(sent.chars())
        .take_while(|(recorded, sent)| recorded == sent)
        .count();
    let start = same.saturating_sub(BEFORE);
    let quoted = |text: &str| {
        let dots = if start > 0 { ".." } else { "" };
        format!("\"{dots}{}\"", excerpt(text, start))
    };
    Shown {
        recorded: quoted(recorded),
        sent: quoted(sent),
    }
}

fn excerpt(text: &str, start: usize) -> String {
    let rest = text.chars().skip(start).take(SHOWN + 1).collect::<String>();
    escape_invisible(&truncate(&rest, SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compared(recorded: Value, sent: Value, ignored: &[&str]) -> Differences {
        let request = |body| SentRequest {
            method: "POST".to_owned(),
            path: "/v1/chat".to_owned(),
            body,
        };
        let ignored = ignored.iter().map(|pointer| IgnoredPointer::new(pointer));
        let ignored = ignored.collect::<Vec<_>>();
        Differences::between(&request(recorded), &request(sent), &ignored)
    }

    // M33
    #[test]
    fn first_difference_is_shown_by_its_pointer() {
        let long = "The sun is up, and the birds sing. ".repeat(9);
        let found = compared(
            json!({"messages": [{"content": format!("{long}Hello")}], "a/b": 1}),
            json!({"messages": [{"content": format!("{long}Howdy")}], "a/b": 1}),
            &[],
        );
        assert_eq!(found.count, 1);
        assert_eq!(
            found.describe(),
            "it differs at `/messages/0/content` (recorded \"..up, and the birds sing. Hello\", sent \"..up, and the birds sing. Howdy\")"
                .replace("..up", "..p")
        );
    }

    // M33
    #[test]
    fn members_that_only_one_has_are_differences() {
        let found = compared(json!({"a/b": {"c": 1}}), json!({"a/b": {}, "d": [2]}), &[]);
        assert_eq!(
            found.describe(),
            "it differs at `/a~1b/c` (recorded 1, sent nothing), and at another place"
        );
        assert_eq!(compared(json!([1, 2]), json!([1]), &[]).count, 1);
        assert_eq!(compared(json!([1]), json!([1, 2]), &[]).count, 1);
    }

    // M33
    #[test]
    fn ignored_members_do_not_count() {
        let recorded = json!({"user": "ann", "messages": [{"id": 1, "text": "x"}, {"id": 2}]});
        let sent = json!({"messages": [{"id": 7, "text": "x"}, {"text": "y"}]});
        let found = compared(recorded.clone(), sent.clone(), &["/user", "/messages/*/id"]);
        assert_eq!(found.count, 1, "{found:?}");
        assert!(found.describe().contains("`/messages/1/text`"), "{found:?}");
        let found = compared(recorded, sent, &["/user", "/messages/*/id", "/messages/1"]);
        assert_eq!(found.count, 0, "{found:?}");
    }

    // M33
    #[test]
    fn order_of_members_is_no_difference() {
        let recorded = serde_json::from_str(r#"{"a": 1, "b": 2}"#).expect("JSON");
        let sent = serde_json::from_str(r#"{"b": 2, "a": 1}"#).expect("JSON");
        assert_eq!(compared(recorded, sent, &[]).count, 0);
    }
}
