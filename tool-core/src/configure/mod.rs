//! Toolsets that have to be configured, and what a settings form needs to know of them. The model never sees any of it.

mod access_token;
mod auth;
mod basic;
mod decode;
mod document;
mod factory;
mod linked;
mod metadata;
mod scrub;
mod secret;
mod sheet;
#[cfg(test)]
mod tests;

pub use access_token::{AccessToken, TokenSource};
pub use auth::{Auth, OAuth2};
pub use basic::BasicAuth;
pub use document::SecretDocument;
pub use factory::{ConfigureError, Configured, ToolsetFactory};
pub use metadata::ToolsetMetadata;
pub use secret::Secret;

pub(crate) use linked::{LinkedFactory, metadata as metadata_of};

use crate::response::ToolError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

#[doc = include_str!("../docs/configure.md")]
pub trait Configure: Sized {
    /// What a person sets: a struct, or `()`. Its schema is for a form, so titles and descriptions matter.
    type Config: DeserializeOwned + JsonSchema + Send;
    /// What nobody may read again: a struct, or `()`.
    type Secrets: DeserializeOwned + JsonSchema + Send;

    /// Makes the toolset, or says what is wrong with the settings.
    fn configure(config: Self::Config, secrets: Self::Secrets) -> impl Future<Output = Result<Self, ToolError>> + Send;
}
