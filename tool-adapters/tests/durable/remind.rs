//! A function that asks an engine for each kind of step.

use std::time::Duration;
use tool_core::ToolError;
use tool_core::session::{DurableSteps, record};

/// Waits for an answer that does not come.
pub async fn remind(steps: &dyn DurableSteps) -> Result<String, ToolError> {
    let asked = steps.now().await?;
    let answer = steps.signal("answer", Duration::from_millis(50)).await?;
    steps.sleep(Duration::from_millis(50)).await?;
    let now = steps.now().await?;
    let waited = now.duration_since(asked).unwrap_or_default() >= Duration::from_millis(100);
    let id = steps.random_id().await?;
    let length = record(steps, "length", async { Ok(id.len()) }).await?;
    Ok(format!("{answer:?} {waited} {}", length > 8))
}
