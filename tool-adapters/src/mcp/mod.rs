//! The Model Context Protocol: a server of tools, and a client that imports a server's tools.
#![doc = include_str!("mcp.md")]
#![cfg_attr(feature = "mcp-auth", doc = include_str!("authorization.md"))]

#[cfg(feature = "mcp-auth")]
mod auth;
mod client;
mod lines;
mod mailbox;
mod original;
mod send_on_drop;
mod server;

#[cfg(feature = "mcp-auth")]
pub use crate::mcp::auth::{
    AccessClaims, LoginError, LoginRequest, LoginStore, MemoryLoginStore, OAuthLogin, OAuthResource,
};
#[cfg(feature = "gateway")]
pub(crate) use crate::mcp::client::messages;
pub use crate::mcp::client::{
    ImportError, ImportedToolset, McpClient, PinError, Pins, QuarantineReason, QuarantinedTool,
    SamplingBudget, ServerChange, ServerChanges,
};
pub use crate::mcp::server::{ChangeNotifier, ClientInfo, Server, TaskSupport};
pub use crate::transport::serve::BoundServer;
