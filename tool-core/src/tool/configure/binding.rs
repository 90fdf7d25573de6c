//! The settings that decide where a toolset's secrets go. Sealed secrets are bound to their values.

use crate::arguments::view::{MAX_PARTS, SchemaView};
use crate::schema::normalize::BINDS_SECRET;
use crate::schema::nullable::is_null_only;
use crate::schema::type_set::TypeSet;
use crate::schema::walk::{branches, for_each_child_mut, join_pointer};
use crate::text::hex;
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};
#[cfg(feature = "session")]
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// The greatest number of times that branches inside branches are followed.
const BRANCH_DEPTH: usize = 8;

/// The greatest number of schemas that are looked at to see whether one takes texts.
const MAX_STEPS: usize = 256;

/// The settings of a record that decide where its secrets go, with a digest of each value.
///
/// Any text may be a URL, a host, a path or a command, so a setting belongs to them in these cases:
///
/// - Its value is a text, or a list of texts, and the schema does not list the values that are
///   allowed.
/// - It is a member that the schema does not declare by name, for example an entry of a map.
/// - It selects a variant of an enum: by a constant, or by a name if one of the variants has such a
///   setting.
/// - Its schema has `x-binds-secret: true`, which `#[setting(binds_secret)]` in a
///   [`#[tool_type]`](crate::tool_type) writes. Mark a port, a switch such as `verify_tls`, and a
///   choice of the encryption.
///
/// `#[setting(binds_secret = false)]` takes a setting out, with all that it contains. A value that
/// is its default counts as left out.
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
///     port: u16,
///     #[setting(binds_secret = false)]
///     greeting: String,
/// }
///
/// let form = ToolsetMetadata::new("shop", "Sell.").configured_by::<Settings, ()>();
/// let here = form.bound_settings(&json!({"base_url": "https://a.example", "port": 80, "greeting": "Hi"}));
/// let there = form.bound_settings(&json!({"base_url": "https://b.example", "port": 81, "greeting": "Hello"}));
/// assert_eq!(here.changed(&there), ["/base_url", "/port"]);
/// assert_eq!(form.config_schema.unwrap()["properties"]["base_url"]["x-binds-secret"], true);
/// ```
#[cfg(feature = "session")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundSettings(BTreeMap<String, String>);

#[cfg(feature = "session")]
impl BoundSettings {
    /// Returns no settings, for secrets that do not depend on any.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the bound settings among `config`, which this schema describes.
    pub(crate) fn of(schema: &Value, config: &Value) -> Self {
        let mut bound = Self::default();
        match config {
            Value::Object(members) if mark_of(&[schema], schema) == Some(true) => {
                let view = with_branches(&[schema], schema);
                for (name, member) in members {
                    bound.add_marked(
                        Some(true),
                        member,
                        &view.property(name),
                        schema,
                        &join_pointer("", name),
                    );
                }
            }
            _ => bound.add(config, &[schema], schema, ""),
        }
        bound
    }

    /// Returns the JSON pointers of the settings whose values differ, sorted.
    pub fn changed(&self, other: &Self) -> Vec<String> {
        let differ = |pointer: &&String| self.0.get(*pointer) != other.0.get(*pointer);
        let mut pointers = self
            .0
            .keys()
            .chain(other.0.keys())
            .filter(differ)
            .cloned()
            .collect::<Vec<_>>();
        pointers.sort();
        pointers.dedup();
        pointers
    }

    /// Returns a digest of all names and values.
    #[cfg(feature = "agents")]
    pub(crate) fn digest(&self) -> String {
        hex(&Sha256::digest(self.to_bytes()))
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
        if view.parts.len() >= MAX_PARTS {
            // The view may miss a mark.
            self.0.insert(at.to_owned(), digest(value));
            return;
        }
        for branches in view.choices() {
            self.add_choice(value, branches, root, at);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let schemas = view.property(name);
                    let mark = mark_of(&schemas, root);
                    let at = join_pointer(at, name);
                    if view.declared(name).is_empty() && mark != Some(false) {
                        // The name itself is a text. It may be another spelling of a declared one.
                        self.0.insert(at, digest(member));
                    } else {
                        self.add_marked(mark, member, &schemas, root, &at);
                    }
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    let declared = view.item(position);
                    let mark = mark_of(&declared, root);
                    self.add_marked(
                        mark,
                        item,
                        &declared,
                        root,
                        &join_pointer(at, &position.to_string()),
                    );
                }
            }
            _ => {}
        }
    }

    fn add_marked(
        &mut self,
        mark: Option<bool>,
        value: &Value,
        schemas: &[&Value],
        root: &Value,
        at: &str,
    ) {
        let default_of = |schema: &&Value| {
            SchemaView::of(&[*schema], root)
                .find("default")
                .cloned()
                .unwrap_or_default()
        };
        let defaults = schemas.iter().map(default_of).collect::<Vec<_>>();
        match mark {
            // Variants may have different defaults.
            _ if defaults.iter().all(|default| default == value)
                && (!defaults.is_empty() || value.is_null()) => {}
            Some(true) => _ = self.0.insert(at.to_owned(), digest(value)),
            Some(false) => {}
            None if value.is_string()
                && (schemas.is_empty()
                    || schemas.iter().any(|schema| takes_text(schema, root))) =>
            {
                _ = self.0.insert(at.to_owned(), digest(value));
            }
            None => {
                // Members that are left out have other values than in the default of the whole.
                if defaults.iter().any(|default| !default.is_null()) && declare_bound(schemas, root)
                {
                    self.0.insert(at.to_owned(), digest(&true.into()));
                }
                self.add(value, schemas, root, at);
            }
        }
    }

    /// Adds what selects a variant: each may have defaults for settings that are left out.
    fn add_choice(&mut self, value: &Value, branches: &[Value], root: &Value, at: &str) {
        let branches = branches
            .iter()
            .filter(|branch| !is_null_only(branch))
            .collect::<Vec<_>>();
        if branches.len() < 2 {
            return;
        }
        let views = branches
            .iter()
            .map(|branch| SchemaView::of(&[*branch], root))
            .collect::<Vec<_>>();
        let is_tag = |name: &str| {
            views
                .iter()
                .flat_map(|view| view.declared(name))
                .any(|schema| is_constant(schema, root))
        };
        let members = || value.as_object().into_iter().flatten();
        let tags = members()
            .filter(|(name, _)| is_tag(name))
            .collect::<Vec<_>>();
        for (name, tag) in &tags {
            self.0.insert(join_pointer(at, name), digest(tag));
        }
        if tags.is_empty() && declare_bound(&branches, root) {
            let required = views
                .iter()
                .flat_map(SchemaView::required)
                .collect::<BTreeSet<_>>();
            let selector = match value {
                Value::Object(all) => required
                    .into_iter()
                    .filter(|name| all.contains_key(*name))
                    .collect(),
                Value::Array(_) => "array".into(),
                other => other.clone(),
            };
            self.0.insert(at.to_owned(), digest(&selector));
        }
    }
}

/// Marks the texts that secrets are bound to, so that a form shows them.
pub(crate) fn mark_settings(schema: &mut Value) {
    let root = schema.clone();
    mark_properties(schema, &root);
}

fn mark_properties(schema: &mut Value, root: &Value) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        let is_bound = match mark_of(&[&*property], root) {
            None => takes_text(property, root),
            Some(is_bound) => is_bound,
        };
        if let Some(map) = property.as_object_mut().filter(|_| is_bound) {
            map.insert(BINDS_SECRET.to_owned(), true.into());
        }
    }
    for_each_child_mut(map, &mut |child| mark_properties(child, root));
}

/// Returns the mark of a setting with these schemas. `None` leaves the decision to its value.
fn mark_of(schemas: &[&Value], root: &Value) -> Option<bool> {
    let marks = schemas.iter().map(|schema| {
        let own = SchemaView::of(&[*schema], root);
        if has(&with_branches(&[*schema], root), BINDS_SECRET, &|mark| {
            mark == true
        }) {
            return Some(true);
        }
        // A mark that takes out one of several variants does not take out the others.
        has(&own, BINDS_SECRET, &|mark| mark == false).then_some(false)
    });
    // Of several schemas for one value, the strictest decides.
    marks
        .max_by_key(|mark| match mark {
            Some(true) => 2,
            None => 1,
            Some(false) => 0,
        })
        .flatten()
}

/// Returns true if secrets are bound to texts, or lists of texts, of this schema: it does not list
/// them itself.
fn takes_text(schema: &Value, root: &Value) -> bool {
    fn takes(schema: &Value, root: &Value, steps: &mut usize) -> bool {
        let Some(left) = steps.checked_sub(1) else {
            return true;
        };
        *steps = left;

        let view = SchemaView::of(&[schema], root);
        if has(&view, BINDS_SECRET, &|mark| mark == false) {
            return false;
        }
        if !view.types().has(TypeSet::STRING) {
            let items = view
                .parts
                .iter()
                .flat_map(|part| branches(part, "prefixItems").chain(part.get("items")));
            return view.types().has(TypeSet::ARRAY)
                && items.into_iter().any(|item| takes(item, root, steps));
        }
        let is_listed = has(&view, "const", &|_| true) || has(&view, "enum", &|_| true);
        !is_listed
            && view
                .choices()
                .into_iter()
                .all(|branches| branches.iter().any(|branch| takes(branch, root, steps)))
    }
    let mut steps = MAX_STEPS;
    takes(schema, root, &mut steps)
}

fn has(view: &SchemaView<'_>, keyword: &str, is_known: &dyn Fn(&Value) -> bool) -> bool {
    view.parts
        .iter()
        .any(|part| part.get(keyword).is_some_and(is_known))
}

/// Returns true if values of these schemas may contain settings that secrets are bound to.
fn declare_bound(schemas: &[&Value], root: &Value) -> bool {
    fn declares<'a>(
        schema: &'a Value,
        root: &'a Value,
        seen: &mut FxHashSet<*const Value>,
    ) -> bool {
        if !seen.insert(schema) {
            return false;
        }
        let mut is_bound = |schema: &'a Value| match mark_of(&[schema], root) {
            None => takes_text(schema, root) || declares(schema, root, seen),
            Some(is_bound) => is_bound,
        };
        // The names of a map are texts.
        let is_map = |schema: &Value| schema != false && mark_of(&[schema], root) != Some(false);
        let members = |part: &'a Map<String, Value>, keyword: &str| {
            let members = part.get(keyword).and_then(Value::as_object);
            members.into_iter().flat_map(Map::values)
        };
        with_branches(&[schema], root).parts.iter().any(|part| {
            members(part, "properties").any(&mut is_bound)
                || branches(part, "prefixItems").any(&mut is_bound)
                || part.get("items").is_some_and(&mut is_bound)
                || members(part, "patternProperties").any(is_map)
                || part.get("additionalProperties").is_some_and(is_map)
        })
    }
    let mut seen = FxHashSet::default();
    schemas
        .iter()
        .any(|schema| match mark_of(&[*schema], root) {
            None => takes_text(schema, root) || declares(schema, root, &mut seen),
            Some(is_bound) => is_bound,
        })
}

/// Returns true if only one value is valid, as for the tag of a variant.
fn is_constant(schema: &Value, root: &Value) -> bool {
    let view = SchemaView::of(&[schema], root);
    has(&view, "const", &|_| true)
        || has(&view, "enum", &|values| {
            values.as_array().is_some_and(|all| all.len() == 1)
        })
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

/// Returns the SHA-256 of a value, whose keys may have any order.
#[cfg(feature = "session")]
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

    fn property(schema: &Value) -> Value {
        json!({"properties": {"it": schema}})
    }

    // C12
    #[test]
    fn texts_are_bound_whatever_they_are() {
        let free = [
            json!({}),
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
            json!({"type": "string", "format": "uri"}),
            json!({"type": "string", "pattern": "^[a-z]+$", "maxLength": 20}),
            json!({"anyOf": [{"$ref": "#/$defs/Text"}, {"type": "null"}]}),
            json!({"anyOf": [{"enum": ["auto"]}, {"type": "string"}]}),
            json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
        ];
        for schema in free {
            let mut schema = property(&schema);
            schema["$defs"] = json!({"Text": {"type": "string"}});
            for text in ["https://evil.example", "evil", "/etc/passwd", "09:30", ""] {
                assert_eq!(names(&schema, &json!({"it": text})), ["/it"], "{schema}");
            }
            mark_settings(&mut schema);
            assert_eq!(schema["properties"]["it"][BINDS_SECRET], true, "{schema}");
        }
    }

    // C12
    #[test]
    fn numbers_switches_and_listed_values_are_free() {
        let free = [
            (json!({"type": "integer"}), json!(5)),
            (json!({"type": "boolean"}), json!(true)),
            (json!({"enum": ["slow", "fast"]}), json!("fast")),
            (json!({"const": "fast"}), json!("fast")),
            (
                json!({"type": "string", "allOf": [{"enum": ["slow", "fast"]}]}),
                json!("fast"),
            ),
            (
                json!({"oneOf": [{"const": "slow"}, {"const": "fast"}]}),
                json!("fast"),
            ),
            (
                json!({"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}]}),
                json!("fast"),
            ),
            (
                json!({"type": "string", "x-binds-secret": false}),
                json!("evil.example"),
            ),
            (
                json!({"type": "array", "items": {"enum": ["slow", "fast"]}}),
                json!(["fast"]),
            ),
        ];
        for (schema, value) in free {
            let mut schema = property(&schema);
            schema["$defs"] = json!({"Mode": {"enum": ["slow", "fast"]}});
            let before = schema.clone();
            assert!(names(&schema, &json!({"it": value})).is_empty(), "{schema}");
            mark_settings(&mut schema);
            assert_eq!(schema, before);
        }
    }

    // C12
    #[test]
    fn lists_of_texts_are_bound_as_a_whole_in_a_form() {
        let mut schema = property(&json!({"type": "array", "items": {"type": "string"}}));
        let config = json!({"it": ["a", "b"]});
        assert_eq!(names(&schema, &config), ["/it/0", "/it/1"]);
        mark_settings(&mut schema);
        assert_eq!(names(&schema, &config), ["/it"]);
    }

    // C12
    #[test]
    fn entries_of_maps_are_bound_with_their_names() {
        for value in [json!(null), json!("x"), json!(1), json!({"limit": 1})] {
            let config = json!({"it": {"evil.example": value}});
            for rest in [json!(true), json!({"type": "integer"})] {
                let map = property(&json!({"type": "object", "additionalProperties": rest}));
                assert_eq!(names(&map, &config), ["/it/evil.example"]);
            }
            let free = property(&json!({"additionalProperties": {"x-binds-secret": false}}));
            assert!(names(&free, &config).is_empty());
        }
    }

    #[test]
    fn a_default_map_that_is_emptied_is_bound() {
        let map = json!({"default": {"a": 1}, "additionalProperties": {"type": "integer"}});
        assert_eq!(names(&property(&map), &json!({"it": {}})), ["/it"]);
    }

    #[test]
    fn a_schema_that_fans_out_is_bound_in_bounded_time() {
        let branches = vec![json!({"type": "array", "items": {"$ref": "#/$defs/Deep"}}); 40];
        let mut schema = property(&json!({"$ref": "#/$defs/Deep"}));
        schema["$defs"] = json!({"Deep": {"anyOf": branches}});
        mark_settings(&mut schema);
        assert_eq!(schema["properties"]["it"][BINDS_SECRET], true);
    }

    #[test]
    fn variants_with_other_defaults_are_bound() {
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        #[serde(tag = "kind", rename_all = "lowercase")]
        enum Tagged {
            A {
                #[serde(default = "a")]
                host: String,
            },
            B {
                #[serde(default = "b")]
                host: String,
            },
        }
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        #[serde(rename_all = "lowercase")]
        enum Outside {
            A {
                #[serde(default = "a")]
                host: String,
            },
            B {
                #[serde(default = "b")]
                host: String,
            },
            None,
        }
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        #[serde(rename_all = "lowercase")]
        enum Mode {
            /// Fast
            Fast,
            /// Slow
            Slow,
        }
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        struct Settings {
            tagged: Tagged,
            outside: Outside,
            mode: Mode,
        }
        fn a() -> String {
            "a.example".into()
        }
        fn b() -> String {
            "b.example".into()
        }
        let form = ToolsetMetadata::new("shop", "Sell.").configured_by::<Settings, ()>();
        let bound = |tagged: Value, outside: Value, mode: &str| {
            form.bound_settings(&json!({"tagged": tagged, "outside": outside, "mode": mode}))
        };
        let before = bound(json!({"kind": "b"}), json!({"a": {}}), "fast");
        let changed = |tagged, outside| bound(tagged, outside, "slow").changed(&before);
        assert!(changed(json!({"kind": "b"}), json!({"a": {}})).is_empty());
        assert_eq!(
            changed(json!({"kind": "a"}), json!({"a": {}})),
            ["/tagged/kind"]
        );
        // The default of the other variant is not that of this one.
        assert_eq!(
            changed(json!({"kind": "b", "host": "a.example"}), json!({"a": {}})),
            ["/tagged/host"]
        );
        assert_eq!(
            changed(json!({"kind": "b"}), json!({"b": {}})),
            ["/outside"]
        );
        assert_eq!(changed(json!({"kind": "b"}), json!("none")), ["/outside"]);
    }

    #[test]
    fn marks_on_the_whole_type_bind_every_setting() {
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        #[schemars(extend("x-binds-secret" = true))]
        struct Settings {
            place: String,
            limit: u8,
        }
        let form = ToolsetMetadata::new("shop", "Sell.").configured_by::<Settings, ()>();
        let bound = form.bound_settings(&json!({"place": "x", "limit": 1}));
        assert_eq!(bound.changed(&BoundSettings::none()), ["/limit", "/place"]);
    }

    #[test]
    fn settings_are_bound_at_every_depth() {
        let relay = json!({"type": "object", "properties": {"to": {"type": "string", "format": "uri"}, "note": {}}});
        let schema = json!({
            "type": "object",
            "properties": {
                "posts": {"type": "array", "items": {"$ref": "#/$defs/Relay"}},
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
            "posts": [{"to": "https://a", "note": "x"}], "main": {"to": "https://a", "note": "x"}, "places": ["a"],
            "by_name": {"x": {"to": "https://a"}}, "free": {"url": "x"}, "tagged": {"kind": "own", "host": "a"},
            "any": {"thing": 1, "deep": [{"url": "a"}]}, "unknown": 1,
        });
        let expected = [
            "/any/deep",
            "/any/thing",
            "/by_name/x",
            "/main/note",
            "/main/to",
            "/places/0",
            "/posts/0/note",
            "/posts/0/to",
            "/tagged/host",
            "/tagged/kind",
            "/unknown",
        ];
        assert_eq!(names(&schema, &config), expected);
    }

    #[test]
    fn members_that_are_not_declared_are_bound() {
        let inner = json!({"type": "object", "properties": {"to": {"x-binds-secret": true}}});
        let schema = json!({"properties": {"way": inner}});
        // An alias of `to`, which no schema shows.
        assert_eq!(
            names(&schema, &json!({"way": {"target": "evil"}})),
            ["/way/target"]
        );
    }

    #[test]
    fn default_values_count_as_left_out() {
        let schema = json!({"properties": {
            "url": {"default": "https://a"}, "host": {"type": ["string", "null"]},
            "way": {"default": {"host": "a"}, "properties": {"host": {}}},
        }});
        assert!(names(&schema, &json!({})).is_empty());
        assert!(
            names(
                &schema,
                &json!({"url": "https://a", "host": null, "way": {"host": "a"}})
            )
            .is_empty()
        );
        assert_eq!(
            names(&schema, &json!({"url": null, "way": {"host": "b"}})),
            ["/url", "/way", "/way/host"]
        );
        // Without the default of the whole, another one holds for the host.
        assert_eq!(names(&schema, &json!({"way": {}})), ["/way"]);
    }

    #[test]
    fn order_of_keys_does_not_matter() {
        let bound = |config| BoundSettings::of(&json!({"properties": {"server": {}}}), &config);
        let one = bound(json!({"server": {"a": 1, "b": {"c": 2, "d": 3}}}));
        assert_eq!(
            one,
            bound(json!({"server": {"b": {"d": 3, "c": 2}, "a": 1}}))
        );
        assert_ne!(
            one,
            bound(json!({"server": {"a": 1, "b": {"c": 2, "d": 4}}}))
        );
    }

    #[test]
    fn forms_show_which_settings_are_bound() {
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        struct Way {
            host: String,
            limit: u8,
        }
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        struct Settings {
            base_url: Option<String>,
            #[schemars(extend("x-binds-secret" = true))]
            region: String,
            #[schemars(extend("x-binds-secret" = false))]
            server_notes: String,
            way: Way,
        }
        let form = ToolsetMetadata::new("shop", "Sell.").configured_by::<Settings, ()>();
        let schema = form.config_schema.expect("settings");
        let mark = |pointer: &str| {
            schema
                .pointer(pointer)
                .expect("a schema")
                .get("x-binds-secret")
                .cloned()
        };
        assert_eq!(mark("/properties/base_url"), Some(json!(true)));
        assert_eq!(mark("/properties/region"), Some(json!(true)));
        assert_eq!(mark("/properties/server_notes"), Some(json!(false)));
        assert_eq!(mark("/properties/way"), None);
        assert_eq!(mark("/$defs/Way/properties/host"), Some(json!(true)));
        assert_eq!(mark("/$defs/Way/properties/limit"), None);
    }
}
