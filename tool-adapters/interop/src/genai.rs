//! Tools and calls in the chat types of `genai`.
//!
//! `genai` writes each provider's request itself, and sends schemas nearly unchanged. Declare the
//! tools for the provider of the model; for Gemini that is [`Provider::GeminiJsonSchema`], because
//! `genai` sends `parametersJsonSchema`.
//!
//! ```
//! use genai::chat::{ChatMessage, ChatRequest};
//! use serde_json::json;
//! use tool_adapters::{Provider, declare};
//! use tool_adapters::interop::genai as convert;
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
//! let declared = declare(Provider::Anthropic, session.tools());
//! let mut request = ChatRequest::from_user("What is 1 + 2?").with_tools(convert::tools(&declared)?);
//!
//! // The calls of a response: `Client::exec_chat(..).await?.into_tool_calls()`.
//! let calls: Vec<genai::chat::ToolCall> =
//!     serde_json::from_value(json!([{"call_id": "toolu_1", "fn_name": "add", "fn_arguments": {"a": 1, "b": 2}}]))?;
//! let responses = session.call_all(convert::calls(&declared, &calls)).await;
//! request = request.append_message(ChatMessage::from(calls));
//! for result in convert::results(&declared, &responses) {
//!     assert_eq!(result.content, "3");
//!     request = request.append_message(ChatMessage::from(result));
//! }
//! # Ok(())
//! # }
//! ```

use crate::convert::{DeclaredItem, declared_items};
use crate::error::{ConvertError, check_provider};
use genai::chat;
use serde_json::{Map, Value};
use tool_adapters_providers::{Declarations, Provider};
use tool_core::call::ResultForm;
use tool_core::{ToolCall, ToolResponse};

#[cfg(feature = "observe")]
pub use crate::observe::genai_client::{
    ObservedClient, ObservedStream, ObservedStreamResponse, observe,
};

/// The providers whose declarations `genai` sends unchanged.
pub(crate) const PROVIDERS: &[Provider] = &[
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Anthropic,
    Provider::GeminiJsonSchema,
    Provider::Bedrock,
    Provider::Mistral,
    Provider::Cohere,
    Provider::Ollama,
];

/// Converts declarations into the tools of a request.
///
/// # Errors
///
/// Returns an error for declarations of another provider, and for provider tools other than web
/// search and Gemini's.
pub fn tools(declared: &Declarations) -> Result<Vec<chat::Tool>, ConvertError> {
    check_provider(declared, PROVIDERS)?;
    let sends_strict = declared.provider() != Provider::OpenAiChat;
    let convert = |item| match item {
        DeclaredItem::Function(function) => {
            let tool = chat::Tool::new(function.name)
                .with_description(function.description)
                .with_schema(function.parameters);
            // The Responses API is strict by default.
            Ok(if function.strict || sends_strict {
                tool.with_strict(function.strict)
            } else {
                tool
            })
        }
        DeclaredItem::ProviderTool(item) => provider_tool(declared.provider(), item),
    };
    declared_items(declared).into_iter().map(convert).collect()
}

fn provider_tool(provider: Provider, item: Map<String, Value>) -> Result<chat::Tool, ConvertError> {
    let kind = item.get("type").and_then(Value::as_str).map(str::to_owned);
    match (provider, kind) {
        // One member: the tool's name with its settings.
        (Provider::GeminiJsonSchema, _) => match item.into_iter().next() {
            Some((name, config)) => Ok(chat::Tool::new(name).with_config(config)),
            None => Err(ConvertError::ProviderTool {
                tool: String::new(),
            }),
        },
        (Provider::OpenAiResponses | Provider::Anthropic, Some(kind))
            if kind.starts_with("web_search") =>
        {
            Ok(chat::Tool::new_web_search().with_config(Value::Object(item)))
        }
        (_, kind) => Err(ConvertError::ProviderTool {
            tool: kind.unwrap_or_default(),
        }),
    }
}

/// Converts the calls of a response, with the tools' own names.
///
/// `genai` returns arguments that are not valid JSON as a string. They are passed on unchanged, so
/// that the call's response reports the error.
pub fn calls<'a>(
    declared: &Declarations,
    calls: impl IntoIterator<Item = &'a chat::ToolCall>,
) -> Vec<ToolCall> {
    let convert = |call: &chat::ToolCall| {
        let arguments = match &call.fn_arguments {
            Value::String(text) => text.clone(),
            // Gemini leaves out empty arguments.
            Value::Null => "{}".to_owned(),
            arguments => arguments.to_string(),
        };
        declared.restore(ToolCall::new(&call.call_id, &call.fn_name, arguments))
    };
    calls.into_iter().map(convert).collect()
}

/// Converts responses into `genai`'s, in order. `genai` has no flag for errors, so an error is its
/// text.
pub fn results(declared: &Declarations, responses: &[ToolResponse]) -> Vec<chat::ToolResponse> {
    let convert = |response: &ToolResponse| {
        let text = declared
            .written_response(response)
            .for_model(ResultForm::Plain)
            .text;
        let meta = response.meta();
        let name = declared.wire_name(meta.tool()).unwrap_or(meta.tool());
        chat::ToolResponse::new(meta.call_id().unwrap_or_default(), text).with_fn_name(name)
    };
    responses.iter().map(convert).collect()
}
