//! Which arguments of a tool with parameters are equal.
#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "tools as their authors write them"
)]

use crate::arguments::equality::EqualityRules;
use crate::arguments::fingerprint::Fingerprint;
use crate::arguments::tests::equality::near_misses::untyped;
use crate::call::context;
use crate::registry::ToolContext;
use crate::tool::definition::ToolDefinition;
use crate::tool::{function, raw};
use serde_json::{Value, json};
use tool_macros::toolset;

struct Calendar {
    minutes: i64,
}

#[toolset(discover = false)]
impl Calendar {
    /// Create an event.
    #[tool]
    fn create(
        &self,
        #[serde(alias = "name")] title: String,
        #[arg(default = self.minutes)] minutes: i64,
        #[arg(default = "blue")] color: String,
        #[arg(default = vec![1, 2])] days: Vec<u8>,
        attendees: Option<Vec<String>>,
        #[arg(default = 5)] reminder: Option<u32>,
        extra: Option<Value>,
        serial: Option<u128>,
    ) -> String {
        format!(
            "{title}{minutes}{color}{days:?}{attendees:?}{reminder:?}{extra:?}{serial:?}{}",
            self.minutes
        )
    }
}

fn create() -> ToolDefinition {
    let tools = ToolContext::builder()
        .with(Calendar { minutes: 45 })
        .build()
        .expect("sound");
    tools.definitions().next().expect("one").clone()
}

/// Compares by text, by hash and by digest, and checks that they agree.
#[track_caller]
fn equal(tool: &ToolDefinition, a: &str, b: &str) -> bool {
    let [first, second] =
        [a, b].map(|text| Fingerprint::of(tool.compiled.equality(), tool.name(), text));
    let same =
        tool.compiled.equality().canonical_text(a) == tool.compiled.equality().canonical_text(b);
    assert_eq!(first.fast() == second.fast(), same, "{a} {b}");
    assert_eq!(first.digest() == second.digest(), same, "{a} {b}");
    same
}

#[track_caller]
fn same(a: &str, b: &str) {
    assert!(equal(&create(), a, b), "{a} {b}");
}

#[track_caller]
fn apart(a: &str, b: &str) {
    assert!(!equal(&create(), a, b), "{a} {b}");
}

// R-L3
#[test]
fn an_absent_parameter_is_its_default() {
    same(
        r#"{"title":"a"}"#,
        r#"{"title":"a","minutes":45,"color":"blue","days":[1,2],"reminder":5}"#,
    );
    same(r#"{"title":"a"}"#, r#"{"title":"a","minutes":45.0}"#);
    same(r#"{"title":"a"}"#, r#"{"title":"a","color":"\u0062lue"}"#);
    apart(r#"{"title":"a"}"#, r#"{"title":"a","minutes":30}"#);
    apart(r#"{"title":"a"}"#, r#"{"title":"a","days":[2,1]}"#);
}

// R-L3
#[test]
fn a_default_that_the_instance_decides_is_that_of_the_instance() {
    let tools = ToolContext::builder()
        .with(Calendar { minutes: 60 })
        .build()
        .expect("sound");
    let other = tools.definitions().next().expect("one").clone();
    assert!(equal(
        &other,
        r#"{"title":"a"}"#,
        r#"{"title":"a","minutes":60}"#
    ));
    assert!(!equal(
        &other,
        r#"{"title":"a"}"#,
        r#"{"title":"a","minutes":45}"#
    ));
}

// R-L3
#[test]
fn a_null_that_stands_for_absence_is_absence() {
    same(
        r#"{"title":"a"}"#,
        r#"{"title":"a","attendees":null,"minutes":null,"reminder":null}"#,
    );
    apart(r#"{"title":"a"}"#, r#"{"title":"a","attendees":[]}"#);
    // The default of a type that accepts `null` is `null`.
    same(r#"{"title":"a"}"#, r#"{"title":"a","extra":null}"#);
    apart(r#"{"title":"a"}"#, r#"{"title":"a","extra":{"a":null}}"#);
    apart(
        r#"{"title":"a","extra":{}}"#,
        r#"{"title":"a","extra":{"a":null}}"#,
    );
}

// R-L3
#[test]
fn an_alias_is_the_parameter() {
    same(r#"{"title":"a"}"#, r#"{"name":"a"}"#);
    same(
        r#"{"title":"a","minutes":5}"#,
        r#"{"minutes":5,"\u006eame":"a"}"#,
    );
    apart(
        r#"{"title":"a","extra":{"name":1}}"#,
        r#"{"title":"a","extra":{"title":1}}"#,
    );
}

// R-L3
#[test]
fn every_digit_counts() {
    let with = |digits: &str| format!(r#"{{"title":"a","serial":{digits}}}"#);
    for (a, b) in [
        ("9007199254740992", "9007199254740993"),
        ("18446744073709551615", "18446744073709551616"),
        ("18446744073709551616", "18446744073709551617"),
        (
            "340282366920938463463374607431768211454",
            "340282366920938463463374607431768211455",
        ),
    ] {
        apart(&with(a), &with(b));
    }
    same(&with("9007199254740992"), &with("9007199254740992.0"));
    same(
        &with("18446744073709551616"),
        &with("18446744073709551616.0"),
    );
    same(&with("0"), &with("-0.0"));
    apart(&with("1"), &with("-1"));
    let name = |text: &str| format!(r#"{{"name":"a","extra":[{text}]}}"#);
    let named = |text: &str| format!(r#"{{"title":"a","extra":[{text}]}}"#);
    same(
        &name("123456789012345678901234567890"),
        &named("123456789012345678901234567890"),
    );
    apart(
        &name("123456789012345678901234567890"),
        &named("123456789012345678901234567891"),
    );
}

// R-L3
#[test]
fn another_tool_with_the_same_arguments_is_another_call() {
    let tool = create();
    let text = r#"{"title":"a"}"#;
    let [first, second] =
        ["create", "my_create"].map(|name| Fingerprint::of(tool.compiled.equality(), name, text));
    assert_ne!(first.fast(), second.fast());
    assert_ne!(first.digest(), second.digest());
}

// R-L3
#[test]
fn a_text_that_does_not_decode_is_compared_as_it_is() {
    let tool = untyped();
    let of = |text: &'static str| Fingerprint::opaque("t", text);
    assert_eq!(of("{oops").fast(), of("{oops").fast());
    assert_eq!(of("{oops").digest(), of("{oops").digest());
    assert_ne!(of("{oops").fast(), of("{oops ").fast());
    assert_ne!(of("{oops").digest(), of("{oops ").digest());
    assert_ne!(
        of("{}").fast(),
        Fingerprint::of(tool.compiled.equality(), "t", "{}").fast()
    );
    assert_ne!(
        of("{}").digest(),
        Fingerprint::of(tool.compiled.equality(), "t", "{}").digest()
    );
    assert_ne!(of("a").fast(), Fingerprint::opaque("ta", "").fast());
    assert_ne!(of("a").digest(), Fingerprint::opaque("ta", "").digest());
}

// L29
#[test]
fn the_canonical_text_holds_the_defaults_under_the_names_of_the_parameters() {
    let tool = create();
    assert_eq!(
        tool.compiled.equality().canonical_text(
            r#"{ "name" : "a", "attendees" : null, "serial" : 340282366920938463463374607431768211455 }"#
        ),
        r#"{"color":"blue","days":[1,2],"extra":null,"minutes":45,"reminder":5,"serial":340282366920938463463374607431768211455,"title":"a"}"#
    );
    for text in ["{oops", "[1]", "", r#"{"a":1,"a":2}"#] {
        assert_eq!(tool.compiled.equality().canonical_text(text), text);
    }
}

// L29
#[tokio::test]
async fn a_tool_that_is_called_with_the_canonical_text_gets_the_same_arguments() {
    let tools = ToolContext::builder()
        .with(Calendar { minutes: 45 })
        .build()
        .expect("sound");
    let ctx = context::RunContext::detached();
    for text in [
        r#"{"title":"a"}"#,
        r#"{"name":"a","attendees":null,"extra":{"b":[1,-0.5,1e300]}}"#,
        r#"{"title":"é\n","serial":340282366920938463463374607431768211455,"reminder":null,"days":[]}"#,
    ] {
        let again = create().compiled.equality().canonical_text(text);
        let [before, after] = [
            tools.call("create", text, &ctx).await,
            tools.call("create", again.as_str(), &ctx).await,
        ];
        assert!(before.is_ok(), "{before:?}");
        assert_eq!(before.data_json(), after.data_json());
    }
}

// R-L3
#[test]
fn a_schema_given_at_run_time_fills_in_those_of_its_defaults_that_it_accepts() {
    let parameters = json!({"type": "object", "properties": {
        "limit": {"type": "integer", "default": 10}, "page": {"$ref": "#/$defs/page", "default": 1},
        "cursor": {"type": "string", "default": null}, "order": {"type": ["string", "null"], "default": null},
    }, "$defs": {"page": {"type": "integer"}}});
    let declared = raw::RawTool {
        name: "raw".into(),
        description: String::new(),
        parameters,
    };
    let tool = function::FunctionTool::raw(
        declared,
        async |arguments: Value, _: &context::RunContext| Ok(arguments),
    );
    let tool = tool.definition();
    assert_eq!(
        tool.compiled.equality().canonical_text("{}"),
        r#"{"limit":10,"order":null,"page":1}"#
    );
    assert!(equal(tool, "{}", r#"{"limit":10,"page":1.0}"#));
    assert!(!equal(tool, "{}", r#"{"cursor":null}"#));
    assert!(!equal(tool, "{}", r#"{"limit":null}"#));
}

// R-C1
#[test]
fn an_approved_number_is_rounded_on_either_side_of_null() {
    let approved = |branches: Value| {
        let schema = json!({"type": "object", "properties": {"n": {"anyOf": branches}}});
        let rules = EqualityRules::of_schema(&schema);
        rules.approved_text(r#"{"n":123456789012345678901233}"#, &schema)
    };
    assert_eq!(
        approved(json!([{"type": "null"}, {"type": "number"}])),
        approved(json!([{"type": "number"}, {"type": "null"}]))
    );
}

#[test]
fn a_tool_with_many_defaults_compares_each_by_its_name() {
    let declared = (0..200).map(|number| (format!("p{number}"), json!({"default": number})));
    let properties = declared.collect::<serde_json::Map<_, _>>();
    let rules = EqualityRules::of_schema(&json!({"type": "object", "properties": properties}));
    let hash = |text: &str| rules.hash("many", text).expect("an object");
    assert_eq!(hash("{}"), hash(r#"{"p199": 199, "p0": 0}"#));
    assert_ne!(hash("{}"), hash(r#"{"p199": 0}"#));
    assert_eq!(hash(r#"{"p7": 1, "x": 2}"#), hash(r#"{"x": 2, "p7": 1}"#));
}
