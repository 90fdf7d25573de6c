//! The tools of the front desk.

use std::time::Duration;
use tool_core::{Intent, RunContext, ToolOutput, tool};

/// Say when a part of the house is open.
#[tool(category = "retrieval")]
pub(crate) fn opening_hours(
    /// Such as pool or spa
    place: &str,
) -> String {
    match place {
        "pool" => "07:00 to 21:00".to_owned(),
        _ => "10:00 to 18:00".to_owned(),
    }
}

/// Call the guest.
#[tool(category = "action", modes("text"))]
pub(crate) fn call_back() -> ToolOutput {
    ToolOutput::new("the telephone rings").intent(Intent::StartVoiceSession)
}

/// Call a taxi. It takes a while, and tells how far it is.
#[tool(category = "action", modes("voice"), cancellable, ignore_on_enter)]
pub(crate) async fn call_taxi(
    ctx: &RunContext,
    /// The destination
    destination: String,
) -> String {
    ctx.update("the taxi company is being called");
    tokio::time::sleep(Duration::from_millis(300)).await;
    format!("a taxi to {destination} comes in 5 minutes")
}

/// Show the code of the door on the guest's telephone. It must not be spoken.
#[tool(category = "action", modes("voice"))]
pub(crate) fn show_door_code() -> ToolOutput {
    ToolOutput::new("the code is on the screen").intent(Intent::SuppressAudio)
}

/// Cancel a booking.
#[tool(category = "action", confirm)]
pub(crate) fn cancel_booking(
    /// The number of the booking
    number: u32,
) -> String {
    format!("booking {number} is cancelled")
}

/// Go on in writing.
#[tool(category = "utility", modes("voice"))]
pub(crate) fn continue_in_writing() -> ToolOutput {
    ToolOutput::new("the chat is open").intent(Intent::Navigate("/chat".to_owned()))
}
