//! Strict declarations: the provider then holds the model to the schema.

use super::{Projection, project};
use crate::Provider;
use crate::report::{NotStrict, Refusal};
use tool_core::ToolDefinition;

/// Projects the tools of a request. Strictness is decided here, as some providers have limits for the whole.
pub(crate) fn project_all(
    provider: Provider,
    tools: &[ToolDefinition],
    strict: bool,
) -> Vec<Result<Projection, Refusal>> {
    let unsupported = strict && !has_strict(provider);
    let one = |tool: &ToolDefinition| {
        let mut projection = project(provider, tool.parameters(), strict && !unsupported)?;
        if unsupported {
            projection.not_strict = Some(NotStrict::Unsupported);
        }
        Ok(projection)
    };
    tools.iter().map(one).collect()
}

/// Whether the provider has a strict form. Mistral's functions have a `strict` too, but nothing says which schemas it
/// takes, so no tool could be known to be.
fn has_strict(provider: Provider) -> bool {
    matches!(
        provider,
        Provider::OpenAiChat | Provider::OpenAiResponses | Provider::Anthropic | Provider::Bedrock | Provider::Cohere
    )
}
