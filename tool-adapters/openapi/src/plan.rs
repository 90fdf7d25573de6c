//! From an operation to a tool: its name, its parameters, its schema, and the plan of its request.

use crate::document::{Document, Operation};
use crate::encode::{escape_literal, has_dot_segment};
use crate::headers::{essence, is_json, is_of_the_connection, is_of_the_program, is_range_of_json};
use crate::multipart::{PartForm, describes_file, part_forms};
use crate::names::Names;
use crate::refusal::RefusalReason;
use crate::schemas::SchemaSet;
use crate::security::Placement;
use crate::style::Style;
use reqwest::Method;
use reqwest::header::HeaderName;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tool_core::text::truncate;
use tool_core::tool::SharedDefinitions;

/// Maximum number of characters of a description.
const MAX_DESCRIPTION: usize = 4_000;

/// Maximum number of parameters of an operation.
const MAX_PARAMETERS: usize = 1_000;

/// Maximum length of a path in bytes.
const MAX_PATH: usize = 4_096;

/// The location of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Path,
    Query,
    Header,
    Cookie,
}

impl Location {
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "path" => Self::Path,
            "query" => Self::Query,
            "header" => Self::Header,
            "cookie" => Self::Cookie,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// A parameter of the request.
pub(crate) struct Parameter {
    /// The name of the tool's argument.
    pub(crate) property: String,
    /// The name in the request.
    pub(crate) name: String,
    pub(crate) location: Location,
    pub(crate) style: Style,
    pub(crate) explode: bool,
    is_required: bool,
    schema: Value,
}

/// A part of a path: fixed and escaped, or the parameter at an index.
pub(crate) enum PathPart {
    Fixed(String),
    Parameter(usize),
}

/// The form of a body.
pub(crate) enum BodyForm {
    Json,
    /// A form, with the styles of its members.
    Form(BTreeMap<String, (Style, bool)>),
    /// A form of parts, with the forms of its members.
    Multipart(BTreeMap<String, PartForm>),
    Text,
}

/// The body of the request, in the argument `property`.
pub(crate) struct Body {
    pub(crate) property: String,
    pub(crate) media_type: String,
    pub(crate) form: BodyForm,
}

/// A request whose arguments are missing.
pub(crate) struct Plan {
    pub(crate) method: Method,
    pub(crate) path: Vec<PathPart>,
    /// The pairs of the query that the path has, escaped.
    pub(crate) query: Vec<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
}

/// The schema of the arguments of an operation, and the definitions that it refers to.
pub(crate) struct ArgumentSchema {
    pub(crate) schema: Value,
    pub(crate) definitions: Option<SharedDefinitions>,
}

/// Plans the request of an operation, and returns the schema of its arguments. Parameters in the
/// place of a credential are left out.
pub(crate) fn plan<'a>(
    document: &'a Document,
    operation: &Operation<'a>,
    credentials: &[Placement],
    schemas: &mut SchemaSet<'_, 'a>,
) -> Result<(Plan, ArgumentSchema), RefusalReason> {
    if operation.method == Method::TRACE {
        return Err(RefusalReason::Path(
            "`TRACE` repeats the request with its credentials".to_owned(),
        ));
    }
    if operation.path.len() > MAX_PATH {
        return Err(RefusalReason::TooLarge(format!(
            "its path has more than {MAX_PATH} bytes"
        )));
    }
    let declared = parameters(document, operation, credentials, schemas)?;
    let (path, query) = fixed_query(operation.path)?;
    let (path, parameters) = split_path(path, declared)?;
    let body = match operation.body.get("requestBody") {
        Some(body) => Some(self::body(document, body, &parameters, schemas)?),
        None => None,
    };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in &parameters {
        properties.insert(parameter.property.clone(), parameter.schema.clone());
        if parameter.is_required {
            required.push(parameter.property.clone());
        }
    }
    let body = body.map(|(body, schema, is_required)| {
        properties.insert(body.property.clone(), schema);
        required.extend(is_required.then(|| body.property.clone()));
        body
    });
    let mut schema =
        json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    let definitions = schemas.definitions()?;
    let plan = Plan {
        method: operation.method.clone(),
        path,
        query,
        parameters,
        body,
    };
    Ok((
        plan,
        ArgumentSchema {
            schema,
            definitions,
        },
    ))
}

/// Reads the parameters of an operation and of its path item, whose equals the operation replaces.
fn parameters<'a>(
    document: &'a Document,
    operation: &Operation<'a>,
    credentials: &[Placement],
    schemas: &mut SchemaSet<'_, 'a>,
) -> Result<Vec<Parameter>, RefusalReason> {
    let lists = [
        operation.item_member("parameters"),
        operation.body.get("parameters"),
    ];
    let mut declared: Vec<(&str, Location, &Map<String, Value>)> = Vec::new();
    for value in lists
        .into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .flatten()
    {
        let map = document.resolve(value, "a parameter")?;
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let name = text("name").ok_or_else(|| {
            RefusalReason::Malformed("expected a parameter to have a name".to_owned())
        })?;
        let location = text("in")
            .and_then(Location::of_name)
            .ok_or_else(|| unusable(name, "is in an unknown place"))?;
        let is_full = declared.len() == MAX_PARAMETERS;
        match declared
            .iter_mut()
            .find(|(known, place, _)| *known == name && *place == location)
        {
            Some(known) => known.2 = map,
            None if is_full => {
                return Err(RefusalReason::TooLarge(format!(
                    "it has more than {MAX_PARAMETERS} parameters"
                )));
            }
            None => declared.push((name, location, map)),
        }
    }
    let mut taken = Names::default();
    let mut parameters = Vec::new();
    for (name, location, map) in declared {
        let is_required =
            location == Location::Path || map.get("required") == Some(&Value::Bool(true));
        if !is_offered(name, location, is_required, credentials)? {
            continue;
        }
        schemas.charge(name.len() + 8)?;
        let (style, explode) = style(name, location, map)?;
        if location == Location::Cookie
            && explode
            && map
                .get("schema")
                .is_some_and(|it| has_members(document, it))
        {
            return Err(unusable(
                name,
                "is a list or an object without a notation in cookies",
            ));
        }
        let mut schema = match (
            map.get("schema"),
            map.get("content").and_then(Value::as_object),
        ) {
            (Some(schema), _) => schemas.convert_argument(schema, name)?,
            (None, Some(content)) => match content
                .values()
                .next()
                .and_then(|media| media.get("schema"))
            {
                Some(schema) => schemas.convert_argument(schema, name)?,
                None => json!({}),
            },
            (None, None) => json!({}),
        };
        describe(&mut schema, map, schemas)?;
        let property = property_name(name, location.as_str(), &mut taken);
        parameters.push(Parameter {
            property,
            name: name.to_owned(),
            location,
            style,
            explode,
            is_required,
            schema,
        });
    }
    Ok(parameters)
}

/// Returns true for a parameter that the model may set.
fn is_offered(
    name: &str,
    location: Location,
    is_required: bool,
    credentials: &[Placement],
) -> Result<bool, RefusalReason> {
    if credentials
        .iter()
        .any(|credential| credential.is_at(location.as_str(), name))
    {
        return Ok(false);
    }
    let is_token = HeaderName::try_from(name).is_ok();
    match location {
        Location::Header if !is_token => Err(unusable(name, "has a name that headers cannot have")),
        Location::Cookie if !is_token => Err(unusable(name, "has a name that cookies cannot have")),
        // The specification says that these three are ignored.
        Location::Header
            if ["accept", "content-type", "authorization"]
                .contains(&&*name.to_ascii_lowercase()) =>
        {
            Ok(false)
        }
        Location::Header
            if is_required && is_of_the_program(name) && !is_of_the_connection(name) =>
        {
            Err(unusable(name, "is a header that a model cannot set"))
        }
        Location::Header => Ok(!is_of_the_program(name)),
        _ => Ok(true),
    }
}

/// Returns true for the schema of a list or an object.
fn has_members(document: &Document, schema: &Value) -> bool {
    let Ok(schema) = document.resolve(schema, "the schema of a parameter") else {
        return false;
    };
    let kinds = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.as_slice(),
        Some(kind) => std::slice::from_ref(kind),
        None => &[],
    };
    let mut kinds = kinds.iter().filter(|kind| *kind != "null").peekable();
    kinds.peek().is_some() && kinds.all(|kind| kind == "array" || kind == "object")
}

fn unusable(name: &str, problem: &str) -> RefusalReason {
    RefusalReason::Parameter(format!(
        "`{}` {problem}",
        truncate(name, 100).escape_debug()
    ))
}

/// Returns the style of a parameter, and whether it explodes.
fn style(
    name: &str,
    location: Location,
    map: &Map<String, Value>,
) -> Result<(Style, bool), RefusalReason> {
    if !map.contains_key("schema")
        && let Some(content) = map.get("content").and_then(Value::as_object)
    {
        return match content.keys().next() {
            Some(media_type) if is_json(media_type) => Ok((Style::Json, false)),
            _ => Err(unusable(name, "has a content that is not JSON")),
        };
    }
    let style = match map.get("style").and_then(Value::as_str) {
        Some(named) => {
            Style::of_name(named).ok_or_else(|| unusable(name, "has an unknown style"))?
        }
        None if matches!(location, Location::Query | Location::Cookie) => Style::Form,
        None => Style::Simple,
    };
    let fits = match location {
        Location::Path => matches!(style, Style::Simple | Style::Label | Style::Matrix),
        Location::Query => {
            matches!(
                style,
                Style::Form | Style::SpaceDelimited | Style::PipeDelimited | Style::DeepObject
            )
        }
        Location::Header => style == Style::Simple,
        Location::Cookie => style == Style::Form,
    };
    if !fits {
        return Err(unusable(name, "has a style that its place does not have"));
    }
    let explode = map.get("explode").and_then(Value::as_bool);
    Ok((style, explode.unwrap_or(style == Style::Form)))
}

/// Moves the description of a parameter or a body into its schema.
fn describe(
    schema: &mut Value,
    holder: &Map<String, Value>,
    schemas: &mut SchemaSet<'_, '_>,
) -> Result<(), RefusalReason> {
    let Some(map) = schema.as_object_mut() else {
        return Ok(());
    };
    if let Some(text) = holder
        .get("description")
        .and_then(Value::as_str)
        .filter(|text| !text.trim().is_empty())
    {
        let text = truncate(text.trim(), MAX_DESCRIPTION);
        schemas.charge(text.len())?;
        map.insert("description".to_owned(), text.into());
    }
    if holder.get("deprecated") == Some(&Value::Bool(true)) {
        map.insert("deprecated".to_owned(), true.into());
    }
    Ok(())
}

/// Says in the description of a body which of its members are files.
fn describe_files(
    schema: &mut Value,
    parts: &BTreeMap<String, PartForm>,
    schemas: &mut SchemaSet<'_, '_>,
) -> Result<(), RefusalReason> {
    let files = parts.iter().filter(|(_, part)| part.is_file);
    let names = files
        .map(|(name, _)| format!("`{}`", name.escape_debug()))
        .collect::<Vec<_>>()
        .join(", ");
    let Some(map) = schema.as_object_mut().filter(|_| !names.is_empty()) else {
        return Ok(());
    };
    let files = truncate(
        &format!("Give the contents of these files in base64: {names}."),
        MAX_DESCRIPTION,
    );
    schemas.charge(files.len())?;
    let text = match map.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text}\n\n{files}"),
        None => files,
    };
    map.insert("description".to_owned(), text.into());
    Ok(())
}

/// Returns a name for an argument that providers accept and that no other argument has.
fn property_name(name: &str, suffix: &str, taken: &mut Names) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let plain = name
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .take(56)
        .collect::<String>();
    let plain = match plain.trim_end_matches('_') {
        "" => "parameter".to_owned(),
        trimmed
            if trimmed.len() < plain.len() && plain.len() == name.len() && name.ends_with('_') =>
        {
            plain
        }
        trimmed => trimmed.to_owned(),
    };
    if taken.take(&plain) {
        return plain;
    }
    taken.free(&format!("{plain}_{suffix}"), 64)
}

/// Splits a path from its query and its fragment. Documents tell operations of one path apart by
/// these, although the specification has no such paths. A fragment is never sent.
fn fixed_query(path: &str) -> Result<(&str, Vec<String>), RefusalReason> {
    let path = path.split('#').next().unwrap_or_default();
    let Some((path, query)) = path.split_once('?') else {
        return Ok((path, Vec::new()));
    };
    if query.contains('{') {
        return Err(RefusalReason::Path(
            "expected parameters of the query to be declared, not in the path".to_owned(),
        ));
    }
    Ok((
        path,
        query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(escape_literal)
            .collect(),
    ))
}

/// Splits a path at its parameters. Path parameters that the path does not name are left out.
fn split_path(
    path: &str,
    declared: Vec<Parameter>,
) -> Result<(Vec<PathPart>, Vec<Parameter>), RefusalReason> {
    if !path.starts_with('/') {
        return Err(RefusalReason::Path(
            "expected it to begin with `/`".to_owned(),
        ));
    }
    let mut parts = Vec::new();
    let mut named = Vec::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        parts.push(PathPart::Fixed(escape_literal(before)));
        named.push(name);
        parts.push(PathPart::Parameter(named.len()));
        rest = after;
    }
    parts.push(PathPart::Fixed(escape_literal(rest)));
    let fixed = parts
        .iter()
        .map(|part| {
            if let PathPart::Fixed(text) = part {
                text
            } else {
                "x"
            }
        })
        .collect::<String>();
    if has_dot_segment(&fixed) {
        return Err(RefusalReason::Path(
            "expected it to have no `..` segments".to_owned(),
        ));
    }
    let mut parameters = declared;
    parameters.retain(|parameter| {
        parameter.location != Location::Path || named.contains(&parameter.name.as_str())
    });
    for part in &mut parts {
        if let PathPart::Parameter(number) = part {
            let name = named.get(*number - 1).copied().unwrap_or_default();
            let is_named = |parameter: &Parameter| {
                parameter.location == Location::Path && parameter.name == name
            };
            *number = parameters.iter().position(is_named).ok_or_else(|| {
                RefusalReason::Path(format!(
                    "no parameter declares `{{{}}}`",
                    truncate(name, 100).escape_debug()
                ))
            })?;
        }
    }
    Ok((parts, parameters))
}

/// Reads a body: its form, its schema, and whether it is required.
fn body<'a>(
    document: &'a Document,
    body: &'a Value,
    parameters: &[Parameter],
    schemas: &mut SchemaSet<'_, 'a>,
) -> Result<(Body, Value, bool), RefusalReason> {
    let map = document.resolve(body, "the request body")?;
    let content = map.get("content").and_then(Value::as_object);
    let (media_type, media, form) = choose_content(document, content)?;
    let schema = media.get("schema");
    let form = match form {
        BodyForm::Form(_) => BodyForm::Form(member_styles(media)),
        BodyForm::Multipart(_) => BodyForm::Multipart(part_forms(document, media)),
        other => other,
    };
    let mut schema = match (&form, schema) {
        (BodyForm::Text, _) => json!({"type": "string"}),
        (_, Some(schema)) => schemas.convert_argument(schema, "body")?,
        (BodyForm::Form(_) | BodyForm::Multipart(_), None) => json!({"type": "object"}),
        (BodyForm::Json, None) => json!({}),
    };
    describe(&mut schema, map, schemas)?;
    if let BodyForm::Multipart(parts) = &form {
        describe_files(&mut schema, parts, schemas)?;
    }
    let mut taken = Names::default();
    for parameter in parameters {
        taken.take(&parameter.property);
    }
    let property = property_name("body", "request", &mut taken);
    let is_required = map.get("required") == Some(&Value::Bool(true));
    Ok((
        Body {
            property,
            media_type,
            form,
        },
        schema,
        is_required,
    ))
}

/// Chooses the media type of a body. A stated type comes before a range, which is no type that can
/// be sent, and says nothing about the notation of a file.
fn choose_content<'a>(
    document: &Document,
    content: Option<&'a Map<String, Value>>,
) -> Result<(String, &'a Map<String, Value>, BodyForm), RefusalReason> {
    let find = |is_wanted: &dyn Fn(&str, &Map<String, Value>) -> bool| {
        content
            .into_iter()
            .flatten()
            .filter_map(|(name, media)| Some((name, media.as_object()?)))
            .find(|(name, media)| is_wanted(name, media))
    };

    if let Some((name, media)) = find(&|name, _| is_json(name) && !is_range_of_json(name)) {
        return Ok((name.clone(), media, BodyForm::Json));
    }
    if let Some((name, media)) =
        find(&|name, _| essence(name) == "application/x-www-form-urlencoded")
    {
        return Ok((name.clone(), media, BodyForm::Form(BTreeMap::new())));
    }
    if let Some((name, media)) = find(&|name, _| essence(name) == "multipart/form-data") {
        return Ok((name.clone(), media, BodyForm::Multipart(BTreeMap::new())));
    }
    if let Some((_, media)) = find(&|name, media| {
        let schema = media.get("schema");
        is_range_of_json(name) && !schema.is_some_and(|schema| describes_file(document, schema))
    }) {
        return Ok(("application/json".to_owned(), media, BodyForm::Json));
    }
    if let Some((name, media)) =
        find(&|name, _| essence(name).starts_with("text/") && !name.contains('*'))
    {
        return Ok((name.clone(), media, BodyForm::Text));
    }

    let names = content
        .into_iter()
        .flat_map(Map::keys)
        .map(|name| truncate(name, 100))
        .take(10)
        .collect::<Vec<_>>();
    Err(RefusalReason::Body(if names.is_empty() {
        vec!["none".to_owned()]
    } else {
        names
    }))
}

/// Returns the styles that a form states for its members.
fn member_styles(media: &Map<String, Value>) -> BTreeMap<String, (Style, bool)> {
    let encodings = media
        .get("encoding")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let style_of = |encoding: &Value| {
        let text = |key: &str| encoding.get(key).and_then(Value::as_str);
        let style = text("style").and_then(Style::of_name);
        let explode = encoding.get("explode").and_then(Value::as_bool);
        match (style, explode) {
            (Some(style), explode) => Some((style, explode.unwrap_or(style == Style::Form))),
            // Either of the two takes the place of `contentType`.
            (None, Some(explode)) => Some((Style::Form, explode)),
            (None, None) if text("contentType").is_some_and(is_json) => Some((Style::Json, true)),
            (None, None) => None,
        }
    };
    encodings
        .filter_map(|(name, encoding)| Some((name.clone(), style_of(encoding)?)))
        .collect()
}

/// Returns the description of an operation for the model.
pub(crate) fn description(operation: &Operation<'_>) -> String {
    let texts = [operation.text("summary"), operation.text("description")];
    let summary = texts[0].unwrap_or_default().trim();
    let long = texts[1].unwrap_or_default().trim();
    let mut text = match (summary, long) {
        ("", "") => format!("{} {}", operation.method, operation.path),
        (summary, long) if long.starts_with(summary) => long.to_owned(),
        (summary, "") => summary.to_owned(),
        (summary, long) => format!("{summary}\n\n{long}"),
    };
    if operation.is_deprecated() {
        text.insert_str(0, "Deprecated. ");
    }
    truncate(&text, MAX_DESCRIPTION)
}

/// Returns a name that providers accept: the `operationId`, or one from the method and the path.
pub(crate) fn tool_name(
    operation: &Operation<'_>,
    prefix: Option<&str>,
    taken: &mut Names,
) -> String {
    let from_path = || {
        let path = operation.path.replace('{', "by/").replace('}', "");
        identifier(&format!(
            "{}/{path}",
            operation.method.as_str().to_ascii_lowercase()
        ))
    };
    let plain = operation.id().map_or_else(from_path, identifier);
    let plain = match prefix {
        Some(prefix) => format!("{prefix}_{plain}"),
        None => plain,
    };
    taken.free(&plain, 64)
}

/// Replaces everything that a name of a tool cannot have by `_`.
fn identifier(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        let c = if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        };
        if !(c == '_' && name.ends_with('_')) {
            name.push(c);
        }
    }
    let name = name.trim_matches(['_', '-']);
    match name.chars().next() {
        None => "operation".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name.to_owned(),
    }
}
