//! Our tools in the request types of `async-openai`, and its answers as calls.
//!
//! | | Chat Completions | Responses |
//! |---|---|---|
//! | tools into the request | [`chat_tools`] | [`response_tools`] |
//! | calls off the answer | [`chat_calls`] | [`response_calls`] |
//! | results into the next request | [`chat_results`] | [`response_results`] |
//!
//! The requests and the streams stay yours. A streamed answer is read by [`protocol`](crate::protocol()), event by
//! event, with `push_event(&serde_json::to_value(&chunk)?)`.
//!
//! ```
//! use async_openai::types::chat::{ChatCompletionResponseMessage, CreateChatCompletionRequestArgs};
//! use tool_adapters::{Provider, declare};
//! use tool_adapters::interop::async_openai as tools_for;
//! use tool_core::{Mode, Runtime, ToolContext, tool};
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
//! let session = runtime.session("example", Mode::Text).await?;
//!
//! let declared = declare(Provider::OpenAiChat, session.tools());
//! let request =
//!     CreateChatCompletionRequestArgs::default().model("any").tools(tools_for::chat_tools(&declared)?).build()?;
//! # assert_eq!(serde_json::to_value(&request)?["tools"][0]["function"]["name"], "add");
//!
//! // What the client answers to it.
//! let message: ChatCompletionResponseMessage = serde_json::from_str(
//!     r#"{"role": "assistant", "tool_calls": [
//!         {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1, \"b\": 2}"}}]}"#,
//! )?;
//! let responses = session.call_all(tools_for::chat_calls(&declared, &message)).await;
//! let results = tools_for::chat_results(&responses)?;
//! assert_eq!(serde_json::to_string(&results)?, r#"[{"role":"tool","content":"3","tool_call_id":"call_1"}]"#);
//! # Ok(())
//! # }
//! ```

use crate::interop::convert::{ConvertError, declared_to};
use crate::providers::declare::Declarations;
use crate::providers::protocol::protocol;
use crate::providers::provider::Provider;
use async_openai::types::chat::{
    ChatCompletionMessageToolCalls, ChatCompletionRequestMessage, ChatCompletionResponseMessage, ChatCompletionTools,
};
use async_openai::types::responses::{InputItem, OutputItem, Tool};
use serde::de::DeserializeOwned;
use tool_core::{ToolCall, ToolResponse};

/// The `tools` of a Chat Completions request. Declared to [`Provider::OpenAiChat`].
pub fn chat_tools(declared: &Declarations) -> Result<Vec<ChatCompletionTools>, ConvertError> {
    tools(declared, &[Provider::OpenAiChat])
}

/// The function calls of a Chat Completions message, as the tools know them. Calls of custom tools are not ours.
pub fn chat_calls(declared: &Declarations, message: &ChatCompletionResponseMessage) -> Vec<ToolCall> {
    let calls = message.tool_calls.iter().flatten().filter_map(|call| match call {
        ChatCompletionMessageToolCalls::Function(call) => Some(call),
        ChatCompletionMessageToolCalls::Custom(_) => None,
    });
    calls
        .map(|call| {
            let function = &call.function;
            declared.restore(ToolCall::new(&call.id, &function.name, function.arguments.as_str()))
        })
        .collect()
}

/// The messages that answer calls in a Chat Completions request, in order.
pub fn chat_results(responses: &[ToolResponse]) -> Result<Vec<ChatCompletionRequestMessage>, ConvertError> {
    results(Provider::OpenAiChat, responses)
}

/// The `tools` of a Responses request. Declared to [`Provider::OpenAiResponses`].
pub fn response_tools(declared: &Declarations) -> Result<Vec<Tool>, ConvertError> {
    tools(declared, &[Provider::OpenAiResponses])
}

/// The function calls among the output items of a response, as the tools know them.
pub fn response_calls(declared: &Declarations, output: &[OutputItem]) -> Vec<ToolCall> {
    let calls = output.iter().filter_map(|item| match item {
        OutputItem::FunctionCall(call) => Some(call),
        _ => None,
    });
    calls.map(|call| declared.restore(ToolCall::new(&call.call_id, &call.name, call.arguments.as_str()))).collect()
}

/// The items that answer calls in the input of a Responses request, in order.
pub fn response_results(responses: &[ToolResponse]) -> Result<Vec<InputItem>, ConvertError> {
    results(Provider::OpenAiResponses, responses)
}

pub(crate) fn tools<T: DeserializeOwned>(
    declared: &Declarations,
    wanted: &'static [Provider],
) -> Result<Vec<T>, ConvertError> {
    declared_to(declared, wanted)?;
    serde_json::from_str(declared.json().get()).map_err(ConvertError::Form)
}

pub(crate) fn results<T: DeserializeOwned>(
    provider: Provider,
    responses: &[ToolResponse],
) -> Result<Vec<T>, ConvertError> {
    serde_json::from_value(protocol(provider).encode(responses)).map_err(ConvertError::Form)
}
