//! The Model Context Protocol: a server of tools, and a client that imports a server's tools.
#![doc = include_str!("mcp.md")]

mod client;
mod lines;
mod server;

pub use crate::mcp::client::{
    ImportError, ImportedToolset, McpClient, PinError, Pins, QuarantineReason, QuarantinedTool,
};
pub use crate::mcp::server::{ClientInfo, Server, TaskSupport};
pub use crate::transport::serve::BoundServer;
