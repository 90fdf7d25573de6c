//! Schemas that are given at run time. Tools with the same schema share it: one value, one text,
//! one compiled form.
//!
//! A server or a document may give a thousand tools one large schema, and each form of it is
//! several times larger than its text.

use crate::arguments::equality::EqualityRules;
use crate::schema::compiled::{CompiledSchema, Formats};
use crate::schema::meta;
use crate::schema::validator::Validator;
use foldhash::fast::FixedState;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, Weak};

/// A schema with a name that the parameters of several raw tools refer to as `#/$defs/NAME`.
#[derive(Clone)]
pub struct SharedDefinition(Arc<Definition>);

struct Definition {
    name: String,
    schema: Value,
    /// The length of the definition as JSON.
    bytes: usize,
    /// True once it was checked together with all definitions that it leads to. Nothing leads from
    /// these to others.
    is_sound: AtomicBool,
}

impl SharedDefinition {
    /// Creates a definition from a schema of draft 2020-12.
    pub fn new(name: impl Into<String>, schema: Value) -> Self {
        let name = name.into();
        let bytes = name.len() + 4 + schema.to_string().len();
        Self(Arc::new(Definition {
            name,
            schema,
            bytes,
            is_sound: AtomicBool::new(false),
        }))
    }

    fn is_sound(&self) -> bool {
        self.0.is_sound.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for SharedDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedDefinition")
            .field(&self.0.name)
            .finish()
    }
}

/// All schemas that the parameters of a raw tool lead to by references, which other tools may
/// share.
///
/// [`FunctionTool::definitions`](crate::FunctionTool::definitions) gives them to a tool. They are published as `$defs` of its
/// schema, and kept in memory once for all tools.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_core::tool::{SharedDefinition, SharedDefinitions};
/// use tool_core::{FunctionTool, RawTool, RunContext, ToolContext};
///
/// let address = json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// let definitions = SharedDefinitions::new([SharedDefinition::new("Address", address)]);
/// let [ship, bill] = ["ship", "bill"].map(|name| {
///     let parameters = json!({"type": "object", "properties": {"to": {"$ref": "#/$defs/Address"}}});
///     let raw = RawTool { name: name.into(), description: String::new(), parameters };
///     FunctionTool::raw(raw, async |arguments: Value, _: &RunContext| Ok(arguments)).validate(true).definitions(&definitions)
/// });
/// let tools = ToolContext::builder().with(ship).with(bill).build()?;
/// let parameters = tools.function_tool("bill").expect("it was added").definition().parameters();
/// assert_eq!(parameters["$defs"]["Address"]["properties"]["city"]["type"], "string");
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone)]
pub struct SharedDefinitions(Arc<Definitions>);

struct Definitions {
    /// Sorted by name.
    members: Vec<SharedDefinition>,
    form_problems: OnceLock<Vec<String>>,
    compile_problem: OnceLock<Option<String>>,
}

impl SharedDefinitions {
    /// Creates a set of definitions. If two have the same name, the last one is kept.
    pub fn new(members: impl IntoIterator<Item = SharedDefinition>) -> Self {
        let members = members
            .into_iter()
            .map(|member| (member.0.name.clone(), member));
        let members = members.collect::<BTreeMap<_, _>>().into_values().collect();
        Self(Arc::new(Definitions {
            members,
            form_problems: OnceLock::new(),
            compile_problem: OnceLock::new(),
        }))
    }

    /// Returns the schemas by name, sorted.
    pub fn schemas(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0
            .members
            .iter()
            .map(|member| (member.0.name.as_str(), &member.0.schema))
    }

    fn bytes(&self) -> usize {
        self.0.members.iter().map(|member| member.0.bytes).sum()
    }

    /// Returns the problems of the definitions with the meta-schema.
    fn form_problems(&self) -> &[String] {
        self.0.form_problems.get_or_init(|| {
            let unknown = self.0.members.iter().filter(|member| !member.is_sound());
            unknown
                .flat_map(|member| meta::problems_in_2020_12(&member.0.schema))
                .collect()
        })
    }

    /// Returns the reason why the definitions do not compile. Those that are known to be sound lead
    /// to no other, so they are no part of a circle, and are not compiled again. The compiled form
    /// is not kept.
    fn compile_problem(&self) -> Option<&str> {
        let compile = || {
            let members = &self.0.members;
            let names = members.iter().map(|member| &member.0.name);
            let references = names
                .map(|name| json!({"$ref": format!("#/$defs/{name}")}))
                .collect::<Vec<_>>();
            let definitions = members.iter().map(|member| {
                let schema = if member.is_sound() {
                    Value::Bool(true)
                } else {
                    member.0.schema.clone()
                };
                (member.0.name.clone(), schema)
            });
            let schema =
                json!({"prefixItems": references, "$defs": definitions.collect::<Map<_, _>>()});
            if let Err(problem) = CompiledSchema::of_shared(&Arc::new(schema), Formats::Asserted) {
                return Some(problem);
            }
            for member in members {
                member.0.is_sound.store(true, Ordering::Relaxed);
            }
            None
        };
        self.0.compile_problem.get_or_init(compile).as_deref()
    }

    fn insert_into(&self, schema: &mut Map<String, Value>) {
        let members = self
            .schemas()
            .map(|(name, schema)| (name.to_owned(), schema.clone()));
        schema.insert("$defs".to_owned(), Value::Object(members.collect()));
    }
}

impl fmt::Debug for SharedDefinitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.members.iter().map(|member| &member.0.name))
            .finish()
    }
}

/// A schema that is given at run time, with its forms, each made at its first use.
pub(crate) struct SharedSchema {
    /// The schema without the definitions.
    root: Arc<Value>,
    root_text: String,
    definitions: Option<SharedDefinitions>,
    /// The schema and its text with the definitions, if there are any.
    whole: OnceLock<Arc<Value>>,
    whole_text: OnceLock<String>,
    form_problems: OnceLock<Vec<String>>,
    compile_problem: OnceLock<Option<String>>,
    arguments: OnceLock<Validator>,
    annotated_arguments: OnceLock<Validator>,
    results: OnceLock<Validator>,
    annotated_results: OnceLock<Validator>,
    equality: OnceLock<EqualityRules>,
}

/// The schemas that are in use, by the hash of their text.
static IN_USE: LazyLock<Mutex<InUse>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct InUse {
    schemas: FxHashMap<u64, Vec<Weak<SharedSchema>>>,
    /// The number of hashes at which those without a schema are removed.
    sweep_at: usize,
}

impl SharedSchema {
    /// Returns the schema of draft 2020-12 that equals this one to the letter, if one is in use,
    /// and otherwise a new one.
    pub(crate) fn of(root: Value, definitions: Option<SharedDefinitions>) -> Arc<Self> {
        let root_text = root.to_string();
        let hash = FixedState::default().hash_one(&root_text);
        let mut in_use = IN_USE.lock();
        if in_use.schemas.len() >= in_use.sweep_at {
            in_use.schemas.retain(|_, schemas| {
                schemas.retain(|schema| schema.strong_count() > 0);
                !schemas.is_empty()
            });
            in_use.sweep_at = 64 + 2 * in_use.schemas.len();
        }
        let same_hash = in_use.schemas.entry(hash).or_default();
        let known = same_hash.iter().filter_map(Weak::upgrade);
        let is_same = |schema: &Arc<Self>| schema.is_same(&root_text, definitions.as_ref());
        if let Some(known) = known.into_iter().find(is_same) {
            return known;
        }
        let schema = Arc::new(Self::new(root, root_text, definitions));
        same_hash.retain(|schema| schema.strong_count() > 0);
        same_hash.push(Arc::downgrade(&schema));
        schema
    }

    /// Wraps a schema of this program, which no other tool has. Its text is never asked for.
    pub(crate) fn unshared(root: Value) -> Arc<Self> {
        Arc::new(Self::new(root, String::new(), None))
    }

    fn new(root: Value, root_text: String, definitions: Option<SharedDefinitions>) -> Self {
        Self {
            root: Arc::new(root),
            root_text,
            definitions,
            whole: OnceLock::new(),
            whole_text: OnceLock::new(),
            form_problems: OnceLock::new(),
            compile_problem: OnceLock::new(),
            arguments: OnceLock::new(),
            annotated_arguments: OnceLock::new(),
            results: OnceLock::new(),
            annotated_results: OnceLock::new(),
            equality: OnceLock::new(),
        }
    }

    fn is_same(&self, root_text: &str, definitions: Option<&SharedDefinitions>) -> bool {
        let same_definitions = match (&self.definitions, definitions) {
            (Some(own), Some(other)) => Arc::ptr_eq(&own.0, &other.0),
            (None, None) => true,
            _ => false,
        };
        same_definitions && self.root_text == root_text
    }

    /// Returns the schema without the definitions.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    pub(crate) fn value(&self) -> &Arc<Value> {
        let Some(definitions) = &self.definitions else {
            return &self.root;
        };
        self.whole.get_or_init(|| {
            let mut schema = self.root.as_object().cloned().unwrap_or_default();
            definitions.insert_into(&mut schema);
            Arc::new(schema.into())
        })
    }

    pub(crate) fn text(&self) -> &str {
        let Some(definitions) = &self.definitions else {
            return &self.root_text;
        };
        self.whole_text.get_or_init(|| {
            // Written around the shared definitions, because the value is larger than its text.
            let Some(open) = self.root_text.strip_suffix('}') else {
                return self.root_text.clone();
            };
            let separator = if open.ends_with('{') { "" } else { "," };
            let mut text = format!("{open}{separator}\"$defs\":{{");
            for (at, (name, schema)) in definitions.schemas().enumerate() {
                let separator = if at == 0 { "" } else { "," };
                // Writing to a String cannot fail.
                let _ = write!(text, "{separator}{}:{schema}", Value::from(name));
            }
            text.push_str("}}");
            text
        })
    }

    /// Returns about the length of the schema as JSON.
    pub(crate) fn bytes(&self) -> usize {
        self.root_text.len()
            + self
                .definitions
                .as_ref()
                .map_or(0, SharedDefinitions::bytes)
    }

    /// Returns the problems of the schema with the meta-schema.
    pub(crate) fn form_problems(&self) -> &[String] {
        self.form_problems.get_or_init(|| {
            let mut problems = meta::problems(&self.root);
            problems.extend(
                self.definitions
                    .iter()
                    .flat_map(SharedDefinitions::form_problems)
                    .cloned(),
            );
            problems
        })
    }

    /// Returns the reason why the schema of arguments does not compile.
    pub(crate) fn compile_problem(&self, formats: Formats) -> Option<&str> {
        let Some(definitions) = &self.definitions else {
            return self.arguments(formats).compiled().err();
        };
        // Only a tool that is called needs the whole compiled form.
        let own = self.compile_problem.get_or_init(|| {
            let mut schema = self.root.as_object().cloned().unwrap_or_default();
            let names = definitions
                .0
                .members
                .iter()
                .map(|member| (member.0.name.clone(), Value::Bool(true)));
            schema.insert("$defs".to_owned(), Value::Object(names.collect()));
            CompiledSchema::of_shared(&Arc::new(schema.into()), Formats::Asserted).err()
        });
        own.as_deref().or_else(|| definitions.compile_problem())
    }

    /// Returns the validator of arguments.
    pub(crate) fn arguments(&self, formats: Formats) -> &Validator {
        let validator = || Validator::for_raw_tool(Arc::clone(self.value())).with_formats(formats);
        match formats {
            Formats::Asserted => self.arguments.get_or_init(validator),
            Formats::Annotated => self.annotated_arguments.get_or_init(validator),
        }
    }

    /// Returns the validator of results.
    pub(crate) fn results(&self, formats: Formats) -> &Validator {
        let validator = || Validator::new(Arc::clone(self.value())).with_formats(formats);
        match formats {
            Formats::Asserted => self.results.get_or_init(validator),
            Formats::Annotated => self.annotated_results.get_or_init(validator),
        }
    }

    /// Returns the parameters by which calls are compared.
    pub(crate) fn equality(&self) -> &EqualityRules {
        // Only the properties at the root have defaults that are filled in. One without any needs
        // no definitions.
        self.equality.get_or_init(|| {
            let properties = self
                .root
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            let has_default = properties
                .into_iter()
                .any(|(_, property)| property.get("default").is_some());
            EqualityRules::of_schema(if has_default {
                self.value()
            } else {
                &self.root
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(order: [&str; 2]) -> Value {
        let properties = order.map(|name| (name.to_owned(), json!({"type": "string"})));
        json!({"type": "object", "properties": Map::from_iter(properties)})
    }

    #[test]
    fn equal_schemas_in_use_are_one() {
        let first = SharedSchema::of(pair(["one", "two"]), None);
        assert!(Arc::ptr_eq(
            &first,
            &SharedSchema::of(pair(["one", "two"]), None)
        ));
        // The order is what a model reads.
        assert!(!Arc::ptr_eq(
            &first,
            &SharedSchema::of(pair(["two", "one"]), None)
        ));
        let definitions = SharedDefinitions::new([SharedDefinition::new("A", json!({}))]);
        assert!(!Arc::ptr_eq(
            &first,
            &SharedSchema::of(pair(["one", "two"]), Some(definitions))
        ));
    }

    #[test]
    fn a_schema_ends_with_its_last_tool() {
        let schema = || json!({"type": "object", "title": "ends with its last tool"});
        let ended = Arc::downgrade(&SharedSchema::of(schema(), None));
        assert_eq!(ended.strong_count(), 0);
        for at in 0..1_000 {
            SharedSchema::of(json!({"type": "object", "title": at}), None);
        }
        assert!(IN_USE.lock().schemas.len() < 1_000);
    }

    #[test]
    fn text_and_value_contain_the_definitions() {
        let definitions = SharedDefinitions::new([
            SharedDefinition::new("B", json!({"type": "string"})),
            SharedDefinition::new("A", json!({"$ref": "#/$defs/B"})),
        ]);
        for root in [
            json!({}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}),
        ] {
            let schema = SharedSchema::of(root, Some(definitions.clone()));
            assert_eq!(schema.text(), schema.value().to_string());
            assert_eq!(schema.value()["$defs"]["A"]["$ref"], "#/$defs/B");
            assert_eq!(schema.compile_problem(Formats::Asserted), None);
        }
    }

    #[test]
    fn definitions_that_cannot_be_checked_are_problems() {
        for schema in [
            json!({"pattern": "("}),
            json!({"$ref": "#/$defs/A"}),
            json!({"$ref": "#/$defs/None"}),
        ] {
            let definitions = SharedDefinitions::new([SharedDefinition::new("A", schema)]);
            let schema = SharedSchema::of(
                json!({"properties": {"a": {"$ref": "#/$defs/A"}}}),
                Some(definitions),
            );
            assert!(schema.compile_problem(Formats::Asserted).is_some());
        }
        let definitions =
            SharedDefinitions::new([SharedDefinition::new("A", json!({"type": "file"}))]);
        assert_eq!(
            SharedSchema::of(json!({}), Some(definitions))
                .form_problems()
                .len(),
            1
        );
    }

    #[test]
    fn a_sound_definition_hides_no_problem_of_another() {
        let sound = SharedDefinition::new(
            "Sound",
            json!({"properties": {"a": {"$ref": "#/$defs/Sound"}}}),
        );
        let problem = |members: &[SharedDefinition]| {
            let definitions = SharedDefinitions::new(members.iter().cloned());
            definitions.compile_problem().map(str::to_owned)
        };
        assert_eq!(problem(std::slice::from_ref(&sound)), None);
        let circle = json!({"allOf": [{"$ref": "#/$defs/Sound"}, {"$ref": "#/$defs/Circle"}]});
        assert!(problem(&[sound.clone(), SharedDefinition::new("Circle", circle)]).is_some());
        assert!(
            problem(&[
                sound,
                SharedDefinition::new("Pattern", json!({"pattern": "("}))
            ])
            .is_some()
        );
    }

    #[test]
    fn annotated_formats_accept_every_text() {
        let schema = SharedSchema::of(json!({"type": "string", "format": "date-time"}), None);
        let text = json!("2026-01-05T10:00:00");
        assert!(!schema.results(Formats::Asserted).is_valid(&text));
        assert!(schema.results(Formats::Annotated).is_valid(&text));
        assert!(!schema.results(Formats::Annotated).is_valid(&json!(5)));
    }
}
