//! Our tools in the chat types of `genai`, and its calls as ours.
//!
//! `genai` writes each provider's request itself and sends schemas nearly as they are, so declare to the provider that
//! the model belongs to: [`Provider::GeminiJsonSchema`] for Gemini, for it sends `parametersJsonSchema`.
//!
//! ```
//! use genai::chat::{ChatMessage, ChatRequest};
//! use serde_json::json;
//! use tool_adapters::{Provider, declare};
//! use tool_adapters::interop::genai as tools_for;
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
//! let mut request = ChatRequest::from_user("What is 1 + 2?").with_tools(tools_for::tools(&declared)?);
//!
//! // What `Client::exec_chat` answers, by `into_tool_calls()`.
//! let calls: Vec<genai::chat::ToolCall> =
//!     serde_json::from_value(json!([{"call_id": "toolu_1", "fn_name": "add", "fn_arguments": {"a": 1, "b": 2}}]))?;
//! let responses = session.call_all(tools_for::calls(&declared, &calls)).await;
//! request = request.append_message(ChatMessage::from(calls));
//! for result in tools_for::results(&declared, &responses) {
//!     assert_eq!(result.content, "3");
//!     request = request.append_message(ChatMessage::from(result));
//! }
//! # Ok(())
//! # }
//! ```

use crate::interop::convert::{ConvertError, Declared, declared_to, items};
use crate::providers::declare::Declarations;
use crate::providers::provider::Provider;
use genai::chat;
use serde_json::{Map, Value};
use tool_core::call::ResultForm;
use tool_core::{ToolCall, ToolResponse};

/// The providers whose declarations `genai` sends as they are.
pub(crate) const FORMS: &[Provider] = &[
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Anthropic,
    Provider::GeminiJsonSchema,
    Provider::Bedrock,
    Provider::Mistral,
    Provider::Cohere,
    Provider::Ollama,
];

/// The tools of a request. Of the provider tools it takes the web search, and Gemini's.
pub fn tools(declared: &Declarations) -> Result<Vec<chat::Tool>, ConvertError> {
    declared_to(declared, FORMS)?;
    let strict_matters = declared.provider() != Provider::OpenAiChat;
    let one = |item| match item {
        Declared::Function(function) => {
            let tool =
                chat::Tool::new(function.name).with_description(function.description).with_schema(function.parameters);
            // Responses is strict where it is not told otherwise.
            Ok(if function.strict || strict_matters { tool.with_strict(function.strict) } else { tool })
        }
        Declared::Provider(item) => provider_tool(declared.provider(), item),
    };
    items(declared).into_iter().map(one).collect()
}

fn provider_tool(provider: Provider, item: Map<String, Value>) -> Result<chat::Tool, ConvertError> {
    let kind = item.get("type").and_then(Value::as_str).map(str::to_owned);
    match (provider, kind) {
        // One key, the tool's name, and its settings.
        (Provider::GeminiJsonSchema, _) => match item.into_iter().next() {
            Some((name, config)) => Ok(chat::Tool::new(name).with_config(config)),
            None => Err(ConvertError::ProviderTool { tool: String::new() }),
        },
        (Provider::OpenAiResponses | Provider::Anthropic, Some(kind)) if kind.starts_with("web_search") => {
            Ok(chat::Tool::new_web_search().with_config(Value::Object(item)))
        }
        (_, kind) => Err(ConvertError::ProviderTool { tool: kind.unwrap_or_default() }),
    }
}

/// Calls as the tools know them.
///
/// Arguments that were no JSON come from `genai` as a text: they stay what they were, and the answer will say so.
pub fn calls<'a>(declared: &Declarations, calls: impl IntoIterator<Item = &'a chat::ToolCall>) -> Vec<ToolCall> {
    let restore = |call: &chat::ToolCall| {
        let arguments = match &call.fn_arguments {
            Value::String(text) => text.clone(),
            // Gemini leaves out arguments that are empty.
            Value::Null => "{}".to_owned(),
            arguments => arguments.to_string(),
        };
        declared.restore(ToolCall::new(&call.call_id, &call.fn_name, arguments))
    };
    calls.into_iter().map(restore).collect()
}

/// What answers calls, in order. `genai` has a text for it and no flag: an error is what it says.
pub fn results(declared: &Declarations, responses: &[ToolResponse]) -> Vec<chat::ToolResponse> {
    let answer = |response: &ToolResponse| {
        let (meta, text) = (response.meta(), response.for_model(ResultForm::Plain).text);
        let name = declared.wire_name(meta.tool()).unwrap_or(meta.tool());
        chat::ToolResponse::new(meta.call_id().unwrap_or_default(), text).with_fn_name(name)
    };
    responses.iter().map(answer).collect()
}
