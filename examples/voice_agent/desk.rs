//! The tools of the agent.

use std::time::Duration;
use tool_core::{Intent, RunContext, ToolOutput, tool};

/// Say when a part of the house is open.
#[tool(category = "retrieval", modes("voice"))]
pub(crate) fn opening_hours(
    /// Such as pool or spa
    place: &str,
) -> String {
    match place {
        "pool" => "07:00 to 21:00".to_owned(),
        _ => "10:00 to 18:00".to_owned(),
    }
}

/// Call a taxi. It takes a while, and tells how far it is.
#[tool(category = "action", modes("voice"), cancellable)]
pub(crate) async fn call_taxi(
    ctx: &RunContext,
    /// The delivery address
    destination: String,
) -> String {
    ctx.update("the taxi company is being called");
    tokio::time::sleep(Duration::from_millis(300)).await;
    format!("a taxi to {destination} comes in 5 minutes")
}

/// End the call after this turn.
#[tool(category = "utility", modes("voice"))]
pub(crate) fn hang_up(
    /// The last words to the caller
    farewell: &str,
) -> ToolOutput {
    ToolOutput::new("after this turn")
        .intent(Intent::SetPendingMessage(farewell.to_owned()))
        .intent(Intent::EndVoiceSession)
}
