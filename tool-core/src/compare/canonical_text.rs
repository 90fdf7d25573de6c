//! Arguments as one text for all that are equal.

use crate::canonical::canonical;
use crate::json;
use crate::pointer::child;
use crate::tool::Definition;
use serde_json::{Map, Value};

/// The canonical JSON of arguments that the tool has accepted, with the defaults of its parameters filled in: the text
/// that goes into the history, that a person agrees to, and that a call is recognised by. Decoded again it gives the
/// same arguments. Text that is no JSON object is given back as it is.
pub(crate) fn canonical_text(definition: &Definition, text: &str) -> String {
    let Ok(parsed) = json::parse(text) else { return text.to_owned() };
    let Value::Object(mut members) = parsed.value else { return text.to_owned() };
    if !parsed.duplicates.is_empty() {
        return text.to_owned();
    }
    let mut spelled = parsed.rounded;
    fill(definition, &mut members, &mut spelled);
    let mut out = String::with_capacity(text.len());
    write(&Value::Object(members), "", &spelled, &mut out);
    out
}

fn fill(definition: &Definition, members: &mut Map<String, Value>, spelled: &mut [(String, String)]) {
    for parameter in &definition.parameters().all {
        for alias in parameter.aliases {
            let Some(value) = members.remove(*alias) else { continue };
            members.insert(parameter.name.clone(), value);
            lead_from(&child("", alias), &child("", &parameter.name), spelled);
        }
        if parameter.null_is_absent && members.get(&parameter.name).is_some_and(Value::is_null) {
            members.remove(&parameter.name);
        }
        if let (Some(default), false) = (&parameter.default, members.contains_key(&parameter.name)) {
            members.insert(parameter.name.clone(), default.clone());
        }
    }
}

/// The pointers into a member, after it got another name.
fn lead_from(before: &str, now: &str, pointers: &mut [(String, String)]) {
    for (pointer, _) in pointers {
        let rest = pointer.strip_prefix(before).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        if let Some(rest) = rest {
            *pointer = format!("{now}{rest}");
        }
    }
}

/// Writes the canonical text, in which whole numbers that the value holds rounded stand with their digits.
/// Recursion is bounded by the depth that arguments may have.
fn write(value: &Value, pointer: &str, spelled: &[(String, String)], out: &mut String) {
    let here = |(place, _): &&(String, String)| {
        place.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match (value, spelled.iter().find(here)) {
        (Value::Array(items), Some(_)) => {
            for (position, item) in items.iter().enumerate() {
                out.push(if position == 0 { '[' } else { ',' });
                write(item, &child(pointer, &position.to_string()), spelled, out);
            }
            out.push(']');
        }
        (Value::Object(members), Some(_)) => {
            let mut members = members.iter().collect::<Vec<_>>();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (position, (name, member)) in members.into_iter().enumerate() {
                out.push(if position == 0 { '{' } else { ',' });
                out.push_str(&canonical(&Value::from(name.as_str())));
                out.push(':');
                write(member, &child(pointer, name), spelled, out);
            }
            out.push('}');
        }
        (_, Some((_, digits))) => out.push_str(digits),
        (value, None) => out.push_str(&canonical(value)),
    }
}
