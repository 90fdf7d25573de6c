//! Properties under other names: in declarations, in streamed calls, in errors and in the history.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions};
use crate::event::Event;
use crate::protocol::protocol;
use crate::request::Request;
use crate::tests::declare::support::{declared, json_of, raw};
use serde_json::{Map, Value, json};
use tool_core::call::ResultForm;
use tool_core::session::{Message, ToolChoice};
use tool_core::{FunctionTool, RunContext, ToolCall, ToolContext};

/// A tool as a large vendor's server declares it.
fn aggregate() -> FunctionTool {
    let search = json!({"type": "object", "properties": {"filter[a]": {"type": "integer"}}, "required": ["filter[a]"]});
    let parameters = json!({"type": "object", "properties": {"$vectorSearch": search}, "required": ["$vectorSearch"]});
    raw("aggregate", "Search by vectors.", parameters).validate(true)
}

fn declared_for(provider: Provider) -> Declarations {
    declared(provider, &[aggregate()], &[], DeclareOptions::default())
}

/// A call of the tool, as Anthropic streams it.
const STREAM: &str = concat!(
    "data: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\"}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"aggregate\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"vectorSe\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"arch\\\":{\\\"filter_a\\\":\\\"x\\\"}}\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

/// The call of the stream, in the tool's own form.
fn streamed_call(declared: &Declarations) -> ToolCall {
    let events = protocol(Provider::Anthropic).push(STREAM.as_bytes());
    let call = events.into_iter().find_map(|event| {
        if let Event::Call(call) = event {
            Some(call)
        } else {
            None
        }
    });
    declared.restore(call.expect("a call"))
}

#[test]
fn a_tool_with_an_odd_property_is_declared() {
    let declared = declared_for(Provider::Anthropic);
    assert_eq!(
        json_of(&declared)[0]["input_schema"]["properties"]["vectorSearch"]["required"],
        json!(["filter_a"])
    );
    let changes = &declared.report().tools[0].changes;
    let details = changes
        .iter()
        .map(|change| (change.pointer.as_str(), change.detail.as_str()))
        .collect::<Vec<_>>();
    assert!(
        details.contains(&("", "`$vectorSearch` is declared as `vectorSearch`")),
        "{details:?}"
    );
    assert!(
        details.contains(&(
            "/properties/$vectorSearch",
            "`filter[a]` is declared as `filter_a`"
        )),
        "{details:?}"
    );
    assert!(
        declared_for(Provider::OpenAiChat).report().tools[0]
            .changes
            .is_empty()
    );
}

#[test]
fn a_streamed_call_has_the_own_names_again() {
    let call = streamed_call(&declared_for(Provider::Anthropic));
    assert_eq!(call.arguments(), r#"{"$vectorSearch":{"filter[a]":"x"}}"#);
}

#[tokio::test]
async fn an_error_names_the_property_that_the_model_sees() {
    let declared = declared_for(Provider::Anthropic);
    let tools = ToolContext::builder()
        .with(aggregate())
        .build()
        .expect("a context");
    let call = streamed_call(&declared);
    let response = tools
        .call(call.name(), call.arguments(), &RunContext::detached())
        .await;
    assert!(
        response
            .error()
            .expect("an error")
            .message
            .contains("/$vectorSearch/filter[a]")
    );
    let written = declared.written_response(&response);
    let text = written.for_model(ResultForm::Plain).text;
    assert!(
        text.contains("- /vectorSearch/filter_a: expected"),
        "{text}"
    );
    assert_eq!(written.meta().problems(), response.meta().problems());
}

#[tokio::test]
async fn a_history_is_written_with_the_names_of_the_declaration() {
    let declared = declared_for(Provider::Anthropic);
    let tools = ToolContext::builder()
        .with(aggregate())
        .build()
        .expect("a context");
    let call = streamed_call(&declared);
    let response = tools
        .call(call.name(), call.arguments(), &RunContext::detached())
        .await;
    let result = response.for_model(ResultForm::Plain);
    let history = [
        Message::user("Search."),
        Message::Assistant {
            text: None,
            calls: vec![call],
            native: None,
        },
        Message::Result {
            call_id: "c".to_owned(),
            tool: "aggregate".to_owned(),
            result,
        },
    ];
    let body = protocol(Provider::Anthropic).request(&Request {
        model: "m",
        instructions: "",
        history: &history,
        declarations: &declared,
        tool_choice: ToolChoice::Auto,
        stream: false,
        max_tokens: None,
        extra: &Map::new(),
    });
    assert_eq!(
        body["messages"][1]["content"][0]["input"],
        json!({"vectorSearch": {"filter_a": "x"}})
    );
    let error = &body["messages"][2]["content"][0]["content"];
    assert!(
        error
            .as_str()
            .is_some_and(|text| text.contains("/vectorSearch/filter_a")),
        "{error}"
    );
    assert_eq!(Value::to_string(&body).matches("$vectorSearch").count(), 0);
}
