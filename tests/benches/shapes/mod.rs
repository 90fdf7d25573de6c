//! Schemas and arguments that are expensive to check for a validator that follows every branch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tool_core::{FunctionTool, RawTool, RegistryErrors, RunContext, ToolContext, tool};

/// The size of large arguments in bytes, below the cap of 1 MiB.
const LARGE: usize = 1_000_000;

/// A tool and one call of it.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) tools: Result<ToolContext, RegistryErrors>,
    pub(crate) arguments: String,
}

/// An expression, by its tag.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Tagged {
    Value {
        value: i64,
    },
    Not {
        inner: Box<Tagged>,
    },
    Add {
        left: Box<Tagged>,
        right: Box<Tagged>,
    },
    Sub {
        left: Box<Tagged>,
        right: Box<Tagged>,
    },
    Mul {
        left: Box<Tagged>,
        right: Box<Tagged>,
    },
    All {
        items: Vec<Tagged>,
    },
}

/// An expression without a tag, whose variants have different fields.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Not { not: Box<Untagged>, one: i64 },
    And { and: Vec<Untagged>, two: i64 },
    Or { or: Vec<Untagged>, three: i64 },
    Leaf(i64),
}

/// One of two types that contain each other.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Even {
    First { odd: Box<Odd>, first: i64 },
    Second { other: Box<Odd>, second: i64 },
    End(bool),
}

/// The other one.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Odd {
    First { even: Box<Even>, first: i64 },
    Second { other: Box<Even>, second: i64 },
    End(bool),
}

/// A type that is decoded three times at each level.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Tripled {
    One { inner: Box<Tripled>, one: i64 },
    Two { inner: Box<Tripled>, two: i64 },
    Three { inner: Box<Tripled>, three: i64 },
    Leaf(i64),
}

/// Take a type that is decoded three times at each level.
#[tool]
fn tripled(expression: Tripled) -> bool {
    matches!(expression, Tripled::Leaf(_))
}

/// Take a tagged expression.
#[tool]
fn tagged(expression: Tagged) -> bool {
    matches!(expression, Tagged::Value { .. })
}

/// Take an expression without a tag.
#[tool]
fn untagged(expression: Untagged) -> bool {
    matches!(expression, Untagged::Leaf(_))
}

/// Take types that contain each other.
#[tool]
fn mutual(even: Even) -> bool {
    matches!(even, Even::End(_))
}

/// Makes a call of a typed tool.
fn typed(name: &'static str, tool: &'static str, arguments: String) -> Shape {
    let tools = ToolContext::builder()
        .with(tagged)
        .with(untagged)
        .with(mutual)
        .build();
    Shape {
        name,
        tool,
        tools,
        arguments,
    }
}

/// Makes a call of an imported tool with the parameter `v`.
fn imported(
    name: &'static str,
    parameter: &Value,
    definitions: impl Into<Value>,
    value: &str,
) -> Shape {
    let definitions = definitions.into();
    let parameters = json!({"type": "object", "properties": {"v": parameter}, "required": ["v"], "$defs": definitions});
    let raw = RawTool {
        name: "imported".into(),
        description: "An imported tool.".into(),
        parameters,
    };
    let accept = async |_: Value, _: &RunContext| Ok(Value::Null);
    let tool = FunctionTool::raw(raw, accept).validate(true);
    let tools = ToolContext::builder().with(tool).build();
    Shape {
        name,
        tool: "imported",
        tools,
        arguments: format!("{{\"v\":{value}}}"),
    }
}

fn nested(before: &str, inner: &str, after: &str, depth: usize) -> String {
    before.repeat(depth) + inner + &after.repeat(depth)
}

/// Repeats an item until the array is large.
fn many(item: &str) -> String {
    format!("[{}]", vec![item; LARGE / (item.len() + 1)].join(","))
}

/// Repeats a member with another name each time until the object is large.
fn members(value: &str) -> String {
    let size = value.len() + 10;
    let all: Vec<_> = (0..LARGE / size)
        .map(|n| format!("\"k{n:05}\":{value}"))
        .collect();
    format!("{{{}}}", all.join(","))
}

/// Definitions of which each leads to the next by `link`, and the last is `end`.
fn chain(length: usize, link: impl Fn(Value) -> Value, end: Value) -> Value {
    let mut all: Map<String, Value> = (0..length)
        .map(|n| {
            (
                format!("d{n}"),
                link(json!({"$ref": format!("#/$defs/d{}", n + 1)})),
            )
        })
        .collect();
    all.insert(format!("d{length}"), end);
    all.into()
}

fn first() -> Value {
    json!({"$ref": "#/$defs/d0"})
}

/// Branches with a tag each.
fn tags(count: usize) -> Value {
    let branch = |n| json!({"type": "object", "properties": {"t": {"const": format!("t{n}")}, "n": {"type": "integer"}}, "required": ["t"]});
    json!({"oneOf": (0..count).map(branch).collect::<Vec<_>>()})
}

/// Branches that only their limits distinguish.
fn limits(count: usize) -> Value {
    let branch = |n| json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": n}}, "required": ["n"]});
    json!({"anyOf": (0..count).map(branch).collect::<Vec<_>>()})
}

fn of_types() -> Vec<Shape> {
    let add = |depth| {
        nested(
            r#"{"kind":"add","left":{"kind":"value","value":1},"right":"#,
            r#"{"kind":"value"}"#,
            "}",
            depth,
        )
    };
    let tagged = |value: &str| format!("{{\"expression\":{value}}}");
    let wide = many(r#"{"kind":"value","value":"x"}"#);
    vec![
        typed("tagged, 12 deep, a leaf wrong", "tagged", tagged(&add(12))),
        typed("tagged, 60 deep, a leaf wrong", "tagged", tagged(&add(60))),
        typed(
            "tagged, 120 deep, a leaf wrong",
            "tagged",
            tagged(&add(120)),
        ),
        typed(
            "tagged, a megabyte of wrong leaves",
            "tagged",
            tagged(&format!("{{\"kind\":\"all\",\"items\":{wide}}}")),
        ),
        typed(
            "tagged, no tag anywhere",
            "tagged",
            tagged(&nested(r#"{"inner":"#, "{}", "}", 100)),
        ),
        typed(
            "tagged, as text",
            "tagged",
            tagged(&format!("{:?}", add(30))),
        ),
    ]
}

fn of_untagged_types() -> Vec<Shape> {
    let untagged = |value: &str| format!("{{\"expression\":{value}}}");
    let even = |value: &str| format!("{{\"even\":{value}}}");
    let both = r#"{"odd":{"other":"#;
    let not = |end: &str| nested(r#"{"one":1,"not":"#, end, "}", 120);
    let tripled = Shape {
        name: "untagged, one field in three variants",
        tool: "tripled",
        tools: ToolContext::builder().with(tripled).build(),
        arguments: untagged(&nested(r#"{"three":1,"inner":"#, "1", "}", 30)),
    };
    vec![
        tripled,
        typed(
            "untagged, 120 deep, a leaf wrong",
            "untagged",
            untagged(&not("\"x\"")),
        ),
        typed("untagged, 120 deep, valid", "untagged", untagged(&not("1"))),
        typed(
            "untagged, a megabyte, a leaf wrong",
            "untagged",
            untagged(&format!("{{\"and\":{},\"two\":\"x\"}}", many("1"))),
        ),
        typed(
            "untagged, a megabyte of numbers",
            "untagged",
            untagged(&format!("{{\"and\":{},\"two\":2}}", many("1"))),
        ),
        typed(
            "untagged, a megabyte of objects, valid",
            "untagged",
            untagged(&format!(
                "{{\"and\":{},\"two\":2}}",
                many(r#"{"not":1,                "one":1}"#)
            )),
        ),
        typed(
            "untagged, every number as text",
            "untagged",
            untagged(&nested(r#"{"one":"1","not":"#, "\"1\"", "}", 100)),
        ),
        typed(
            "mutual, 110 deep, a leaf wrong",
            "mutual",
            even(&nested(both, "1", ",\"x\":0},\"second\":2}", 55)),
        ),
        typed(
            "mutual, 110 deep, valid",
            "mutual",
            even(&nested(both, "true", ",\"second\":2},\"first\":2}", 55)),
        ),
    ]
}

fn of_references() -> Vec<Shape> {
    let any = |next: Value| json!({"anyOf": [next, next]});
    let one = |next: Value| json!({"oneOf": [next, {"type": "null"}]});
    let all = |next: Value| json!({"allOf": [next, next]});
    let not = |next: Value| json!({"not": {"not": {"allOf": [next, next]}}});
    let given = |next: Value| json!({"if": next, "then": next, "else": next});
    let end = || json!({"type": "integer"});
    let fork = |next: Value| json!({"anyOf": [{"properties": {"a": next}}, {"properties": {"a": next}, "required": ["b"]}]});
    let defaults = |next: Value| json!({"type": "object", "properties": {"a": next, "b": next}, "default": {"a": {}, "b": {}}});
    vec![
        imported(
            "a chain of 20 anyOf, wrong",
            &first(),
            chain(20, any, end()),
            "\"x\"",
        ),
        imported(
            "a chain of 40 anyOf, wrong",
            &first(),
            chain(40, any, end()),
            "\"x\"",
        ),
        imported(
            "a chain of 40 anyOf over a megabyte",
            &json!({"items": first()}),
            chain(40, any, end()),
            &many("\"x\""),
        ),
        imported(
            "a chain of 40 allOf, valid",
            &first(),
            chain(40, all, end()),
            "1",
        ),
        imported(
            "a chain of 40 allOf over a megabyte",
            &json!({"items": first()}),
            chain(40, all, end()),
            &many("1"),
        ),
        imported(
            "a chain of 40 oneOf, wrong",
            &first(),
            chain(40, one, end()),
            "\"x\"",
        ),
        imported(
            "a chain of 20 not, wrong",
            &first(),
            chain(20, not, end()),
            "\"x\"",
        ),
        imported(
            "a chain of 40 if, wrong",
            &first(),
            chain(40, given, end()),
            "\"x\"",
        ),
        imported(
            "a chain of 40 anyOf, null",
            &first(),
            chain(40, any, end()),
            "null",
        ),
        imported(
            "a chain of 3,000 references",
            &first(),
            chain(3_000, |next| next, end()),
            "1",
        ),
        imported(
            "a chain that ends where it began",
            &first(),
            json!({"d0": {"anyOf": [{"$ref": "#/$defs/d0"}, {}]}}),
            "1",
        ),
        imported(
            "forks at every level, 100 deep, wrong",
            &first(),
            chain(100, fork, end()),
            &nested(r#"{"a":"#, "\"x\"", "}", 100),
        ),
        imported(
            "forks that lead back, 120 deep",
            &first(),
            json!({"d0": fork(first())}),
            &nested(r#"{"a":"#, "1", "}", 120),
        ),
        imported(
            "defaults at every level",
            &first(),
            chain(60, defaults, end()),
            "{}",
        ),
        imported(
            "required at every level",
            &first(),
            chain(
                60,
                |next| json!({"type": "object", "properties": {"a": next, "b": next}, "required": ["a", "b"]}),
                end(),
            ),
            "{}",
        ),
    ]
}

fn of_keywords() -> Vec<Shape> {
    let none = || json!({});
    let patterns: Map<String, Value> = (0..3_000)
        .map(|n| (format!("^[a-z]{{1,9}}{n}"), json!({"type": "integer"})))
        .collect();
    let properties: Map<String, Value> = (0..20_000)
        .map(|n| (format!("p{n}"), json!({"type": "integer"})))
        .collect();
    let required: Vec<_> = properties.keys().cloned().collect();
    let names: Vec<_> = (0..3_000).map(|n| format!("name {n}")).collect();
    let unique = json!({"type": "array", "uniqueItems": true});
    let numbers: Vec<_> = (0..140_000).map(|n| n.to_string()).collect();
    let look = json!({"items": {"pattern": "^(?=(a+)+b)(a+)+$"}});
    vec![
        imported(
            "3,000 tags, a megabyte, valid",
            &json!({"items": tags(3_000)}),
            none(),
            &many(r#"{"t":"t2999","n":1}"#),
        ),
        imported(
            "3,000 tags, a megabyte, wrong",
            &json!({"items": tags(3_000)}),
            none(),
            &many(r#"{"t":"t2999","n":"x"}"#),
        ),
        imported(
            "3,000 tags, another tag",
            &tags(3_000),
            none(),
            r#"{"t":"none"}"#,
        ),
        imported(
            "3,000 limits, one value, wrong",
            &limits(3_000),
            none(),
            r#"{"n":-1}"#,
        ),
        imported(
            "3,000 limits, a megabyte, wrong",
            &json!({"items": limits(3_000)}),
            none(),
            &many(r#"{"n":-1}"#),
        ),
        imported(
            "3,000 patterns of names, a megabyte",
            &json!({"patternProperties": patterns}),
            none(),
            &members("1"),
        ),
        imported(
            "a pattern of many states, a megabyte",
            &json!({"pattern": "^([a-z]{1,100} ){1,50}$"}),
            none(),
            &format!("\"{}\"", "a ".repeat(LARGE / 2)),
        ),
        imported(
            "nested repetitions, a megabyte",
            &json!({"pattern": "^(a*)*b$"}),
            none(),
            &format!("\"{}\"", "a".repeat(LARGE)),
        ),
        imported(
            "look-around, many texts",
            &look,
            none(),
            &many(&format!("\"{}\"", "a".repeat(40))),
        ),
        imported(
            "uniqueItems, 140,000 numbers",
            &unique,
            none(),
            &format!("[{}]", numbers.join(",")),
        ),
        imported(
            "uniqueItems, a megabyte of equal objects",
            &unique,
            none(),
            &many(r#"{"a":[1,2,3]}"#),
        ),
        imported(
            "uniqueItems in uniqueItems",
            &json!({"items": unique, "uniqueItems": true}),
            none(),
            &many("[1,2,[3]]"),
        ),
        imported(
            "20,000 properties, all missing",
            &json!({"properties": properties, "required": required}),
            none(),
            "{}",
        ),
        imported(
            "20,000 properties, a megabyte of others",
            &json!({"properties": properties, "additionalProperties": false}),
            none(),
            &members("1"),
        ),
        imported(
            "an enum of 3,000, a megabyte, wrong",
            &json!({"items": {"enum": names}}),
            none(),
            &many("\"name\""),
        ),
        imported(
            "unevaluatedProperties over 60 anyOf",
            &json!({"anyOf": vec![json!({"properties": {"k00000": {}}}); 60], "unevaluatedProperties": {"type": "integer"}}),
            none(),
            &members("\"x\""),
        ),
        imported(
            "contains, a megabyte of objects",
            &json!({"contains": tags(100), "minContains": 9}),
            none(),
            &many(r#"{"t":"x"}"#),
        ),
        imported(
            "dependentSchemas of 3,000 names",
            &json!({"dependentSchemas": (0..3_000).map(|n| (format!("k{n:05}"), json!({"minProperties": 1}))).collect::<Map<_, _>>()}),
            none(),
            &members("1"),
        ),
        imported(
            "propertyNames, a megabyte",
            &json!({"propertyNames": {"anyOf": [{"pattern": "^x"}, {"minLength": 9}]}}),
            none(),
            &members("1"),
        ),
    ]
}

fn of_large_arrays() -> Vec<Shape> {
    let none = || json!({});
    vec![
        imported(
            "numbers as texts, a megabyte",
            &json!({"items": {"type": "integer"}}),
            none(),
            &many("\"1\""),
        ),
        imported(
            "arrays as texts in choices",
            &json!({"items": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "boolean"}]}}),
            none(),
            &many("\"[\\\"1\\\"]\""),
        ),
        imported(
            "nulls for optionals, a megabyte",
            &json!({"items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
            none(),
            &many(r#"{"a":null}"#),
        ),
        imported(
            "a megabyte of wrong numbers",
            &json!({"items": {"type": "integer", "maximum": 0}}),
            none(),
            &many("1"),
        ),
        imported(
            "a megabyte of valid numbers",
            &json!({"items": {"type": "integer", "minimum": 0}}),
            none(),
            &many("1"),
        ),
        imported(
            "empty objects, a megabyte",
            &json!({"items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
            none(),
            &many("{}"),
        ),
    ]
}

fn of_texts() -> Vec<Shape> {
    let none = || json!({});
    let key = "k".repeat(LARGE / 2);
    let repeated = vec!["\"a\":1"; LARGE / 12].join(",");
    let repeated_names = format!("{{{}}}", vec!["\"a\":1"; LARGE / 6].join(","));
    let rounded = vec!["18446744073709551617"; LARGE / 50].join(",");
    vec![
        imported(
            "repeated keys under a long key",
            &json!({}),
            none(),
            &format!("{{\"{key}\":{{{repeated}}}}}"),
        ),
        imported(
            "repeated keys, a megabyte",
            &json!({}),
            none(),
            &repeated_names,
        ),
        imported(
            "rounded numbers under a long key",
            &json!({}),
            none(),
            &format!("{{\"{key}\":[{rounded}]}}"),
        ),
        imported(
            "wrong numbers under a long key",
            &json!({"additionalProperties": {"items": {"type": "string"}}}),
            none(),
            &format!("{{\"{key}\":[{rounded}]}}"),
        ),
        imported(
            "numbers as texts under a long key",
            &json!({"additionalProperties": {"items": {"type": "integer"}}}),
            none(),
            &format!("{{\"{key}\":[{}]}}", vec!["\"1\""; LARGE / 10].join(",")),
        ),
        imported(
            "unknown names of a megabyte",
            &json!({"additionalProperties": false}),
            none(),
            &format!("{{\"{key}\":1}}"),
        ),
    ]
}

/// Definitions of which each leads to the next in many ways.
fn fans(ways: usize, end: Value) -> Value {
    chain(4, |next| json!({"allOf": vec![next; ways]}), end)
}

fn of_wide_choices() -> Vec<Shape> {
    let constants = |prefix: char| {
        let names: Vec<_> = (0..5_000).map(|n| format!("{prefix}{n}")).collect();
        let properties: Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), json!({"const": "x"})))
            .collect();
        json!({"properties": properties, "required": names})
    };
    let strings: Vec<_> = (0..10_000).map(|n| n.to_string()).collect();
    let shared: Map<String, Value> = (0..10_000)
        .map(|n| (format!("p{n}"), json!({"$ref": "#/$defs/all"})))
        .collect();
    let few = json!({"properties": {"a": {"type": "string"}}});
    let thousand: Map<String, Value> = (0..1_000).map(|n| (format!("p{n}"), json!({}))).collect();
    let object = || json!({"type": "object", "properties": {"x": {}}});
    vec![
        imported(
            "fans of 300 in 9 branches",
            &json!({"anyOf": vec![first(); 9]}),
            fans(300, object()),
            "1",
        ),
        imported(
            "fans of 300 in one branch",
            &json!({"anyOf": [first()]}),
            fans(300, object()),
            "1",
        ),
        imported(
            "10,000 properties of one enum",
            &json!({"anyOf": vec![json!({"properties": shared}); 2]}),
            json!({"all": {"enum": strings}}),
            "{\"p1\":0}",
        ),
        imported(
            "10,000 constants in two branches",
            &json!({"anyOf": [constants('a'), constants('b')]}),
            json!({}),
            "{}",
        ),
        imported(
            "200 branches behind 40 references",
            &json!({"allOf": vec![first(); 40]}),
            json!({"d0": {"anyOf": vec![few; 200]}}),
            &members("1").replacen('{', "{\"a\":1,", 1),
        ),
        imported(
            "unevaluated beside 1,000 names, valid",
            &json!({"items": {"properties": thousand, "unevaluatedProperties": false}}),
            json!({}),
            &format!("[{}]", vec!["{}"; 5_000].join(",")),
        ),
    ]
}

fn of_wide_schemas() -> Vec<Shape> {
    let none = || json!({});
    let objects: Vec<Value> = (0..3_000).map(|n| json!({"a": n, "b": [n, n]})).collect();
    let names: Vec<_> = (0..20_000).map(|n| format!("p{n}")).collect();
    let dependent: Map<String, Value> = (0..2_000)
        .map(|n| (format!("k{n:05}"), json!(["x", "y", "z"])))
        .collect();
    let required = |n: usize| json!({"type": "object", "required": [format!("r{n}")]});
    let patterns: Vec<_> = (0..400)
        .map(|n| json!({"pattern": format!("^[a-z ]*{n}$")}))
        .collect();
    let any: Vec<_> = (0..40).map(|n| json!({"contains": {"const": n}})).collect();
    vec![
        imported(
            "an enum of 3,000 objects, a megabyte",
            &json!({"items": {"enum": objects}}),
            none(),
            &many(r#"{"a":1}"#),
        ),
        imported(
            "a long constant, a megabyte",
            &json!({"items": {"const": names}}),
            none(),
            &many("[\"p0\"]"),
        ),
        imported(
            "20,000 required names, many objects",
            &json!({"items": {"required": names}}),
            none(),
            &many("{}"),
        ),
        imported(
            "2,000 dependent names, a megabyte",
            &json!({"dependentRequired": dependent}),
            none(),
            &members("1"),
        ),
        imported(
            "3,000 required branches, a megabyte",
            &json!({"items": {"oneOf": (0..3_000).map(required).collect::<Vec<_>>()}}),
            none(),
            &many(r#"{"r1":1,"r2":1}"#),
        ),
        imported(
            "400 patterns of one text",
            &json!({"anyOf": patterns}),
            none(),
            &format!("\"{}\"", "a ".repeat(LARGE / 2)),
        ),
        imported(
            "400 patterns of many texts",
            &json!({"items": {"anyOf": patterns}}),
            none(),
            &many("\"some words\""),
        ),
        imported(
            "unevaluatedItems over 40 contains",
            &json!({"anyOf": any, "unevaluatedItems": {"type": "string"}}),
            none(),
            &many("1"),
        ),
        imported(
            "names against a chain of 40 anyOf",
            &json!({"propertyNames": first()}),
            chain(
                40,
                |next| json!({"anyOf": [next, next]}),
                json!({"maxLength": 2}),
            ),
            &members("1"),
        ),
        imported(
            "objects as texts in objects as texts",
            &json!({"items": {"type": "object", "properties": {"a": {"type": "object"}}}}),
            none(),
            &many(r#""{\\"a\\":\\"{}\\"}""#),
        ),
        imported(
            "a choice of 100 for each of many texts",
            &json!({"items": {"anyOf": (0..100).map(|n| json!({"type": "array", "items": {"const": n}})).collect::<Vec<_>>()}}),
            none(),
            &many("\"[1]\""),
        ),
        imported(
            "400 properties in each of many objects",
            &json!({"items": {"type": "object", "properties": (0..400).map(|n| (format!("p{n}"), json!({"type": "integer"}))).collect::<Map<_, _>>(), "additionalProperties": false}}),
            none(),
            &many(r#"{"p1":"x","q":2}"#),
        ),
        imported(
            "multiples of a fraction, a megabyte",
            &json!({"items": {"multipleOf": 0.001}}),
            none(),
            &many("0.0015"),
        ),
        imported(
            "dates, a megabyte",
            &json!({"items": {"format": "date-time"}}),
            none(),
            &many("\"2026-13-01T00:00:00Z\""),
        ),
        imported(
            "long texts with limits",
            &json!({"items": {"maxLength": 10, "minLength": 5}}),
            none(),
            &many(&format!("\"{}\"", "ä".repeat(4_000))),
        ),
    ]
}

/// Returns every shape.
pub(crate) fn all() -> Vec<Shape> {
    [
        of_types(),
        of_untagged_types(),
        of_references(),
        of_keywords(),
        of_wide_schemas(),
        of_wide_choices(),
        of_large_arrays(),
        of_texts(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
