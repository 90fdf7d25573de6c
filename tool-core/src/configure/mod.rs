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

/// How a toolset is made of its settings.
///
/// A toolset that implements this is not discovered by itself: somebody has to configure it.
///
/// ```
/// use tool_core::{Configure, ToolContext, ToolError, schemars::JsonSchema, serde::Deserialize, toolset};
///
/// struct Shop {
///     currency: String,
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "tool_core::serde")]
/// #[schemars(crate = "tool_core::schemars")]
/// struct Settings {
///     /// Three letters
///     currency: String,
/// }
///
/// impl Configure for Shop {
///     type Config = Settings;
///     type Secrets = ();
///
///     async fn configure(config: Settings, (): ()) -> Result<Self, ToolError> {
///         Ok(Self { currency: config.currency })
///     }
/// }
///
/// #[toolset]
/// impl Shop {
///     /// Tell a price.
///     #[tool]
///     fn price(&self, cents: u32) -> String {
///         format!("{}.{:02} {}", cents / 100, cents % 100, self.currency)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let settings = tool_core::serde_json::from_str(r#"{"currency": "EUR"}"#)?;
/// let tools = ToolContext::builder().with(Shop::configure(settings, ()).await?).build()?;
/// # assert!(tools.has_tool("price"));
/// # Ok(())
/// # }
/// ```
pub trait Configure: Sized {
    /// What a person sets. Its schema is for a form, so titles and descriptions matter.
    type Config: DeserializeOwned + JsonSchema + Send;
    /// What nobody may read again.
    type Secrets: DeserializeOwned + JsonSchema + Send;

    /// Makes the toolset, or says what is wrong with the settings.
    fn configure(config: Self::Config, secrets: Self::Secrets) -> impl Future<Output = Result<Self, ToolError>> + Send;
}
