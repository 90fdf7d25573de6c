//! Reading a file of a client: members by name and type, in each client's spelling, and every
//! problem with its place.

use crate::problems::{Problems, join};
use crate::value::Expand;
use serde_json::{Map, Value};
use std::fmt::Display;
use std::path::Path;
use tool_core::arguments::nearest;

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
    pub(crate) fn new(
        value: Value,
        place: String,
        problems: &'a Problems,
        expand: &'a Expand,
    ) -> Option<Self> {
        match value {
            Value::Object(members) => Some(Self {
                members,
                place,
                known: Vec::new(),
                problems,
                expand,
            }),
            other => {
                problems.add(
                    &place,
                    format_args!("expected a table, got {}", kind(&other)),
                );
                None
            }
        }
    }

    pub(crate) fn place(&self, name: &str) -> String {
        if name.is_empty() {
            self.place.clone()
        } else {
            join(&self.place, name)
        }
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
        self.members
            .shift_remove(name)
            .filter(|value| !value.is_null())
    }

    /// Takes a member for which a function returns true.
    pub(crate) fn take_if(
        &mut self,
        name: &'static str,
        is_meant: impl FnOnce(&Value) -> bool,
    ) -> Option<Value> {
        if self.members.get(name).is_some_and(is_meant) {
            self.take(name)
        } else {
            None
        }
    }

    /// Returns true if a member is a table, and was not read.
    pub(crate) fn is_table(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(Value::is_object)
    }

    /// Leaves a member unread, without a report.
    pub(crate) fn forget(&mut self, name: &str) {
        self.members.shift_remove(name);
    }

    /// Moves the members of a table inside to this one, unless they are here already.
    pub(crate) fn inline(&mut self, name: &'static str) {
        let Some(Value::Object(members)) = self.take_if(name, Value::is_object) else {
            return;
        };
        for (key, value) in members {
            self.members.entry(key).or_insert(value);
        }
    }

    /// Returns true if two tables have the same members.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.members == other.members
    }

    /// Returns the folder against which relative paths are resolved.
    pub(crate) fn workspace(&self) -> &Path {
        self.expand.workspace()
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
            self.problem(
                name,
                format_args!("expected {expected}, got {}", kind(&value)),
            );
        }
        found
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.read(name, "true or false", Value::as_bool)
    }

    /// Reads a text in which variables are replaced.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        let text = self.read(name, "a text", |value| value.as_str().map(str::to_owned))?;
        self.expanded(name, &text)
    }

    /// Reads a text as it is.
    pub(crate) fn literal(&mut self, name: &'static str) -> Option<String> {
        self.read(name, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// Reads a text in which variables are replaced. The inner value is `None` for one that cannot
    /// be read, which was reported.
    #[allow(
        clippy::option_option,
        reason = "a member that is there need not be of use"
    )]
    pub(crate) fn text_of(&mut self, name: &'static str) -> Option<Option<String>> {
        let is_there = self.members.get(name).is_some_and(|value| !value.is_null());
        let text = self.text(name);
        is_there.then_some(text)
    }

    /// Reads a text, or a list of texts.
    pub(crate) fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        let value = self.take(name)?;
        Some(self.all_expanded(name, value))
    }

    /// Returns a text, or the texts of a list.
    pub(crate) fn all_expanded(&self, name: &str, value: Value) -> Vec<String> {
        let is_list = value.is_array();
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        let mut texts = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let place = if is_list {
                format!("{name}[{at}]")
            } else {
                name.to_owned()
            };
            match item.as_str() {
                Some(text) => texts.extend(self.expanded(&place, text)),
                None => self.problem(&place, format_args!("expected a text, got {}", kind(item))),
            }
        }
        texts
    }

    /// Reads a table of texts.
    pub(crate) fn text_table(&mut self, name: &'static str) -> Vec<(String, String)> {
        let Some(value) = self.take(name) else {
            return Vec::new();
        };
        let Value::Object(members) = value else {
            self.problem(
                name,
                format_args!("expected a table of texts, got {}", kind(&value)),
            );
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (key, value) in members {
            let place = join(name, &key);
            match value.as_str() {
                Some(text) => texts.extend(self.expanded(&place, text).map(|text| (key, text))),
                None => self.problem(
                    &place,
                    format_args!("expected a text, got {}", kind(&value)),
                ),
            }
        }
        texts
    }

    /// Reads a table of texts, in which numbers and true or false are texts too. `None` is a value
    /// that is null.
    pub(crate) fn value_table(&mut self, name: &'static str) -> Vec<(String, Option<String>)> {
        let Some(Value::Object(members)) = self.members.get_mut(name) else {
            return self.texts_of(name);
        };
        for value in members
            .values_mut()
            .filter(|value| value.is_number() || value.is_boolean())
        {
            *value = Value::String(value.to_string());
        }
        let is_null = |value: &Value| value.is_null();
        let removed = members
            .iter()
            .filter(|(_, value)| is_null(value))
            .map(|(key, _)| (key.clone(), None));
        let removed = removed.collect::<Vec<_>>();
        members.retain(|_, value| !is_null(value));
        let mut values = self.texts_of(name);
        values.extend(removed);
        values
    }

    fn texts_of(&mut self, name: &'static str) -> Vec<(String, Option<String>)> {
        self.text_table(name)
            .into_iter()
            .map(|(key, text)| (key, Some(text)))
            .collect()
    }

    fn expanded(&self, name: &str, text: &str) -> Option<String> {
        if let Some(variable) = self.expand.unreplaced(text) {
            self.warn(
                name,
                format_args!(
                    "`${variable}` is not replaced; write `${{{variable}}}` for the variable"
                ),
            );
        }
        self.expand
            .expand(text)
            .map_err(|problem| self.problem(name, problem))
            .ok()
    }

    pub(crate) fn table(&mut self, name: &'static str) -> Option<Fields<'a>> {
        let value = self.take(name)?;
        let place = self.place(name);
        Fields::new(value, place, self.problems, self.expand)
    }

    /// Reads a list of tables.
    pub(crate) fn tables(&mut self, name: &'static str) -> Vec<Fields<'a>> {
        let Some(value) = self.take(name) else {
            return Vec::new();
        };
        let Value::Array(items) = value else {
            self.problem(
                name,
                format_args!(
                    "expected a list of tables `[[{name}]]`, got {}",
                    kind(&value)
                ),
            );
            return Vec::new();
        };
        let place = self.place(name);
        let fields =
            |(at, item)| Fields::new(item, format!("{place}[{at}]"), self.problems, self.expand);
        items.into_iter().enumerate().filter_map(fields).collect()
    }

    /// Reads a table of tables by name.
    pub(crate) fn named_tables(&mut self, name: &'static str) -> Vec<(String, Fields<'a>)> {
        let Some(Fields { members, place, .. }) = self.table(name) else {
            return Vec::new();
        };
        let fields = |(key, value): (String, Value)| {
            let fields = Fields::new(value, join(&place, &key), self.problems, self.expand)?;
            Some((key, fields))
        };
        members.into_iter().filter_map(fields).collect()
    }

    /// Returns the tables that were not read, by their names.
    pub(crate) fn rest_tables(&mut self) -> Vec<(String, Fields<'a>)> {
        let is_table = |(_, value): &(&String, &Value)| value.is_object();
        let names = self
            .members
            .iter()
            .filter(is_table)
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>();
        let mut tables = Vec::new();
        for name in names {
            let Some(value) = self.members.shift_remove(&name) else {
                continue;
            };
            let fields = Fields::new(value, self.place(&name), self.problems, self.expand);
            tables.extend(fields.map(|fields| (name, fields)));
        }
        tables
    }

    /// Returns the names of the members that were not read.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    pub(crate) fn warn(&self, name: &str, warning: impl Display) {
        self.problems.warn(&self.place(name), warning);
    }

    /// Returns the known name that was probably meant.
    pub(crate) fn near(&self, name: &str) -> Option<&str> {
        nearest(name, self.known.iter().copied())
    }

    /// Says that a name has no effect, and which was probably meant.
    pub(crate) fn not_understood(&self, name: &str) -> String {
        let near = self
            .near(name)
            .map(|near| format!(", did you mean `{near}`?"));
        format!(
            "key `{}` is not understood{}",
            name.escape_debug(),
            near.as_deref().unwrap_or(", and has no effect")
        )
    }
}

/// Names the kind of a value. The value itself may be a secret.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}
