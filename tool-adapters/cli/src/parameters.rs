//! The parameters of a tool, as people read and write them.

use serde_json::{Map, Value};
use std::collections::{HashSet, VecDeque};
use tool_adapters_providers::schema::document::{SchemaDocument, SchemaPlace, named_places};

/// A parameter of a tool, or a member of one, in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParameterRow {
    /// The name; for a member, the path with dots.
    pub(crate) name: String,
    /// The types of its values.
    pub(crate) kind: String,
    pub(crate) required: bool,
    /// The default as JSON; empty without one, and where it is null.
    pub(crate) default: String,
    /// The constraints on its values.
    pub(crate) limits: String,
    pub(crate) description: String,
}

/// The rows of a tool.
#[derive(Debug, Default)]
pub(crate) struct ParameterRows {
    /// The parameters in the schema's order, each followed by its members.
    pub(crate) rows: Vec<ParameterRow>,
    /// True if the schema has more parameters or members than the rows.
    pub(crate) has_more: bool,
}

/// The maximum depth of members in the rows.
const MAX_DEPTH: usize = 5;
/// The maximum number of rows.
const MAX_ROWS: usize = 500;
/// The number of values that a row names.
const MAX_VALUES: usize = 20;

/// The schema of a tool's parameters.
pub(crate) struct ParameterSchema<'a>(SchemaDocument<'a>);

impl<'a> ParameterSchema<'a> {
    pub(crate) fn new(schema: &'a Value) -> Self {
        Self(SchemaDocument::new(schema))
    }

    fn root(&self) -> SchemaPlace<'a> {
        SchemaPlace::root(self.0.root())
    }

    /// Returns true if the schema names this parameter.
    pub(crate) fn declares(&self, name: &str) -> bool {
        !self.members(&[self.root()], name).is_empty()
    }

    /// Returns true if the value at this path may be a text.
    pub(crate) fn takes_text(&self, path: &[&str]) -> bool {
        let places = path.iter().fold(vec![self.root()], |places, name| {
            self.members(&places, name)
        });
        places
            .iter()
            .any(|place| self.types(place).contains(&"string"))
    }

    /// Returns the parameters and their members.
    pub(crate) fn rows(&self) -> ParameterRows {
        self.rows_to(MAX_DEPTH)
    }

    /// Returns the parameters without their members.
    pub(crate) fn top_rows(&self) -> ParameterRows {
        self.rows_to(1)
    }

    fn rows_to(&self, max_depth: usize) -> ParameterRows {
        let mut reader = RowReader {
            schema: self,
            max_depth,
            names: HashSet::new(),
            open: Vec::new(),
            found: ParameterRows::default(),
        };
        reader.add(&self.root(), "");
        reader.found
    }

    fn row(&self, name: &str, place: &SchemaPlace<'a>, required: bool) -> ParameterRow {
        let forms = self.forms(place);
        let first = |keyword: &str| forms.iter().find_map(|form| form.schema.get(keyword));
        ParameterRow {
            name: name.to_owned(),
            kind: self.kind(place, 0),
            required,
            default: first("default")
                .filter(|default| !default.is_null())
                .map_or_else(String::new, Value::to_string),
            limits: self.limits(place, 0).join(", "),
            description: first("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        }
    }

    /// Returns the schema, those that its references lead to, and those that it combines.
    fn forms(&self, place: &SchemaPlace<'a>) -> Vec<SchemaPlace<'a>> {
        let (mut open, mut seen, mut forms) =
            (VecDeque::from([place.clone()]), HashSet::new(), Vec::new());
        while let Some(place) = open.pop_front() {
            if !seen.insert(place.pointer.clone()) {
                continue;
            }
            let reference = place.schema.get("$ref").and_then(Value::as_str);
            open.extend(reference.and_then(|reference| self.0.resolve(&place.pointer, reference)));
            for keyword in ["allOf", "oneOf", "anyOf"] {
                open.extend(place.list(keyword));
            }
            forms.push(place);
        }
        forms
    }

    /// Returns the schemas of a member of objects.
    fn members(&self, objects: &[SchemaPlace<'a>], name: &str) -> Vec<SchemaPlace<'a>> {
        let forms = objects.iter().flat_map(|object| self.forms(object));
        let members = forms.flat_map(|form| {
            let properties = form.schema.get("properties").unwrap_or(&Value::Null);
            named_places(properties, &form.pointer, "properties")
                .filter(|(other, _)| *other == name)
                .map(|(_, place)| place)
                .collect::<Vec<_>>()
        });
        members.collect()
    }

    /// Returns the types of the values, without null; empty for values of any type.
    fn types(&self, place: &SchemaPlace<'a>) -> Vec<&'a str> {
        let mut types = Vec::new();
        for form in self.forms(place) {
            let named = match form.schema.get("type") {
                Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
                Some(one) => one.as_str().into_iter().collect(),
                None => values(form.schema).map(type_of).collect::<Vec<_>>(),
            };
            for name in named {
                if name != "null" && !types.contains(&name) {
                    types.push(name);
                }
            }
        }
        types
    }

    /// Returns the types of the values in words.
    fn kind(&self, place: &SchemaPlace<'a>, depth: usize) -> String {
        let types = self.types(place);
        let name = |name: &str| match self
            .items(place)
            .filter(|_| name == "array" && depth < MAX_DEPTH)
        {
            Some(items) => format!("array of {}", self.kind(&items, depth + 1)),
            None => name.to_owned(),
        };
        if types.is_empty() {
            "any".to_owned()
        } else {
            types.into_iter().map(name).collect::<Vec<_>>().join(" or ")
        }
    }

    /// Returns the schema of an array's elements.
    fn items(&self, place: &SchemaPlace<'a>) -> Option<SchemaPlace<'a>> {
        self.forms(place).into_iter().find_map(|form| {
            let schema = form.schema.get("items").filter(|items| items.is_object())?;
            Some(SchemaPlace {
                schema,
                pointer: format!("{}/items", form.pointer),
            })
        })
    }

    /// Returns the constraints on the values in words.
    fn limits(&self, place: &SchemaPlace<'a>, depth: usize) -> Vec<String> {
        let forms = self.forms(place);
        let mut limits = Vec::new();
        let allowed = forms
            .iter()
            .flat_map(|form| values(form.schema))
            .filter(|value| !value.is_null());
        let allowed = allowed.collect::<Vec<_>>();
        // A tag of an object is not the object's value.
        if !allowed.is_empty() {
            limits.push(one_of(&allowed));
        }
        let variants = |form: &SchemaPlace<'a>| {
            form.list("oneOf")
                .chain(form.list("anyOf"))
                .collect::<Vec<_>>()
        };
        let variants = forms.iter().flat_map(variants).filter(|variant| {
            !values(variant.schema).any(|_| true)
                && variant.schema.get("type").is_none_or(|kind| kind != "null")
        });
        let variants = variants.count();
        if variants > 1 {
            limits.push(format!("one of {variants} forms"));
            return limits;
        }
        for map in forms.iter().filter_map(|form| form.schema.as_object()) {
            limits.extend(keyword_limits(map));
        }
        if let Some(items) = self.items(place).filter(|_| depth < MAX_DEPTH) {
            limits.extend(
                self.limits(&items, depth + 1)
                    .into_iter()
                    .map(|limit| format!("each {limit}")),
            );
        }
        limits.dedup();
        limits
    }
}

/// Collects the rows of a schema.
struct RowReader<'r, 'a> {
    schema: &'r ParameterSchema<'a>,
    max_depth: usize,
    /// The names of the rows.
    names: HashSet<String>,
    /// The forms of each object around the members that are added.
    open: Vec<HashSet<String>>,
    found: ParameterRows,
}

impl<'a> RowReader<'_, 'a> {
    /// Adds the members of an object.
    fn add(&mut self, object: &SchemaPlace<'a>, prefix: &str) {
        let depth = self.open.len();
        let forms = self.schema.forms(object);
        let with_members = |form: &&SchemaPlace<'a>| form.schema.get("properties").is_some();
        let variants = forms.iter().filter(with_members).count();
        if depth == self.max_depth || (depth > 0 && variants > 1) {
            return;
        }
        // A definition says no more inside itself.
        let is_open = |form: &SchemaPlace<'a>| {
            let mut around = self.open.iter();
            around.any(|pointers| pointers.contains(&form.pointer))
        };
        if forms.iter().filter(with_members).any(is_open) {
            return;
        }

        let required = forms
            .iter()
            .filter_map(|form| form.schema.get("required")?.as_array())
            .flatten();
        let required = required.filter_map(Value::as_str).collect::<HashSet<_>>();
        let pointers = forms.iter().map(|form| form.pointer.clone());
        self.open.push(pointers.collect());
        for form in forms.iter().filter(with_members) {
            let members = &form.schema["properties"];
            for (name, place) in named_places(members, &form.pointer, "properties") {
                let path = if prefix.is_empty() {
                    name.to_owned()
                } else {
                    format!("{prefix}.{name}")
                };
                if self.names.contains(&path) {
                    continue;
                }
                if self.found.rows.len() == MAX_ROWS {
                    self.found.has_more = true;
                    break;
                }
                let row = self.schema.row(&path, &place, required.contains(name));
                self.found.rows.push(row);
                self.names.insert(path.clone());
                self.add(&place, &path);
            }
        }
        self.open.pop();
    }
}

/// Returns the values that `enum` and `const` allow.
fn values(schema: &Value) -> impl Iterator<Item = &Value> {
    let several = schema
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    several.chain(schema.get("const"))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn one_of(values: &[&Value]) -> String {
    let word = |text: &str| {
        text.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':'))
    };
    let name = |value: &&Value| match value.as_str() {
        Some(text) if !text.is_empty() && word(text) => text.to_owned(),
        _ => value.to_string(),
    };
    let named = values
        .iter()
        .take(MAX_VALUES)
        .map(name)
        .collect::<Vec<_>>()
        .join(", ");
    match values.len().saturating_sub(MAX_VALUES) {
        0 if values.len() == 1 => format!("only {named}"),
        0 => format!("one of {named}"),
        more => format!("one of {named} and {more} more"),
    }
}

/// The keywords whose constraint takes more words than a cell has.
const NAMED_KEYWORDS: [&str; 12] = [
    "not",
    "if",
    "prefixItems",
    "contains",
    "propertyNames",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "minProperties",
    "maxProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Returns the constraints of one schema in words.
fn keyword_limits(schema: &Map<String, Value>) -> Vec<String> {
    let get = |keyword: &str| schema.get(keyword);
    let bound = |keyword: &str| get(keyword).filter(|bound| !is_type_bound(bound));
    let mut limits = Vec::new();
    limits.extend(match (bound("minimum"), bound("maximum")) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("at least {min}")),
        (None, Some(max)) => Some(format!("at most {max}")),
        (None, None) => None,
    });
    limits.extend(get("exclusiveMinimum").map(|min| format!("above {min}")));
    limits.extend(get("exclusiveMaximum").map(|max| format!("below {max}")));
    limits.extend(get("multipleOf").map(|step| format!("a multiple of {step}")));
    limits.extend(count(get("minLength"), get("maxLength"), "character"));
    limits.extend(
        get("format")
            .and_then(Value::as_str)
            .map(|format| format!("format {format}")),
    );
    limits.extend(
        get("pattern")
            .and_then(Value::as_str)
            .map(|pattern| format!("pattern {pattern}")),
    );
    limits.extend(count(get("minItems"), get("maxItems"), "item"));
    if get("uniqueItems") == Some(&Value::Bool(true)) {
        limits.push("no item twice".to_owned());
    }
    limits.extend(
        NAMED_KEYWORDS
            .iter()
            .filter(|keyword| schema.contains_key(**keyword))
            .map(|keyword| format!("`{keyword}`")),
    );
    limits
}

/// Returns true for the bound of a type of 32 or 64 bits, which says less than it takes to read.
fn is_type_bound(bound: &Value) -> bool {
    let signed = [
        i64::MIN,
        i64::from(i32::MIN),
        i64::from(i32::MAX),
        i64::MAX,
        i64::from(u32::MAX),
    ];
    bound.as_i64().is_some_and(|bound| signed.contains(&bound)) || bound.as_u64() == Some(u64::MAX)
}

fn count(min: Option<&Value>, max: Option<&Value>, unit: &str) -> Option<String> {
    let min = min.filter(|min| min.as_u64() != Some(0));
    let units = |count: &Value| {
        if count.as_u64() == Some(1) {
            unit.to_owned()
        } else {
            format!("{unit}s")
        }
    };
    Some(match (min, max) {
        (Some(min), Some(max)) if min == max => format!("{min} {}", units(min)),
        (Some(min), Some(max)) => format!("{min} to {max} {}", units(max)),
        (Some(min), None) => format!("at least {min} {}", units(min)),
        (None, Some(max)) => format!("at most {max} {}", units(max)),
        (None, None) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns type and limits of a parameter with this schema.
    fn words(schema: &Value) -> String {
        let root = json!({"type": "object", "properties": {"p": schema}, "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}},
        }});
        let rows = ParameterSchema::new(&root).rows().rows;
        let row = rows.first().expect("a parameter");
        format!("{} | {}", row.kind, row.limits)
    }

    #[test]
    fn types_and_limits_are_words() {
        for (schema, expected) in [
            (
                json!({"type": "integer", "minimum": 5, "maximum": 480}),
                "integer | 5 to 480",
            ),
            (
                json!({"type": "number", "exclusiveMinimum": 0}),
                "number | above 0",
            ),
            (
                json!({"type": "integer", "minimum": i64::MIN, "maximum": 9}),
                "integer | at most 9",
            ),
            (
                json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
                "integer | at least 0",
            ),
            (
                json!({"type": ["string", "null"], "minLength": 1, "maxLength": 1}),
                "string | 1 character",
            ),
            (
                json!({"enum": ["a", "b c", 1]}),
                "string or integer | one of a, \"b c\", 1",
            ),
            (json!({"const": "a"}), "string | only a"),
            (
                json!({"oneOf": [{"const": "a"}, {"const": "b", "description": "B"}]}),
                "string | one of a, b",
            ),
            (
                json!({"anyOf": [{"type": "integer", "maximum": 3}, {"type": "null"}]}),
                "integer | at most 3",
            ),
            (
                json!({"type": "array", "maxItems": 20, "items": {"type": "string", "format": "email"}}),
                "array of string | at most 20 items, each format email",
            ),
            (
                json!({"oneOf": [{"type": "object"}, {"type": "string"}]}),
                "object or string | one of 2 forms",
            ),
            (
                json!({"type": "string", "not": {"const": "x"}}),
                "string | `not`",
            ),
            (json!(true), "any | "),
        ] {
            assert_eq!(words(&schema), expected);
        }
    }

    #[test]
    fn members_follow_their_object_and_recursion_ends() {
        let root = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {
            "node": {"type": "object", "required": ["name"], "properties": {
                "next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}},
        }});
        let rows = ParameterSchema::new(&root).rows().rows;
        let names = rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names, ["tree", "tree.next", "tree.name"]);
        assert!(rows.last().is_some_and(|row| row.required));
    }

    #[test]
    fn rows_of_a_wide_recursive_schema_are_bounded() {
        // Each definition refers to all others, so that no path repeats one.
        let reference = |n: usize| (format!("m{n}"), json!({"$ref": format!("#/$defs/d{n}")}));
        let members = (0..40).map(reference).collect::<Map<_, _>>();
        let definition = json!({"type": "object", "properties": members});
        let definitions = (0..40).map(|n| (format!("d{n}"), definition.clone()));
        let definitions = definitions.collect::<Map<_, _>>();
        let root = json!({"type": "object", "properties": members, "$defs": definitions});
        let found = ParameterSchema::new(&root).rows();
        assert_eq!(found.rows.len(), 500);
        assert!(found.has_more);
        let top = ParameterSchema::new(&root).top_rows();
        assert_eq!(top.rows.len(), 40);
        assert!(!top.has_more);
    }

    #[test]
    fn text_is_taken_where_any_form_takes_it() {
        let root = json!({"type": "object", "properties": {
            "a": {"type": ["integer", "string"]},
            "b": {"type": "integer"},
            "c": {"oneOf": [{"type": "object", "properties": {"d": {"const": "x"}, "e": {"type": "boolean"}}}]},
            "any": true,
        }});
        let schema = ParameterSchema::new(&root);
        let texts = [
            &["a"][..],
            &["b"],
            &["c", "d"],
            &["c", "e"],
            &["any"],
            &["none"],
        ];
        assert_eq!(
            texts.map(|path| schema.takes_text(path)),
            [true, false, true, false, false, false]
        );
    }
}
