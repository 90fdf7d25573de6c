//! Tool contexts: frozen, validated, shared sets of tools, and the discovery of linked tools.

pub(crate) mod context;
pub(crate) mod discovery;
pub(crate) mod freeze;
pub(crate) mod lifecycle;
pub(crate) mod published;

pub use crate::registry::context::{SetupFailure, ToolContext, ToolContextBuilder};
pub use crate::registry::discovery::Registry;
pub use crate::registry::freeze::{RegistryError, RegistryErrors};
