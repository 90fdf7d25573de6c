//! The lists of a server, page by page. An entry that cannot be read, and a list without an end, do
//! not cost the entries that can be read.

use crate::client::declared::Declared;
use crate::client::error::describe;
use crate::client::options::RemoteOptions;
use crate::client::pins::Declaration;
use crate::client::quarantine::{Quarantine, QuarantineReason};
use crate::original;
use rmcp::RoleClient;
use rmcp::model::{ClientRequest, PaginatedRequestParams};
use rmcp::service::{Peer, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use tokio::time::timeout;
use tool_core::text::{escape_invisible, truncate};

/// Maximum number of bytes of a list. What is made of a declaration takes many times its size.
const MAX_BYTES: usize = 8 << 20;
/// Maximum number of entries, and of pages, which may be empty.
const MAX_ITEMS: usize = 10_000;
const MAX_PAGES: usize = 1_000;
/// Maximum number of characters of a reason.
const MAX_REASON: usize = 300;

/// The members without which an entry says nothing.
const REQUIRED: [&str; 4] = ["name", "uri", "uriTemplate", "inputSchema"];
/// The other members that are read. Further ones are not looked at, whatever they are.
const OPTIONAL: [&str; 10] = [
    "title",
    "description",
    "annotations",
    "outputSchema",
    "icons",
    "execution",
    "_meta",
    "arguments",
    "mimeType",
    "size",
];
/// The keywords of a schema whose value may be null.
const VALUES: [&str; 5] = ["default", "const", "enum", "example", "examples"];
/// The keywords of a schema that have a schema for each name.
const NAMED_SCHEMAS: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// A list of a server.
pub(crate) struct ServerList {
    /// The method, such as `tools/list`.
    pub(crate) method: &'static str,
    /// The member of a page that has the entries.
    pub(crate) member: &'static str,
    pub(crate) kind: Declaration,
    pub(crate) request: fn(PaginatedRequestParams) -> ClientRequest,
}

/// A page of a list.
struct PageOf<T> {
    items: Vec<Declared<T>>,
    next: Option<String>,
}

/// An entry as far as it can be read.
struct ReadEntry<T> {
    declared: Declared<T>,
    /// The members that were left out.
    dropped: Vec<String>,
}

/// Reads the lists of a connected server.
pub(crate) struct ListReader<'a> {
    pub(crate) peer: &'a Peer<RoleClient>,
    pub(crate) options: &'a RemoteOptions,
    pub(crate) quarantine: &'a Quarantine,
}

impl ListReader<'_> {
    /// Adds all entries of a list to `items`. Fails if a page cannot be had.
    pub(crate) async fn pages<T: DeserializeOwned>(
        &self,
        list: &ServerList,
        items: &mut Vec<Declared<T>>,
    ) -> Result<(), ListError> {
        let listing = self.read_pages(list, items);
        let is_whole = timeout(self.options.timeout, listing)
            .await
            .map_err(|_| ListError::Timeout)??;
        if is_whole {
            self.quarantine.lift(list.method);
        } else {
            self.leave_out(list.method, QuarantineReason::Endless);
        }
        Ok(())
    }

    /// Reads the pages; returns false for a list that is not read to its end.
    async fn read_pages<T: DeserializeOwned>(
        &self,
        list: &ServerList,
        items: &mut Vec<Declared<T>>,
    ) -> Result<bool, ServiceError> {
        let mut bytes = 0;
        let mut cursor = None;
        let mut cursors = HashSet::new();
        for _ in 0..MAX_PAGES {
            let request = (list.request)(PaginatedRequestParams::default().with_cursor(cursor));
            let page = original::value_of(self.peer.send_request(request).await?);
            let page = self.page(page.ok_or(ServiceError::UnexpectedResponse)?, list)?;
            for item in page.items {
                bytes += bytes_of(&item.sent);
                if bytes > MAX_BYTES || items.len() >= MAX_ITEMS {
                    return Ok(false);
                }
                items.push(item);
            }
            // Some servers end a list with an empty cursor.
            let Some(next) = page.next.filter(|next| !next.is_empty()) else {
                return Ok(true);
            };
            if !cursors.insert(next.clone()) {
                return Ok(false);
            }
            cursor = Some(next);
        }
        Ok(false)
    }

    /// Reads a page, of which an entry, or another member, may not have the form of the protocol.
    fn page<T: DeserializeOwned>(
        &self,
        mut page: Value,
        list: &ServerList,
    ) -> Result<PageOf<T>, ServiceError> {
        let next = page
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let Some(Value::Array(entries)) = page.get_mut(list.member).map(Value::take) else {
            return Err(ServiceError::UnexpectedResponse);
        };

        let mut items = Vec::new();
        for (at, entry) in entries.into_iter().enumerate() {
            let name = REQUIRED
                .iter()
                .find_map(|member| entry.get(member)?.as_str());
            let name = name.map_or_else(
                || format!("{} {at}", list.member),
                |name| list.kind.key(name),
            );
            match read_entry(entry) {
                Ok(ReadEntry { declared, dropped }) => {
                    items.push(declared);
                    if !dropped.is_empty() {
                        let server = self.options.name.escape_debug();
                        let name = escape_invisible(&name);
                        let dropped = escape_invisible(&dropped.join(", "));
                        tracing::warn!(%server, name, dropped, "left out members of a declaration that cannot be read");
                    }
                }
                Err(error) => {
                    let reason = truncate(&self.options.credentials.display(&error), MAX_REASON);
                    self.leave_out(
                        &self.options.credentials.redact(&name),
                        QuarantineReason::Unreadable(reason),
                    );
                }
            }
        }
        Ok(PageOf { items, next })
    }

    /// Names what is left out, with the reason.
    fn leave_out(&self, name: &str, reason: QuarantineReason) {
        self.quarantine.add(&self.options.name, name, false, reason);
    }

    /// Returns the text of an error, without keys.
    pub(crate) fn error_text(&self, error: &ListError) -> String {
        match error {
            ListError::Failed(error) => self.options.credentials.display(&describe(error)),
            ListError::Timeout => "the server did not answer in time".to_owned(),
        }
    }
}

/// The reason why a list cannot be had.
#[derive(Debug)]
pub(crate) enum ListError {
    Failed(ServiceError),
    Timeout,
}

impl From<ServiceError> for ListError {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error)
    }
}

/// Reads an entry without its members that have another form. A tool without a schema takes any
/// arguments.
fn read_entry<T: DeserializeOwned>(entry: Value) -> Result<ReadEntry<T>, String> {
    let Value::Object(members) = entry else {
        return Err("expected an object".to_owned());
    };
    let is_tool = !members.contains_key("uri") && !members.contains_key("uriTemplate");
    let has_null = |name: &str| members.get(name).is_some_and(Value::is_null);
    let is_whole = members.get("inputSchema").is_none_or(Value::is_object)
        && !OPTIONAL.iter().any(|name| has_null(name));
    if is_whole && let Ok(item) = serde_json::from_value::<T>(Value::Object(members.clone())) {
        return Ok(ReadEntry {
            declared: Declared {
                item,
                sent: members,
            },
            dropped: Vec::new(),
        });
    }
    let mut read = Map::new();
    let mut dropped = Vec::new();
    let mut optional = Vec::new();
    for (name, value) in members {
        if name == "inputSchema" && !value.is_object() {
            dropped.push(name);
        } else if OPTIONAL.contains(&&*name) {
            optional.push((name, value));
        } else {
            read.insert(name, value);
        }
    }
    if is_tool {
        read.entry("inputSchema")
            .or_insert_with(|| json!({"type": "object"}));
    }

    let item =
        |members: &Map<String, Value>| serde_json::from_value::<T>(Value::Object(members.clone()));
    item(&read).map_err(|error| error.to_string())?;
    for (name, value) in optional {
        if value.is_null() {
            continue;
        }
        read.insert(name.clone(), value);
        if item(&read).is_err() {
            read.shift_remove(&name);
            dropped.push(name);
        }
    }
    let item = item(&read).map_err(|error| error.to_string())?;
    Ok(ReadEntry {
        declared: Declared { item, sent: read },
        dropped,
    })
}

/// Returns the bytes of a declaration.
fn bytes_of(declared: &impl Serialize) -> usize {
    serde_json::to_string(declared).map_or(0, |text| text.len())
}

/// Removes the keywords of a schema that are null, as some servers write those that they do not
/// set.
pub(crate) fn remove_nulls(schema: &mut Map<String, Value>) {
    schema.retain(|keyword, value| !value.is_null() || VALUES.contains(&&**keyword));
    for (keyword, value) in schema.iter_mut() {
        match value {
            _ if VALUES.contains(&&**keyword) => {}
            Value::Object(named) if NAMED_SCHEMAS.contains(&&**keyword) => {
                named.retain(|_, schema| !schema.is_null());
                named
                    .values_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(remove_nulls);
            }
            Value::Object(schema) => remove_nulls(schema),
            Value::Array(schemas) => schemas
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(remove_nulls),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{Resource, Tool};

    fn tool(entry: Value) -> (Value, Vec<String>) {
        let ReadEntry { declared, dropped } = read_entry::<Tool>(entry).expect("a tool");
        assert_eq!(
            serde_json::to_value(declared.item).expect("JSON"),
            Value::Object(declared.sent.clone())
        );
        (Value::Object(declared.sent), dropped)
    }

    #[test]
    fn a_tool_without_a_schema_takes_any_arguments() {
        for (schema, dropped) in [
            (json!({}), 0),
            (json!({"inputSchema": null}), 1),
            (json!({"inputSchema": true}), 1),
        ] {
            let mut entry = json!({"name": "look", "description": "Look."});
            entry
                .as_object_mut()
                .expect("an object")
                .extend(schema.as_object().cloned().expect("an object"));
            let (read, left_out) = tool(entry);
            assert_eq!(
                read,
                json!({"name": "look", "description": "Look.", "inputSchema": {"type": "object"}})
            );
            assert_eq!(left_out.len(), dropped);
        }
    }

    #[test]
    fn a_member_of_another_form_is_left_out() {
        let entry = json!({"name": "look", "inputSchema": {"type": "object"}, "title": 7, "annotations": "none", "description": "Look."});
        let (read, dropped) = tool(entry);
        assert_eq!(
            read,
            json!({"name": "look", "description": "Look.", "inputSchema": {"type": "object"}})
        );
        assert_eq!(dropped, ["title", "annotations"]);
        let resource = json!({"uri": "a:b", "name": "b", "size": "large"});
        assert_eq!(
            read_entry::<Resource>(resource)
                .expect("a resource")
                .dropped,
            ["size"]
        );
    }

    #[test]
    fn an_entry_without_a_name_is_an_error() {
        for entry in [
            json!({"inputSchema": {}}),
            json!({"name": 7}),
            json!("look"),
            json!(null),
        ] {
            assert!(read_entry::<Tool>(entry.clone()).is_err(), "{entry}");
        }
    }

    #[test]
    fn keywords_that_are_null_are_absent() {
        let schema = json!({
            "type": "object", "required": null, "properties": {
                "a": {"type": "string", "description": null, "default": null, "enum": ["x", null]},
                "b": null,
                "c": {"anyOf": [{"type": "null"}, {"minimum": null, "type": "integer"}]}
            }
        });
        let Value::Object(mut schema) = schema else {
            panic!("an object")
        };
        remove_nulls(&mut schema);
        assert_eq!(Value::Object(schema), {
            json!({
                "type": "object", "properties": {
                    "a": {"type": "string", "default": null, "enum": ["x", null]},
                    "c": {"anyOf": [{"type": "null"}, {"type": "integer"}]}
                }
            })
        });
    }
}
