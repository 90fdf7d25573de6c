//! The Model Context Protocol: a server of tools, and a client that imports a server's tools.
#![doc = include_str!("mcp.md")]
#![cfg_attr(feature = "auth", doc = include_str!("authorization.md"))]

#[cfg(feature = "auth")]
mod auth;
mod client;
mod durable_folder;
mod lines;
mod mailbox;
mod original;
mod send_on_drop;
mod server;

#[cfg(feature = "auth")]
pub use crate::auth::{
    AccessClaims, LoginError, LoginLock, LoginRequest, LoginStore, MemoryLoginStore, OAuthLogin,
    OAuthResource,
};
#[doc(hidden)]
pub use crate::client::messages;
pub use crate::client::{
    ImportError, ImportedToolset, McpClient, PinError, Pins, QuarantineReason, QuarantinedTool,
    SamplingBudget, ServerChange, ServerChanges,
};
#[doc(hidden)]
pub use crate::durable_folder::{folder_of, sync_folder};
#[doc(hidden)]
pub use crate::server::ResourceUpdate;
pub use crate::server::{ChangeNotifier, ClientInfo, Server, TaskSupport};
pub use tool_adapters_http::serve::BoundServer;
