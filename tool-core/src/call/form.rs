//! Forms: the schema of a question's answer, as a person can fill it in, and the reading of the
//! answer.

use crate::arguments::coerce::Coercions;
use crate::arguments::prepare::prepare;
use crate::arguments::problem::Problem;
use crate::arguments::validate::check_values;
use crate::call::ask_error::AskError;
use crate::json::nested::{MAX_DEPTH, unless_too_deep};
use crate::schema::build::{build_schema, is_object};
use crate::schema::generator::argument_generator;
use crate::schema::normalize::append_description;
use crate::schema::nullable::strip_null;
use crate::schema::parameter::{AnswerType, Parameter, ResolvedParameter};
use crate::schema::validator::Validator;
use crate::schema::walk::{self, join_pointer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The name of the only field of a form whose type is no object.
const ANSWER: &str = "answer";
/// The fields of a form.
const FIELD: &str =
    "a text, a number, an integer, a boolean, a choice of texts, or a list of such choices";
/// The bytes of an answer.
const MAX_ANSWER: usize = 64 << 10;
/// The largest integer that a form in JavaScript keeps exact. Bounds beyond it are left to the
/// runtime.
const MAX_INTEGER: f64 = 9_007_199_254_740_991.0;

/// The form of an answer. It shows as much of the schema as forms can, and the whole schema is
/// enforced.
pub(crate) struct Form {
    pub(crate) schema: Value,
    validator: Validator,
    /// True for a type that is no object, which has a form with one field.
    is_single: bool,
}

/// The answer in a form with one field.
#[derive(Deserialize)]
struct Single<T> {
    answer: T,
}

impl Form {
    /// Makes the form of a type, or returns every problem that a form has with it.
    pub(crate) fn of<T: AnswerType>() -> Result<Self, AskError> {
        let mut generator = argument_generator();
        let flat = ResolvedParameter::new(Parameter::flattened::<T>(ANSWER), None, &mut generator);
        let single = ResolvedParameter::new(Parameter::new::<T>(ANSWER, ""), None, &mut generator);
        let definitions = generator.take_definitions(true);
        let root = json!({ "$defs": definitions });
        let is_single = !is_object(&flat.schema, &root, 0);
        let parameter = if is_single { single } else { flat };
        let built = build_schema(vec![parameter], definitions, check_values);
        let schema = built.map(|built| built.value).map_err(|problems| {
            AskError::InvalidForm(
                problems
                    .iter()
                    .map(|problem| Problem::refused("", problem))
                    .collect(),
            )
        })?;
        let form = shown(&schema).map_err(AskError::InvalidForm)?;
        Ok(Self {
            schema: form,
            validator: Validator::for_tool(schema),
            is_single,
        })
    }

    /// Makes a form that is shown by one schema and enforced by another one.
    pub(crate) fn checked(schema: Value, enforced: Value) -> Self {
        Self {
            schema,
            validator: Validator::for_tool(enforced),
            is_single: false,
        }
    }

    /// Reads an answer as the arguments of a call are read, or returns every problem. A field that
    /// the answer leaves out has the form's default.
    pub(crate) fn read<T: DeserializeOwned>(&self, answer: Value) -> Result<T, AskError> {
        let Some(mut answer) = unless_too_deep(answer) else {
            return Err(AskError::InvalidAnswer(vec![Problem::too_deep(MAX_DEPTH)]));
        };
        self.add_defaults(&mut answer);
        let prepared = prepare(
            &answer.to_string(),
            None,
            &self.validator,
            MAX_ANSWER,
            Coercions::ALL,
        );
        let text = prepared.map_err(AskError::InvalidAnswer)?.text;
        let read = if self.is_single {
            decode(&text).map(|Single { answer }| answer)
        } else {
            decode(&text)
        };
        read.map_err(|problem| AskError::InvalidAnswer(vec![problem]))
    }

    fn add_defaults(&self, answer: &mut Value) {
        let fields = self.schema.get("properties").and_then(Value::as_object);
        let (Some(answer), Some(fields)) = (answer.as_object_mut(), fields) else {
            return;
        };
        for (name, field) in fields {
            if let Some(default) = field.get("default")
                && !answer.contains_key(name)
            {
                answer.insert(name.clone(), default.clone());
            }
        }
    }
}

/// Decodes what the schema has accepted. The type may have stricter rules.
fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(
        |error| {
            let pointer =
                error
                    .path()
                    .iter()
                    .fold(String::new(), |pointer, segment| match segment {
                        serde_path_to_error::Segment::Map { key } => join_pointer(&pointer, key),
                        _ => pointer,
                    });
            Problem::refused(pointer, &error.inner().to_string())
        },
    )
}

/// Returns the part of a schema that a form can show, or a problem for each field that is none of a
/// form.
fn shown(schema: &Value) -> Result<Value, Vec<Problem>> {
    let mut problems = Vec::new();
    for keyword in ["allOf", "dependentRequired", "unevaluatedProperties"] {
        if schema.get(keyword).is_some() {
            problems.push(Problem::new(
                "",
                "an object with fields",
                "a choice between objects",
            ));
            break;
        }
    }
    if schema
        .get("additionalProperties")
        .is_some_and(|rest| *rest != Value::Bool(false))
    {
        problems.push(Problem::new(
            "",
            "an object with fields",
            "a map of any names",
        ));
    }
    let mut fields = Map::new();
    for (name, property) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        match field(property, schema) {
            Ok(field) => _ = fields.insert(name.clone(), field),
            Err(got) => {
                problems.push(Problem::new(join_pointer("", name), FIELD, got));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut form = json!({"type": "object", "properties": fields});
    if let (Some(form), Some(required)) = (form.as_object_mut(), schema.get("required")) {
        form.insert("required".to_owned(), required.clone());
    }
    Ok(form)
}

/// Returns the field of a property, or what it is instead.
fn field(property: &Value, root: &Value) -> Result<Value, Cow<'static, str>> {
    let mut property = resolved(property, root);
    let Some(map) = property.as_object_mut() else {
        return Err("any value".into());
    };
    if let Some(only) = map.remove("const") {
        map.insert("enum".to_owned(), Value::Array(vec![only]));
    }
    let choices = map.get("enum").and_then(Value::as_array);
    if choices.is_some_and(|choices| !choices.iter().all(Value::is_string)) {
        return Err("a choice of other values than texts".into());
    }
    let is_choice = choices.is_some();
    let kind = match map.get("type").and_then(Value::as_str) {
        Some(kind @ ("string" | "number" | "integer" | "boolean")) => kind.to_owned(),
        None if is_choice => "string".to_owned(),
        Some("array") => {
            let items = map.get("items").map(|items| field(items, root));
            let is_choice = |items: &Value| items.get("enum").is_some();
            let items = items
                .and_then(Result::ok)
                .filter(is_choice)
                .ok_or("a list")?;
            map.insert("items".to_owned(), items);
            "array".to_owned()
        }
        Some("object") => return Err("an object".into()),
        _ => return Err("values of several types".into()),
    };
    let mut field = Map::from_iter([("type".to_owned(), Value::from(kind.as_str()))]);
    let mut lost = Vec::new();
    for (keyword, value) in map.iter() {
        let is_kept = match (kind.as_str(), keyword.as_str()) {
            (_, "description")
            | ("string", "enum")
            | ("number", "minimum" | "maximum")
            | ("array", "items" | "minItems" | "maxItems") => true,
            (_, "default") => !value.is_null(),
            ("string", "minLength" | "maxLength") => !is_choice,
            ("string", "format") => {
                matches!(value.as_str(), Some("email" | "uri" | "date" | "date-time"))
            }
            ("integer", "minimum" | "maximum") => value
                .as_f64()
                .is_some_and(|bound| bound.fract() == 0.0 && bound.abs() <= MAX_INTEGER),
            _ => false,
        };
        if is_kept {
            field.insert(keyword.clone(), value.clone());
        } else if keyword != "type" && !walk::is_annotation(keyword) {
            lost.push(format!("{keyword}: {value}"));
        }
    }
    if !lost.is_empty() {
        append_description(&mut field, &format!("({})", lost.join(", ")));
    }
    Ok(Value::Object(field))
}

/// Returns a property without its references and without the `null` of an optional one.
fn resolved(property: &Value, root: &Value) -> Value {
    let mut property = property.clone();
    // A field of a form is a scalar, so its references are few.
    for _ in 0..8 {
        strip_null(&mut property);
        let Some(map) = property.as_object() else {
            break;
        };
        let Some(target) = walk::referenced(map, root) else {
            break;
        };
        let mut whole = target.clone();
        if let Some(whole) = whole.as_object_mut() {
            whole.extend(
                map.iter()
                    .filter(|(keyword, _)| *keyword != "$ref")
                    .map(|(k, v)| (k.clone(), v.clone())),
            );
        }
        property = whole;
    }
    property
}
