//! The Model Context Protocol: tools served to any client, and a server's tools imported.
#![doc = include_str!("mcp.md")]

mod client;
mod server;
pub(crate) mod strict;

pub use crate::mcp::client::{ImportError, Imported, McpClient, PinError, Pins, QuarantineReason, Quarantined};
pub use crate::mcp::server::{BoundServer, Client, Server};
