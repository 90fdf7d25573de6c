//! Results of tools, treated by trait.

use crate::support::{call, data, failure};
use serde_json::json;
use std::pin::Pin;
use std::task::{Context, Poll};
use tool_core::call::{OutputKind, ResultForm};
use tool_core::{Content, ErrorKind, Intent, RunContext, ToolContext, ToolError, ToolOutput, tool};

type Fallible<T> = Result<T, ToolError>;

/// Nothing.
#[tool]
fn nothing() {}

/// A text.
#[tool]
fn text() -> &'static str {
    "a \"text\""
}

/// Through an alias.
#[tool]
fn alias(fail: bool) -> Fallible<Vec<u8>> {
    if fail {
        Err(ToolError::conflict("taken"))
    } else {
        Ok(vec![1])
    }
}

/// Through `impl Trait`.
#[tool]
fn opaque() -> impl serde::Serialize + Send {
    (1, "two")
}

/// More than data.
#[tool]
fn rich() -> ToolOutput {
    ToolOutput::new([1, 2])
        .intent(Intent::SuppressAudio)
        .meta("source", "cache")
        .warning("stale")
}

/// An image.
#[tool]
async fn image() -> Result<Vec<Content>, String> {
    Ok(vec![
        Content::text("look"),
        Content::image("AAAA", "image/png"),
    ])
}

/// No reply.
#[tool]
fn stop() -> ToolOutput {
    ToolOutput::stop()
}

struct Three(u8);

impl futures_core::Stream for Three {
    type Item = u8;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u8>> {
        self.0 += 1;
        Poll::Ready((self.0 <= 3).then_some(self.0))
    }
}

/// One after the other.
#[tool]
fn stream() -> Three {
    Three(0)
}

/// Not a number.
#[tool]
fn nan() -> f64 {
    f64::NAN
}

struct Unserialisable;

impl serde::Serialize for Unserialisable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("secret-canary"))
    }
}

/// Fails late.
#[tool]
fn broken() -> Unserialisable {
    Unserialisable
}

/// Deep.
#[tool]
fn deep(depth: u32) -> serde_json::Value {
    (0..depth).fold(json!(1), |inner, _| serde_json::Value::Array(vec![inner]))
}

/// Long.
#[tool(max_output = 20)]
fn long(items: usize) -> Vec<usize> {
    (0..items).collect()
}

/// Data, and an image of it.
#[tool(max_output = 100)]
fn drawn(size: usize) -> ToolOutput {
    ToolOutput::new(size).with_content([
        Content::text("a drawing"),
        Content::image("x".repeat(size), "image/png"),
    ])
}

fn all() -> ToolContext {
    ToolContext::builder()
        .with(nothing)
        .with(text)
        .with(alias)
        .with(opaque)
        .with(rich)
        .with(image)
        .with(stop)
        .with(stream)
        .with(nan)
        .with(broken)
        .with(deep)
        .with(long)
        .with(drawn)
        .build()
        .expect("sound")
}

// D10
#[test]
fn plain_data_is_serialised() {
    assert_eq!(data(&all(), "text", "{}"), json!("a \"text\""));
    assert_eq!(data(&all(), "opaque", "{}"), json!([1, "two"]));
}

// D10, L18
#[test]
fn unit_is_null_and_marked_as_unit() {
    let response = call(&all(), "nothing", "{}");
    assert_eq!(
        (response.data_json(), response.kind()),
        (Some("null"), OutputKind::Unit)
    );
}

// D10
#[test]
fn result_is_recognised_through_an_alias() {
    assert_eq!(data(&all(), "alias", json!({"fail": false})), json!([1]));
    assert_eq!(
        failure(&all(), "alias", json!({"fail": true})),
        (ErrorKind::Conflict, "taken".into())
    );
}

// D10, R-E1
#[test]
fn a_tool_output_carries_intents_and_meta() {
    let response = call(&all(), "rich", "{}");
    assert_eq!(response.intents(), [Intent::SuppressAudio]);
    assert_eq!(response.meta().extra("source"), Some(&json!("cache")));
    assert_eq!(response.meta().warnings(), ["stale"]);
    assert_eq!(response.meta().size_chars(), 5);
    assert_eq!(response.meta().token_estimate(), 2);
}

// D10
#[test]
fn content_and_stop_results_keep_their_form() {
    let response = call(&all(), "image", "{}");
    assert_eq!(response.kind(), OutputKind::Content);
    let parts = response.data::<Vec<Content>>().expect("parts");
    assert_eq!(parts[1], Content::image("AAAA", "image/png"));
    assert_eq!(call(&all(), "stop", "{}").kind(), OutputKind::Stop);
}

// D10
#[test]
fn stream_is_collected_and_reported_as_progress() {
    let ctx = RunContext::detached();
    let tools = all();
    let response = crate::support::block_on(tools.call("stream", "{}", &ctx));
    assert_eq!(response.data_json(), Some("[1,2,3]"));
    let told = ctx
        .progress()
        .take()
        .into_iter()
        .map(|update| update.message)
        .collect::<Vec<_>>();
    assert_eq!(told, ["1", "2", "3"]);
}

// T10
#[test]
fn number_outside_json_becomes_null() {
    assert_eq!(data(&all(), "nan", "{}"), json!(null));
}

// R-M2
#[test]
fn unserialisable_result_is_internal_and_masked() {
    let (kind, message) = failure(&all(), "broken", "{}");
    assert_eq!(
        (kind, message.as_str()),
        (ErrorKind::Internal, "An internal error occurred")
    );
}

// T9
#[test]
fn too_deeply_nested_result_is_internal() {
    assert!(call(&all(), "deep", json!({"depth": 128})).is_ok());
    assert_eq!(
        failure(&all(), "deep", json!({"depth": 129})).0,
        ErrorKind::Internal
    );
    assert_eq!(
        failure(&all(), "deep", json!({"depth": 100_000})).0,
        ErrorKind::Internal
    );
}

// T9
#[test]
fn result_over_its_limit_is_cut_to_valid_json() {
    let whole = call(&all(), "long", json!({"items": 9}));
    assert_eq!(whole.meta().truncated(), None, "19 characters of 20");
    let cut = call(&all(), "long", json!({"items": 10}));
    let truncated = cut.meta().truncated().expect("21 characters of 20").clone();
    assert_eq!((truncated.limit, truncated.total), (20, Some(21)));
    let value = cut.data::<serde_json::Value>().expect("still JSON");
    assert_eq!(value["partial"], json!([0, 1, 2, 3, 4, 5, 6, 7, 8]));
    let huge = call(&all(), "long", json!({"items": 100_000}));
    assert!(
        huge.data_json().is_some_and(|data| data.len() < 300),
        "cut while it was serialised"
    );
}

// D10
#[test]
fn result_schema_is_published_if_the_type_has_one() {
    let tools = all();
    let output = |name: &str| {
        tools
            .function_tool(name)
            .and_then(|tool| tool.definition().output().cloned())
    };
    assert_eq!(
        output("alias").map(|schema| schema["type"].clone()),
        Some(json!("array"))
    );
    assert_eq!(output("text"), Some(json!({"type": "string"})));
    assert_eq!(
        [output("nothing"), output("opaque"), output("rich")],
        [None, None, None]
    );
}

#[test]
fn content_beside_data_has_the_limit_of_the_result() {
    let shown = |size: usize| {
        let response = call(&all(), "drawn", json!({"size": size}));
        let result = response.for_model(ResultForm::Plain);
        (
            response.data_json().map(str::to_owned),
            result.content().map(|parts| parts.len()),
            response.meta().warnings().len(),
        )
    };
    assert_eq!(shown(4), (Some("4".to_owned()), Some(2), 0));
    assert_eq!(shown(100), (Some("100".to_owned()), None, 1));
}
