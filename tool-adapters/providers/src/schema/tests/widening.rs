//! A projection only ever widens.

use crate::Provider;
use crate::projection::Projection;
use crate::schema::document::SchemaDocument;
use crate::schema::renames::PropertyRenames;
use crate::schema::tests::arbitrary::root;
use crate::schema::tests::oracle::{Dice, is_endless, read, validator, without_dead_references};
use crate::schema::tests::project;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::Value;
use tool_core::schema::to_draft_2020_12;

/// Instances that the schema accepts.
pub(super) fn accepted(schema: &Value, seed: u64) -> Vec<Value> {
    let live = without_dead_references(&to_draft_2020_12(schema));
    // What a reference to one of two equal anchors means is not defined.
    let has_ambiguous_anchors = schema.to_string().matches(r#""$anchor":"here""#).count() > 1;
    if is_endless(&live) || has_ambiguous_anchors {
        return Vec::new();
    }
    let Some(validator) = validator(&live) else {
        return Vec::new();
    };
    let document = SchemaDocument::new(&live);
    let mut dice = Dice(seed);
    let mut all: Vec<Value> = (0..40)
        .map(|_| dice.instance(&document, &live, "", 0))
        .collect();
    all.push(serde_json::json!({}));
    all.retain(|value| value.is_object() && validator.is_valid(value));
    all
}

/// Arguments with the names of properties at the provider.
fn written(projection: &Projection, arguments: &Value) -> Value {
    let write =
        |renames: &PropertyRenames| renames.write(&arguments.to_string()).parse().expect("JSON");
    projection
        .renames
        .as_deref()
        .map_or_else(|| arguments.clone(), write)
}

/// Arguments with the tool's own names of properties.
fn restored(projection: &Projection, arguments: &Value) -> Value {
    let restore = |renames: &PropertyRenames| {
        renames
            .restore(&arguments.to_string())
            .parse()
            .expect("JSON")
    };
    projection
        .renames
        .as_deref()
        .map_or_else(|| arguments.clone(), restore)
}

fn check(provider: Provider, schema: &Value, instances: &[Value]) -> Result<(), TestCaseError> {
    let projection = match project(provider, schema, false) {
        Ok(projection) => projection,
        Err(refusal) => {
            prop_assert!(
                instances.is_empty(),
                "{provider}: {refusal}, of {schema}, which accepts {instances:?}"
            );
            return Ok(());
        }
    };
    let read = read(provider, &projection.schema);
    if provider == Provider::Mcp {
        return Ok(());
    }
    let Some(validator) = validator(&read) else {
        return Err(TestCaseError::fail(format!(
            "{provider}: not a schema: {read}\nof {schema}"
        )));
    };
    if is_endless(&read) {
        return Ok(());
    }
    for instance in instances {
        let written = written(&projection, instance);
        prop_assert!(
            validator.is_valid(&written),
            "{provider} refuses {written}\nby {read}\nof {schema}"
        );
        prop_assert_eq!(
            &restored(&projection, &written),
            instance,
            "{} of {}",
            provider,
            schema
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(300), failure_persistence: None, ..ProptestConfig::default() })]

    // No valid instance is lost by a projection; L30: the schema is left as it is.
    #[test]
    fn what_a_schema_accepts_its_projections_accept(schema in root(), seed: u64) {
        let before = schema.clone();
        let instances = accepted(&schema, seed);
        for provider in Provider::ALL {
            check(provider, &schema, &instances)?;
        }
        prop_assert_eq!(before, schema);
    }
}

// So that the test above is about something.
#[test]
fn enough_schemas_of_the_property_have_instances() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let found = (0..200).filter(|seed| {
        let schema = root().new_tree(&mut runner).expect("a schema").current();
        !accepted(&schema, *seed).is_empty()
    });
    let found = found.count();
    assert!(found > 100, "{found} of 200");
}
