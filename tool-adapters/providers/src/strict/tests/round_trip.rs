//! A call in its strict form and back.

use crate::Provider;
use crate::schema::restore::restore;
use crate::schema::tests::project;
use crate::strict::tests::checker::problems;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A schema that can be strict.
#[derive(Clone, Debug)]
enum Shape {
    Text,
    Integer,
    Number,
    Flag,
    Choice(Vec<&'static str>),
    Nullable(Box<Shape>),
    List(Box<Shape>),
    Pair(Box<Shape>),
    Object(Vec<Field>),
    /// Objects told apart by a constant.
    Tagged(Vec<Vec<Field>>),
    /// Under a reference, with a description beside it.
    Named(Box<Shape>),
}

#[derive(Clone, Debug)]
struct Field {
    shape: Shape,
    required: bool,
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Text),
        Just(Shape::Integer),
        Just(Shape::Number),
        Just(Shape::Flag),
        Just(Shape::Choice(vec!["a", "b"])),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Shape::Nullable),
            boxed.clone().prop_map(Shape::List),
            boxed.clone().prop_map(Shape::Pair),
            boxed.prop_map(Shape::Named),
            fields(inner.clone()).prop_map(Shape::Object),
            vec(fields(inner), 1..3).prop_map(Shape::Tagged),
        ]
    })
}

fn fields(shape: impl Strategy<Value = Shape>) -> impl Strategy<Value = Vec<Field>> {
    vec(
        (shape, any::<bool>()).prop_map(|(shape, required)| Field { shape, required }),
        1..4,
    )
}

fn takes_null(shape: &Shape) -> bool {
    match shape {
        Shape::Nullable(_) => true,
        Shape::Named(inner) => takes_null(inner),
        _ => false,
    }
}

/// Writes a shape as a schema; `named` gathers what stands under references.
fn schema(shape: &Shape, named: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Text => json!({"type": "string", "minLength": 0, "default": ""}),
        Shape::Integer => json!({"type": "integer", "minimum": -1000, "description": "A number"}),
        Shape::Number => json!({"type": "number"}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Choice(values) => json!({"enum": values}),
        Shape::Nullable(inner) => json!({"anyOf": [schema(inner, named), {"type": "null"}]}),
        Shape::List(inner) => json!({"type": "array", "items": schema(inner, named)}),
        Shape::Pair(inner) => {
            let inner = schema(inner, named);
            json!({"type": "array", "prefixItems": [inner, {"type": "boolean"}], "minItems": 2, "maxItems": 2})
        }
        Shape::Object(fields) => object(fields, None, named),
        Shape::Tagged(objects) => {
            let branches = objects
                .iter()
                .enumerate()
                .map(|(at, fields)| object(fields, Some(at), named));
            json!({"oneOf": branches.collect::<Vec<_>>()})
        }
        Shape::Named(inner) => {
            let inner = schema(inner, named);
            let name = format!("N{}", named.len());
            named.insert(name.clone(), inner);
            json!({"$ref": format!("#/$defs/{name}"), "description": "Named"})
        }
    }
}

fn object(fields: &[Field], tag: Option<usize>, named: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(tag) = tag {
        properties.insert("kind".into(), json!({"const": format!("k{tag}")}));
        required.push("kind".to_owned());
    }
    for (at, field) in fields.iter().enumerate() {
        properties.insert(format!("f{at}"), schema(&field.shape, named));
        required.extend(field.required.then(|| format!("f{at}")));
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A call and its strict form. `dice` decides; a declared null is always given, as it could not be told from what is
/// absent.
fn value(shape: &Shape, dice: &mut u64) -> (Value, Value) {
    let mut roll = |sides: u64| {
        *dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*dice >> 33) % sides
    };
    let both = |value: Value| (value.clone(), value);
    match shape {
        Shape::Text => both(json!(
            ["", "null", "x\"y", "{\"f0\":null}"][usize::try_from(roll(4)).expect("small")]
        )),
        Shape::Integer => both(json!(roll(2000).cast_signed() - 1000)),
        Shape::Number => both(json!(
            f64::from(u32::try_from(roll(9)).expect("small")) / 4.0
        )),
        Shape::Flag => both(json!(roll(2) == 0)),
        Shape::Choice(values) => both(json!(
            values[usize::try_from(roll(values.len() as u64)).expect("small")]
        )),
        Shape::Nullable(_) if roll(2) == 0 => both(Value::Null),
        Shape::Nullable(inner) | Shape::Named(inner) => value(inner, dice),
        Shape::List(inner) => {
            let (plain, strict): (Vec<_>, Vec<_>) =
                (0..roll(3)).map(|_| value(inner, dice)).unzip();
            (plain.into(), strict.into())
        }
        Shape::Pair(inner) => {
            let (plain, strict) = value(inner, dice);
            (json!([plain, true]), json!([strict, true]))
        }
        Shape::Object(fields) => members(fields, None, dice),
        Shape::Tagged(objects) => {
            let at = usize::try_from(roll(objects.len() as u64)).expect("small");
            members(&objects[at], Some(at), dice)
        }
    }
}

fn members(fields: &[Field], tag: Option<usize>, dice: &mut u64) -> (Value, Value) {
    let mut plain = Map::new();
    let mut strict = Map::new();
    if let Some(tag) = tag {
        plain.insert("kind".into(), json!(format!("k{tag}")));
        strict.insert("kind".into(), json!(format!("k{tag}")));
    }
    for (at, field) in fields.iter().enumerate() {
        let name = format!("f{at}");
        let (one, other) = value(&field.shape, dice);
        if field.required || takes_null(&field.shape) || *dice & 1024 == 0 {
            plain.insert(name.clone(), one);
            strict.insert(name, other);
        } else {
            strict.insert(name, Value::Null);
        }
    }
    (plain.into(), strict.into())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // Each projected schema, given a valid call, accepts it, and the call comes back unchanged.
    #[test]
    fn a_valid_call_with_nulls_is_accepted_and_restored(fields in fields(shape()), seed: u64) {
        let mut named = Map::new();
        let mut root = object(&fields, None, &mut named);
        root["$defs"] = named.into();
        let mut dice = seed;
        let (plain, strict) = members(&fields, None, &mut dice);
        prop_assert!(jsonschema::is_valid(&root, &plain), "{plain}\nof {root}");
        for provider in [Provider::OpenAiChat, Provider::OpenAiResponses] {
            let projection = project(provider, &root, true).expect("not refused");
            prop_assert_eq!(&projection.not_strict, &None, "{}", root);
            prop_assert_eq!(problems(provider, &projection.schema), Vec::<String>::new());
            prop_assert!(jsonschema::is_valid(&projection.schema, &strict), "{strict}\nby {}", projection.schema);
        }
        let text = strict.to_string();
        prop_assert_eq!(restore(&root, &text), plain.to_string(), "{}\nof {}", strict, root);
        for provider in [Provider::Anthropic, Provider::Bedrock, Provider::Cohere] {
            let projection = project(provider, &root, true).expect("not refused");
            prop_assert_eq!(&projection.not_strict, &None, "{}", root);
            prop_assert!(jsonschema::is_valid(&projection.schema, &plain), "{plain}\nby {}", projection.schema);
        }
    }
}
