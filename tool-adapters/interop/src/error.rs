//! The error of a conversion.

use tool_adapters_providers::{Declarations, Provider};

/// An error of converting declarations to another crate's types.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The tools are declared for a provider whose form the types cannot hold.
    #[error(
        "expected declarations for {}, got declarations for {declared}",
        provider_names(expected)
    )]
    Provider {
        /// The provider of the declarations.
        declared: Provider,
        /// The supported providers.
        expected: &'static [Provider],
    },
    /// The crate has no type for a provider tool.
    #[error("unsupported provider tool `{}`; declare the tools without it", tool.escape_debug())]
    ProviderTool {
        /// The tool's type in the declaration.
        tool: String,
    },
    /// A value does not fit the crate's types.
    #[error("a declaration or a result does not fit the crate's type: {0}")]
    Json(#[from] serde_json::Error),
}

fn provider_names(providers: &[Provider]) -> String {
    providers
        .iter()
        .map(|provider| provider.name())
        .collect::<Vec<_>>()
        .join(" or ")
}

pub(crate) fn check_provider(
    declared: &Declarations,
    expected: &'static [Provider],
) -> Result<(), ConvertError> {
    let provider = declared.provider();
    if expected.contains(&provider) {
        Ok(())
    } else {
        Err(ConvertError::Provider {
            declared: provider,
            expected,
        })
    }
}
