//! Questions whose form is known at run time only. They may come from another program, so their
//! forms are checked first.

use crate::arguments::problem::Problem;
use crate::call::ask_error::AskError;
use crate::call::form::Form;
use crate::schema::walk::join_pointer;
use crate::text::{characters, escape_invisible, is_invisible, truncate};
use serde_json::{Map, Value, json};

/// A question whose form is a JSON schema or a page. Asked by [`RunContext::ask_raw`](crate::RunContext::ask_raw).
///
/// The form is that of the Model Context Protocol: an object of at most 50 properties, each a text,
/// a number, an integer, a boolean, a choice of texts (`enum`, or `oneOf` with titles) or a list of
/// choices. Keywords that no form has are ignored, and other types are refused. Names and choices
/// have at most 200 visible characters. Descriptions and titles are cut to 2,000 characters, and
/// escaped as the message is.
///
/// ```
/// use tool_core::call::RawQuestion;
/// use tool_core::serde_json::json;
///
/// let form = json!({"type": "object", "properties": {"branch": {"type": "string", "maxLength": 100}}});
/// let question = RawQuestion::form("Which branch?", form).asked_by("github");
/// let page = RawQuestion::url("Sign in to go on", "https://github.com/login/device").asked_by("github");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RawQuestion {
    message: String,
    schema: Value,
    pub(crate) url: Option<String>,
    pub(crate) asked_by: Option<String>,
}

/// The characters of a question.
const MAX_MESSAGE: usize = 2_000;
/// The characters of the name of the program that asks.
const MAX_ASKED_BY: usize = 100;
/// The fields of a form, and the choices of a field.
const MAX_FIELDS: usize = 50;
const MAX_CHOICES: usize = 500;
/// The characters of the name of a field, and of a choice.
const MAX_NAME: usize = 200;
/// The bytes of all fields of a form, so that a person can read it.
const MAX_FORM: usize = 64 << 10;
/// The characters of an address.
const MAX_URL: usize = 2_000;

impl RawQuestion {
    /// Creates a question without fields. Accepting it is the answer.
    pub fn confirm(message: impl Into<String>) -> Self {
        Self::form(message, json!({"type": "object", "properties": {}}))
    }

    /// Creates a question with a form.
    pub fn form(message: impl Into<String>, schema: impl Into<Value>) -> Self {
        Self {
            message: message.into(),
            schema: schema.into(),
            url: None,
            asked_by: None,
        }
    }

    /// Creates a question that the user answers by opening a page. Its text is at most 2,000
    /// visible ASCII characters.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            url: Some(url.into()),
            ..Self::confirm(message)
        }
    }

    /// Sets the program that asks. Its name begins the message, so that the user does not take it
    /// for the host.
    #[must_use]
    pub fn asked_by(self, name: impl Into<String>) -> Self {
        Self {
            asked_by: Some(escape_invisible(&truncate(&name.into(), MAX_ASKED_BY))),
            ..self
        }
    }

    /// Returns the message as a person may read it.
    pub(crate) fn shown_message(&self) -> String {
        let message = escape_invisible(&truncate(&self.message, MAX_MESSAGE));
        match &self.asked_by {
            Some(name) => format!("`{}` asks: {message}", name.replace('`', "'")),
            None => message,
        }
    }

    /// Checks the form, or returns each of its problems.
    pub(crate) fn checked_form(&self) -> Result<Form, AskError> {
        let is_url = |url: &str| {
            !url.is_empty()
                && url.len() <= MAX_URL
                && url.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if let Some(url) = self.url.as_deref().filter(|url| !is_url(url)) {
            let expected = format!("an address of at most {MAX_URL} visible ASCII characters");
            return Err(AskError::InvalidForm(vec![Problem::new(
                "/url",
                expected,
                shown(url),
            )]));
        }
        let mut checked = Checked::default();
        checked.read(&self.schema);
        if !checked.problems.is_empty() {
            return Err(AskError::InvalidForm(checked.problems));
        }
        let form = |fields: Map<String, Value>| json!({"type": "object", "properties": fields});
        let mut schema = form(checked.shown);
        let mut enforced = form(checked.enforced);
        if !checked.required.is_empty() {
            (schema["required"], enforced["required"]) =
                (checked.required.clone().into(), checked.required.into());
        }
        enforced["additionalProperties"] = false.into();
        Ok(Form::checked(schema, enforced))
    }
}

/// Returns the beginning of a text for a message.
fn shown(text: &str) -> String {
    escape_invisible(&truncate(text, MAX_NAME))
}

/// The fields of a form as they are shown and as they are enforced.
#[derive(Default)]
struct Checked {
    shown: Map<String, Value>,
    enforced: Map<String, Value>,
    required: Vec<Value>,
    problems: Vec<Problem>,
    bytes: usize,
}

type FieldResult<T> = Result<T, (&'static str, String)>;

impl Checked {
    fn read(&mut self, schema: &Value) {
        let empty = Map::new();
        let fields = match schema.get("properties") {
            Some(Value::Object(fields)) if schema["type"] == "object" => fields,
            None if schema["type"] == "object" => &empty,
            _ => return self.fail("", "an object with fields", "another schema"),
        };
        if fields.len() > MAX_FIELDS {
            return self.fail(
                "",
                format!("at most {MAX_FIELDS} fields"),
                fields.len().to_string(),
            );
        }
        for (name, field) in fields {
            let pointer = join_pointer("/properties", &shown(name));
            if !is_name(name) {
                self.fail(
                    &pointer,
                    format!("a name of 1 to {MAX_NAME} visible characters"),
                    "another name",
                );
                continue;
            }
            match read_field(field) {
                Ok((form, enforced)) => {
                    self.bytes += name.len() + form.to_string().len();
                    self.shown.insert(name.clone(), form);
                    self.enforced.insert(name.clone(), enforced);
                }
                Err((expected, got)) => self.fail(&pointer, expected, got),
            }
        }
        if self.bytes > MAX_FORM {
            self.fail(
                "",
                format!("a form of at most {MAX_FORM} bytes"),
                self.bytes.to_string(),
            );
        }
        match schema.get("required") {
            None | Some(Value::Null) => {}
            Some(Value::Array(names))
                if names.len() <= fields.len()
                    && names.iter().all(|name| {
                        name.as_str().is_some_and(|name| fields.contains_key(name))
                    }) =>
            {
                self.required.clone_from(names);
            }
            Some(_) => self.fail("/required", "names of fields", "others"),
        }
    }

    fn fail(&mut self, pointer: &str, expected: impl Into<String>, got: impl Into<String>) {
        self.problems.push(Problem::new(pointer, expected, got));
    }
}

/// Returns true for a text that is shown as it is, because it is also a part of the answer.
fn is_name(text: &str) -> bool {
    !text.is_empty() && characters(text) <= MAX_NAME && !text.contains(is_invisible)
}

/// Returns a field as it is shown, and as it is enforced.
fn read_field(field: &Value) -> FieldResult<(Value, Value)> {
    const EXPECTED: &str =
        "a text, a number, an integer, a boolean, a choice of texts, or a list of choices";
    let other = |got: &str| Err((EXPECTED, got.to_owned()));
    let Some(field) = field.as_object() else {
        return other("another value");
    };
    let mut enforced = Map::new();
    let mut form = Map::new();
    let choices = choices(field, "oneOf")?;
    let (kind, kept): (&str, &[&str]) = match field.get("type").and_then(Value::as_str) {
        Some("string") | None if choices.is_some() => ("string", &[]),
        Some("string") => ("string", &["minLength", "maxLength"]),
        Some("number") => ("number", &["minimum", "maximum"]),
        Some("integer") => ("integer", &["minimum", "maximum"]),
        Some("boolean") => ("boolean", &[]),
        Some("array") => ("array", &["minItems", "maxItems"]),
        Some("object") => return other("an object"),
        Some(_) => return other("another type"),
        None => return other("values of several types"),
    };
    for keyword in kept.iter().copied() {
        match field.get(keyword) {
            None => {}
            Some(bound) if bound.is_u64() || (keyword.ends_with("imum") && bound.is_number()) => {
                enforced.insert(keyword.to_owned(), bound.clone());
            }
            Some(_) => return other("a bound that is no number"),
        }
    }
    let format = field.get("format").filter(|format| {
        ["email", "uri", "date", "date-time"]
            .iter()
            .any(|known| *format == known)
    });
    if let Some(format) = format.filter(|_| kind == "string" && choices.is_none()) {
        enforced.insert("format".to_owned(), format.clone());
    }
    form.clone_from(&enforced);
    if kind == "array" {
        let items = field.get("items").and_then(Value::as_object);
        let Some(choices) = items
            .map(|items| self::choices(items, "anyOf"))
            .transpose()?
            .flatten()
        else {
            return other("a list of other values than choices of texts");
        };
        form.insert("items".to_owned(), choices.shown("anyOf"));
        enforced.insert("items".to_owned(), json!({"enum": choices.values}));
    } else if let Some(choices) = choices {
        enforced.insert("enum".to_owned(), choices.values.clone().into());
        if let Value::Object(shown) = choices.shown("oneOf") {
            form.extend(shown);
        }
    }
    for (keyword, value) in [
        ("type", Some(kind)),
        ("title", text(field, "title")),
        ("description", text(field, "description")),
    ] {
        if let Some(value) = value {
            form.insert(
                keyword.to_owned(),
                escape_invisible(&truncate(value, MAX_MESSAGE)).into(),
            );
        }
    }
    enforced.insert("type".to_owned(), kind.into());
    let enforced = Value::Object(enforced);
    // A default that the form refuses is left out.
    if let Some(default) = field
        .get("default")
        .filter(|default| default.to_string().len() <= MAX_MESSAGE)
        && crate::arguments::SchemaChecker::new(&enforced)
            .problems(default)
            .is_empty()
    {
        form.insert("default".to_owned(), default.clone());
    }
    Ok((Value::Object(form), enforced))
}

fn text<'a>(field: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    field.get(name).and_then(Value::as_str)
}

/// The choices of a field, and their titles.
struct Choices {
    values: Vec<Value>,
    titles: Vec<String>,
    /// True if the titles were in `enumNames`, as older forms have them.
    in_enum_names: bool,
}

impl Choices {
    /// Returns the schema of a choice. Choices with titles are listed under `keyword`.
    fn shown(&self, keyword: &str) -> Value {
        if self.titles.is_empty() {
            return json!({"type": "string", "enum": self.values});
        }
        if self.in_enum_names {
            return json!({"type": "string", "enum": self.values, "enumNames": self.titles});
        }
        let titled = self
            .values
            .iter()
            .zip(&self.titles)
            .map(|(value, title)| json!({"const": value, "title": title}));
        json!({"type": "string", keyword: titled.collect::<Vec<_>>()})
    }
}

/// Returns the choices of a field: an `enum`, whose titles may be in `enumNames`, or constants with
/// titles.
fn choices(field: &Map<String, Value>, constants: &str) -> FieldResult<Option<Choices>> {
    const EXPECTED: &str = "1 to 500 choices, each a text of 1 to 200 visible characters";
    let refused = |got: &str| Err((EXPECTED, got.to_owned()));
    let (values, titles) = match (field.get("enum"), field.get(constants)) {
        (Some(Value::Array(values)), _) => {
            let names = field
                .get("enumNames")
                .and_then(Value::as_array)
                .filter(|names| names.len() == values.len());
            let title = |name: &Value| name.as_str().unwrap_or_default().to_owned();
            (
                values.clone(),
                names.into_iter().flatten().map(title).collect::<Vec<_>>(),
            )
        }
        (None, Some(Value::Array(options))) => {
            let value = |option: &Value| option.get("const").cloned().unwrap_or_default();
            let title = |option: &Value| {
                let title = option
                    .get("title")
                    .or_else(|| option.get("const"))
                    .and_then(Value::as_str);
                title.unwrap_or_default().to_owned()
            };
            (
                options.iter().map(value).collect(),
                options.iter().map(title).collect(),
            )
        }
        (None, None) => return Ok(None),
        _ => return refused("another value"),
    };
    if values.is_empty() || values.len() > MAX_CHOICES {
        return refused(&values.len().to_string());
    }
    // The empty text is a choice too, such as for "none of these".
    let is_choice = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| text.is_empty() || is_name(text))
    };
    if !values.iter().all(is_choice) {
        return refused("others");
    }
    let titles = titles
        .iter()
        .map(|title| escape_invisible(&truncate(title, MAX_NAME)))
        .collect();
    Ok(Some(Choices {
        values,
        titles,
        in_enum_names: field.contains_key("enum"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(field: impl Into<Value>) -> Result<Form, AskError> {
        let schema =
            json!({"type": "object", "properties": {"x": field.into()}, "required": ["x"]});
        RawQuestion::form("?", schema).checked_form()
    }

    #[test]
    fn forms_of_the_protocol_are_shown_as_they_are() {
        let fields = [
            json!({"type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 9, "format": "email"}),
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
            json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
            json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}),
            json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "default": ["a"]}),
            json!({"type": "array", "items": {"type": "string", "anyOf": [{"const": "a", "title": "A"}]}, "maxItems": 2}),
            json!({"type": "number", "minimum": 0.5, "maximum": 1.5, "default": 1}),
            json!({"type": "integer", "minimum": -7}),
            json!({"type": "boolean", "default": true}),
        ];
        for field in fields {
            let checked = form(field.clone()).expect("a form of the protocol");
            assert_eq!(checked.schema["properties"]["x"], field);
        }
    }

    #[test]
    fn answers_are_held_against_the_form() {
        let cases = [
            (
                json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
                json!("a"),
                json!("A"),
            ),
            (
                json!({"type": "array", "items": {"enum": ["a"]}, "minItems": 1}),
                json!(["a"]),
                json!([]),
            ),
            (
                json!({"type": "array", "items": {"enum": ["a"]}}),
                json!(["a"]),
                json!(["b"]),
            ),
            (
                json!({"type": "string", "maxLength": 2}),
                json!("ab"),
                json!("abc"),
            ),
            (json!({"type": "integer", "maximum": 7}), json!(7), json!(8)),
        ];
        for (field, good, bad) in cases {
            let form = form(field).expect("a form");
            assert_eq!(
                form.read::<Value>(json!({"x": good})).expect("an answer"),
                json!({"x": good})
            );
            for answer in [
                json!({"x": bad}),
                json!({}),
                json!({"x": good, "admin": true}),
            ] {
                assert!(matches!(
                    form.read::<Value>(answer),
                    Err(AskError::InvalidAnswer(_))
                ));
            }
        }
    }

    #[test]
    fn other_schemas_are_refused() {
        let fields = [
            json!({}),
            json!(true),
            json!({"type": "object", "properties": {}}),
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": "object"}}),
            json!({"type": ["string", "null"]}),
            json!({"$ref": "#/properties/x"}),
            json!({"type": "string", "enum": []}),
            json!({"type": "string", "enum": [7]}),
            json!({"type": "string", "enum": ["a\u{202e}b"]}),
            json!({"type": "string", "enum": ["x".repeat(201)]}),
            json!({"type": "string", "enum": vec!["x"; 501]}),
            json!({"type": "string", "oneOf": [{"title": "A"}]}),
            json!({"type": "string", "maxLength": "9"}),
        ];
        for field in fields {
            assert!(
                matches!(form(field.clone()), Err(AskError::InvalidForm(_))),
                "{field}"
            );
        }
        let many = (0..51)
            .map(|at| (at.to_string(), json!({"type": "string"})))
            .collect::<Map<_, _>>();
        let long = (0..50).map(|at| {
            (
                at.to_string(),
                json!({"type": "string", "description": "x".repeat(9_000)}),
            )
        });
        let long = json!({"type": "object", "properties": long.collect::<Map<_, _>>()});
        for schema in [
            json!({"type": "object", "properties": many}),
            json!({"type": "object", "properties": {"": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a\nb": {"type": "string"}}}),
            json!({"type": "object", "properties": {}, "required": ["y"]}),
            json!({"type": "object", "properties": []}),
            json!({"type": "string"}),
            json!([]),
            long,
        ] {
            assert!(matches!(
                RawQuestion::form("?", schema).checked_form(),
                Err(AskError::InvalidForm(_))
            ));
        }
    }

    #[test]
    fn keywords_that_no_form_has_are_left_out() {
        let field = json!({"type": "string", "pattern": "(a+)+$", "format": "password", "default": 7, "const": "x"});
        let form = form(field).expect("a form");
        assert_eq!(form.schema["properties"]["x"], json!({"type": "string"}));
    }

    #[test]
    fn texts_are_escaped_and_the_asker_is_named() {
        let question = RawQuestion::confirm("delete\u{202e}txt\nnow").asked_by("a`b\u{200b}");
        assert_eq!(
            question.shown_message(),
            r"`a'b\u{200b}` asks: delete\u{202e}txt\nnow"
        );
        let form = form(json!({"type": "boolean", "title": "a\u{200b}", "description": "b\n"}))
            .expect("a form");
        assert_eq!(
            form.schema["properties"]["x"],
            json!({"type": "boolean", "title": r"a\u{200b}", "description": r"b\n"})
        );
    }

    #[test]
    fn addresses_are_visible_and_short() {
        for url in [
            "",
            "https://a/\u{202e}",
            "https://a/ b",
            &format!("https://a/{}", "x".repeat(2_000)),
        ] {
            assert!(RawQuestion::url("?", url).checked_form().is_err(), "{url}");
        }
        RawQuestion::url("?", "https://a.example/x?y=1")
            .checked_form()
            .expect("an address");
    }
}
