//! Configured toolsets: their settings and secrets, the form that asks for both, and the factories
//! that create them. The model sees none of it.

mod binding;
pub(crate) mod credentials;
pub(crate) mod factory;
pub(crate) mod form;
pub(crate) mod metadata;
pub(crate) mod secret_document;

#[cfg(feature = "session")]
pub use crate::tool::configure::binding::BoundSettings;
pub use crate::tool::configure::credentials::{
    AccessToken, Auth, BasicAuth, OAuth2, Secret, TokenSource,
};
pub use crate::tool::configure::factory::{Configure, ConfigureError, Configured, ToolsetFactory};
pub use crate::tool::configure::metadata::ToolsetMetadata;
pub use crate::tool::configure::secret_document::SecretDocument;
