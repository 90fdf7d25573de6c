//! The tools of these examples, and a session for their calls.

use tool_core::{Mode, RegistryErrors, Runtime, Session, ToolContext, ToolError, toolset};

struct Orders;

#[allow(clippy::unused_self, reason = "a real one would keep its data here")]
#[toolset(discover = false)]
impl Orders {
    /// Find out where an order is.
    #[tool(category = "retrieval")]
    fn find_order(&self, #[arg(range(1..=9999))] number: u32) -> Result<&'static str, ToolError> {
        match number {
            7 => Ok("It left the warehouse this morning."),
            _ => Err(ToolError::permanent(format!("there is no order {number}"))),
        }
    }
}

pub(crate) fn tools() -> Result<ToolContext, RegistryErrors> {
    ToolContext::builder().with(Orders).build()
}

pub(crate) async fn session() -> Result<(Runtime, Session), Box<dyn std::error::Error>> {
    let runtime = Runtime::builder(tools()?).build()?;
    let session = runtime.session("example", Mode::Text).await?;
    Ok((runtime, session))
}
