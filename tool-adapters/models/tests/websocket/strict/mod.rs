//! Validators of the client's messages: a provider's end refuses what the documents of the real provider refuse.
//!
//! A validator sees both directions, because the calls and responses of the server decide what the client may send.

mod gemini;
mod realtime;

pub(crate) use gemini::{Conversations, StrictGemini};
pub(crate) use realtime::StrictRealtime;
use serde_json::{Map, Value};

/// The rule that a message breaks, or `Ok`.
pub(crate) type Verdict = Result<(), String>;

/// The validator of one connection.
pub(crate) enum Strict {
    Gemini(StrictGemini),
    Realtime(StrictRealtime),
}

impl Strict {
    /// Returns the validator of the provider that a URL names.
    pub(crate) fn of_url(path: &str, query: &str, conversations: &Conversations) -> Option<Self> {
        if path == "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent" {
            return Some(Self::Gemini(StrictGemini::new(conversations.clone())));
        }
        let model = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("model="))
            .filter(|_| path == "/realtime")?;
        Some(Self::Realtime(StrictRealtime::new(model)))
    }

    /// Returns the model that the client has named.
    pub(crate) fn model(&self) -> String {
        match self {
            Self::Gemini(gemini) => gemini.model(),
            Self::Realtime(realtime) => realtime.model.clone(),
        }
    }

    /// Records a message of the server.
    pub(crate) fn sent(&mut self, message: &Value) {
        match self {
            Self::Gemini(gemini) => gemini.sent(message),
            Self::Realtime(realtime) => realtime.sent(message),
        }
    }

    /// Checks a message of the client.
    ///
    /// # Panics
    ///
    /// Panics with the rule that the message breaks. The test fails.
    pub(crate) fn expect(&mut self, message: &Value) {
        let verdict = match self {
            Self::Gemini(gemini) => gemini.received(message),
            Self::Realtime(realtime) => realtime.received(message),
        };
        if let Err(rule) = verdict {
            panic!("the provider refuses a message: {rule}\n{message}");
        }
    }
}

/// The form of a JSON value.
pub(crate) enum Shape {
    Any,
    Text,
    Base64,
    Bool,
    Number,
    /// An object with any members.
    Map,
    OneOf(&'static [&'static str]),
    List(&'static Shape),
    /// An object with these members only.
    Object(&'static [Member]),
}

/// A member of an object: its name, if it is required, and its form.
pub(crate) struct Member(&'static str, bool, Shape);

const fn required(name: &'static str, shape: Shape) -> Member {
    Member(name, true, shape)
}

const fn optional(name: &'static str, shape: Shape) -> Member {
    Member(name, false, shape)
}

impl Shape {
    fn check(&self, place: &str, value: &Value) -> Verdict {
        let is_valid = match self {
            Self::Any => true,
            Self::Text => value.is_string(),
            Self::Base64 => value.as_str().is_some_and(is_base64),
            Self::Bool => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Map => value.is_object(),
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::List(shape) => {
                let items = value
                    .as_array()
                    .ok_or_else(|| format!("`{place}` is not a list"))?;
                return items
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, item)| shape.check(&format!("{place}[{at}]"), item));
            }
            Self::Object(members) => {
                let object = value
                    .as_object()
                    .ok_or_else(|| format!("`{place}` is not an object"))?;
                return check_members(place, object, members);
            }
        };
        if is_valid {
            Ok(())
        } else {
            Err(format!("`{place}` has an invalid value: {value}"))
        }
    }
}

fn check_members(place: &str, object: &Map<String, Value>, members: &[Member]) -> Verdict {
    for (name, value) in object {
        let Some(Member(.., shape)) = members.iter().find(|member| member.0 == name) else {
            return Err(format!("unknown field `{place}.{name}`"));
        };
        shape.check(&format!("{place}.{name}"), value)?;
    }
    match members
        .iter()
        .find(|Member(name, is_required, _)| *is_required && !object.contains_key(*name))
    {
        Some(Member(name, ..)) => Err(format!("missing field `{place}.{name}`")),
        None => Ok(()),
    }
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && digits.bytes().all(is_digit)
}

/// Returns `Ok` if a condition holds, and the rule otherwise.
fn rule(holds: bool, rule: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(rule.into()) }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Returns the items of a list, or none.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
