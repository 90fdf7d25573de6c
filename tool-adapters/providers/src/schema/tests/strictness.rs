//! Strict forms are strict, for schemas of all keywords and for the tools as MCP servers declare them.

use crate::Provider;
use crate::projection::Projection;
use crate::report::ChangeKind;
use crate::schema::document::SchemaDocument;
use crate::schema::restore::restore;
use crate::schema::tests::arbitrary::root;
use crate::schema::tests::oracle::{Dice, is_endless, validator, without_dead_references};
use crate::schema::tests::{SERVERS, project};
use crate::strict::tests::checker::problems;
use proptest::prelude::*;
use serde_json::{Value, json};
use tool_core::schema::to_draft_2020_12;

/// The providers with strict tools.
fn strict_providers() -> Vec<Provider> {
    let mut all = Provider::ALL.to_vec();
    all.retain(|provider| provider.spec().strict.is_some());
    all
}

/// The arguments as a model that is held to `strict` may write them: null for what is absent, in any branch.
fn filled(
    document: &SchemaDocument<'_>,
    strict: &Value,
    value: &Value,
    depth: usize,
) -> Vec<Value> {
    let Some(map) = strict.as_object().filter(|_| depth < 24) else {
        return Vec::new();
    };
    let deeper = |schema: &Value, value: &Value| filled(document, schema, value, depth + 1);
    if let Some(place) = map
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|it| document.resolve("", it))
    {
        return deeper(place.schema, value);
    }
    if let Some(branches) = map.get("anyOf").and_then(Value::as_array) {
        return branches
            .iter()
            .flat_map(|branch| deeper(branch, value))
            .take(20)
            .collect();
    }
    match value {
        Value::Object(members) => {
            let Some(named) = map.get("properties").and_then(Value::as_object) else {
                return Vec::new();
            };
            if members.keys().any(|name| !named.contains_key(name)) {
                return Vec::new();
            }
            let required = map.get("required").cloned().unwrap_or_default();
            let needed = |name: &str| {
                required
                    .as_array()
                    .is_some_and(|names| names.iter().any(|it| it == name))
            };
            let mut all = vec![serde_json::Map::new()];
            for (name, schema) in named {
                let values = match members.get(name) {
                    Some(value) => deeper(schema, value),
                    None if !needed(name) => continue,
                    None => vec![schema.get("const").cloned().unwrap_or_default()],
                };
                let with = |made: &serde_json::Map<String, Value>, value: &Value| {
                    let mut made = made.clone();
                    made.insert(name.clone(), value.clone());
                    made
                };
                all = all
                    .iter()
                    .flat_map(|made| {
                        values
                            .iter()
                            .map(|value| with(made, value))
                            .collect::<Vec<_>>()
                    })
                    .take(20)
                    .collect();
            }
            all.into_iter().map(Value::Object).collect()
        }
        Value::Array(elements) => {
            let Some(items) = map.get("items") else {
                return Vec::new();
            };
            let mut all = vec![Vec::new()];
            for element in elements {
                let values = deeper(items, element);
                let with = |made: &Vec<Value>, value: &Value| {
                    made.iter().chain([value]).cloned().collect::<Vec<_>>()
                };
                all = all
                    .iter()
                    .flat_map(|made| {
                        values
                            .iter()
                            .map(|value| with(made, value))
                            .collect::<Vec<_>>()
                    })
                    .take(20)
                    .collect();
            }
            all.into_iter().map(Value::Array).collect()
        }
        scalar => vec![scalar.clone()],
    }
}

fn check(provider: Provider, schema: &Value, seed: u64) -> Result<bool, TestCaseError> {
    let schema = &to_draft_2020_12(schema);
    let projection = match project(provider, schema, true) {
        Ok(projection) if projection.not_strict.is_none() => projection,
        _ => return Ok(false),
    };
    let found = problems(provider, &projection.schema);
    prop_assert!(
        found.is_empty(),
        "{provider}: {found:?} in {}\nof {schema}",
        projection.schema
    );
    accepts(provider, schema, &projection, seed)?;
    Ok(true)
}

fn accepts(
    provider: Provider,
    schema: &Value,
    projection: &Projection,
    seed: u64,
) -> Result<(), TestCaseError> {
    let live = without_dead_references(schema);
    let Some(original) = validator(&live).filter(|_| !is_endless(&live)) else {
        return Ok(());
    };
    let strict = validator(&projection.schema).expect("a schema");
    let closed = projection
        .changes
        .iter()
        .any(|change| change.kind == ChangeKind::Closed);
    let document = SchemaDocument::new(&live);
    let written = SchemaDocument::new(&projection.schema);
    let mut dice = Dice(seed);
    for _ in 0..20 {
        let instance = dice.instance(&document, &live, "", 0);
        if !instance.is_object() || !original.is_valid(&instance) {
            continue;
        }
        let all = filled(&written, &projection.schema, &instance, 0);
        let taken = all.iter().find(|filled| strict.is_valid(filled));
        prop_assert!(
            taken.is_some() || closed && all.is_empty(),
            "{provider} refuses {instance}\nby {}\nof {schema}",
            projection.schema,
        );
        let text = instance.to_string();
        prop_assert_eq!(restore(schema, &text), text.as_str(), "of {}", schema);
    }
    Ok(())
}

fn cases() -> u32 {
    std::env::var("CASES")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    // L27: strictness is computed, never asserted.
    #[test]
    fn strict_schemas_keep_the_rules_and_accept_all_valid_values(schema in root(), seed: u64) {
        for provider in strict_providers() {
            check(provider, &schema, seed)?;
        }
    }
}

#[test]
fn strict_tools_of_mcp_servers_keep_the_rules() {
    let servers: Value = serde_json::from_str(SERVERS).expect("JSON");
    let tools = servers
        .as_object()
        .expect("servers")
        .values()
        .flat_map(|tools| tools.as_array().expect("tools"));
    let providers = strict_providers();
    let mut strict = vec![0; providers.len()];
    for (at, tool) in tools.enumerate() {
        for (count, provider) in strict.iter_mut().zip(&providers) {
            *count +=
                usize::from(check(*provider, &tool["inputSchema"], at as u64).expect("strict"));
        }
    }
    assert!(strict.iter().all(|count| *count > 40), "{strict:?}");
}

#[test]
fn the_check_itself_fills_in_nulls() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    let projection = project(Provider::OpenAiChat, &schema, true).expect("not refused");
    let all = filled(
        &SchemaDocument::new(&projection.schema),
        &projection.schema,
        &json!({"a": "x"}),
        0,
    );
    assert_eq!(all, [json!({"a": "x", "b": null})]);
}
