//! Arguments as `KEY=VALUE`.

use crate::output::CommandError;
use crate::parameters::ParameterSchema;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The maximum depth of a key's members.
const MAX_DEPTH: usize = 32;

/// The arguments, in the order in which they were written.
#[derive(Default)]
struct Members(Vec<(String, Argument)>);

enum Argument {
    Value(Box<RawValue>),
    Object(Members),
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, argument) in &self.0 {
            match argument {
                Argument::Value(value) => map.serialize_entry(name, value)?,
                Argument::Object(members) => map.serialize_entry(name, members)?,
            }
        }
        map.end()
    }
}

impl Members {
    /// Adds a value at a path; fails with the path that has a value already.
    fn insert(&mut self, path: &[&str], value: Box<RawValue>) -> Result<(), String> {
        let Some((first, rest)) = path.split_first() else {
            return Err(String::new());
        };
        let at = self.0.iter().position(|(name, _)| name == first);
        match at.and_then(|at| self.0.get_mut(at)) {
            Some((_, Argument::Object(members))) if !rest.is_empty() => members
                .insert(rest, value)
                .map_err(|taken| format!("{first}.{taken}")),
            Some(_) => Err((*first).to_owned()),
            None if rest.is_empty() => {
                self.0.push(((*first).to_owned(), Argument::Value(value)));
                Ok(())
            }
            None => {
                let mut members = Self::default();
                members.insert(rest, value)?;
                self.0
                    .push(((*first).to_owned(), Argument::Object(members)));
                Ok(())
            }
        }
    }
}

/// Returns the JSON of arguments, or every problem of the pairs. `KEY:=JSON` is JSON. With
/// `KEY=VALUE`, a parameter that takes texts gets the text, and any other the JSON that the text
/// is. Text that is not JSON goes to the tool, which reports it with the other problems.
/// `A.B=VALUE` sets the member `B` of `A`, unless the tool has a parameter `A.B`.
pub(crate) fn read_pairs(pairs: &[String], schema: &Value) -> Result<String, CommandError> {
    let schema = ParameterSchema::new(schema);
    let mut members = Members::default();
    let mut problems = Vec::new();
    for pair in pairs {
        if let Err(problem) = add_pair(&mut members, pair, &schema) {
            problems.push(problem);
        }
    }
    if !problems.is_empty() {
        return Err(CommandError::Usage(problems.join("\n")));
    }
    serde_json::to_string(&members).map_err(CommandError::failure)
}

fn add_pair(members: &mut Members, pair: &str, schema: &ParameterSchema<'_>) -> Result<(), String> {
    let shown = pair.escape_debug();
    let Some((key, text)) = pair.split_once('=') else {
        return Err(format!("expected KEY=VALUE or KEY:=JSON, got `{shown}`"));
    };
    let (key, is_json) = key
        .strip_suffix(':')
        .map_or((key, false), |key| (key, true));
    let name = key.escape_debug();
    let path = if schema.declares(key) {
        vec![key]
    } else {
        key.split('.').collect()
    };
    if path.iter().any(|name| name.is_empty()) {
        return Err(format!(
            "expected the name of a parameter before `=`, got `{shown}`"
        ));
    }
    if path.len() > MAX_DEPTH {
        return Err(format!("`{name}`: expected at most {MAX_DEPTH} names"));
    }
    let json = RawValue::from_string(text.to_owned());
    let value = match json {
        Err(error) if is_json => {
            return Err(format!("`{name}`: expected JSON after `:=`: {error}"));
        }
        Ok(json) if is_json || !schema.takes_text(&path) => json,
        Ok(_) | Err(_) => {
            serde_json::value::to_raw_value(text).map_err(|error| error.to_string())?
        }
    };
    members.insert(&path, value).map_err(|taken| {
        let taken = taken.escape_debug();
        if path.join(".") == taken.to_string() {
            format!("`{name}`: the parameter has a value already")
        } else {
            format!("`{name}`: `{taken}` has a value already")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(pairs: &[&str]) -> Result<String, String> {
        let schema = json!({"type": "object", "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "a.b": {"type": "integer"},
            "place": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
        }, "$defs": {"place": {"type": "object", "properties": {"name": {"type": "string"}, "floor": {"type": "integer"}}}}});
        let pairs = pairs
            .iter()
            .map(|pair| (*pair).to_owned())
            .collect::<Vec<_>>();
        read_pairs(&pairs, &schema).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_stay_texts_and_other_values_are_json() {
        for (pair, expected) in [
            ("text=3", r#"{"text":"3"}"#),
            ("text=a=b", r#"{"text":"a=b"}"#),
            ("text=", r#"{"text":""}"#),
            ("text:=3", r#"{"text":3}"#),
            ("count=3", r#"{"count":3}"#),
            (
                "count=12345678901234567890123",
                r#"{"count":12345678901234567890123}"#,
            ),
            ("count=three", r#"{"count":"three"}"#),
            ("unknown=[1]", r#"{"unknown":[1]}"#),
            ("unknown=one", r#"{"unknown":"one"}"#),
            ("a.b=1", r#"{"a.b":1}"#),
        ] {
            assert_eq!(read(&[pair]).as_deref(), Ok(expected), "{pair}");
        }
    }

    #[test]
    fn dots_lead_into_members() {
        let read = read(&[
            "place.name=1",
            "text=x",
            "place.floor=2",
            "place.more.x:=null",
        ]);
        assert_eq!(
            read.as_deref(),
            Ok(r#"{"place":{"name":"1","floor":2,"more":{"x":null}},"text":"x"}"#)
        );
    }

    #[test]
    fn every_bad_pair_is_reported() {
        let deep = format!("{}=1", vec!["a"; 40].join("."));
        let problems = read(&[
            "text",
            "=3",
            "a..b=1",
            "count:=x",
            "text=1",
            "text=2",
            "text.x=1",
            "place.x=1",
            "place=1",
            &deep,
        ]);
        let expected = "expected KEY=VALUE or KEY:=JSON, got `text`
expected the name of a parameter before `=`, got `=3`
expected the name of a parameter before `=`, got `a..b=1`
`count`: expected JSON after `:=`: expected value at line 1 column 1
`text`: the parameter has a value already
`text.x`: `text` has a value already
`place`: the parameter has a value already
";
        let problems = problems.expect_err("problems");
        assert!(
            problems.starts_with(expected) && problems.ends_with("expected at most 32 names"),
            "{problems}"
        );
    }
}
