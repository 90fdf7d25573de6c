//! The settings that decide where a toolset's secrets go. Sealed secrets are bound to their values.

use crate::arguments::view::SchemaView;
use crate::schema::normalize::BINDS_SECRET;
use crate::schema::walk::{for_each_child_mut, join_pointer};
use crate::text::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The formats of addresses.
const FORMATS: [&str; 9] =
    ["uri", "iri", "uri-reference", "iri-reference", "hostname", "idn-hostname", "ipv4", "ipv6", "ip"];

/// The words in the name of a setting that holds an address, or decides who is trusted at one.
const WORDS: [&str; 26] = [
    "host",
    "hosts",
    "hostname",
    "server",
    "servers",
    "endpoint",
    "endpoints",
    "domain",
    "domains",
    "subdomain",
    "address",
    "addr",
    "ip",
    "port",
    "ports",
    "proxy",
    "origin",
    "gateway",
    "webhook",
    "ca",
    "cert",
    "certs",
    "certificate",
    "certificates",
    "tls",
    "ssl",
];

/// The greatest number of times that branches inside branches are followed.
const BRANCH_DEPTH: usize = 8;

/// The settings of a record that decide where its secrets go, with a digest of each value.
///
/// A setting belongs to them if its schema has `x-binds-secret: true`, which `#[setting(binds_secret)]` in a
/// [`#[tool_type]`](crate::tool_type) writes. Without a mark it belongs to them if its format is that of a URL, a host or an
/// IP address, or if its name has a word such as `url`, `host`, `server`, `port`, `domain`, `certificate` or `tls`.
/// `#[setting(binds_secret = false)]` takes a setting out, with all that it contains. A value that is its default counts
/// as left out. In an object with declared properties, a member that is not declared belongs to them.
///
/// ```
/// use tool_core::tool::{BoundSettings, ToolsetMetadata};
/// use tool_core::serde_json::json;
/// use tool_core::tool_type;
///
/// #[tool_type]
/// struct Settings {
///     base_url: String,
///     #[setting(binds_secret)]
///     region: String,
///     #[setting(binds_secret = false)]
///     server_notes: String,
/// }
///
/// let form = ToolsetMetadata::new("shop", "Sell.").configured_by::<Settings, ()>();
/// let here = form.bound_settings(&json!({"base_url": "https://a.example", "region": "eu", "server_notes": "slow"}));
/// let there = form.bound_settings(&json!({"base_url": "https://b.example", "region": "us", "server_notes": "fast"}));
/// assert_eq!(here.changed(&there), ["/base_url", "/region"]);
/// assert_eq!(form.config_schema.unwrap()["properties"]["base_url"]["x-binds-secret"], true);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundSettings(BTreeMap<String, String>);

impl BoundSettings {
    /// Returns no settings, for secrets that do not depend on any.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the bound settings among `config`, which this schema describes.
    pub(crate) fn of(schema: &Value, config: &Value) -> Self {
        let mut bound = Self::default();
        bound.add(config, &[schema], schema, "");
        bound
    }

    /// Returns the JSON pointers of the settings whose values differ, sorted.
    pub fn changed(&self, other: &Self) -> Vec<String> {
        let differ = |pointer: &&String| self.0.get(*pointer) != other.0.get(*pointer);
        let mut pointers = self.0.keys().chain(other.0.keys()).filter(differ).cloned().collect::<Vec<_>>();
        pointers.sort();
        pointers.dedup();
        pointers
    }

    /// Writes them, to be authenticated together with the secrets.
    #[cfg(feature = "agents")]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).unwrap_or_default()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    #[cfg(feature = "agents")]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(Self)
    }

    fn add(&mut self, value: &Value, schemas: &[&Value], root: &Value, at: &str) {
        let view = with_branches(schemas, root);
        match value {
            Value::Object(members) => {
                // A member that is not declared may be another spelling of one that is.
                let is_declaring = view.parts.iter().any(|part| part.contains_key("properties"));
                for (name, member) in members {
                    let declared = view.property(name);
                    let unknown = if is_declaring { Some(true) } else { has_address_name(name).then_some(true) };
                    let mark = if declared.is_empty() { unknown } else { mark_of(name, &declared, root) };
                    self.add_marked(mark, member, &declared, root, &join_pointer(at, name));
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    let declared = view.item(position);
                    let mark = mark_of("", &declared, root);
                    self.add_marked(mark, item, &declared, root, &join_pointer(at, &position.to_string()));
                }
            }
            _ => {}
        }
    }

    fn add_marked(&mut self, mark: Option<bool>, value: &Value, schemas: &[&Value], root: &Value, at: &str) {
        let default = SchemaView::of(schemas, root).find("default").unwrap_or(&Value::Null);
        match mark {
            _ if value == default => {}
            Some(true) => _ = self.0.insert(at.to_owned(), digest(value)),
            Some(false) => {}
            None => self.add(value, schemas, root, at),
        }
    }
}

/// Marks the settings that secrets are bound to by their format or name, so that a form shows them.
pub(crate) fn mark_settings(schema: &mut Value) {
    let root = schema.clone();
    mark_properties(schema, &root);
}

fn mark_properties(schema: &mut Value, root: &Value) {
    let Some(map) = schema.as_object_mut() else { return };
    for (name, property) in map.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let is_bound = mark_of(name, &[&*property], root) == Some(true);
        if let Some(map) = property.as_object_mut().filter(|_| is_bound) {
            map.insert(BINDS_SECRET.to_owned(), true.into());
        }
    }
    for_each_child_mut(map, &mut |child| mark_properties(child, root));
}

/// Returns whether secrets are bound to a setting with these schemas. `None` leaves it to what the setting contains.
fn mark_of(name: &str, schemas: &[&Value], root: &Value) -> Option<bool> {
    let marks = schemas.iter().map(|schema| {
        let view = with_branches(&[schema], root);
        let has = |keyword: &str, known: &dyn Fn(&Value) -> bool| {
            view.parts.iter().any(|part: &&Map<String, Value>| part.get(keyword).is_some_and(known))
        };
        let is_address = |format: &Value| format.as_str().is_some_and(|format| FORMATS.contains(&format));
        match (has(BINDS_SECRET, &|mark| mark == true), has(BINDS_SECRET, &|mark| mark == false)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => (has_address_name(name) || has("format", &is_address)).then_some(true),
        }
    });
    // Of several schemas for one value, the strictest decides.
    marks.max_by_key(|mark| match mark {
        Some(true) => 2,
        None => 1,
        Some(false) => 0,
    })?
}

/// Returns the keywords that may apply to a value, also those in the branches of choices.
fn with_branches<'a>(schemas: &[&'a Value], root: &'a Value) -> SchemaView<'a> {
    let mut all = schemas.to_vec();
    for _ in 0..BRANCH_DEPTH {
        let view = SchemaView::of(&all, root);
        let known = all.len();
        for branch in view.choices().into_iter().flatten() {
            if !all.iter().any(|schema| std::ptr::eq(*schema, branch)) {
                all.push(branch);
            }
        }
        if all.len() == known {
            return view;
        }
    }
    SchemaView::of(&all, root)
}

/// Returns true if one of the words of a name is that of an address: `smtp_server`, `baseUrl`, `ca-file`.
fn has_address_name(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        after_lower = letter.is_lowercase() || letter.is_numeric();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    let is_address = |word: &str| {
        let singular = word.strip_suffix('s').unwrap_or(word);
        WORDS.contains(&word) || singular.ends_with("url") || singular.ends_with("uri")
    };
    words.iter().any(|word| is_address(word.trim_end_matches(char::is_numeric)))
}

/// Returns the SHA-256 of a value, whose keys may have any order.
fn digest(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    hex(&Sha256::digest(sorted.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::configure::metadata::ToolsetMetadata;
    use schemars::JsonSchema;
    use serde_json::json;

    fn names(schema: &Value, config: &Value) -> Vec<String> {
        BoundSettings::of(schema, config).changed(&BoundSettings::none())
    }

    #[test]
    fn settings_with_names_of_addresses_are_bound() {
        for name in [
            "url",
            "base_url",
            "baseUrl",
            "baseurl",
            "BASE-URL",
            "api.uri",
            "urls",
            "host",
            "hostName",
            "smtp_server",
            "imap_port",
            "port2",
            "server1",
            "endpoint",
            "domain",
            "caFile",
            "ca_bundle",
            "tlsRoots",
            "client_cert",
        ] {
            assert!(has_address_name(name), "{name}");
        }
        for name in ["calendar_id", "currency", "timeout_seconds", "from_email", "category", "support", "report", ""] {
            assert!(!has_address_name(name), "{name}");
        }
    }

    #[test]
    fn settings_are_bound_at_every_depth() {
        let relay = json!({"type": "object", "properties": {"to": {"type": "string", "format": "uri"}, "note": {}}});
        let schema = json!({
            "type": "object",
            "properties": {
                "relays": {"type": "array", "items": {"$ref": "#/$defs/Relay"}},
                "main": {"anyOf": [{"$ref": "#/$defs/Relay"}, {"type": "null"}]},
                "places": {"type": "array", "items": {"type": "string", "format": "hostname"}},
                "by_name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Relay"}},
                "free": {"x-binds-secret": false, "type": "object", "properties": {"url": {}}},
                "tagged": {"oneOf": [
                    {"properties": {"kind": {"const": "cloud"}}},
                    {"properties": {"kind": {"const": "own"}, "host": {"type": "string"}}},
                ]},
                "any": true,
            },
            "$defs": {"Relay": relay},
        });
        let config = json!({
            "relays": [{"to": "https://a", "note": "x"}], "main": {"to": "https://a", "note": "x"}, "places": ["a"],
            "by_name": {"x": {"to": "https://a"}}, "free": {"url": "x"}, "tagged": {"kind": "own", "host": "a"},
            "any": {"thing": 1, "deep": [{"url": "a"}]}, "unknown": 1,
        });
        let expected =
            ["/any/deep/0/url", "/by_name/x/to", "/main/to", "/places/0", "/relays/0/to", "/tagged/host", "/unknown"];
        assert_eq!(names(&schema, &config), expected);
    }

    #[test]
    fn members_that_are_not_declared_are_bound() {
        let inner = json!({"type": "object", "properties": {"to": {"x-binds-secret": true}}});
        let schema = json!({"properties": {"relay": inner}});
        // An alias of `to`, which no schema shows.
        assert_eq!(names(&schema, &json!({"relay": {"target": "evil"}})), ["/relay/target"]);
    }

    #[test]
    fn default_values_count_as_left_out() {
        let schema = json!({"properties": {
            "url": {"default": "https://a"}, "host": {"type": ["string", "null"]},
            "relay": {"default": {"host": "a"}, "properties": {"host": {}}},
        }});
        assert!(names(&schema, &json!({})).is_empty());
        assert!(names(&schema, &json!({"url": "https://a", "host": null, "relay": {"host": "a"}})).is_empty());
        assert_eq!(names(&schema, &json!({"url": null, "relay": {"host": "b"}})), ["/relay/host", "/url"]);
    }

    #[test]
    fn order_of_keys_does_not_matter() {
        let bound = |config| BoundSettings::of(&json!({"properties": {"server": {}}}), &config);
        let one = bound(json!({"server": {"a": 1, "b": {"c": 2, "d": 3}}}));
        assert_eq!(one, bound(json!({"server": {"b": {"d": 3, "c": 2}, "a": 1}})));
        assert_ne!(one, bound(json!({"server": {"a": 1, "b": {"c": 2, "d": 4}}})));
    }

    #[test]
    fn forms_show_which_settings_are_bound() {
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        struct Relay {
            host: String,
            note: String,
        }
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        struct Settings {
            base_url: Option<String>,
            #[schemars(extend("x-binds-secret" = true))]
            region: String,
            #[schemars(extend("x-binds-secret" = false))]
            server_notes: String,
            relay: Relay,
        }
        let form = ToolsetMetadata::new("shop", "Sell.").configured_by::<Settings, ()>();
        let schema = form.config_schema.expect("settings");
        let mark = |pointer: &str| schema.pointer(pointer).expect("a schema").get("x-binds-secret").cloned();
        assert_eq!(mark("/properties/base_url"), Some(json!(true)));
        assert_eq!(mark("/properties/region"), Some(json!(true)));
        assert_eq!(mark("/properties/server_notes"), Some(json!(false)));
        assert_eq!(mark("/properties/relay"), None);
        assert_eq!(mark("/$defs/Relay/properties/host"), Some(json!(true)));
        assert_eq!(mark("/$defs/Relay/properties/note"), None);
    }
}
