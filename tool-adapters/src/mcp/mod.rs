//! The Model Context Protocol: a server of tools, and a client that imports a server's tools.
#![doc = include_str!("mcp.md")]

mod client;
mod lines;
mod send_on_drop;
mod server;

pub use crate::mcp::client::{
    ImportError, ImportedToolset, McpClient, PinError, Pins, QuarantineReason, QuarantinedTool, SamplingBudget,
    ServerChange, ServerChanges,
};
pub use crate::mcp::server::{ClientInfo, Server};
pub use crate::transport::serve::BoundServer;
