//! Reading a document of settings: members by name and type, and every problem with its place.

use crate::gateway::value::{self, Expand};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt::Display;
use std::time::Duration;
use tool_core::text::escape_invisible;

/// The problems of a file, each with its place.
pub(crate) struct Problems {
    file: String,
    found: RefCell<Vec<String>>,
}

impl Problems {
    pub(crate) fn new(file: impl Into<String>) -> Self {
        Self { file: file.into(), found: RefCell::default() }
    }

    /// Adds a problem. The place is a path such as `limits.max_calls`; it is empty for the whole file.
    pub(crate) fn add(&self, place: &str, problem: impl Display) {
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        let text = format!("{}: {place}{problem}", self.file);
        self.found.borrow_mut().push(escape_invisible(&text));
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        self.found.into_inner()
    }
}

/// The members of a table that were not read yet.
pub(crate) struct Fields<'a> {
    members: Map<String, Value>,
    place: String,
    known: Vec<&'static str>,
    problems: &'a Problems,
    /// The variables that replace `${NAME}` in texts.
    expand: &'a Expand,
}

impl<'a> Fields<'a> {
    /// Reads a table. Any other value is a problem.
    pub(crate) fn new(value: Value, place: String, problems: &'a Problems, expand: &'a Expand) -> Option<Self> {
        match value {
            Value::Object(members) => Some(Self { members, place, known: Vec::new(), problems, expand }),
            other => {
                problems.add(&place, format_args!("expected a table, got {}", kind(&other)));
                None
            }
        }
    }

    pub(crate) fn place(&self, name: &str) -> String {
        if name.is_empty() { self.place.clone() } else { join(&self.place, name) }
    }

    pub(crate) fn problem(&self, name: &str, problem: impl Display) {
        self.problems.add(&self.place(name), problem);
    }

    /// Returns true if a member is there and was not read.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.members.remove(name).filter(|value| !value.is_null())
    }

    /// Reads a member by a function. A value for which it returns `None` is a problem.
    pub(crate) fn read<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.take(name)?;
        let found = read(&value);
        if found.is_none() {
            self.problem(name, format_args!("expected {expected}, got {}", kind(&value)));
        }
        found
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.read(name, "true or false", Value::as_bool)
    }

    /// Reads a whole number from 1 on.
    pub(crate) fn count(&mut self, name: &'static str) -> Option<u32> {
        let count =
            |value: &Value| value.as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        self.read(name, "a whole number from 1 on", count)
    }

    pub(crate) fn size(&mut self, name: &'static str) -> Option<usize> {
        self.read(name, "a size such as \"4MiB\", or a number of bytes", value::size)
    }

    pub(crate) fn duration(&mut self, name: &'static str) -> Option<Duration> {
        self.read(name, "a time such as \"800ms\", \"30s\" or \"10m\"", value::duration)
    }

    /// Reads a text in which variables are replaced.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        let text = self.read(name, "a text", |value| value.as_str().map(str::to_owned))?;
        self.expanded(name, &text)
    }

    /// Reads a text, or a list of texts.
    pub(crate) fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        let value = self.take(name)?;
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        let mut texts = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if let Some(text) = item.as_str() {
                texts.extend(self.expanded(name, text));
            } else {
                let place = format!("{name}[{at}]");
                self.problem(&place, format_args!("expected a text, got {}", kind(item)));
            }
        }
        Some(texts)
    }

    /// Reads a table of texts.
    pub(crate) fn text_table(&mut self, name: &'static str) -> Vec<(String, String)> {
        let Some(value) = self.take(name) else { return Vec::new() };
        let Value::Object(members) = value else {
            self.problem(name, format_args!("expected a table of texts, got {}", kind(&value)));
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (key, value) in members {
            let place = join(name, &key);
            match value.as_str() {
                Some(text) => texts.extend(self.expanded(&place, text).map(|text| (key, text))),
                None => self.problem(&place, format_args!("expected a text, got {}", kind(&value))),
            }
        }
        texts
    }

    fn expanded(&self, name: &str, text: &str) -> Option<String> {
        self.expand.expand(text).map_err(|problem| self.problem(name, problem)).ok()
    }

    /// Reads one of several names.
    pub(crate) fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let found = choices.iter().find(|(choice, _)| *choice == text).map(|(_, choice)| *choice);
        if found.is_none() {
            let names = choices.iter().map(|(choice, _)| format!("`{choice}`")).collect::<Vec<_>>().join(" or ");
            self.problem(name, format_args!("expected {names}, got `{text}`"));
        }
        found
    }

    pub(crate) fn table(&mut self, name: &'static str) -> Option<Fields<'a>> {
        let (value, place) = (self.take(name)?, self.place(name));
        Fields::new(value, place, self.problems, self.expand)
    }

    /// Reads a list of tables.
    pub(crate) fn tables(&mut self, name: &'static str) -> Vec<Fields<'a>> {
        let Some(value) = self.take(name) else { return Vec::new() };
        let Value::Array(items) = value else {
            self.problem(name, format_args!("expected a list of tables `[[{name}]]`, got {}", kind(&value)));
            return Vec::new();
        };
        let place = self.place(name);
        let fields = |(at, item)| Fields::new(item, format!("{place}[{at}]"), self.problems, self.expand);
        items.into_iter().enumerate().filter_map(fields).collect()
    }

    /// Reads a table of tables by name.
    pub(crate) fn named_tables(&mut self, name: &'static str) -> Vec<(String, Fields<'a>)> {
        let Some(Fields { members, place, .. }) = self.table(name) else { return Vec::new() };
        let fields = |(key, value): (String, Value)| {
            let fields = Fields::new(value, join(&place, &key), self.problems, self.expand)?;
            Some((key, fields))
        };
        members.into_iter().filter_map(fields).collect()
    }

    /// Reports the members that were not read.
    pub(crate) fn finish(self) {
        for name in self.members.keys() {
            let known = self.known.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
            self.problems.add(&self.place, format_args!("unknown key `{name}`; expected one of {known}"));
        }
    }
}

/// Returns the place of a member.
pub(crate) fn join(place: &str, name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '[' | ']' | '.');
    let name = if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { format!("{name:?}") };
    if place.is_empty() { name } else { format!("{place}.{name}") }
}

/// Names the kind of a value. The value itself may be a secret.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}
