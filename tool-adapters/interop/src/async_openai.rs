//! Tools, calls and results in the types of `async-openai`.
//!
//! | | Chat Completions | Responses |
//! |---|---|---|
//! | tools of a request | [`chat_tools`] | [`response_tools`] |
//! | calls of an answer | [`chat_calls`] | [`response_calls`] |
//! | results for the next request | [`chat_results`] | [`response_results`] |
//!
//! Your program sends the requests. To read a streamed answer, pass each chunk to [`protocol`](tool_adapters_providers::protocol()) with
//! `push_event(&serde_json::to_value(&chunk)?)`.
//!
//! ```
//! use async_openai::types::chat::{ChatCompletionResponseMessage, CreateChatCompletionRequestArgs};
//! use tool_adapters::{Provider, declare};
//! use tool_adapters::interop::async_openai as convert;
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
//!     CreateChatCompletionRequestArgs::default().model("any").tools(convert::chat_tools(&declared)?).build()?;
//! # assert_eq!(serde_json::to_value(&request)?["tools"][0]["function"]["name"], "add");
//!
//! // The client's answer.
//! let message: ChatCompletionResponseMessage = serde_json::from_str(
//!     r#"{"role": "assistant", "tool_calls": [
//!         {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1, \"b\": 2}"}}]}"#,
//! )?;
//! let responses = session.call_all(convert::chat_calls(&declared, &message)).await;
//! let results = convert::chat_results(&responses)?;
//! assert_eq!(serde_json::to_string(&results)?, r#"[{"role":"tool","content":"3","tool_call_id":"call_1"}]"#);
//! # Ok(())
//! # }
//! ```

use crate::error::{ConvertError, check_provider};
use async_openai::types::chat::{
    ChatCompletionMessageToolCalls, ChatCompletionRequestMessage, ChatCompletionResponseMessage,
    ChatCompletionTools,
};
use async_openai::types::responses::{InputItem, OutputItem, Tool};
use serde::de::DeserializeOwned;
use tool_adapters_providers::{Declarations, Provider, protocol};
use tool_core::{ToolCall, ToolResponse};

#[cfg(feature = "observe")]
pub use crate::observe::openai_client::{ObservedService, observe, observe_over};

/// Converts declarations for [`Provider::OpenAiChat`] into the `tools` of a Chat Completions
/// request.
pub fn chat_tools(declared: &Declarations) -> Result<Vec<ChatCompletionTools>, ConvertError> {
    tools(declared, &[Provider::OpenAiChat])
}

/// Converts the function calls of a Chat Completions message, with the tools' own names. Calls of
/// custom tools are left out.
pub fn chat_calls(
    declared: &Declarations,
    message: &ChatCompletionResponseMessage,
) -> Vec<ToolCall> {
    let calls = message
        .tool_calls
        .iter()
        .flatten()
        .filter_map(|call| match call {
            ChatCompletionMessageToolCalls::Function(call) => Some(ToolCall::new(
                &call.id,
                &call.function.name,
                call.function.arguments.as_str(),
            )),
            ChatCompletionMessageToolCalls::Custom(_) => None,
        });
    calls.map(|call| declared.restore(call)).collect()
}

/// Converts responses into the messages of a Chat Completions request, in order.
pub fn chat_results(
    responses: &[ToolResponse],
) -> Result<Vec<ChatCompletionRequestMessage>, ConvertError> {
    results(Provider::OpenAiChat, responses)
}

/// Converts declarations for [`Provider::OpenAiResponses`] into the `tools` of a Responses request.
pub fn response_tools(declared: &Declarations) -> Result<Vec<Tool>, ConvertError> {
    tools(declared, &[Provider::OpenAiResponses])
}

/// Converts the function calls among the output items of a response, with the tools' own names.
pub fn response_calls(declared: &Declarations, output: &[OutputItem]) -> Vec<ToolCall> {
    let calls = output.iter().filter_map(|item| match item {
        OutputItem::FunctionCall(call) => Some(call),
        _ => None,
    });
    calls
        .map(|call| {
            declared.restore(ToolCall::new(
                &call.call_id,
                &call.name,
                call.arguments.as_str(),
            ))
        })
        .collect()
}

/// Converts responses into the input items of a Responses request, in order.
pub fn response_results(responses: &[ToolResponse]) -> Result<Vec<InputItem>, ConvertError> {
    results(Provider::OpenAiResponses, responses)
}

fn tools<T: DeserializeOwned>(
    declared: &Declarations,
    expected: &'static [Provider],
) -> Result<Vec<T>, ConvertError> {
    check_provider(declared, expected)?;
    Ok(serde_json::from_str(declared.json().get())?)
}

fn results<T: DeserializeOwned>(
    provider: Provider,
    responses: &[ToolResponse],
) -> Result<Vec<T>, ConvertError> {
    Ok(serde_json::from_value(
        protocol(provider).encode(responses),
    )?)
}
