//! Tools in a loop of `async-openai`: `cargo run --example interop_async_openai --features interop`.

mod orders;
mod server;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionRequestAssistantMessageArgs, ChatCompletionRequestMessage,
    ChatCompletionRequestUserMessageArgs, CreateChatCompletionRequestArgs,
};
use tool_adapters::interop::async_openai::{chat_calls, chat_results, chat_tools};
use tool_adapters::{DeclareOptions, Provider, declare_with};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = OpenAIConfig::new()
        .with_api_base(server::start().await?)
        .with_api_key("none");
    let client = Client::with_config(config);
    let (_runtime, session) = orders::session().await?;
    let declared = declare_with(
        Provider::OpenAiChat,
        session.tools(),
        DeclareOptions {
            strict: true,
            ..Default::default()
        },
    );

    let question = ChatCompletionRequestUserMessageArgs::default()
        .content("Where are my orders 7 and 8?")
        .build()?;
    let mut messages: Vec<ChatCompletionRequestMessage> = vec![question.into()];
    loop {
        let request = CreateChatCompletionRequestArgs::default()
            .model("any")
            .messages(messages.clone())
            .tools(chat_tools(&declared)?)
            .build()?;
        let response = client.chat().create(request).await?;
        let Some(choice) = response.choices.into_iter().next() else {
            break;
        };
        let calls = chat_calls(&declared, &choice.message);
        if calls.is_empty() {
            println!("{}", choice.message.content.unwrap_or_default());
            break;
        }
        let asked = choice.message.tool_calls.unwrap_or_default();
        messages.push(
            ChatCompletionRequestAssistantMessageArgs::default()
                .tool_calls(asked)
                .build()?
                .into(),
        );
        messages.extend(chat_results(&session.call_all(calls).await)?);
    }
    Ok(())
}
