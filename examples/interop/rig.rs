//! Tools inside an agent of `rig`, with the limits of a session: `cargo run --example interop_rig --features interop`.

mod orders;
mod server;

use rig_agent::AgentBuilder;
use rig_core::providers::openai::OpenAIConfig;
use tool_adapters::Provider;
use tool_adapters::interop::rig;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = OpenAIConfig::new("none")
        .with_base_url(server::start().await?)
        .client()
        .chat("any");
    let (runtime, session) = orders::session().await?;

    let tools = rig::tools(Provider::OpenAiChat, &session);
    let agent = AgentBuilder::new(model)
        .preamble("You look after orders.")
        .dynamic_tools(tools)
        .build();

    session.next_turn().await;
    let answer = agent
        .prompt("Where are my orders 7 and 8?")
        .max_turns(3)
        .await?;
    println!("{}", answer.output());
    if let Some(metrics) = runtime.metrics().tools.get("find_order") {
        println!(
            "{} calls, {} failed",
            metrics.calls,
            metrics.errors.values().sum::<u64>()
        );
    }
    Ok(())
}
