//! The reading of a conversation from JSON. A stored text is not trusted: it is bounded, and every
//! problem has a place.

use crate::arguments::Problem;
use crate::call::tool_call_form::arguments_of;
use crate::call::{Content, ModelResult, ResultForm, ToolCall};
use crate::json::nested::{MAX_DEPTH, is_text_deeper};
use crate::json::pointer::Path;
use crate::json::raw::RawText;
use crate::json::scan::outside_strings;
use crate::session::history::History;
use crate::session::json_form::error::{FoundProblems, HistoryError};
use crate::session::json_form::limits::HistoryLimits;
use crate::session::json_form::object::RawObject;
use crate::session::json_form::write::VERSION;
use crate::session::message::Message;
use crate::session::raw_turn::RawTurn;
use crate::session::user_message::UserMessage;
use crate::tool::provider::ProviderId;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// # Reading
impl History {
    /// Reads a history from its JSON form, within the default [`HistoryLimits`]. The text is not
    /// trusted: its size and its depth are bounded.
    ///
    /// # Errors
    ///
    /// The text is no history, it has another version, or it exceeds a limit. The error lists every
    /// problem with its place.
    pub fn from_json(json: &str) -> Result<Self, HistoryError> {
        Self::from_json_within(json, HistoryLimits::default())
    }

    /// Reads a history from its JSON form, as [`from_json`](Self::from_json) does, within other
    /// limits.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json).
    pub fn from_json_within(json: &str, limits: HistoryLimits) -> Result<Self, HistoryError> {
        read(json, limits, HistoryReader::history)
    }
}

impl Message {
    /// Reads a message from the form that it has in a history, within the default [`HistoryLimits`].
    ///
    /// # Errors
    ///
    /// The text is no message, or it exceeds a limit. The error lists every problem with its place.
    pub fn from_json(json: &str) -> Result<Self, HistoryError> {
        read(json, HistoryLimits::default(), HistoryReader::message)
    }
}

impl<'de> Deserialize<'de> for History {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawText(json) = RawText::deserialize(deserializer)?;
        Self::from_json(&json).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawText(json) = RawText::deserialize(deserializer)?;
        Self::from_json(&json).map_err(D::Error::custom)
    }
}

/// A message is read from a text alone, too.
impl<'de> Deserialize<'de> for UserMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawText(json) = RawText::deserialize(deserializer)?;
        read(&json, HistoryLimits::default(), HistoryReader::content).map_err(D::Error::custom)
    }
}

/// Reads a text that fits into the limits.
fn read<T>(
    json: &str,
    limits: HistoryLimits,
    read: impl FnOnce(&mut HistoryReader, &RawValue, &Path<'_>) -> Option<T>,
) -> Result<T, HistoryError> {
    check_size(json, limits).map_err(HistoryError::of)?;
    let raw = serde_json::from_str::<&RawValue>(json).map_err(|error| {
        let problem = Problem::new("", "JSON", format!("another text: {error}"));
        HistoryError::of(problem)
    })?;
    let mut reader = HistoryReader {
        limits,
        problems: FoundProblems::default(),
    };
    let value = read(&mut reader, raw, &Path::ROOT);
    reader.problems.unless_any(value)
}

/// Checks the limits that hold for any text, before anything is made of it.
fn check_size(json: &str, limits: HistoryLimits) -> Result<(), Problem> {
    let at_most = |limit: usize, what: &str, got: String| {
        Problem::new("", format!("at most {limit} {what}"), got)
    };
    if json.len() > limits.bytes {
        return Err(at_most(limits.bytes, "bytes", json.len().to_string()));
    }
    if is_text_deeper(json, MAX_DEPTH) {
        return Err(Problem::too_deep(MAX_DEPTH));
    }
    // Every value but the first follows a comma or the beginning of what it is in.
    let values = outside_strings(json.as_bytes())
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
        .count();
    if values > limits.values {
        return Err(at_most(limits.values, "values", values.to_string()));
    }
    Ok(())
}

struct HistoryReader {
    limits: HistoryLimits,
    problems: FoundProblems,
}

impl HistoryReader {
    fn history(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<History> {
        let members = self.object(raw, at)?;
        self.version(&members, at)?;
        let form = match self.optional(&members, "resultForm", at) {
            Some(raw) => self.result_form(raw, &at.key("resultForm")),
            None => Some(ResultForm::Plain),
        };
        let messages = self.required(&members, "messages", at)?;
        let messages = self.messages(messages, &at.key("messages"))?;
        let removed = match self.optional(&members, "removedCalls", at) {
            Some(raw) => self.removed_calls(raw, &at.key("removedCalls")),
            None => Some(BTreeSet::new()),
        };
        let mut history = History::new().result_form(form?);
        history.extend(messages);
        history.set_removed_calls(removed?);
        Some(history)
    }

    /// Reads the version. Nothing else of another version is read.
    fn version(&mut self, members: &RawObject<'_>, at: &Path<'_>) -> Option<()> {
        let raw = self.required(members, "version", at)?;
        let version = serde_json::from_str::<u64>(raw.get()).ok();
        if version == Some(VERSION) {
            return Some(());
        }
        let expected = format!("version {VERSION}");
        let problem = Problem::new(at.key("version").pointer(), expected, got(raw));
        let is_newer = version.is_some_and(|version| version > VERSION);
        self.problems.add(if is_newer {
            problem.hint("a newer program has written it, so update this one")
        } else {
            problem
        });
        None
    }

    fn result_form(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<ResultForm> {
        let form = serde_json::from_str::<ResultForm>(raw.get()).ok();
        if form.is_none() {
            self.expected("`plain` or `envelope`", raw, at);
        }
        form
    }

    fn removed_calls(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<BTreeSet<String>> {
        let ids = serde_json::from_str(raw.get()).ok();
        if ids.is_none() {
            self.expected("a list of ids", raw, at);
        }
        ids
    }

    fn messages(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<Vec<Message>> {
        let items = self.list(raw, at)?;
        if items.len() > self.limits.messages {
            let expected = format!("at most {} messages", self.limits.messages);
            let problem = Problem::new(at.pointer(), expected, items.len().to_string());
            self.problems.add(problem);
            return None;
        }
        self.each(&items, at, Self::message)
    }

    fn message(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<Message> {
        let members = self.object(raw, at)?;
        let role = self.required(&members, "role", at)?;
        match serde_json::from_str::<String>(role.get()).as_deref() {
            Ok("user") => {
                let content = self.required(&members, "content", at)?;
                let content = self.content(content, &at.key("content"));
                content.map(Message::User)
            }
            Ok("assistant") => self.assistant(&members, at),
            Ok("tool") => self.result(&members, at),
            _ => {
                let expected = "one of `user`, `assistant` and `tool`";
                self.expected(expected, role, &at.key("role"));
                None
            }
        }
    }

    /// Reads the parts of a user's message, or its text alone.
    fn content(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<UserMessage> {
        if raw.get().starts_with('"') {
            return self.text(raw, at).map(UserMessage::new);
        }
        if !raw.get().starts_with('[') {
            self.expected("a text or a list of parts", raw, at);
            return None;
        }
        let items = self.list(raw, at)?;
        if items.len() > self.limits.parts {
            let expected = format!("at most {} parts", self.limits.parts);
            let problem = Problem::new(at.pointer(), expected, items.len().to_string());
            self.problems.add(problem);
            return None;
        }
        self.each(&items, at, Self::part).map(UserMessage::from)
    }

    fn part(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<Content> {
        self.typed(raw, "a part of a message", at)
    }

    fn assistant(&mut self, members: &RawObject<'_>, at: &Path<'_>) -> Option<Message> {
        let text = match self.optional(members, "text", at) {
            Some(raw) => self.text(raw, &at.key("text")).map(Some),
            None => Some(None),
        };
        let calls = match self.optional(members, "calls", at) {
            Some(raw) => self.calls(raw, &at.key("calls")),
            None => Some(Vec::new()),
        };
        let native = match self.optional(members, "native", at) {
            Some(raw) => self.native(raw, &at.key("native")).map(Some),
            None => Some(None),
        };
        Some(Message::Assistant {
            text: text?,
            calls: calls?,
            native: native?,
        })
    }

    fn calls(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<Vec<ToolCall>> {
        let items = self.list(raw, at)?;
        self.each(&items, at, Self::call)
    }

    fn call(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<ToolCall> {
        let members = self.object(raw, at)?;
        let id = self.text_member(&members, "id", at);
        let name = self.text_member(&members, "name", at);
        let arguments = self.required(&members, "arguments", at)?;
        let text = arguments_of(arguments.get().to_owned()).ok();
        if text.is_none() {
            self.expected("an object or a text", arguments, &at.key("arguments"));
        }
        Some(ToolCall::new(id?, name?, text?))
    }

    fn native(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<RawTurn> {
        let members = self.object(raw, at)?;
        let provider = self.text_member(&members, "provider", at);
        let items = self.required(&members, "items", at)?;
        let items = self.items(items, &at.key("items"));
        Some(RawTurn {
            provider: ProviderId::new(provider?),
            items: items?,
        })
    }

    fn items(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<Vec<Value>> {
        let items = self.list(raw, at)?;
        self.each(&items, at, |reader, raw, at| {
            reader.typed::<Value>(raw, "a JSON value", at)
        })
    }

    fn result(&mut self, members: &RawObject<'_>, at: &Path<'_>) -> Option<Message> {
        let call_id = self.text_member(members, "callId", at);
        let tool = self.text_member(members, "tool", at);
        let raw = self.required(members, "result", at)?;
        let result = self.typed::<ModelResult>(raw, "the result of a call", &at.key("result"));
        Some(Message::Result {
            call_id: call_id?,
            tool: tool?,
            result: result?,
        })
    }
}

/// # Values of any kind
impl HistoryReader {
    fn object<'a>(&mut self, raw: &'a RawValue, at: &Path<'_>) -> Option<RawObject<'a>> {
        let members = serde_json::from_str(raw.get()).ok();
        if members.is_none() {
            self.expected("an object", raw, at);
        }
        members
    }

    fn list<'a>(&mut self, raw: &'a RawValue, at: &Path<'_>) -> Option<Vec<&'a RawValue>> {
        let items = serde_json::from_str(raw.get()).ok();
        if items.is_none() {
            self.expected("a list", raw, at);
        }
        items
    }

    /// Reads every item, also those behind one with a problem.
    fn each<T>(
        &mut self,
        items: &[&RawValue],
        at: &Path<'_>,
        read: fn(&mut Self, &RawValue, &Path<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut all = Vec::with_capacity(items.len());
        for (index, raw) in items.iter().enumerate() {
            all.extend(read(self, raw, &at.index(index)));
        }
        (all.len() == items.len()).then_some(all)
    }

    fn text(&mut self, raw: &RawValue, at: &Path<'_>) -> Option<String> {
        let text = serde_json::from_str(raw.get()).ok();
        if text.is_none() {
            self.expected("a text", raw, at);
        }
        text
    }

    fn text_member(
        &mut self,
        members: &RawObject<'_>,
        name: &str,
        at: &Path<'_>,
    ) -> Option<String> {
        let raw = self.required(members, name, at)?;
        self.text(raw, &at.key(name))
    }

    /// Reads a value of a type that has a form of its own.
    fn typed<T: for<'de> Deserialize<'de>>(
        &mut self,
        raw: &RawValue,
        expected: &str,
        at: &Path<'_>,
    ) -> Option<T> {
        match serde_json::from_str(raw.get()) {
            Ok(value) => Some(value),
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.split(" at line ").next().unwrap_or_default();
                let problem = Problem::new(at.pointer(), expected, got(raw));
                self.problems.add(problem.hint(format!("namely {reason}")));
                None
            }
        }
    }

    /// Returns a member that may be absent. One that is `null` is absent, too.
    fn optional<'a>(
        &mut self,
        members: &RawObject<'a>,
        name: &str,
        at: &Path<'_>,
    ) -> Option<&'a RawValue> {
        let mut all = members.all(name);
        let first = all.next();
        if all.next().is_some() {
            let problem =
                Problem::new(at.key(name).pointer(), "one member of that name", "several");
            self.problems.add(problem);
        }
        first.filter(|raw| raw.get() != "null")
    }

    fn required<'a>(
        &mut self,
        members: &RawObject<'a>,
        name: &str,
        at: &Path<'_>,
    ) -> Option<&'a RawValue> {
        let value = self.optional(members, name, at);
        if value.is_none() {
            let problem = Problem::missing(at.key(name).pointer(), "a value");
            self.problems.add(problem);
        }
        value
    }

    fn expected(&mut self, expected: &str, raw: &RawValue, at: &Path<'_>) {
        let problem = Problem::new(at.pointer(), expected, got(raw));
        self.problems.add(problem);
    }
}

/// Names a value in a problem: a short one by itself, and another one by its kind.
fn got(raw: &RawValue) -> String {
    const MAX_SHOWN: usize = 64;
    let text = raw.get();
    if text.len() <= MAX_SHOWN {
        return text.to_owned();
    }
    let kind = match text.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        _ => "a number",
    };
    kind.to_owned()
}
