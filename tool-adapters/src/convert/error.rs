//! What can be wrong with declarations for another crate's types.

use crate::{Declarations, Provider};
use std::fmt;

/// Why declarations have no form in another crate's types.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConvertError {
    /// They are declared to a provider whose form those types do not hold.
    Provider {
        /// The provider that they are declared to.
        declared: Provider,
        /// The providers to declare them to instead.
        wanted: &'static [Provider],
    },
    /// The crate has no type for a provider tool.
    ProviderTool {
        /// What the provider calls it.
        tool: String,
    },
    /// The crate's types do not take a declaration.
    Form(serde_json::Error),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider { declared, wanted } => {
                let wanted = wanted.iter().map(|provider| provider.name()).collect::<Vec<_>>().join(" or ");
                write!(f, "the tools are declared to {declared}; declare them to {wanted}")
            }
            Self::ProviderTool { tool } => {
                write!(f, "there is no type for the provider tool `{}`; declare without it", tool.escape_debug())
            }
            Self::Form(error) => write!(f, "a declaration does not fit the type: {error}"),
        }
    }
}

impl std::error::Error for ConvertError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Form(error) => Some(error),
            Self::Provider { .. } | Self::ProviderTool { .. } => None,
        }
    }
}

/// Whether they are declared to one of `wanted`.
pub(crate) fn declared_to(declared: &Declarations, wanted: &'static [Provider]) -> Result<(), ConvertError> {
    let provider = declared.provider();
    let fits = wanted.contains(&provider);
    if fits { Ok(()) } else { Err(ConvertError::Provider { declared: provider, wanted }) }
}
