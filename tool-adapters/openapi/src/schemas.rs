//! The schemas of a document, rewritten once for all tools: references become `$defs`, and keywords
//! of OpenAPI 3.0 those of draft 2020-12.

use crate::document::Document;
use crate::names::Names;
use crate::refusal::RefusalReason;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};
use tool_core::schema::{
    LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, is_schema, to_draft_2020_12,
};
use tool_core::tool::{SharedDefinition, SharedDefinitions};

/// Maximum size of the schemas of one tool in bytes, as JSON.
pub(crate) const MAX_TOOL_SCHEMA: usize = 512 << 10;

/// Maximum size of a schema that is written where it is used, in bytes.
const MAX_INLINE_SCHEMA: usize = 16 << 10;

/// Maximum memory that all rewritten definitions of a document take, in bytes.
const MAX_MEMORY: usize = 256 << 20;

/// The definitions of a document, each rewritten at its first use and shared by the tools that
/// refer to it.
pub(crate) struct Definitions<'a> {
    document: &'a Document,
    /// The position of each definition by the address of its original.
    positions: HashMap<usize, usize>,
    all: Vec<Definition<'a>>,
    taken: Names,
    /// The definitions that some of them lead to, with these.
    reached: HashMap<BTreeSet<usize>, Result<ReachedDefinitions, RefusalReason>>,
    /// About the memory that the rewritten definitions take, in bytes.
    memory: usize,
}

struct Definition<'a> {
    name: String,
    original: &'a Value,
    rewritten: Option<Result<RewrittenDefinition, RefusalReason>>,
}

#[derive(Clone)]
struct RewrittenDefinition {
    shared: SharedDefinition,
    size: usize,
    refers_to: BTreeSet<usize>,
}

#[derive(Clone)]
struct ReachedDefinitions {
    shared: SharedDefinitions,
    size: usize,
}

impl<'a> Definitions<'a> {
    pub(crate) fn new(document: &'a Document) -> Self {
        Self {
            document,
            positions: HashMap::new(),
            all: Vec::new(),
            taken: Names::default(),
            reached: HashMap::new(),
            memory: 0,
        }
    }

    /// Returns the position of a schema of the document, which is named `wanted` if the name is
    /// free.
    fn position(&mut self, original: &'a Value, wanted: &str) -> usize {
        let address = std::ptr::from_ref(original).addr();
        if let Some(position) = self.positions.get(&address) {
            return *position;
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let mut plain = wanted
            .chars()
            .map(|c| if is_plain(c) { c } else { '_' })
            .take(64)
            .collect::<String>();
        if plain.is_empty() {
            plain.push_str("schema");
        }
        let name = self.taken.free(&plain, usize::MAX);
        let position = self.all.len();
        self.positions.insert(address, position);
        self.all.push(Definition {
            name,
            original,
            rewritten: None,
        });
        position
    }

    fn name(&self, position: usize) -> &str {
        self.all
            .get(position)
            .map_or("", |definition| &definition.name)
    }

    /// Returns a definition as one of draft 2020-12.
    fn rewritten(&mut self, position: usize) -> Result<RewrittenDefinition, RefusalReason> {
        let Some(definition) = self.all.get(position) else {
            return Err(not_a_schema());
        };
        if let Some(rewritten) = &definition.rewritten {
            return rewritten.clone();
        }
        let rewritten = self.rewrite(position);
        if let Some(definition) = self.all.get_mut(position) {
            definition.rewritten = Some(rewritten.clone());
        }
        rewritten
    }

    fn rewrite(&mut self, position: usize) -> Result<RewrittenDefinition, RefusalReason> {
        let Some(Definition { name, original, .. }) = self.all.get(position) else {
            return Err(not_a_schema());
        };
        let original = *original;
        let is_recursive = original.get("$recursiveAnchor") == Some(&Value::Bool(true));
        let recursive = is_recursive.then(|| name.clone());
        let mut set = SchemaSet {
            recursive,
            ..SchemaSet::new(self)
        };
        let converted = set.convert(original)?;
        let SchemaSet {
            size, refers_to, ..
        } = set;
        let schema = to_draft_2020_12(&converted);
        self.memory += memory(&schema);
        if self.memory > MAX_MEMORY {
            let problem =
                format!("the schemas of the document take more than {MAX_MEMORY} bytes of memory");
            return Err(RefusalReason::TooLarge(format!(
                "{problem}; choose with `only` or `filter`"
            )));
        }
        let shared = SharedDefinition::new(self.name(position), schema);
        Ok(RewrittenDefinition {
            shared,
            size,
            refers_to,
        })
    }

    /// Returns the definitions that some of them lead to, with these.
    fn reached(&mut self, from: &BTreeSet<usize>) -> Result<ReachedDefinitions, RefusalReason> {
        if let Some(reached) = self.reached.get(from) {
            return reached.clone();
        }
        let reached = self.follow(from);
        self.reached.insert(from.clone(), reached.clone());
        reached
    }

    fn follow(&mut self, from: &BTreeSet<usize>) -> Result<ReachedDefinitions, RefusalReason> {
        let mut known = from.clone();
        let mut left = from.iter().copied().collect::<Vec<_>>();
        let mut members = Vec::new();
        let mut size = 0;
        while let Some(position) = left.pop() {
            let rewritten = self.rewritten(position)?;
            size += rewritten.size;
            if size > MAX_TOOL_SCHEMA {
                return Err(too_large());
            }
            left.extend(
                rewritten
                    .refers_to
                    .iter()
                    .filter(|position| known.insert(**position)),
            );
            members.push(rewritten.shared);
        }
        Ok(ReachedDefinitions {
            shared: SharedDefinitions::new(members),
            size,
        })
    }
}

/// Collects the schemas of one tool, or of one definition.
pub(crate) struct SchemaSet<'d, 'a> {
    definitions: &'d mut Definitions<'a>,
    /// The definitions that the schemas refer to.
    refers_to: BTreeSet<usize>,
    /// The definition that is being rewritten, if `$recursiveRef` leads to it.
    recursive: Option<String>,
    pub(crate) size: usize,
}

impl<'d, 'a> SchemaSet<'d, 'a> {
    pub(crate) fn new(definitions: &'d mut Definitions<'a>) -> Self {
        Self {
            definitions,
            refers_to: BTreeSet::new(),
            recursive: None,
            size: 0,
        }
    }

    /// Rewrites a schema. The schemas that it refers to follow in [`definitions`](Self::definitions).
    pub(crate) fn convert(&mut self, schema: &'a Value) -> Result<Value, RefusalReason> {
        let Some(map) = schema.as_object() else {
            return if schema.is_boolean() {
                Ok(schema.clone())
            } else {
                Err(not_a_schema())
            };
        };
        self.charge(2)?;
        let mut written = Map::new();
        if let Some(reference) = map.get("$ref") {
            let Some(reference) = reference.as_str() else {
                return Err(not_a_schema());
            };
            written.insert(
                "$ref".to_owned(),
                format!("#/$defs/{}", self.name(reference)?).into(),
            );
        }
        let ignores_others = self.definitions.document.is_3_0 && !written.is_empty();
        let hidden = self.read_only(map);
        for (keyword, value) in map {
            if ignores_others && !matches!(keyword.as_str(), "description" | "title" | "deprecated")
            {
                continue;
            }
            self.charge(keyword.len() + 4)?;
            if let Some((name, value)) = self.keyword(map, keyword, value, &hidden)? {
                written.insert(name.to_owned(), value);
            }
        }
        if map.get("nullable") == Some(&Value::Bool(true)) && !ignores_others {
            written = nullable(written);
        }
        Ok(Value::Object(written))
    }

    /// Returns the schemas that the others refer to, if there are any.
    pub(crate) fn definitions(&mut self) -> Result<Option<SharedDefinitions>, RefusalReason> {
        if self.refers_to.is_empty() {
            return Ok(None);
        }
        let reached = self.definitions.reached(&self.refers_to)?;
        self.charge(reached.size)?;
        Ok(Some(reached.shared))
    }

    fn keyword<'k>(
        &mut self,
        map: &'a Map<String, Value>,
        keyword: &'k str,
        value: &'a Value,
        hidden: &[&'a str],
    ) -> Result<Option<(&'k str, Value)>, RefusalReason> {
        let value = match keyword {
            "$ref" | "$defs" | "definitions" | "$schema" | "$anchor" | "$dynamicAnchor"
            | "$comment" | "nullable" | "xml" | "externalDocs" | "discriminator" | "readOnly"
            | "writeOnly" => return Ok(None),
            name if name.starts_with("x-") => return Ok(None),
            // Draft 2019-09: the nearest schema with an anchor, which documents put at the root of
            // a definition.
            "$recursiveRef" if *value == "#" && self.recursive.is_some() => {
                let name = self.recursive.as_deref().unwrap_or_default();
                return Ok(Some(("$ref", format!("#/$defs/{name}").into())));
            }
            "$recursiveAnchor" => return Ok(None),
            "$dynamicRef" | "$recursiveRef" | "$id" => {
                return Err(RefusalReason::Schema(format!(
                    "`{keyword}` is not supported; refer by `$ref` and a pointer"
                )));
            }
            "required" => match value.as_array() {
                Some(names) => {
                    let is_hidden =
                        |name: &Value| name.as_str().is_some_and(|name| hidden.contains(&name));
                    let mut kept = names
                        .iter()
                        .filter(|name| !is_hidden(name))
                        .cloned()
                        .collect::<Vec<_>>();
                    let mut seen = HashSet::new();
                    kept.retain(|name| seen.insert(name.to_string()));
                    kept.into()
                }
                // A property of draft 3 says that it is required itself.
                None => return Ok(None),
            },
            "example" => {
                let is_only = !map.contains_key("examples");
                return Ok(if is_only {
                    Some(("examples", json!([self.cloned(value)?])))
                } else {
                    None
                });
            }
            "examples" if !value.is_array() => return Ok(None),
            "format"
                if value
                    .as_str()
                    .is_none_or(|name| MEANINGLESS_FORMATS.contains(&name)) =>
            {
                return Ok(None);
            }
            name if MAP_KEYWORDS.contains(&name) && value.is_object() => {
                let mut members = Map::new();
                for (name, schema) in value.as_object().into_iter().flatten() {
                    self.charge(name.len() + 4)?;
                    if !(keyword == "properties" && hidden.contains(&name.as_str())) {
                        let schema = if is_schema(schema) {
                            self.convert(schema)?
                        } else {
                            self.cloned(schema)?
                        };
                        members.insert(name.clone(), schema);
                    }
                }
                members.into()
            }
            name if LIST_KEYWORDS.contains(&name) && value.is_array() => {
                let items = value.as_array().into_iter().flatten();
                items
                    .map(|item| self.convert(item))
                    .collect::<Result<Vec<_>, _>>()?
                    .into()
            }
            name if SCHEMA_KEYWORDS.contains(&name) && is_schema(value) => self.convert(value)?,
            _ => self.cloned(value)?,
        };
        Ok(Some((keyword, value)))
    }

    /// Returns the properties that only answers have.
    fn read_only(&self, map: &'a Map<String, Value>) -> Vec<&'a str> {
        let properties = map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let is_read_only = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
        let through_reference = |schema: &'a Value| {
            let reference = schema.get("$ref").and_then(Value::as_str);
            reference
                .and_then(|reference| self.definitions.document.target(reference).ok())
                .is_some_and(is_read_only)
        };
        let hidden =
            properties.filter(|(_, schema)| is_read_only(schema) || through_reference(schema));
        hidden.map(|(name, _)| name.as_str()).collect()
    }

    /// Rewrites the schema of a parameter or a body. A large one becomes a definition with this
    /// name, because other operations may have the same one.
    pub(crate) fn convert_argument(
        &mut self,
        schema: &'a Value,
        name: &str,
    ) -> Result<Value, RefusalReason> {
        if size(schema) <= MAX_INLINE_SCHEMA || !is_schema(schema) {
            return self.convert(schema);
        }
        let name = self.definition(schema, name);
        Ok(json!({"$ref": format!("#/$defs/{name}")}))
    }

    /// Returns the name in `$defs` of a reference's target.
    fn name(&mut self, reference: &'a str) -> Result<String, RefusalReason> {
        let target = self.definitions.document.target(reference)?;
        if !is_schema(target) {
            return Err(not_a_schema());
        }
        Ok(self.definition(target, reference.rsplit('/').next().unwrap_or_default()))
    }

    /// Returns the name in `$defs` of a schema of the document.
    fn definition(&mut self, schema: &'a Value, wanted: &str) -> String {
        let position = self.definitions.position(schema, wanted);
        self.refers_to.insert(position);
        self.definitions.name(position).to_owned()
    }

    /// Copies a value that is no schema.
    fn cloned(&mut self, value: &Value) -> Result<Value, RefusalReason> {
        self.charge(size(value))?;
        Ok(value.clone())
    }

    /// Counts what the schemas of the tool will have.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), RefusalReason> {
        self.size += bytes;
        if self.size > MAX_TOOL_SCHEMA {
            return Err(too_large());
        }
        Ok(())
    }
}

/// Formats that state a width or a display, which JSON and the runtime do not know.
const MEANINGLESS_FORMATS: &[&str] = &[
    "int32", "int64", "float", "double", "byte", "binary", "password", "",
];

fn too_large() -> RefusalReason {
    RefusalReason::TooLarge(format!(
        "its schemas have more than {MAX_TOOL_SCHEMA} bytes"
    ))
}

fn not_a_schema() -> RefusalReason {
    RefusalReason::Malformed("expected a schema to be an object or a boolean".to_owned())
}

/// Returns about the length of a value as JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| 1 + size(item)).sum::<usize>(),
        Value::Object(members) => {
            2 + members
                .iter()
                .map(|(name, value)| name.len() + 4 + size(value))
                .sum::<usize>()
        }
    }
}

/// Returns about the memory that a value takes, in bytes.
pub(crate) fn memory(value: &Value) -> usize {
    /// A member of an object: its hash, its key, its value and its place in the index.
    const MEMBER: usize = 128;
    const ALLOCATION: usize = 32;
    size_of::<Value>()
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => ALLOCATION + text.len(),
            Value::Array(items) => ALLOCATION + items.iter().map(memory).sum::<usize>(),
            Value::Object(members) => {
                let of_member =
                    |(name, value): (&String, &Value)| MEMBER + name.len() + memory(value);
                2 * ALLOCATION + members.iter().map(of_member).sum::<usize>()
            }
        }
}

/// Adds null to what a schema accepts.
fn nullable(mut schema: Map<String, Value>) -> Map<String, Value> {
    let applicators = ["$ref", "allOf", "anyOf", "oneOf", "not", "const"];
    if applicators
        .iter()
        .any(|keyword| schema.contains_key(*keyword))
    {
        // Annotations stay outside, where a reader looks for them.
        let mut outside = Map::new();
        for name in ["title", "description", "deprecated", "default", "examples"] {
            outside.extend(
                schema
                    .shift_remove(name)
                    .map(|value| (name.to_owned(), value)),
            );
        }
        outside.insert("anyOf".to_owned(), json!([schema, {"type": "null"}]));
        return outside;
    }
    match schema.get_mut("type") {
        Some(Value::String(name)) if name != "null" => {
            let both = json!([name, "null"]);
            schema.insert("type".to_owned(), both);
        }
        Some(Value::Array(names)) if !names.iter().any(|name| name == "null") => {
            names.push("null".into());
        }
        // Without a type, null is accepted already.
        _ => {}
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(schemas: &Value) -> Document {
        Document::new(json!({"openapi": "3.0.3", "components": {"schemas": schemas}}))
            .expect("a document")
    }

    fn convert(schemas: &Value, schema: &Value) -> (Value, Map<String, Value>) {
        let document = document(schemas);
        let mut definitions = Definitions::new(&document);
        let mut set = SchemaSet::new(&mut definitions);
        let converted = set.convert(schema).expect("converts");
        let shared = set.definitions().expect("converts");
        let members = shared.iter().flat_map(SharedDefinitions::schemas);
        let members = members.map(|(name, schema)| (name.to_owned(), schema.clone()));
        (converted, members.collect())
    }

    #[test]
    fn keeps_only_referenced_schemas_and_recursion() {
        let schemas = json!({
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}},
            "Other": {"type": "string"},
        });
        let (schema, definitions) =
            convert(&schemas, &json!({"$ref": "#/components/schemas/Node"}));
        assert_eq!(schema, json!({"$ref": "#/$defs/Node"}));
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}});
        assert_eq!(Value::Object(definitions), json!({"Node": node}));
    }

    #[test]
    fn recursive_references_lead_to_their_definition() {
        let schemas = json!({
            "Filter": {"$recursiveAnchor": true, "properties": {"all": {"items": {"$recursiveRef": "#"}}}},
            "Other": {"items": {"$recursiveRef": "#"}},
        });
        let (_, definitions) = convert(&schemas, &json!({"$ref": "#/components/schemas/Filter"}));
        let filter = json!({"properties": {"all": {"items": {"$ref": "#/$defs/Filter"}}}});
        assert_eq!(Value::Object(definitions), json!({"Filter": filter}));
        let document = document(&schemas);
        let other = json!({"$ref": "#/components/schemas/Other"});
        let mut definitions = Definitions::new(&document);
        let mut set = SchemaSet::new(&mut definitions);
        set.convert(&other).expect("a reference");
        assert_eq!(set.definitions().expect_err("no anchor").kind(), "schema");
    }

    #[test]
    fn rewrites_keywords_of_version_3_0() {
        let old = json!({
            "type": "string", "nullable": true, "enum": ["a"], "example": "a", "format": "password", "xml": {"name": "a"},
            "x-order": 1,
        });
        assert_eq!(
            convert(&json!({}), &old).0,
            json!({"type": ["string", "null"], "enum": ["a", null], "examples": ["a"]})
        );
        let old = json!({"nullable": true, "description": "d", "allOf": [{"type": "string"}]});
        let new = json!({"description": "d", "anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]});
        assert_eq!(convert(&json!({}), &old).0, new);
    }

    #[test]
    fn read_only_properties_are_no_arguments() {
        let schemas = json!({"Id": {"type": "string", "readOnly": true}});
        let old = json!({
            "required": ["id", "at", "name"],
            "properties": {"id": {"$ref": "#/components/schemas/Id"}, "at": {"readOnly": true}, "name": {}},
        });
        assert_eq!(
            convert(&schemas, &old).0,
            json!({"required": ["name"], "properties": {"name": {}}})
        );
    }

    #[test]
    fn names_of_properties_are_no_keywords() {
        let old = json!({"properties": {"nullable": {}, "$ref": {"type": "string"}, "xml": {}, "example": {}}});
        assert_eq!(convert(&json!({}), &old).0, old);
    }

    #[test]
    fn refuses_references_out_of_the_document() {
        let document = document(&json!({}));
        for reference in [
            "pet.json",
            "https://a.example/s.json#/x",
            "#Pet",
            "#/components/schemas/None",
            "#/%2",
        ] {
            let schema = json!({"$ref": reference});
            let mut definitions = Definitions::new(&document);
            let error = SchemaSet::new(&mut definitions)
                .convert(&schema)
                .expect_err(reference);
            assert_eq!(error.kind(), "reference", "{reference}");
        }
    }

    #[test]
    fn refuses_schemas_that_double_at_each_level() {
        // 2^30 copies if references were replaced by their targets; as definitions, each is written
        // once.
        let mut schemas = Map::new();
        for level in 0..30 {
            let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
            schemas.insert(
                format!("L{level}"),
                json!({"properties": {"a": next, "b": next}}),
            );
        }
        schemas.insert("L30".to_owned(), json!({}));
        let (_, definitions) =
            convert(&schemas.into(), &json!({"$ref": "#/components/schemas/L0"}));
        assert_eq!(definitions.len(), 31);
        let long = json!({"enum": ["x".repeat(MAX_TOOL_SCHEMA)]});
        let document = document(&json!({}));
        let mut definitions = Definitions::new(&document);
        let error = SchemaSet::new(&mut definitions)
            .convert(&long)
            .expect_err("too large");
        assert_eq!(error.kind(), "too_large");
    }
}
