//! The settings that decide where a toolset's secrets go. Sealed secrets are bound to their values.

use crate::arguments::view::{MAX_PARTS, SchemaView};
use crate::schema::normalize::BINDS_SECRET;
use crate::schema::nullable::is_null_only;
use crate::schema::walk::{branches, for_each_child_mut, join_pointer};
use crate::text::hex;
use rustc_hash::FxHashSet;
use serde_json::Value;
#[cfg(feature = "session")]
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The formats of addresses.
const FORMATS: [&str; 10] = [
    "uri",
    "uri-reference",
    "uri-template",
    "iri",
    "iri-reference",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "ip",
];

/// The words in the name of a setting that holds an address, runs a program, or decides who is trusted at an address.
const WORDS: &str = "ip ipv port ca cacert cert clientcert dns dsn node site website base instance peer upstream destination \
    redirect callback resolver remote backend cluster mirror tunnel bastion bootstrap href link scheme protocol https \
    ftp sftp ssh ldap pop mqtt amqp kafka redis command cmd program executable arg argv argument secure insecure security verify \
    trust trusted fingerprint encryption starttls plaintext target via connect connection database db shop workspace tenant region \
    hub registry idp realm path suffix";

/// Words that may also be the beginning or the end of a longer one: `mailhost`, `serverlist`.
const PARTS: [&str; 21] = [
    "url",
    "uri",
    "host",
    "server",
    "endpoint",
    "domain",
    "address",
    "addr",
    "proxy",
    "gateway",
    "webhook",
    "certificate",
    "tls",
    "ssl",
    "smtp",
    "imap",
    "relay",
    "broker",
    "socket",
    "issuer",
    "authority",
];

/// Names that may be divided into words in any way.
const COMPOUNDS: [&str; 6] = [
    "endpoint",
    "webhook",
    "hostname",
    "apibase",
    "connectionstr",
    "connstr",
];

/// The schemes whose URLs need no slashes after the colon.
const SCHEMES: [&str; 8] = ["http", "https", "ws", "wss", "ftp", "file", "unix", "data"];

/// The greatest number of times that branches inside branches are followed.
const BRANCH_DEPTH: usize = 8;

/// The settings of a record that decide where its secrets go, with a digest of each value.
///
/// A setting belongs to them if its schema has `x-binds-secret: true`, which `#[setting(binds_secret)]` in a
/// [`#[tool_type]`](crate::tool_type) writes. Without a mark it belongs to them in these cases:
///
/// - Its format is that of a URL, a host or an IP address.
/// - Its name has a word such as `url`, `host`, `server`, `port`, `proxy`, `certificate`, `tls`, `verify` or `command`, also in
///   the plural, in capitals, or as a part of a longer word.
/// - Its value is a URL, an IP address, or looks like a host, such as `mail.example.com`, `mail:25`, but also `INBOX.Sent`. A
///   name in a map belongs to them for the same reasons.
/// - It selects a variant of an enum: by a constant, or by a name if one of the variants has such a setting.
///
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
            Value::Object(members) if mark_of("", &[schema], schema) == Some(true) => {
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
                // A member that is not declared may be another spelling of one that is.
                let is_declaring = view
                    .parts
                    .iter()
                    .any(|part| part.contains_key("properties"));
                let named = view
                    .parts
                    .iter()
                    .filter_map(|part| part.get("propertyNames"))
                    .collect::<Vec<_>>();
                for (name, member) in members {
                    let (known, at) = (view.property(name), join_pointer(at, name));
                    let mark = mark_of(name, &known, root);
                    let is_key = view.declared(name).is_empty();
                    let is_place = || is_address(name) || mark_of("", &named, root) == Some(true);
                    if is_key
                        && mark != Some(false)
                        && (is_declaring || mark == Some(true) || is_place())
                    {
                        // Also with the value `null`, because the name itself counts.
                        self.0.insert(at, digest(member));
                    } else {
                        self.add_marked(mark, member, &known, root, &at);
                    }
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    let declared = view.item(position);
                    let mark = mark_of("", &declared, root);
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
            None if value.as_str().is_some_and(is_address) => {
                _ = self.0.insert(at.to_owned(), digest(value))
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

/// Marks the settings that secrets are bound to by their format or name, so that a form shows them.
pub(crate) fn mark_settings(schema: &mut Value) {
    let root = schema.clone();
    mark_properties(schema, &root);
}

fn mark_properties(schema: &mut Value, root: &Value) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    for (name, property) in map
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        let is_bound = mark_of(name, &[&*property], root) == Some(true);
        if let Some(map) = property.as_object_mut().filter(|_| is_bound) {
            map.insert(BINDS_SECRET.to_owned(), true.into());
        }
    }
    for_each_child_mut(map, &mut |child| mark_properties(child, root));
}

/// Returns whether secrets are bound to a setting with these schemas. `None` leaves it to what the setting contains.
fn mark_of(name: &str, schemas: &[&Value], root: &Value) -> Option<bool> {
    let is_named = has_address_name(name);
    let marks = schemas.iter().map(|schema| {
        let (own, view) = (
            SchemaView::of(&[*schema], root),
            with_branches(&[*schema], root),
        );
        let is_address = |format: &Value| {
            format
                .as_str()
                .is_some_and(|format| FORMATS.contains(&format))
        };
        // A mark that takes out one of several variants does not take out the others.
        match (
            has(&view, BINDS_SECRET, &|mark| mark == true),
            has(&own, BINDS_SECRET, &|mark| mark == false),
        ) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => (is_named || has(&view, "format", &is_address)).then_some(true),
        }
    });
    // Of several schemas for one value, the strictest decides.
    let strictness = |mark: &Option<bool>| match mark {
        Some(true) => 2,
        None => 1,
        Some(false) => 0,
    };
    marks
        .max_by_key(strictness)
        .unwrap_or_else(|| is_named.then_some(true))
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
        let mut is_bound = |name: &str, schema: &'a Value| match mark_of(name, &[schema], root) {
            None => declares(schema, root, seen),
            Some(is_bound) => is_bound,
        };
        let children = ["items", "additionalProperties"];
        with_branches(&[schema], root).parts.iter().any(|part| {
            let named = ["properties", "patternProperties"]
                .into_iter()
                .filter_map(|keyword| part.get(keyword)?.as_object());
            named.flatten().any(|(name, schema)| is_bound(name, schema))
                || branches(part, "prefixItems").any(|schema| is_bound("", schema))
                || children
                    .into_iter()
                    .filter_map(|keyword| part.get(keyword))
                    .any(|schema| is_bound("", schema))
        })
    }
    let mut seen = FxHashSet::default();
    schemas.iter().any(|schema| {
        mark_of("", &[*schema], root) == Some(true) || declares(schema, root, &mut seen)
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

/// Returns true if one of the words of a name is that of an address: `smtp_server`, `baseUrl`, `SMTPServer`, `ca-file`.
fn has_address_name(name: &str) -> bool {
    let words = words(name);
    let joined = words.concat();
    words
        .iter()
        .any(|word| is_address_word(word.trim_end_matches(char::is_numeric)))
        || COMPOUNDS.iter().any(|compound| joined.contains(compound))
}

/// Returns the words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = name.chars().peekable();
    let (mut after_lower, mut after_upper) = (false, false);
    while let Some(letter) = letters.next() {
        let begins_word = letter.is_uppercase()
            && after_upper
            && letters.peek().is_some_and(|next| next.is_lowercase());
        if !letter.is_alphanumeric() || (letter.is_uppercase() && after_lower) || begins_word {
            words.push(String::new());
        }
        (after_lower, after_upper) = (
            letter.is_lowercase() || letter.is_numeric(),
            letter.is_uppercase(),
        );
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

fn is_address_word(word: &str) -> bool {
    let of_y = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
    let singulars = [
        word.strip_suffix('s'),
        word.strip_suffix("es"),
        of_y.as_deref(),
    ];
    let is_address = |word: &str| {
        !word.is_empty()
            && (WORDS.split_whitespace().any(|known| known == word)
                || word.ends_with("origin")
                || PARTS
                    .iter()
                    .any(|part| word.starts_with(part) || word.ends_with(part)))
    };
    is_address(word) || singulars.into_iter().flatten().any(is_address)
}

/// Returns true for a URL, an IP address, and a host such as `mail.example.com` or `mail:25`, but not for an e-mail address.
fn is_address(text: &str) -> bool {
    // Parsers of URLs skip these, too.
    let text = text.replace(|letter: char| letter.is_control(), "");
    let text = text.trim();
    let is_scheme = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "+-.:".contains(letter))
    };
    let has_known_scheme = text.split_once(':').is_some_and(|(scheme, _)| {
        SCHEMES
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    });
    let place = text.split(['/', '?', '#']).next().unwrap_or_default();
    let without_user = place.rsplit('@').next().unwrap_or_default();
    let is_number = |text: &str| {
        let address = text.trim_matches(['[', ']']);
        address
            .split('%')
            .next()
            .unwrap_or_default()
            .parse::<IpAddr>()
            .is_ok()
    };
    let has_port = without_user.rsplit_once(':').is_some_and(|(host, port)| {
        let is_host = host.contains(char::is_alphabetic)
            && host
                .chars()
                .all(|letter| letter.is_alphanumeric() || "-._".contains(letter));
        port.parse::<u16>().is_ok() && (is_host || is_number(host))
    });
    has_known_scheme
        || text
            .split_once("://")
            .is_some_and(|(scheme, _)| is_scheme(scheme))
        || text.starts_with("//")
        || text.starts_with("\\\\")
        || text.starts_with('@')
        || is_number(place)
        || is_host(place)
        || has_port
}

/// Returns true for a name such as `mail.example.com`.
fn is_host(place: &str) -> bool {
    let labels = place.trim_end_matches('.').split('.').collect::<Vec<_>>();
    let is_label = |label: &&str| {
        !label.is_empty()
            && label
                .chars()
                .all(|letter| letter.is_alphanumeric() || "-_".contains(letter))
    };
    let is_top = |label: &&str| label.chars().count() > 1 && label.contains(char::is_alphabetic);
    place.eq_ignore_ascii_case("localhost")
        || (labels.len() > 1 && labels.iter().all(is_label) && labels.last().is_some_and(is_top))
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
            "addresses",
            "addrs",
            "ips",
            "proxies",
            "origins",
            "gateways",
            "webhooks",
            "hostnames",
            "subdomains",
            "brokers",
            "nodes",
            "authorities",
            "SMTPServer",
            "smtpserver",
            "apihost",
            "HTTPProxy",
            "mailhost",
            "ipaddress",
            "IPAddresses",
            "api_base",
            "apibase",
            "dsn",
            "connection_string",
            "connectionString",
            "bootstrap",
            "relay",
            "smtp",
            "imap",
            "socket",
            "issuer",
            "site",
            "instance",
            "command",
            "args",
            "program",
            "insecure",
            "verify_tls",
            "skipVerify",
            "end_point",
            "web_hooks",
            "target",
            "connection",
            "db",
            "path",
            "workspace",
        ] {
            assert!(has_address_name(name), "{name}");
        }
        for name in [
            "name",
            "timeout",
            "folder",
            "limit",
            "calendar_id",
            "currency",
            "timeout_seconds",
            "from_email",
            "category",
            "support",
            "report",
            "title",
            "notes",
            "time_zone",
            "language",
            "max_results",
            "start_hour",
            "greeting",
            "s",
            "",
        ] {
            assert!(!has_address_name(name), "{name}");
        }
    }

    #[test]
    fn values_that_are_addresses_are_bound() {
        let schema = json!({"properties": {"place": {}, "free": {"x-binds-secret": false}}});
        for text in [
            "https://evil.example",
            " HTTPS://evil.example",
            "ht\ttps:evil.example",
            "https:\\\\evil.example",
            "//evil.example/x",
            "jdbc:postgresql://evil.example/x",
            "imap+ssl://evil.example",
            "10.0.0.1",
            "10.0.0.0/8",
            "::1",
            "[2001:db8::1]:443",
            "evil.example:443",
            "evil:8080/x",
            "imap.evil.example",
            "evil.example/v1",
            "localhost",
            "@evil.example/",
            "user@evil.example:25",
            "evil_host:443",
            "evil.example:443?x",
            "[fe80::1%eth0]:80",
        ] {
            assert_eq!(
                names(&schema, &json!({"place": text, "free": text})),
                ["/place"],
                "{text}"
            );
        }
        for text in [
            "",
            "Hello",
            "INBOX",
            "09:30",
            "a: b",
            "me@a.example",
            "1.5",
            "see https://a.example",
            "and/or",
        ] {
            assert!(names(&schema, &json!({"place": text})).is_empty(), "{text}");
        }
    }

    #[test]
    fn names_in_maps_are_bound_if_they_are_addresses() {
        let map = |more: Value| json!({"properties": {"accounts": {"type": "object", "additionalProperties": more}}});
        for name in [
            "https://evil.example",
            "evil.example",
            "evil.example.:25",
            "localhost",
            "10.0.0.1",
            "server",
        ] {
            for value in [json!(null), json!("x"), json!({"limit": 1})] {
                let bound = names(
                    &map(true.into()),
                    &json!({"accounts": {name: value, "work": value}}),
                );
                assert_eq!(bound, [join_pointer("/accounts", name)], "{name}");
            }
            let free = map(json!({"x-binds-secret": false}));
            assert!(
                names(&free, &json!({"accounts": {name: 1}})).is_empty(),
                "{name}"
            );
        }
        let named = json!({"propertyNames": {"format": "hostname"}, "additionalProperties": true});
        assert_eq!(
            names(
                &json!({"properties": {"all": named}}),
                &json!({"all": {"a": 1}})
            ),
            ["/all/a"]
        );
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
            "/any/deep/0/url",
            "/by_name/x/to",
            "/main/to",
            "/places/0",
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
        assert_eq!(mark("/$defs/Way/properties/note"), None);
    }
}
