//! Properties of defaults for any schema and any settings.

use crate::arguments::defaults;
use crate::schema::compiled::CompiledSchema;
use crate::schema::validator::Validator;
use crate::tool::configure::metadata::ToolsetMetadata;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        prop::sample::select(vec!["", "a", "text"]).prop_map(Value::from),
    ]
}

/// Objects with few names, so that they meet those of a schema.
fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), inner, 0..4)
                .prop_map(object),
        ]
    })
}

fn object(members: std::collections::BTreeMap<&str, Value>) -> Value {
    Value::Object(
        members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// Schemas with defaults at all places, some of which their own schema refuses, and rules that a default may break.
fn schema() -> impl Strategy<Value = Value> {
    let reference = Just(json!({"$ref": "#/$defs/shared"}));
    // What is shared does not lead back to itself: a validator may take for ever over such a schema.
    (
        object_schema(inner(prop_oneof![leaf(), reference].boxed())),
        inner(leaf().boxed()),
    )
        .prop_map(|(mut root, shared)| {
            root["$defs"] = json!({"shared": shared});
            root
        })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        prop::sample::select(vec![
            "integer", "string", "boolean", "null", "object", "array"
        ])
        .prop_map(|kind| json!({"type": kind})),
        scalar().prop_map(|value| json!({"const": value})),
    ]
}

fn inner(leaf: BoxedStrategy<Value>) -> impl Strategy<Value = Value> + Clone + 'static {
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            object_schema(inner.clone()),
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            (
                prop::sample::select(vec!["anyOf", "oneOf", "allOf"]),
                prop::collection::vec(inner, 1..4)
            )
                .prop_map(|(keyword, branches)| json!({keyword: branches})),
        ]
    })
}

fn object_schema(
    inner: impl Strategy<Value = Value> + Clone + 'static,
) -> impl Strategy<Value = Value> {
    let property = (inner, prop::option::of(value())).prop_map(|(schema, default)| match default {
        Some(default) => {
            let mut schema = schema;
            schema["default"] = default;
            schema
        }
        None => schema,
    });
    let properties =
        prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), property, 0..4);
    let required = prop::collection::btree_set(prop::sample::select(NAMES.to_vec()), 0..2);
    (properties, required, 0..4_u8, 0..5_usize).prop_map(|(properties, required, rule, most)| {
        let mut schema =
            json!({"type": "object", "properties": object(properties), "required": required});
        match rule {
            1 => schema["additionalProperties"] = json!(false),
            2 => schema["maxProperties"] = json!(most),
            3 => schema["not"] = json!({"required": ["a", "b"]}),
            _ => {}
        }
        schema
    })
}

/// Returns true if `filled` contains everything in `given` unchanged.
fn holds(filled: &Value, given: &Value) -> bool {
    match (filled, given) {
        (Value::Object(filled), Value::Object(given)) => given
            .iter()
            .all(|(name, value)| filled.get(name).is_some_and(|filled| holds(filled, value))),
        (Value::Array(filled), Value::Array(given)) => {
            filled.len() == given.len()
                && filled
                    .iter()
                    .zip(given)
                    .all(|(filled, given)| holds(filled, given))
        }
        (filled, given) => filled == given,
    }
}

fn known(schema: &Value, given: &Value) -> Value {
    let known =
        |name: &&String| schema["properties"].get(name.as_str()).is_some() || is_open(schema);
    let members = given.as_object().into_iter().flatten();
    Value::Object(
        members
            .filter(|(name, _)| known(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Map<_, _>>(),
    )
}

fn is_open(schema: &Value) -> bool {
    schema
        .get("additionalProperties")
        .is_some_and(|rest| rest != &json!(false))
}

// T4: a schema that refers to itself in several ways takes bounded work.
#[test]
fn filling_recursive_schemas_terminates() {
    let again = json!({"$ref": "#/$defs/node"});
    let with_default = json!({"$ref": "#/$defs/node", "default": {}});
    let nodes = [
        json!({"anyOf": [again, again, {"type": "object"}]}),
        json!({"oneOf": [again, again]}),
        json!({"allOf": [again, again]}),
        json!({"type": "object", "properties": {"a": with_default, "b": with_default, "c": with_default}}),
        json!({"type": "object", "properties": {"a": {"anyOf": [again, again], "default": {}}, "b": with_default}}),
    ];
    let mut refused = 0;
    for node in nodes {
        let schema =
            json!({"type": "object", "properties": {"root": again}, "$defs": {"node": node}});
        let Ok(schema) = CompiledSchema::new(&schema) else {
            refused += 1;
            continue;
        };
        let mut filled = json!({"root": {"a": {"b": {}}}});
        defaults::fill(&mut filled, &schema);
        assert!(holds(&filled, &json!({"root": {"a": {"b": {}}}})), "{node}");
        assert!(filled.to_string().len() < 1_000_000, "{node}");
    }
    // A schema that leads back to itself at one value is refused.
    assert_eq!(refused, 3);
}

proptest! {
    #[test]
    fn valid_settings_stay_valid_with_defaults(schema in schema(), given in value()) {
        let mut form = ToolsetMetadata::new("form", "");
        form.config_schema = Some(schema.clone());
        let validator = Validator::new(schema.clone());
        let known = known(&schema, &given);
        if given.is_object() && validator.is_valid(&known) {
            let filled = form.check_config(&known);
            prop_assert!(filled.is_ok(), "{schema} refuses {known} with its defaults: {filled:?}");
        }
        // And nothing that was given is changed, nor anything accepted that the schema refuses.
        if let Ok(filled) = form.check_config(&known) {
            prop_assert!(validator.is_valid(&filled), "{schema} accepts {filled}");
            prop_assert!(holds(&filled, &known), "{known} became {filled}");
        }
    }
}
