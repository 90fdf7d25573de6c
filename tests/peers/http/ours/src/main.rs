//! tool-adapters' MCP server over HTTP. Usage: `http-ours PORT`.
use harness::Calendar;
use schemars::JsonSchema;
use serde::Serialize;
use std::error::Error;
use tool_adapters::mcp::Server;
use tool_core::{ToolContext, toolset};

#[derive(Serialize, JsonSchema)]
struct Created {
    id: u64,
    title: String,
    end: String,
}

struct Tools(Calendar);
#[toolset]
impl Tools {
    /// Create a calendar event
    #[tool]
    async fn create_event(
        &self,
        title: String,
        start_time: String,
        duration_minutes: u32,
        attendees: Vec<String>,
        description: Option<String>,
    ) -> Created {
        let (id, end) = self.0.create(
            &start_time,
            duration_minutes,
            attendees.len(),
            description.as_deref(),
        );
        Created { id, title, end }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args()
        .nth(1)
        .ok_or("usage: http-ours PORT")?
        .parse()?;
    let tools = ToolContext::builder()
        .with(Tools(Calendar::default()))
        .build()?;
    Server::from_tools(tools)?
        .serve_http(([127, 0, 0, 1], port).into())
        .await?;
    Ok(())
}
