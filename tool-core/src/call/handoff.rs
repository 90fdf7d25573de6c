//! A result that hands the conversation to another agent.

use crate::call::output::{IntoToolOutput, ToolOutput};

/// A result that hands the conversation to another agent of the loop. A tool returns it like any
/// other result. After the step, the loop goes on with the instructions, the tools and the model of
/// that agent, and the conversation stays. See
/// [`Handoffs`](crate::session::Handoffs).
///
/// If the loop has no agent of the name, the model reads an error that lists those that it has. A
/// call that another tool makes, or that goes on in the background, hands nothing over.
///
/// ```
/// use tool_core::{Handoff, RunContext, ToolContext, tool};
///
/// /// Hand the guest to the colleague who knows the bills.
/// #[tool]
/// fn to_billing(bill: u32) -> Handoff {
///     Handoff::to("billing").message(format!("The guest asks about bill {bill}."))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(to_billing).build()?;
/// let response = tools.call("to_billing", r#"{"bill": 7}"#, &RunContext::detached()).await;
/// assert_eq!(response.meta().handoff(), Some("billing"));
/// assert_eq!(response.into_text(), "The guest asks about bill 7.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Handoff {
    agent: String,
    message: Option<String>,
}

impl Handoff {
    /// Creates the handoff to the agent of this name.
    pub fn to(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            message: None,
        }
    }

    /// Sets the text that the next agent reads as the result of the call. Defaults to one that says
    /// to whom the conversation was handed.
    pub fn message(self, text: impl Into<String>) -> Self {
        Self {
            message: Some(text.into()),
            ..self
        }
    }
}

impl IntoToolOutput for Handoff {
    fn into_tool_output(self) -> ToolOutput {
        let Self { agent, message } = self;
        let text = message.unwrap_or_else(|| format!("The conversation goes on with `{agent}`."));
        ToolOutput::new(text).handoff(agent)
    }
}
