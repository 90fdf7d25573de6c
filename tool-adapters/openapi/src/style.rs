//! The styles of parameters: how a value becomes text of a path, a query, a header or a form body.

use crate::encode::escape;
use crate::numbers::number_text;
use serde_json::{Map, Value};

/// The style of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
    /// JSON text, where the parameter has `content`.
    Json,
}

impl Style {
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "simple" => Self::Simple,
            "label" => Self::Label,
            "matrix" => Self::Matrix,
            "form" => Self::Form,
            "spaceDelimited" => Self::SpaceDelimited,
            "pipeDelimited" => Self::PipeDelimited,
            "deepObject" => Self::DeepObject,
            _ => return None,
        })
    }
}

/// The problem of a value that a style cannot express.
pub(crate) type StyleResult<T> = Result<T, String>;

/// Writes a value for a path, without the delimiters of the path.
pub(crate) fn path_text(
    style: Style,
    explode: bool,
    name: &str,
    value: &Value,
) -> StyleResult<String> {
    if style == Style::Json {
        return Ok(escape(&value.to_string()));
    }
    let name = escape(name);
    let text = match value {
        Value::Array(items) => {
            let items = defined_items(items)
                .map(|item| Ok(escape(&scalar(item)?)))
                .collect::<StyleResult<Vec<_>>>()?;
            if items.is_empty() {
                return Err("expected at least one item".to_owned());
            }
            match (style, explode) {
                (Style::Label, true) => format!(".{}", items.join(".")),
                (Style::Label, false) => format!(".{}", items.join(",")),
                (Style::Matrix, true) => format!(";{name}={}", items.join(&format!(";{name}="))),
                (Style::Matrix, false) => format!(";{name}={}", items.join(",")),
                _ => items.join(","),
            }
        }
        Value::Object(members) => {
            let (separator, list_style) = if explode {
                ("=", style)
            } else {
                (",", Style::Simple)
            };
            let pairs = defined_members(members)
                .map(|(key, value)| {
                    Ok(format!(
                        "{}{separator}{}",
                        escape(key),
                        escape(&scalar(value)?)
                    ))
                })
                .collect::<StyleResult<Vec<_>>>()?;
            if pairs.is_empty() {
                return Err("expected at least one member".to_owned());
            }
            let joined = pairs.join(match list_style {
                Style::Label => ".",
                Style::Matrix => ";",
                _ => ",",
            });
            match style {
                Style::Label => format!(".{joined}"),
                Style::Matrix if explode => format!(";{joined}"),
                Style::Matrix => format!(";{name}={joined}"),
                _ => joined,
            }
        }
        value => {
            let text = escape(&scalar(value)?);
            if text.is_empty() {
                return Err(
                    "expected a text that is not empty, as it is a part of the path".to_owned(),
                );
            }
            match style {
                Style::Label => format!(".{text}"),
                Style::Matrix => format!(";{name}={text}"),
                _ => text,
            }
        }
    };
    if text.is_empty() {
        Err("expected a value that is not empty, as it is a part of the path".to_owned())
    } else {
        Ok(text)
    }
}

/// Writes a value as escaped pairs of a query or of a form body. The first of each pair is also
/// returned unescaped, where the value chose it.
pub(crate) fn query_pairs(
    style: Style,
    explode: bool,
    name: &str,
    value: &Value,
) -> StyleResult<Vec<Pair>> {
    let mut pairs = Vec::new();
    match (style, value) {
        (Style::Json, value) => pairs.push(Pair::named(name, &escape(&value.to_string()))),
        (_, Value::Null) => {}
        (Style::DeepObject, Value::Object(_) | Value::Array(_)) => {
            deep_pairs(name, value, &mut pairs)?;
        }
        (_, Value::Array(items)) if explode => {
            for item in defined_items(items) {
                pairs.push(Pair::named(name, &escape(&scalar(item)?)));
            }
        }
        (_, Value::Object(members)) if explode => {
            for (key, value) in defined_members(members) {
                pairs.push(Pair {
                    key: key.clone(),
                    text: format!("{}={}", escape(key), escape(&scalar(value)?)),
                    is_chosen: true,
                });
            }
        }
        (style, Value::Array(items)) => {
            let mut items = defined_items(items).peekable();
            if items.peek().is_some() {
                pairs.push(Pair::named(name, &joined(style, items.map(scalar))?));
            }
        }
        (style, Value::Object(members)) => {
            let mut members = defined_members(members).peekable();
            if members.peek().is_some() {
                let texts = members.flat_map(|(key, value)| [Ok(key.clone()), scalar(value)]);
                pairs.push(Pair::named(name, &joined(style, texts)?));
            }
        }
        (_, value) => pairs.push(Pair::named(name, &escape(&scalar(value)?))),
    }
    Ok(pairs)
}

/// A pair of a query: `key=value`, escaped.
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) text: String,
    /// True if the value chose the key, and not the document.
    pub(crate) is_chosen: bool,
}

impl Pair {
    fn named(name: &str, escaped: &str) -> Self {
        Self {
            key: name.to_owned(),
            text: format!("{}={escaped}", escape(name)),
            is_chosen: false,
        }
    }
}

fn joined(style: Style, texts: impl Iterator<Item = StyleResult<String>>) -> StyleResult<String> {
    // Servers split after decoding the escapes of these two.
    let (separator, delimiter) = match style {
        Style::SpaceDelimited => ("%20", Some(' ')),
        Style::PipeDelimited => ("%7C", Some('|')),
        _ => (",", None),
    };
    let mut escaped = Vec::new();
    for text in texts {
        let text = text?;
        if delimiter.is_some_and(|delimiter| text.contains(delimiter)) {
            return Err(format!(
                "expected items without the delimiter `{}`",
                delimiter.unwrap_or_default()
            ));
        }
        escaped.push(escape(&text));
    }
    Ok(escaped.join(separator))
}

/// Writes members as `name[key]=value`, at any depth.
fn deep_pairs(name: &str, value: &Value, pairs: &mut Vec<Pair>) -> StyleResult<()> {
    match value {
        Value::Object(members) => members
            .iter()
            .try_for_each(|(key, value)| deep_pairs(&format!("{name}[{key}]"), value, pairs)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(at, value)| deep_pairs(&format!("{name}[{at}]"), value, pairs)),
        Value::Null => Ok(()),
        value => {
            let text = escape(&scalar(value)?);
            pairs.push(Pair {
                is_chosen: true,
                ..Pair::named(name, &text)
            });
            Ok(())
        }
    }
}

/// Writes a value for a header, in the style `simple`. Returns `None` for a list or an object in
/// which nothing has a value.
pub(crate) fn header_text(
    style: Style,
    explode: bool,
    value: &Value,
) -> StyleResult<Option<String>> {
    let texts = match value {
        value if style == Style::Json => vec![value.to_string()],
        Value::Array(items) => defined_items(items)
            .map(scalar)
            .collect::<StyleResult<Vec<_>>>()?,
        Value::Object(members) => {
            let separator = if explode { "=" } else { "," };
            let pair =
                |(key, value): (&String, &Value)| Ok(format!("{key}{separator}{}", scalar(value)?));
            defined_members(members)
                .map(pair)
                .collect::<StyleResult<Vec<_>>>()?
        }
        value => vec![scalar(value)?],
    };
    if texts.is_empty() {
        return Ok(None);
    }

    let text = texts.join(",");
    if text.chars().any(char::is_control) {
        return Err("expected a text without line breaks and other control characters".to_owned());
    }
    Ok(Some(text))
}

/// Writes the pairs of a form body. Members without a style of their own are texts, lists of texts,
/// or JSON.
pub(crate) fn form_pairs(
    members: &Map<String, Value>,
    style_of: impl Fn(&str) -> Option<(Style, bool)>,
) -> StyleResult<Vec<String>> {
    let mut texts = Vec::new();
    for (name, value) in members {
        let pairs = match (style_of(name), value) {
            (Some((style, explode)), value) => query_pairs(style, explode, name, value),
            (None, Value::Object(_)) => query_pairs(Style::Json, true, name, value),
            (None, Value::Array(items))
                if items.iter().any(|item| item.is_object() || item.is_array()) =>
            {
                query_pairs(Style::Json, true, name, value)
            }
            (None, value) => query_pairs(Style::Form, true, name, value),
        };
        texts.extend(
            pairs
                .map_err(|problem| format!("`{}`: {problem}", name.escape_debug()))?
                .into_iter()
                .map(|pair| pair.text),
        );
    }
    Ok(texts)
}

/// Returns the items of a list that have a value. RFC 6570 leaves out the others, which are null.
fn defined_items(items: &[Value]) -> impl Iterator<Item = &Value> {
    items.iter().filter(|item| !item.is_null())
}

/// Returns the members of an object that have a value.
fn defined_members(members: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    members.iter().filter(|(_, value)| !value.is_null())
}

/// Returns the text of a value without members.
pub(crate) fn scalar(value: &Value) -> StyleResult<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) => Ok(value.to_string()),
        Value::Number(number) => Ok(number_text(number)),
        Value::Null => Ok(String::new()),
        Value::Array(_) | Value::Object(_) => {
            Err("expected texts, numbers or booleans, got a nested value, for which the API has no notation".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn query(style: Style, explode: bool, value: &Value) -> String {
        let pairs = query_pairs(style, explode, "color", value).expect("a notation");
        pairs
            .into_iter()
            .map(|pair| pair.text)
            .collect::<Vec<_>>()
            .join("&")
    }

    // The table "Style Examples" of the specification, with RFC 6570 where the two differ.
    #[test]
    fn writes_paths_as_the_specification_shows() {
        let text = json!("blue");
        let list = json!(["blue", "black"]);
        let object = json!({"R": 100, "G": 200});
        let cases = [
            (
                Style::Matrix,
                false,
                [";color=blue", ";color=blue,black", ";color=R,100,G,200"],
            ),
            (
                Style::Matrix,
                true,
                [";color=blue", ";color=blue;color=black", ";R=100;G=200"],
            ),
            (
                Style::Label,
                false,
                [".blue", ".blue,black", ".R,100,G,200"],
            ),
            (Style::Label, true, [".blue", ".blue.black", ".R=100.G=200"]),
            (Style::Simple, false, ["blue", "blue,black", "R,100,G,200"]),
            (Style::Simple, true, ["blue", "blue,black", "R=100,G=200"]),
        ];
        for (style, explode, expected) in cases {
            for (value, expected) in [&text, &list, &object].into_iter().zip(expected) {
                let written = path_text(style, explode, "color", value).expect("a notation");
                assert_eq!(written, expected, "{style:?} {explode} {value}");
            }
        }
    }

    #[test]
    fn writes_queries_as_the_specification_shows() {
        let list = json!(["blue", "black"]);
        let object = json!({"R": 100, "G": 200});
        assert_eq!(query(Style::Form, false, &list), "color=blue,black");
        assert_eq!(query(Style::Form, true, &list), "color=blue&color=black");
        assert_eq!(query(Style::Form, false, &object), "color=R,100,G,200");
        assert_eq!(query(Style::Form, true, &object), "R=100&G=200");
        assert_eq!(
            query(Style::SpaceDelimited, false, &list),
            "color=blue%20black"
        );
        assert_eq!(
            query(Style::PipeDelimited, false, &list),
            "color=blue%7Cblack"
        );
        assert_eq!(
            query(Style::PipeDelimited, false, &object),
            "color=R%7C100%7CG%7C200"
        );
        assert_eq!(
            query(Style::DeepObject, true, &object),
            "color%5BR%5D=100&color%5BG%5D=200"
        );
        assert_eq!(
            query(Style::Json, false, &object),
            "color=%7B%22R%22%3A100%2C%22G%22%3A200%7D"
        );
        assert_eq!(query(Style::Form, true, &json!("a&b=c")), "color=a%26b%3Dc");
    }

    #[test]
    fn queries_leave_out_what_is_null() {
        let list = json!(["blue", null, "black"]);
        let object = json!({"G": null, "R": 100});
        for (style, explode, expected) in [
            (Style::Form, true, ["color=blue&color=black", "R=100"]),
            (Style::Form, false, ["color=blue,black", "color=R,100"]),
            (
                Style::PipeDelimited,
                false,
                ["color=blue%7Cblack", "color=R%7C100"],
            ),
        ] {
            for (value, expected) in [&list, &object].into_iter().zip(expected) {
                assert_eq!(query(style, explode, value), expected, "{style:?}");
            }
            for nothing in [json!([null]), json!({"G": null})] {
                assert_eq!(query(style, explode, &nothing), "", "{style:?}");
            }
        }
    }

    #[test]
    fn paths_leave_out_what_is_null() {
        let text = |explode, value: &Value| path_text(Style::Label, explode, "color", value);
        let list = json!([null, "blue"]);
        let object = json!({"G": null, "R": 100});
        assert_eq!(text(true, &list).as_deref(), Ok(".blue"));
        assert_eq!(text(true, &object).as_deref(), Ok(".R=100"));
        for nothing in [json!([null]), json!({"G": null})] {
            text(false, &nothing).expect_err("empty");
        }
    }

    #[test]
    fn headers_leave_out_what_is_null() {
        let text = |value: &Value| header_text(Style::Simple, false, value);
        let written = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(text(&json!(["a", null])), written("a"));
        assert_eq!(text(&json!({"a": 1, "b": null})), written("a,1"));
    }

    #[test]
    fn a_header_in_which_nothing_has_a_value_is_left_out() {
        for nothing in [json!([]), json!([null]), json!({}), json!({"a": null})] {
            assert_eq!(header_text(Style::Simple, false, &nothing), Ok(None));
        }
        let empty = header_text(Style::Simple, false, &json!([""]));
        assert_eq!(empty, Ok(Some(String::new())));
    }

    #[test]
    fn writes_nested_values_in_brackets() {
        let value = json!({"items": [{"price": "p"}], "none": null});
        assert_eq!(
            query(Style::DeepObject, true, &value),
            "color%5Bitems%5D%5B0%5D%5Bprice%5D=p"
        );
        query_pairs(Style::Form, true, "color", &json!([[1]]))
            .err()
            .expect("no notation");
    }

    #[test]
    fn refuses_items_with_the_delimiter() {
        query_pairs(Style::PipeDelimited, false, "x", &json!(["a|b"]))
            .err()
            .expect("a delimiter");
        query_pairs(Style::SpaceDelimited, false, "x", &json!(["a b"]))
            .err()
            .expect("a delimiter");
        assert_eq!(
            query(Style::Form, false, &json!(["a,b", "c"])),
            "color=a%2Cb,c"
        );
    }

    #[test]
    fn refuses_empty_parts_of_a_path() {
        for value in [json!(""), json!(null), json!([]), json!({}), json!([""])] {
            path_text(Style::Simple, false, "x", &value).expect_err("empty");
        }
    }

    #[test]
    fn refuses_control_characters_in_headers() {
        for value in [
            json!("a\r\nX: 1"),
            json!(["a", "b\n"]),
            json!({"a\r": 1}),
            json!("\0"),
        ] {
            header_text(Style::Simple, false, &value).expect_err("a control character");
        }
        assert_eq!(
            header_text(Style::Simple, true, &json!({"a": 1, "b": "c"})),
            Ok(Some("a=1,b=c".to_owned()))
        );
    }
}
