//! Values that nest 100,000 deep, on threads whose stack is too small to follow them.

use crate::support::{call, kind, message, open, runtime, tools};
use crate::support_deep::{deep, deep_value, on_small_stack};
use futures_core::Stream;
use futures_util::stream;
use serde::Serialize;
use serde_json::{Value, json};
use std::mem::forget;
use tool_core::session::{
    History, Model, ModelRequest, ModelStep, OpenError, RawTurn, StateChange,
};
use tool_core::tool::ProviderId;
use tool_core::trace::{self, Collector};
use tool_core::{
    ErrorKind, Intent, Mode, Policy, RunContext, ToolError, ToolOutput, ToolResponse, tool,
};

/// Return a value.
#[tool]
fn returned() -> Value {
    deep()
}

/// Return a value later.
#[tool]
async fn returned_later() -> Result<Value, String> {
    tokio::task::yield_now().await;
    Ok(deep())
}

/// Return a text that is cut, and a value after it.
#[tool(max_output = 100)]
fn cut() -> Value {
    Value::Array(vec!["x".repeat(1_000).into(), deep()])
}

#[derive(Serialize)]
struct Row {
    text: String,
    value: Value,
}

/// Return a struct.
#[tool]
fn in_struct() -> Row {
    Row {
        text: String::new(),
        value: deep(),
    }
}

/// Return a struct that is cut.
#[tool(max_output = 100)]
fn in_cut_struct() -> Vec<Row> {
    vec![Row {
        text: "x".repeat(1_000),
        value: deep(),
    }]
}

/// Return a stream.
#[tool]
fn streamed() -> impl Stream<Item = Value> {
    stream::iter([Value::Null, deep()])
}

/// Return an output.
#[tool]
fn output() -> ToolOutput {
    ToolOutput::new(deep())
}

/// Return an output that is cut.
#[tool]
fn cut_output() -> ToolOutput {
    ToolOutput::new([json!("x".repeat(2 << 20)), deep()])
}

// T9
#[test]
fn typed_tools_may_return_deep_values() {
    on_small_stack(async || {
        let tools = tools![
            returned,
            returned_later,
            cut,
            in_struct,
            in_cut_struct,
            streamed,
            output,
            cut_output
        ];
        let session = open(&runtime(tools.clone(), Policy::text()), "s", Mode::Text).await;
        for tool in [
            "returned",
            "returned_later",
            "in_struct",
            "streamed",
            "output",
        ] {
            assert_eq!(
                kind(&call(&session, tool, json!({})).await),
                Some(ErrorKind::Internal),
                "{tool}"
            );
            assert_eq!(
                kind(&tools.call(tool, "{}", &RunContext::detached()).await),
                Some(ErrorKind::Internal),
                "{tool}"
            );
        }
        for tool in ["cut", "in_cut_struct", "cut_output"] {
            let response = call(&session, tool, json!({})).await;
            assert!(
                response.meta().truncated().is_some(),
                "{tool}: {:.200}",
                response.to_json()
            );
        }
    });
}

#[test]
fn value_of_129_levels_is_refused_and_of_128_written() {
    on_small_stack(async || {
        assert!(ToolOutput::new(deep_value(128)).data_json().is_ok());
        assert!(ToolOutput::new(deep_value(129)).data_json().is_err());
    });
}

/// Return as much as is allowed.
#[tool]
fn deepest() -> ToolOutput {
    let intent = Intent::custom("acme.deep", deep_value(100)).expect("allowed");
    ToolOutput::new(deep_value(128))
        .meta("deep", deep_value(100))
        .meta("deeper", deep_value(101))
        .intent(intent)
}

// T9
#[test]
fn deepest_response_can_be_read_again() {
    on_small_stack(async || {
        let response = tools![deepest]
            .call("deepest", "{}", &RunContext::detached())
            .await;
        let text = response.to_json();
        assert!(
            text.contains("`deeper` of `meta` nests deeper than 100 and was not set"),
            "{text}"
        );
        let read = serde_json::from_str::<ToolResponse>(&text).expect("it can be read");
        assert_eq!(read.to_json(), text);
    });
}

// T9
#[test]
fn deep_settings_do_not_open_a_session() {
    on_small_stack(async || {
        let runtime = runtime(tools![], Policy::text());
        let refused = runtime.session("s", Mode::Text).config(deep()).await.err();
        assert_eq!(refused, Some(OpenError::InvalidConfig));
        assert!(
            runtime
                .session("s", Mode::Text)
                .config(deep())
                .config(deep_value(128))
                .await
                .is_ok()
        );
    });
}

// T9
#[test]
fn deep_settings_of_a_run_context_are_left_out() {
    on_small_stack(async || {
        let ctx = RunContext::builder().config(deep()).state(deep()).build();
        assert_eq!((ctx.config(), ctx.state()), (&Value::Null, &Value::Null));
    });
}

// T9
#[test]
fn deep_session_state_is_refused() {
    on_small_stack(async || {
        let session = open(&runtime(tools![], Policy::text()), "s", Mode::Text).await;
        let set = |value| [StateChange::Value("cart".into(), value)];
        for (levels, fits) in [(100, true), (101, false), (100_000, false)] {
            let change = set(deep_value(levels));
            let changed = session.change(&change).await;
            assert_eq!(changed.is_ok(), fits, "{levels}");
            if let Err(error) = changed {
                assert!(
                    error.to_string().contains("`cart` nests deeper than 100"),
                    "{error}"
                );
            }
            // The caller's own value recurses when it is dropped.
            forget(change);
        }
        assert_eq!(session.state().values["cart"], deep_value(100));
    });
}

/// Ask the runtime for something.
#[tool]
fn asks() -> ToolOutput {
    ToolOutput::new(1).intent(Intent::Custom {
        name: "acme.cart".into(),
        payload: deep(),
    })
}

/// Ask the runtime for something at once.
#[tool]
fn emits(ctx: &RunContext) -> u8 {
    ctx.emit(Intent::Custom {
        name: "acme.cart".into(),
        payload: deep(),
    });
    1
}

// T9
#[test]
fn intents_with_deep_payloads_are_left_out() {
    on_small_stack(async || {
        let session = open(
            &runtime(tools![asks, emits], Policy::text()),
            "s",
            Mode::Text,
        )
        .await;
        let asked = call(&session, "asks", json!({})).await;
        assert!(
            asked.is_ok()
                && asked
                    .to_json()
                    .contains("`acme.cart` nests deeper than 100"),
            "{}",
            asked.to_json()
        );
        assert!(call(&session, "emits", json!({})).await.is_ok());
        assert_eq!(session.state().values.len(), 0);
        assert!(Intent::custom("acme.cart", deep_value(100)).is_ok());
    });
}

#[test]
fn deep_attributes_of_spans_are_left_out() {
    on_small_stack(async || {
        let collector = Collector::new();
        collector
            .run(trace::section("s", async {
                trace::attribute("deep", deep());
                trace::attribute("flat", json!([1]));
            }))
            .await;
        let attributes = collector.report().spans()[0]
            .attributes()
            .map(|(key, _)| key.to_owned())
            .collect::<Vec<_>>();
        assert_eq!(attributes, ["flat"]);
    });
}

struct DeepModel;

impl Model for DeepModel {
    async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        let native = RawTurn {
            provider: ProviderId::new("acme"),
            items: vec![json!(1), deep(), deep()],
        };
        Ok(ModelStep {
            text: Some("hello".into()),
            native: Some(native),
            ..ModelStep::default()
        })
    }
}

#[test]
fn deep_raw_turns_are_left_out_of_the_history() {
    on_small_stack(async || {
        let session = open(&runtime(tools![], Policy::text()), "s", Mode::Text).await;
        let mut history = History::new();
        let reply = session.reply(&mut DeepModel, &mut history, "hi").await;
        assert_eq!(reply.text.as_deref(), Some("hello"));
        assert!(format!("{:?}", history.messages()).contains("native: None"));
    });
}

// T9
#[test]
fn deep_arguments_are_refused_on_a_small_stack() {
    on_small_stack(async || {
        let session = open(&runtime(tools![asks], Policy::text()), "s", Mode::Text).await;
        let refused = call(&session, "asks", deep()).await;
        assert!(message(&refused).contains("128"), "{}", message(&refused));
    });
}
