//! Invalid arguments: one response lists every problem, and the next call works.

use crate::support::{block_on, call, data, tools};
use serde_json::json;
use tool_core::arguments::Coercions;
use tool_core::call::Arguments;
use tool_core::{ErrorKind, RunContext, ToolContext, ToolResponse, tool};

/// Plan something.
#[tool]
fn plan(
    /// The text
    title: String,
    #[arg(range(5..=480))] minutes: u32,
    tags: Option<Vec<String>>,
    exact: Option<bool>,
) -> String {
    format!("{title} {minutes} {tags:?} {exact:?}")
}

const SOUND: &str = r#"{"title":"x","minutes":30}"#;

fn refused<'a>(arguments: impl Into<Arguments<'a>>) -> ToolResponse {
    let tools = tools(plan);
    let ctx = RunContext::detached();
    let response = block_on(tools.call("plan", arguments, &ctx));
    let kind = response.error().map(|error| error.kind);
    assert_eq!(kind, Some(ErrorKind::Validation), "{}", response.to_json());
    assert!(!response.meta().problems().is_empty());
    assert!(call(&tools, "plan", SOUND).is_ok(), "the next call works");
    response
}

fn pointers(response: &ToolResponse) -> Vec<String> {
    response
        .meta()
        .problems()
        .iter()
        .map(|problem| problem.pointer.clone())
        .collect()
}

// V2
#[test]
fn refusal_lists_all_problems_with_pointers_and_example() {
    let response = refused(r#"{"minutes":3,"tags":["a",7],"titel":"x","exact":"maybe"}"#);
    assert_eq!(
        pointers(&response),
        ["/exact", "/minutes", "/tags/1", "/titel", "/title"]
    );
    let message = &response.error().expect("refused").message;
    assert!(message.contains("at least 5"), "{message}");
    assert!(message.contains("did you mean `title`?"), "{message}");
    assert!(
        message.contains("example of valid arguments: {"),
        "{message}"
    );
}

// V2
#[test]
fn example_in_a_refusal_is_accepted() {
    let response = refused("{}");
    let message = &response.error().expect("refused").message;
    let example = message
        .rsplit_once("example of valid arguments: ")
        .expect("an example")
        .1;
    assert!(call(&tools(plan), "plan", example).is_ok(), "{example}");
}

// V4, T4: each text gets one answer
#[test]
fn text_that_is_not_a_json_object_is_refused() {
    let deep = format!(r#"{{"title":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    let abyss = "[".repeat(100_000);
    let hostile = [
        "not json",
        "[]",
        "7",
        "\"text\"",
        "{\"title\":\"x\",\"minutes\":30",
        "{\"title\":\"x\",\"minutes\":30}}",
        "{\"title\":\"x\",\"minutes\":30,}",
        "{'title':'x'}",
        "\u{feff}{\"title\":\"x\",\"minutes\":30}",
        "{\"title\":\"\\ud800\",\"minutes\":30}",
        "{\"title\":\"a\u{0}b\",\"minutes\":30}",
        "{\"title\":\"x\",\"minutes\":NaN}",
        "{\"title\":\"x\",\"minutes\":1e400}",
        "{\"title\":\"x\",\"minutes\":-0.5}",
        deep.as_str(),
        abyss.as_str(),
    ];
    for text in hostile {
        refused(text);
    }
    refused(b"{\"title\":\"\xff\",\"minutes\":30}".as_slice());
}

// V4
#[test]
fn duplicate_keys_are_refused_beside_other_problems() {
    let response = refused(r#"{"title":"x","title":"y","minutes":3}"#);
    assert_eq!(pointers(&response), ["/minutes", "/title"]);
}

// V4
#[test]
fn text_over_the_cap_is_refused_without_parsing() {
    let tools = ToolContext::builder()
        .with(plan)
        .max_argument_bytes(64)
        .build()
        .expect("sound");
    let fits = format!(r#"{{"title":"{}","minutes":30}}"#, "x".repeat(64 - 25));
    assert_eq!(fits.len(), 64);
    assert!(call(&tools, "plan", &fits).is_ok());
    let long = fits.replace("\"x", "\"xx");
    let response = call(&tools, "plan", long);
    assert!(
        response
            .error()
            .expect("too long")
            .message
            .contains("at most 64 bytes"),
        "{}",
        response.to_json()
    );
}

// V3, L28, L29
#[test]
fn documented_coercions_are_lossless_and_reported() {
    let tools = tools(plan);
    let cases = [
        (r#""{\"title\":\"x\",\"minutes\":30}""#, "x 30 None None"),
        (r#"{"title":"x","minutes":"30"}"#, "x 30 None None"),
        (
            r#"{"title":"x","minutes":30.0,"tags":"[\"a\"]"}"#,
            "x 30 Some([\"a\"]) None",
        ),
        (
            r#"{"title":"x","minutes":30,"exact":"true"}"#,
            "x 30 None Some(true)",
        ),
    ];
    for (arguments, expected) in cases {
        let response = call(&tools, "plan", arguments);
        assert_eq!(
            response.data::<String>().ok().as_deref(),
            Some(expected),
            "{}",
            response.to_json()
        );
        assert!(!response.meta().coerced().is_empty(), "{arguments}");
    }
}

// V3
#[test]
fn null_that_the_schema_documents_is_not_reported() {
    // The second text takes the slow path, because of `exact`.
    for arguments in [
        r#"{"title":"x","minutes":30,"tags":null}"#,
        r#"{"title":"x","minutes":30,"tags":null,"exact":"true"}"#,
    ] {
        let response = call(&tools(plan), "plan", arguments);
        assert!(response.is_ok(), "{}", response.to_json());
        assert!(
            response
                .meta()
                .coerced()
                .iter()
                .all(|note| !note.contains("/tags")),
            "{}",
            response.to_json()
        );
    }
}

// V5
#[test]
fn integral_float_is_an_integer_without_coercion() {
    let response = call(&tools(plan), "plan", r#"{"title":"x","minutes":3.0e1}"#);
    assert_eq!(
        response.data::<String>().ok().as_deref(),
        Some("x 30 None None")
    );
    assert!(response.meta().coerced().is_empty());
}

// V3: each coercion has a switch
#[test]
fn disabled_coercion_is_reported_as_a_problem() {
    let mut none = Coercions::ALL;
    none.empty = false;
    none.double_encoded = false;
    none.null_as_absent = false;
    none.text_as_scalar = false;
    none.text_as_json = false;
    let tools = ToolContext::builder()
        .with(plan)
        .coercions(none)
        .build()
        .expect("sound");
    let cases = [
        "",
        "null",
        r#""{\"title\":\"x\",\"minutes\":30}""#,
        r#"{"title":"x","minutes":"30"}"#,
        r#"{"title":"x","minutes":30,"tags":"[\"a\"]"}"#,
        r#"{"title":"x","minutes":30,"tags":null}"#,
    ];
    for arguments in cases {
        assert_eq!(
            call(&tools, "plan", arguments).error().map(|e| e.kind),
            Some(ErrorKind::Validation),
            "{arguments}"
        );
    }
    assert!(call(&tools, "plan", SOUND).is_ok());
}

/// Take nothing.
#[tool]
fn idle() -> u8 {
    1
}

// V3
#[test]
fn disabled_coercion_of_empty_arguments_is_a_problem() {
    let mut switches = Coercions::ALL;
    switches.empty = false;
    let tools = ToolContext::builder()
        .with(idle)
        .coercions(switches)
        .build()
        .expect("sound");
    for arguments in ["", "null"] {
        let kind = call(&tools, "idle", arguments)
            .error()
            .map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::Validation), "{arguments:?}");
    }
    assert!(call(&tools, "idle", "\"{}\"").is_ok());
}

// V3
#[test]
fn disabled_coercion_of_texts_is_a_problem() {
    let mut switches = Coercions::ALL;
    switches.double_encoded = false;
    let tools = ToolContext::builder()
        .with(idle)
        .coercions(switches)
        .build()
        .expect("sound");
    let kind = call(&tools, "idle", "\"{}\"")
        .error()
        .map(|error| error.kind);
    assert_eq!(kind, Some(ErrorKind::Validation));
    assert!(call(&tools, "idle", "null").is_ok());
}

// L28, L26
#[test]
fn absent_arguments_are_an_empty_object() {
    let tools = tools(idle);
    for arguments in ["", "null", "  ", "{}", "\"{}\""] {
        assert_eq!(data(&tools, "idle", arguments), json!(1), "{arguments:?}");
    }
}

// L26
#[test]
fn a_tool_without_parameters_ignores_members() {
    let response = call(&tools(idle), "idle", r#"{"x":1,"y":{}}"#);
    assert!(response.is_ok(), "{}", response.to_json());
    let ignored = "ignored, as the tool has no parameters";
    assert_eq!(
        response.meta().coerced(),
        [format!("/x: {ignored}"), format!("/y: {ignored}")]
    );
    let strict = ToolContext::builder()
        .with(idle)
        .coercions(Coercions::NONE)
        .build()
        .expect("sound");
    let kind = call(&strict, "idle", r#"{"x":1}"#)
        .error()
        .map(|error| error.kind);
    assert_eq!(kind, Some(ErrorKind::Validation));
}

// L19
#[test]
fn unknown_tool_error_lists_nearest_and_all_names() {
    let tools = ToolContext::builder()
        .with(plan)
        .with(idle)
        .build()
        .expect("sound");
    let (kind, message) = crate::support::failure(&tools, "Plan", "{}");
    assert_eq!(kind, ErrorKind::NotFound);
    assert_eq!(
        message,
        "unknown tool `Plan`, did you mean `plan`?; available tools: plan, idle"
    );
    let hostile = format!("\u{1b}[31m{}", "x".repeat(10_000));
    let response = call(&tools, &hostile, "{}");
    assert!(!response.to_json().contains('\u{1b}') && response.to_json().len() < 1000);
}

// T4: parsers differ
#[test]
fn parameter_names_are_compared_exactly() {
    for arguments in [
        r#"{"Title":"x","minutes":30}"#,
        r#"{"titlе":"x","minutes":30}"#,
        r#"{"title ":"x","minutes":30}"#,
    ] {
        refused(arguments);
    }
}

// V8
#[test]
fn arguments_are_text_bytes_value_or_raw_value() {
    let tools = tools(plan);
    let ctx = RunContext::detached();
    let value: serde_json::Value = serde_json::from_str(SOUND).expect("JSON");
    let raw = serde_json::value::RawValue::from_string(SOUND.to_owned()).expect("JSON");
    block_on(async {
        assert!(tools.call("plan", SOUND, &ctx).await.is_ok());
        assert!(tools.call("plan", SOUND.to_owned(), &ctx).await.is_ok());
        assert!(tools.call("plan", SOUND.as_bytes(), &ctx).await.is_ok());
        assert!(tools.call("plan", &value, &ctx).await.is_ok());
        assert!(tools.call("plan", value.clone(), &ctx).await.is_ok());
        assert!(tools.call("plan", &*raw, &ctx).await.is_ok());
        assert!(tools.call("plan", raw, &ctx).await.is_ok());
    });
}

/// Connect.
#[tool]
fn connect(
    to: std::net::SocketAddr,
    ports: Option<std::collections::HashMap<u16, std::net::IpAddr>>,
) -> String {
    format!("{to} {ports:?}")
}

// V2
#[test]
fn an_example_that_the_type_refuses_is_not_shown() {
    let (_, message) = crate::support::failure(&tools(connect), "connect", r#"{"to":"192.0.2.1"}"#);
    assert_eq!(
        message,
        "invalid arguments for `connect`:\n\
        - /to: refused: invalid socket address syntax, write an address and a port, such as \"192.0.2.1:80\""
    );
}

// V2
#[test]
fn keys_and_addresses_are_told_in_words() {
    let arguments = r#"{"to":"192.0.2.1:80","ports":{"http":"192.0.2.1","443":"x"}}"#;
    let (_, message) = crate::support::failure(&tools(connect), "connect", arguments);
    assert_eq!(
        message.lines().skip(1).take(2).collect::<Vec<_>>(),
        [
            "- /ports/443: expected an IPv4 address or an IPv6 address, got \"x\"",
            "- /ports/http: unknown property, the keys are whole numbers as text, such as \"7\""
        ]
    );
}

/// Count.
#[tool]
fn count(large: u128, small: i128, step: u8) -> String {
    format!("{large} {small} {step}")
}

// T10, V1
#[test]
fn the_largest_integers_survive_a_correction() {
    let arguments = format!(
        r#"{{"large":{},"small":{},"step":"5"}}"#,
        u128::MAX,
        i128::MIN
    );
    assert_eq!(
        data(&tools(count), "count", arguments),
        json!(format!("{} {} 5", u128::MAX, i128::MIN))
    );
}

// T10, V2
#[test]
fn an_integer_beyond_its_type_is_told_with_all_digits() {
    let beyond = "340282366920938463463374607431768211456";
    let (_, message) = crate::support::failure(
        &tools(count),
        "count",
        format!(r#"{{"large":{beyond},"small":0,"step":5}}"#),
    );
    assert!(
        message.contains(&format!(
            "/large: expected a number below {beyond}, got {beyond}\n"
        )),
        "{message}"
    );
}
