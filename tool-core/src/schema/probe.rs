//! The texts of a probe, written from the schemas of a tool's parameters.

use crate::json::probe::{ProbedPlace, PublishedKind, SchemaProbe};
use crate::json::string::push_string;
use crate::schema::example::minimal_example;
use crate::schema::normalize::{PROVEN, choice_of_strings, definition_name};
use crate::schema::nullable::is_null_only;
use crate::schema::parameter::ResolvedParameter;
use crate::schema::walk::{is_annotation, type_names};
use serde_json::{Map, Value};

/// The number of values that a probe holds at most, with those that were given up.
const MAX_VALUES: usize = 1_000;
/// The number of times that a type may contain itself. The second shows what the type reads inside
/// of itself.
const MAX_OPEN: usize = 2;
/// A name that no type knows.
const UNKNOWN: &str = "no such name";

/// Writes the probe of a tool whose schemas, as schemars wrote them, hold only keywords that types
/// can enforce. Returns `None` if it would be too large.
pub(crate) fn write_probe(
    parameters: &[ResolvedParameter],
    definitions: &Map<String, Value>,
) -> Option<SchemaProbe> {
    let write = |fault: Option<usize>| {
        let mut writer = ProbeWriter {
            definitions,
            text: String::new(),
            places: Vec::new(),
            flattened: Vec::new(),
            open: Vec::new(),
            values: 0,
            faults: 0,
            fault,
        };
        writer.parameters(parameters).map(|()| writer)
    };
    let writer = write(None)?;
    let faulty = (0..writer.faults)
        .map(|fault| Some(write(Some(fault))?.text))
        .collect::<Option<Vec<_>>>()?;
    Some(SchemaProbe::new(
        writer.text,
        writer.places,
        writer.flattened,
        faulty,
    ))
}

struct ProbeWriter<'a> {
    definitions: &'a Map<String, Value>,
    text: String,
    places: Vec<(usize, ProbedPlace)>,
    flattened: Vec<ProbedPlace>,
    /// The definitions whose values are being written.
    open: Vec<&'a str>,
    values: usize,
    /// The number of faults that could have been written so far.
    faults: usize,
    /// The fault to write.
    fault: Option<usize>,
}

/// A schema without its references and without `null`.
struct Resolved<'a> {
    map: &'a Map<String, Value>,
    nullable: bool,
    /// The number of definitions that were opened.
    opened: usize,
    /// True at the root of a definition, where an `enum` is that of a Rust enum.
    named: bool,
}

impl<'a> ProbeWriter<'a> {
    fn parameters(&mut self, parameters: &'a [ResolvedParameter]) -> Option<()> {
        self.text.push('{');
        for parameter in parameters {
            if !parameter.row.flatten {
                self.key(parameter.row.name);
                self.value(&parameter.schema)?;
                continue;
            }
            let resolved = self.resolve(&parameter.schema)?;
            let published = published(&resolved);
            self.flattened.push(ProbedPlace {
                published,
                nullable: resolved.nullable,
            });
            self.members(resolved.map)?;
            self.close(&resolved);
        }
        self.text.push('}');
        Some(())
    }

    /// Writes a value that the schema accepts, with all that may be in it.
    fn value(&mut self, schema: &'a Value) -> Option<()> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return None;
        }
        if *schema == Value::Bool(true) {
            self.text.push_str("\"value\"");
            return Some(());
        }
        let resolved = self.resolve(schema)?;
        let published = published(&resolved);
        let variant = match &published {
            PublishedKind::Variants(_) if self.is_faulty() => Some(UNKNOWN.to_owned()),
            PublishedKind::Variants(names) => names.first().cloned(),
            _ => None,
        };
        self.places.push((
            self.text.len(),
            ProbedPlace {
                published,
                nullable: resolved.nullable,
            },
        ));
        match (variant, kind(resolved.map)) {
            (Some(name), _) => push_string(&mut self.text, &name),
            (_, "object") => {
                self.text.push('{');
                self.members(resolved.map)?;
                self.text.push('}');
            }
            (_, "array") => self.elements(resolved.map)?,
            (_, "integer" | "number") => self.text.push('1'),
            _ => self
                .text
                .push_str(&minimal_example(&resolved.map.clone().into(), &Value::Null).to_string()),
        }
        self.close(&resolved);
        Some(())
    }

    /// Follows references and choices with `null`.
    fn resolve(&mut self, schema: &'a Value) -> Option<Resolved<'a>> {
        let mut resolved = Resolved {
            map: schema.as_object()?,
            nullable: false,
            opened: 0,
            named: false,
        };
        loop {
            let map = resolved.map;
            let next = if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
                let (name, definition) = self
                    .definitions
                    .get_key_value(&definition_name(reference)?)?;
                if self.open.iter().filter(|open| *open == name).count() >= MAX_OPEN {
                    return None;
                }
                self.open.push(name);
                resolved.opened += 1;
                resolved.named = true;
                definition
            } else if let Some([some, none]) = map
                .get("anyOf")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
            {
                resolved.nullable |= is_null_only(none);
                resolved.named = false;
                some
            } else {
                resolved.nullable |= type_names(map).count() == 2;
                return Some(resolved);
            };
            resolved.map = next.as_object()?;
        }
    }

    fn close(&mut self, resolved: &Resolved<'a>) {
        self.open.truncate(self.open.len() - resolved.opened);
    }

    /// Counts a possible fault. Returns true if it is the one to write.
    fn is_faulty(&mut self) -> bool {
        self.faults += 1;
        self.fault == Some(self.faults - 1)
    }

    /// Writes the key of an entry of the object that was begun last.
    fn key(&mut self, name: &str) {
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        push_string(&mut self.text, name);
        self.text.push(':');
    }

    /// Writes the entries of an object.
    fn members(&mut self, map: &'a Map<String, Value>) -> Option<()> {
        let required = map
            .get("required")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let is_required = required.iter().any(|required| required == name);
            if is_required && self.is_faulty() {
                continue;
            }
            let written = self.attempt(|writer| {
                writer.key(name);
                writer.value(schema)
            });
            if is_required {
                written?;
            }
        }
        match map.get("additionalProperties") {
            Some(Value::Bool(false)) if self.is_faulty() => {
                self.key(UNKNOWN);
                self.text.push_str("null");
            }
            Some(schema) if !map.contains_key("properties") => {
                self.attempt(|writer| {
                    writer.key("key");
                    writer.value(schema)
                });
            }
            _ => {}
        }
        Some(())
    }

    fn elements(&mut self, map: &'a Map<String, Value>) -> Option<()> {
        self.text.push('[');
        if let Some(items) = map.get("prefixItems").and_then(Value::as_array) {
            for item in items {
                self.value(item)?;
                self.text.push(',');
            }
            if !items.is_empty() {
                self.text.pop();
            }
        } else if let Some(items) = map.get("items") {
            self.attempt(|writer| writer.value(items));
        }
        self.text.push(']');
        Some(())
    }

    /// Writes what may be left out, and takes it back if it contains itself too often.
    fn attempt(&mut self, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let length = self.text.len();
        let places = self.places.len();
        let open = self.open.len();
        let faults = self.faults;
        let written = write(self);
        if written.is_none() {
            self.text.truncate(length);
            self.places.truncate(places);
            self.open.truncate(open);
            self.faults = faults;
        }
        written
    }
}

/// Returns the type that a schema names beside `null`.
fn kind(map: &Map<String, Value>) -> &str {
    type_names(map)
        .find(|name| *name != "null")
        .unwrap_or(if map.contains_key("type") { "null" } else { "" })
}

/// Returns what the schema publishes.
fn published(resolved: &Resolved<'_>) -> PublishedKind {
    let map = resolved.map;
    let texts = |all: &Vec<Value>| {
        all.iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let format = || map.get("format").and_then(Value::as_str).map(str::to_owned);
    if map.get(PROVEN).and_then(Value::as_bool) == Some(true)
        || map.keys().all(|keyword| is_annotation(keyword))
    {
        return PublishedKind::Anything;
    }
    if resolved.named
        && let Some(variants) =
            choice_of_strings(map).or_else(|| map.get("enum")?.as_array().map(texts))
    {
        return PublishedKind::Variants(variants);
    }
    match kind(map) {
        "array" => match map.get("prefixItems").and_then(Value::as_array) {
            Some(items) => PublishedKind::Tuple(items.len()),
            None => PublishedKind::List,
        },
        "boolean" => PublishedKind::Boolean,
        "integer" => PublishedKind::Integer(format()),
        "null" => PublishedKind::Null,
        "number" => PublishedKind::Number(format().filter(|format| format != "double")),
        "object" => match (
            map.get("properties").and_then(Value::as_object),
            map.get("additionalProperties"),
        ) {
            (Some(properties), _) => PublishedKind::Struct(properties.keys().cloned().collect()),
            (None, None) => PublishedKind::Object,
            (None, Some(Value::Bool(false))) => PublishedKind::Struct(Vec::new()),
            (None, Some(_)) => PublishedKind::Map,
        },
        _ => PublishedKind::Text,
    }
}
