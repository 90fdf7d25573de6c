//! Properties under names that a provider accepts, and the way back.
//!
//! A name has one new name in the whole schema, which no other name or value of the schema has. So
//! the new schema means the same, and a projection of it needs no knowledge of names. In arguments
//! a name is changed only where a schema that may apply there declares it: the keys of a map are
//! data.

use crate::json_reader::JsonReader;
use crate::report::{Change, ChangeKind, Refusal};
use crate::schema::document::{
    SchemaDocument, SchemaPlace, for_each_subschema, list_places, named_places,
};
use crate::schema::matcher::item;
use crate::schema::rules::PropertyNames;
use foldhash::{HashMap, HashSet};
use indexmap::IndexMap;
use serde_json::{Map, Result, Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use tool_core::arguments::SchemaChecker;
use tool_core::schema::{
    LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, is_schema, join_pointer, percent_decode,
};
use tool_core::text::hex;

/// The maximum number of rules of a schema, and of schemas that are visited for them. Beyond it a
/// new name is restored at any place.
const MAX_RULES: usize = 1_000;
const MAX_STEPS: usize = 200_000;

/// The maximum number of comparisons of names with the patterns of a schema.
const MAX_COMPARISONS: usize = 1_000;

/// The rule of values whose schemas are not known: every name is restored.
const ANYWHERE: usize = 0;
/// The rule of the arguments.
const ROOT: usize = 1;

/// The properties of a tool that have other names at the provider.
#[derive(Debug)]
pub(crate) struct PropertyRenames {
    /// The names at the provider by the tool's own.
    wire: HashMap<String, String>,
    /// The tool's own names by those at the provider.
    own: HashMap<String, String>,
    /// By [`ANYWHERE`], [`ROOT`] and the places inside.
    rules: Vec<RenameRule>,
}

/// A schema whose properties have new names.
#[derive(Debug)]
pub(crate) struct RenamedSchema {
    pub(crate) schema: Value,
    pub(crate) renames: PropertyRenames,
    pub(crate) changes: Vec<Change>,
}

/// The names in the values of one place.
#[derive(Debug, Default)]
struct RenameRule {
    /// The tool's own names that are changed here.
    declared: HashSet<String>,
    /// The rules of members by the tool's own names, and of the other members.
    members: HashMap<String, Option<usize>>,
    others: Option<usize>,
    /// The rules of elements. The last is that of all further ones.
    items: Vec<Option<usize>>,
}

/// Gives properties whose names the provider does not accept other names; `None` if it accepts all.
///
/// # Errors
///
/// A name that no other name can stand for, because the schema restricts the names of properties by
/// patterns.
pub(crate) fn rename_properties(
    names: PropertyNames,
    schema: &Value,
) -> std::result::Result<Option<RenamedSchema>, Refusal> {
    let odd = odd_names(names, schema);
    if odd.is_empty() {
        return Ok(None);
    }
    let wire = choose_names(names, schema, &odd)?;
    let own = wire
        .iter()
        .map(|(own, wire)| (wire.clone(), own.clone()))
        .collect();
    let (rules, rule_of) = RenameCompiler::rules_of(schema, &wire);
    let renames = PropertyRenames { wire, own, rules };
    let mut writer = SchemaWriter {
        renames: &renames,
        rule_of: &rule_of,
        changes: Vec::new(),
    };
    let schema = writer.schema(schema, "");
    let changes = writer.changes;
    Ok(Some(RenamedSchema {
        schema,
        renames,
        changes,
    }))
}

/// Returns a declared name that the provider does not accept, with the pointer to the schema that
/// declares it.
pub(crate) fn refused_name(names: PropertyNames, schema: &Value) -> Option<Refusal> {
    odd_names(names, schema)
        .into_iter()
        .next()
        .map(|(name, pointer)| refusal(names, name, pointer))
}

fn refusal(names: PropertyNames, name: &str, pointer: String) -> Refusal {
    Refusal::PropertyName {
        pointer,
        name: name.to_owned(),
        allowed: names.pattern,
    }
}

/// Returns the names that the provider does not accept, each with the pointer to the first schema
/// that declares it.
fn odd_names(names: PropertyNames, root: &Value) -> IndexMap<&str, String> {
    let mut odd = IndexMap::new();
    let mut open = vec![SchemaPlace::root(root)];
    while let Some(SchemaPlace { schema, pointer }) = open.pop() {
        let Value::Object(map) = schema else { continue };
        for name in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
        {
            if !(names.accepts)(name) {
                odd.entry(name.as_str()).or_insert_with(|| pointer.clone());
            }
        }
        for_each_subschema(map, &pointer, &mut |child| open.push(child.place));
    }
    odd
}

/// Chooses a name for each odd one.
fn choose_names(
    names: PropertyNames,
    schema: &Value,
    odd: &IndexMap<&str, String>,
) -> std::result::Result<HashMap<String, String>, Refusal> {
    let mut taken = texts_of(schema);
    let patterns = name_schemas(schema)
        .iter()
        .map(SchemaChecker::new)
        .collect::<Vec<_>>();
    let mut chosen = HashMap::default();
    let mut sorted = odd.iter().collect::<Vec<_>>();
    sorted.sort_unstable();
    for (name, pointer) in sorted {
        let is_alike = |wire: &str| {
            patterns
                .iter()
                .all(|pattern| pattern.accepts(&json!(name)) == pattern.accepts(&json!(wire)))
        };
        let is_bounded = patterns.len() * odd.len() <= MAX_COMPARISONS;
        let mut candidates = candidates(names, name).into_iter();
        let wire = candidates.find(|wire| {
            (names.accepts)(wire) && !taken.contains(wire.as_str()) && is_bounded && is_alike(wire)
        });
        let Some(wire) = wire else {
            return Err(refusal(names, name, pointer.clone()));
        };
        taken.insert(wire.clone());
        chosen.insert((*name).to_owned(), wire);
    }
    Ok(chosen)
}

/// Returns names for an odd one: its own letters, and then with a hash of it.
fn candidates(names: PropertyNames, name: &str) -> Vec<String> {
    /// The length of a name before a hash.
    const STEM: usize = 40;
    let letter = |letter: char| {
        if (names.accepts)(letter.encode_utf8(&mut [0; 4])) {
            letter
        } else {
            '_'
        }
    };
    let plain = name.chars().map(letter).collect::<String>();
    let trimmed = plain.trim_matches('_');
    let stem = if trimmed.is_empty() {
        "p"
    } else {
        trimmed.get(..STEM).unwrap_or(trimmed)
    };
    let hashed = (0..8_u8).map(|attempt| {
        let hash = Sha256::new_with_prefix(name)
            .chain_update([attempt])
            .finalize();
        format!("{stem}_{}", hex(hash.get(..4).unwrap_or_default()))
    });
    [trimmed.to_owned(), plain.clone()]
        .into_iter()
        .chain(hashed)
        .collect()
}

/// Returns every text of a document, names of members among them.
fn texts_of(root: &Value) -> HashSet<String> {
    let mut texts = HashSet::default();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => _ = texts.insert(text.clone()),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                texts.extend(members.keys().cloned());
                open.extend(members.values());
            }
            _ => {}
        }
    }
    texts
}

/// Returns the schemas of the names of properties. A name and its new name have to be alike to
/// each.
fn name_schemas(root: &Value) -> Vec<Value> {
    let mut found = HashSet::default();
    let mut schemas = Vec::new();
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        let Value::Object(map) = schema else { continue };
        let patterns = map
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys);
        let patterns = patterns.map(|pattern| json!({"pattern": pattern}));
        for schema in patterns.chain(map.get("propertyNames").cloned()) {
            if found.insert(schema.to_string()) {
                schemas.push(schema);
            }
        }
        for_each_subschema(map, "", &mut |child| open.push(child.place.schema));
    }
    schemas
}

/// Makes the rules of a schema.
struct RenameCompiler<'s, 'n> {
    document: SchemaDocument<'s>,
    wire: &'n HashMap<String, String>,
    rules: Vec<RenameRule>,
    /// By the schemas that may apply at a place. They may lead back to themselves.
    known: HashMap<Vec<*const Value>, usize>,
    /// The rules that are not made yet.
    pending: Vec<(usize, Vec<SchemaPlace<'s>>)>,
    steps: usize,
}

/// A rule of each schema.
type RuleOfSchema = HashMap<*const Value, usize>;

impl<'s, 'n> RenameCompiler<'s, 'n> {
    fn rules_of(
        schema: &'s Value,
        wire: &'n HashMap<String, String>,
    ) -> (Vec<RenameRule>, RuleOfSchema) {
        let document = SchemaDocument::new(schema);
        let anywhere = RenameRule {
            declared: wire.keys().cloned().collect(),
            members: HashMap::default(),
            others: Some(ANYWHERE),
            items: vec![Some(ANYWHERE)],
        };
        let (known, pending) = Default::default();
        let mut compiler = Self {
            document,
            wire,
            rules: vec![anywhere],
            known,
            pending,
            steps: 0,
        };
        compiler.rule(vec![SchemaPlace::root(schema)]);
        let mut rule_of = RuleOfSchema::default();
        while let Some((at, places)) = compiler.pending.pop() {
            let rule = compiler.make(&places);
            for place in &places {
                rule_of
                    .entry(std::ptr::from_ref(place.schema))
                    .or_insert(at);
            }
            if let Some(slot) = compiler.rules.get_mut(at) {
                *slot = rule;
            }
        }
        (compiler.rules, rule_of)
    }

    /// Returns the rule of a place with these schemas; `None` if no schema says anything.
    fn rule(&mut self, places: Vec<SchemaPlace<'s>>) -> Option<usize> {
        let places = self.at_the_same_value(places);
        if places.is_empty() {
            return None;
        }
        if self.rules.len() >= MAX_RULES || self.steps > MAX_STEPS {
            return Some(ANYWHERE);
        }
        let key = places
            .iter()
            .map(|place| std::ptr::from_ref(place.schema))
            .collect::<Vec<_>>();
        let next = self.rules.len();
        let at = *self.known.entry(key).or_insert(next);
        if at == next {
            self.rules.push(RenameRule::default());
            self.pending.push((at, places));
        }
        Some(at)
    }

    /// Returns the schemas that may apply to a value: those given, and all that they refer to or
    /// combine.
    fn at_the_same_value(&mut self, mut open: Vec<SchemaPlace<'s>>) -> Vec<SchemaPlace<'s>> {
        let mut seen = HashSet::default();
        let mut all = Vec::new();
        while let Some(place) = open.pop() {
            let Value::Object(map) = place.schema else {
                continue;
            };
            if !seen.insert(std::ptr::from_ref(place.schema)) {
                continue;
            }
            self.steps += 1;
            for keyword in ["$ref", "$dynamicRef"] {
                let reference = map.get(keyword).and_then(Value::as_str);
                open.extend(
                    reference
                        .and_then(|reference| self.document.resolve(&place.pointer, reference)),
                );
            }
            for keyword in ["allOf", "anyOf", "oneOf"] {
                open.extend(place.list(keyword));
            }
            open.extend(
                ["if", "then", "else", "not"]
                    .iter()
                    .filter_map(|keyword| inside(&place, keyword)),
            );
            let dependent = map.get("dependentSchemas").into_iter();
            open.extend(
                dependent
                    .flat_map(|named| named_places(named, &place.pointer, "dependentSchemas"))
                    .map(|it| it.1),
            );
            all.push(place);
        }
        all
    }

    fn make(&mut self, places: &[SchemaPlace<'s>]) -> RenameRule {
        let mut rule = RenameRule::default();
        let mut names = HashSet::default();
        for map in places.iter().filter_map(|place| place.schema.as_object()) {
            names.extend(
                map.get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(Map::keys),
            );
            let declared = declared_names(map).filter(|name| self.wire.contains_key(*name));
            rule.declared.extend(declared.map(str::to_owned));
        }
        for name in names {
            self.steps += places.len();
            let schemas = places
                .iter()
                .flat_map(|place| member_schemas(place, Some(name)))
                .collect();
            let inside = self.rule(schemas);
            rule.members.insert(name.clone(), inside);
        }
        rule.others = self.rule(
            places
                .iter()
                .flat_map(|place| member_schemas(place, None))
                .collect(),
        );
        let prefixes = places
            .iter()
            .filter_map(|place| place.schema.get("prefixItems")?.as_array());
        let count = prefixes.map(Vec::len).max().unwrap_or(0);
        for at in 0..=count {
            self.steps += places.len();
            let items = places.iter().filter_map(|place| item(place, at));
            let rest = places.iter().flat_map(|place| {
                ["contains", "unevaluatedItems"]
                    .into_iter()
                    .filter_map(|keyword| inside(place, keyword))
            });
            let inside = self.rule(items.chain(rest).collect());
            rule.items.push(inside);
        }
        rule
    }
}

/// Returns the schema in a keyword's value.
fn inside<'s>(place: &SchemaPlace<'s>, keyword: &str) -> Option<SchemaPlace<'s>> {
    let schema = place
        .schema
        .get(keyword)
        .filter(|schema| is_schema(schema))?;
    Some(SchemaPlace {
        schema,
        pointer: join_pointer(&place.pointer, keyword),
    })
}

/// Returns the names that a schema declares or requires.
fn declared_names(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let keys = |keyword: &str| {
        map.get(keyword)
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
    };
    let named = ["properties", "dependentSchemas", "dependentRequired"]
        .into_iter()
        .flat_map(keys)
        .map(String::as_str);
    let lists = map
        .get("dependentRequired")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values);
    let lists = map
        .get("required")
        .into_iter()
        .chain(lists)
        .filter_map(Value::as_array);
    named.chain(lists.flatten().filter_map(Value::as_str))
}

/// Returns the schemas of a member in one schema: of a property, or of any other member.
fn member_schemas<'s>(place: &SchemaPlace<'s>, name: Option<&str>) -> Vec<SchemaPlace<'s>> {
    let named = |keyword: &'static str| {
        let schemas = place.schema.get(keyword).into_iter();
        schemas.flat_map(move |schemas| named_places(schemas, &place.pointer, keyword))
    };
    let own = name.and_then(|name| named("properties").find(|(known, _)| *known == name));
    let mut schemas = named("patternProperties")
        .map(|(_, place)| place)
        .collect::<Vec<_>>();
    if own.is_none() {
        schemas.extend(inside(place, "additionalProperties"));
    }
    schemas.extend(own.map(|(_, place)| place));
    schemas.extend(inside(place, "unevaluatedProperties"));
    schemas
}

/// Writes a schema with the new names.
struct SchemaWriter<'r> {
    renames: &'r PropertyRenames,
    rule_of: &'r RuleOfSchema,
    changes: Vec<Change>,
}

impl SchemaWriter<'_> {
    fn schema(&mut self, schema: &Value, pointer: &str) -> Value {
        let Value::Object(map) = schema else {
            return schema.clone();
        };
        let mut written = Map::new();
        for (keyword, value) in map {
            let new = self.keyword((keyword, value), schema, pointer);
            written.insert(keyword.clone(), new);
        }
        Value::Object(written)
    }

    fn keyword(
        &mut self,
        (keyword, value): (&str, &Value),
        holder: &Value,
        pointer: &str,
    ) -> Value {
        match (keyword, value) {
            ("properties", Value::Object(named)) => self.properties(named, pointer),
            ("dependentSchemas", Value::Object(_)) => {
                let named = named_places(value, pointer, keyword);
                named
                    .map(|(name, place)| {
                        (self.wire(name), self.schema(place.schema, &place.pointer))
                    })
                    .collect()
            }
            ("required", Value::Array(names)) => self.names(names),
            ("dependentRequired", Value::Object(lists)) => {
                let list = |list: &Value| {
                    list.as_array()
                        .map_or_else(|| list.clone(), |names| self.names(names))
                };
                lists
                    .iter()
                    .map(|(name, names)| (self.wire(name), list(names)))
                    .collect()
            }
            ("$ref" | "$dynamicRef", Value::String(reference)) => {
                self.renames.reference(reference).into()
            }
            ("enum" | "const" | "default" | "examples", _) => self.value(keyword, value, holder),
            (_, Value::Array(_)) if LIST_KEYWORDS.contains(&keyword) => {
                list_places(value, pointer, keyword)
                    .map(|place| self.schema(place.schema, &place.pointer))
                    .collect()
            }
            (_, Value::Object(_)) if MAP_KEYWORDS.contains(&keyword) => {
                let named = named_places(value, pointer, keyword);
                named
                    .map(|(name, place)| {
                        (name.to_owned(), self.schema(place.schema, &place.pointer))
                    })
                    .collect()
            }
            _ if SCHEMA_KEYWORDS.contains(&keyword) => {
                self.schema(value, &join_pointer(pointer, keyword))
            }
            _ => value.clone(),
        }
    }

    fn properties(&mut self, named: &Map<String, Value>, pointer: &str) -> Value {
        let under = join_pointer(pointer, "properties");
        let mut written = Map::new();
        for (name, schema) in named {
            let mut new = self.schema(schema, &join_pointer(&under, name));
            let wire = self.wire(name);
            if wire != *name {
                let detail = format!("`{}` is declared as `{wire}`", name.escape_debug());
                let pointer = pointer.to_owned();
                let keyword = "properties".to_owned();
                self.changes.push(Change {
                    pointer,
                    keyword,
                    kind: ChangeKind::Rewritten,
                    detail,
                });
                add_name(&mut new, name);
            }
            written.insert(wire, new);
        }
        Value::Object(written)
    }

    /// Writes the values of a keyword as the model writes them.
    fn value(&self, keyword: &str, value: &Value, holder: &Value) -> Value {
        let rule = self
            .rule_of
            .get(&std::ptr::from_ref(holder))
            .copied()
            .unwrap_or(ANYWHERE);
        match value {
            Value::Array(values) if matches!(keyword, "enum" | "examples") => values
                .iter()
                .map(|value| self.renames.written_value(rule, value))
                .collect(),
            value => self.renames.written_value(rule, value),
        }
    }

    fn names(&self, names: &[Value]) -> Value {
        names
            .iter()
            .map(|name| {
                name.as_str()
                    .map_or_else(|| name.clone(), |name| self.wire(name).into())
            })
            .collect()
    }

    fn wire(&self, name: &str) -> String {
        self.renames.wire_name(name).to_owned()
    }
}

/// Adds a name to the description of its property, unless the new name shows it: one without ASCII
/// letters, or a long one.
fn add_name(schema: &mut Value, name: &str) {
    let shows_it = name.is_ascii()
        && name.len() <= 64
        && name.contains(|letter: char| letter.is_ascii_alphanumeric());
    if let Some(map) = schema.as_object_mut().filter(|_| !shows_it) {
        let text = map
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let text = format!("{text} (named {})", Value::from(name));
        map.insert("description".to_owned(), text.trim_start().into());
    }
}

impl PropertyRenames {
    /// Returns the name of a property at the provider.
    pub(crate) fn wire_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.wire.get(name).map_or(name, String::as_str)
    }

    /// Returns arguments of the model with the tool's own names. A text that is not JSON stays as
    /// it is.
    pub(crate) fn restore<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        self.rename(ROOT, arguments, &self.own)
    }

    /// Returns arguments with the names at the provider. A text that is not JSON stays as it is.
    pub(crate) fn write<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        self.rename(ROOT, arguments, &self.wire)
    }

    /// Returns the text of an error with the names at the provider, where a name is a step of a
    /// pointer or quoted.
    pub(crate) fn write_error<'a>(&self, text: &'a str) -> Cow<'a, str> {
        const ENDS: [char; 4] = ['/', '`', '"', '\n'];
        let wire = |step: &str| {
            self.wire
                .get(&*step.replace("~1", "/").replace("~0", "~"))
                .map(String::as_str)
        };
        let mut written = String::new();
        for piece in text.split_inclusive(ENDS) {
            let (step, end) = piece.split_at(piece.trim_end_matches(ENDS).len());
            // A list of problems has the pointer before a colon.
            let (before, after) = step.find(": ").map_or((step, ""), |at| step.split_at(at));
            match wire(step)
                .map(|step| (step, ""))
                .or_else(|| Some((wire(before)?, after)))
            {
                Some((wire, after)) => written.extend([wire, after, end]),
                None => written.push_str(piece),
            }
        }
        if written == text {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(written)
        }
    }

    /// Returns a pointer into the renamed schema as one into the tool's own.
    pub(crate) fn own_pointer(&self, pointer: &str) -> String {
        renamed_pointer(pointer, &self.own)
    }

    fn reference(&self, reference: &str) -> String {
        let Some((resource, fragment)) = reference.split_once('#') else {
            return reference.to_owned();
        };
        let Some(pointer) = percent_decode(fragment).filter(|pointer| pointer.starts_with('/'))
        else {
            return reference.to_owned();
        };
        match renamed_pointer(&pointer, &self.wire) {
            new if new == pointer => reference.to_owned(),
            new => format!("{resource}#{}", escaped_fragment(&new)),
        }
    }

    fn written_value(&self, rule: usize, value: &Value) -> Value {
        if !value.is_object() && !value.is_array() {
            return value.clone();
        }
        let text = value.to_string();
        match self.rename(rule, &text, &self.wire) {
            Cow::Borrowed(_) => value.clone(),
            Cow::Owned(renamed) => serde_json::from_str(&renamed).unwrap_or_else(|_| value.clone()),
        }
    }

    fn rename<'a>(&self, rule: usize, text: &'a str, to: &HashMap<String, String>) -> Cow<'a, str> {
        let mut renamer = Renamer {
            renames: self,
            to,
            text,
            written: String::new(),
            from: 0,
        };
        let mut json = JsonReader::new(text);
        match renamer
            .read(Some(rule), &mut json)
            .and_then(|()| json.end())
        {
            Ok(()) if renamer.from > 0 => {
                renamer
                    .written
                    .push_str(text.get(renamer.from..).unwrap_or_default());
                Cow::Owned(renamer.written)
            }
            _ => Cow::Borrowed(text),
        }
    }
}

/// Changes the names of one text.
struct Renamer<'r, 't> {
    renames: &'r PropertyRenames,
    to: &'r HashMap<String, String>,
    text: &'t str,
    /// The text before `from` with the new names.
    written: String,
    from: usize,
}

impl<'t> Renamer<'_, 't> {
    fn read(&mut self, rule: Option<usize>, json: &mut JsonReader<'t>) -> Result<()> {
        let renames = self.renames;
        let Some(rule) = rule.and_then(|rule| renames.rules.get(rule)) else {
            return json.skip();
        };
        match json.peek() {
            b'{' => json.members(|json| self.member(rule, json)),
            b'[' => {
                let mut items = rule
                    .items
                    .iter()
                    .chain(rule.items.last().into_iter().cycle());
                json.array(|json| self.read(items.next().copied().flatten(), json))
            }
            _ => json.skip(),
        }
    }

    fn member(&mut self, rule: &RenameRule, json: &mut JsonReader<'t>) -> Result<()> {
        json.peek();
        let start = json.place();
        let name = json.name()?;
        let own = self
            .renames
            .own
            .get(&*name)
            .filter(|own| rule.declared.contains(*own));
        let own = own.map_or(&*name, String::as_str);
        if let Some(new) = self.to.get(&*name).filter(|_| rule.declared.contains(own)) {
            self.written
                .push_str(self.text.get(self.from..start).unwrap_or_default());
            self.written
                .push_str(&Value::from(new.as_str()).to_string());
            self.written.push(':');
            self.from = json.place();
        }
        self.read(rule.members.get(own).copied().unwrap_or(rule.others), json)
    }
}

/// Returns a pointer with other names of properties.
fn renamed_pointer(pointer: &str, to: &HashMap<String, String>) -> String {
    /// The meaning of the next step.
    enum Step {
        Keyword,
        /// The name of a property, or of another schema.
        Name {
            is_property: bool,
        },
        /// The number of a schema in a list, or a keyword of the one schema.
        Item,
        /// Below an unknown keyword.
        Unknown,
    }
    let mut next = Step::Keyword;
    let mut written = String::new();
    for step in pointer.split('/').skip(1) {
        let own = step.replace("~1", "/").replace("~0", "~");
        let new = to
            .get(&own)
            .filter(|_| matches!(next, Step::Name { is_property: true }));
        written = join_pointer(&written, new.unwrap_or(&own));
        let is_index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        next = match next {
            Step::Item if is_index => Step::Keyword,
            Step::Name { .. } => Step::Keyword,
            Step::Unknown => Step::Unknown,
            Step::Keyword | Step::Item => match step {
                "properties" | "dependentSchemas" => Step::Name { is_property: true },
                _ if MAP_KEYWORDS.contains(&step) => Step::Name { is_property: false },
                _ if LIST_KEYWORDS.contains(&step) => Step::Item,
                _ if SCHEMA_KEYWORDS.contains(&step) => Step::Keyword,
                _ => Step::Unknown,
            },
        };
    }
    written
}

/// Escapes a pointer for the fragment of a reference.
fn escaped_fragment(pointer: &str) -> String {
    let escape = |byte: u8| match byte {
        b'/' | b'~' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    pointer.bytes().map(escape).collect()
}
