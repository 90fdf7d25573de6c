//! Tools in a loop of `genai`: `cargo run --example interop_genai --features interop`.

mod orders;
mod server;

use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatRequest};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use tool_adapters::interop::genai::{calls, results, tools};
use tool_adapters::{Provider, declare};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = client(format!("{}/", server::start().await?))?;
    let (_runtime, session) = orders::session().await?;
    let declared = declare(Provider::OpenAiChat, session.tools());

    let mut request =
        ChatRequest::from_user("Where are my orders 7 and 8?").with_tools(tools(&declared)?);
    loop {
        let response = client.exec_chat("any", request.clone(), None).await?;
        let said = response.first_text().map(str::to_owned);
        let asked = response.into_tool_calls();
        if asked.is_empty() {
            println!("{}", said.unwrap_or_default());
            return Ok(());
        }
        let responses = session.call_all(calls(&declared, &asked)).await;
        request = request.append_message(ChatMessage::from(asked));
        for result in results(&declared, &responses) {
            request = request.append_message(ChatMessage::from(result));
        }
    }
}

/// Sends every model to `endpoint`, which answers like `OpenAI`.
fn client(endpoint: String) -> Result<Client, genai::Error> {
    let resolver = ServiceTargetResolver::from_resolver_fn(move |target: ServiceTarget| {
        Ok(ServiceTarget {
            endpoint: Endpoint::from_owned(endpoint.clone()),
            auth: AuthData::from_single("none"),
            model: ModelIden::new(AdapterKind::OpenAI, target.model.model_name),
        })
    });
    Client::builder()
        .with_service_target_resolver(resolver)
        .build()
}
