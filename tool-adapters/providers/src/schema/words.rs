//! Keywords in words, for the description of a schema.

use crate::report::ChangeLog;
use indexmap::IndexSet;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The maximum size in bytes of a schema in words.
const LONGEST: usize = 200;

/// A keyword that a form does not have, with its value.
pub(crate) type DroppedKeyword<'a> = (&'a str, &'a Value);

/// Moves a keyword into the description, or drops it if no phrase describes it.
pub(crate) fn describe_or_drop<'a>(
    log: &mut ChangeLog,
    described: &mut Vec<DroppedKeyword<'a>>,
    pointer: &str,
    (keyword, value): DroppedKeyword<'a>,
) {
    if can_describe((keyword, value)) {
        log.described(pointer, keyword, "the description has it");
        described.push((keyword, value));
    } else {
        log.dropped(pointer, keyword, "the provider does not accept the keyword");
    }
}

/// Returns true for a keyword that has a phrase.
pub(crate) fn can_describe((keyword, value): DroppedKeyword<'_>) -> bool {
    phrase(keyword, value).is_some()
}

/// Returns the phrases of keywords, such as `5 to 480; default 30`.
pub(crate) fn words(dropped: &[DroppedKeyword<'_>]) -> Option<String> {
    let mut bounds = HashMap::<&str, Vec<&Value>>::new();
    for (keyword, value) in dropped
        .iter()
        .filter(|(keyword, _)| pair_of(keyword).is_some())
    {
        bounds.entry(keyword).or_default().push(value);
    }
    let mut seen = HashSet::new();
    let fresh = dropped.iter().filter(|keyword| seen.insert(**keyword));
    let phrases = fresh.filter_map(|(keyword, value)| phrase_of_bounds(keyword, value, &bounds));
    let phrases = phrases.collect::<IndexSet<_>>();
    (!phrases.is_empty()).then(|| phrases.into_iter().collect::<Vec<_>>().join("; "))
}

/// Returns descriptions followed by phrases in parentheses.
pub(crate) fn describe(descriptions: &[&str], dropped: &[DroppedKeyword<'_>]) -> Option<String> {
    let descriptions = descriptions
        .iter()
        .copied()
        .filter(|it| !it.is_empty())
        .collect::<IndexSet<_>>();
    let text =
        (!descriptions.is_empty()).then(|| descriptions.into_iter().collect::<Vec<_>>().join("\n"));
    match (text, words(dropped)) {
        (Some(text), Some(words)) => Some(format!("{text} ({words})")),
        (text, words) => text.or(words),
    }
}

/// Returns the lower and the upper bound of a keyword that is one of them, and what they count.
fn pair_of(keyword: &str) -> Option<(&'static str, &'static str, &'static str)> {
    const PAIRS: [(&str, &str, &str); 4] = [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
        ("minProperties", "maxProperties", " properties"),
    ];
    PAIRS
        .into_iter()
        .find(|(low, high, _)| keyword == *low || keyword == *high)
}

/// Returns the phrase of a keyword. A lower bound and its upper bound have one phrase, which is the
/// lower bound's.
fn phrase_of_bounds(
    keyword: &str,
    value: &Value,
    bounds: &HashMap<&str, Vec<&Value>>,
) -> Option<String> {
    let bound = |name: &str| match bounds.get(name)?.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let range =
        pair_of(keyword).and_then(|(low, high, what)| Some((low, bound(low)?, bound(high)?, what)));
    let Some((low, least, most, what)) = range else {
        return phrase(keyword, value);
    };
    let range = if least == most {
        format!("{least}{what}")
    } else {
        format!("{least} to {most}{what}")
    };
    (keyword == low).then_some(range)
}

/// Returns true for a schema that every name of a property satisfies, as libraries write it for any
/// map.
pub(crate) fn says_nothing_of_names(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map
            .iter()
            .all(|(keyword, value)| keyword == "type" && value == "string"),
        schema => *schema == Value::Bool(true),
    }
}

fn phrase(keyword: &str, value: &Value) -> Option<String> {
    let text = || value.as_str();
    Some(match keyword {
        "minimum" => format!("at least {value}"),
        "maximum" => format!("at most {value}"),
        "exclusiveMinimum" => format!("more than {value}"),
        "exclusiveMaximum" => format!("less than {value}"),
        "multipleOf" => format!("a multiple of {value}"),
        "minLength" => format!("at least {value} characters"),
        "maxLength" => format!("at most {value} characters"),
        "minItems" => format!("at least {value} items"),
        "maxItems" => format!("at most {value} items"),
        "minProperties" => format!("at least {value} properties"),
        "maxProperties" => format!("at most {value} properties"),
        "pattern" => format!("matches {}", text()?),
        "format" => format!("format {}", text()?),
        "title" => format!("title: {}", text()?),
        "default" => format!("default {value}"),
        "const" => format!("always {value}"),
        "enum" => format!("one of {}", list(value)?),
        "examples" => format!("for example {}", list(value)?),
        "example" => format!("for example {value}"),
        "uniqueItems" if *value == Value::Bool(true) => "no item twice".to_owned(),
        "deprecated" if *value == Value::Bool(true) => "deprecated".to_owned(),
        "readOnly" if *value == Value::Bool(true) => "read only".to_owned(),
        "writeOnly" if *value == Value::Bool(true) => "write only".to_owned(),
        "contentEncoding" => format!("encoded as {}", text()?),
        "contentMediaType" => format!("content of type {}", text()?),
        // A name is a text.
        "propertyNames" if says_nothing_of_names(value) => return None,
        "propertyNames" => format!("property names fit {}", short(value)?),
        "patternProperties" => format!("properties by pattern: {}", short(value)?),
        "additionalProperties" if value.is_object() => {
            format!("further properties fit {}", short(value)?)
        }
        "contains" => format!("some item fits {}", short(value)?),
        "minContains" => format!("at least {value} such items"),
        "maxContains" => format!("at most {value} such items"),
        "prefixItems" | "items" if value.is_array() => {
            format!("items in this order: {}", short(value)?)
        }
        "dependentRequired" => format!("properties that need others: {}", short(value)?),
        "dependentSchemas" => format!("where a property is given: {}", short(value)?),
        "not" if together(value).is_some() => format!("not together: {}", together(value)?),
        "not" => format!("does not fit {}", short(value)?),
        "if" => format!("if it fits {}", short(value)?),
        "then" => format!("then it fits {}", short(value)?),
        "else" => format!("else it fits {}", short(value)?),
        "anyOf" => forms(value, "or")?,
        "oneOf" => forms(value, "or else")?,
        _ => return None,
    })
}

fn list(value: &Value) -> Option<String> {
    let values = value.as_array().filter(|values| !values.is_empty())?;
    Some(
        values
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    )
}

/// Returns a small schema as its JSON, which models can read; `None` for a large one, and for one
/// with references.
fn short(value: &Value) -> Option<String> {
    let text = value.to_string();
    (text.len() <= LONGEST && !text.contains("\"$ref\"")).then_some(text)
}

/// Returns the properties of a schema that requires some and has no other keyword.
fn together(schema: &Value) -> Option<String> {
    schema.as_object().filter(|map| map.len() == 1)?;
    required(schema)
}

fn required(schema: &Value) -> Option<String> {
    let names = schema
        .get("required")?
        .as_array()
        .filter(|names| !names.is_empty())?;
    let quoted = names
        .iter()
        .map(|name| Some(format!("`{}`", name.as_str()?)));
    Some(quoted.collect::<Option<Vec<_>>>()?.join(", "))
}

/// Returns the properties that each branch of a union requires: ``needs `a` or `b`, `c` ``.
fn forms(value: &Value, between: &str) -> Option<String> {
    let branches = value
        .as_array()?
        .iter()
        .map(required)
        .collect::<Option<Vec<_>>>()?;
    let text = branches.join(&format!(" {between} "));
    (text.len() <= LONGEST && !branches.is_empty()).then(|| format!("needs {text}"))
}
