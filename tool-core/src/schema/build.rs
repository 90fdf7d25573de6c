//! The canonical schema of a tool's arguments, built from its parameter table.
//!
//! One schema is published and enforced. It is assembled from the schemars schema of each
//! parameter's type, normalized, and merged with what the signature and `#[arg]` add.

use crate::json::probe::SchemaProbe;
use crate::json::string::push_string;
use crate::schema::compiled::CompiledSchema;
use crate::schema::evaluation::is_valid;
use crate::schema::flattened::FlattenedNames;
use crate::schema::flattened_union::{CLOSING, refuse_other_variants, remove_closing};
use crate::schema::normalize::{append_description, normalize, prune};
use crate::schema::nullable::{NullMeaning, allows_null, strip_null};
use crate::schema::parameter::{Parameter, ResolvedParameter};
use crate::schema::validator::{needs_validator, rounds};
use crate::schema::{constraints, walk};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The schema of a tool's arguments, as it is published and enforced.
#[derive(Clone, Debug)]
pub(crate) struct CanonicalSchema {
    pub(crate) value: Value,
    /// The value as compact JSON, with the parameters in the order of the signature, in which
    /// models read them.
    pub(crate) text: String,
    /// True if the types alone do not enforce all of it.
    pub(crate) needs_validator: bool,
    /// The rules by which each parameter is read.
    pub(crate) fields: Vec<FieldRule>,
    /// The probe of the types, until they are proven to enforce all of it.
    pub(crate) probe: Option<Arc<SchemaProbe>>,
}

/// The rules by which a parameter is read.
#[derive(Clone, Debug)]
pub(crate) struct FieldRule {
    /// The key of its entry with quotes and colon, as most texts have it. `None` for a flattened
    /// parameter.
    pub(crate) key: Option<Box<str>>,
    pub(crate) null: NullMeaning,
    /// The names of the entries that belong to a flattened parameter.
    pub(crate) flattened: Option<FlattenedNames>,
}

impl FieldRule {
    fn named(row: &Parameter, null: NullMeaning) -> Self {
        let mut key = String::new();
        push_string(&mut key, row.name);
        key.push(':');
        Self {
            key: Some(key.into()),
            null,
            flattened: None,
        }
    }

    fn flattened(names: FlattenedNames) -> Self {
        Self {
            key: None,
            null: NullMeaning::Refused,
            flattened: Some(names),
        }
    }
}

/// Checks the default and the examples of a parameter against its schema and `$defs`. Returns one
/// line for each problem.
pub(crate) type ValueCheck = fn(&ResolvedParameter, &Value, &Map<String, Value>) -> Vec<String>;

/// Builds the schema of a tool, or returns all problems with its parameters.
pub(crate) fn build_schema(
    parameters: Vec<ResolvedParameter>,
    mut definitions: Map<String, Value>,
    check: ValueCheck,
) -> Result<CanonicalSchema, Vec<String>> {
    let types_enforce = !needs_validator(
        parameters.iter().map(|parameter| &parameter.schema),
        &definitions,
    ) && parameters
        .iter()
        .all(|parameter| parameter.row.constraints.is_empty() || !rounds(&parameter.schema));
    definitions.values_mut().for_each(normalize);
    let root = json!({ "$defs": definitions });
    let mut builder = SchemaBuilder::default();
    let fields: Vec<FieldRule> = parameters
        .into_iter()
        .map(|parameter| builder.add(parameter, &root, &definitions, check))
        .collect();
    if fields.len() > 1 {
        builder.separate_unions(&root);
    }
    if !builder.problems.is_empty() {
        return Err(builder.problems);
    }
    // No type enforces the presence of a flattened type: a rule between properties does.
    let needs_validator =
        !types_enforce || !builder.dependent.is_empty() || !builder.unions.is_empty();
    let used: Vec<&Value> = builder
        .properties
        .values()
        .chain(builder.unions.iter().map(|union| &union.schema))
        .chain(&builder.additional)
        .collect();
    prune(&used, &mut definitions);
    let value = builder.finish(definitions);
    Ok(CanonicalSchema {
        text: value.to_string(),
        needs_validator,
        fields,
        probe: None,
        value,
    })
}

/// Normalizes the schema of a result.
pub(crate) fn normalize_result(mut schema: Value) -> Value {
    normalize(&mut schema);
    if let Some(Value::Object(mut definitions)) =
        schema.as_object_mut().and_then(|map| map.remove("$defs"))
    {
        prune(&[&schema], &mut definitions);
        if !definitions.is_empty() {
            schema["$defs"] = definitions.into();
        }
    }
    schema
}

/// A flattened type that is more than a list of properties, for example an enum.
struct FlattenedUnion {
    parameter: String,
    schema: Value,
}

/// The root of a tool's schema while its parameters are added.
#[derive(Default)]
struct SchemaBuilder {
    properties: Map<String, Value>,
    /// The names of all properties, with those in `unions`.
    names: BTreeSet<String>,
    required: Vec<String>,
    /// The schema of properties without a name in the schema. Without one, unknown names are
    /// refused.
    additional: Option<Value>,
    /// The flattened parameter that takes the names which no schema lists.
    takes_others: Option<String>,
    /// Flattened types that are more than a list of properties.
    unions: Vec<FlattenedUnion>,
    /// Rules between properties.
    rules: Vec<Value>,
    dependent: Map<String, Value>,
    problems: Vec<String>,
}

impl SchemaBuilder {
    fn problem(&mut self, parameter: &str, text: impl AsRef<str>) {
        self.problems
            .push(format!("parameter `{parameter}`: {}", text.as_ref()));
    }

    fn property(&mut self, parameter: &str, name: String, schema: Value) {
        if self.claim(parameter, &name) {
            self.properties.insert(name, schema);
        }
    }

    /// Returns true for a name that no other parameter has. Another one is a problem.
    fn claim(&mut self, parameter: &str, name: &str) -> bool {
        let is_free = self.names.insert(name.to_owned());
        if !is_free {
            self.problem(
                parameter,
                format!("the name `{name}` is already used by another parameter"),
            );
        }
        is_free
    }

    /// Gives the names that no schema lists to a parameter. One that has them already is a problem.
    fn claim_others(&mut self, parameter: &str) {
        if self.takes_others.replace(parameter.to_owned()).is_some() {
            self.problem(
                parameter,
                "another flattened parameter takes all other names already",
            );
        }
    }

    /// Keeps the variants of flattened enums and the entries of other parameters apart.
    fn separate_unions(&mut self, root: &Value) {
        let mut unions = std::mem::take(&mut self.unions);
        for union in &mut unions {
            if FlattenedNames::of_schema(&union.schema, root).limits_others {
                self.problem(
                    &union.parameter,
                    "a variant takes all other names, so its type would check the other parameters; put its map into a field, or remove the `flatten`",
                );
            }
            let is_beside_a_map = self
                .takes_others
                .as_ref()
                .is_some_and(|other| *other != union.parameter);
            if is_beside_a_map {
                refuse_other_variants(&mut union.schema, root);
            }
        }
        self.unions = unions;
    }

    /// Adds one parameter and returns the rules by which it is read.
    fn add(
        &mut self,
        mut parameter: ResolvedParameter,
        root: &Value,
        definitions: &Map<String, Value>,
        check: ValueCheck,
    ) -> FieldRule {
        let mut schema = std::mem::take(&mut parameter.schema);
        normalize(&mut schema);
        if parameter.row.flatten {
            let names = self.flatten(&parameter, schema, root);
            return FieldRule::flattened(names);
        }
        let required = !parameter.optional && parameter.default.is_none();
        if parameter.optional {
            strip_null(&mut schema);
        }
        for problem in constraints::apply(&mut schema, parameter.row.constraints, root) {
            self.problem(parameter.row.name, problem);
        }
        for problem in check(&parameter, &schema, definitions) {
            self.problem(parameter.row.name, problem);
        }
        let null = match (allows_null(&schema, root), required) {
            (true, _) => NullMeaning::Allowed,
            (false, true) => NullMeaning::Refused,
            (false, false) => NullMeaning::Coerced,
        };
        annotate(&mut schema, &mut parameter, required);
        // A schema with that default has announced that `null` is absence.
        let is_documented =
            null == NullMeaning::Coerced && schema.get("default").is_some_and(Value::is_null);
        let null = if is_documented {
            NullMeaning::Absent
        } else {
            null
        };
        if required && parameter.row.aliases.is_empty() {
            self.required.push(parameter.row.name.to_owned());
        }
        self.property(
            parameter.row.name,
            parameter.row.name.to_owned(),
            schema.clone(),
        );
        if !parameter.row.aliases.is_empty() {
            self.publish_aliases(&parameter, &schema, required);
        }
        FieldRule::named(&parameter.row, null)
    }

    /// Publishes the aliases of a parameter as properties of their own.
    fn publish_aliases(&mut self, parameter: &ResolvedParameter, schema: &Value, required: bool) {
        for alias in parameter.row.aliases {
            let mut same = if *schema == Value::Bool(true) {
                json!({})
            } else {
                schema.clone()
            };
            if let Some(map) = same.as_object_mut() {
                // The parameter itself publishes the default and the examples.
                map.remove("default");
                map.remove("examples");
                map.insert(
                    "description".to_owned(),
                    format!("alias of `{}`", parameter.row.name).into(),
                );
            }
            self.property(parameter.row.name, (*alias).to_owned(), same);
        }
        let names: Vec<&str> = std::iter::once(parameter.row.name)
            .chain(parameter.row.aliases.iter().copied())
            .collect();
        if required {
            let any: Vec<Value> = names
                .iter()
                .map(|name| json!({"required": [name]}))
                .collect();
            self.rules.push(json!({"anyOf": any}));
        }
        // Two names of one parameter are the same key twice.
        for (position, first) in names.iter().enumerate() {
            for second in names.iter().skip(position + 1) {
                self.rules
                    .push(json!({"not": {"required": [first, second]}}));
            }
        }
    }

    /// Merges the properties of a parameter's type into those of the tool. Returns their names.
    fn flatten(
        &mut self,
        parameter: &ResolvedParameter,
        mut schema: Value,
        root: &Value,
    ) -> FlattenedNames {
        let name = parameter.row.name;
        let may_be_absent = parameter.optional || parameter.default.is_some();
        if may_be_absent {
            strip_null(&mut schema);
        }
        let names = FlattenedNames::of_schema(&schema, root);
        if names.takes_others {
            self.claim_others(name);
        }
        let mut object = walk::follow(root, &schema).clone();
        if object == Value::Bool(true) {
            self.additional = Some(Value::Bool(true));
            return names;
        }
        if !is_object(&object, root, 0) {
            self.problem(name, "`flatten` needs a type that is an object in JSON");
            return names;
        }
        if let Some(map) = object
            .as_object_mut()
            .filter(|map| has_only_properties(map))
        {
            self.flatten_properties(name, map, may_be_absent);
            return names;
        }

        if may_be_absent && !accepts_nothing(&object, root) {
            self.problem(
                name,
                "`flatten` needs a struct where the parameter may be absent; remove the `Option` or the `flatten`",
            );
        }
        for property in &names.names {
            self.claim(name, property);
        }
        // In the union, they would apply to the properties of other parameters.
        for keyword in CLOSING {
            let rest = object.as_object_mut().and_then(|map| map.remove(keyword));
            if let Some(rest @ (Value::Object(_) | Value::Bool(true))) = rest {
                self.additional = Some(rest);
            }
        }
        remove_closing(&mut object, root);
        self.unions.push(FlattenedUnion {
            parameter: name.to_owned(),
            schema: object,
        });
        names
    }

    fn flatten_properties(
        &mut self,
        parameter: &str,
        map: &mut Map<String, Value>,
        may_be_absent: bool,
    ) {
        let required = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let required: Vec<String> = required
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        if let Some(Value::Object(properties)) = map.remove("properties") {
            for (name, schema) in properties {
                // Where one property of a type that may be absent is given, its required ones are,
                // too.
                let others: Vec<&String> =
                    required.iter().filter(|other| **other != name).collect();
                if may_be_absent && !others.is_empty() {
                    self.dependent.insert(name.clone(), json!(others));
                }
                self.property(parameter, name, schema);
            }
        }
        if !may_be_absent {
            self.required.extend(required);
        }
        if let Some(rest @ (Value::Object(_) | Value::Bool(true))) =
            map.remove("additionalProperties")
        {
            self.additional = Some(rest);
        }
    }

    fn finish(self, definitions: Map<String, Value>) -> Value {
        let closes = if self.unions.is_empty() {
            "additionalProperties"
        } else {
            "unevaluatedProperties"
        };
        // The schema of a tool without parameters is `{"type":"object","properties":{}}`.
        let is_empty = self.properties.is_empty() && self.unions.is_empty();
        let additional = self
            .additional
            .or((!is_empty).then_some(Value::Bool(false)));
        let unions = self.unions.into_iter().map(|union| union.schema);
        let all = unions.chain(self.rules).collect::<Value>();
        let unless_empty =
            |value: Value| Some(value).filter(|value| *value != json!([]) && *value != json!({}));
        let keywords = [
            ("type", Some("object".into())),
            ("properties", Some(self.properties.into())),
            ("required", unless_empty(self.required.into())),
            (closes, additional),
            ("dependentRequired", unless_empty(self.dependent.into())),
            ("allOf", unless_empty(all)),
            ("$defs", unless_empty(definitions.into())),
        ];
        keywords
            .into_iter()
            .filter_map(|(keyword, value)| Some((keyword, value?)))
            .collect()
    }
}

/// Writes description, default and examples beside the type.
fn annotate(schema: &mut Value, parameter: &mut ResolvedParameter, required: bool) {
    let silent = parameter.row.description.is_empty() && required && parameter.examples.is_empty();
    if *schema == Value::Bool(true) && !silent {
        *schema = json!({});
    }
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    if !parameter.row.description.is_empty() {
        // An enum's text about its variants is kept below the description of the parameter.
        let variants = map
            .remove("description")
            .filter(|_| map.contains_key("enum"));
        map.insert("description".to_owned(), parameter.row.description.into());
        if let Some(text) = variants.as_ref().and_then(Value::as_str) {
            append_description(map, text);
        }
    }
    if !required {
        map.insert(
            "default".to_owned(),
            parameter.default.take().unwrap_or(Value::Null),
        );
    }
    if !parameter.examples.is_empty() {
        map.insert(
            "examples".to_owned(),
            std::mem::take(&mut parameter.examples).into(),
        );
    }
}

/// Returns true if the schema is a list of properties that can be moved to another object.
fn has_only_properties(map: &Map<String, Value>) -> bool {
    map.keys().all(|keyword| {
        matches!(
            keyword.as_str(),
            "type" | "properties" | "required" | "additionalProperties"
        ) || walk::is_annotation(keyword)
    })
}

/// Returns true if a schema accepts an object without members.
fn accepts_nothing(schema: &Value, root: &Value) -> bool {
    let whole = json!({ "allOf": [schema], "$defs": root.get("$defs") });
    let compiled = CompiledSchema::new(&whole);
    compiled.is_ok_and(|compiled| is_valid(&compiled, &json!({})))
}

/// Returns true if every value that the schema accepts is an object.
pub(crate) fn is_object(schema: &Value, root: &Value, depth: usize) -> bool {
    let Some(map) = walk::follow(root, schema).as_object() else {
        return false;
    };
    if depth > 32 {
        return false;
    }
    if let Some(kind) = map.get("type") {
        return kind == "object";
    }
    let branches = |keyword: &str| map.get(keyword).and_then(Value::as_array);
    let reference = walk::referenced(map, root);
    reference.is_some_and(|target| is_object(target, root, depth + 1))
        || ["oneOf", "anyOf"]
            .iter()
            .filter_map(|keyword| branches(keyword))
            .any(|list| list.iter().all(|branch| is_object(branch, root, depth + 1)))
        || branches("allOf")
            .is_some_and(|list| list.iter().any(|branch| is_object(branch, root, depth + 1)))
        || map.contains_key("properties")
}
